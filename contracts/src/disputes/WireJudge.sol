// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {JobTerms} from "../jobs/JobTerms.sol";
import {IDisputes} from "./IDisputes.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {QuestionJudge} from "./QuestionJudge.sol";
import {Shown} from "./Shown.sol";
import {TensorTree} from "./TensorTree.sol";
import {TraceTree} from "./TraceTree.sol";

/// The judge of false wires, docs/work.md §7: where an operand's root, or a tensor's in the state after a
/// segment, must come from, and whether it is another. The op's leaf says from where; a case that shows
/// another place reverts. Beside it, whether a question could be answered. Pure functions;
/// src/verify/optimistic/fraud/judge-wire.ts is the twin.
contract WireJudge is QuestionJudge {
    /// The word that no op writes a tensor.
    uint32 private constant NONE = type(uint32).max;

    /// Roots, or of a writer's word the ops' numbers: said, and right. The first argument is Disputes' salt.
    /// That the trace and the word about a writer are the provider's is not found here.
    function judgeWire(bytes32, IDisputes.Case calldata accused, IDisputes.WireFault calldata fault)
        external
        pure
        returns (bytes32 said, bytes32 right)
    {
        TraceTree.Head memory head = Shown.headOf(accused);
        if (fault.wire == IDisputes.Wire.Writer) (said, right) = writers(accused, head, fault);
        else if (fault.wire == IDisputes.Wire.Operand) (said, right) = operands(accused, head, fault);
        else (said, right) = ends(accused, head, fault);
        if (said == right) revert IDisputes.NothingShown();
    }

    /// It named an op that does not write the tensor, or not the one that does.
    function writers(IDisputes.Case calldata accused, TraceTree.Head memory head, IDisputes.WireFault calldata fault)
        private
        pure
        returns (bytes32, bytes32)
    {
        bytes32 said = bytes32(uint256(fault.said));
        if (fault.said != NONE && fault.said >= Shown.opsOf(accused, head)) return (said, bytes32(uint256(NONE)));
        OpLeaf.Op memory op = Shown.opOf(accused, head, fault.op);
        bool isWriter = op.target == fault.root.tensor;
        if (isWriter) return (said, bytes32(uint256(fault.op.number)));
        return (said, fault.op.number == fault.said ? bytes32(uint256(NONE)) : said);
    }

    function operands(IDisputes.Case calldata accused, TraceTree.Head memory head, IDisputes.WireFault calldata fault)
        private
        pure
        returns (bytes32, bytes32)
    {
        OpLeaf.Op memory op = Shown.opOf(accused, head, fault.op);
        if (fault.leaf.op != fault.op.number) revert IDisputes.PlaceInvalid();
        Shown.mustBeTraced(accused, head, fault.leaf);
        uint256 operand = fault.operand;
        if (operand >= op.operands.length || fault.leaf.inputs.length != op.operands.length) revert IDisputes.PlaceInvalid();
        return (fault.leaf.inputs[operand], rightOf(accused, head, fault, op));
    }

    /// The root that the operand must have.
    function rightOf(
        IDisputes.Case calldata accused,
        TraceTree.Head memory head,
        IDisputes.WireFault calldata fault,
        OpLeaf.Op memory op
    ) private pure returns (bytes32) {
        uint256 source = op.sources[fault.operand];
        uint256 number = op.numbers[fault.operand];
        uint32 step = fault.leaf.step;
        if (source == OpLeaf.FROM_OP) {
            mustBeThere(fault.origin == IDisputes.Origin.Op && number < fault.leaf.op);
            return outputOf(accused, head, fault.from, step, number);
        }
        if (source == OpLeaf.FROM_CONSTANT) {
            mustBeThere(fault.origin == IDisputes.Origin.Constant);
            return constantOf(accused, head, fault.tensor, number);
        }
        if (source == OpLeaf.FROM_INPUT) {
            mustBeThere(fault.origin == IDisputes.Origin.Input);
            Shown.mustBeInputs(accused, fault.inputs);
            return rootIn(fault.fromRoot, number, fault.inputs);
        }
        if (fault.origin == IDisputes.Origin.Op) {
            mustBeThere(step > 0);
            return writtenBy(accused, head, fault, number, step - 1);
        }
        // After step 0 only a tensor that no op writes is still what it was: the word about its writer says
        // so.
        if (step > 0) mustBeUnwritten(fault, number);
        if (source == OpLeaf.FROM_STATE) {
            mustBeThere(fault.origin == IDisputes.Origin.State);
            return rootIn(fault.fromRoot, number, startOf(accused, fault).states);
        }
        mustBeThere(fault.origin == IDisputes.Origin.Zero);
        return TensorTree.zeroRoot(TensorTree.leafCount(op.operands[fault.operand]));
    }

    /// A tensor's root in S after the segment.
    function ends(IDisputes.Case calldata accused, TraceTree.Head memory head, IDisputes.WireFault calldata fault)
        private
        pure
        returns (bytes32, bytes32)
    {
        uint64 next = accused.segment + 1;
        bytes32 state = JobTerms.stateHash(next, fault.end.states, fault.end.results);
        Shown.mustBeListed(accused, next, state, fault.end.path);
        bool isState = fault.wire == IDisputes.Wire.EndState;
        bytes32 said = rootIn(fault.root, fault.root.tensor, isState ? fault.end.states : fault.end.results);
        return (said, rightEnd(accused, head, fault, isState));
    }

    function rightEnd(
        IDisputes.Case calldata accused,
        TraceTree.Head memory head,
        IDisputes.WireFault calldata fault,
        bool isState
    ) private pure returns (bytes32) {
        uint256 tensor = fault.root.tensor;
        if (fault.origin == IDisputes.Origin.Op) {
            uint256 last = Shown.stepsOf(accused, head) - 1;
            return writtenBy(accused, head, fault, tensor, last);
        }
        mustBeThere(fault.origin == IDisputes.Origin.State);
        mustBeUnwritten(fault, tensor);
        IDisputes.StateShown calldata start = startOf(accused, fault);
        return rootIn(fault.fromRoot, tensor, isState ? start.states : start.results);
    }

    /// S before the segment.
    function startOf(IDisputes.Case calldata accused, IDisputes.WireFault calldata fault)
        private
        pure
        returns (IDisputes.StateShown calldata start)
    {
        start = fault.start;
        bytes32 state = JobTerms.stateHash(accused.segment, start.states, start.results);
        Shown.mustBeListed(accused, accused.segment, state, start.path);
    }

    /// Disputes looks for the word by this tensor.
    function mustBeUnwritten(IDisputes.WireFault calldata fault, uint256 tensor) private pure {
        mustBeThere(fault.said == NONE && fault.root.tensor == tensor);
    }

    /// What the tensor's writer gave in a step.
    function writtenBy(
        IDisputes.Case calldata accused,
        TraceTree.Head memory head,
        IDisputes.WireFault calldata fault,
        uint256 tensor,
        uint256 step
    ) private pure returns (bytes32) {
        mustBeThere(Shown.opOf(accused, head, fault.writer).target == tensor);
        return outputOf(accused, head, fault.from, step, fault.writer.number);
    }

    function outputOf(
        IDisputes.Case calldata accused,
        TraceTree.Head memory head,
        IDisputes.TraceShown calldata from,
        uint256 step,
        uint256 op
    ) private pure returns (bytes32) {
        mustBeThere(from.step == step && from.op == op);
        Shown.mustBeTraced(accused, head, from);
        return from.output;
    }

    function rootIn(IDisputes.RootShown calldata shown, uint256 tensor, bytes32 tree) private pure returns (bytes32) {
        mustBeThere(shown.tensor == tensor);
        bytes32 leaf = TraceTree.rootLeaf(shown.tensor, shown.root);
        if (!TraceTree.leads(leaf, shown.index, shown.count, shown.path, tree)) revert IDisputes.TraceMismatch();
        return shown.root;
    }

    /// The root at the end of a constant's leaf.
    function constantOf(
        IDisputes.Case calldata accused,
        TraceTree.Head memory head,
        IDisputes.TensorShown calldata shown,
        uint256 number
    ) private pure returns (bytes32) {
        bytes32 leaf = TraceTree.leafHash(shown.leaf);
        if (!TraceTree.leads(leaf, number, head.tensors, shown.path, accused.tensors)) revert IDisputes.OpUnknown();
        mustBeThere(shown.leaf.length > 32 && uint8(shown.leaf[0]) == TraceTree.CONSTANT);
        return bytes32(shown.leaf[shown.leaf.length - 32:]);
    }

    function mustBeThere(bool isSo) private pure {
        if (!isSo) revert IDisputes.PlaceInvalid();
    }
}
