// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {EpochBook} from "../../src/epochs/EpochBook.sol";
import {IScoreboard, ReportRoot, WeightsId} from "../../src/epochs/IScoreboard.sol";
import {Scoreboard} from "../../src/epochs/Scoreboard.sol";
import {IRegistry} from "../../src/stake/IRegistry.sol";
import {TreeKit} from "../TreeKit.sol";
import {EpochKit} from "./EpochKit.sol";

/// Commitments, seats, posts, drops and punishments: every window's edge and every refusal. What can be
/// proven of weights is Challenges.t.sol.
contract ScoreboardTest is EpochKit {
    ReportRoot private constant ROOT = ReportRoot.wrap(keccak256("root"));

    function setUp() public {
        deploy();
    }

    // --- deployment

    function deployWith(IScoreboard.Params memory params) external returns (Scoreboard) {
        return Scoreboard(deployCode("Scoreboard", abi.encode(registry, address(rewards), params)));
    }

    function refuses(IScoreboard.Params memory params) private {
        vm.expectRevert(IScoreboard.ParamsInvalid.selector);
        this.deployWith(params);
    }

    function test_paramsThatCannotWorkAreRefused() public {
        IScoreboard.Params memory p = scoreboardParams();
        this.deployWith(p);
        (p.epochSeconds, p.signSeconds) = (0, 0);
        refuses(p);
        p = scoreboardParams();
        p.epochSeconds = 365 days + 1;
        refuses(p);
        p = scoreboardParams();
        p.genesis = GENESIS + 365 days + 1;
        refuses(p);
        for (uint256 i = 0; i < 4; i++) {
            p = scoreboardParams();
            if (i == 0) p.commitSeconds = 0;
            if (i == 1) p.revealSeconds = 0;
            if (i == 2) p.signSeconds = 0;
            if (i == 3) p.challengeSeconds = 0;
            refuses(p);
        }
        p = scoreboardParams();
        p.signSeconds = EPOCH + 1;
        refuses(p);
        p.signSeconds = EPOCH;
        this.deployWith(p);
        p = scoreboardParams();
        p.challengeSeconds = 62 * EPOCH + 1;
        refuses(p);
        p.challengeSeconds = 62 * EPOCH;
        this.deployWith(p);
        uint32[3] memory quorums = [uint32(500_000), 1_000_001, 0];
        for (uint256 i = 0; i < 3; i++) {
            p = scoreboardParams();
            p.quorumPpm = quorums[i];
            refuses(p);
        }
        p = scoreboardParams();
        p.signerSlashPpm = 0;
        refuses(p);
        p.signerSlashPpm = 1_000_001;
        refuses(p);
        p = scoreboardParams();
        p.validatorPpm = 1_000_001;
        refuses(p);
        // All windows together are no longer than the unbonding delay.
        p = scoreboardParams();
        p.commitSeconds = 7 days - 2 * WINDOW - DISPUTE;
        this.deployWith(p);
        p.commitSeconds += 1;
        refuses(p);
        p.commitSeconds = type(uint64).max;
        refuses(p);
    }

    function test_viewsSayWhatWasDeployed() public view {
        IScoreboard.Params memory p = scoreboard.params();
        assertEq(keccak256(abi.encode(p)), keccak256(abi.encode(scoreboardParams())));
        assertEq(scoreboard.rewards(), address(rewards));
        assertEq(scoreboard.epochEnd(0), GENESIS + EPOCH);
        assertEq(scoreboard.epochAt(GENESIS), 0);
        assertEq(scoreboard.epochAt(GENESIS + EPOCH - 1), 0);
        assertEq(scoreboard.epochAt(GENESIS + EPOCH), 1);
        (bool any,) = scoreboard.head();
        assertTrue(!any, "nothing is posted");
    }

    function test_timesBeforeGenesisAndAfterAllTime() public {
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, 0));
        scoreboard.epochAt(GENESIS - 1);
        uint64[3] memory epochs = [uint64(1) << 40, 1 << 48, type(uint64).max];
        for (uint256 i = 0; i < 3; i++) {
            vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, epochs[i]));
            scoreboard.epochEnd(epochs[i]);
        }
    }

    // --- commit and reveal

    function commitAs(uint256 i, uint64 epoch) private {
        bytes32 commitment = scoreboard.commitmentOf(epoch, validators[i], ROOT, salt(i));
        vm.prank(validators[i]);
        scoreboard.commit(epoch, commitment);
    }

    function revealAs(uint256 i, uint64 epoch) private {
        vm.prank(validators[i]);
        scoreboard.reveal(epoch, ROOT, salt(i));
    }

    function notInPhase(uint64 epoch) private {
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, epoch));
    }

    function test_commitWindow() public {
        vm.warp(endOf(0) - 1);
        notInPhase(0);
        scoreboard.commit(0, ReportRoot.unwrap(ROOT));
        vm.warp(endOf(0));
        commitAs(0, 0);
        vm.warp(endOf(0) + WINDOW - 1);
        commitAs(1, 0);
        vm.warp(endOf(0) + WINDOW);
        notInPhase(0);
        scoreboard.commit(0, ReportRoot.unwrap(ROOT));
    }

    function test_aCommitmentIsGivenOnceAndIsNotZero() public {
        toCommit(0);
        vm.expectRevert(EpochBook.CommitmentZero.selector);
        scoreboard.commit(0, 0);
        vm.expectRevert(EpochBook.CommitmentZero.selector);
        scoreboard.commit(0, bytes32(uint256(1)));
        commitAs(0, 0);
        vm.prank(validators[0]);
        vm.expectRevert(EpochBook.AlreadyCommitted.selector);
        scoreboard.commit(0, bytes32(uint256(2)));
        (bytes32 digest, bool revealed) = scoreboard.reportOf(0, validators[0]);
        assertEq(uint256(digest) & 1, 0);
        assertTrue(!revealed, "revealed");
    }

    function test_revealWindow() public {
        toCommit(0);
        for (uint256 i = 0; i < 3; i++) commitAs(i, 0);
        vm.warp(endOf(0) + WINDOW - 1);
        vm.prank(validators[0]);
        notInPhase(0);
        scoreboard.reveal(0, ROOT, salt(0));
        vm.warp(endOf(0) + WINDOW);
        revealAs(0, 0);
        vm.warp(endOf(0) + 2 * WINDOW - 1);
        revealAs(1, 0);
        vm.warp(endOf(0) + 2 * WINDOW);
        vm.prank(validators[2]);
        notInPhase(0);
        scoreboard.reveal(0, ROOT, salt(2));
    }

    function test_aRevealIsWhatWasCommitted_once() public {
        toCommit(0);
        commitAs(0, 0);
        toReveal(0);
        vm.startPrank(validators[0]);
        vm.expectRevert(EpochBook.CommitmentMismatch.selector);
        scoreboard.reveal(0, ReportRoot.wrap(keccak256("other")), salt(0));
        vm.expectRevert(EpochBook.CommitmentMismatch.selector);
        scoreboard.reveal(0, ROOT, salt(1));
        scoreboard.reveal(0, ROOT, salt(0));
        (bytes32 digest, bool revealed) = scoreboard.reportOf(0, validators[0]);
        assertEq(digest, bytes32(uint256(ReportRoot.unwrap(ROOT)) | 1));
        assertTrue(revealed, "revealed");
        vm.expectRevert(EpochBook.CommitmentMismatch.selector);
        scoreboard.reveal(0, ROOT, salt(0));
        vm.stopPrank();
        // Another's words.
        vm.prank(validators[1]);
        vm.expectRevert(EpochBook.CommitmentMismatch.selector);
        scoreboard.reveal(0, ROOT, salt(0));
    }

    function test_seatsAreOneHashInTheOrderOfTheReveals() public {
        toCommit(0);
        for (uint256 i = 0; i < 3; i++) commitAs(i, 0);
        toReveal(0);
        bytes32 hash;
        assertEq(scoreboard.seatsOf(0), hash);
        for (uint256 i = 3; i > 0; i--) {
            revealAs(i - 1, 0);
            hash = keccak256(abi.encodePacked(hash, validators[i - 1], uint96(STAKE), ROOT));
            assertEq(scoreboard.seatsOf(0), hash);
        }
        assertEq(scoreboard.seatsOf(1), 0);
    }

    function test_aSeatNeedsA64thOfAllStakeAtTheEpochsEnd() public {
        address small = vm.addr(0x5A);
        join(small, IRegistry.Role.Validator, 1000);
        address large = vm.addr(0x5B);
        // 63,000 with the others: 1,000 of 64,000 is just enough.
        join(large, IRegistry.Role.Validator, 54_000);
        for (uint64 epoch = 0; epoch < 2; epoch++) {
            toCommit(epoch);
            bytes32 commitment = scoreboard.commitmentOf(epoch, small, ROOT, 0);
            vm.prank(small);
            scoreboard.commit(epoch, commitment);
            toReveal(epoch);
            vm.prank(small);
            if (epoch == 1) vm.expectRevert(abi.encodeWithSelector(IScoreboard.StakeTooSmall.selector, 1000, 64_001));
            scoreboard.reveal(epoch, ROOT, 0);
            // From the second epoch on it is one unit too little.
            if (epoch == 1) break;
            vm.prank(large);
            registry.stake(1);
        }
    }

    function test_strangersProvidersAndNewcomersHaveNoSeat() public {
        address late = vm.addr(0x5C);
        address[2] memory who = [address(0x57), provider];
        toCommit(0);
        join(late, IRegistry.Role.Validator, 5000);
        for (uint256 i = 0; i < 3; i++) {
            address one = i < 2 ? who[i] : late;
            bytes32 commitment = scoreboard.commitmentOf(0, one, ROOT, 0);
            vm.prank(one);
            scoreboard.commit(0, commitment);
        }
        toReveal(0);
        for (uint256 i = 0; i < 3; i++) {
            vm.prank(i < 2 ? who[i] : late);
            vm.expectRevert(abi.encodeWithSelector(IScoreboard.StakeTooSmall.selector, 0, 9000));
            scoreboard.reveal(0, ROOT, 0);
        }
    }

    /// Stakes are those of the second before the end: who joins in the very block of the end comes too late,
    /// who leaves in it is still heard.
    function test_sameSecondAsTheEnd() public {
        vm.warp(endOf(0) - 1);
        join(vm.addr(0x5D), IRegistry.Role.Validator, 1000);
        vm.warp(endOf(0));
        join(vm.addr(0x5E), IRegistry.Role.Validator, 1000);
        vm.prank(validators[0]);
        registry.unstake(STAKE);
        assertEq(scoreboard.potOf(0, 0), uint256(10_000) * 666_667 / 1e6 / 2);
        commitAs(0, 0);
        toReveal(0);
        revealAs(0, 0);
        assertEq(scoreboard.seatsOf(0), keccak256(abi.encodePacked(bytes32(0), validators[0], uint96(STAKE), ROOT)));
    }

    function test_noAccountHasTwoSeats() public {
        toCommit(0);
        commitAs(0, 0);
        address next = vm.addr(0x516);
        bytes memory consent = signed(0x516, registry.consentDigest(validators[0]));
        bytes32 commitment = scoreboard.commitmentOf(0, next, ROOT, 0);
        vm.prank(next);
        scoreboard.commit(0, commitment);
        toReveal(0);
        revealAs(0, 0);
        vm.prank(validators[0]);
        registry.setSigner(next, consent);
        vm.prank(next);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.StakeTooSmall.selector, 0, 9000));
        scoreboard.reveal(0, ROOT, 0);
    }

    // --- post

    function test_postWindow() public {
        Facts memory facts = publish(0, sampleReports());
        IScoreboard.Weights memory weights = right(facts).weights;
        bytes32[2][] memory all = signatures(weights, 3);
        vm.warp(endOf(0) + 2 * WINDOW - 1);
        notInPhase(0);
        scoreboard.post(weights, facts.seats, 7, all);
        vm.warp(endOf(0) + 3 * WINDOW);
        notInPhase(0);
        scoreboard.post(weights, facts.seats, 7, all);
        vm.warp(endOf(0) + 3 * WINDOW - 1);
        scoreboard.post(weights, facts.seats, 7, all);
        (WeightsId id, uint64 finalAt, uint128 total, bool any,) = scoreboard.postedOf(0);
        assertEq(WeightsId.unwrap(id), WeightsId.unwrap(scoreboard.weightsId(weights)));
        assertEq(finalAt, endOf(0) + 3 * WINDOW - 1 + DISPUTE);
        assertEq(total, weights.paid);
        assertTrue(!any, "it is the first");
    }

    function test_finalFromTheMomentOn() public {
        (, Statement memory it) = settleFirst();
        (WeightsId id, uint64 finalAt,,,) = scoreboard.postedOf(0);
        vm.warp(finalAt - 1);
        assertTrue(!scoreboard.isFinal(it.weights), "too early");
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotFinal.selector, id));
        scoreboard.finalTotalOf(it.weights);
        vm.warp(finalAt);
        assertTrue(scoreboard.isFinal(it.weights), "final");
        assertEq(scoreboard.finalTotalOf(it.weights), it.weights.paid);
        it.weights.paid++;
        assertTrue(!scoreboard.isFinal(it.weights), "others are not");
    }

    function settleFirst() private returns (Facts memory facts, Statement memory it) {
        return settle(0, sampleReports(), facts, it);
    }

    function test_postRefusesWhatIsNotSignedByAQuorum() public {
        vm.prank(validators[2]);
        registry.stake(1000);
        Facts memory facts = publish(0, sampleReports());
        IScoreboard.Weights memory w = right(facts).weights;
        bytes32[2][] memory two = signatures(w, 2);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.QuorumMissing.selector, 6000, 10_000));
        scoreboard.post(w, facts.seats, 3, two);
        // One that is named but has not signed, in its place or at the end.
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.SignatureInvalid.selector, 2));
        scoreboard.post(w, facts.seats, 7, two);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.SignatureInvalid.selector, 2));
        scoreboard.post(w, facts.seats, 5, two);
        (two[0], two[1]) = (two[1], two[0]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.SignatureInvalid.selector, 0));
        scoreboard.post(w, facts.seats, 3, two);
        bytes32[2][] memory three = signatures(w, 3);
        vm.expectRevert(IScoreboard.SignaturesSpare.selector);
        scoreboard.post(w, facts.seats, 3, three);
        vm.expectRevert(IScoreboard.SignaturesSpare.selector);
        scoreboard.post(w, facts.seats, 15, three);
        three[2] = three[1];
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.SignatureInvalid.selector, 2));
        scoreboard.post(w, facts.seats, 7, three);
        three[2] = [bytes32(0), bytes32(0)];
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.SignatureInvalid.selector, 2));
        scoreboard.post(w, facts.seats, 7, three);
        // Seven tenths: two of the three.
        bytes32[2][] memory right_ = new bytes32[2][](2);
        (right_[0], right_[1]) = (signatures(w, 3)[0], signatures(w, 3)[2]);
        scoreboard.post(w, facts.seats, 5, right_);
    }

    /// 400,000 of 599,999 is enough, of 600,000 it is not.
    function test_theQuorumToTheUnit() public {
        uint128[3] memory more = [uint128(397_000), 97_000, 96_999];
        for (uint256 i = 0; i < 3; i++) {
            vm.prank(validators[i]);
            registry.stake(more[i]);
        }
        for (uint64 epoch = 0; epoch < 2; epoch++) {
            Facts memory facts = publish(epoch, sampleReports());
            facts.set = 1;
            IScoreboard.Weights memory w = right(facts).weights;
            bytes32[2][] memory one = signatures(w, 1);
            if (epoch == 1) vm.expectRevert(IScoreboard.SetInvalid.selector);
            scoreboard.post(w, facts.seats, 1, one);
            vm.prank(validators[1]);
            registry.stake(1);
        }
    }

    function test_postRefusesASetWithoutQuorumOrSeats() public {
        Facts memory facts = publish(0, sampleReports());
        uint64[4] memory sets = [uint64(0), 3, 15, 7 | 1 << 63];
        for (uint256 i = 0; i < 4; i++) {
            IScoreboard.Weights memory w = right(facts).weights;
            w.set = sets[i];
            bytes32[2][] memory all = signatures(w, 3);
            vm.expectRevert(IScoreboard.SetInvalid.selector);
            scoreboard.post(w, facts.seats, 7, all);
        }
    }

    function test_postRefusesAnotherListOfSeats() public {
        Facts memory facts = publish(0, sampleReports());
        IScoreboard.Weights memory w = right(facts).weights;
        bytes32[2][] memory all = signatures(w, 3);
        facts.seats[1].stake += 1;
        vm.expectRevert(IScoreboard.SeatsMismatch.selector);
        scoreboard.post(w, facts.seats, 7, all);
        facts.seats[1].stake -= 1;
        facts.seats[2].root = facts.seats[1].root;
        vm.expectRevert(IScoreboard.SeatsMismatch.selector);
        scoreboard.post(w, facts.seats, 7, all);
        IScoreboard.Seat[] memory two = new IScoreboard.Seat[](2);
        (two[0], two[1]) = (facts.seats[0], facts.seats[1]);
        all = signatures(w, 2);
        vm.expectRevert(IScoreboard.SeatsMismatch.selector);
        scoreboard.post(w, two, 3, all);
    }

    function test_postRefusesMoreThanThePot() public {
        Facts memory facts = publish(0, sampleReports());
        Statement memory it = right(facts);
        assertEq(facts.pot, 3000);
        it.weights.paid = 3001;
        bytes32[2][] memory all = signatures(it.weights, 3);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.PaidTooMuch.selector, 3000));
        scoreboard.post(it.weights, facts.seats, 7, all);
        it.weights.paid = 3000;
        postAll(facts, it.weights);
    }

    function test_epochsAscendAndContinueTheHead() public {
        (Facts memory facts, Statement memory first) = settleFirst();
        bytes32[2][] memory all = signatures(first.weights, 3);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.NotAfterHead.selector, 0));
        scoreboard.post(first.weights, facts.seats, 7, all);
        Facts memory next = publish(1, sampleReports());
        Statement memory other = right(next);
        WeightsId head = scoreboard.weightsId(first.weights);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.WrongBase.selector, head));
        this.postThem(next, other.weights);
        (next.base, next.baseLeaves) = (first.weights, first.leaves);
        next.pot = scoreboard.potOf(1, first.weights.paid);
        Statement memory it = right(next);
        postAll(next, it.weights);
        (bool any, uint64 epoch) = scoreboard.head();
        assertTrue(any && epoch == 1, "the head");
        uint64 previous;
        (,,, any, previous) = scoreboard.postedOf(1);
        assertTrue(any && previous == 0, "continues");
        // Another statement of the same epoch comes too late.
        other.weights.base = head;
        vm.expectRevert(abi.encodeWithSelector(EpochBook.NotAfterHead.selector, 1));
        this.postThem(next, other.weights);
    }

    function postThem(Facts memory facts, IScoreboard.Weights memory weights) external {
        postAll(facts, weights);
    }

    /// Signatures are for one contract on one chain.
    function test_idsFollowDomainAndEveryField() public {
        IScoreboard.Weights memory w = IScoreboard.Weights(1, WeightsId.wrap(0), 7, 1, 2, 3, bytes32(uint256(4)));
        bytes32 id = WeightsId.unwrap(scoreboard.weightsId(w));
        Scoreboard other = this.deployWith(scoreboardParams());
        assertTrue(id != WeightsId.unwrap(other.weightsId(w)), "contract");
        vm.chainId(7);
        assertTrue(id != WeightsId.unwrap(scoreboard.weightsId(w)), "chain");
    }

    // --- drops

    /// Epochs 0, 1 and 2 posted, each on the one before; the second is a lie.
    function threeWithALie() private returns (Facts[3] memory facts, Statement[3] memory all) {
        (facts[0], all[0]) = settleFirst();
        (facts[1]) = publish(1, sampleReports());
        (facts[1].base, facts[1].baseLeaves) = (all[0].weights, all[0].leaves);
        facts[1].pot = scoreboard.potOf(1, all[0].weights.paid);
        all[1] = right(facts[1]);
        all[1].leaves[0].total += 1;
        rooted(all[1]);
        postAll(facts[1], all[1].weights);
        (facts[2], all[2]) = settle(2, sampleReports(), facts[1], all[1]);
    }

    function test_aLieIsDroppedWithAllThatContinuesIt_andTheNextEpochGoesOn() public {
        // Longer than the windows, so that the lie is not final when the next is posted.
        IScoreboard.Params memory params = scoreboardParams();
        assertTrue(params.challengeSeconds < EPOCH, "the sample needs epochs that overlap");
        useLongDisputes();
        (Facts[3] memory facts, Statement[3] memory all) = threeWithALie();
        assertTrue(challengedTotal(facts[1], all[1], all[1].leaves[0].account), "the lie");
        (bool any, uint64 head) = scoreboard.head();
        assertTrue(any && head == 0, "the head is the last right one");
        (WeightsId id,,,,) = scoreboard.postedOf(2);
        assertEq(WeightsId.unwrap(id), 0);
        (id,,,,) = scoreboard.postedOf(1);
        assertEq(WeightsId.unwrap(id), 0);
        (id,,,,) = scoreboard.postedOf(0);
        assertEq(WeightsId.unwrap(id), WeightsId.unwrap(scoreboard.weightsId(all[0].weights)));
        // Neither comes back.
        id = scoreboard.weightsId(all[1].weights);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.WrongBase.selector, scoreboard.weightsId(all[0].weights)));
        this.postThem(facts[2], all[2].weights);
        vm.warp(block.timestamp + 2 * EPOCH);
        assertTrue(!scoreboard.isFinal(all[1].weights) && !scoreboard.isFinal(all[2].weights), "dropped for ever");
        assertTrue(scoreboard.isFinal(all[0].weights), "what was right stands");
        // Who signed the third signed what followed from its base: no fault.
        assertSame(challenged(facts[2], all[2]), "");
        Statement memory last;
        Facts memory next = facts[0];
        (next, last) = settle(5, sampleReports(), facts[0], all[0]);
        (any, head) = scoreboard.head();
        assertTrue(any && head == 5, "the next epoch is not blocked");
    }

    /// As many epochs as can stand without being final, and the lie is the first of them: dropping them all
    /// costs a challenge no more than 800,000 gas, whatever its proof costs.
    function test_theLongestChainIsDroppedWithinTheLimit() public {
        IScoreboard.Params memory params = scoreboardParams();
        (params.challengeSeconds, params.signSeconds) = (62 * EPOCH, EPOCH);
        deployLong(params);
        IScoreboard.ScoreLeaf[][] memory reports = new IScoreboard.ScoreLeaf[][](3);
        Facts memory first = publish(0, reports);
        Statement memory lie;
        (lie.weights.set, lie.weights.base) = (7, WeightsId.wrap(0));
        // As late as may be.
        vm.warp(block.timestamp + EPOCH - 1);
        postAll(first, lie.weights);
        IScoreboard.Weights memory last = lie.weights;
        uint64 epochs = 1;
        (, uint64 finalAt,,,) = scoreboard.postedOf(0);
        for (; endOf(epochs) + 2 * WINDOW < finalAt; epochs++) {
            Facts memory facts = publish(epochs, reports);
            IScoreboard.Weights memory next;
            (next.epoch, next.set, next.base) = (epochs, 7, scoreboard.weightsId(last));
            postAll(facts, next);
            last = next;
        }
        assertTrue(epochs > 60 && epochs <= 64, "the longest chain");
        IScoreboard.RewardOpening[] memory none;
        uint256 before = gasleft();
        scoreboard.challengeEarned(lie.weights, first.seats, validators[0], none, SALT);
        assertTrue(before - gasleft() < 800_000, "gas");
        (bool any,) = scoreboard.head();
        assertTrue(!any, "all of it");
    }

    function useLongDisputes() private {
        IScoreboard.Params memory params = scoreboardParams();
        params.challengeSeconds = 3 * EPOCH;
        deployLong(params);
    }

    /// The network anew, with these params.
    function deployLong(IScoreboard.Params memory params) private {
        _params = params;
        deploy();
    }

    IScoreboard.Params private _params;

    function deployParams() internal view override returns (IScoreboard.Params memory) {
        return _params.epochSeconds == 0 ? scoreboardParams() : _params;
    }

    function test_aLieInTheSignWindowCanBeReplacedByTheTruth() public {
        Facts memory facts = publish(0, sampleReports());
        Statement memory it = right(facts);
        Statement memory lie = copyOf(it);
        lie.leaves[0].total += 1;
        rooted(lie);
        postAll(facts, lie.weights);
        assertTrue(challengedTotal(facts, lie, lie.leaves[0].account), "the lie");
        WeightsId id = scoreboard.weightsId(lie.weights);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.AlreadyProven.selector, id));
        this.postThem(facts, lie.weights);
        postAll(facts, it.weights);
        (bool any, uint64 head) = scoreboard.head();
        assertTrue(any && head == 0, "posted");
    }

    function test_whatIsFinalStaysButItsSignersArePunished() public {
        Facts memory facts = publish(0, sampleReports());
        Statement memory lie = right(facts);
        lie.leaves[0].total += 1;
        rooted(lie);
        postAll(facts, lie.weights);
        (, uint64 finalAt,,,) = scoreboard.postedOf(0);
        vm.warp(finalAt);
        assertTrue(challengedTotal(facts, lie, lie.leaves[0].account), "the lie");
        assertTrue(scoreboard.isFinal(lie.weights), "stays");
        scoreboard.punish(lie.weights, signatures(lie.weights, 3));
        assertEq(registry.slashableOf(validators[0]), STAKE / 2);
        // The next can only continue it.
        (facts,) = settle(1, sampleReports(), facts, lie);
    }

    function test_oneSecondBeforeFinalItIsDropped() public {
        Facts memory facts = publish(0, sampleReports());
        Statement memory lie = right(facts);
        lie.leaves[0].total += 1;
        rooted(lie);
        postAll(facts, lie.weights);
        (, uint64 finalAt,,,) = scoreboard.postedOf(0);
        vm.warp(finalAt - 1);
        assertTrue(challengedTotal(facts, lie, lie.leaves[0].account), "the lie");
        (bool any,) = scoreboard.head();
        assertTrue(!any, "nothing stands");
    }

    // --- punishments

    uint128 private firstPaid;

    function wrongOf(uint64 epoch) private returns (IScoreboard.Weights memory w) {
        Facts memory facts = publish(epoch, sampleReports());
        w = right(facts).weights;
        w.set = 8;
        scoreboard.challengeSet(w, facts.seats, new IScoreboard.ReportOpening[](0), SALT);
        // Another lie of the same epoch, proven too.
        firstPaid = w.paid;
        w.paid = 1;
        scoreboard.challengeSet(w, facts.seats, new IScoreboard.ReportOpening[](0), SALT);
    }

    function test_signersArePunishedOnceAnEpoch() public {
        IScoreboard.Weights memory w = wrongOf(0);
        bytes32[2][] memory one = signatures(w, 1);
        scoreboard.punish(w, one);
        assertEq(registry.slashableOf(validators[0]), STAKE / 2);
        assertTrue(scoreboard.isPunished(0, validators[0]), "punished");
        vm.expectRevert(IScoreboard.NothingToPunish.selector);
        scoreboard.punish(w, one);
        // Who is punished already does not keep others from it.
        scoreboard.punish(w, signatures(w, 3));
        for (uint256 i = 0; i < 3; i++) assertEq(registry.slashableOf(validators[i]), STAKE / 2);
        w.paid = firstPaid;
        one = signatures(w, 3);
        vm.expectRevert(IScoreboard.NothingToPunish.selector);
        scoreboard.punish(w, one);
        // One of the next epoch costs again.
        w = wrongOf(1);
        scoreboard.punish(w, signatures(w, 1));
        assertEq(registry.slashableOf(validators[0]), STAKE / 4);
    }

    function test_onlyProvenLiesAndOnlyTheirSignersArePunished() public {
        (, Statement memory it) = settleFirst();
        bytes32[2][] memory all = signatures(it.weights, 3);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.NotProven.selector, scoreboard.weightsId(it.weights)));
        scoreboard.punish(it.weights, all);
        IScoreboard.Weights memory w = wrongOf(1);
        // Signatures of something else are of nobody.
        vm.expectRevert(IScoreboard.NothingToPunish.selector);
        scoreboard.punish(w, all);
        bytes32[2][] memory others = new bytes32[2][](2);
        others[0] = signature(PROVIDER_KEY, scoreboard.weightsId(w));
        others[1] = signature(0xDEAD, scoreboard.weightsId(w));
        vm.expectRevert(IScoreboard.NothingToPunish.selector);
        scoreboard.punish(w, others);
        vm.expectRevert(IScoreboard.NothingToPunish.selector);
        scoreboard.punish(w, new bytes32[2][](0));
        for (uint256 i = 0; i < 3; i++) assertEq(registry.slashableOf(validators[i]), STAKE);
        assertEq(registry.slashableOf(provider), 1000);
    }

    /// What was signed does not escape with the key, nor with the stake on its way out.
    function test_aLiarCannotSlipAwayByAnotherKeyOrByLeaving() public {
        IScoreboard.Weights memory w = wrongOf(0);
        bytes32[2][] memory all = signatures(w, 2);
        bytes memory consent = signed(0x516, registry.consentDigest(validators[0]));
        vm.prank(validators[0]);
        registry.setSigner(vm.addr(0x516), consent);
        vm.prank(validators[1]);
        registry.unstake(STAKE);
        scoreboard.punish(w, all);
        assertEq(registry.slashableOf(validators[0]), STAKE / 2);
        assertEq(registry.slashableOf(validators[1]), STAKE / 2);
    }

    /// L1 of the audit: nobody takes a small punishment in advance.
    function test_nobodyIsPunishedForAnEpochThatIsNotOver() public {
        IScoreboard.Weights memory w;
        (w.epoch, w.set) = (5, 1);
        IScoreboard.Seat[] memory nobody;
        notInPhase(5);
        scoreboard.challengeSet(w, nobody, new IScoreboard.ReportOpening[](0), SALT);
    }

    function test_whoAnnouncedInAnEarlierBlockGetsItsShare_othersNothing() public {
        for (uint64 epoch = 0; epoch < 3; epoch++) {
            Facts memory facts = publish(epoch, sampleReports());
            IScoreboard.Weights memory w = right(facts).weights;
            w.set = 8;
            bytes32 id = WeightsId.unwrap(scoreboard.weightsId(w));
            // Announced in an earlier block; not at all; in the same block.
            if (epoch != 1) scoreboard.announce(scoreboard.announcementOf(ACCUSER, id, SALT));
            if (epoch != 2) vm.roll(block.number + 1);
            uint256 before = token.balanceOf(ACCUSER);
            vm.prank(ACCUSER);
            scoreboard.challengeSet(w, facts.seats, new IScoreboard.ReportOpening[](0), SALT);
            uint128 taken = registry.slashableOf(validators[epoch]) / 2;
            bytes32[2][] memory one = new bytes32[2][](1);
            one[0] = signature(keys[epoch], WeightsId.wrap(id));
            scoreboard.punish(w, one);
            assertEq(token.balanceOf(ACCUSER) - before, epoch == 0 ? taken / 5 : 0);
        }
    }

    // --- pots

    function test_aPotIsFixedBeforeTheEpochEnds() public {
        vm.warp(endOf(0) - 1);
        uint128 before = scoreboard.potOf(0, 0);
        assertEq(before, 3000);
        rewards.fund(1e9);
        vm.warp(endOf(0));
        // M3 of the audit: what is sent later changes nothing.
        uint128 most = rewards.fundedAt(endOf(0) - 1);
        rewards.fund(1);
        assertEq(rewards.fundedAt(endOf(0) - 1), most);
        assertEq(scoreboard.potOf(0, most - 7), 7);
        assertEq(scoreboard.potOf(0, most), 0);
        assertEq(scoreboard.potOf(0, type(uint128).max), 0);
        // More stake, more pot, up to the emission.
        vm.prank(validators[0]);
        registry.stake(900_000_000);
        vm.warp(endOf(1));
        assertEq(scoreboard.potOf(1, 0), uint256(900_009_000) * 666_667 / 1e6 / 2);
    }
}
