// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard} from "../../src/epochs/IScoreboard.sol";
import {ReportTree} from "../../src/epochs/ReportTree.sol";
import {StakeMedian} from "../../src/epochs/StakeMedian.sol";
import {WeightTree} from "../../src/epochs/WeightTree.sol";
import {Cheats} from "../Cheats.sol";
import {TreeKit} from "../TreeKit.sol";

/// The libraries against contracts/vectors/chain.json, which src/market is held to as well.
contract VectorsTest is Cheats {
    string private json;

    function setUp() public {
        json = vm.readFile("contracts/vectors/chain.json");
    }

    function rootOf(IScoreboard.ReportOpening calldata report) external pure returns (bytes32) {
        return ReportTree.rootOf(report);
    }

    function isIn(IScoreboard.Proposal calldata proposal, IScoreboard.WeightOpening calldata opening)
        external
        pure
        returns (bool)
    {
        return WeightTree.isIn(proposal, opening);
    }

    function shareOf(IScoreboard.Proposal calldata proposal, address provider, uint32 weight)
        external
        pure
        returns (uint128)
    {
        return WeightTree.shareOf(proposal, provider, weight);
    }

    /// Every leaf of every report leads to the root of the vectors.
    function test_reports() public view {
        address[] memory providers = vm.parseJsonAddressArray(json, ".trees.providers");
        uint256[] memory scores = vm.parseJsonUintArray(json, ".trees.scores");
        bytes32[] memory evidence = vm.parseJsonBytes32Array(json, ".trees.evidence");
        bytes32[] memory roots = vm.parseJsonBytes32Array(json, ".trees.roots");
        assertEq(roots.length, providers.length + 1);
        for (uint256 count = 0; count < roots.length; count++) {
            IScoreboard.ScoreLeaf[] memory leaves = new IScoreboard.ScoreLeaf[](count);
            for (uint256 i = 0; i < count; i++) {
                leaves[i] = IScoreboard.ScoreLeaf(providers[i], uint32(scores[i]), evidence[i]);
            }
            assertEq(TreeKit.reportRoot(leaves), roots[count]);
            for (uint256 i = 0; i < count; i++) {
                assertEq(this.rootOf(TreeKit.open(address(1), leaves, providers[i])), roots[count]);
            }
        }
    }

    function test_medians() public view {
        uint256[] memory allScores = vm.parseJsonUintArray(json, ".medians.scores");
        uint256[] memory allStakes = vm.parseJsonUintArray(json, ".medians.stakes");
        uint256[] memory results = vm.parseJsonUintArray(json, ".medians.results");
        assertTrue(results.length >= 60, "rows");
        for (uint256 row = 0; row < results.length; row++) {
            uint32[] memory scores = new uint32[](5);
            uint128[] memory stakes = new uint128[](5);
            uint256 total = 0;
            for (uint256 i = 0; i < 5; i++) {
                scores[i] = uint32(allScores[5 * row + i]);
                stakes[i] = uint128(allStakes[5 * row + i]);
                total += stakes[i];
            }
            (uint32 least, uint32 greatest) = StakeMedian.bounds(scores, stakes, total);
            assertEq(least, results[row]);
            assertEq(greatest, results[row]);
        }
    }

    function test_shares() public view {
        address[] memory providers = vm.parseJsonAddressArray(json, ".shares.providers");
        uint256[] memory given = vm.parseJsonUintArray(json, ".shares.weights");
        uint256[] memory amounts = vm.parseJsonUintArray(json, ".shares.amounts");
        uint32[] memory weights = new uint32[](given.length);
        for (uint256 i = 0; i < given.length; i++) weights[i] = uint32(given[i]);
        uint128 emission = uint128(vm.parseJsonUint(json, ".shares.emission"));
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(providers, weights, emission);
        assertEq(proposal.root, vm.parseJsonBytes32(json, ".shares.root"));
        assertEq(proposal.thresholdRemainder, vm.parseJsonUint(json, ".shares.thresholdRemainder"));
        assertEq(proposal.thresholdProvider, vm.parseJsonAddress(json, ".shares.thresholdProvider"));
        uint256 sum = 0;
        for (uint256 i = 0; i < providers.length; i++) {
            assertTrue(this.isIn(proposal, TreeKit.weightAt(leaves, i)), "leaf");
            assertEq(this.shareOf(proposal, providers[i], weights[i]), amounts[i]);
            sum += amounts[i];
        }
        assertEq(sum, emission);
    }

    /// What unknown votes could be never takes the median out of its bounds, and the bounds are reached.
    function testFuzz_boundsHold(uint32[5] memory scores, uint16[5] memory stakes, uint8 known) public pure {
        uint256 count = known % 6;
        uint32[] memory all = new uint32[](5);
        uint128[] memory weight = new uint128[](5);
        uint32[] memory some = new uint32[](count);
        uint128[] memory someWeight = new uint128[](count);
        uint256 total = 0;
        for (uint256 i = 0; i < 5; i++) {
            all[i] = scores[i] % 1_000_001;
            weight[i] = uint128(stakes[i]) + 1;
            total += weight[i];
            if (i < count) (some[i], someWeight[i]) = (all[i], weight[i]);
        }
        (uint32 exact, uint32 same) = StakeMedian.bounds(all, weight, total);
        assertEq(exact, same);
        (uint32 least, uint32 greatest) = StakeMedian.bounds(some, someWeight, total);
        assertTrue(least <= exact && exact <= greatest, "within");
    }

    /// Less than half of the stake, in any number of hands and saying anything, moves a weight no further
    /// than the honest differ among themselves.
    function testFuzz_liarsMoveNothingBeyondTheHonest(
        uint32[5] memory lies,
        uint16[5] memory lyingStakes,
        uint32[4] memory honest,
        uint16[4] memory honestStakes
    ) public pure {
        uint32[] memory scores = new uint32[](9);
        uint128[] memory stakes = new uint128[](9);
        (uint256 lying, uint256 total) = (0, 0);
        (uint32 lowest, uint32 highest) = (type(uint32).max, 0);
        for (uint256 i = 0; i < 5; i++) {
            (scores[i], stakes[i]) = (lies[i] % 1_000_001, lyingStakes[i]);
            lying += lyingStakes[i];
        }
        for (uint256 i = 0; i < 4; i++) {
            uint32 score = 400_000 + honest[i] % 10_000;
            (scores[5 + i], stakes[5 + i]) = (score, uint128(honestStakes[i]) + 1);
            if (score < lowest) lowest = score;
            if (score > highest) highest = score;
            total += stakes[5 + i];
        }
        // One honest one has as much more as makes the liars the smaller half, by one unit.
        if (total <= lying) stakes[8] += uint128(lying - total + 1);
        total = lying;
        for (uint256 i = 5; i < 9; i++) total += stakes[i];
        (uint32 median,) = StakeMedian.bounds(scores, stakes, total);
        assertTrue(lowest <= median && median <= highest, "among the honest");
    }
}
