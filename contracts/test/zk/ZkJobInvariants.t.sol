// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {ITwinPosts} from "../../src/zk/ITwinPosts.sol";
import {IZkJobs} from "../../src/zk/IZkJobs.sol";
import {Cheats} from "../Cheats.sol";
import {ZkJobsKit} from "./ZkJobsKit.sol";

/// One zk job in random order: workers of whom some claim a wrong end, provers that prove right and stray segments, early, late and twice, whoever concludes, and time.
contract ZkJobHandler is ZkJobsKit {
    address[2] private provers = [CARL, address(0xD0)];
    /// "": honest.
    mapping(bytes32 attempt => string) private ways;
    mapping(uint64 segment => uint256) public paidFor;
    mapping(string => uint256) public seen;
    mapping(string => uint256) public lies;
    uint256 public settledParts;
    uint256 public toProvers;
    bytes[] private sent;
    /// Who was first with a proof that waits, by segment and commitment.
    mapping(uint64 segment => mapping(uint256 from => address)) public first;
    /// The attempt whose claim was concluded.
    mapping(uint32 part => uint16) public concluded;
    uint64 public furthest;

    constructor() {
        deployZkJobs();
        fundAndOrder();
    }

    /// All accounts that may hold something of the escrow's.
    function people() public view returns (address[6] memory) {
        return [CUSTOMER, ANNA, BERT, STRANGER, provers[0], provers[1]];
    }

    function money() external view returns (uint256 held, uint256 owed, uint256 deposits) {
        held = token.balanceOf(address(escrow));
        address[6] memory all = people();
        for (uint256 i = 0; i < all.length; i++) {
            owed += escrow.owedTo(all[i]);
            deposits += depositOf(all[i]);
        }
    }

    function depositOf(address account) public view returns (uint256) {
        IJobEscrow.Deposit memory one = escrow.depositOf(account);
        return uint256(one.free) + one.locked + one.leaving;
    }

    /// Paid and not: whoever proves must find the place empty.
    function waitingAt(uint64 segment, uint256 from) external view returns (address) {
        return zk.waitingAt(job, segment, keccak256(abi.encode(from, from))).prover;
    }

    function contracts() external view returns (address, address, uint256) {
        return (address(escrow), address(zk), job);
    }

    function attemptOf(uint32 number) private view returns (bytes32) {
        return keccak256(abi.encode(number, part(number).attempt));
    }

    function work(uint256 number, bool isAnna, bool isLie) external {
        uint32 which = uint32(number % 3);
        string memory way = isLie ? "wrong" : "";
        assign(which, isAnna ? ANNA : BERT);
        // What a part begins with is the end of the one before, which was paid, so it is right.
        claim(which, "", way);
        ways[attemptOf(which)] = way;
        seen["claim"]++;
    }

    /// `how` 0: from the right weights. 1: from others. 2: under another's name. 3: a proof that is none.
    function submit(uint256 number, uint256 who, uint256 how) external {
        uint64 segment = uint64(number % 9);
        how %= 4;
        address prover = provers[who % 2];
        uint256 from = how == 1 ? segment + 100 : segment;
        IZkJobs.Segment memory one = segmentOf(how == 2 ? provers[(who + 1) % 2] : prover, segment, from, from + 1);
        if (how == 3) one.proof = "none";
        IZkJobs.Head memory head = zk.headOf(job);
        uint256[2] memory before = [escrow.owedTo(provers[0]), escrow.owedTo(provers[1])];
        vm.prank(prover);
        zk.submit(terms, ordered, one);
        if (how > 1) lies["a lie was taken"]++;
        if (segment < head.next || segment == 0 || segment > 6) lies["no segment of the job"]++;
        sent.push(abi.encodeCall(IZkJobs.submit, (terms, ordered, one)));
        if (zk.waitingAt(job, segment, keccak256(abi.encode(from, from))).prover == prover) {
            if (first[segment][from] != address(0)) lies["another came first"]++;
            first[segment][from] = prover;
        }
        note(head, before);
        seen[how == 1 ? "stray" : "submit"]++;
    }

    function advance(uint256 most) external {
        IZkJobs.Head memory head = zk.headOf(job);
        uint256[2] memory before = [escrow.owedTo(provers[0]), escrow.owedTo(provers[1])];
        zk.advance(terms, most % 4);
        note(head, before);
        seen["advance"]++;
    }

    /// What was paid is what the head has passed, each segment once, at its part's price.
    function note(IZkJobs.Head memory head, uint256[2] memory before) private {
        uint64 next = zk.headOf(job).next;
        uint256 wanted = 0;
        for (uint64 i = head.next; i < next; i++) {
            paidFor[i]++;
            wanted += i < 3 ? 150 : i < 6 ? 100 : 300;
        }
        uint256 paid = escrow.owedTo(provers[0]) + escrow.owedTo(provers[1]) - before[0] - before[1];
        if (paid != wanted) lies["another price"]++;
        if (next < head.next) lies["back"]++;
        if (next > furthest) furthest = next;
        toProvers += paid;
    }

    function concludeEnd(uint256 number, bool isRightTree) external {
        uint32 which = uint32(number % 3);
        string memory way = ways[attemptOf(which)];
        bool isHonest = bytes(way).length == 0;
        uint64 end = which == 2 ? 7 : 3 * (which + 1);
        // Of a wrong end the true tree has other points; one with the right points does not stand, since whoever has the bytes brings it down.
        uint256 points = isHonest == isRightTree ? end : 99;
        (bytes32 claimed, ITwinPosts.Tree memory tree) = endOf(which, points, way);
        toy.stand(address(this), tree, isHonest ? points == end : points == 99);
        zk.conclude(terms, ordered, which, claimed, address(this), tree);
        if (!isHonest) lies["a wrong end was concluded"]++;
        if (zk.headOf(job).next < end) lies["concluded before it was proven"]++;
        concluded[which] = part(which).attempt;
        seen["conclude"]++;
    }

    function doSettle(uint256 number) external {
        uint32 which = uint32(number % 3);
        bool isHonest = bytes(ways[attemptOf(which)]).length == 0;
        escrow.settle(terms, which);
        if (!isHonest) lies["a liar was paid"]++;
        settledParts++;
        seen["settle"]++;
    }

    function doExpire(uint256 number) external {
        uint32 which = uint32(number % 3);
        IJobEscrow.Part memory one = part(which);
        vm.prank(STRANGER);
        escrow.expire(terms, which);
        if (one.state == IJobEscrow.PartState.Claimed && zk.isProven(job, which, one.attempt)) lies["took back what is proven"]++;
        seen["expire"]++;
    }

    function replay(uint256 which, uint256 who) external {
        vm.prank(provers[who % 2]);
        (bool isTaken,) = address(zk).call(sent[which % sent.length]);
        if (isTaken) lies["once more"]++;
    }

    function orderAgain(bool isCustomer) external {
        vm.prank(isCustomer ? CUSTOMER : STRANGER);
        zk.order(terms, ordered);
        lies["ordered twice"]++;
    }

    function wait(uint256 seconds_) external {
        later(seconds_ % 6 hours);
    }
}

