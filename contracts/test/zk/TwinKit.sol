// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ITwinPosts} from "../../src/zk/ITwinPosts.sol";
import {IZkPlans} from "../../src/zk/IZkPlans.sol";
import {TwinTree} from "../../src/zk/TwinTree.sol";
import {Cheats} from "../Cheats.sol";
import {PlanKit} from "./PlanKit.sol";

/// In the place of TwinJudge: finds what it is told to.
contract ToyTwinJudge {
    bool public isFalse;

    function find(bool isFalse_) external {
        isFalse = isFalse_;
    }

    fallback() external {
        bool found = isFalse;
        assembly {
            mstore(0, found)
            return(0, 32)
        }
    }
}

/// TwinPosts over one real plan, whose trees have 32 leaves, and trees of known multiples of the generator.
/// The sums and hashes of trees are made here without the code of src.
abstract contract TwinKit is Cheats {
    uint64 internal constant GENESIS = 1_800_000_000;
    uint256 internal constant BOND = 1000;
    uint256 internal constant DEPOSIT = 10;
    uint256 internal constant LEAVES = 32;
    uint256 internal constant CHUNK_BITS = 12;
    address internal constant POSTER = address(0xA0);
    address internal constant CHALLENGER = address(0xC4);
    address internal constant STRANGER = address(0x57);
    address internal constant DEAD = 0x000000000000000000000000000000000000dEaD;

    ToyTwinJudge internal judge;
    IZkPlans internal plans;
    ITwinPosts internal twins;
    bytes32 internal plan;

    function clocks() internal pure returns (ITwinPosts.Params memory) {
        return ITwinPosts.Params(1000, 100, 200, uint128(BOND), uint128(DEPOSIT));
    }

    function deployTwins() internal {
        vm.warp(GENESIS);
        judge = new ToyTwinJudge();
        plans = IZkPlans(deployCode("ZkPlans", ""));
        plan = plans.register(PlanKit.words("program", CHUNK_BITS));
        twins = ITwinPosts(deployWith(clocks()));
        for (uint160 i = 0; i < 3; i++) vm.deal([POSTER, CHALLENGER, STRANGER][i], 1e9);
    }

    function deployWith(ITwinPosts.Params memory params) internal returns (address) {
        uint256[] memory bits = new uint256[](1);
        bytes32[] memory ids = new bytes32[](1);
        (bits[0], ids[0]) = (CHUNK_BITS, keccak256("powers"));
        return deployCode("TwinPosts", abi.encode(plans, judge, bits, ids, params));
    }

    function timesOne(uint256 scalar) internal view returns (uint256 x, uint256 y) {
        if (scalar == 0) return (0, 0);
        (bool isDone, bytes memory found) = address(7).staticcall(abi.encode(1, 2, scalar));
        assertTrue(isDone, "multiplied");
        return abi.decode(found, (uint256, uint256));
    }

    /// All nodes, the top first: node i has 2i + 1 and 2i + 2 below it. The leaves are from, from + 1, …
    /// times the generator; the node `wrong` has one more than the sum (0: none, since the top is named by
    /// `from` alone).
    function nodesOf(uint256 from, uint256 wrong) internal view returns (TwinTree.Node[] memory nodes) {
        nodes = new TwinTree.Node[](2 * LEAVES - 1);
        uint256[] memory scalars = new uint256[](2 * LEAVES - 1);
        for (uint256 i = 2 * LEAVES - 1; i > 0; i--) {
            uint256 at_ = i - 1;
            bool isLeaf = at_ >= LEAVES - 1;
            scalars[at_] = isLeaf ? from + at_ - (LEAVES - 1) : scalars[2 * at_ + 1] + scalars[2 * at_ + 2];
            if (wrong != 0 && at_ == wrong) scalars[at_]++;
            (nodes[at_].x, nodes[at_].y) = timesOne(scalars[at_]);
            if (isLeaf) continue;
            (TwinTree.Node memory left, TwinTree.Node memory right) = (nodes[2 * at_ + 1], nodes[2 * at_ + 2]);
            nodes[at_].hash = keccak256(
                bytes.concat(hex"01", abi.encode(left.hash, left.x, left.y), abi.encode(right.hash, right.x, right.y))
            );
        }
    }

    function treeOf(uint256 scope, TwinTree.Node memory top) internal view returns (ITwinPosts.Tree memory tree) {
        (tree.scope, tree.plan, tree.segment, tree.states) = (scope, plan, 3, keccak256("states"));
        tree.tops = new TwinTree.Node[](1);
        tree.tops[0] = top;
    }

    /// The nodes so many levels below one.
    function below(TwinTree.Node[] memory nodes, uint256 at_, uint256 levels) internal pure returns (TwinTree.Node[] memory fan) {
        fan = new TwinTree.Node[](1 << levels);
        for (uint256 i = 0; i < fan.length; i++) fan[i] = nodes[(at_ + 1) * fan.length - 1 + i];
    }

    function later(uint256 seconds_) internal {
        vm.warp(block.timestamp + seconds_);
    }
}
