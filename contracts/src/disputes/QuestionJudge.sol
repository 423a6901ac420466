// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../jobs/IJobEscrow.sol";
import {JobTerms} from "../jobs/JobTerms.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";
import {TaggedTree} from "../trees/TaggedTree.sol";
import {IDisputes} from "./IDisputes.sol";
import {MapJudge} from "./MapJudge.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {Questions} from "./Questions.sol";
import {Shown} from "./Shown.sol";
import {SumJudge} from "./SumJudge.sol";
import {TensorTree} from "./TensorTree.sol";
import {TraceTree} from "./TraceTree.sol";
import {Transcripts} from "./Transcripts.sol";

/// Whether a question that nobody answered could be answered: what it says of the program and of the claim's
/// trees is so. Every honest claimant has an answer to such a question, and to no other need it have one. A
/// pure function.
abstract contract QuestionJudge {
    using JobTerms for IJobEscrow.Terms;

    /// Reverts unless it is a question that an honest claimant answers. That the case's trace is the
    /// provider's word is not found here.
    function judgeQuestion(IDisputes.Case calldata accused, address, bytes calldata question, IDisputes.Basis calldata basis)
        external
        pure
    {
        uint8 kind = Questions.kindOf(question);
        TraceTree.Head memory head = Shown.programOf(accused);
        if (kind == Questions.WRITER) {
            return must(uint8(question[2]) <= 1 && Questions.number(question, 3, 2) < head.tensors);
        }
        if (kind == Questions.ROOTS) return judgeRoots(accused, head, question, basis);
        if (kind == Questions.NODES && uint8(question[2]) == Questions.LIST_TREE) {
            (, uint64 states) = accused.terms.rangeOf(accused.part);
            return judgeNode(question, uint256(states) + 1, basis.path, accused.segmentRoot);
        }
        Shown.headOf(accused);
        (, uint64 segment) = Questions.segmentOf(question, kind);
        must(segment == accused.segment);
        uint256 leaves = Shown.opsOf(accused, head) * Shown.stepsOf(accused, head);
        if (kind == Questions.TRACE) return must(leaves > 0 && Questions.number(question, 10, 8) == leaves);
        if (kind == Questions.NODES && uint8(question[2]) == Questions.TRACE_TREE) {
            return judgeNode(question, leaves, basis.path, accused.trace);
        }
        judgeOp(accused, head, kind, question, basis);
    }

    /// Transcripts, ops and their outputs.
    function judgeOp(
        IDisputes.Case calldata accused,
        TraceTree.Head memory head,
        uint8 kind,
        bytes calldata question,
        IDisputes.Basis calldata basis
    ) private pure {
        OpLeaf.Op memory op = Shown.opOf(accused, head, basis.op);
        uint256 place = kind == Questions.NODES ? 11 : 10;
        uint32 step = uint32(Questions.number(question, place, 4));
        must(Questions.number(question, place + 4, 4) == basis.op.number && step < Shown.stepsOf(accused, head));
        if (kind == Questions.TRANSCRIPT) return judgeTranscript(op, question);
        if (kind == Questions.OP) return judgeTraceLeaf(accused, head, op, question, basis);
        must(basis.leaf.step == step && basis.leaf.op == basis.op.number);
        Shown.mustBeTraced(accused, head, basis.leaf);
        uint256 leaves = TensorTree.leafCount(op.output);
        if (kind == Questions.NODES) return judgeNode(question, leaves, basis.path, basis.leaf.output);
        must(Questions.number(question, 26, 8) == leaves);
        mustLead(Questions.hashAt(question, 34), Questions.number(question, 18, 8), leaves, basis.path, basis.leaf.output);
    }

    function judgeTraceLeaf(
        IDisputes.Case calldata accused,
        TraceTree.Head memory head,
        OpLeaf.Op memory op,
        bytes calldata question,
        IDisputes.Basis calldata basis
    ) private pure {
        must(Questions.number(question, 18, 1) == op.operands.length);
        must(Questions.number(question, 19, 8) == TensorTree.leafCount(op.output));
        uint256 ops = Shown.opsOf(accused, head);
        uint256 index = Questions.number(question, 10, 4) * ops + basis.op.number;
        bytes32 leaf = Questions.hashAt(question, 27);
        must(TraceTree.leads(leaf, index, ops * Shown.stepsOf(accused, head), basis.path, accused.trace));
    }

    /// As many numbers as the op gives it.
    function judgeTranscript(OpLeaf.Op memory op, bytes calldata question) private pure {
        if (op.operator != OpLeaf.MAP) SumJudge.mustFit(op);
        uint256 element = Questions.number(question, 18, 8);
        uint256 spans = (question.length - 30) / 2;
        must(element < op.output.count && (spans == 0 || op.operator == OpLeaf.MAP));
        uint256 numbers;
        if (spans == 0) {
            numbers = op.operator == OpLeaf.MAP ? MapJudge.transcriptLength(op.code) : SumJudge.transcriptLength(op, element);
        } else {
            (uint256 turns, uint256 carried) = (op.code.turns, op.code.carried);
            for (uint256 i = 0; i < spans; i++) {
                turns = Transcripts.partOf(turns, carried, Questions.number(question, 26 + 2 * i, 2), i);
            }
            (uint256 count,) = Transcripts.partsOf(turns, carried);
            numbers = turns == 1 ? MapJudge.turnLength(op.code) : (count - 1) * carried;
        }
        must(Questions.number(question, question.length - 4, 4) == numbers);
    }

    /// The node is where the question has it, above its leaves.
    function judgeNode(bytes calldata question, uint256 count, bytes32[] calldata path, bytes32 root) private pure {
        uint256 height = Questions.number(question, 19, 1);
        uint256 index = Questions.number(question, 20, 8);
        must(Questions.number(question, 28, 8) == count && height > 0 && height <= Questions.heightOf(count));
        uint256 width = Questions.widthAt(count, height);
        bytes32 node = Questions.hashAt(question, 36);
        if (uint8(question[2]) == Questions.TENSOR_TREE) return mustLead(node, index, width, path, root);
        must(TraceTree.leads(node, index, width, path, root));
    }

    function mustLead(bytes32 hash, uint256 index, uint256 count, bytes32[] calldata path, bytes32 root) private pure {
        (bool possible, bytes32 found) = TaggedTree.rootFromPath(hash, index, count, path);
        must(possible && found == root);
    }

    /// S is in the list, and the tensors are the program's: those of state, then those of results.
    function judgeRoots(
        IDisputes.Case calldata accused,
        TraceTree.Head memory head,
        bytes calldata question,
        IDisputes.Basis calldata basis
    ) private pure {
        Shown.mustBeListed(accused, uint64(Questions.number(question, 2, 8)), Questions.hashAt(question, 10), basis.path);
        must(basis.tensors.length == head.tensors);
        bytes32[] memory hashes = new bytes32[](head.tensors);
        uint256[2] memory found;
        uint256 states = Questions.number(question, 42, 2);
        for (uint256 i = 0; i < head.tensors; i++) {
            hashes[i] = TraceTree.leafHash(basis.tensors[i]);
            uint8 kind = uint8(basis.tensors[i][0]);
            if (kind != TraceTree.STATE && kind != TraceTree.RESULT) continue;
            uint256 which = kind == TraceTree.STATE ? 0 : 1;
            uint256 place = found[which]++ + which * states;
            must(place < Questions.rootsOf(question) && Questions.number(question, 46 + 2 * place, 2) == i);
        }
        must(KeccakTree.rootOf(hashes) == accused.tensors);
        must(found[0] == states && found[0] + found[1] == Questions.rootsOf(question));
    }

    function must(bool isSo) private pure {
        if (!isSo) revert IDisputes.QuestionInvalid();
    }
}
