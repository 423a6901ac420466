// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TensorTree} from "../disputes/TensorTree.sol";
import {TraceTree} from "../disputes/TraceTree.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";
import {TaggedTree} from "../trees/TaggedTree.sol";
import {ZkPlan} from "./ZkPlan.sol";

/// What stands at places of a proof's first four groups, docs/zk.md §4, from leaves of the tensors whose
/// roots the statement has: features and labels as they enter the sums, weights as they are. Zeros pad rows
/// and columns.
library TwinValues {
    /// What enters the first link, classes, weights at the start and at the end.
    enum Group {
        Features,
        Labels,
        Before,
        After
    }

    /// Of the plan, what places depend on.
    struct Sizes {
        uint256 rowBits;
        /// Bits of h; activations stand at 2^activation.
        uint256 h;
        uint256 activation;
        /// Bytes of a label, and of a weight.
        uint256 labelSize;
        uint256 weightSize;
        /// Of the layers, inputs first.
        uint256[] layers;
    }

    /// One leaf of a tensor. A weight's tensor is shown by its root among those of the state.
    struct Shown {
        bytes leaf;
        bytes32[] path;
        bytes32[] rootPath;
    }

    /// Where a row of values lies, and which leaf of which tensor was shown last.
    struct Cursor {
        Group group;
        /// Of the group: a tensor's root, or the tree of the state's tensors.
        bytes32 root;
        /// Bytes of an element.
        uint256 size;
        /// How many of the leaves were needed so far; of the last: its link and number, and where its bytes
        /// begin.
        uint256 next;
        uint256 link;
        uint256 leaf;
        uint256 from;
        /// Of the weights: which link's block, and its places.
        uint256 links;
        uint256 block_;
        /// Of what the places are in: columns, rows that count, and the bits of columns with their padding.
        uint256 columns;
        uint256 rows;
        uint256 bits;
        uint256 blockStart;
        uint256 blockEnd;
    }

    /// Inputs are at 2^11, docs/training.md §2.
    uint256 private constant FEATURE_BITS = 11;
    /// Of a layer.
    uint256 private constant MOST_BITS = 20;
    /// Number of the first weight's tensor: features, labels and order come before.
    uint256 private constant FIRST_WEIGHT = 3;

    /// @notice Thrown when a leaf that is shown is not one of the statement's, is missing, or is not needed.
    error ShownMismatch();

    /// `root`: that of features or labels; for weights that of the tree over the state's tensors.
    function valuesAt(Sizes memory sizes, Group group, bytes32 root, uint256 first, uint256 count, Shown[] calldata shown)
        internal
        pure
        returns (int256[] memory values)
    {
        values = new int256[](count);
        Cursor memory cursor;
        (cursor.group, cursor.root, cursor.leaf) = (group, root, type(uint256).max);
        cursor.links = sizes.layers.length - 1;
        if (group == Group.Features) setTable(cursor, sizes.layers[0], 1 << sizes.rowBits);
        if (group == Group.Labels) setTable(cursor, sizes.layers[cursor.links], 1 << sizes.rowBits);
        cursor.size = group == Group.Features ? 2 : group == Group.Labels ? sizes.labelSize : sizes.weightSize;
        for (uint256 i = 0; i < count; i++) {
            values[i] = group == Group.Features
                ? featureAt(sizes, cursor, first + i, shown)
                : group == Group.Labels ? labelAt(sizes, cursor, first + i, shown) : weightAt(sizes, cursor, first + i, shown);
        }
        if (cursor.next != shown.length) revert ShownMismatch();
    }

    function setTable(Cursor memory cursor, uint256 columns, uint256 rows) private pure {
        (cursor.columns, cursor.rows, cursor.bits) = (columns, rows, ZkPlan.bitsFor(columns));
    }

    /// clamp(⌊(x + 4)/8⌋ + 2^8 in the last column)
    function featureAt(Sizes memory sizes, Cursor memory cursor, uint256 place, Shown[] calldata shown)
        private
        pure
        returns (int256 value)
    {
        uint256 inputs = cursor.columns;
        (uint256 row, uint256 column) = (place >> cursor.bits, place & ((1 << cursor.bits) - 1));
        if (row >= cursor.rows || column >= inputs) return 0;
        // Below the inputs' scale, which every plan's is.
        uint256 shift = FEATURE_BITS - sizes.activation;
        value = elementAt(cursor, 0, row * inputs + column, shown);
        value = (value + int256(1 << (shift - 1))) >> shift;
        if (column == inputs - 1) value += int256(1 << sizes.activation);
        int256 most = int256(1 << (sizes.h - 1)) - 1;
        if (value > most) return most;
        return value < -most ? -most : value;
    }

    /// 2^8 at the row's class.
    function labelAt(Sizes memory sizes, Cursor memory cursor, uint256 place, Shown[] calldata shown)
        private
        pure
        returns (int256)
    {
        (uint256 row, uint256 class) = (place >> cursor.bits, place & ((1 << cursor.bits) - 1));
        if (row >= cursor.rows || class >= cursor.columns) return 0;
        int256 label = elementAt(cursor, 0, row, shown);
        return label == int256(class) ? int256(1 << sizes.activation) : int256(0);
    }

    function weightAt(Sizes memory sizes, Cursor memory cursor, uint256 place, Shown[] calldata shown)
        private
        pure
        returns (int256)
    {
        if (place >= cursor.blockEnd) findBlock(sizes, cursor, place);
        unchecked {
            place -= cursor.blockStart;
            (uint256 output, uint256 input) = (place >> cursor.bits, place & ((1 << cursor.bits) - 1));
            // Behind the last block there are no rows.
            if (output >= cursor.rows || input >= cursor.columns) return 0;
            return elementAt(cursor, cursor.block_, output * cursor.columns + input, shown);
        }
    }

    /// Largest blocks first, then by link.
    function findBlock(Sizes memory sizes, Cursor memory cursor, uint256 place) private pure {
        uint256 links = sizes.layers.length - 1;
        uint256 start = 0;
        for (uint256 bits = 2 * MOST_BITS + 1; bits > 0; bits--) {
            for (uint256 i = 0; i < links; i++) {
                if (ZkPlan.bitsFor(sizes.layers[i]) + ZkPlan.bitsFor(sizes.layers[i + 1]) != bits - 1) continue;
                uint256 end = start + (1 << (bits - 1));
                if (place < end) {
                    (cursor.block_, cursor.blockStart, cursor.blockEnd) = (i, start, end);
                    setTable(cursor, sizes.layers[i], sizes.layers[i + 1]);
                    return;
                }
                start = end;
            }
        }
        (cursor.block_, cursor.blockStart, cursor.blockEnd) = (links, start, type(uint256).max);
        setTable(cursor, 1, 0);
    }

    /// An element of a tensor. Labels are one a row, all others a table.
    function elementAt(Cursor memory cursor, uint256 link, uint256 element, Shown[] calldata shown)
        private
        pure
        returns (int256)
    {
        unchecked {
            uint256 place = element * cursor.size;
            uint256 number = place / TensorTree.LEAF_BYTES;
            if (number != cursor.leaf || link != cursor.link) {
                uint256 columns = cursor.group == Group.Labels ? 1 : cursor.columns;
                show(cursor, link, number, cursor.rows * columns * cursor.size, shown);
            }
            return TensorTree.read(cursor.from + place % TensorTree.LEAF_BYTES, cursor.size);
        }
    }

    /// The next leaf must be this one.
    function show(Cursor memory cursor, uint256 link, uint256 number, uint256 size, Shown[] calldata shown) private pure {
        if (cursor.next >= shown.length) revert ShownMismatch();
        Shown calldata one = shown[cursor.next++];
        (bool possible, bytes32 root) = rootOf(one.leaf, one.path, number, size);
        if (possible && cursor.group >= Group.Before) {
            bytes32 own = TraceTree.rootLeaf(uint16(FIRST_WEIGHT + link), root);
            (possible, root) = KeccakTree.rootFromPath(own, link, cursor.links, one.rootPath);
        }
        if (!possible || root != cursor.root) revert ShownMismatch();
        (cursor.link, cursor.leaf, cursor.from) = (link, number, placeOf(one.leaf));
    }

    /// Of a tensor of `size` bytes.
    function rootOf(bytes calldata leaf, bytes32[] calldata path, uint256 number, uint256 size)
        private
        pure
        returns (bool, bytes32)
    {
        if (leaf.length != TensorTree.LEAF_BYTES) revert ShownMismatch();
        uint256 leaves = (size + TensorTree.LEAF_BYTES - 1) / TensorTree.LEAF_BYTES;
        return TaggedTree.rootFromPath(TaggedTree.leafHash(leaf), number, leaves, path);
    }

    function placeOf(bytes calldata leaf) private pure returns (uint256 from) {
        assembly ("memory-safe") {
            from := leaf.offset
        }
    }
}
