// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IScoreboard, WeightsId} from "../../src/epochs/IScoreboard.sol";
import {IRewards} from "../../src/rewards/IRewards.sol";
import {Rewards} from "../../src/rewards/Rewards.sol";
import {EpochKit} from "../epochs/EpochKit.sol";
import {TreeKit} from "../TreeKit.sol";

/// Funding by time, claims by cumulative totals: paid once, to the payout address, by whatever final weights,
/// in whatever order, and never more than was given.
contract RewardsTest is EpochKit {
    function setUp() public {
        deploy();
    }

    function claimAt(Statement memory it, uint256 index) internal {
        rewards.claim(it.weights, TreeKit.rewardAt(it.leaves, index));
    }

    /// Two epochs, the second on top of the first, both final.
    function two() internal returns (Statement memory first, Statement memory second) {
        Facts memory facts;
        (facts, first) = settle(0, sampleReports(), facts, first);
        (, second) = settle(1, sampleReports(), facts, first);
        vm.warp(block.timestamp + DISPUTE);
    }

    function test_deployedBesideItsScoreboardOnly() public {
        vm.expectRevert(IRewards.ScoreboardMismatch.selector);
        deployCode("Rewards", abi.encode(token, scoreboard, registry, EMISSION));
    }

    function test_fundsByTime() public {
        uint128 before = rewards.fundedAt(uint64(block.timestamp));
        assertEq(before, EMISSION * 1000);
        vm.expectRevert(IRewards.AmountZero.selector);
        rewards.fund(0);
        uint64 now_ = uint64(block.timestamp);
        vm.warp(now_ + 10);
        rewards.fund(5);
        rewards.fund(6);
        assertEq(rewards.fundedAt(now_ + 9), before);
        assertEq(rewards.fundedAt(now_ + 10), before + 11);
        assertEq(rewards.fundedAt(type(uint64).max), before + 11);
        assertEq(rewards.fundedAt(now_ - 1), 0);
        assertEq(token.balanceOf(address(rewards)), before + 11);
        vm.expectRevert(IRewards.FundedTooMuch.selector);
        rewards.fund(type(uint128).max);
    }

    function test_oneClaimPaysAllEpochs() public {
        (Statement memory first, Statement memory second) = two();
        assertTrue(second.leaves[0].total == 2 * first.leaves[0].total && second.leaves[0].earned > 0, "two epochs");
        claimAt(second, 0);
        assertEq(token.balanceOf(address(0x10)), second.leaves[0].total);
        assertEq(rewards.claimedOf(address(0x10)), second.leaves[0].total);
        assertEq(rewards.claimedTotal(), second.leaves[0].total);
        vm.expectRevert(abi.encodeWithSelector(IRewards.NothingToClaim.selector, address(0x10)));
        this.claimOne(second, 0);
        vm.expectRevert(abi.encodeWithSelector(IRewards.NothingToClaim.selector, address(0x10)));
        this.claimOne(first, 0);
    }

    function claimOne(Statement memory it, uint256 index) external {
        claimAt(it, index);
    }

    function test_anyOrderGivesTheSame() public {
        (Statement memory first, Statement memory second) = two();
        for (uint256 i = 0; i < first.leaves.length; i++) {
            // Some by both, some by the last alone, some by the first after others have claimed by the last.
            if (i % 3 != 1) claimAt(i % 3 == 0 ? first : second, i);
        }
        for (uint256 i = 0; i < first.leaves.length; i++) if (i % 3 == 1) claimAt(first, i);
        for (uint256 i = 0; i < second.leaves.length; i++) if (i % 3 != 2) claimAt(second, i);
        for (uint256 i = 0; i < second.leaves.length; i++) {
            assertEq(rewards.claimedOf(second.leaves[i].account), second.leaves[i].total);
        }
        assertEq(rewards.claimedTotal(), scoreboard.finalTotalOf(second.weights));
        assertEq(token.balanceOf(address(rewards)), EMISSION * 1000 - rewards.claimedTotal());
    }

    function test_validatorsEarnByStake_toTheirPayout() public {
        (, Statement memory second) = two();
        vm.prank(validators[1]);
        registry.setPayout(address(0xCAFE));
        uint256 at = second.leaves.length;
        for (uint256 i = 0; i < second.leaves.length; i++) if (second.leaves[i].account == validators[1]) at = i;
        // A tenth of 3,000 by three, twice.
        assertEq(second.leaves[at].total, 200);
        claimAt(second, at);
        assertEq(token.balanceOf(address(0xCAFE)), 200);
    }

    function test_onlyFinalWeights() public {
        Facts memory facts;
        Statement memory it;
        (facts, it) = settle(0, sampleReports(), facts, it);
        (WeightsId id, uint64 finalAt,,,) = scoreboard.postedOf(0);
        vm.warp(finalAt - 1);
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotFinal.selector, id));
        this.claimOne(it, 0);
        vm.warp(finalAt);
        claimAt(it, 0);
    }

    function test_onlyLeavesOfTheWeights() public {
        (Statement memory first, Statement memory second) = two();
        IScoreboard.RewardOpening memory opening = TreeKit.rewardAt(second.leaves, 1);
        opening.leaf.total += 1;
        vm.expectRevert(IRewards.OpeningInvalid.selector);
        rewards.claim(second.weights, opening);
        opening.leaf.total -= 1;
        opening.index = 2;
        vm.expectRevert(IRewards.OpeningInvalid.selector);
        rewards.claim(second.weights, opening);
        vm.expectRevert(IRewards.OpeningInvalid.selector);
        rewards.claim(first.weights, TreeKit.rewardAt(second.leaves, 1));
        // Their own words about themselves do not make weights final.
        second.weights.root = bytes32(uint256(1));
        vm.expectRevert();
        rewards.claim(second.weights, TreeKit.rewardAt(second.leaves, 1));
    }

    /// A quorum that lies and is not challenged in time takes at most what weights gave out, never the
    /// reserve.
    function test_aFinalLieTakesNoMoreThanWasGivenOut() public {
        Facts memory facts = publish(0, sampleReports());
        Statement memory lie = right(facts);
        lie.leaves[0].total = 1_000_000;
        rooted(lie);
        postAll(facts, lie.weights);
        vm.warp(block.timestamp + DISPUTE);
        vm.expectRevert(abi.encodeWithSelector(IRewards.GrantExceeded.selector, lie.weights.paid));
        this.claimOne(lie, 0);
        claimAt(lie, 1);
        vm.expectRevert(abi.encodeWithSelector(IRewards.GrantExceeded.selector, lie.weights.paid - lie.leaves[1].total));
        this.claimOne(lie, 0);
    }

    function test_nothingIsPaidToTheZeroAddress() public {
        IScoreboard.ScoreLeaf[][] memory reports = sampleReports();
        for (uint256 i = 0; i < 3; i++) reports[i][0].provider = address(0);
        Facts memory facts;
        Statement memory it;
        (facts, it) = settle(0, reports, facts, it);
        vm.warp(block.timestamp + DISPUTE);
        assertTrue(it.leaves[0].account == address(0) && it.leaves[0].earned > 0, "the sample");
        vm.expectRevert();
        this.claimOne(it, 0);
    }
}
