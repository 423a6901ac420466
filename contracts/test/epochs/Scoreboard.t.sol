// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {EpochBook} from "../../src/epochs/EpochBook.sol";
import {IScoreboard} from "../../src/epochs/IScoreboard.sol";
import {Scoreboard} from "../../src/epochs/Scoreboard.sol";
import {Registry} from "../../src/stake/Registry.sol";
import {NetworkKit} from "../NetworkKit.sol";
import {TreeKit} from "../TreeKit.sol";

/// An epoch from commitments to final weights; every way to lie about them, and that nobody honest is hurt by
/// the tools against lies.
contract ScoreboardTest is NetworkKit {
    address private constant P1 = address(0x1111);
    address private constant P2 = address(0x2222);
    address private constant P3 = address(0x3333);

    function setUp() public {
        deploy();
    }

    /// Validator 0 is the liar: nothing for P1, all for P2. Medians: P1 500_000, P2 200_000, P3 300_010
    /// (validator 1 leaves it out).
    function threeReports() private pure returns (IScoreboard.ScoreLeaf[][3] memory all) {
        all[0] = leavesOf(addresses(P1, P2, P3), numbers(0, 1_000_000, 300_010));
        address[] memory two = new address[](2);
        (two[0], two[1]) = (P1, P2);
        uint32[] memory scores = new uint32[](2);
        (scores[0], scores[1]) = (500_000, 200_000);
        all[1] = leavesOf(two, scores);
        all[2] = leavesOf(addresses(P1, P2, P3), numbers(500_010, 199_990, 300_020));
    }

    function roots(IScoreboard.ScoreLeaf[][3] memory all) private pure returns (bytes32[3] memory list) {
        for (uint256 i = 0; i < 3; i++) list[i] = TreeKit.reportRoot(all[i]);
    }

    function honest() private pure returns (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves) {
        (proposal, leaves,) = TreeKit.propose(addresses(P1, P2, P3), numbers(500_000, 200_000, 300_010), EMISSION);
    }

    function openings(IScoreboard.ScoreLeaf[][3] memory all, address who)
        private
        view
        returns (IScoreboard.ReportOpening[] memory list)
    {
        list = new IScoreboard.ReportOpening[](3);
        for (uint256 i = 0; i < 3; i++) list[i] = TreeKit.open(validators[i], all[i], who);
    }

    function test_mediansFromOpenings() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        (uint32 least, uint32 greatest) = scoreboard.medianOf(0, P1, openings(all, P1));
        assertEq(least, 500_000);
        assertEq(greatest, 500_000);
        (least, greatest) = scoreboard.medianOf(0, P2, openings(all, P2));
        assertEq(least, 200_000);
        assertEq(greatest, 200_000);
        (least, greatest) = scoreboard.medianOf(0, P3, openings(all, P3));
        assertEq(least, 300_010);
        assertEq(greatest, 300_010);
        // In nobody's report, below, between and above all leaves.
        address[3] memory strangers = [address(0x1), address(0x2000), address(0x9999)];
        for (uint256 i = 0; i < 3; i++) {
            (least, greatest) = scoreboard.medianOf(0, strangers[i], openings(all, strangers[i]));
            assertEq(least, 0);
            assertEq(greatest, 0);
        }
        (uint128 counted, uint128 total, bool quorum) = scoreboard.stakesOf(0);
        assertEq(counted, 9000);
        assertEq(total, 9000);
        assertTrue(quorum, "quorum");
    }

    function test_unknownReportsWidenTheBounds() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        IScoreboard.ReportOpening[] memory two = new IScoreboard.ReportOpening[](2);
        two[0] = TreeKit.open(validators[1], all[1], P1);
        two[1] = TreeKit.open(validators[2], all[2], P1);
        (uint32 least, uint32 greatest) = scoreboard.medianOf(0, P1, two);
        assertEq(least, 500_000);
        assertEq(greatest, 500_010);
        (least, greatest) = scoreboard.medianOf(0, P1, new IScoreboard.ReportOpening[](0));
        assertEq(least, 0);
        assertEq(greatest, 1_000_000);
    }

    function test_absenceCannotBeFeigned() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        IScoreboard.ReportOpening[] memory one = new IScoreboard.ReportOpening[](1);
        one[0] = TreeKit.open(validators[2], all[2], P2);
        // The neighbours of P2 do not leave room for it: they are not adjacent.
        one[0].openings = new IScoreboard.ScoreOpening[](2);
        one[0].openings[0] = TreeKit.scoreAt(all[2], 0);
        one[0].openings[1] = TreeKit.scoreAt(all[2], 2);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.medianOf(0, P2, one);
        // An end leaf that is no end.
        one[0].openings = new IScoreboard.ScoreOpening[](1);
        one[0].openings[0] = TreeKit.scoreAt(all[2], 1);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.medianOf(0, P3, one);
        // A shorter count than was committed to.
        one[0] = TreeKit.open(validators[2], all[2], P3);
        one[0].count = 2;
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.medianOf(0, P3, one);
        // Another score, another place, nothing at all.
        one[0] = TreeKit.open(validators[2], all[2], P3);
        one[0].openings[0].leaf.scorePpm++;
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.medianOf(0, P3, one);
        one[0].openings[0].leaf.scorePpm--;
        one[0] = TreeKit.open(validators[2], all[2], P3);
        one[0].openings[0].index = 0;
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.medianOf(0, P3, one);
        one[0].openings = new IScoreboard.ScoreOpening[](0);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.medianOf(0, P3, one);
        // One validator twice.
        IScoreboard.ReportOpening[] memory twice = new IScoreboard.ReportOpening[](2);
        (twice[0], twice[1]) = (TreeKit.open(validators[2], all[2], P3), TreeKit.open(validators[2], all[2], P3));
        vm.expectRevert(IScoreboard.NotAscending.selector);
        scoreboard.medianOf(0, P3, twice);
    }

    function test_commitAndRevealKeepTheirWindows() public {
        bytes32 root = keccak256("root");
        bytes32 commitment = scoreboard.commitmentOf(0, validators[0], root, salt(0));
        vm.warp(GENESIS + EPOCH - 1);
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, 0));
        scoreboard.commit(0, commitment);
        toCommit(0);
        // Nothing, and what is nothing without its last bit.
        vm.expectRevert(EpochBook.CommitmentZero.selector);
        scoreboard.commit(0, 0);
        vm.expectRevert(EpochBook.CommitmentZero.selector);
        scoreboard.commit(0, bytes32(uint256(1)));
        vm.prank(validators[0]);
        scoreboard.commit(0, commitment);
        vm.prank(validators[0]);
        vm.expectRevert(EpochBook.AlreadyCommitted.selector);
        scoreboard.commit(0, keccak256("second thoughts"));
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, 0));
        scoreboard.reveal(0, root, salt(0));
        toReveal(0);
        vm.prank(validators[1]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, 0));
        scoreboard.commit(0, commitment);
        vm.prank(validators[0]);
        vm.expectRevert(EpochBook.CommitmentMismatch.selector);
        scoreboard.reveal(0, keccak256("another root"), salt(0));
        vm.prank(validators[1]);
        vm.expectRevert(EpochBook.CommitmentMismatch.selector);
        scoreboard.reveal(0, root, salt(0));
        vm.prank(ACCUSER);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotValidator.selector, ACCUSER));
        scoreboard.reveal(0, root, salt(0));
        vm.prank(validators[0]);
        scoreboard.reveal(0, root, salt(0));
        vm.prank(validators[0]);
        vm.expectRevert(EpochBook.CommitmentMismatch.selector);
        scoreboard.reveal(0, root, salt(0));
        toVoid(0);
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, 0));
        scoreboard.reveal(0, root, salt(0));
    }

    /// A commitment that is itself a report root must not pass for a revealed one.
    function test_aCommitmentIsNoReport() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        toCommit(0);
        bytes32 root = TreeKit.reportRoot(all[0]);
        vm.prank(validators[0]);
        scoreboard.commit(0, root);
        IScoreboard.ReportOpening[] memory one = new IScoreboard.ReportOpening[](1);
        one[0] = TreeKit.open(validators[0], all[0], P1);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.NotRevealed.selector, 0, validators[0]));
        scoreboard.medianOf(0, P1, one);
    }

    function test_quorumIsTwoThirds() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        bytes32[3] memory said = roots(all);
        (said[0], said[1]) = (bytes32(0), bytes32(0));
        report(0, said);
        toPropose(0);
        (IScoreboard.Proposal memory proposal,) = honest();
        vm.prank(validators[1]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NoQuorum.selector, 3000, 9000));
        scoreboard.propose(0, proposal);
        said = roots(all);
        said[0] = 0;
        report(1, said);
        toPropose(1);
        propose(1, 1, proposal);
    }

    function test_anHonestProposalStands() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves) = honest();
        vm.prank(validators[1]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, 0));
        scoreboard.propose(0, proposal);
        toPropose(0);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotValidator.selector, provider));
        scoreboard.propose(0, proposal);
        IScoreboard.WeightOpening[] memory weights = TreeKit.open(leaves, P1);
        IScoreboard.ReportOpening[] memory proof = openings(all, P1);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.NoProposal.selector, 0));
        scoreboard.challengeWeight(0, proposal, P1, weights, proof);
        propose(1, 0, proposal);
        // What was not proposed cannot be proven wrong, nor can this by another provider's leaf, or by leaves
        // that are no neighbours.
        proposal.thresholdRemainder++;
        vm.expectRevert(IScoreboard.WrongProposal.selector);
        scoreboard.challengeWeight(0, proposal, P1, weights, proof);
        vm.expectRevert(IScoreboard.WrongProposal.selector);
        scoreboard.challengeShape(0, proposal, weights);
        bytes32 never = scoreboard.proposalDigest(0, proposal);
        vm.prank(validators[0]);
        vm.expectRevert(IScoreboard.WrongProposal.selector);
        scoreboard.voteUnavailable(0, never);
        proposal.thresholdRemainder--;
        notTheirPlaces(proposal, leaves, all);
        address[4] memory asked = [P1, P2, P3, address(0x2000)];
        for (uint256 i = 0; i < 4; i++) {
            vm.expectRevert(IScoreboard.ProposalHolds.selector);
            scoreboard.challengeWeight(0, proposal, asked[i], TreeKit.open(leaves, asked[i]), openings(all, asked[i]));
        }
        for (uint256 i = 0; i < 3; i++) {
            IScoreboard.WeightOpening[] memory pair = new IScoreboard.WeightOpening[](i < 2 ? 2 : 1);
            for (uint256 j = 0; j < pair.length; j++) pair[j] = TreeKit.weightAt(leaves, i + j);
            vm.expectRevert(IScoreboard.ProposalHolds.selector);
            scoreboard.challengeShape(0, proposal, pair);
        }
        (bytes32 digest,) = scoreboard.finalOf(0);
        assertEq(digest, 0);
        vm.warp(block.timestamp + DISPUTE);
        (digest,) = scoreboard.finalOf(0);
        assertEq(digest, scoreboard.proposalDigest(0, proposal));
        assertEq(registry.slashableOf(validators[1]), STAKE);
    }

    function notTheirPlaces(
        IScoreboard.Proposal memory proposal,
        IScoreboard.WeightLeaf[] memory leaves,
        IScoreboard.ScoreLeaf[][3] memory all
    ) private {
        IScoreboard.WeightOpening[] memory weights = TreeKit.open(leaves, P2);
        IScoreboard.ReportOpening[] memory proof = openings(all, P1);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeWeight(0, proposal, P1, weights, proof);
        vm.expectRevert(IScoreboard.ProposalHolds.selector);
        scoreboard.challengeShape(0, proposal, weights);
        weights = new IScoreboard.WeightOpening[](2);
        (weights[0], weights[1]) = (TreeKit.weightAt(leaves, 0), TreeKit.weightAt(leaves, 2));
        proof = openings(all, P2);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeWeight(0, proposal, P2, weights, proof);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeShape(0, proposal, weights);
    }

    /// Any other weight of any provider is proven wrong, by one unit or by all; the liar pays, the accuser
    /// gets its share.
    function testFuzz_aLyingProposerIsSlashed(uint8 which, uint32 lie) public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        toPropose(0);
        address[] memory who = addresses(P1, P2, P3);
        uint32[] memory weights = numbers(500_000, 200_000, 300_010);
        uint256 place = which % 3;
        uint32 wrong = uint32(bound(lie, 1, 1_000_000));
        if (wrong == weights[place]) wrong--;
        weights[place] = wrong;
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(who, weights, EMISSION);
        propose(0, 0, proposal);
        vm.prank(ACCUSER);
        scoreboard.challengeWeight(0, proposal, who[place], TreeKit.open(leaves, who[place]), openings(all, who[place]));
        assertEq(registry.slashableOf(validators[0]), STAKE / 2);
        assertEq(token.balanceOf(ACCUSER), STAKE / 10);
        (bytes32 digest, address proposer,) = scoreboard.proposalOf(0);
        assertEq(digest, 0);
        assertEq(proposer, address(0));
        // Not by the same one again; by an honest one at once.
        (proposal,) = honest();
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.Barred.selector, validators[0]));
        scoreboard.propose(0, proposal);
        propose(2, 0, proposal);
    }

    function test_aProviderLeftOutAndOneInvented() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        toPropose(0);
        address[] memory who = addresses(P1, P3, address(0x4444));
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(who, numbers(500_000, 300_010, 7), EMISSION);
        propose(0, 0, proposal);
        // Both can be shown; the state goes back in between.
        try this.disputeAndUndo(proposal, leaves, openings(all, P2), P2) {} catch (bytes memory why) {
            assertEq(keccak256(why), keccak256(abi.encodeWithSignature("Undone()")));
        }
        scoreboard.challengeWeight(
            0, proposal, address(0x4444), TreeKit.open(leaves, address(0x4444)), openings(all, address(0x4444))
        );
    }

    error Undone();

    function disputeAndUndo(
        IScoreboard.Proposal memory proposal,
        IScoreboard.WeightLeaf[] memory leaves,
        IScoreboard.ReportOpening[] memory reports_,
        address who
    ) external {
        scoreboard.challengeWeight(0, proposal, who, TreeKit.open(leaves, who), reports_);
        revert Undone();
    }

    /// One leaf changed behind the totals' back: order, sums, share, a weight of 0.
    function testFuzz_aMisshapenTreeIsCaught(uint8 how) public {
        report(0, roots(threeReports()));
        toPropose(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves) = honest();
        how %= 7;
        if (how == 0) leaves[1].provider = P1;
        if (how == 1) leaves[1].weightBefore++;
        if (how == 2) leaves[1].amountBefore--;
        if (how == 3) leaves[2].weightPpm++;
        if (how == 4) leaves[0].amountBefore = 1;
        if (how == 5) leaves[1].weightPpm = 0;
        if (how == 6) (proposal.thresholdRemainder, proposal.thresholdProvider) = (0, P3);
        (proposal.root,) = TreeKit.climb(TreeKit.hashes(leaves), 0);
        propose(0, 0, proposal);
        // Some place shows it; honest neighbours elsewhere do not.
        bool caught = false;
        for (uint256 from = 0; from < 3 && !caught; from++) {
            IScoreboard.WeightOpening[] memory pair = new IScoreboard.WeightOpening[](from == 2 ? 1 : 2);
            for (uint256 j = 0; j < pair.length; j++) pair[j] = TreeKit.weightAt(leaves, from + j);
            vm.prank(ACCUSER);
            try scoreboard.challengeShape(0, proposal, pair) {
                caught = true;
            } catch {}
        }
        assertTrue(caught, "caught");
        assertEq(registry.slashableOf(validators[0]), STAKE / 2);
    }

    function test_proposalsThatCannotBeAreRefused() public {
        report(0, roots(threeReports()));
        toPropose(0);
        (IScoreboard.Proposal memory proposal,) = honest();
        proposal.emission++;
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.WrongEmission.selector, EMISSION));
        scoreboard.propose(0, proposal);
        (proposal,) = honest();
        proposal.totalWeight = 0;
        vm.prank(validators[0]);
        vm.expectRevert(IScoreboard.WrongProposal.selector);
        scoreboard.propose(0, proposal);
        (proposal,) = honest();
        propose(0, 0, proposal);
        bytes32 digest = scoreboard.proposalDigest(0, proposal);
        vm.prank(validators[1]);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.AlreadyProposed.selector, digest));
        scoreboard.propose(0, proposal);
    }

    function test_disputesEndWithTheWindow() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        toPropose(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(addresses(P1, P2, P3), numbers(1, 200_000, 300_010), EMISSION);
        propose(0, 0, proposal);
        IScoreboard.WeightOpening[] memory weights = TreeKit.open(leaves, P1);
        IScoreboard.ReportOpening[] memory proof = openings(all, P1);
        vm.warp(block.timestamp + DISPUTE);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, 0));
        scoreboard.challengeWeight(0, proposal, P1, weights, proof);
    }

    function test_aMajorityVoidsWhatIsWithheldAndNobodyIsSlashed() public {
        report(0, roots(threeReports()));
        vm.prank(validators[1]);
        scoreboard.voteWithheld(0, validators[0]);
        vm.prank(validators[1]);
        vm.expectRevert(EpochBook.AlreadyVoted.selector);
        scoreboard.voteWithheld(0, validators[0]);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotValidator.selector, provider));
        scoreboard.voteWithheld(0, validators[0]);
        (uint128 counted,,) = scoreboard.stakesOf(0);
        assertEq(counted, 9000);
        vm.prank(validators[2]);
        scoreboard.voteWithheld(0, validators[0]);
        (counted,,) = scoreboard.stakesOf(0);
        assertEq(counted, 6000);
        assertEq(registry.slashableOf(validators[0]), STAKE);
        toPropose(0);
        (IScoreboard.Proposal memory proposal,) = honest();
        propose(0, 0, proposal);
        bytes32 digest = scoreboard.proposalDigest(0, proposal);
        vm.prank(validators[1]);
        scoreboard.voteUnavailable(0, digest);
        vm.prank(validators[2]);
        scoreboard.voteUnavailable(0, digest);
        (bytes32 there,,) = scoreboard.proposalOf(0);
        assertEq(there, 0);
        assertEq(registry.slashableOf(validators[0]), STAKE);
        propose(1, 0, proposal);
    }

    function test_aMalformedReportIsVoidByProof() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        (all[0][1], all[0][2]) = (all[0][2], all[0][1]);
        all[2][0].scorePpm = 1_000_001;
        report(0, roots(all));
        IScoreboard.ReportOpening memory proof = IScoreboard.ReportOpening(validators[0], 3, new IScoreboard.ScoreOpening[](2));
        (proof.openings[0], proof.openings[1]) = (TreeKit.scoreAt(all[0], 0), TreeKit.scoreAt(all[0], 1));
        vm.expectRevert(IScoreboard.ReportHolds.selector);
        scoreboard.voidMalformed(0, proof);
        (proof.openings[0], proof.openings[1]) = (TreeKit.scoreAt(all[0], 1), TreeKit.scoreAt(all[0], 2));
        scoreboard.voidMalformed(0, proof);
        vm.expectRevert(EpochBook.AlreadyVoided.selector);
        scoreboard.voidMalformed(0, proof);
        // A leaf that is as it should be, and an empty report: neither is malformed. A score that cannot be
        // counts for no median.
        proof = IScoreboard.ReportOpening(validators[1], 2, new IScoreboard.ScoreOpening[](1));
        proof.openings[0] = TreeKit.scoreAt(all[1], 0);
        vm.expectRevert(IScoreboard.ReportHolds.selector);
        scoreboard.voidMalformed(0, proof);
        IScoreboard.ReportOpening[] memory one = new IScoreboard.ReportOpening[](1);
        one[0] = TreeKit.open(validators[2], all[2], P1);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.medianOf(0, P1, one);
        proof = IScoreboard.ReportOpening(validators[2], 3, new IScoreboard.ScoreOpening[](1));
        proof.openings[0] = TreeKit.scoreAt(all[2], 0);
        scoreboard.voidMalformed(0, proof);
        (uint128 counted,, bool quorum) = scoreboard.stakesOf(0);
        assertEq(counted, 3000);
        assertTrue(!quorum, "one of three is no quorum");
    }

    /// Each window begins in the second in which the one before it ends.
    function test_windowsHaveNoGapAndNoOverlap() public {
        uint64 end = GENESIS + EPOCH;
        bytes32 root = keccak256("root");
        bytes4 early = IScoreboard.NotInPhase.selector;
        vm.warp(end + WINDOW - 1);
        for (uint256 i = 0; i < 3; i++) {
            bytes32 commitment = scoreboard.commitmentOf(0, validators[i], root, salt(i));
            vm.prank(validators[i]);
            scoreboard.commit(0, commitment);
        }
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(early, 0));
        scoreboard.reveal(0, root, salt(0));
        vm.warp(end + WINDOW);
        vm.prank(validators[0]);
        scoreboard.reveal(0, root, salt(0));
        vm.warp(end + 2 * WINDOW - 1);
        for (uint256 i = 1; i < 3; i++) {
            vm.prank(validators[i]);
            scoreboard.reveal(0, root, salt(i));
        }
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(early, 0));
        scoreboard.voteWithheld(0, validators[1]);
        vm.warp(end + 2 * WINDOW);
        vm.prank(validators[0]);
        scoreboard.voteWithheld(0, validators[1]);
        vm.warp(end + 3 * WINDOW - 1);
        vm.prank(validators[0]);
        scoreboard.voteWithheld(0, validators[2]);
        (IScoreboard.Proposal memory proposal,) = honest();
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(early, 0));
        scoreboard.propose(0, proposal);
        vm.warp(end + 3 * WINDOW);
        vm.prank(validators[1]);
        vm.expectRevert(abi.encodeWithSelector(early, 0));
        scoreboard.voteWithheld(0, validators[2]);
        propose(0, 0, proposal);
        bytes32 digest = scoreboard.proposalDigest(0, proposal);
        vm.warp(end + 3 * WINDOW + DISPUTE - 1);
        (bytes32 final_,) = scoreboard.finalOf(0);
        assertEq(final_, 0);
        vm.prank(validators[1]);
        scoreboard.voteUnavailable(0, digest);
        vm.warp(end + 3 * WINDOW + DISPUTE);
        (final_,) = scoreboard.finalOf(0);
        assertEq(final_, digest);
        vm.prank(validators[2]);
        vm.expectRevert(abi.encodeWithSelector(early, 0));
        scoreboard.voteUnavailable(0, digest);
    }

    /// The last second in which a proposal can be proven wrong, the proposer on its way out since it was
    /// made.
    function test_aProposerWhoLeavesAtOnceIsSlashedInTheLastSecond() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        toPropose(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(addresses(P1, P2, P3), numbers(1, 200_000, 300_010), EMISSION);
        propose(0, 0, proposal);
        vm.prank(validators[0]);
        registry.unstake(STAKE);
        vm.warp(block.timestamp + DISPUTE - 1);
        vm.prank(ACCUSER);
        scoreboard.challengeWeight(0, proposal, P1, TreeKit.open(leaves, P1), openings(all, P1));
        assertEq(registry.slashableOf(validators[0]), STAKE / 2);
    }

    /// Who lost everything meanwhile is still wrong: the proposal goes, nothing is left to take.
    function test_aLieOfSomebodyWithoutStakeGoesToo() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        toPropose(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(addresses(P1, P2, P3), numbers(1, 200_000, 300_010), EMISSION);
        propose(0, 0, proposal);
        vm.prank(address(slashing));
        registry.slash(validators[0], 1_000_000, ACCUSER);
        scoreboard.challengeWeight(0, proposal, P1, TreeKit.open(leaves, P1), openings(all, P1));
        (bytes32 digest,,) = scoreboard.proposalOf(0);
        assertEq(digest, 0);
    }

    /// Numbers no epoch will ever have: nothing wraps around into a moment that is here.
    function testFuzz_absurdEpochsAreRefused(uint64 number) public {
        number = uint64(bound(number, 1, type(uint64).max));
        toPropose(0);
        (IScoreboard.Proposal memory proposal,) = honest();
        vm.prank(validators[0]);
        (bool done,) = address(scoreboard).call(abi.encodeCall(scoreboard.commit, (number, keccak256("x"))));
        assertTrue(!done, "committed");
        vm.prank(validators[0]);
        (done,) = address(scoreboard).call(abi.encodeCall(scoreboard.reveal, (number, keccak256("x"), keccak256("y"))));
        assertTrue(!done, "revealed");
        vm.prank(validators[0]);
        (done,) = address(scoreboard).call(abi.encodeCall(scoreboard.propose, (number, proposal)));
        assertTrue(!done, "proposed");
        (done,) = address(rewards).call(abi.encodeCall(rewards.sweep, (number)));
        assertTrue(!done, "swept");
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, 0));
        scoreboard.epochAt(GENESIS - 1);
        assertEq(rewards.reserve(), uint256(EMISSION) * 1000);
    }

    /// An epoch that ended before anybody had a stake has no reports and no weights, and who came later does
    /// not change that.
    function test_noStakeNoQuorum() public {
        for (uint256 i = 0; i < 3; i++) {
            vm.prank(validators[i]);
            registry.unstake(STAKE);
        }
        toCommit(0);
        (uint128 counted, uint128 total, bool quorum) = scoreboard.stakesOf(0);
        assertEq(counted, 0);
        assertEq(total, 0);
        assertTrue(!quorum, "nobody is no quorum");
        (uint32 least, uint32 greatest) = scoreboard.medianOf(0, P1, new IScoreboard.ReportOpening[](0));
        assertEq(least, 0);
        assertEq(greatest, 1_000_000);
        bytes32 root = keccak256("root");
        bytes32 commitment = scoreboard.commitmentOf(0, validators[0], root, salt(0));
        vm.warp(block.timestamp + 1);
        vm.prank(validators[0]);
        registry.stake(STAKE);
        vm.prank(validators[0]);
        scoreboard.commit(0, commitment);
        toReveal(0);
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotValidator.selector, validators[0]));
        scoreboard.reveal(0, root, salt(0));
        toVoid(0);
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.NotRevealed.selector, 0, validators[0]));
        scoreboard.voteWithheld(0, validators[0]);
        toPropose(0);
        IScoreboard.Proposal memory proposal;
        proposal.emission = EMISSION;
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NoQuorum.selector, 0, 0));
        scoreboard.propose(0, proposal);
    }

    /// As large as the fields are: accepted or refused by rule, never by an overflow, and nothing can be
    /// opened from it that is not there.
    function test_proposalsOfExtremes() public {
        IScoreboard.ScoreLeaf[][3] memory all = threeReports();
        report(0, roots(all));
        toPropose(0);
        IScoreboard.Proposal memory proposal = IScoreboard.Proposal({
            count: type(uint32).max,
            totalWeight: uint64(type(uint32).max) * 1_000_000 + 1,
            emission: EMISSION,
            thresholdRemainder: type(uint64).max,
            thresholdProvider: address(type(uint160).max),
            root: keccak256("anything")
        });
        vm.prank(validators[0]);
        vm.expectRevert(IScoreboard.WrongProposal.selector);
        scoreboard.propose(0, proposal);
        proposal.totalWeight--;
        propose(0, 0, proposal);
        IScoreboard.WeightOpening[] memory one = new IScoreboard.WeightOpening[](1);
        one[0].index = type(uint32).max - 1;
        one[0].leaf = IScoreboard.WeightLeaf(P1, type(uint32).max, type(uint64).max, type(uint128).max);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeShape(0, proposal, one);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeWeight(0, proposal, P1, one, openings(all, P1));
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeShape(0, proposal, new IScoreboard.WeightOpening[](0));
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeWeight(0, proposal, P1, new IScoreboard.WeightOpening[](0), openings(all, P1));
        bytes32 digest = scoreboard.proposalDigest(0, proposal);
        for (uint256 i = 1; i < 3; i++) {
            vm.prank(validators[i]);
            scoreboard.voteUnavailable(0, digest);
        }
        // A tree of one leaf whose every number is the greatest is misshapen, and says so without
        // overflowing.
        IScoreboard.WeightLeaf[] memory leaves = new IScoreboard.WeightLeaf[](1);
        leaves[0] = one[0].leaf;
        proposal.count = 1;
        proposal.totalWeight = 1;
        (proposal.root,) = TreeKit.climb(TreeKit.hashes(leaves), 0);
        propose(1, 0, proposal);
        one[0] = TreeKit.weightAt(leaves, 0);
        scoreboard.challengeShape(0, proposal, one);
        leaves[0].weightPpm = 1_000_000;
        (proposal.root,) = TreeKit.climb(TreeKit.hashes(leaves), 0);
        propose(2, 0, proposal);
        one[0] = TreeKit.weightAt(leaves, 0);
        scoreboard.challengeShape(0, proposal, one);
        assertEq(registry.slashableOf(validators[0]), STAKE);
        assertEq(registry.slashableOf(validators[1]), STAKE / 2);
        assertEq(registry.slashableOf(validators[2]), STAKE / 2);
    }

    function deployWith(IScoreboard.Params memory params) external {
        new Scoreboard(registryOfTheNext(), address(1), params);
    }

    /// A registry that names the contract which this one makes after it.
    function registryOfTheNext() private returns (Registry) {
        address next = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 1);
        return new Registry(token, next, next, next, address(this), registry.params());
    }

    function test_paramsThatCannotWorkAreRefused() public {
        IScoreboard.Params memory good = scoreboard.params();
        this.deployWith(good);
        // Not where the Registry says it is.
        vm.expectRevert(IScoreboard.ParamsInvalid.selector);
        new Scoreboard(registry, address(1), good);
        for (uint256 i = 0; i < 12; i++) {
            IScoreboard.Params memory bad = scoreboard.params();
            if (i == 0) bad.epochSeconds = 0;
            if (i == 1) bad.epochSeconds = 365 days + 1;
            if (i == 2) bad.genesis = GENESIS * 1000;
            if (i == 3) bad.commitSeconds = 0;
            if (i == 4) bad.revealSeconds = 0;
            if (i == 5) bad.voidSeconds = 0;
            if (i == 6) bad.challengeSeconds = 0;
            if (i == 7) bad.challengeSeconds = type(uint64).max;
            if (i == 8) bad.quorumPpm = 500_000;
            if (i == 9) bad.quorumPpm = 1_000_001;
            if (i == 10) bad.proposerSlashPpm = 0;
            if (i == 11) bad.proposerSlashPpm = 1_000_001;
            vm.expectRevert(IScoreboard.ParamsInvalid.selector);
            this.deployWith(bad);
        }
    }

    function test_anEmptyEpochIsAProposalToo() public {
        IScoreboard.ScoreLeaf[][3] memory none;
        report(0, roots(none));
        vm.expectRevert(IScoreboard.ReportHolds.selector);
        scoreboard.voidMalformed(0, IScoreboard.ReportOpening(validators[0], 0, new IScoreboard.ScoreOpening[](0)));
        toPropose(0);
        IScoreboard.Proposal memory proposal;
        proposal.emission = EMISSION;
        propose(0, 0, proposal);
        IScoreboard.ReportOpening[] memory proof = openings(none, P1);
        vm.expectRevert(IScoreboard.ProposalHolds.selector);
        scoreboard.challengeWeight(0, proposal, P1, new IScoreboard.WeightOpening[](0), proof);
    }
}
