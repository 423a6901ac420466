// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IRewards} from "../src/interfaces/IRewards.sol";
import {IScoreboard} from "../src/interfaces/IScoreboard.sol";
import {NetworkKit} from "./NetworkKit.sol";
import {TreeKit} from "./TreeKit.sol";

/// Emissions: fixed once, paid once, to the unit; what is left carries over.
contract RewardsTest is NetworkKit {
    address[] private who;

    function setUp() public {
        deploy();
        who = addresses(address(0x1111), address(0x2222), address(0x3333));
    }

    /// All three validators agree on these weights, and they become final.
    function settle(uint64 epoch, uint32[] memory weights, uint128 emission)
        private
        returns (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts)
    {
        bytes32 root = TreeKit.reportRoot(leavesOf(who, weights));
        report(epoch, [root, root, root]);
        toPropose(epoch);
        (proposal, leaves, amounts) = TreeKit.propose(who, weights, emission);
        propose(0, epoch, proposal);
        vm.warp(block.timestamp + CHALLENGE);
    }

    function testFuzz_sharesSumToTheEmission(uint32 a, uint32 b, uint32 c) public {
        uint32[] memory weights = numbers(
            uint32(between(a, 1, 1_000_000)), uint32(between(b, 1, 1_000_000)), uint32(between(c, 1, 1_000_000))
        );
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts) =
            settle(0, weights, EMISSION);
        uint256 sum = 0;
        for (uint256 i = 0; i < 3; i++) {
            equal(rewards.shareOf(proposal, leaves[i]), amounts[i]);
            rewards.claim(0, proposal, TreeKit.weightAt(leaves, i));
            equal(token.balanceOf(who[i]), amounts[i]);
            sum += amounts[i];
        }
        equal(sum, EMISSION);
        (uint128 pot, uint128 paid,) = rewards.potOf(0);
        equal(pot, EMISSION);
        equal(paid, EMISSION);
    }

    function test_claimOnceAndOnlyWhatIsThere() public {
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            settle(0, numbers(1, 2, 3), EMISSION);
        IScoreboard.WeightOpening memory opening = TreeKit.weightAt(leaves, 1);
        opening.leaf.weightPpm++;
        vm.expectRevert(IRewards.OpeningInvalid.selector);
        rewards.claim(0, proposal, opening);
        opening.leaf.weightPpm--;
        opening.index = 0;
        vm.expectRevert(IRewards.OpeningInvalid.selector);
        rewards.claim(0, proposal, opening);
        opening.index = 1;
        proposal.emission++;
        vm.expectRevert(IRewards.WrongProposal.selector);
        rewards.claim(0, proposal, opening);
        proposal.emission--;
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotFinal.selector, 1));
        rewards.claim(1, proposal, opening);
        isTrue(!rewards.isClaimed(0, who[1]), "not yet");
        rewards.claim(0, proposal, opening);
        isTrue(rewards.isClaimed(0, who[1]), "claimed");
        vm.expectRevert(abi.encodeWithSelector(IRewards.AlreadyClaimed.selector, 0, who[1]));
        rewards.claim(0, proposal, opening);
    }

    function test_nothingIsPaidBeforeTheProposalIsFinal() public {
        bytes32 root = TreeKit.reportRoot(leavesOf(who, numbers(1, 2, 3)));
        report(0, [root, root, root]);
        toPropose(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(who, numbers(1, 2, 3), EMISSION);
        propose(0, 0, proposal);
        IScoreboard.WeightOpening memory opening = TreeKit.weightAt(leaves, 0);
        vm.warp(block.timestamp + CHALLENGE - 1);
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotFinal.selector, 0));
        rewards.claim(0, proposal, opening);
        vm.warp(block.timestamp + 1);
        rewards.claim(0, proposal, opening);
    }

    /// A final proposal that nobody challenged may lie, but never pays more than its pot.
    function test_anUnchallengedLieCannotDrainOthers() public {
        bytes32 root = TreeKit.reportRoot(leavesOf(who, numbers(1, 2, 3)));
        report(0, [root, root, root]);
        toPropose(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(who, numbers(1_000_000, 1_000_000, 1_000_000), EMISSION);
        proposal.totalWeight = 1_000_000;
        propose(0, 0, proposal);
        vm.warp(block.timestamp + CHALLENGE);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 0));
        vm.expectRevert(IRewards.PotExceeded.selector);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 1));
    }

    function test_unclaimedCarriesOver() public {
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts) =
            settle(0, numbers(1, 2, 3), EMISSION);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 2));
        vm.expectRevert();
        rewards.sweep(0);
        vm.warp(block.timestamp + 30 days);
        vm.expectRevert(IRewards.ClaimsClosed.selector);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 0));
        rewards.sweep(0);
        vm.expectRevert(IRewards.NothingToCarry.selector);
        rewards.sweep(0);
        uint128 left = EMISSION - amounts[2];
        equal(rewards.carry(), left);
        uint64 epoch = scoreboard.epochAt(uint64(block.timestamp));
        (proposal, leaves, amounts) = settle(epoch, numbers(5, 5, 5), EMISSION + left);
        for (uint256 i = 0; i < 3; i++) rewards.claim(epoch, proposal, TreeKit.weightAt(leaves, i));
        equal(rewards.carry(), 0);
        equal(token.balanceOf(address(rewards)), rewards.reserve());
    }

    function test_anEpochLeftBehindLapsesAndItsPotCarriesOver() public {
        uint32[] memory weights = numbers(1, 2, 3);
        bytes32 root = TreeKit.reportRoot(leavesOf(who, weights));
        report(0, [root, root, root]);
        toPropose(0);
        (IScoreboard.Proposal memory wrong, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(who, numbers(1, 2, 4), EMISSION);
        propose(0, 0, wrong);
        IScoreboard.ReportOpening[] memory proof = new IScoreboard.ReportOpening[](2);
        for (uint256 i = 0; i < 2; i++) {
            proof[i] = TreeKit.open(validators[i], leavesOf(who, weights), who[2]);
        }
        scoreboard.challengeWeight(0, wrong, who[2], TreeKit.open(leaves, who[2]), proof);
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotFinal.selector, 0));
        rewards.sweep(0);
        report(1, [bytes32(0), root, root]);
        toPropose(1);
        (IScoreboard.Proposal memory proposal,,) = TreeKit.propose(who, weights, EMISSION);
        propose(1, 1, proposal);
        vm.prank(validators[1]);
        vm.expectRevert(abi.encodeWithSelector(IRewards.EpochLapsed.selector, 0));
        scoreboard.propose(0, proposal);
        rewards.sweep(0);
        equal(rewards.carry(), EMISSION);
    }

    function test_theReserveEndsAtZero() public {
        uint256 reserve = rewards.reserve();
        for (uint64 epoch = 0; epoch < 3; epoch++) settle(epoch, numbers(1, 2, 3), EMISSION);
        equal(rewards.reserve(), reserve - 3 * EMISSION);
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotScoreboard.selector, address(this)));
        rewards.fix(7);
        vm.expectRevert(IRewards.AmountZero.selector);
        rewards.fund(0);
    }
}
