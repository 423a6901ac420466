// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IJobEscrow} from "../jobs/IJobEscrow.sol";
import {JobTerms} from "../jobs/JobTerms.sol";
import {Announcements} from "../slashing/Announcements.sol";
import {IDisputes} from "./IDisputes.sol";
import {Judge} from "./Judge.sol";

/// Has the escrow convict a claim whose provider signed a contradiction. Anyone may bring a proof; no role, no vote and no owner
/// can bring anything else. Who said it, and who accuses, is found here; whether it is one, by the Judge. Holds no tokens.
/// Immutable. Not here: the game that makes a silent provider speak.
contract Disputes is IDisputes, Announcements, EIP712 {
    using JobTerms for IJobEscrow.Terms;

    bytes32 private constant ANSWER_TYPE = keccak256("Answer(bytes32 claim,bytes32 question,bytes32 answerHash)");

    IJobEscrow public immutable escrow;
    Judge public immutable judge;

    constructor(IJobEscrow escrow_, Judge judge_) EIP712("assay", "1") {
        // A call to an account without code would succeed, and convict everybody.
        if (address(judge_).code.length == 0) revert JudgeMissing();
        (escrow, judge) = (escrow_, judge_);
    }

    function prove(bytes32 salt, Case calldata accused, ElementFault calldata fault) external {
        (bytes32 claim, address provider) = accusedOf(accused);
        bytes32 answer = keccak256(abi.encode(accused.trace));
        mustBeAnswer(claim, provider, traceQuestion(accused.segment), answer, accused.traceSignature);
        mustBeSaid(accused, fault, claim, provider);
        mustBeFalse(Judge.judgeElement.selector);
        convict(salt, accused, claim, provider);
    }

    function proveTwoWords(
        bytes32 salt,
        Case calldata accused,
        bytes32 question,
        bytes32[2] calldata answers,
        bytes[2] calldata signatures
    ) external {
        (bytes32 claim, address provider) = accusedOf(accused);
        for (uint256 i = 0; i < 2; i++) mustBeAnswer(claim, provider, question, answers[i], signatures[i]);
        if (answers[0] == answers[1]) revert NothingShown();
        convict(salt, accused, claim, provider);
    }

    function answerDigest(bytes32 claim, bytes32 question, bytes32 answerHash) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(ANSWER_TYPE, claim, question, answerHash)));
    }

    function traceQuestion(uint64 segment) public pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x07), uint8(0), segment));
    }

    function transcriptQuestion(uint64 segment, uint32 step, uint32 op, uint64 element, uint16[] calldata turns)
        external
        pure
        returns (bytes32)
    {
        return spanQuestion(segment, step, op, element, turns, turns.length);
    }

    /// The judge gets the very bytes that were sent here, and reverts unless they show a contradiction.
    function mustBeFalse(bytes4 judgement) private view {
        (bool isShown, bytes memory why) = address(judge).staticcall(bytes.concat(judgement, msg.data[4:]));
        if (isShown) return;
        assembly ("memory-safe") {
            revert(add(why, 32), mload(why))
        }
    }

    /// The claim that the case is about, and whose it is. The escrow holds the rest against what was claimed.
    function accusedOf(Case calldata accused) private view returns (bytes32 claim, address provider) {
        claim = accused.terms.claimHash(address(escrow), accused.part, accused.segmentRoot, accused.resultRoot);
        provider = escrow.partOf(accused.terms.idOf(), accused.part).provider;
    }

    /// The evidence is all that the caller sent after selector and salt: whoever copies it announced nothing.
    function convict(bytes32 salt, Case calldata accused, bytes32 claim, address provider) private {
        bytes32 evidence = keccak256(msg.data[36:]);
        emit Proven(claim, provider, msg.sender, evidence);
        escrow.convict(accused.terms, accused.part, claim, accused.last, accuserOf(evidence, salt));
    }

    /// Every transcript is the provider's word.
    function mustBeSaid(Case calldata accused, ElementFault calldata fault, bytes32 claim, address provider) private view {
        uint256 count = fault.words.transcripts.length;
        if (fault.signatures.length != count || count > fault.words.turns.length + 1) revert AnswerUnsigned();
        for (uint256 i = 0; i < count; i++) {
            bytes32 question = spanQuestion(
                accused.segment, fault.leaf.step, fault.leaf.op, fault.words.element, fault.words.turns, i
            );
            mustBeAnswer(claim, provider, question, keccak256(fault.words.transcripts[i]), fault.signatures[i]);
        }
    }

    function mustBeAnswer(
        bytes32 claim,
        address provider,
        bytes32 question,
        bytes32 answerHash,
        bytes calldata signature
    ) private view {
        (address signer, ECDSA.RecoverError err,) =
            ECDSA.tryRecoverCalldata(answerDigest(claim, question, answerHash), signature);
        if (err != ECDSA.RecoverError.NoError || signer != provider) revert AnswerUnsigned();
    }

    function spanQuestion(
        uint64 segment,
        uint32 step,
        uint32 op,
        uint64 element,
        uint16[] calldata turns,
        uint256 depth
    ) private pure returns (bytes32) {
        bytes memory place = abi.encodePacked(bytes1(0x07), uint8(1), segment, step, op, element);
        for (uint256 i = 0; i < depth; i++) place = abi.encodePacked(place, turns[i]);
        return keccak256(place);
    }
}
