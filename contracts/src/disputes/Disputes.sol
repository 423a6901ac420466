// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IJobEscrow} from "../jobs/IJobEscrow.sol";
import {JobTerms} from "../jobs/JobTerms.sol";
import {Announcements} from "../slashing/Announcements.sol";
import {GameBook} from "./GameBook.sol";
import {IDisputes} from "./IDisputes.sol";
import {ISegmentVerifier} from "./ISegmentVerifier.sol";
import {Judge} from "./Judge.sol";
import {QuestionJudge} from "./QuestionJudge.sol";
import {Questions} from "./Questions.sol";
import {Shown} from "./Shown.sol";
import {WireJudge} from "./WireJudge.sol";

/// Has the escrow convict a claim whose provider contradicts itself or is silent. Anyone may bring a proof or
/// ask; no role, no vote and no owner can bring anything else. Who said it, who asks and who accuses is found
/// here; what a proof shows, by the judges; clocks and deposits are GameBook. Holds coins, the deposits of
/// games, and no tokens. Immutable.
contract Disputes is IDisputes, Announcements, EIP712 {
    using GameBook for GameBook.State;
    using JobTerms for IJobEscrow.Terms;

    bytes32 private constant ANSWER_TYPE = keccak256("Answer(bytes32 claim,bytes32 question,bytes32 answerHash)");

    IJobEscrow public immutable escrow;
    Judge public immutable judge;
    WireJudge public immutable wireJudge;
    /// Params, in one word.
    uint256 private immutable CLOCKS;
    /// Of zk proofs. Written once, by the constructor.
    ISegmentVerifier[] private _verifiers;

    // INVARIANT: coins held ≥ Σ over games that are not paid: deposits of answered questions, and of the one
    // that is open.
    GameBook.State private _state;

    constructor(IJobEscrow escrow_, Judge judge_, WireJudge wireJudge_, ISegmentVerifier[] memory verifiers_, Params memory params_)
        EIP712("assay", "1")
    {
        // A call to an account without code would succeed, and convict everybody.
        if (address(judge_).code.length == 0 || address(wireJudge_).code.length == 0) revert JudgeMissing();
        for (uint256 i = 0; i < verifiers_.length; i++) {
            if (address(verifiers_[i]).code.length == 0) revert JudgeMissing();
        }
        // An honest accuser asks fifteen questions and waits for each as long as it may take.
        uint256 longest = uint256(params_.traceSeconds) + 15 * uint256(params_.questionSeconds) + params_.extraSeconds;
        if (
            params_.questionSeconds == 0 || params_.traceSeconds == 0 || params_.replySeconds == 0 || params_.gasPrice == 0
                || params_.gameSeconds < longest || params_.gameSeconds > 30 days
        ) revert ParamsInvalid();
        (escrow, judge, wireJudge, _verifiers) = (escrow_, judge_, wireJudge_, verifiers_);
        CLOCKS = GameBook.clocksOf(params_);
    }

    // ---- Proofs

    function prove(bytes32 salt, Case calldata accused, ElementFault calldata fault) external {
        Accused memory of_ = accusedOf(accused);
        mustHaveTrace(of_, accused);
        mustBeSaid(accused, fault, of_);
        mustBeFalse(address(judge), Judge.judgeElement.selector);
        convict(salt, accused, of_);
    }

    function proveWire(bytes32 salt, Case calldata accused, WireFault calldata fault) external {
        Accused memory of_ = accusedOf(accused);
        bool isOperand = fault.wire == Wire.Operand;
        bool isUnwritten = fault.origin == Origin.State || fault.origin == Origin.Zero;
        if (fault.wire != Wire.Writer && (isOperand || fault.origin == Origin.Op)) mustHaveTrace(of_, accused);
        if (fault.wire == Wire.Writer || (isUnwritten && !(isOperand && fault.leaf.step == 0))) {
            bytes32 said = keccak256(abi.encodePacked(fault.said));
            mustBeAnswer(of_, writerQuestion(accused.segment == 0 ? 0 : 1, fault.root.tensor), said, fault.signature);
        }
        mustBeFalse(address(wireJudge), WireJudge.judgeWire.selector);
        convict(salt, accused, of_);
    }

    function proveTwoWords(
        bytes32 salt,
        Case calldata accused,
        bytes32 question,
        bytes32[2] calldata answers,
        bytes[2] calldata signatures
    ) external {
        Accused memory of_ = accusedOf(accused);
        for (uint256 i = 0; i < 2; i++) mustBeAnswer(of_, question, answers[i], signatures[i]);
        if (answers[0] == answers[1]) revert NothingShown();
        convict(salt, accused, of_);
    }

    function proveSegment(
        bytes32 salt,
        Case calldata accused,
        uint256 verifier,
        bytes32[2] calldata states,
        bytes32[][2] calldata paths,
        bytes calldata proof
    ) external {
        Accused memory of_ = accusedOf(accused);
        Shown.headOf(accused);
        for (uint64 i = 0; i < 2; i++) Shown.mustBeListed(accused, accused.segment + i, states[i], paths[i]);
        if (verifier >= _verifiers.length) revert ProofInvalid();
        uint256 job = accused.terms.idOf();
        bool isAsClaimed = _verifiers[verifier].verifySegment(
            ISegmentVerifier.Disputed(msg.sender, job, accused.terms.seed, accused.segment, states[0], states[1]), proof
        );
        if (!isAsClaimed) return convict(salt, accused, of_);
        // ATTACK: states that were never claimed would clear a claim that has others. Of a conviction the
        // escrow compares.
        bytes32 stands = escrow.commitmentOf(job, accused.part, of_.attempt);
        if (stands != keccak256(abi.encode(of_.claim, accused.last))) revert NotOpen();
        _state.cleared[of_.book][accused.segment] = true;
        emit Cleared(of_.book, accused.segment);
    }

    // ---- Games

    function open(uint256 job, uint32 part, bytes calldata question) external payable returns (bytes32 book) {
        IJobEscrow.Part memory one = escrow.partOf(job, part);
        if (one.state != IJobEscrow.PartState.Claimed || block.timestamp > one.time) revert NotOpen();
        book = bookNumber(job, part, one.attempt, one.provider);
        uint40 until = _state.open(CLOCKS, book, msg.sender);
        emit Opened(book, one.provider, msg.sender, job, part, one.attempt, until);
        ask(book, question);
    }

    function ask(bytes32 book, bytes calldata question) public payable {
        uint8 kind = Questions.kindOf(question);
        uint256 deposit = depositOf(question, kind);
        if (msg.value != deposit) revert DepositWrong(deposit);
        uint40 deadline = _state.ask(CLOCKS, book, msg.sender, keccak256(question), kind == Questions.TRACE);
        emit Asked(book, msg.sender, deadline, question);
    }

    function answer(
        uint256 job,
        uint32 part,
        uint16 attempt,
        address accuser,
        bytes calldata question,
        bytes calldata answer_
    ) external {
        reply(bookNumber(job, part, attempt, msg.sender), accuser, question, answer_);
    }

    function answerMany(Reply[] calldata replies) external {
        for (uint256 i = 0; i < replies.length; i++) {
            Reply calldata one = replies[i];
            reply(bookNumber(one.job, one.part, one.attempt, msg.sender), one.accuser, one.question, one.answer);
        }
    }

    /// The provider's number is in the book's, so nobody else can answer.
    function reply(bytes32 book, address accuser, bytes calldata question, bytes calldata answer_) private {
        uint8 kind = Questions.kindOf(question);
        bytes32 hash = keccak256(question);
        _state.answer(CLOCKS, book, accuser, hash, depositOf(question, kind));
        bytes32 said = Questions.mustAnswer(question, kind, answer_);
        if (said != 0) _state.say(book, Questions.wordQuestion(question, kind), said);
        emit Answered(book, accuser, hash, answer_);
    }

    function timeout(Case calldata accused, address accuser, bytes calldata question, Basis calldata) external {
        Accused memory of_ = accusedOf(accused);
        _state.mustBeSilent(of_.book, accuser, keccak256(question));
        uint8 kind = Questions.kindOf(question);
        (bool isOfOne, uint64 segment) = Questions.segmentOf(question, kind);
        if (isOfOne && _state.cleared[of_.book][segment]) revert NothingShown();
        // What lies below a trace is asked of a trace that the provider gave.
        if (isOfOne && kind >= Questions.NODES) mustHaveTrace(of_, accused);
        mustBeFalse(address(wireJudge), QuestionJudge.judgeQuestion.selector);
        emit Silent(of_.claim, of_.provider, accuser, question);
        convictFor(accuser, accused, of_);
    }

    function close(bytes32 book, address accuser) external {
        _state.close(CLOCKS, book, accuser);
        emit Closed(book, accuser);
    }

    function collect(Sitting calldata sitting, address accuser, bytes calldata question) external {
        bytes32 book = bookOf(sitting);
        IJobEscrow.Part memory one = escrow.partOf(sitting.job, sitting.part);
        bool isCurrent = one.attempt == sitting.attempt;
        if (isCurrent && one.state == IJobEscrow.PartState.Claimed) revert NotFinal();
        bool isSettled = isCurrent && one.state == IJobEscrow.PartState.Settled;
        uint256 deposit = question.length == 0 ? 0 : depositFor(question);
        uint256 amount = _state.pay(book, accuser, keccak256(question), deposit);
        address to = isSettled ? sitting.provider : accuser;
        emit Paid(book, accuser, to, amount);
        (bool isPaid,) = to.call{value: amount}("");
        if (!isPaid) revert PaymentFailed();
    }

    // ---- Views

    function params() external view returns (Params memory) {
        return GameBook.paramsOf(CLOCKS);
    }

    function verifiers() external view returns (ISegmentVerifier[] memory) {
        return _verifiers;
    }

    function bookOf(Sitting calldata sitting) public pure returns (bytes32) {
        return bookNumber(sitting.job, sitting.part, sitting.attempt, sitting.provider);
    }

    function isHeld(uint256 job, uint32 part, uint16 attempt, address provider) external view returns (bool) {
        return _state.isHeld(bookNumber(job, part, attempt, provider));
    }

    function booked(bytes32 book) external view returns (Book memory) {
        return _state.books[book];
    }

    function gameOf(bytes32 book, address accuser) external view returns (Game memory, Asking memory) {
        GameBook.Entry storage entry = _state.games[book][accuser];
        return (entry.game, entry.asking);
    }

    function wordOf(bytes32 book, bytes32 question) external view returns (bytes32) {
        return _state.words[book][question];
    }

    function isCleared(bytes32 book, uint64 segment) external view returns (bool) {
        return _state.cleared[book][segment];
    }

    function depositFor(bytes calldata question) public view returns (uint256) {
        return depositOf(question, Questions.kindOf(question));
    }

    function depositOf(bytes calldata question, uint8 kind) private view returns (uint256) {
        return Questions.gasOf(question, kind) * uint96(CLOCKS >> 160);
    }

    function answerDigest(bytes32 claim, bytes32 question, bytes32 answerHash) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(ANSWER_TYPE, claim, question, answerHash)));
    }

    function traceQuestion(uint64 segment) public pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x07), Questions.TRACE, segment));
    }

    function writerQuestion(uint8 phase, uint16 tensor) public pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x07), Questions.WRITER, phase, tensor));
    }

    function transcriptQuestion(uint64 segment, uint32 step, uint32 op, uint64 element, uint16[] calldata turns)
        external
        pure
        returns (bytes32)
    {
        return spanQuestion(segment, step, op, element, turns, turns.length);
    }

    // ---- Who said it

    /// The claim that a case is about, whose it is, and its book.
    struct Accused {
        bytes32 claim;
        address provider;
        uint16 attempt;
        bytes32 book;
    }

    /// The escrow holds the rest against what was claimed.
    function accusedOf(Case calldata accused) private view returns (Accused memory of_) {
        uint256 job = accused.terms.idOf();
        IJobEscrow.Part memory one = escrow.partOf(job, accused.part);
        of_.claim = accused.terms.claimHash(address(escrow), job, accused.part, accused.segmentRoot, accused.resultRoot);
        (of_.provider, of_.attempt) = (one.provider, one.attempt);
        of_.book = bookNumber(job, accused.part, one.attempt, one.provider);
    }

    function bookNumber(uint256 job, uint32 part, uint16 attempt, address provider) private pure returns (bytes32) {
        return keccak256(abi.encode(job, part, attempt, provider));
    }

    /// The judge gets the very bytes that were sent here, and reverts unless they show something.
    function mustBeFalse(address by, bytes4 judgement) private view {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, judgement)
            calldatacopy(add(free, 4), 4, sub(calldatasize(), 4))
            if iszero(staticcall(gas(), by, free, calldatasize(), 0, 0)) {
                returndatacopy(free, 0, returndatasize())
                revert(free, returndatasize())
            }
        }
    }

    /// The evidence is all that the caller sent after selector and salt: whoever copies it announced nothing.
    function convict(bytes32 salt, Case calldata accused, Accused memory of_) private {
        bytes32 evidence = keccak256(msg.data[36:]);
        emit Proven(of_.claim, of_.provider, msg.sender, evidence);
        convictFor(accuserOf(evidence, salt), accused, of_);
    }

    /// escrow.convict(accused.terms, accused.part, of_.claim, accused.last, accuser), whose terms are not
    /// taken apart for it.
    function convictFor(address accuser, Case calldata accused, Accused memory of_) private {
        bytes memory terms = accused.terms.encoded();
        // What stands before the terms gives their place: after five words.
        assembly ("memory-safe") {
            mstore(add(terms, 0x20), accuser)
        }
        bytes memory head = abi.encodeWithSelector(
            IJobEscrow.convict.selector, uint256(0xa0), accused.part, of_.claim, accused.last
        );
        (bool isDone, bytes memory why) = address(escrow).call(bytes.concat(head, terms));
        if (!isDone) {
            assembly ("memory-safe") {
                revert(add(why, 0x20), mload(why))
            }
        }
    }

    function mustHaveTrace(Accused memory of_, Case calldata accused) private view {
        mustBeAnswer(of_, traceQuestion(accused.segment), keccak256(abi.encode(accused.trace)), accused.traceSignature);
    }

    /// Every transcript is the provider's word.
    function mustBeSaid(Case calldata accused, ElementFault calldata fault, Accused memory of_) private view {
        uint256 count = fault.words.transcripts.length;
        uint16[] calldata turns = fault.words.turns;
        if (fault.signatures.length != count || count > 2 || fault.words.marked > turns.length) revert AnswerUnsigned();
        for (uint256 i = 0; i < count; i++) {
            uint256 depth = i == 0 ? turns.length : fault.words.marked;
            bytes32 question =
                spanQuestion(accused.segment, fault.leaf.step, fault.leaf.op, fault.words.element, turns, depth);
            mustBeAnswer(of_, question, keccak256(fault.words.transcripts[i]), fault.signatures[i]);
        }
    }

    /// It is signed; without a signature, it was said here.
    function mustBeAnswer(Accused memory of_, bytes32 question, bytes32 answerHash, bytes calldata signature) private view {
        if (signature.length == 0) {
            if (_state.words[of_.book][question] != answerHash) revert AnswerUnsigned();
            return;
        }
        (address signer, ECDSA.RecoverError err,) =
            ECDSA.tryRecoverCalldata(answerDigest(of_.claim, question, answerHash), signature);
        if (err != ECDSA.RecoverError.NoError || signer != of_.provider) revert AnswerUnsigned();
    }

    function spanQuestion(
        uint64 segment,
        uint32 step,
        uint32 op,
        uint64 element,
        uint16[] calldata turns,
        uint256 depth
    ) private pure returns (bytes32) {
        bytes memory place = abi.encodePacked(bytes1(0x07), Questions.TRANSCRIPT, segment, step, op, element);
        for (uint256 i = 0; i < depth; i++) place = abi.encodePacked(place, turns[i]);
        return keccak256(place);
    }
}
