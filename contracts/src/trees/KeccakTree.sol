// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Merkle paths of docs/hardware-proof.md §1's shape by keccak256: a last node without a neighbour is
/// promoted unchanged, so the length of a path follows from (index, count) and a place cannot be claimed
/// twice. Reports and weights use it; keccak and not SHA-256 because it costs the EVM a quarter. What engines
/// commit to is TaggedTree.
library KeccakTree {
    /// False when the index or the path's length is impossible.
    function rootFromPath(bytes32 hash, uint256 index, uint256 count, bytes32[] calldata path)
        internal
        pure
        returns (bool possible, bytes32 root)
    {
        if (index >= count) return (false, 0);
        // Every claim pays for this loop: bounds are checked by hand, once a level. Bytes 0x00 … 0x41 as in
        // `node`.
        assembly ("memory-safe") {
            let free := mload(0x40)
            let at_ := path.offset
            let end := add(at_, shl(5, path.length))
            mstore8(0x00, 0x01)
            root := hash
            possible := 1
            for { let width := count } gt(width, 1) { width := shr(1, add(width, 1)) } {
                if lt(or(index, 1), width) {
                    if eq(at_, end) {
                        possible := 0
                        break
                    }
                    let side := shl(5, and(index, 1))
                    mstore(add(0x01, side), root)
                    mstore(sub(0x21, side), calldataload(at_))
                    at_ := add(at_, 0x20)
                    root := keccak256(0x00, 0x41)
                }
                index := shr(1, index)
            }
            possible := and(possible, eq(at_, end))
            mstore(0x40, free)
        }
    }

    /// keccak256(0x01 ‖ left ‖ right), in scratch memory.
    function node(bytes32 left, bytes32 right) internal pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            // Bytes 0x00 … 0x40 are scratch; the 65th byte lies in the free-memory pointer's word, which is
            // put back.
            let free := mload(0x40)
            mstore8(0x00, 0x01)
            mstore(0x01, left)
            mstore(0x21, right)
            hash := keccak256(0x00, 0x41)
            mstore(0x40, free)
        }
    }

    /// Root of a tree over nodes of one level, 32 bytes each.
    function fold(bytes calldata nodes) internal pure returns (bytes32 root) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            let width := shr(5, nodes.length)
            calldatacopy(free, nodes.offset, nodes.length)
            mstore8(0x00, 0x01)
            for {} gt(width, 1) {} {
                let pairs := shr(1, width)
                for { let i := 0 } lt(i, pairs) { i := add(i, 1) } {
                    mcopy(0x01, add(free, shl(6, i)), 0x40)
                    mstore(add(free, shl(5, i)), keccak256(0x00, 0x41))
                }
                if and(width, 1) { mcopy(add(free, shl(5, pairs)), add(free, shl(6, pairs)), 0x20) }
                width := shr(1, add(width, 1))
            }
            root := mload(free)
            mstore(0x40, free)
        }
    }

    /// Root of a tree over these leaf hashes; 0 of none. Overwrites them.
    function rootOf(bytes32[] memory level) internal pure returns (bytes32) {
        uint256 width = level.length;
        if (width == 0) return 0;
        while (width > 1) {
            for (uint256 i = 0; i < width / 2; i++) level[i] = node(level[2 * i], level[2 * i + 1]);
            if (width % 2 == 1) level[width / 2] = level[width - 1];
            width = (width + 1) / 2;
        }
        return level[0];
    }
}
