// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "./Bn254.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";

/// The tree of points under a commitment, docs/zk.md §6: a leaf is the point Σ v·[τ^i] of 128 values in a
/// row, a node the hash of both below it with their points, and its own point is their sum. So a commitment
/// that is not that of the bytes has a wrong sum somewhere, or a wrong leaf, and either is shown by one way
/// down. src/verify/zk/twin-tree.ts is its twin.
library TwinTree {
    using Bn254 for Bn254.Sum;

    /// A leaf has 2^7 values.
    uint256 internal constant LEAF_BITS = 7;

    struct Node {
        /// Of the two below; of a leaf it counts for nothing.
        bytes32 hash;
        uint256 x;
        uint256 y;
    }

    /// @notice Thrown when the nodes that are shown are not those of the tree, or do not lead where they
    /// must.
    error TwinMismatch();
    /// @notice Thrown when the powers of tau that are shown are not those of the plan.
    error PowersMismatch();

    function hashOf(Node[2] calldata both) internal pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, 0x01)
            calldatacopy(add(free, 1), both, 0xc0)
            hash := keccak256(free, 0xc1)
        }
    }

    /// The node that `levels` lead to from the top: bit i of `index`, the highest first, says which of level
    /// i.
    function descended(Node memory top, Node[2][] calldata levels, uint256 count, uint256 index)
        internal
        pure
        returns (Node memory node)
    {
        if (count > levels.length || index >> count != 0) revert TwinMismatch();
        node = top;
        for (uint256 i = 0; i < count; i++) {
            if (hashOf(levels[i]) != node.hash) revert TwinMismatch();
            node = levels[i][(index >> (count - 1 - i)) & 1];
        }
    }

    /// Whether the last of the levels does not add up to the node above it. Two points of which one is none
    /// do not either.
    function isSumFalse(Node memory top, Node[2][] calldata levels, uint256 index) internal view returns (bool) {
        if (levels.length == 0) revert TwinMismatch();
        Node memory node = descended(top, levels, levels.length - 1, index);
        Node[2] calldata both = levels[levels.length - 1];
        if (hashOf(both) != node.hash) revert TwinMismatch();
        if (!isPoint(both[0].x, both[0].y) || !isPoint(both[1].x, both[1].y)) return true;
        Bn254.Sum memory sum;
        (sum.x, sum.y) = (both[0].x, both[0].y);
        sum.add(both[1].x, both[1].y);
        return sum.x != node.x || sum.y != node.y;
    }

    /// Whether a leaf is not Σ values·powers. `powers`: 64 bytes for each value, the ones that belong to its
    /// place in the commitment.
    function isLeafFalse(Node memory leaf, int256[] memory values, bytes calldata powers) internal view returns (bool) {
        Bn254.Sum memory sum;
        uint256 from;
        assembly ("memory-safe") {
            from := powers.offset
        }
        for (uint256 i = 0; i < values.length; i++) {
            int256 value = values[i];
            if (value == 0) continue;
            uint256 x;
            uint256 y;
            assembly ("memory-safe") {
                x := calldataload(add(from, shl(6, i)))
                y := calldataload(add(from, add(shl(6, i), 0x20)))
            }
            // No power of a ceremony is at infinity, so none has y = 0.
            if (value < 0) (y, value) = (Bn254.P - y, -value);
            sum.addTimes(x, y, uint256(value));
        }
        return sum.x != leaf.x || sum.y != leaf.y;
    }

    /// They are powers number `index`·count on of the list of 2^chunkBits with this id, a power of two of
    /// them.
    function mustBePowers(bytes calldata powers, uint256 index, uint256 count, uint256 total, bytes32[] calldata path, bytes32 id)
        internal
        pure
    {
        if (powers.length != 64 * count) revert PowersMismatch();
        bytes32[] memory level = new bytes32[](count);
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, 0x00)
            for { let i := 0 } lt(i, count) { i := add(i, 1) } {
                calldatacopy(add(free, 1), add(powers.offset, shl(6, i)), 0x40)
                mstore(add(add(level, 0x20), shl(5, i)), keccak256(free, 0x41))
            }
        }
        (bool possible, bytes32 found) = KeccakTree.rootFromPath(KeccakTree.rootOf(level), index, total / count, path);
        if (!possible || found != id) revert PowersMismatch();
    }

    function isPoint(uint256 x, uint256 y) internal pure returns (bool) {
        uint256 p = Bn254.P;
        if (x >= p || y >= p) return false;
        return (x | y) == 0 || mulmod(y, y, p) == addmod(mulmod(mulmod(x, x, p), x, p), 3, p);
    }
}
