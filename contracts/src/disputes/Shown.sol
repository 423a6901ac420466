// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../jobs/IJobEscrow.sol";
import {JobTerms} from "../jobs/JobTerms.sol";
import {IDisputes} from "./IDisputes.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {TraceTree} from "./TraceTree.sol";

/// What a case shows, held against the claim: the program, ops, trace leaves, states. Reverts where it does
/// not lead there.
library Shown {
    using JobTerms for IJobEscrow.Terms;

    /// The claim's program.
    function programOf(IDisputes.Case calldata accused) internal pure returns (TraceTree.Head memory) {
        if (TraceTree.programRoot(accused.head, accused.tensors, accused.ops) != accused.terms.program) {
            revert TraceTree.ProgramMismatch();
        }
        return TraceTree.decodeHead(accused.head);
    }

    /// The same, and a segment of the claim.
    function headOf(IDisputes.Case calldata accused) internal pure returns (TraceTree.Head memory head) {
        head = programOf(accused);
        (uint64 first, uint64 count) = accused.terms.rangeOf(accused.part);
        if (accused.segment < first || accused.segment >= first + count) revert IDisputes.PlaceInvalid();
    }

    /// Ops of the segment's phase.
    function opsOf(IDisputes.Case calldata accused, TraceTree.Head memory head) internal pure returns (uint256) {
        return accused.segment == 0 ? head.init : head.step;
    }

    function stepsOf(IDisputes.Case calldata accused, TraceTree.Head memory head) internal pure returns (uint256) {
        return accused.segment == 0 ? 1 : head.k;
    }

    /// An op of the segment's phase.
    function opOf(IDisputes.Case calldata accused, TraceTree.Head memory head, IDisputes.OpShown calldata shown)
        internal
        pure
        returns (OpLeaf.Op memory op)
    {
        return opOf(accused, head, shown, OpLeaf.NO_REGISTER);
    }

    /// With the instruction of a register.
    function opOf(IDisputes.Case calldata accused, TraceTree.Head memory head, IDisputes.OpShown calldata shown, uint256 wanted)
        internal
        pure
        returns (OpLeaf.Op memory op)
    {
        if (shown.number >= opsOf(accused, head)) revert IDisputes.PlaceInvalid();
        uint256 index = accused.segment == 0 ? shown.number : head.init + shown.number;
        bytes32 leaf = TraceTree.leafHash(shown.leaf);
        if (!TraceTree.leads(leaf, index, head.init + head.step, shown.path, accused.ops)) revert IDisputes.OpUnknown();
        op = OpLeaf.decode(shown.leaf, wanted);
        if ((op.phase == 0) != (accused.segment == 0)) revert IDisputes.OpUnknown();
    }

    function mustBeTraced(IDisputes.Case calldata accused, TraceTree.Head memory head, IDisputes.TraceShown calldata shown)
        internal
        pure
    {
        uint256 ops = opsOf(accused, head);
        uint256 steps = stepsOf(accused, head);
        if (shown.step >= steps || shown.op >= ops) revert IDisputes.PlaceInvalid();
        bytes32 leaf = TraceTree.traceLeaf(shown.step, shown.op, shown.inputs, shown.output);
        if (!TraceTree.leads(leaf, shown.step * ops + shown.op, steps * ops, shown.path, accused.trace)) {
            revert IDisputes.TraceMismatch();
        }
    }

    /// S of a segment, or the one after the claim's last, in its list.
    function mustBeListed(IDisputes.Case calldata accused, uint64 segment, bytes32 state, bytes32[] calldata path)
        internal
        pure
    {
        (uint64 first, uint64 count) = accused.terms.rangeOf(accused.part);
        if (segment < first || segment > first + count) revert IDisputes.PlaceInvalid();
        if (!TraceTree.leads(state, segment - first, count + 1, path, accused.segmentRoot)) revert IDisputes.TraceMismatch();
    }

    function mustBeInputs(IDisputes.Case calldata accused, bytes32 tree) internal pure {
        if (TraceTree.inputsHash(accused.terms.seed, tree) != accused.terms.inputs) revert IDisputes.InputsMismatch();
    }
}
