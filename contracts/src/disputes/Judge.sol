// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ElementJudge} from "./ElementJudge.sol";
import {IDisputes} from "./IDisputes.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {Shown} from "./Shown.sol";
import {TraceTree} from "./TraceTree.sol";
import {Transcripts} from "./Transcripts.sol";

/// Whether what is shown of a claim is a contradiction: trees, op leaf, arithmetic. A pure function of its
/// calldata, which is that of Disputes; a contract of its own because one has no room for both. It knows no
/// signatures and no money: what it finds is worth what the words are worth. Reverts unless something is
/// shown. src/verify/optimistic/fraud/judge-fraud.ts is its twin.
contract Judge {
    /// What was said and what is right. The first argument is Disputes' salt.
    function judgeElement(bytes32, IDisputes.Case calldata accused, IDisputes.ElementFault calldata fault)
        external
        pure
        returns (int256 said, int256 right)
    {
        TraceTree.Head memory head = Shown.headOf(accused);
        OpLeaf.Op memory op = Shown.opOf(accused, head, fault.op, fault.shown.place);
        if (fault.leaf.op != fault.op.number) revert IDisputes.PlaceInvalid();
        Shown.mustBeTraced(accused, head, fault.leaf);
        Shown.mustBeInputs(accused, fault.inputs);
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
}
