// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MapJudge} from "./MapJudge.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {SumJudge} from "./SumJudge.sol";
import {TensorTree} from "./TensorTree.sol";
import {Transcripts} from "./Transcripts.sol";

/// The judge of one contradiction, docs/work.md §9: from the op's leaf, the roots of its trace leaf, what the
/// accused said, and a few shown leaves. It says what was said and what is right; equal, nothing is shown. It
/// never clears anyone of anything: what it does not define reverts. src/work/trace/judge.ts is its twin.
library ElementJudge {
    /// `inputs` and `output` are the roots of the trace leaf.
    function judge(
        OpLeaf.Op memory op,
        Transcripts.Moment memory moment,
        bytes32[] calldata inputs,
        bytes32 output,
        Transcripts.Words calldata words,
        Transcripts.Contradiction calldata shown
    ) internal pure returns (int256 said, int256 right) {
        if (op.operator != OpLeaf.MAP) SumJudge.mustFit(op);
        if (words.element >= op.output.count || inputs.length != op.operands.length) revert Transcripts.PlaceUnknown();
        if (shown.leaves.length != shown.paths.length) revert TensorTree.LeafMismatch();
        if (shown.kind == Transcripts.Kind.Filling) return judgeFilling(op, output, words, shown);
        mustBeWords(op, words, shown);
        if (shown.kind == Transcripts.Kind.Value) {
            Transcripts.mustShow(shown, 1);
            said = TensorTree.shownElement(shown.leaves[0], shown.paths[0], words.element, op.output, output);
            return (said, Transcripts.number(words.transcripts[0], 0));
        }
        if (op.operator == OpLeaf.MAP) return MapJudge.judgeMap(op, moment, inputs, words, shown);
        if (shown.kind != Transcripts.Kind.Chunk) revert Transcripts.PlaceUnknown();
        return SumJudge.judgeChunk(op, inputs, words, shown);
    }

    function judgeFilling(OpLeaf.Op memory op, bytes32 output, Transcripts.Words calldata words, Transcripts.Contradiction calldata shown)
        private
        pure
        returns (int256 said, int256 right)
    {
        if (words.element > 0 || words.turns.length > 0 || words.transcripts.length > 0) revert Transcripts.WordsInvalid();
        Transcripts.mustShow(shown, 1);
        bytes calldata leaf = shown.leaves[0];
        TensorTree.mustBeShown(leaf, shown.paths[0], TensorTree.leafCount(op.output) - 1, op.output, output);
        uint256 used = op.output.count * op.output.size % TensorTree.LEAF_BYTES;
        if (used == 0) return (0, 0);
        for (uint256 i = used; i < TensorTree.LEAF_BYTES; i++) {
            if (leaf[i] != 0) return (int256(uint256(uint8(leaf[i]))), 0);
        }
    }

    /// Each transcript has the length that op and element give it, and there are those that the contradiction
    /// needs.
    function mustBeWords(OpLeaf.Op memory op, Transcripts.Words calldata words, Transcripts.Contradiction calldata shown) private pure {
        bool isInTurn = words.turns.length > 0;
        if (shown.kind != Transcripts.Kind.Instruction) {
            bool isOfTurn = shown.kind == Transcripts.Kind.Start || shown.kind == Transcripts.Kind.Turn;
            if (isInTurn != isOfTurn) revert Transcripts.WordsInvalid();
        }
        if (isInTurn) {
            // MapJudge looks at them itself.
            if (op.operator != OpLeaf.MAP) revert Transcripts.WordsInvalid();
            return;
        }
        if (words.transcripts.length != 1) revert Transcripts.WordsInvalid();
        Transcripts.mustHave(
            words.transcripts[0],
            op.operator == OpLeaf.MAP ? MapJudge.transcriptLength(op.code) : SumJudge.transcriptLength(op, words.element)
        );
    }
}
