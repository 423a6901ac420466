// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Tagged SHA-256 and its trees, docs/hardware-proof.md §1: what engines commit to. By the precompile.
library TaggedTree {
    bytes32 internal constant LEAF_TAG = sha256("assay/leaf/1");
    bytes32 internal constant NODE_TAG = sha256("assay/node/1");
    bytes32 internal constant SEED_TAG = sha256("assay/seed/1");

    function leafHash(bytes calldata leaf) internal pure returns (bytes32) {
        return sha256(abi.encodePacked(LEAF_TAG, LEAF_TAG, leaf));
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
        uint256 used = 0;
        root = hash;
        for (uint256 width = count; width > 1; width = (width + 1) >> 1) {
            if ((index | 1) < width) {
                if (used == path.length) return (false, 0);
                bytes32 sibling = path[used++];
                root = (index & 1) == 0 ? nodeHash(root, sibling) : nodeHash(sibling, root);
            }
            index >>= 1;
        }
        return (used == path.length, root);
    }

    function nodeHash(bytes32 left, bytes32 right) internal pure returns (bytes32) {
        return sha256(abi.encodePacked(NODE_TAG, NODE_TAG, left, right));
    }
}