contract ZkJobInvariantsTest is Cheats {
    ZkJobHandler private handler;
    IJobEscrow private escrow;
    IZkJobs private zk;
    uint256 private job;

    function setUp() public {
        handler = new ZkJobHandler();
        (address escrow_, address zk_, uint256 job_) = handler.contracts();
        (escrow, zk, job) = (IJobEscrow(escrow_), IZkJobs(zk_), job_);
    }

    function targetContracts() public view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function invariant_whatIsPaidIsTrueAndPaidOnce() public view {
        IZkJobs.Head memory head = zk.headOf(job);
        // The head stands on the true chain: before segment j the commitment j.
        assertEq(head.points, keccak256(abi.encode(head.next, head.next)));
        assertTrue(head.next >= 1 && head.next <= 7, "head");
        for (uint64 i = 0; i < 8; i++) assertEq(handler.paidFor(i), i >= 1 && i < head.next ? 1 : 0);
        uint256 spent = 0;
        for (uint32 i = 0; i < 3; i++) {
            uint64 end = i == 2 ? 7 : 3 * (i + 1);
            bytes32 wanted = head.next >= end ? keccak256(abi.encode(end, end)) : bytes32(0);
            assertEq(zk.endOf(job, i), wanted);
            IJobEscrow.Part memory one = escrow.partOf(job, i);
            // What is settled is proven, and provers get no more than their budget.
            assertTrue(one.state != IJobEscrow.PartState.Settled || zk.isProven(job, i, one.attempt), "settled");
            assertTrue(!zk.isProven(job, i, one.attempt) || head.next >= end, "proven");
            assertTrue(escrow.auditSpent(job, i) <= 300, "budget");
            spent += escrow.auditSpent(job, i);
        }
        assertEq(spent, handler.toProvers());
        assertEq(address(zk).balance, 0);
    }

    /// Together: each alone would have calls of its own.
    function invariant_everybodyHasItsOwn() public view {
        everyTokenIsSomebodys();
        nobodyLosesItsDeposit();
        whoWasFirstStaysFirst();
        theHeadOnlyGoesOn();
        whatIsConcludedStays();
        theCustomerPaysForWhatItGot();
    }

    /// Money in is money out: what the escrow holds is what it owes, deposits, and what is left of each part; provers have what was taken from the parts' budgets.
    function everyTokenIsSomebodys() private view {
        (uint256 held, uint256 owed, uint256 deposits) = handler.money();
        uint256 left = 0;
        for (uint32 i = 0; i < 3; i++) {
            IJobEscrow.PartState state = escrow.partOf(job, i).state;
            if (state == IJobEscrow.PartState.Refunded) continue;
            // Of a settled part the fee and what provers did not get wait for `share`.
            left += 1321 - escrow.auditSpent(job, i) - (state == IJobEscrow.PartState.Settled ? 1000 : 0);
        }
        assertEq(held, owed + deposits + left);
    }

    /// A worker that was honest, or was found out to be none, loses nothing but its time; so nobody gains by accusing it.
    function nobodyLosesItsDeposit() private view {
        address[6] memory all = handler.people();
        assertEq(handler.depositOf(all[1]) + handler.depositOf(all[2]), 6 * 4001);
    }

    /// Whoever was first with a proof keeps its place, until it is paid and after.
    function whoWasFirstStaysFirst() private view {
        for (uint64 i = 1; i < 7; i++) {
            for (uint256 stray = 0; stray <= 100; stray += 100) {
                address prover = handler.first(i, i + stray);
                if (prover != address(0)) assertEq(handler.waitingAt(i, i + stray), prover);
            }
        }
    }

    function theHeadOnlyGoesOn() private view {
        assertTrue(zk.headOf(job).next >= handler.furthest(), "back");
    }

    /// What was concluded stays so, and is paid to that attempt or to nobody.
    function whatIsConcludedStays() private view {
        for (uint32 i = 0; i < 3; i++) {
            uint16 attempt = handler.concluded(i);
            if (attempt == 0) continue;
            IJobEscrow.Part memory one = escrow.partOf(job, i);
            assertTrue(zk.isProven(job, i, attempt), "no more");
            assertTrue(one.attempt == attempt, "another attempt");
        }
    }

    /// The customer's money leaves by settled parts and proven segments alone.
    function theCustomerPaysForWhatItGot() private view {
        (uint256 held, uint256 owed, uint256 deposits) = handler.money();
        assertTrue(held + 1 > owed + deposits, "spent what is not there");
        assertEq(owed - escrow.owedTo(handler.people()[0]), 1000 * handler.settledParts() + handler.toProvers());
    }

    function invariant_noLieIsTaken() public view {
        assertEq(handler.lies("another came first"), 0);
        assertEq(handler.lies("a lie was taken"), 0);
        assertEq(handler.lies("no segment of the job"), 0);
        assertEq(handler.lies("another price"), 0);
        assertEq(handler.lies("back"), 0);
        assertEq(handler.lies("a wrong end was concluded"), 0);
        assertEq(handler.lies("concluded before it was proven"), 0);
        assertEq(handler.lies("a liar was paid"), 0);
        assertEq(handler.lies("took back what is proven"), 0);
        assertEq(handler.lies("once more"), 0);
        assertEq(handler.lies("ordered twice"), 0);
    }

    /// So that a handler that always reverts cannot pass for contracts that hold.
    function test_everyActHappens() public {
        handler.work(0, true, true);
        handler.submit(2, 0, 0);
        handler.submit(2, 0, 1);
        handler.submit(1, 1, 0);
        for (uint256 i = 0; i < 9; i++) handler.wait(6 hours - 1);
        handler.doExpire(0);
        handler.work(0, false, false);
        handler.concludeEnd(0, true);
        handler.doSettle(0);
        handler.submit(3, 0, 0);
        handler.work(1, true, false);
        handler.advance(3);
        handler.replay(0, 0);
        assertEq(handler.seen("claim") + handler.seen("submit") + handler.seen("stray"), 3 + 3 + 1);
        assertEq(handler.seen("conclude") + handler.seen("settle") + handler.seen("expire") + handler.seen("advance"), 4);
        invariant_whatIsPaidIsTrueAndPaidOnce();
        invariant_everybodyHasItsOwn();
        invariant_noLieIsTaken();
    }
}
