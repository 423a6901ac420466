// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MapMachine} from "./MapMachine.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {TensorTree} from "./TensorTree.sol";
import {Transcripts} from "./Transcripts.sol";

/// Loads, turns and the end of a map, docs/work.md §9. The sections are run by MapMachine, from the transcript's own numbers. Places
/// are not checked for overflow: turns, carried values and loads are small (OpLeaf); the element and the path of turns are looked at before.
library MapJudge {
    using MapMachine for MapMachine.Machine;

    function transcriptLength(OpLeaf.Code memory code) internal pure returns (uint256) {
        unchecked {
            (uint256 marks,) = Transcripts.partsOf(code.turns);
            return 1 + code.loads[0] + marks * code.carried + code.loads[2];
        }
    }

    function judgeMap(
        OpLeaf.Op memory op,
        Transcripts.Moment memory moment,
        bytes32[] calldata inputs,
        Transcripts.Words calldata words,
        Transcripts.Contradiction calldata shown
    ) internal pure returns (int256 said, int256 right) {
        MapMachine.Machine memory machine = machineFor(op, moment, words.element);
        bool isLoad = shown.kind == Transcripts.Kind.Load;
        if (isLoad && (shown.section > 2 || shown.place >= op.code.loads[shown.section])) revert Transcripts.PlaceUnknown();
        uint256 first = Transcripts.start(words.transcripts[0]) + 8;
        if (isLoad && shown.section == 0) {
            machine.run(0, op.code.before, first, shown.place);
            return judgeLoad(machine, inputs, shown, Transcripts.number(words.transcripts[0], 1 + shown.place));
        }
        machine.run(0, op.code.before, first, MapMachine.ALL);
        if (shown.kind == Transcripts.Kind.Turn || isLoad && shown.section == 1) return judgeTurn(machine, inputs, words, shown);
        if (!isLoad && shown.kind != Transcripts.Kind.End) revert Transcripts.PlaceUnknown();
        return judgeEnd(machine, inputs, words, shown);
    }

    function machineFor(OpLeaf.Op memory op, Transcripts.Moment memory moment, uint256 element)
        private
        pure
        returns (MapMachine.Machine memory machine)
    {
        unchecked {
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
    }

    function judgeLoad(
        MapMachine.Machine memory machine,
        bytes32[] calldata inputs,
        Transcripts.Contradiction calldata shown,
        int256 value
    ) private pure returns (int256 said, int256 right) {
        if (!machine.isFound) revert MapMachine.NotDefined();
        if (machine.isOutside) {
            Transcripts.mustShow(shown, 0);
            return (value, 0);
        }
        Transcripts.mustShow(shown, 1);
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
        Transcripts.Words calldata words,
        Transcripts.Contradiction calldata shown
    ) private pure returns (int256, int256) {
        unchecked {
            bool isLoad = shown.kind == Transcripts.Kind.Load;
            bytes calldata transcript = words.transcripts[0];
            uint256 wordAt = Transcripts.start(transcript) + transcript.length - 8 * machine.op.code.loads[2];
            if (machine.op.code.turns > 0) runAfter(machine, wordAt, isLoad ? shown.place : MapMachine.ALL);
            if (isLoad) return judgeLoad(machine, inputs, shown, MapMachine.number(wordAt, shown.place));
            Transcripts.mustShow(shown, 0);
            return (Transcripts.number(transcript, 0), machine.registers[machine.registers.length - 1]);
        }
    }

    /// The last carried values stand before the loads of `after`.
    function runAfter(MapMachine.Machine memory machine, uint256 wordAt, uint256 left) private pure {
        unchecked {
            OpLeaf.Code memory code = machine.op.code;
            setCarried(machine, wordAt - 8 * code.carried);
            uint256 from = code.before + code.carried + code.body;
            machine.run(from, from + code.rest, wordAt, left);
        }
    }

    /// One turn, and a load in it: from the carried values at its start to those at its end.
    function judgeTurn(
        MapMachine.Machine memory machine,
        bytes32[] calldata inputs,
        Transcripts.Words calldata words,
        Transcripts.Contradiction calldata shown
    ) private pure returns (int256, int256) {
        uint256 end = findTurn(machine, words);
        bytes calldata loads = words.transcripts[words.turns.length];
        bool isLoad = shown.kind == Transcripts.Kind.Load;
        runBody(machine, Transcripts.start(loads), isLoad ? shown.place : MapMachine.ALL);
        if (isLoad) return judgeLoad(machine, inputs, shown, Transcripts.number(loads, shown.place));
        Transcripts.mustShow(shown, 0);
        return compareCarried(machine, end);
    }

    function runBody(MapMachine.Machine memory machine, uint256 wordAt, uint256 left) private pure {
        unchecked {
            OpLeaf.Code memory code = machine.op.code;
            uint256 from = code.before + code.carried;
            machine.run(from, from + code.body, wordAt, left);
        }
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
    function findTurn(MapMachine.Machine memory machine, Transcripts.Words calldata words) private pure returns (uint256 end) {
        unchecked {
            OpLeaf.Code memory code = machine.op.code;
            (uint256 turns, uint256 from) = (code.turns, 0);
            // Marks of the whole: all parts' ends, the last one is the end of all turns.
            uint256 marks = Transcripts.start(words.transcripts[0]) + 8 + 8 * code.loads[0];
            (uint256 count, uint256 each) = Transcripts.partsOf(turns);
            end = marks + 8 * code.carried * (count - 1);
            for (uint256 i = 0; i < words.turns.length; i++) {
                uint256 part = words.turns[i];
                if (part > 0) from = marks + 8 * code.carried * (part - 1);
                if (part + 1 < count) end = marks + 8 * code.carried * part;
                machine.turn += each * part;
                turns = Transcripts.partOf(turns, part, i);
                (count, each) = Transcripts.partsOf(turns);
                marks = Transcripts.start(words.transcripts[i + 1]);
            }
            if (turns != 1) revert Transcripts.PlaceUnknown();
            setCarried(machine, from);
        }
    }
}
