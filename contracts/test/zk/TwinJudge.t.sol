// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {KeccakTree} from "../../src/trees/KeccakTree.sol";
import {TwinJudge} from "../../src/zk/TwinJudge.sol";
import {TwinTree} from "../../src/zk/TwinTree.sol";
import {TwinValues} from "../../src/zk/TwinValues.sol";
import {TwinKit} from "./TwinKit.sol";

/// What the judge of trees of points convicts, and what shows nothing. Leaves here are of padding, whose
/// values nobody needs to show; leaves with values are zk-twins.test.ts.
contract TwinJudgeTest is TwinKit {
    TwinJudge private real = TwinJudge(deployCode("TwinJudge", ""));
    uint256 private constant HALF = 128;

    /// From the top of `nodes` to the two below the node at which `path` ends, the first turn in its highest
    /// bit.
    function wayTo(TwinTree.Node[] memory nodes, uint256 depth, uint256 path)
        private
        pure
        returns (TwinTree.Node[2][] memory levels)
    {
        levels = new TwinTree.Node[2][](depth + 1);
        uint256 at_ = 0;
        for (uint256 i = 0; i <= depth; i++) {
            (levels[i][0], levels[i][1]) = (nodes[2 * at_ + 1], nodes[2 * at_ + 2]);
            if (i < depth) at_ = 2 * at_ + 1 + ((path >> (depth - 1 - i)) & 1);
        }
    }

    function test_noSumOfAnHonestTreeIsFalse() public view {
        TwinTree.Node[] memory nodes = nodesOf(5, 0);
        for (uint256 depth = 0; depth < 5; depth++) {
            for (uint256 path = 0; path < 1 << depth; path++) {
                assertTrue(!real.isSumFalse(nodes[0], wayTo(nodes, depth, path), path), "honest");
            }
        }
    }

    function test_aFalseSumIsFalseWhereItIs() public view {
        // The second node of the second level has one more than what lies below it.
        TwinTree.Node[] memory nodes = nodesOf(5, 4);
        assertTrue(real.isSumFalse(nodes[0], wayTo(nodes, 2, 1), 1), "found");
        for (uint256 path = 0; path < 4; path++) {
            if (path != 1) assertTrue(!real.isSumFalse(nodes[0], wayTo(nodes, 2, path), path), "elsewhere");
        }
    }

    function test_aNodeThatIsNoPointHasNoSum() public view {
        TwinTree.Node[] memory nodes = nodesOf(5, 0);
        TwinTree.Node[2][] memory levels = wayTo(nodes, 0, 0);
        for (uint256 i = 0; i < 2; i++) {
            uint256 kept = levels[0][i].y;
            levels[0][i].y++;
            TwinTree.Node memory top = nodes[0];
            top.hash = keccak256(bytes.concat(hex"01", abi.encode(levels[0])));
            assertTrue(real.isSumFalse(top, levels, 0), "no point");
            levels[0][i].y = kept;
        }
    }

    function test_nodesOfAnotherTreeShowNothing() public {
        TwinTree.Node[] memory nodes = nodesOf(5, 4);
        TwinTree.Node[2][] memory levels = wayTo(nodes, 2, 1);
        mustMismatch(nodes[0], new TwinTree.Node[2][](0), 0);
        // A place that so many levels do not have.
        mustMismatch(nodes[0], levels, 4);
        // Another way than the one that is shown.
        mustMismatch(nodes[0], levels, 2);
        for (uint256 i = 0; i < 3; i++) {
            levels[i][0].x ^= 1;
            mustMismatch(nodes[0], levels, 1);
            levels[i][0].x ^= 1;
        }
        mustMismatch(nodes[1], levels, 1);
    }

    function mustMismatch(TwinTree.Node memory top, TwinTree.Node[2][] memory levels, uint256 index) private {
        vm.expectRevert(TwinTree.TwinMismatch.selector);
        real.isSumFalse(top, levels, index);
    }

    /// Two leaves of 128 places each: a weight matrix of 3 by 2 takes the first 8, so that the second leaf is
    /// padding.
    function padded() private view returns (TwinJudge.Subject memory subject, TwinJudge.Leaf memory leaf, TwinTree.Node memory top) {
        subject.sizes.layers = new uint256[](2);
        (subject.sizes.layers[0], subject.sizes.layers[1], subject.sizes.weightSize) = (3, 2, 4);
        (subject.group, subject.segment, subject.states) = (TwinValues.Group.Before, 3, keccak256("states"));
        subject.root = keccak256(abi.encodePacked(bytes1(0x04), subject.segment, subject.states, bytes32(0)));
        subject.chunkBits = 8;
        bytes32[] memory hashes = new bytes32[](2 * HALF);
        for (uint256 i = 0; i < 2 * HALF; i++) {
            (uint256 x, uint256 y) = timesOne(i + 1);
            hashes[i] = keccak256(abi.encodePacked(bytes1(0x00), x, y));
            if (i >= HALF) leaf.powers = bytes.concat(leaf.powers, abi.encode(x, y));
        }
        subject.powers = KeccakTree.rootOf(hashes);
        bytes32[] memory first = new bytes32[](HALF);
        for (uint256 i = 0; i < HALF; i++) {
            (uint256 x, uint256 y) = timesOne(i + 1);
            first[i] = keccak256(abi.encodePacked(bytes1(0x00), x, y));
        }
        leaf.powersPath = new bytes32[](1);
        (leaf.powersPath[0], leaf.index, leaf.levels) = (KeccakTree.rootOf(first), 1, new TwinTree.Node[2][](1));
        (leaf.levels[0][0].x, leaf.levels[0][0].y) = (1, 2);
        top = TwinTree.Node(keccak256(bytes.concat(hex"01", abi.encode(leaf.levels[0]))), 1, 2);
    }

    function test_aLeafOfPaddingIsNothing() public view {
        (TwinJudge.Subject memory subject, TwinJudge.Leaf memory leaf, TwinTree.Node memory top) = padded();
        assertTrue(!real.isLeafFalse(subject, top, leaf), "honest");
        (leaf.levels[0][1].x, leaf.levels[0][1].y) = (1, 2);
        top.hash = keccak256(bytes.concat(hex"01", abi.encode(leaf.levels[0])));
        assertTrue(real.isLeafFalse(subject, top, leaf), "something");
    }

    /// Each thing that must fit, once other.
    function test_aLeafThatDoesNotFitShowsNothing() public {
        for (uint256 i = 0; i < 6; i++) {
            (TwinJudge.Subject memory subject, TwinJudge.Leaf memory leaf, TwinTree.Node memory top) = padded();
            bytes4 wanted = i < 3 ? TwinTree.PowersMismatch.selector : TwinTree.TwinMismatch.selector;
            if (i == 0) subject.powers = keccak256("other");
            if (i == 1) leaf.powers[0] ^= 0x01;
            if (i == 2) leaf.powers = bytes.concat(leaf.powers, new bytes(64));
            if (i == 3) subject.chunkBits = 9;
            if (i == 4) top.hash = keccak256("other");
            if (i == 5) (subject.root, wanted) = (keccak256("other"), TwinValues.ShownMismatch.selector);
            vm.expectRevert(wanted);
            real.isLeafFalse(subject, top, leaf);
        }
    }
}
