// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {JobEscrow} from "../../src/jobs/JobEscrow.sol";
import {IPullPayments} from "../../src/payments/IPullPayments.sol";
import {JobKit} from "./JobKit.sol";

/// The life of jobs and their parts: who may do what, when, and to whom the tokens go.
contract JobEscrowTest is JobKit {
    function setUp() public {
        deployJobs();
    }

    function collect(address who) private returns (uint256) {
        uint256 before = token.balanceOf(who);
        vm.prank(who);
        escrow.collect(who);
        return token.balanceOf(who) - before;
    }

    function test_aJobOfThreePartsIsPaidInOrder() public {
        uint256 before = token.balanceOf(CUSTOMER);
        fund();
        assertEq(before - token.balanceOf(CUSTOMER), 3 * uint256(COST));
        assertEq(escrow.jobIdOf(terms), job);
        work(0, ANNA);
        assertEq(escrow.depositOf(ANNA).locked, BOND);
        check(0, "", "", oneAudit(200));
        assertEq(part(0).time, block.timestamp + SOON);
        // Her own next part needs no check.
        work(1, ANNA);
        assertEq(part(1).time, block.timestamp + WINDOW);
        assertEq(escrow.depositOf(ANNA).free, BOND);
        later(SOON + 1);
        settle(0);
        later(WINDOW);
        settle(1);
        // Another goes on after what is settled.
        work(2, BERT);
        check(2, "", "", noAudits());
        later(SOON);
        refused(IJobEscrow.TooEarly.selector, block.timestamp);
        escrow.settle(terms, 2);
        later(1);
        settle(2);
        vm.prank(STRANGER);
        escrow.share(terms);
        assertEq(collect(ANNA), 2000);
        assertEq(collect(BERT), 1000);
        assertEq(collect(AUDITOR), 200);
        assertEq(collect(validators[0]), 21);
        assertEq(collect(validators[1]), 21);
        assertEq(collect(validators[2]), 21);
        assertEq(collect(CUSTOMER), 700);
        assertEq(token.balanceOf(address(escrow)), 6 * uint256(BOND));
        assertEq(escrow.depositOf(ANNA).free, 3 * BOND);
        refused(IJobEscrow.NothingToShare.selector, job);
        escrow.share(terms);
        vm.prank(ANNA);
        vm.expectRevert(abi.encodeWithSelector(IPullPayments.NothingOwed.selector, ANNA));
        escrow.collect(ANNA);
    }

    /// What does not divide goes to the first; nothing is lost.
    function test_feesThatDoNotDivide() public {
        terms.fee = 20;
        job = idOf(terms);
        fund();
        work(0, ANNA);
        later(WINDOW + 1);
        settle(0);
        escrow.share(terms);
        assertEq(escrow.owedTo(validators[0]), 8);
        assertEq(escrow.owedTo(validators[1]), 6);
        assertEq(escrow.owedTo(validators[2]), 6);
        assertEq(escrow.owedTo(CUSTOMER), 300);
    }

    function test_termsThatAreNone() public {
        mustBeRefused("parts");
        mustBeRefused("segments");
        mustBeRefused("lastPartEmpty");
        mustBeRefused("mostSegments");
        mustBeRefused("price");
        mustBeRefused("sum");
        mustBeRefused("bond");
        mustBeRefused("noWork");
        mustBeRefused("muchWork");
        mustBeRefused("noWindow");
        mustBeRefused("longWindow");
        mustBeRefused("checkedLater");
        mustBeRefused("past");
        mustBeRefused("future");
        mustBeRefused("noQuorum");
        mustBeRefused("highQuorum");
        mustBeRefused("nobody");
        mustBeRefused("six");
        mustBeRefused("twice");
        mustBeRefused("zero");
        vm.prank(STRANGER);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.NotParty.selector, STRANGER));
        escrow.fund(terms);
        // The ends of what is allowed.
        terms.startBy = uint64(block.timestamp);
        terms.workSeconds = 30 days;
        (terms.windowSeconds, terms.checkedSeconds) = (30 days, 30 days);
        (terms.segments, terms.parts) = (2 ** 31, 2);
        (terms.fee, terms.audit, terms.quorum) = (0, 0, 3);
        job = idOf(terms);
        fund();
        vm.prank(CUSTOMER);
        refused(IJobEscrow.AlreadyFunded.selector, job);
        escrow.fund(terms);
    }

    function mustBeRefused(bytes32 what) private {
        IJobEscrow.Terms memory bad = someTerms(what);
        if (what == "parts") bad.parts = 0;
        if (what == "segments") bad.segments = 0;
        // Two a part: the fourth would have none.
        if (what == "lastPartEmpty") (bad.segments, bad.parts) = (6, 5);
        if (what == "mostSegments") bad.segments = 2 ** 31 + 1;
        if (what == "price") bad.price = 0;
        if (what == "sum") bad.price = type(uint128).max / 3;
        if (what == "bond") bad.bond = 0;
        if (what == "noWork") bad.workSeconds = 0;
        if (what == "muchWork") bad.workSeconds = 30 days + 1;
        if (what == "noWindow") (bad.windowSeconds, bad.checkedSeconds) = (0, 0);
        if (what == "longWindow") bad.windowSeconds = 30 days + 1;
        if (what == "checkedLater") bad.checkedSeconds = WINDOW + 1;
        if (what == "past") bad.startBy = uint64(block.timestamp) - 1;
        if (what == "future") bad.startBy = uint64(block.timestamp) + 365 days + 1;
        if (what == "noQuorum") bad.quorum = 0;
        if (what == "highQuorum") bad.quorum = 4;
        if (what == "nobody") (bad.validators, bad.quorum) = (new address[](0), 0);
        if (what == "six") {
            bad.validators = new address[](6);
            for (uint160 i = 0; i < 6; i++) bad.validators[i] = address(0x1000 + i);
        }
        if (what == "twice") bad.validators[1] = bad.validators[0];
        if (what == "zero") bad.validators[0] = address(0);
        vm.prank(CUSTOMER);
        vm.expectRevert(IJobEscrow.TermsInvalid.selector);
        escrow.fund(bad);
    }

    /// The largest sum that fits is funded and cancelled to the unit: nothing wraps.
    function test_theLargestSum() public {
        terms.price = type(uint128).max / 3 - 321;
        job = idOf(terms);
        vm.prank(CUSTOMER);
        vm.expectRevert();
        escrow.fund(terms);
        IJobEscrow.Terms memory large = terms;
        (large.parts, large.segments, large.price) = (1, 1, 1e29);
        token.transfer(CUSTOMER, 1e29 + 321);
        vm.prank(CUSTOMER);
        escrow.fund(large);
        vm.prank(CUSTOMER);
        escrow.cancel(large);
        assertEq(escrow.owedTo(CUSTOMER), 1e29 + 321);
    }

    function test_jobsAndPartsThatAreNot() public {
        refused(IJobEscrow.JobUnknown.selector, job);
        escrow.cancel(terms);
        refused(IJobEscrow.JobUnknown.selector, job);
        escrow.settle(terms, 0);
        refused(IJobEscrow.JobUnknown.selector, job);
        escrow.expire(terms, 0);
        refused(IJobEscrow.JobUnknown.selector, job);
        escrow.share(terms);
        IJobEscrow.Assignment memory one = assignmentOf(0);
        bytes[] memory all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        refused(IJobEscrow.JobUnknown.selector, job);
        escrow.assign(terms, one, all);
        fund();
        refused(IJobEscrow.PartUnknown.selector, 0);
        escrow.settle(terms, 0);
        refused(IJobEscrow.PartUnknown.selector, 3);
        escrow.expire(terms, 3);
        one = IJobEscrow.Assignment(3, 1, uint64(block.timestamp), "draw");
        all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        refused(IJobEscrow.PartUnknown.selector, 3);
        escrow.assign(terms, one, all);
        // Parts begin in order.
        one.part = 1;
        all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        refused(IJobEscrow.PartUnknown.selector, 1);
        escrow.assign(terms, one, all);
        // Other terms are another job.
        terms.price++;
        refused(IJobEscrow.JobUnknown.selector, idOf(terms));
        escrow.cancel(terms);
    }

    function test_cancelledByTheCustomerBeforeItBegins() public {
        fund();
        vm.prank(STRANGER);
        refused(IJobEscrow.TooEarly.selector, terms.startBy);
        escrow.cancel(terms);
        vm.prank(CUSTOMER);
        escrow.cancel(terms);
        assertEq(collect(CUSTOMER), 3 * uint256(COST));
        vm.prank(CUSTOMER);
        refused(IJobEscrow.NothingToCancel.selector, job);
        escrow.cancel(terms);
        vm.prank(CUSTOMER);
        refused(IJobEscrow.AlreadyFunded.selector, job);
        escrow.fund(terms);
        IJobEscrow.Assignment memory one = assignmentOf(0);
        bytes[] memory all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        refused(IJobEscrow.PartUnknown.selector, 0);
        escrow.assign(terms, one, all);
    }

    /// Who has begun is paid; the rest is the customer's.
    function test_theRestIsCancelled() public {
        fund();
        assign(0, ANNA);
        vm.prank(CUSTOMER);
        escrow.cancel(terms);
        assertEq(escrow.owedTo(CUSTOMER), 2 * uint256(COST));
        claim(0, "", "");
        later(WINDOW + 1);
        settle(0);
        escrow.share(terms);
        assertEq(escrow.owedTo(ANNA), 1000);
        assertEq(escrow.owedTo(CUSTOMER), 2 * uint256(COST) + 300);
        assertEq(token.balanceOf(address(escrow)), 6 * uint256(BOND) + 3 * uint256(COST));
    }

    /// The part at work is finished and paid; nothing is begun any more; what is lost then is the customer's,
    /// whoever says so.
    function test_cancelledWhileAPartRuns() public {
        fund();
        work(0, ANNA);
        assign(1, ANNA);
        vm.prank(CUSTOMER);
        escrow.cancel(terms);
        assertEq(escrow.owedTo(CUSTOMER), COST);
        release(1);
        IJobEscrow.Assignment memory again = assignmentOf(1);
        bytes[] memory all = sign(assignmentHash(again, ANNA), 0, 2);
        vm.prank(ANNA);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.PartUnknown.selector, uint32(1)));
        escrow.assign(terms, again, all);
        expire(1);
        mustBeIn(1, IJobEscrow.PartState.Refunded);
        assertEq(escrow.owedTo(CUSTOMER), 2 * COST);
        later(WINDOW + 1);
        settle(0);
        assertEq(escrow.owedTo(ANNA), 1000);
    }

    function test_nobodyCame() public {
        fund();
        later(2 days);
        refused(IJobEscrow.TooEarly.selector, terms.startBy);
        escrow.cancel(terms);
        later(1);
        vm.prank(STRANGER);
        escrow.cancel(terms);
        assertEq(collect(CUSTOMER), 3 * uint256(COST));
    }

    function test_assignedInTheLastMoment() public {
        fund();
        later(2 days + 1);
        IJobEscrow.Assignment memory one = assignmentOf(0);
        bytes[] memory all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        refused(IJobEscrow.TooLate.selector, terms.startBy);
        escrow.assign(terms, one, all);
        vm.warp(terms.startBy);
        one.until = terms.startBy - 1;
        all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        refused(IJobEscrow.TooLate.selector, one.until);
        escrow.assign(terms, one, all);
        one.until++;
        all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        escrow.assign(terms, one, all);
        assertEq(part(0).time, block.timestamp + WORK);
        vm.prank(ANNA);
        refusedIn(0, IJobEscrow.PartState.Assigned);
        escrow.assign(terms, one, all);
    }

    function test_noBondNoPart() public {
        fund();
        vm.prank(ANNA);
        escrow.withdrawDeposit(2 * BOND + 1);
        IJobEscrow.Assignment memory one = assignmentOf(0);
        bytes[] memory all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.DepositTooSmall.selector, BOND - 1, BOND));
        escrow.assign(terms, one, all);
    }

    function test_depositsLeaveAfterADelay() public {
        vm.startPrank(ANNA);
        vm.expectRevert(IJobEscrow.AmountZero.selector);
        escrow.deposit(0);
        vm.expectRevert(IJobEscrow.AmountZero.selector);
        escrow.withdrawDeposit(0);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.DepositTooSmall.selector, 3 * BOND, 3 * BOND + 1));
        escrow.withdrawDeposit(3 * BOND + 1);
        escrow.withdrawDeposit(BOND);
        later(7 days - 1);
        vm.expectRevert(abi.encodeWithSelector(IPullPayments.NothingOwed.selector, ANNA));
        escrow.collect(ANNA);
        // A second wish starts the delay anew for both.
        escrow.withdrawDeposit(1);
        later(7 days - 1);
        vm.expectRevert(abi.encodeWithSelector(IPullPayments.NothingOwed.selector, ANNA));
        escrow.collect(ANNA);
        later(1);
        escrow.collect(STRANGER);
        assertEq(token.balanceOf(STRANGER), BOND + 1);
        vm.expectRevert(abi.encodeWithSelector(IPullPayments.NothingOwed.selector, ANNA));
        escrow.collect(ANNA);
        vm.stopPrank();
        assertEq(escrow.depositOf(ANNA).free, 2 * BOND - 1);
    }

    function test_claimedInTheLastMomentOrLate() public {
        fund();
        assign(0, ANNA);
        later(WORK);
        refused(IJobEscrow.TooEarly.selector, block.timestamp);
        escrow.expire(terms, 0);
        later(1);
        (IJobEscrow.Claim memory made, bytes32 hash,) = claimFor(0, "", "");
        bytes[] memory all = sign(storedHash(0, 1, hash), 0, 1);
        vm.prank(ANNA);
        refused(IJobEscrow.TooLate.selector, block.timestamp - 1);
        escrow.claim(terms, 0, made, all);
        vm.warp(block.timestamp - 1);
        vm.prank(ANNA);
        escrow.claim(terms, 0, made, all);
        later(1);
        refusedIn(0, IJobEscrow.PartState.Claimed);
        escrow.expire(terms, 0);
        vm.prank(ANNA);
        refusedIn(0, IJobEscrow.PartState.Claimed);
        escrow.claim(terms, 0, made, all);
    }

    /// A late provider keeps its bond and loses the part; another takes it.
    function test_lateAndRedrawn() public {
        fund();
        assign(0, ANNA);
        later(WORK + 1);
        expire(0);
        assertEq(escrow.depositOf(ANNA).free, 3 * BOND);
        mustBeIn(0, IJobEscrow.PartState.Open);
        work(0, BERT);
        assertEq(part(0).attempt, 2);
        later(WINDOW + 1);
        settle(0);
        assertEq(escrow.owedTo(BERT), 1000);
        refusedIn(0, IJobEscrow.PartState.Settled);
        escrow.settle(terms, 0);
        refusedIn(0, IJobEscrow.PartState.Settled);
        escrow.expire(terms, 0);
    }

    /// Its host died: another begins at once. The bond is free, and what comes too late is not taken.
    function test_releasedByTheQuorum() public {
        fund();
        assign(0, ANNA);
        assertEq(escrow.depositOf(ANNA).locked, BOND);
        vm.expectEmit(address(escrow));
        emit IJobEscrow.Reopened(job, 0, ANNA, 1);
        release(0);
        mustBeIn(0, IJobEscrow.PartState.Open);
        assertEq(escrow.depositOf(ANNA).free, 3 * BOND);
        assertEq(escrow.depositOf(ANNA).locked, 0);
        (IJobEscrow.Claim memory made, bytes32 hash,) = claimFor(0, "", "");
        bytes[] memory stored = sign(storedHash(0, 1, hash), 0, 1);
        vm.prank(ANNA);
        refusedIn(0, IJobEscrow.PartState.Open);
        escrow.claim(terms, 0, made, stored);
        work(0, BERT);
        assertEq(part(0).attempt, 2);
        later(WINDOW + 1);
        settle(0);
        assertEq(escrow.owedTo(BERT), 1000);
    }

    function test_handedBackByItsProvider() public {
        fund();
        assign(0, ANNA);
        vm.prank(ANNA);
        escrow.release(terms, 0, 1, new bytes[](0));
        mustBeIn(0, IJobEscrow.PartState.Open);
        assertEq(escrow.depositOf(ANNA).free, 3 * BOND);
        // It was somebody's once: the customer takes it back like any other that is open.
        vm.prank(CUSTOMER);
        escrow.expire(terms, 0);
        mustBeIn(0, IJobEscrow.PartState.Refunded);
    }

    function test_anOpenPartIsRefunded() public {
        fund();
        assign(0, ANNA);
        later(WORK + 1);
        expire(0);
        refused(IJobEscrow.TooEarly.selector, terms.startBy);
        escrow.expire(terms, 0);
        vm.prank(CUSTOMER);
        escrow.expire(terms, 0);
        assertEq(escrow.owedTo(CUSTOMER), COST);
        refusedIn(0, IJobEscrow.PartState.Refunded);
        escrow.expire(terms, 0);
        IJobEscrow.Assignment memory one = assignmentOf(0);
        bytes[] memory all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        refusedIn(0, IJobEscrow.PartState.Refunded);
        escrow.assign(terms, one, all);
        vm.warp(terms.startBy + 1);
        vm.prank(STRANGER);
        escrow.cancel(terms);
        assertEq(escrow.owedTo(CUSTOMER), 3 * uint256(COST));
    }

    function test_anyoneRefundsAnOpenPartOnceNobodyMayCome() public {
        fund();
        assign(0, ANNA);
        vm.warp(terms.startBy + WORK + 1);
        expire(0);
        expire(0);
        assertEq(escrow.owedTo(CUSTOMER), COST);
    }

    function test_whoGoesOnAfterWhat() public {
        fund();
        assign(0, ANNA);
        refusedAssignment(1, BERT, abi.encodeWithSelector(IJobEscrow.NotInOrder.selector, 1));
        refusedAssignment(1, ANNA, abi.encodeWithSelector(IJobEscrow.NotInOrder.selector, 1));
        claim(0, "", "");
        // Not checked: at her own risk she may, another may not.
        refusedAssignment(1, BERT, abi.encodeWithSelector(IJobEscrow.NotInOrder.selector, 1));
        check(0, "", "", noAudits());
        assign(1, BERT);
        assertTrue(part(1).isAlone, "another");
        assertEq(part(1).base, 1);
    }

    function refusedAssignment(uint32 number, address provider, bytes memory why) private {
        IJobEscrow.Assignment memory one = assignmentOf(number);
        bytes[] memory all = sign(assignmentHash(one, provider), 0, 1);
        vm.prank(provider);
        vm.expectRevert(why);
        escrow.assign(terms, one, all);
    }

    function test_partsSettleInOrder() public {
        fund();
        work(0, ANNA);
        later(10);
        work(1, ANNA);
        check(1, "", "", noAudits());
        later(SOON + 1);
        refused(IJobEscrow.NotInOrder.selector, 1);
        escrow.settle(terms, 1);
        later(WINDOW);
        settle(0);
        settle(1);
        assertEq(escrow.owedTo(ANNA), 2000);
    }

    function test_convictedAndShared() public {
        fund();
        assign(0, ANNA);
        claim(0, "", "lie");
        convict(0, "", "lie", ACCUSER);
        // 100 of costs; of the other 3,901 a quarter each.
        assertEq(escrow.owedTo(ACCUSER), 1075);
        assertEq(escrow.owedTo(CUSTOMER), 975);
        assertEq(escrow.owedTo(DEAD), 1951);
        assertEq(escrow.depositOf(ANNA).locked, 0);
        assertEq(escrow.depositOf(ANNA).free, 2 * BOND);
        mustBeIn(0, IJobEscrow.PartState.Open);
        refusedIn(0, IJobEscrow.PartState.Open);
        escrow.convict(terms, 0, 0, 0, ACCUSER);
        work(0, BERT);
        later(WINDOW + 1);
        // Until it is paid fraud kills it; afterwards nothing does.
        settle(0);
        refusedIn(0, IJobEscrow.PartState.Settled);
        escrow.convict(terms, 0, 0, 0, ACCUSER);
        assertEq(escrow.owedTo(BERT), 1000);
    }

    function test_convictedWithoutAnAccuser() public {
        fund();
        assign(0, ANNA);
        claim(0, "", "lie");
        later(10 * WINDOW);
        convict(0, "", "lie", address(0));
        assertEq(escrow.owedTo(CUSTOMER), 975);
        assertEq(escrow.owedTo(DEAD), 1951 + 1075);
    }

    /// A bond that does not even cover the costs.
    function test_aSmallBondIsTheAccusers() public {
        terms.bond = 99;
        job = idOf(terms);
        fund();
        assign(0, ANNA);
        claim(0, "", "lie");
        convict(0, "", "lie", ACCUSER);
        assertEq(escrow.owedTo(ACCUSER), 99);
        assertEq(escrow.owedTo(CUSTOMER), 0);
    }

    function test_onlyDisputesConvictsAndOnlyTheClaim() public {
        fund();
        assign(0, ANNA);
        (, bytes32 hash, bytes32 last) = claimFor(0, "", "");
        refusedIn(0, IJobEscrow.PartState.Assigned);
        escrow.convict(terms, 0, hash, last, ACCUSER);
        claim(0, "", "");
        address[3] memory others = [CUSTOMER, validators[0], STRANGER];
        for (uint256 i = 0; i < 3; i++) {
            vm.prank(others[i]);
            vm.expectRevert(abi.encodeWithSelector(IJobEscrow.NotParty.selector, others[i]));
            escrow.convict(terms, 0, hash, last, ACCUSER);
        }
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.ClaimUnknown.selector, last));
        escrow.convict(terms, 0, last, last, ACCUSER);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.ClaimUnknown.selector, hash));
        escrow.convict(terms, 0, hash, hash, ACCUSER);
    }

    /// Her later parts fall with the first; the bonds of those are hers again, unpaid.
    function test_ownLaterPartsFall() public {
        fund();
        assign(0, ANNA);
        claim(0, "", "lie");
        assign(1, ANNA);
        claim(1, "lie", "lie");
        assign(2, ANNA);
        convict(0, "", "lie", ACCUSER);
        (IJobEscrow.Claim memory made, bytes32 hash,) = claimFor(2, "lie", "lie");
        // It stands as long as the second does, which nobody expired yet; it is never paid.
        later(WINDOW + 1);
        refused(IJobEscrow.BuiltOnFallen.selector, 1);
        escrow.settle(terms, 1);
        expire(1);
        bytes[] memory all = sign(storedHash(2, 1, hash), 0, 1);
        vm.warp(part(2).time);
        vm.prank(ANNA);
        refused(IJobEscrow.BuiltOnFallen.selector, 2);
        escrow.claim(terms, 2, made, all);
        // In time, but what it was built on is gone.
        expire(2);
        assertEq(escrow.depositOf(ANNA).free, 2 * BOND);
        assertEq(escrow.depositOf(ANNA).locked, 0);
        for (uint32 i = 0; i < 3; i++) work(i, BERT);
        later(WINDOW + 1);
        for (uint32 i = 0; i < 3; i++) settle(i);
        assertEq(escrow.owedTo(BERT), 3000);
    }

    /// The first was redone by somebody else: what the liar built on its own lie still does not settle.
    function test_whatFellDoesNotStandAgain() public {
        fund();
        assign(0, ANNA);
        claim(0, "", "lie");
        assign(1, ANNA);
        claim(1, "lie", "lie");
        convict(0, "", "lie", ACCUSER);
        work(0, BERT);
        later(WINDOW + 1);
        settle(0);
        refused(IJobEscrow.BuiltOnFallen.selector, 1);
        escrow.settle(terms, 1);
        expire(1);
        work(1, BERT);
        later(WINDOW + 1);
        settle(1);
        assertEq(escrow.owedTo(ANNA), 0);
    }

    /// Another began at the end of a checked part: paid, whatever becomes of that one.
    function test_anotherIsPaidWhateverBecomesOfTheCheckedPart() public {
        fund();
        assign(0, ANNA);
        claim(0, "", "lie");
        check(0, "", "lie", noAudits());
        assign(1, BERT);
        convict(0, "", "lie", ACCUSER);
        claim(1, "lie", "lie");
        refusedIn(1, IJobEscrow.PartState.Claimed);
        escrow.expire(terms, 1);
        later(WINDOW + 1);
        settle(1);
        assertEq(escrow.owedTo(BERT), 1000);
        // And also when the first was redone meanwhile.
        assertEq(uint256(part(0).state), uint256(IJobEscrow.PartState.Open));
    }

    function test_checksOnce() public {
        fund();
        work(0, ANNA);
        (, bytes32 hash, bytes32 last) = claimFor(0, "", "");
        bytes[] memory all = sign(checkedHash(0, 1, hash, noAudits()), 0, 1);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.ClaimUnknown.selector, last));
        escrow.check(terms, 0, last, last, noAudits(), all);
        // At the window's end a check makes nothing longer.
        later(WINDOW);
        escrow.check(terms, 0, hash, last, noAudits(), all);
        assertEq(part(0).time, block.timestamp);
        refused(IJobEscrow.AlreadyChecked.selector, 0);
        escrow.check(terms, 0, hash, last, noAudits(), all);
        later(1);
        settle(0);
        refusedIn(0, IJobEscrow.PartState.Settled);
        escrow.check(terms, 0, hash, last, noAudits(), all);
    }

    function test_auditorsShareNoMoreThanTheBudget() public {
        fund();
        assign(0, ANNA);
        claim(0, "", "lie");
        refusedCheck(oneAudit(301));
        IJobEscrow.Audit[] memory audits = oneAudit(1);
        audits[0].auditor = address(0);
        refusedCheck(audits);
        check(0, "", "lie", oneAudit(250));
        assertEq(escrow.auditSpent(job, 0), 250);
        convict(0, "", "lie", ACCUSER);
        // The next attempt has the rest.
        assign(0, BERT);
        claim(0, "", "lie");
        refusedCheck(oneAudit(51));
        check(0, "", "lie", oneAudit(50));
        convict(0, "", "lie", ACCUSER);
        vm.prank(CUSTOMER);
        escrow.expire(terms, 0);
        assertEq(escrow.owedTo(AUDITOR), 300);
        assertEq(escrow.owedTo(CUSTOMER), 2 * 975 + COST - 300);
    }

    function refusedCheck(IJobEscrow.Audit[] memory audits) private {
        (, bytes32 hash, bytes32 last) = claimFor(0, "", "lie");
        bytes[] memory all = sign(checkedHash(0, part(0).attempt, hash, audits), 0, 1);
        vm.expectRevert(IJobEscrow.AuditInvalid.selector);
        escrow.check(terms, 0, hash, last, audits, all);
    }

    function test_pauseStopsFundAlone() public {
        fund();
        vm.prank(STRANGER);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, STRANGER));
        escrow.pause();
        escrow.pause();
        IJobEscrow.Terms memory other = someTerms("other");
        vm.prank(CUSTOMER);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        escrow.fund(other);
        vm.prank(BERT);
        escrow.deposit(1);
        work(0, ANNA);
        check(0, "", "", noAudits());
        later(SOON + 1);
        settle(0);
        assign(1, ANNA);
        claim(1, "", "lie");
        convict(1, "", "lie", ACCUSER);
        vm.prank(CUSTOMER);
        escrow.expire(terms, 1);
        vm.prank(CUSTOMER);
        escrow.cancel(terms);
        escrow.share(terms);
        vm.prank(ANNA);
        escrow.withdrawDeposit(1);
        collect(ANNA);
        vm.prank(STRANGER);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, STRANGER));
        escrow.unpause();
        escrow.unpause();
        escrow.pause();
        // An owner that leaves leaves no pause behind.
        escrow.renounceOwnership();
        vm.prank(CUSTOMER);
        escrow.fund(other);
    }

    function test_paramsThatAreNone() public {
        vm.expectRevert(IJobEscrow.ParamsInvalid.selector);
        deployEscrow(IJobEscrow.Params(0, 0));
        vm.expectRevert(IJobEscrow.ParamsInvalid.selector);
        deployEscrow(IJobEscrow.Params(365 days + 1, 0));
        JobEscrow other = deployEscrow(IJobEscrow.Params(365 days, 7));
        assertEq(other.params().withdrawSeconds, 365 days);
        assertEq(other.params().accuserCosts, 7);
        assertEq(other.disputes(), address(this));
    }
}
