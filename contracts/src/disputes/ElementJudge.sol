// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {MapMachine} from "./MapMachine.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {TensorTree} from "./TensorTree.sol";

/// The judge of one contradiction, docs/work.md §9: from the op's leaf, the roots of its trace leaf, what the accused said, and a
/// few shown leaves. It says what was said and what is right; equal, nothing is shown. It never clears anyone of anything: what it
/// does not define reverts. src/work/trace/judge.ts is its twin.
library ElementJudge {
    using MapMachine for MapMachine.Machine;

    enum Kind {
        Value,
        Filling,
        Chunk,
        Load,
        Turn,
        End
    }

    struct Contradiction {
        Kind kind;
        /// Of a load: 0 before, 1 body, 2 after.
        uint8 section;
        /// Number of the load in its section, or the place that a chunk begins with.
        uint32 place;
        bytes[] leaves;
        bytes32[][] paths;
    }

    /// What is asked of which element, and the answers.
    struct Words {
        uint64 element;
        /// Path of parts of turns, down to one turn.
        uint16[] turns;
        /// The transcript, then that of the span of each part.
        bytes[] transcripts;
    }

    struct Moment {
        uint256 segment;
        uint256 step;
        uint256 k;
        bytes32 seed;
    }

    /// @notice Thrown when there is no such element, chunk, load, turn or contradiction of this operator.
    error PlaceUnknown();
    /// @notice Thrown when a transcript has another length than it must.
    error WordsInvalid();
    /// @notice Thrown when the op's dims and types do not fit its operator.
    error ShapeInvalid();

    /// `inputs` and `output` are the roots of the trace leaf.
    function judge(
        OpLeaf.Op memory op,
        Moment memory moment,
        bytes32[] calldata inputs,
        bytes32 output,
        Words calldata words,
        Contradiction calldata shown
    ) internal pure returns (int256 said, int256 right) {
        if (op.operator != OpLeaf.MAP) mustFit(op);
        if (words.element >= op.output.count || inputs.length != op.operands.length) revert PlaceUnknown();
        if (shown.leaves.length != shown.paths.length) revert TensorTree.LeafMismatch();
        if (shown.kind == Kind.Filling) return judgeFilling(op, output, words, shown);
        mustBeWords(op, words, shown);
        if (shown.kind == Kind.Value) {
            mustShow(shown, 1);
            said = TensorTree.shownElement(shown.leaves[0], shown.paths[0], words.element, op.output, output);
            return (said, number(words.transcripts[0], 0));
        }
        if (op.operator == OpLeaf.MAP) return judgeMap(op, moment, inputs, words, shown);
        if (shown.kind != Kind.Chunk) revert PlaceUnknown();
        return judgeChunk(op, inputs, words, shown);
    }

    function start(bytes calldata transcript) private pure returns (uint256 at_) {
        assembly ("memory-safe") {
            at_ := transcript.offset
        }
    }

    function number(bytes calldata transcript, uint256 i) private pure returns (int256) {
        return MapMachine.number(start(transcript), i);
    }

    function mustShow(Contradiction calldata shown, uint256 count) private pure {
        if (shown.leaves.length != count) revert TensorTree.LeafMismatch();
    }

    function judgeFilling(OpLeaf.Op memory op, bytes32 output, Words calldata words, Contradiction calldata shown)
        private
        pure
        returns (int256 said, int256 right)
    {
        if (words.element > 0 || words.turns.length > 0 || words.transcripts.length > 0) revert WordsInvalid();
        mustShow(shown, 1);
        bytes calldata leaf = shown.leaves[0];
        TensorTree.mustBeShown(leaf, shown.paths[0], TensorTree.leafCount(op.output) - 1, op.output, output);
        uint256 used = op.output.count * op.output.size % TensorTree.LEAF_BYTES;
        if (used == 0) return (0, 0);
        for (uint256 i = used; i < TensorTree.LEAF_BYTES; i++) {
            if (leaf[i] != 0) return (int256(uint256(uint8(leaf[i]))), 0);
        }
    }

    // Words.

    /// Parts of a span of so many turns, and the turns of all but the last.
    function partsOf(uint256 turns) private pure returns (uint256 count, uint256 each) {
        if (turns == 0) return (0, 0);
        each = (turns + 31) / 32;
        count = (turns + each - 1) / each;
    }

    /// Each transcript has the length that op and element give it, and there is one for each span.
    function mustBeWords(OpLeaf.Op memory op, Words calldata words, Contradiction calldata shown) private pure {
        uint256 depth = words.turns.length;
        bool isInTurn = shown.kind == Kind.Turn || (shown.kind == Kind.Load && shown.section == 1);
        if (words.transcripts.length != depth + 1 || (depth > 0) != isInTurn) revert WordsInvalid();
        if (depth > 0 && op.operator != OpLeaf.MAP) revert WordsInvalid();
        mustHave(words.transcripts[0], op.operator == OpLeaf.MAP ? mapLength(op.code) : sumLength(op, words.element));
        uint256 turns = op.code.turns;
        for (uint256 i = 0; i < depth; i++) {
            turns = partOf(turns, words.turns[i], i);
            (uint256 count,) = partsOf(turns);
            mustHave(words.transcripts[i + 1], turns == 1 ? op.code.loads[1] : (count - 1) * op.code.carried);
        }
    }

    function mustHave(bytes calldata transcript, uint256 numbers) private pure {
        if (transcript.length != 8 * numbers) revert WordsInvalid();
    }

    /// Turns of one part of a span.
    function partOf(uint256 turns, uint256 part, uint256 depth) private pure returns (uint256) {
        (uint256 count, uint256 each) = partsOf(turns);
        if (part >= count || (depth > 0 && turns == 1)) revert WordsInvalid();
        return part + 1 < count ? each : turns - each * part;
    }

    function mapLength(OpLeaf.Code memory code) private pure returns (uint256) {
        (uint256 marks,) = partsOf(code.turns);
        return 1 + code.loads[0] + marks * code.carried + code.loads[2];
    }

    // Sums.

    /// Where the rows of an element begin: flat indexes in operands 0 and 1.
    struct Rows {
        uint256 count;
        uint256 length;
        uint256[2] base;
    }

    /// Dims that no checked program has would lead the judge astray.
    function mustFit(OpLeaf.Op memory op) private pure {
        uint256 count = op.operator == OpLeaf.REDUCE ? 1 : 2;
        if (op.operands.length != count) revert ShapeInvalid();
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
        if (!fits || x.dims[x.dims.length - 1] > 2 ** 20) revert ShapeInvalid();
    }

    function rowsOf(OpLeaf.Op memory op, uint256 element) private pure returns (Rows memory rows) {
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

    /// Cuts at places 1 … `upTo`. Each row is cut where it begins a leaf; the shorter leaves are a multiple of the
    /// longer ones, so all cuts of the one row are cuts of the other, or none.
    function cutsUpTo(OpLeaf.Op memory op, Rows memory rows, uint256 upTo) private pure returns (uint256 cuts) {
        uint256 per = TensorTree.LEAF_BYTES / op.operands[0].size;
        cuts = (rows.base[0] + upTo) / per - rows.base[0] / per;
        if (rows.count == 1) return cuts;
        uint256 other = TensorTree.LEAF_BYTES / op.operands[1].size;
        uint256 more = (rows.base[1] + upTo) / other - rows.base[1] / other;
        uint256 least = per < other ? per : other;
        if (rows.base[0] % least == rows.base[1] % least) return per < other ? cuts : more;
        return cuts + more;
    }

    /// Numbers at each cut.
    function numbersACut(OpLeaf.Op memory op) private pure returns (uint256) {
        return op.operator == OpLeaf.REDUCE && op.reduction >= 3 ? 2 : 1;
    }

    function sumLength(OpLeaf.Op memory op, uint256 element) private pure returns (uint256) {
        Rows memory rows = rowsOf(op, element);
        return 1 + cutsUpTo(op, rows, rows.length - 1) * numbersACut(op);
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
        Words calldata words,
        Contradiction calldata shown
    ) private pure returns (int256, int256) {
        Rows memory rows = rowsOf(op, words.element);
        mustShow(shown, rows.count);
        Chunk memory chunk = chunkAt(op, rows, shown.place);
        for (uint256 i = 0; i < rows.count; i++) {
            (uint256 at_, uint256 count) = showRow(op.operands[i], shown, i, inputs[i], rows.base[i] + chunk.from);
            chunk.at_[i] = at_;
            if (chunk.from + count < chunk.to) chunk.to = chunk.from + count;
        }
        chunk.isLast = chunk.to == rows.length;
        return compareChunk(op, words.transcripts[0], chunk, words.element);
    }

    /// It begins with a cut, or is the first.
    function chunkAt(OpLeaf.Op memory op, Rows memory rows, uint256 from) private pure returns (Chunk memory chunk) {
        if (from >= rows.length) revert PlaceUnknown();
        chunk.number = cutsUpTo(op, rows, from);
        if (from > 0 && cutsUpTo(op, rows, from - 1) == chunk.number) revert PlaceUnknown();
        (chunk.from, chunk.to) = (from, rows.length);
    }

    /// The leaf that has this element is shown: where the element lies, and how many are in the leaf from there on.
    function showRow(
        OpLeaf.Tensor memory tensor,
        Contradiction calldata shown,
        uint256 row,
        bytes32 root,
        uint256 element
    ) private pure returns (uint256 at_, uint256 count) {
        uint256 place = element * tensor.size;
        TensorTree.mustBeShown(shown.leaves[row], shown.paths[row], place / TensorTree.LEAF_BYTES, tensor, root);
        place %= TensorTree.LEAF_BYTES;
        return (start(shown.leaves[row]) + place, (TensorTree.LEAF_BYTES - place) / tensor.size);
    }

    function compareChunk(OpLeaf.Op memory op, bytes calldata transcript, Chunk memory chunk, uint256 element)
        private
        pure
        returns (int256 said, int256 right)
    {
        uint256 size = numbersACut(op);
        int256[2] memory running;
        uint256 at_ = 1 + chunk.number * size;
        if (chunk.number > 0) running = [number(transcript, at_ - size), number(transcript, at_ - 1)];
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
        if (chunk.isLast) return (number(transcript, 0), running[0]);
        (said, right) = (number(transcript, at_), running[0]);
        if (said == right && size == 2) (said, right) = (number(transcript, at_ + 1), running[1]);
    }

    /// The sum of X over the places whose index is wanted.
    function picked(OpLeaf.Op memory op, Chunk memory chunk, int256 wanted) private pure returns (int256 sum) {
        (uint256 size, uint256 indexSize) = (op.operands[0].size, op.operands[1].size);
        uint256 count = chunk.to - chunk.from;
        (uint256 x, uint256 index) = (chunk.at_[0], chunk.at_[1]);
        unchecked {
            for (uint256 i = 0; i < count; i++) {
                if (TensorTree.read(index + i * indexSize, indexSize) == wanted) {
                    sum += TensorTree.read(x + i * size, size);
                }
            }
        }
    }

    /// Sum, max and min: (result, –). Argmax and argmin: (index, its element).
    function reduced(OpLeaf.Op memory op, Chunk memory chunk, int256[2] memory running)
        private
        pure
        returns (int256[2] memory)
    {
        (uint256 at_, uint256 size, uint256 to) = (chunk.at_[0], op.operands[0].size, chunk.to);
        if (op.reduction == 0) {
            unchecked {
                for (uint256 i = chunk.from; i < to; i++) (running[0], at_) = (running[0] + TensorTree.read(at_, size), at_ + size);
            }
            return running;
        }
        // The smallest is the largest of the negated. The lowest index wins, so only a better one replaces.
        int256 sign = op.reduction & 1 == 1 ? int256(1) : int256(-1);
        bool isIndex = op.reduction >= 3;
        (int256 best, int256 index) = (sign * running[isIndex ? 1 : 0], running[0]);
        if (chunk.number == 0) best = type(int256).min;
        unchecked {
            for (uint256 i = chunk.from; i < to; i++) {
                int256 value = sign * TensorTree.read(at_, size);
                at_ += size;
                if (value > best) (best, index) = (value, int256(i));
            }
        }
        return isIndex ? [index, sign * best] : [sign * best, int256(0)];
    }

    // Maps.

    function judgeMap(
        OpLeaf.Op memory op,
        Moment memory moment,
        bytes32[] calldata inputs,
        Words calldata words,
        Contradiction calldata shown
    ) private pure returns (int256 said, int256 right) {
        MapMachine.Machine memory machine = machineFor(op, moment, words.element);
        bool isLoad = shown.kind == Kind.Load;
        if (isLoad && (shown.section > 2 || shown.place >= op.code.loads[shown.section])) revert PlaceUnknown();
        uint256 first = start(words.transcripts[0]) + 8;
        if (isLoad && shown.section == 0) {
            machine.run(0, op.code.before, first, shown.place);
            return judgeLoad(machine, inputs, shown, number(words.transcripts[0], 1 + shown.place));
        }
        machine.run(0, op.code.before, first, MapMachine.ALL);
        if (shown.kind == Kind.Turn || isLoad && shown.section == 1) return judgeTurn(machine, inputs, words, shown);
        if (!isLoad && shown.kind != Kind.End) revert PlaceUnknown();
        return judgeEnd(machine, inputs, words, shown);
    }

    function machineFor(OpLeaf.Op memory op, Moment memory moment, uint256 element)
        private
        pure
        returns (MapMachine.Machine memory machine)
    {
        machine.op = op;
        machine.registers = new int256[](op.code.at_.length);
        (machine.segment, machine.step, machine.seed) = (moment.segment, moment.step, moment.seed);
        machine.globalStep = moment.segment == 0
            ? 0xffffffff
            : ((moment.segment - 1) * moment.k + moment.step) & 0xffffffff;
        uint256[] memory dims = op.output.dims;
        machine.coordinates = new uint256[](dims.length);
        for (uint256 axis = dims.length; axis > 0; axis--) {
            machine.coordinates[axis - 1] = element % dims[axis - 1];
            element /= dims[axis - 1];
        }
    }

    function judgeLoad(
        MapMachine.Machine memory machine,
        bytes32[] calldata inputs,
        Contradiction calldata shown,
        int256 value
    ) private pure returns (int256 said, int256 right) {
        if (!machine.isFound) revert MapMachine.NotDefined();
        if (machine.isOutside) {
            mustShow(shown, 0);
            return (value, 0);
        }
        mustShow(shown, 1);
        uint256 operand = machine.operand;
        right = TensorTree.shownElement(
            shown.leaves[0], shown.paths[0], machine.index, machine.op.operands[operand], inputs[operand]
        );
        return (value, right);
    }

    /// Puts carried values into their registers: from a place of the calldata, or those before the first turn.
    function setCarried(MapMachine.Machine memory machine, uint256 at_) private pure {
        OpLeaf.Code memory code = machine.op.code;
        for (uint256 i = 0; i < code.carried; i++) {
            (uint256 from,, int256 lo, int256 hi) = MapMachine.carry(code, i);
            machine.registers[code.before + i] =
                at_ == 0 ? MapMachine.clamp(machine.registers[from], lo, hi) : MapMachine.number(at_, i);
        }
    }

    /// `end` and a load of `after`: from the last carried values.
    function judgeEnd(
        MapMachine.Machine memory machine,
        bytes32[] calldata inputs,
        Words calldata words,
        Contradiction calldata shown
    ) private pure returns (int256, int256) {
        bool isLoad = shown.kind == Kind.Load;
        bytes calldata transcript = words.transcripts[0];
        uint256 wordAt = start(transcript) + transcript.length - 8 * machine.op.code.loads[2];
        if (machine.op.code.turns > 0) runAfter(machine, wordAt, isLoad ? shown.place : MapMachine.ALL);
        if (isLoad) return judgeLoad(machine, inputs, shown, MapMachine.number(wordAt, shown.place));
        mustShow(shown, 0);
        return (number(transcript, 0), machine.registers[machine.registers.length - 1]);
    }

    /// The last carried values stand before the loads of `after`.
    function runAfter(MapMachine.Machine memory machine, uint256 wordAt, uint256 left) private pure {
        OpLeaf.Code memory code = machine.op.code;
        setCarried(machine, wordAt - 8 * code.carried);
        uint256 from = code.before + code.carried + code.body;
        machine.run(from, from + code.rest, wordAt, left);
    }

    /// One turn, and a load in it: from the carried values at its start to those at its end.
    function judgeTurn(
        MapMachine.Machine memory machine,
        bytes32[] calldata inputs,
        Words calldata words,
        Contradiction calldata shown
    ) private pure returns (int256, int256) {
        uint256 end = findTurn(machine, words);
        bytes calldata loads = words.transcripts[words.turns.length];
        bool isLoad = shown.kind == Kind.Load;
        runBody(machine, start(loads), isLoad ? shown.place : MapMachine.ALL);
        if (isLoad) return judgeLoad(machine, inputs, shown, number(loads, shown.place));
        mustShow(shown, 0);
        return compareCarried(machine, end);
    }

    function runBody(MapMachine.Machine memory machine, uint256 wordAt, uint256 left) private pure {
        OpLeaf.Code memory code = machine.op.code;
        uint256 from = code.before + code.carried;
        machine.run(from, from + code.body, wordAt, left);
    }

    /// The first carried value that is not what the turn makes of it.
    function compareCarried(MapMachine.Machine memory machine, uint256 end)
        private
        pure
        returns (int256 said, int256 right)
    {
        OpLeaf.Code memory code = machine.op.code;
        for (uint256 i = 0; i < code.carried; i++) {
            (, uint256 next, int256 lo, int256 hi) = MapMachine.carry(code, i);
            (said, right) = (MapMachine.number(end, i), MapMachine.clamp(machine.registers[next], lo, hi));
            if (said != right) return (said, right);
        }
    }

    /// Goes down the path of turns to one turn, and sets the carried values at its start. Returns where those at its end are.
    function findTurn(MapMachine.Machine memory machine, Words calldata words) private pure returns (uint256 end) {
        OpLeaf.Code memory code = machine.op.code;
        (uint256 turns, uint256 from) = (code.turns, 0);
        // Marks of the whole: all parts' ends, the last one is the end of all turns.
        uint256 marks = start(words.transcripts[0]) + 8 + 8 * code.loads[0];
        (uint256 count, uint256 each) = partsOf(turns);
        end = marks + 8 * code.carried * (count - 1);
        for (uint256 i = 0; i < words.turns.length; i++) {
            uint256 part = words.turns[i];
            if (part > 0) from = marks + 8 * code.carried * (part - 1);
            if (part + 1 < count) end = marks + 8 * code.carried * part;
            machine.turn += each * part;
            turns = partOf(turns, part, i);
            (count, each) = partsOf(turns);
            marks = start(words.transcripts[i + 1]);
        }
        if (turns != 1) revert PlaceUnknown();
        setCarried(machine, from);
    }
}
