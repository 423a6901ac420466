// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TaggedTree} from "../trees/TaggedTree.sol";
import {GemmElement} from "./GemmElement.sol";

/// One element of a product that somebody committed to: as its leaf has it, and as its seed makes it. Leaves
/// are 512 elements of a row, little-endian, docs/hardware-proof.md §4. The arithmetic is GemmElement.
library GemmOpening {
    uint256 private constant LEAF_BYTES = 1024;
    uint256 private constant LEAF_ELEMENTS = 512;

    struct Product {
        /// 0 int8, 1 fp8, 2 fp16, 3 bf16, 4 tf32.
        uint8 precision;
        uint32 m;
        uint32 n;
        uint32 k;
        uint32 leaf;
        /// Which of the leaf's 512 elements.
        uint16 column;
    }

    /// @notice Thrown when the product's precision or sizes are outside docs/hardware-proof.md §3.
    error SpecInvalid();
    /// @notice Thrown when the leaf is not 1,024 bytes long, or has no such element.
    error PlaceInvalid();
    /// @notice Thrown when leaf and path do not lead to the root.
    error RootMismatch();

    /// Of the sizes only.
    function mustBeValid(Product memory product) internal pure {
        uint256 n = product.n;
        if (
            n == 0 || n % LEAF_ELEMENTS != 0 || !GemmElement.isValid(product.precision, product.m, product.k)
                || !GemmElement.isValid(product.precision, n, product.k)
        ) revert SpecInvalid();
    }

    function leafCount(Product memory product) internal pure returns (uint256) {
        return product.m * (product.n / LEAF_ELEMENTS);
    }

    function isPlace(Product memory product) internal pure returns (bool) {
        return product.leaf < leafCount(product) && product.column < LEAF_ELEMENTS;
    }

    /// The sizes are valid.
    function committed(Product memory product, bytes32 root, bytes calldata leafBytes, bytes32[] calldata path)
        internal
        pure
        returns (uint16)
    {
        if (leafBytes.length != LEAF_BYTES || product.column >= LEAF_ELEMENTS) revert PlaceInvalid();
        (bool possible, bytes32 found) =
            TaggedTree.rootFromPath(TaggedTree.leafHash(leafBytes), product.leaf, leafCount(product), path);
        if (!possible || found != root) revert RootMismatch();
        uint256 at_ = 2 * uint256(product.column);
        return uint16(uint8(leafBytes[at_])) | uint16(uint8(leafBytes[at_ + 1])) << 8;
    }

    /// The sizes are valid, and the leaf is one of the product's.
    function right(Product memory product, bytes32 seed) internal pure returns (uint16) {
        uint256 leavesPerRow = product.n / LEAF_ELEMENTS;
        return GemmElement.element(
            product.precision,
            seed,
            product.k,
            product.leaf / leavesPerRow,
            LEAF_ELEMENTS * (product.leaf % leavesPerRow) + product.column
        );
    }
}
