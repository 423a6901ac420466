// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IJobEscrow} from "../jobs/IJobEscrow.sol";
import {JobTerms} from "../jobs/JobTerms.sol";
import {ElementJudge} from "./ElementJudge.sol";
import {IDisputes} from "./IDisputes.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {TraceTree} from "./TraceTree.sol";
import {Transcripts} from "./Transcripts.sol";

/// Whether what is shown of a claim is a contradiction: trees, op leaf, arithmetic. A pure function of its calldata, which is that of
/// Disputes; a contract of its own because one has no room for both. It knows no signatures and no money: what it finds is worth
/// what the words are worth. Reverts unless something is shown. src/verify/work/judge-fraud.ts is its twin.
contract Judge {
    using JobTerms for IJobEscrow.Terms;

    /// What was said and what is right. The first argument is Disputes' salt.
    function judgeElement(bytes32, IDisputes.Case calldata accused, IDisputes.ElementFault calldata fault)
        external
        pure
        returns (int256 said, int256 right)
    {
        TraceTree.Head memory head = headOf(accused);
        OpLeaf.Op memory op = opOf(accused, head, fault.op);
        if (fault.leaf.op != fault.op.number) revert IDisputes.PlaceInvalid();
        mustBeTraced(accused, head, fault.leaf);
        if (TraceTree.inputsHash(accused.terms.seed, fault.inputs) != accused.terms.inputs) {
            revert IDisputes.InputsMismatch();
        }
        (said, right) = ElementJudge.judge(
            op,
            Transcripts.Moment(accused.segment, fault.leaf.step, head.k, accused.terms.seed),
            fault.leaf.inputs,
            fault.leaf.output,
            fault.words,
            fault.shown
        );
        if (said == right) revert IDisputes.NothingShown();
    }

    /// The claim's program, and a segment of the claim.
    function headOf(IDisputes.Case calldata accused) private pure returns (TraceTree.Head memory head) {
        if (TraceTree.programRoot(accused.head, accused.tensors, accused.ops) != accused.terms.program) {
            revert TraceTree.ProgramMismatch();
        }
        head = TraceTree.decodeHead(accused.head);
        (uint64 first, uint64 count) = accused.terms.rangeOf(accused.part);
        if (accused.segment < first || accused.segment >= first + count) revert IDisputes.PlaceInvalid();
    }

    /// Ops of the segment's phase.
    function opsOf(IDisputes.Case calldata accused, TraceTree.Head memory head) private pure returns (uint256) {
        return accused.segment == 0 ? head.init : head.step;
    }

    function opOf(IDisputes.Case calldata accused, TraceTree.Head memory head, IDisputes.OpShown calldata shown)
        private
        pure
        returns (OpLeaf.Op memory op)
    {
        if (shown.number >= opsOf(accused, head)) revert IDisputes.PlaceInvalid();
        uint256 index = accused.segment == 0 ? shown.number : head.init + shown.number;
        bytes32 leaf = TraceTree.leafHash(shown.leaf);
        if (!TraceTree.leads(leaf, index, head.init + head.step, shown.path, accused.ops)) revert IDisputes.OpUnknown();
        op = OpLeaf.decode(shown.leaf);
        if ((op.phase == 0) != (accused.segment == 0)) revert IDisputes.OpUnknown();
    }

    function mustBeTraced(IDisputes.Case calldata accused, TraceTree.Head memory head, IDisputes.TraceShown calldata shown) private pure {
        uint256 ops = opsOf(accused, head);
        uint256 steps = accused.segment == 0 ? 1 : head.k;
        if (shown.step >= steps || shown.op >= ops) revert IDisputes.PlaceInvalid();
        bytes32 leaf = TraceTree.traceLeaf(shown.step, shown.op, shown.inputs, shown.output);
        if (!TraceTree.leads(leaf, shown.step * ops + shown.op, steps * ops, shown.path, accused.trace)) {
            revert IDisputes.TraceMismatch();
        }
    }
}
