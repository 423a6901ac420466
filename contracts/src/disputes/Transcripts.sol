// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MapMachine} from "./MapMachine.sol";
import {TensorTree} from "./TensorTree.sol";

/// What is said and shown of one element, docs/work.md §9: transcripts, spans of turns, leaves. Not here:
/// what is true.
library Transcripts {
    enum Kind {
        Value,
        Filling,
        Chunk,
        Instruction,
        Start,
        Turn,
        End
    }

    struct Contradiction {
        Kind kind;
        /// Register of the instruction, or the place that a chunk begins with.
        uint32 place;
        bytes[] leaves;
        bytes32[][] paths;
    }

    /// What is asked of which element, and the answers.
    struct Words {
        uint64 element;
        /// Path of parts of turns, down to one turn; empty: of the whole.
        uint16[] turns;
        /// The span of so many parts of the path has the mark that a start or a turn is held against.
        uint8 marked;
        /// Of the turn or the whole, then of that span, if any.
        bytes[] transcripts;
    }

    struct Moment {
        uint256 segment;
        uint256 step;
        uint256 k;
        bytes32 seed;
    }

    /// @notice Thrown when there is no such element, chunk, instruction, turn or contradiction of this
    /// operator.
    error PlaceUnknown();
    /// @notice Thrown when a transcript has another length than it must, or is not the one that is needed.
    error WordsInvalid();
    /// @notice Thrown when the op's dims and types do not fit its operator.
    error ShapeInvalid();

    function start(bytes calldata transcript) internal pure returns (uint256 at_) {
        assembly ("memory-safe") {
            at_ := transcript.offset
        }
    }

    function number(bytes calldata transcript, uint256 i) internal pure returns (int256) {
        return MapMachine.number(start(transcript), i);
    }

    function mustHave(bytes calldata transcript, uint256 numbers) internal pure {
        if (transcript.length != 8 * numbers) revert WordsInvalid();
    }

    function mustShow(Contradiction calldata shown, uint256 count) internal pure {
        if (shown.leaves.length != count) revert TensorTree.LeafMismatch();
    }

    /// Parts of a span of so many turns, and the turns of all but the last. The fewer values are carried, the
    /// more parts.
    function partsOf(uint256 turns, uint256 carried) internal pure returns (uint256 count, uint256 each) {
        unchecked {
            if (turns == 0) return (0, 0);
            uint256 most = carried < 4 ? 16 / carried : 4;
            each = (turns + most - 1) / most;
            count = (turns + each - 1) / each;
        }
    }

    /// Turns of one part of a span.
    function partOf(uint256 turns, uint256 carried, uint256 part, uint256 depth) internal pure returns (uint256) {
        (uint256 count, uint256 each) = partsOf(turns, carried);
        if (part >= count || (depth > 0 && turns == 1)) revert WordsInvalid();
        return part + 1 < count ? each : turns - each * part;
    }
}
