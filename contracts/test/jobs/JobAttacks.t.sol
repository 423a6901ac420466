// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {JobEscrow} from "../../src/jobs/JobEscrow.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {JobKit} from "./JobKit.sol";

/// What cheats of every role try: signatures of other moments, others' parts, other states, calls from within
/// the token.
contract JobAttacksTest is JobKit {
    function newToken() internal override returns (AssayToken) {
        return new Reentrant();
    }

    function setUp() public {
        deployJobs();
        fund();
    }

    function refuseAssignment(IJobEscrow.Assignment memory one, address provider, bytes[] memory all) private {
        vm.prank(provider);
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.assign(terms, one, all);
    }

    function pair(bytes memory a, bytes memory b) private pure returns (bytes[] memory all) {
        all = new bytes[](2);
        (all[0], all[1]) = (a, b);
    }

    function test_aQuorumIsSoManyDifferentValidators() public {
        IJobEscrow.Assignment memory one = assignmentOf(0);
        bytes32 hash = assignmentHash(one, ANNA);
        refuseAssignment(one, ANNA, sign(hash, 0, 0));
        // The other signature of the same key.
        bytes[] memory all = sign(hash, 0, 0);
        all[1] = mirrored(all[0]);
        refuseAssignment(one, ANNA, all);
        all = sign(hash, 0, 1);
        all[1] = mirrored(all[1]);
        refuseAssignment(one, ANNA, all);
        // Against their order; too few; too many; nobody; a stranger; a cut one.
        refuseAssignment(one, ANNA, sign(hash, 1, 0));
        refuseAssignment(one, ANNA, new bytes[](0));
        refuseAssignment(one, ANNA, new bytes[](2));
        bytes[] memory more = new bytes[](3);
        (more[0], more[1]) = (sign(hash, 0, 1)[0], sign(hash, 0, 1)[1]);
        more[2] = signed(keys[2], digest(hash));
        refuseAssignment(one, ANNA, more);
        bytes[] memory fewer = new bytes[](1);
        fewer[0] = more[0];
        refuseAssignment(one, ANNA, fewer);
        refuseAssignment(one, ANNA, pair(more[0], signed(0xBAD, digest(hash))));
        refuseAssignment(one, ANNA, pair(signed(0xBAD, digest(hash)), more[1]));
        bytes memory cut = bytes.concat(bytes32(0), bytes32(0));
        refuseAssignment(one, ANNA, pair(more[0], cut));
        // Zeros "sign" for the zero address, which is nobody's validator.
        refuseAssignment(one, ANNA, pair(more[0], bytes.concat(cut, hex"1b")));
        vm.prank(ANNA);
        escrow.assign(terms, one, sign(hash, 1, 2));
    }

    function test_anAssignmentIsForOneProviderJobPartAttemptChainAndContract() public {
        IJobEscrow.Assignment memory one = assignmentOf(0);
        bytes[] memory all = sign(assignmentHash(one, ANNA), 0, 1);
        refuseAssignment(one, BERT, all);
        IJobEscrow.Assignment memory other = assignmentOf(0);
        other.until++;
        refuseAssignment(other, ANNA, all);
        other = assignmentOf(0);
        other.draw = "another";
        refuseAssignment(other, ANNA, all);
        other = assignmentOf(0);
        other.part = 1;
        refuseAssignment(other, ANNA, all);
        other = assignmentOf(0);
        other.attempt = 2;
        refuseAssignment(other, ANNA, all);
        vm.chainId(99);
        refuseAssignment(one, ANNA, all);
        vm.chainId(31337);
        // Another job of the same customer, with the same validators.
        IJobEscrow.Terms memory second = someTerms("second");
        vm.prank(CUSTOMER);
        escrow.fund(second);
        vm.prank(ANNA);
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.assign(second, one, all);
        // Another escrow.
        JobEscrow twin = deployEscrow(IJobEscrow.Params(7 days, 100));
        vm.prank(CUSTOMER);
        token.approve(address(twin), type(uint256).max);
        vm.prank(CUSTOMER);
        twin.fund(terms);
        vm.prank(ANNA);
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        twin.assign(terms, one, all);
    }

    /// A part that was lost is not taken again with the signatures of the first time.
    function test_anOldAssignmentDoesNotComeBack() public {
        IJobEscrow.Assignment memory one = IJobEscrow.Assignment(0, 1, terms.startBy, "draw");
        bytes[] memory all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        escrow.assign(terms, one, all);
        later(WORK + 1);
        expire(0);
        vm.prank(ANNA);
        refused(IJobEscrow.WrongAttempt.selector, 2);
        escrow.assign(terms, one, all);
        one.attempt = 3;
        all = sign(assignmentHash(one, ANNA), 0, 1);
        vm.prank(ANNA);
        refused(IJobEscrow.WrongAttempt.selector, 2);
        escrow.assign(terms, one, all);
    }

    function refuseClaim(address who, IJobEscrow.Claim memory made, bytes[] memory all, bytes memory why) private {
        vm.prank(who);
        vm.expectRevert(why);
        escrow.claim(terms, 0, made, all);
    }

    /// Only the provider itself needs no signature, and a word is about one attempt that is at work.
    function test_aReleaseIsTheQuorumsAndOfOneAttempt() public {
        bytes[] memory first = sign(releasedHash(job, 0, 1), 0, 2);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.PartUnknown.selector, uint32(0)));
        escrow.release(terms, 0, 1, first);
        assign(0, ANNA);
        bytes[] memory none = new bytes[](0);
        vm.prank(STRANGER);
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.release(terms, 0, 1, none);
        vm.prank(BERT);
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.release(terms, 0, 1, none);
        // Of another part, attempt or job; too few.
        bytes32[3] memory others = [releasedHash(job, 1, 1), releasedHash(job, 0, 2), releasedHash(job + 1, 0, 1)];
        for (uint256 i = 0; i < 3; i++) {
            bytes[] memory all = sign(others[i], 0, 2);
            vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
            escrow.release(terms, 0, 1, all);
        }
        bytes[] memory one = new bytes[](1);
        one[0] = first[0];
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.release(terms, 0, 1, one);
        // Its provider, of another attempt than the one at work.
        vm.prank(ANNA);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.WrongAttempt.selector, uint16(1)));
        escrow.release(terms, 0, 2, none);
        escrow.release(terms, 0, 1, first);
        refusedIn(0, IJobEscrow.PartState.Open);
        escrow.release(terms, 0, 1, first);
        // The same word does nothing to the next attempt.
        assign(0, BERT);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.WrongAttempt.selector, uint16(2)));
        escrow.release(terms, 0, 1, first);
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.release(terms, 0, 2, first);
        vm.prank(ANNA);
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.release(terms, 0, 2, none);
        // What is claimed stays, also where its provider or the quorum says otherwise.
        claim(0, "", "");
        bytes[] memory second = sign(releasedHash(job, 0, 2), 0, 2);
        refusedIn(0, IJobEscrow.PartState.Claimed);
        escrow.release(terms, 0, 2, second);
        vm.prank(BERT);
        refusedIn(0, IJobEscrow.PartState.Claimed);
        escrow.release(terms, 0, 2, second);
    }

    function test_aClaimIsItsProvidersAndStored() public {
        assign(0, ANNA);
        (IJobEscrow.Claim memory made, bytes32 hash,) = claimFor(0, "", "");
        bytes[] memory all = sign(storedHash(0, 1, hash), 0, 1);
        bytes memory invalid = abi.encodeWithSelector(IJobEscrow.SignaturesInvalid.selector);
        refuseClaim(BERT, made, all, abi.encodeWithSelector(IJobEscrow.NotParty.selector, BERT));
        refuseClaim(ANNA, made, sign(storedHash(0, 2, hash), 0, 1), invalid);
        refuseClaim(ANNA, made, sign(storedHash(1, 1, hash), 0, 1), invalid);
        (IJobEscrow.Claim memory lie,,) = claimFor(0, "", "lie");
        refuseClaim(ANNA, lie, all, invalid);
        // `Checked` is not `Stored`.
        refuseClaim(ANNA, made, sign(checkedHash(0, 1, hash, noAudits()), 0, 1), invalid);
        vm.prank(ANNA);
        escrow.claim(terms, 0, made, all);
        // `Stored` is not `Checked`, and a check names its auditors.
        (,, bytes32 last) = claimFor(0, "", "");
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.check(terms, 0, hash, last, noAudits(), all);
        all = sign(checkedHash(0, 1, hash, noAudits()), 0, 1);
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.check(terms, 0, hash, last, oneAudit(300), all);
        vm.expectRevert(IJobEscrow.SignaturesInvalid.selector);
        escrow.check(terms, 0, hash, last, noAudits(), sign(checkedHash(0, 2, hash, noAudits()), 0, 1));
    }

    function test_aClaimBeginsAndEndsWhereItMust() public {
        assign(0, ANNA);
        bytes memory mismatch = abi.encodeWithSelector(IJobEscrow.StateMismatch.selector);
        (IJobEscrow.Claim memory made, bytes32 hash,) = claimFor(0, "lie", "");
        refuseClaim(ANNA, made, sign(storedHash(0, 1, hash), 0, 1), mismatch);
        for (uint256 i = 0; i < 7; i++) {
            (made, hash,) = claimFor(0, "", "");
            if (i == 0) made.first = stateAt(1, "");
            if (i == 1) made.firstPath[0] = 0;
            if (i == 2) made.firstPath = made.lastPath;
            if (i == 3) made.lastStates = 0;
            if (i == 4) made.resultRoot = resultsAt(3, "lie");
            if (i == 5) made.lastPath = new bytes32[](0);
            if (i == 6) made.segmentRoot = made.first;
            refuseClaim(ANNA, made, sign(storedHash(0, 1, hash), 0, 1), mismatch);
        }
    }

    function test_aLaterPartBeginsWhereTheOneBeforeEnded() public {
        work(0, ANNA);
        assign(1, ANNA);
        (IJobEscrow.Claim memory made, bytes32 hash,) = claimFor(1, "lie", "");
        bytes[] memory all = sign(storedHash(1, 1, hash), 0, 1);
        vm.prank(ANNA);
        vm.expectRevert(IJobEscrow.StateMismatch.selector);
        escrow.claim(terms, 1, made, all);
        // Nor with the name of a claim that was never made.
        (made, hash,) = claimFor(1, "", "");
        made.previous = hash;
        all = sign(storedHash(1, 1, hash), 0, 1);
        vm.prank(ANNA);
        vm.expectRevert(IJobEscrow.StateMismatch.selector);
        escrow.claim(terms, 1, made, all);
        claim(1, "", "");
    }

    function test_aCheckAfterTheWindow() public {
        work(0, ANNA);
        (, bytes32 hash, bytes32 last) = claimFor(0, "", "");
        bytes[] memory all = sign(checkedHash(0, 1, hash, oneAudit(300)), 0, 1);
        later(WINDOW + 1);
        refused(IJobEscrow.TooLate.selector, block.timestamp - 1);
        escrow.check(terms, 0, hash, last, oneAudit(300), all);
    }

    /// At every moment one of claim and expire works, never both.
    function testFuzz_expireAndClaimNeverRace(uint32 wait) public {
        assign(0, ANNA);
        later(bound(wait, 0, 2 * WORK));
        (IJobEscrow.Claim memory made, bytes32 hash,) = claimFor(0, "", "");
        bytes memory asClaim = abi.encodeCall(escrow.claim, (terms, 0, made, sign(storedHash(0, 1, hash), 0, 1)));
        bytes memory asExpire = abi.encodeCall(escrow.expire, (terms, 0));
        bool isInTime = block.timestamp <= part(0).time;
        vm.prank(ANNA);
        (bool expired,) = address(escrow).call(asExpire);
        assertTrue(expired == !isInTime, "expire");
        vm.prank(ANNA);
        (bool claimed,) = address(escrow).call(asClaim);
        assertTrue(claimed == isInTime, "claim");
    }

    /// The customer, who would rather not pay, and the owner have no way to a claimed part.
    function test_nobodyHasAVeto() public {
        work(0, ANNA);
        vm.startPrank(CUSTOMER);
        refusedIn(0, IJobEscrow.PartState.Claimed);
        escrow.expire(terms, 0);
        escrow.cancel(terms);
        vm.stopPrank();
        escrow.pause();
        later(WINDOW + 1);
        settle(0);
        assertEq(escrow.owedTo(ANNA), 1000);
    }

    /// Who cannot be paid stops nobody else: nothing is pushed.
    function test_aValidatorThatCannotReceiveStopsNobody() public {
        work(0, ANNA);
        later(WINDOW + 1);
        settle(0);
        escrow.share(terms);
        Reentrant(address(token)).block_(validators[0]);
        vm.prank(validators[0]);
        vm.expectRevert();
        escrow.collect(validators[0]);
        vm.prank(validators[1]);
        escrow.collect(validators[1]);
        vm.prank(ANNA);
        escrow.collect(ANNA);
        assertEq(token.balanceOf(validators[1]), 7);
    }

    /// A token that is a customer and a provider too, and calls again from within each transfer, finds the
    /// books changed.
    function test_reentering() public {
        Reentrant actor = Reentrant(address(token));
        token.transfer(address(actor), 1e6);
        terms.customer = address(actor);
        job = idOf(terms);
        actor.start(escrow);
        actor.twice(abi.encodeCall(escrow.deposit, (3 * BOND)), false);
        actor.twice(abi.encodeCall(escrow.fund, (terms)), true);
        IJobEscrow.Assignment memory one = assignmentOf(0);
        actor.once(abi.encodeCall(escrow.assign, (terms, one, sign(assignmentHash(one, address(actor)), 0, 1))));
        (IJobEscrow.Claim memory made, bytes32 hash, bytes32 last) = claimFor(0, "", "lie");
        actor.once(abi.encodeCall(escrow.claim, (terms, 0, made, sign(storedHash(0, 1, hash), 0, 1))));
        // No token moves when its bond is taken, so nobody is called.
        uint256 moved = token.balanceOf(address(escrow));
        escrow.convict(terms, 0, hash, last, ACCUSER);
        assertEq(token.balanceOf(address(escrow)), moved);
        actor.twice(abi.encodeCall(escrow.expire, (terms, 0)), false);
        actor.twice(abi.encodeCall(escrow.cancel, (terms)), false);
        assertEq(escrow.owedTo(address(actor)), 3 * uint256(COST) + 975);
        actor.twice(abi.encodeCall(escrow.collect, (address(actor))), true);
        assertEq(actor.refused(), 2);
        // What the first job and the two providers brought, its own deposit less the bond, what the accuser
        // is owed, and what is burned.
        assertEq(token.balanceOf(address(escrow)), 3 * uint256(COST) + 6 * uint256(BOND) + 5 * uint256(BOND) + 1075 + 1951);
    }
}

/// Makes a call to the escrow, and another from within the transfer that it makes.
contract Reentrant is AssayToken(1e30) {
    JobEscrow private escrow;
    bytes private again;
    address private blocked;
    uint256 public refused;

    function start(JobEscrow escrow_) external {
        escrow = escrow_;
        _approve(address(this), address(escrow), type(uint256).max);
    }

    function block_(address who) external {
        blocked = who;
    }

    function once(bytes memory call) public {
        (bool done, bytes memory why) = address(escrow).call(call);
        if (!done) {
            assembly ("memory-safe") {
                revert(add(why, 32), mload(why))
            }
        }
    }

    /// With the same call again, which must be refused or not.
    function twice(bytes calldata call, bool isRefused) external {
        uint256 before = refused;
        again = call;
        once(call);
        again = "";
        require((refused > before) == isRefused, "twice");
    }

    function _update(address from, address to, uint256 amount) internal override {
        require(to != blocked || to == address(0), "blocked");
        super._update(from, to, amount);
        if (again.length == 0) return;
        bytes memory call = again;
        again = "";
        (bool done,) = address(escrow).call(call);
        if (!done) refused++;
    }
}
