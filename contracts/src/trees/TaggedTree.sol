// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Tagged SHA-256 and its trees, docs/hardware-proof.md §1: what engines commit to. By the precompile.
library TaggedTree {
    // SHA-256 of assay/leaf/1, assay/node/1, assay/seed/1. As numbers: the compiler would call the precompile
    // for each use.
    bytes32 internal constant LEAF_TAG = 0x93e5a7619ab5baaf692f787cf577ad900da1c519a3de3c6c11638406f33cc210;
    bytes32 internal constant NODE_TAG = 0xb617a34075911851b6aa1587337e4c59333eb4e6483dff12fb6316b6bf19e758;
    bytes32 internal constant SEED_TAG = 0x001a048a60afe48158ef9619ac3ea329c7db35bf482c687ddd1ad4fe802b9399;

    /// @notice Thrown when the precompile gave nothing: too little gas was sent along.
    error HashFailed();

    function leafHash(bytes calldata leaf) internal pure returns (bytes32) {
        return pureBytes(hashedLeaf)(leaf);
    }

    function nextSeed(bytes32 seed, bytes32 root) internal pure returns (bytes32) {
        return sha256(abi.encodePacked(SEED_TAG, SEED_TAG, seed, root));
    }

    /// False when the index or the path's length is impossible.
    function rootFromPath(bytes32 hash, uint256 index, uint256 count, bytes32[] calldata path)
        internal
        pure
        returns (bool possible, bytes32 root)
    {
        if (index >= count) return (false, 0);
        return purePath(climbed)(hash, index, count, path);
    }

    function nodeHash(bytes32 left, bytes32 right) internal pure returns (bytes32) {
        return pureNode(node)(left, right);
    }

    /// Root of a tree over nodes of one level, 32 bytes each.
    function fold(bytes calldata nodes) internal pure returns (bytes32) {
        return pureBytes(folded)(nodes);
    }

    // The precompile reads nothing but what it is given: whoever calls it is pure, which the compiler does
    // not know.

    function pureNode(function(bytes32, bytes32) internal view returns (bytes32) one)
        private
        pure
        returns (function(bytes32, bytes32) internal pure returns (bytes32) same)
    {
        assembly ("memory-safe") {
            same := one
        }
    }

    function purePath(function(bytes32, uint256, uint256, bytes32[] calldata) internal view returns (bool, bytes32) one)
        private
        pure
        returns (function(bytes32, uint256, uint256, bytes32[] calldata) internal pure returns (bool, bytes32) same)
    {
        assembly ("memory-safe") {
            same := one
        }
    }

    function pureBytes(function(bytes calldata) internal view returns (bytes32) one)
        private
        pure
        returns (function(bytes calldata) internal pure returns (bytes32) same)
    {
        assembly ("memory-safe") {
            same := one
        }
    }

    function hashedLeaf(bytes calldata leaf) private view returns (bytes32 hash) {
        bool isHashed;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, LEAF_TAG)
            mstore(add(free, 0x20), LEAF_TAG)
            calldatacopy(add(free, 0x40), leaf.offset, leaf.length)
            isHashed := staticcall(gas(), 2, free, add(leaf.length, 0x40), 0x00, 0x20)
            isHashed := and(isHashed, eq(returndatasize(), 0x20))
            hash := mload(0x00)
        }
        if (!isHashed) revert HashFailed();
    }

    function node(bytes32 left, bytes32 right) private view returns (bytes32 hash) {
        bool isHashed;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, NODE_TAG)
            mstore(add(free, 0x20), NODE_TAG)
            mstore(add(free, 0x40), left)
            mstore(add(free, 0x60), right)
            isHashed := staticcall(gas(), 2, free, 0x80, 0x00, 0x20)
            isHashed := and(isHashed, eq(returndatasize(), 0x20))
            hash := mload(0x00)
        }
        if (!isHashed) revert HashFailed();
    }

    /// Every proof pays for this loop: bounds are checked by hand, once a level.
    function climbed(bytes32 hash, uint256 index, uint256 count, bytes32[] calldata path)
        private
        view
        returns (bool possible, bytes32 root)
    {
        bool isHashed = true;
        assembly ("memory-safe") {
            let pair := mload(0x40)
            let at_ := path.offset
            let end := add(at_, shl(5, path.length))
            mstore(pair, NODE_TAG)
            mstore(add(pair, 0x20), NODE_TAG)
            root := hash
            possible := 1
            for { let width := count } gt(width, 1) { width := shr(1, add(width, 1)) } {
                if lt(or(index, 1), width) {
                    if eq(at_, end) {
                        possible := 0
                        break
                    }
                    let side := shl(5, and(index, 1))
                    mstore(add(add(pair, 0x40), side), root)
                    mstore(sub(add(pair, 0x60), side), calldataload(at_))
                    at_ := add(at_, 0x20)
                    let isOne := staticcall(gas(), 2, pair, 0x80, 0x00, 0x20)
                    isHashed := and(isHashed, and(isOne, eq(returndatasize(), 0x20)))
                    root := mload(0x00)
                }
                index := shr(1, index)
            }
            possible := and(possible, eq(at_, end))
        }
        if (!isHashed) revert HashFailed();
    }

    function folded(bytes calldata nodes) private view returns (bytes32 root) {
        bool isHashed = true;
        assembly ("memory-safe") {
            let pair := mload(0x40)
            let free := add(pair, 0x80)
            let width := shr(5, nodes.length)
            mstore(pair, NODE_TAG)
            mstore(add(pair, 0x20), NODE_TAG)
            calldatacopy(free, nodes.offset, nodes.length)
            for {} gt(width, 1) {} {
                let pairs := shr(1, width)
                for { let i := 0 } lt(i, pairs) { i := add(i, 1) } {
                    mcopy(add(pair, 0x40), add(free, shl(6, i)), 0x40)
                    let isOne := staticcall(gas(), 2, pair, 0x80, add(free, shl(5, i)), 0x20)
                    isHashed := and(isHashed, and(isOne, eq(returndatasize(), 0x20)))
                }
                if and(width, 1) { mcopy(add(free, shl(5, pairs)), add(free, shl(6, pairs)), 0x20) }
                width := shr(1, add(width, 1))
            }
            root := mload(free)
        }
        if (!isHashed) revert HashFailed();
    }
}
