// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TwinTree} from "./TwinTree.sol";
import {TwinValues} from "./TwinValues.sol";

/// Judges whether a commitment is that of bytes, docs/zk.md §6, by one way down the tree of points under it.
/// It has no state: who posts trees, what they stand for and what becomes of a false one is another
/// contract's matter. Everything that is not as the trees say reverts: then nothing is shown.
contract TwinJudge {
    /// What a tree of points is said to be of.
    struct Subject {
        TwinValues.Sizes sizes;
        TwinValues.Group group;
        /// Of the features or labels; or S_j, docs/work.md §7, with its number and the tree of its state's
        /// tensors.
        bytes32 root;
        uint64 segment;
        bytes32 states;
        /// 2^chunkBits values have one commitment; which of the group's it is; id of the powers.
        uint256 chunkBits;
        uint256 chunk;
        bytes32 powers;
    }

    /// One leaf, with what it is of.
    struct Leaf {
        TwinTree.Node[2][] levels;
        uint256 index;
        TwinValues.Shown[] shown;
        bytes powers;
        bytes32[] powersPath;
    }

    /// Whether a node is not the sum of the two below it: the last of the levels, which lead there from the
    /// top.
    function isSumFalse(TwinTree.Node calldata top, TwinTree.Node[2][] calldata levels, uint256 index)
        external
        view
        returns (bool)
    {
        return TwinTree.isSumFalse(top, levels, index);
    }

    /// Whether a leaf is not the sum of its values times powers.
    function isLeafFalse(Subject calldata subject, TwinTree.Node calldata top, Leaf calldata leaf) external view returns (bool) {
        uint256 bits = subject.chunkBits < TwinTree.LEAF_BITS ? subject.chunkBits : TwinTree.LEAF_BITS;
        uint256 depth = subject.chunkBits - bits;
        if (leaf.levels.length != depth) revert TwinTree.TwinMismatch();
        TwinTree.Node memory node = TwinTree.descended(top, leaf.levels, depth, leaf.index);
        TwinTree.mustBePowers(leaf.powers, leaf.index, 1 << bits, 1 << subject.chunkBits, leaf.powersPath, subject.powers);
        uint256 first = (subject.chunk << subject.chunkBits) + (leaf.index << bits);
        int256[] memory values =
            TwinValues.valuesAt(subject.sizes, subject.group, rootOf(subject), first, 1 << bits, leaf.shown);
        return TwinTree.isLeafFalse(node, values, leaf.powers);
    }

    /// What leaves lead to.
    function rootOf(Subject calldata subject) private pure returns (bytes32) {
        if (subject.group < TwinValues.Group.Before) return subject.root;
        bytes32 state = keccak256(abi.encodePacked(bytes1(0x04), subject.segment, subject.states, bytes32(0)));
        if (state != subject.root) revert TwinValues.ShownMismatch();
        return subject.states;
    }
}
