// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {TaggedTree} from "../trees/TaggedTree.sol";
import {OpLeaf} from "./OpLeaf.sol";

/// Leaves of a tensor and the elements in them, docs/work.md §1: 1,024 bytes each, two's complement, little-endian. The tree
/// itself is TaggedTree. src/work/trace/tensor-tree.ts is its twin.
library TensorTree {
    uint256 internal constant LEAF_BYTES = 1024;

    /// @notice Thrown when leaf and path do not lead to the tensor's root.
    error LeafMismatch();

    function leafCount(OpLeaf.Tensor memory tensor) internal pure returns (uint256) {
        return (tensor.count * tensor.size + LEAF_BYTES - 1) / LEAF_BYTES;
    }

    /// Root of so many leaves of zeros.
    function zeroRoot(uint256 leaves) internal pure returns (bytes32 last) {
        bytes32 full = sha256(abi.encodePacked(TaggedTree.LEAF_TAG, TaggedTree.LEAF_TAG, new bytes(LEAF_BYTES)));
        last = full;
        for (uint256 width = leaves; width > 1; width = (width + 1) >> 1) {
            // The last one may stand for less than a full one, and goes up alone where it has no neighbour.
            if (width & 1 == 0) last = TaggedTree.nodeHash(full, last);
            full = TaggedTree.nodeHash(full, full);
        }
    }

    /// It is leaf number `index` of the tensor with this root.
    function mustBeShown(
        bytes calldata leaf,
        bytes32[] calldata path,
        uint256 index,
        OpLeaf.Tensor memory tensor,
        bytes32 root
    ) internal pure {
        if (leaf.length != LEAF_BYTES) revert LeafMismatch();
        (bool possible, bytes32 found) = TaggedTree.rootFromPath(TaggedTree.leafHash(leaf), index, leafCount(tensor), path);
        if (!possible || found != root) revert LeafMismatch();
    }

    /// The element, by the leaf that has it.
    function shownElement(
        bytes calldata leaf,
        bytes32[] calldata path,
        uint256 element,
        OpLeaf.Tensor memory tensor,
        bytes32 root
    ) internal pure returns (int256) {
        uint256 place = element * tensor.size;
        mustBeShown(leaf, path, place / LEAF_BYTES, tensor, root);
        uint256 from;
        assembly ("memory-safe") {
            from := add(leaf.offset, mod(place, LEAF_BYTES))
        }
        return read(from, tensor.size);
    }

    /// The element at a place of the calldata. Sums pay for this a thousand times: no loop.
    function read(uint256 from, uint256 size) internal pure returns (int256 value) {
        assembly ("memory-safe") {
            function half(word, i) -> v {
                v := or(or(byte(i, word), shl(8, byte(add(i, 1), word))),
                    or(shl(16, byte(add(i, 2), word)), shl(24, byte(add(i, 3), word))))
            }
            let word := calldataload(from)
            switch size
            case 1 { value := signextend(0, byte(0, word)) }
            case 2 { value := signextend(1, or(byte(0, word), shl(8, byte(1, word)))) }
            case 4 { value := signextend(3, half(word, 0)) }
            default { value := signextend(7, or(half(word, 0), shl(32, half(word, 4)))) }
        }
    }

    /// Σ a·b of `count` elements from two places of the calldata. No sum of 2²⁰ products of 64 bits leaves 256.
    function dot(uint256 a, uint256 sizeA, uint256 b, uint256 sizeB, uint256 count) internal pure returns (int256 sum) {
        if (sizeA == 1 && sizeB == 1) {
            assembly ("memory-safe") {
                for { let end := add(a, count) } lt(a, end) { a := add(a, 1) } {
                    sum := add(
                        sum,
                        mul(signextend(0, byte(0, calldataload(a))), signextend(0, byte(0, calldataload(b))))
                    )
                    b := add(b, 1)
                }
            }
            return sum;
        }
        unchecked {
            for (uint256 i = 0; i < count; i++) sum += read(a + i * sizeA, sizeA) * read(b + i * sizeB, sizeB);
        }
    }
}
