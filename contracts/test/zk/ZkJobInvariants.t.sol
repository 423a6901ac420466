// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {ITwinPosts} from "../../src/zk/ITwinPosts.sol";
import {IZkJobs} from "../../src/zk/IZkJobs.sol";
import {Cheats} from "../Cheats.sol";
import {ZkJobsKit} from "./ZkJobsKit.sol";

/// One zk job in random order: workers of whom some claim a wrong end, or try to list commitments that they
/// alone can go on from, or list wrong ones; provers that prove right and stray segments, early, late and
/// twice, whoever concludes, and time.
contract ZkJobHandler is ZkJobsKit {
    address[2] private provers = [CARL, address(0xD0)];
    /// "": honest.
    mapping(bytes32 attempt => string) private ways;
    /// Its list is of the right commitments.
    mapping(bytes32 attempt => bool) private isRight;
    mapping(uint64 segment => uint256) public paidFor;
    mapping(string => uint256) public seen;
    mapping(string => uint256) public lies;
    uint256 public settledParts;
    uint256 public toProvers;
    bytes[] private sent;
    /// Who was first with a proof that waits.
    mapping(uint64 segment => mapping(uint256 from => address)) public firsts;
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
    function waitingAt(uint64 segment, uint256 from) public view returns (address) {
        return zk.waitingAt(job, segment, bytes28(keccak256(abi.encode(from, from)))).prover;
    }

    function contracts() external view returns (address, address, uint256) {
        return (address(escrow), address(zk), job);
    }

    function attemptOf(uint32 number) public view returns (bytes32) {
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

    /// `how` 0: one end is blinded. 1: other weights, under bare commitments. Else right.
    function makeList(uint256 number, uint256 how) external {
        uint32 which = uint32(number % 3);
        how %= 4;
        if (how == 1) {
            bytes memory points;
            for (uint256 i = endsOf(which, 0).length / 64; i > 0; i--) points = bytes.concat(points, point(500 + i));
            bytes memory bare = toy.bareOf(points);
            address provider = part(which).provider;
            vm.prank(provider);
            zk.list(terms, ordered, which, points, bare);
        } else {
            listPart(which, how == 0 ? firstOf(which) + uint64(number % 2) * (which == 2 ? 0 : 1) : 0);
        }
        if (how == 0) lies["a list that is not bare"]++;
        isRight[attemptOf(which)] = how > 1;
        seen["list"]++;
    }

    /// `how` 0: as it is listed. 1: from other weights. 2: under another's name. 3: a proof that is none. 4:
    /// to other commitments.
    function submit(uint256 number, uint256 who, uint256 how) external {
        uint64 segment = uint64(number % 9);
        how %= 5;
        address prover = provers[who % 2];
        uint256 to = how == 4 ? blind(100) : segment + 1;
        uint256 from = how == 1 ? segment + 100 : segment;
        IZkJobs.Segment memory one = segmentOf(how == 2 ? provers[(who + 1) % 2] : prover, segment, from, to);
        if (how == 3) one.proof = "none";
        bool wasWaiting = waitingAt(segment, from) != address(0);
        send(prover, one);
        if (waitingAt(segment, from) == prover) {
            if (wasWaiting || firsts[segment][from] != address(0)) lies["another came first"]++;
            firsts[segment][from] = prover;
        }
        if (how > 1) lies["a lie was taken"]++;
        seen[how == 1 ? "stray" : "submit"]++;
    }

    function send(address prover, IZkJobs.Segment memory one) private {
        uint64 next = zk.headOf(job).next;
        uint256[2] memory before = [escrow.owedTo(provers[0]), escrow.owedTo(provers[1])];
        bytes32[] memory path = pathOf(one.number);
        vm.prank(prover);
        zk.submit(terms, ordered, one, path);
        if (one.number < next || one.number == 0 || one.number > 6) lies["no segment of the job"]++;
        sent.push(abi.encodeCall(IZkJobs.submit, (terms, ordered, one, path)));
        note(next, before);
    }

    /// Whoever lists and proves honestly goes on from wherever others left the job, and is paid for each
    /// segment.
    function goOn(uint256 who) external {
        IZkJobs.Head memory head = zk.headOf(job);
        if (head.next > 6) return;
        uint32 which = uint32(head.next / 3);
        if (part(which).state != IJobEscrow.PartState.Claimed || !isRight[attemptOf(which)]) return;
        if (zk.waitingAt(job, head.next, head.points).prover != address(0)) {
            this.advance(1);
        } else {
            address prover = provers[who % 2];
            uint256 before = escrow.owedTo(prover);
            IZkJobs.Segment memory one = segmentOf(prover, head.next, head.next, head.next + 1);
            try this.sendOwn(prover, one) {
                seen["on"]++;
            } catch {
                lies["an honest prover is stuck"]++;
            }
            if (escrow.owedTo(prover) == before) lies["an honest prover is not paid"]++;
        }
        if (zk.headOf(job).next == head.next) lies["an honest prover is stuck"]++;
    }

    function sendOwn(address prover, IZkJobs.Segment memory one) external {
        require(msg.sender == address(this));
        send(prover, one);
    }

    function advance(uint256 most) external {
        uint64 next = zk.headOf(job).next;
        uint256[2] memory before = [escrow.owedTo(provers[0]), escrow.owedTo(provers[1])];
        zk.advance(terms, most % 4);
        note(next, before);
        seen["advance"]++;
    }

    /// What was paid is what nobody was paid for before, each segment at its part's price.
    function note(uint64 unpaid, uint256[2] memory before) private {
        uint64 next = zk.headOf(job).next;
        uint256 wanted = 0;
        for (uint64 i = unpaid; i < next; i++) {
            paidFor[i]++;
            wanted += i < 3 ? 150 : i < 6 ? 100 : 300;
        }
        uint256 paid = escrow.owedTo(provers[0]) + escrow.owedTo(provers[1]) - before[0] - before[1];
        if (paid != wanted) lies["another price"]++;
        if (next < unpaid) lies["back"]++;
        if (next > furthest) furthest = next;
        toProvers += paid;
    }

    function concludeEnd(uint256 number, bool isRightTree) external {
        uint32 which = uint32(number % 3);
        string memory way = ways[attemptOf(which)];
        bool isHonest = bytes(way).length == 0;
        uint64 end = which == 2 ? 7 : 3 * (which + 1);
        // Of a wrong end the true tree has other points; one with the right points does not stand, since
        // whoever has the bytes brings it down.
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

    /// A worker's own part falls with the one before it, which it did not conclude in time.
    function hasFallen(uint32 which, IJobEscrow.Part memory one) private view returns (bool) {
        if (which == 0 || one.isAlone) return false;
        IJobEscrow.Part memory base = part(which - 1);
        bool isThere = base.state == IJobEscrow.PartState.Claimed || base.state == IJobEscrow.PartState.Settled;
        return !isThere || base.attempt != one.base;
    }

    function doExpire(uint256 number) external {
        uint32 which = uint32(number % 3);
        IJobEscrow.Part memory one = part(which);
        vm.prank(STRANGER);
        escrow.expire(terms, which);
        if (hasFallen(which, one)) concluded[which] = 0;
        else if (one.state == IJobEscrow.PartState.Claimed && zk.isProven(job, which, one.attempt)) lies["took back what is proven"]++;
        seen["expire"]++;
    }

    function replay(uint256 which, uint256 who) external {
        vm.prank(provers[who % 2]);
        (bool isTaken,) = address(zk).call(sent[which % sent.length]);
        if (isTaken) lies["taken twice"]++;
        seen["again"]++;
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

    function isPoint(bytes32 points, uint256 which) private pure returns (bool) {
        return points == keccak256(abi.encode(which, which));
    }

    function invariant_whatIsPaidIsTrueAndPaidOnce() public view {
        IZkJobs.Head memory head = zk.headOf(job);
        uint64 next = head.next;
        assertTrue(next >= 1 && next <= 7, "next");
        // The commitments that everybody can go on from.
        assertTrue(head.points == bytes28(keccak256(abi.encode(next, next))), "head");
        for (uint64 i = 0; i < 8; i++) assertEq(handler.paidFor(i), i >= 1 && i < next ? 1 : 0);
        uint256 spent = 0;
        for (uint32 i = 0; i < 3; i++) {
            uint64 end = i == 2 ? 7 : 3 * (i + 1);
            assertTrue(next < end ? zk.endOf(job, i) == 0 : isPoint(zk.endOf(job, i), end), "end");
            IJobEscrow.Part memory one = escrow.partOf(job, i);
            // What is settled is proven, and provers get no more than their budget.
            assertTrue(one.state != IJobEscrow.PartState.Settled || zk.isProven(job, i, one.attempt), "settled");
            assertTrue(!zk.isProven(job, i, one.attempt) || next >= end, "proven");
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

    /// Money in is money out: what the escrow holds is what it owes, deposits, and what is left of each part;
    /// provers have what was taken from the parts' budgets.
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

    /// A worker that was honest, or was found out to be none, loses nothing but its time; so nobody gains by
    /// accusing it.
    function nobodyLosesItsDeposit() private view {
        address[6] memory all = handler.people();
        assertEq(handler.depositOf(all[1]) + handler.depositOf(all[2]), 6 * 4001);
    }

    /// Whoever was first with a proof keeps its place, until it is paid and after.
    function whoWasFirstStaysFirst() private view {
        for (uint64 i = 1; i < 7; i++) {
            uint256[2] memory from = [uint256(i), i + 100];
            for (uint256 k = 0; k < 2; k++) {
                address prover = handler.firsts(i, from[k]);
                if (prover != address(0)) assertEq(handler.waitingAt(i, from[k]), prover);
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
        assertEq(handler.lies("a list that is not bare"), 0);
        assertEq(handler.lies("taken twice"), 0);
        assertEq(handler.lies("an honest prover is stuck"), 0);
        assertEq(handler.lies("an honest prover is not paid"), 0);
        assertEq(handler.lies("a wrong end was concluded"), 0);
        assertEq(handler.lies("concluded before it was proven"), 0);
        assertEq(handler.lies("a liar was paid"), 0);
        assertEq(handler.lies("took back what is proven"), 0);
        assertEq(handler.lies("ordered twice"), 0);
    }

    /// So that a handler that always reverts cannot pass for contracts that hold.
    function test_everyActHappens() public {
        handler.work(0, true, true);
        handler.makeList(0, 1);
        for (uint256 i = 0; i < 9; i++) handler.wait(6 hours - 1);
        handler.doExpire(0);
        handler.work(0, false, false);
        handler.makeList(0, 2);
        handler.submit(2, 0, 0);
        handler.submit(2, 0, 1);
        handler.goOn(1);
        handler.concludeEnd(0, true);
        handler.doSettle(0);
        handler.work(1, true, false);
        handler.makeList(1, 3);
        handler.submit(4, 1, 0);
        handler.submit(3, 0, 0);
        handler.replay(0, 0);
        handler.work(2, true, false);
        handler.makeList(2, 2);
        handler.submit(6, 0, 0);
        handler.goOn(0);
        handler.concludeEnd(1, true);
        handler.advance(1);
        assertEq(handler.seen("claim") + handler.seen("list"), 4 + 4);
        assertEq(handler.seen("submit") + handler.seen("stray") + handler.seen("on"), 4 + 1 + 2);
        assertEq(handler.seen("conclude") + handler.seen("settle") + handler.seen("expire") + handler.seen("advance"), 5);
        invariant_whatIsPaidIsTrueAndPaidOnce();
        invariant_everybodyHasItsOwn();
        invariant_noLieIsTaken();
    }
}
