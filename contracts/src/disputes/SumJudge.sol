// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {OpLeaf} from "./OpLeaf.sol";
import {TensorTree} from "./TensorTree.sol";
import {Transcripts} from "./Transcripts.sol";

/// Chunks of matmul, reduce and scatter_add, docs/work.md §9: where a sum is cut, and whether it went on
/// rightly over one chunk. Places are not checked for overflow: no tensor has more than 2⁴⁰ elements
/// (OpLeaf), and `mustFit` comes first.
library SumJudge {
    /// Where the rows of an element begin: flat indexes in operands 0 and 1.
    struct Rows {
        uint256 count;
        uint256 length;
        uint256[2] base;
    }

    /// Dims that no checked program has would lead the judge astray.
    function mustFit(OpLeaf.Op memory op) internal pure {
        uint256 count = op.operator == OpLeaf.REDUCE ? 1 : 2;
        if (op.operands.length != count) revert Transcripts.ShapeInvalid();
        OpLeaf.Tensor memory x = op.operands[0];
        uint256[] memory out = op.output.dims;
        bool fits;
        if (op.operator == OpLeaf.REDUCE) {
            fits = x.dims.length == 2 && out.length == 1 && x.dims[0] == out[0];
        } else {
            OpLeaf.Tensor memory y = op.operands[1];
            if (op.operator == OpLeaf.MATMUL) {
                fits = x.dims.length == 3 && y.dims.length == 3 && out.length == 3 && x.dims[1] == out[1]
                    && y.dims[1] == out[2] && x.dims[2] == y.dims[2] && out[0] % x.dims[0] == 0 && out[0] % y.dims[0] == 0
                    && x.size < 8 && y.size < 8 && op.output.size >= 4;
            } else {
                fits = x.dims.length == 2 && y.dims.length == 1 && out.length == 2 && x.dims[0] == out[1]
                    && x.dims[1] == y.dims[0];
            }
        }
        if (!fits || x.dims[x.dims.length - 1] > 2 ** 20) revert Transcripts.ShapeInvalid();
    }

    function rowsOf(OpLeaf.Op memory op, uint256 element) private pure returns (Rows memory rows) {
        unchecked {
            uint256[] memory x = op.operands[0].dims;
            uint256[] memory out = op.output.dims;
            rows.length = x[x.length - 1];
            if (op.operator == OpLeaf.REDUCE) {
                (rows.count, rows.base[0]) = (1, element * rows.length);
                return rows;
            }
            rows.count = 2;
            if (op.operator == OpLeaf.SCATTER_ADD) {
                rows.base[0] = element % out[1] * rows.length;
                return rows;
            }
            uint256 batch = element / (out[1] * out[2]);
            uint256 i = element / out[2] % out[1];
            uint256 j = element % out[2];
            rows.base[0] = (batch / (out[0] / x[0]) * out[1] + i) * rows.length;
            rows.base[1] = (batch / (out[0] / op.operands[1].dims[0]) * out[2] + j) * rows.length;
        }
    }

    /// Cuts at places 1 … `upTo`. Each row is cut where it begins a leaf; the shorter leaves are a multiple
    /// of the longer ones, so all cuts of the one row are cuts of the other, or none.
    function cutsUpTo(OpLeaf.Op memory op, Rows memory rows, uint256 upTo) private pure returns (uint256 cuts) {
        unchecked {
            uint256 per = TensorTree.LEAF_BYTES / op.operands[0].size;
            cuts = (rows.base[0] + upTo) / per - rows.base[0] / per;
            if (rows.count == 1) return cuts;
            uint256 other = TensorTree.LEAF_BYTES / op.operands[1].size;
            uint256 more = (rows.base[1] + upTo) / other - rows.base[1] / other;
            uint256 least = per < other ? per : other;
            if (rows.base[0] % least == rows.base[1] % least) return per < other ? cuts : more;
            return cuts + more;
        }
    }

    /// Numbers at each cut.
    function numbersACut(OpLeaf.Op memory op) private pure returns (uint256) {
        return op.operator == OpLeaf.REDUCE && op.reduction >= 3 ? 2 : 1;
    }

    function transcriptLength(OpLeaf.Op memory op, uint256 element) internal pure returns (uint256) {
        unchecked {
            Rows memory rows = rowsOf(op, element);
            return 1 + cutsUpTo(op, rows, rows.length - 1) * numbersACut(op);
        }
    }

    /// One chunk of a sum.
    struct Chunk {
        uint256 number;
        /// Places in the rows.
        uint256 from;
        uint256 to;
        /// Where the rows lie in the calldata.
        uint256[2] at_;
        bool isLast;
    }

    function judgeChunk(
        OpLeaf.Op memory op,
        bytes32[] calldata inputs,
        Transcripts.Words calldata words,
        Transcripts.Contradiction calldata shown
    ) internal pure returns (int256, int256) {
        unchecked {
            Rows memory rows = rowsOf(op, words.element);
            Transcripts.mustShow(shown, rows.count);
            Chunk memory chunk = chunkAt(op, rows, shown.place);
            for (uint256 i = 0; i < rows.count; i++) {
                (uint256 at_, uint256 count) = showRow(op.operands[i], shown, i, inputs[i], rows.base[i] + chunk.from);
                chunk.at_[i] = at_;
                if (chunk.from + count < chunk.to) chunk.to = chunk.from + count;
            }
            chunk.isLast = chunk.to == rows.length;
            return compareChunk(op, words.transcripts[0], chunk, words.element);
        }
    }

    /// It begins with a cut, or is the first.
    function chunkAt(OpLeaf.Op memory op, Rows memory rows, uint256 from) private pure returns (Chunk memory chunk) {
        unchecked {
            if (from >= rows.length) revert Transcripts.PlaceUnknown();
            chunk.number = cutsUpTo(op, rows, from);
            if (from > 0 && cutsUpTo(op, rows, from - 1) == chunk.number) revert Transcripts.PlaceUnknown();
            (chunk.from, chunk.to) = (from, rows.length);
        }
    }

    /// The leaf that has this element is shown: where the element lies, and how many are in the leaf from
    /// there on.
    function showRow(
        OpLeaf.Tensor memory tensor,
        Transcripts.Contradiction calldata shown,
        uint256 row,
        bytes32 root,
        uint256 element
    ) private pure returns (uint256 at_, uint256 count) {
        unchecked {
            uint256 place = element * tensor.size;
            TensorTree.mustBeShown(shown.leaves[row], shown.paths[row], place / TensorTree.LEAF_BYTES, tensor, root);
            place %= TensorTree.LEAF_BYTES;
            return (Transcripts.start(shown.leaves[row]) + place, (TensorTree.LEAF_BYTES - place) / tensor.size);
        }
    }

    function compareChunk(OpLeaf.Op memory op, bytes calldata transcript, Chunk memory chunk, uint256 element)
        private
        pure
        returns (int256 said, int256 right)
    {
        uint256 size = numbersACut(op);
        int256[2] memory running;
        uint256 at_ = 1 + chunk.number * size;
        if (chunk.number > 0) running = [Transcripts.number(transcript, at_ - size), Transcripts.number(transcript, at_ - 1)];
        if (op.operator == OpLeaf.REDUCE) {
            running = reduced(op, chunk, running);
        } else if (op.operator == OpLeaf.MATMUL) {
            running[0] += TensorTree.dot(
                chunk.at_[0], op.operands[0].size, chunk.at_[1], op.operands[1].size, chunk.to - chunk.from
            );
        } else {
            running[0] += picked(op, chunk, int256(element / op.output.dims[1]));
        }
        // The last chunk gives the value; of argmax and argmin that is the index.
        if (chunk.isLast) return (Transcripts.number(transcript, 0), running[0]);
        (said, right) = (Transcripts.number(transcript, at_), running[0]);
        if (said == right && size == 2) (said, right) = (Transcripts.number(transcript, at_ + 1), running[1]);
    }

    /// The sum of X over the places whose index is wanted.
    function picked(OpLeaf.Op memory op, Chunk memory chunk, int256 wanted) private pure returns (int256 sum) {
        (uint256 size, uint256 indexSize) = (op.operands[0].size, op.operands[1].size);
        uint256 count = chunk.to - chunk.from;
        (uint256 x, uint256 index) = (chunk.at_[0], chunk.at_[1]);
        // Bytes of the wanted index as the calldata has them: what does not fit the type is nowhere.
        uint256 bits = 8 * indexSize;
        uint256 mirrored = 0;
        for (uint256 i = 0; i < indexSize; i++) mirrored |= (uint256(wanted) >> (8 * i) & 0xff) << (bits - 8 - 8 * i);
        if (wanted < 0 || uint256(wanted) >> (bits - 1) != 0) return 0;
        unchecked {
            if (size <= 4 && indexSize <= 4) {
                uint256 done = count & ~uint256(7);
                sum = TensorTree.pickedAny(x, size, index, indexSize, done >> 3, uint256(wanted));
                (x, index, count) = (x + done * size, index + done * indexSize, count - done);
            }
            bits = 256 - bits;
            for (uint256 end = index + count * indexSize; index < end; index += indexSize) {
                uint256 found;
                assembly ("memory-safe") {
                    found := shr(bits, calldataload(index))
                }
                if (found == mirrored) sum += TensorTree.read(x, size);
                x += size;
            }
        }
    }

    /// Sum, max and min: (result, –). Argmax and argmin: (index, its element).
    function reduced(OpLeaf.Op memory op, Chunk memory chunk, int256[2] memory running)
        private
        pure
        returns (int256[2] memory)
    {
        (uint256 at_, uint256 size, uint256 count) = (chunk.at_[0], op.operands[0].size, chunk.to - chunk.from);
        if (op.reduction == 0) {
            running[0] += TensorTree.total(at_, size, count);
            return running;
        }
        // The lowest index wins, so only a better one replaces.
        bool isLeast = op.reduction & 1 == 0;
        bool isIndex = op.reduction >= 3;
        int256 best = running[isIndex ? 1 : 0];
        if (chunk.number == 0) best = isLeast ? type(int256).max : type(int256).min;
        (int256 found, uint256 index) = TensorTree.most(at_, size, count, isLeast, best);
        if (!isIndex) return [found, int256(0)];
        return [index < count ? int256(chunk.from + index) : running[0], found];
    }
}
