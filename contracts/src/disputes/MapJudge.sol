// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MapMachine} from "./MapMachine.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {TensorTree} from "./TensorTree.sol";
import {Transcripts} from "./Transcripts.sol";

/// Instructions, turns and the end of a map, docs/work.md §9. Transcripts tell every register, so one
/// instruction is judged by those that it names. Places are not checked for overflow: turns, carried values
/// and registers are small (OpLeaf); the element and the path of turns are looked at before.
library MapJudge {
    using MapMachine for MapMachine.Machine;

    function transcriptLength(OpLeaf.Code memory code) internal pure returns (uint256) {
        unchecked {
            (uint256 marks,) = Transcripts.partsOf(code.turns, code.carried);
            return 1 + code.before + marks * code.carried + code.rest;
        }
    }

    /// Of one turn: all registers that it sees.
    function turnLength(OpLeaf.Code memory code) internal pure returns (uint256) {
        unchecked {
            return code.before + code.carried + code.body;
        }
    }

    function judgeMap(
        OpLeaf.Op memory op,
        Transcripts.Moment memory moment,
        bytes32[] calldata inputs,
        Transcripts.Words calldata words,
        Transcripts.Contradiction calldata shown
    ) internal pure returns (int256 said, int256 right) {
        Way memory way;
        if (words.turns.length > 0) {
            way = wayOf(op.code, words.turns);
            mustBeTurn(op.code, way, words, shown.kind);
        }
        MapMachine.Machine memory machine = machineFor(op, moment, way.turn, words);
        if (shown.kind == Transcripts.Kind.Instruction) return judgeInstruction(machine, inputs, words, shown);
        Transcripts.mustShow(shown, 0);
        if (shown.kind == Transcripts.Kind.Start) return judgeStart(machine, way, words);
        if (shown.kind == Transcripts.Kind.Turn) return judgeTurn(machine, way, words);
        if (shown.kind != Transcripts.Kind.End) revert Transcripts.PlaceUnknown();
        // The element is the last register.
        return (Transcripts.number(words.transcripts[0], 0), machine.register(op.code.registers - 1));
    }

    /// With the registers of the turn or, without a path, of the whole.
    function machineFor(
        OpLeaf.Op memory op,
        Transcripts.Moment memory moment,
        uint256 turn,
        Transcripts.Words calldata words
    )
        private
        pure
        returns (MapMachine.Machine memory machine)
    {
        unchecked {
            machine.op = op;
            (machine.segment, machine.step, machine.seed) = (moment.segment, moment.step, moment.seed);
            machine.globalStep = moment.segment == 0
                ? 0xffffffff
                : ((moment.segment - 1) * moment.k + moment.step) & 0xffffffff;
            uint256 element = words.element;
            uint256[] memory dims = op.output.dims;
            machine.coordinates = new uint256[](dims.length);
            for (uint256 axis = dims.length; axis > 0; axis--) {
                machine.coordinates[axis - 1] = element % dims[axis - 1];
                element /= dims[axis - 1];
            }
            if (words.turns.length > 0) {
                machine.turn = turn;
                machine.turnAt = Transcripts.start(words.transcripts[0]);
                return machine;
            }
            bytes calldata transcript = words.transcripts[0];
            machine.beforeAt = Transcripts.start(transcript) + 8;
            machine.afterAt = Transcripts.start(transcript) + transcript.length - 8 * op.code.rest;
            machine.carriedAt = machine.afterAt - 8 * op.code.carried;
        }
    }

    function judgeInstruction(
        MapMachine.Machine memory machine,
        bytes32[] calldata inputs,
        Transcripts.Words calldata words,
        Transcripts.Contradiction calldata shown
    ) private pure returns (int256, int256) {
        uint256 i = shown.place;
        OpLeaf.Code memory code = machine.op.code;
        // Those of carried values have no instruction. A turn tells nothing of after, the whole nothing of
        // body.
        if (code.at_ == 0) revert Transcripts.PlaceUnknown();
        if (i >= code.before && (i < turnLength(code)) != (words.turns.length > 0)) revert Transcripts.PlaceUnknown();
        (uint256 which, uint256 word) = machine.instruction();
        if (which == MapMachine.LOAD) return (machine.register(i), shownLoad(machine, inputs, shown));
        Transcripts.mustShow(shown, 0);
        return (machine.register(i), machine.valueOf(which, word));
    }

    function shownLoad(MapMachine.Machine memory machine, bytes32[] calldata inputs, Transcripts.Contradiction calldata shown)
        private
        pure
        returns (int256)
    {
        MapMachine.Load memory load = machine.loadOf();
        Transcripts.mustShow(shown, load.isOutside ? 0 : 1);
        if (load.isOutside) return 0;
        uint256 operand = load.operand;
        return TensorTree.shownElement(
            shown.leaves[0], shown.paths[0], load.index, machine.op.operands[operand], inputs[operand]
        );
    }

    /// The first carried value that the turn tells otherwise than the mark at its start; or, in the first
    /// turn, than it follows from before.
    function judgeStart(MapMachine.Machine memory machine, Way memory way, Transcripts.Words calldata words)
        private
        pure
        returns (int256 said, int256 right)
    {
        OpLeaf.Code memory code = machine.op.code;
        uint256 at_ = way.isFirst ? 0 : markAt(code, words, way.startMark);
        for (uint256 i = 0; i < code.carried; i++) {
            said = machine.register(code.before + i);
            if (way.isFirst) {
                (uint256 from,, int256 lo, int256 hi) = MapMachine.carry(code, i);
                right = MapMachine.clamp(machine.register(from), lo, hi);
            } else {
                right = MapMachine.number(at_, i);
            }
            if (said != right) return (said, right);
        }
    }

    /// The first carried value at the turn's end that is not what the turn makes of it.
    function judgeTurn(MapMachine.Machine memory machine, Way memory way, Transcripts.Words calldata words)
        private
        pure
        returns (int256 said, int256 right)
    {
        OpLeaf.Code memory code = machine.op.code;
        uint256 at_ = markAt(code, words, way.endMark);
        for (uint256 i = 0; i < code.carried; i++) {
            (, uint256 next, int256 lo, int256 hi) = MapMachine.carry(code, i);
            (said, right) = (MapMachine.number(at_, i), MapMachine.clamp(machine.register(next), lo, hi));
            if (said != right) return (said, right);
        }
    }

    /// Where a path of turns leads.
    struct Way {
        uint256 turn;
        /// Depth and number of the mark at the turn's start: the last that the path leaves behind. None
        /// before the first turn.
        bool isFirst;
        uint256 startDepth;
        uint256 startMark;
        /// And at its end: the deepest that the path has before it, or the last of the whole.
        uint256 endDepth;
        uint256 endMark;
        /// Turns of the spans with these marks.
        uint256 startTurns;
        uint256 endTurns;
    }

    function wayOf(OpLeaf.Code memory code, uint16[] calldata path) private pure returns (Way memory way) {
        unchecked {
            uint256 turns = code.turns;
            way.isFirst = true;
            for (uint256 i = 0; i < path.length; i++) {
                uint256 part = path[i];
                (uint256 count, uint256 each) = Transcripts.partsOf(turns, code.carried);
                if (part > 0) (way.isFirst, way.startDepth, way.startMark, way.startTurns) = (false, i, part - 1, turns);
                if (i == 0 || part + 1 < count) (way.endDepth, way.endMark, way.endTurns) = (i, part, turns);
                way.turn += each * part;
                turns = Transcripts.partOf(turns, code.carried, part, i);
            }
            if (turns != 1) revert Transcripts.WordsInvalid();
        }
    }

    /// The transcript of a turn and, where a mark is needed, of the span that has it: not of another.
    function mustBeTurn(OpLeaf.Code memory code, Way memory way, Transcripts.Words calldata words, Transcripts.Kind kind)
        private
        pure
    {
        bool isOfEnd = kind == Transcripts.Kind.Turn;
        bool isMarked = isOfEnd || (kind == Transcripts.Kind.Start && !way.isFirst);
        if (words.transcripts.length != (isMarked ? 2 : 1)) revert Transcripts.WordsInvalid();
        Transcripts.mustHave(words.transcripts[0], turnLength(code));
        if (!isMarked) return;
        if (words.marked != (isOfEnd ? way.endDepth : way.startDepth)) revert Transcripts.WordsInvalid();
        (uint256 count,) = Transcripts.partsOf(isOfEnd ? way.endTurns : way.startTurns, code.carried);
        Transcripts.mustHave(words.transcripts[1], words.marked == 0 ? transcriptLength(code) : (count - 1) * code.carried);
    }

    /// Where a mark of the span with the marks is.
    function markAt(OpLeaf.Code memory code, Transcripts.Words calldata words, uint256 mark) private pure returns (uint256) {
        unchecked {
            return Transcripts.start(words.transcripts[1]) + 8 * (code.carried * mark + (words.marked == 0 ? 1 + code.before : 0));
        }
    }
}
