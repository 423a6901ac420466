// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IScoreboard, ReportRoot} from "../../src/epochs/IScoreboard.sol";
import {ReportTree} from "../../src/epochs/ReportTree.sol";
import {WeightTree} from "../../src/epochs/WeightTree.sol";
import {TreeKit} from "../TreeKit.sol";
import {EpochKit} from "./EpochKit.sol";

/// The libraries, and the plain way of these tests, against contracts/vectors/chain.json, which src/market is
/// held to as well.
contract VectorsTest is EpochKit {
    string private json;

    function setUp() public {
        json = vm.readFile("contracts/vectors/chain.json");
    }

    function rootOf(IScoreboard.ReportOpening calldata report) external pure returns (ReportRoot) {
        return ReportTree.rootOf(report);
    }

    function isIn(IScoreboard.Weights calldata weights, IScoreboard.RewardOpening calldata opening)
        external
        pure
        returns (bool)
    {
        return WeightTree.isIn(weights, opening);
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
            assertEq(ReportRoot.unwrap(TreeKit.reportRoot(leaves)), roots[count]);
            for (uint256 i = 0; i < count; i++) {
                assertEq(ReportRoot.unwrap(this.rootOf(TreeKit.open(0, leaves, providers[i]))), roots[count]);
            }
        }
    }

    function test_medians() public view {
        uint256[] memory scores = vm.parseJsonUintArray(json, ".medians.scores");
        uint256[] memory stakes = vm.parseJsonUintArray(json, ".medians.stakes");
        uint256[] memory results = vm.parseJsonUintArray(json, ".medians.results");
        assertTrue(results.length >= 60, "rows");
        for (uint256 row = 0; row < results.length; row++) {
            Facts memory facts;
            facts.seats = new IScoreboard.Seat[](5);
            facts.reports = new IScoreboard.ScoreLeaf[][](5);
            facts.set = 31;
            for (uint256 i = 0; i < 5; i++) {
                facts.seats[i].stake = uint96(stakes[5 * row + i]);
                facts.reports[i] = new IScoreboard.ScoreLeaf[](1);
                facts.reports[i][0].scorePpm = uint32(scores[5 * row + i]);
            }
            assertEq(medianOf(facts, address(0)), results[row]);
        }
    }

    function test_weights() public view {
        Facts memory facts = factsOfVectors();
        IScoreboard.RewardLeaf[] memory leaves = statedLeaves(facts);
        uint256[] memory weights = vm.parseJsonUintArray(json, ".weights.weights");
        uint256[] memory earned = vm.parseJsonUintArray(json, ".weights.earned");
        uint256[] memory totals = vm.parseJsonUintArray(json, ".weights.totals");
        uint64 totalWeight = uint64(vm.parseJsonUint(json, ".weights.totalWeight"));
        assertEq(leaves.length, weights.length);
        for (uint256 i = 0; i < leaves.length; i++) {
            assertEq(leaves[i].weightPpm, weights[i]);
            assertEq(leaves[i].earned, earned[i]);
            assertEq(leaves[i].total, totals[i]);
            uint128 stake = 0;
            for (uint256 j = 0; j < 3; j++) if (facts.accounts[j] == leaves[i].account) stake = facts.seats[j].stake;
            uint256 library_ =
                WeightTree.earnedOf(facts.pot, 100_000, uint32(weights[i]), totalWeight, stake, 12_000);
            assertEq(library_, earned[i]);
        }
        Statement memory it;
        it.leaves = leaves;
        rooted(it);
        assertEq(it.weights.root, vm.parseJsonBytes32(json, ".weights.root"));
        for (uint256 i = 0; i < leaves.length; i++) {
            assertTrue(this.isIn(it.weights, TreeKit.rewardAt(leaves, i)), "leaf");
        }
    }

    function factsOfVectors() private view returns (Facts memory facts) {
        facts.accounts = vm.parseJsonAddressArray(json, ".weights.validators");
        uint256[] memory stakes = vm.parseJsonUintArray(json, ".weights.stakes");
        address[] memory providers = vm.parseJsonAddressArray(json, ".weights.providers");
        uint256[] memory scores = vm.parseJsonUintArray(json, ".weights.scores");
        uint256 absent = vm.parseJsonUint(json, ".weights.absent");
        facts.seats = new IScoreboard.Seat[](3);
        facts.reports = new IScoreboard.ScoreLeaf[][](3);
        facts.set = 7;
        facts.pot = uint128(vm.parseJsonUint(json, ".weights.pot"));
        for (uint256 seat = 0; seat < 3; seat++) {
            facts.seats[seat].stake = uint96(stakes[seat]);
            facts.reports[seat] = new IScoreboard.ScoreLeaf[](9);
            for (uint256 i = 0; i < 9; i++) {
                if (scores[9 * seat + i] == absent) continue;
                facts.reports[seat][i] = IScoreboard.ScoreLeaf(providers[i], uint32(scores[9 * seat + i]), 0);
            }
        }
        address[] memory before = vm.parseJsonAddressArray(json, ".weights.baseAccounts");
        uint256[] memory totals = vm.parseJsonUintArray(json, ".weights.baseTotals");
        facts.baseLeaves = new IScoreboard.RewardLeaf[](before.length);
        for (uint256 i = 0; i < before.length; i++) {
            (facts.baseLeaves[i].account, facts.baseLeaves[i].total) = (before[i], uint128(totals[i]));
        }
    }

    /// `right` without a Scoreboard to ask; the address that stands for an absent leaf has no weight and
    /// drops out.
    function statedLeaves(Facts memory facts) private view returns (IScoreboard.RewardLeaf[] memory) {
        return right(facts).leaves;
    }
}
