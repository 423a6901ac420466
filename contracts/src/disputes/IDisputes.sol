// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IJobEscrow} from "../jobs/IJobEscrow.sol";
import {Transcripts} from "./Transcripts.sol";

/// Convicts a claim of a job by what its provider signed: one contradiction, one transaction. docs/jobs.md §7.
interface IDisputes {
    /// The accused claim, and what binds the answers about one of its segments to it.
    struct Case {
        IJobEscrow.Terms terms;
        uint32 part;
        bytes32 segmentRoot;
        bytes32 resultRoot;
        /// The claim's last state.
        bytes32 last;
        /// The 20 bytes before the program's first leaf, and its two trees.
        bytes20 head;
        bytes32 tensors;
        bytes32 ops;
        uint64 segment;
        /// The trace root that was answered, with the provider's signature. Empty where none is needed.
        bytes32 trace;
        bytes traceSignature;
    }

    /// An op of the program.
    struct OpShown {
        uint32 number;
        bytes leaf;
        bytes32[] path;
    }

    /// A leaf of the segment's trace.
    struct TraceShown {
        uint32 step;
        uint32 op;
        bytes32[] inputs;
        bytes32 output;
        bytes32[] path;
    }

    /// A false element.
    struct ElementFault {
        OpShown op;
        TraceShown leaf;
        /// Tree of the job's inputs: with the seed the claim's inputs.
        bytes32 inputs;
        Transcripts.Words words;
        /// The provider's, under each transcript.
        bytes[] signatures;
        Transcripts.Contradiction shown;
    }

    /// Somebody showed the contradiction.
    event Proven(bytes32 indexed claim, address indexed provider, address by, bytes32 evidence);

    /// @notice Thrown when the judge has no code.
    error JudgeMissing();
    /// @notice Thrown when the segment, step or op is not one of the claim's.
    error PlaceInvalid();
    /// @notice Thrown when the op is not in the claim's program, or of the other phase.
    error OpUnknown();
    /// @notice Thrown when the leaf is not in the trace that was answered.
    error TraceMismatch();
    /// @notice Thrown when seed and tree are not the claim's inputs.
    error InputsMismatch();
    /// @notice Thrown when an answer is not signed by the claim's provider.
    error AnswerUnsigned();
    /// @notice Thrown when what is shown agrees.
    error NothingShown();

    /// A number that the provider signed is not what its own words and leaves make it. The caller is the accuser if it
    /// announced this evidence in an earlier block: the hash of all that it sends after selector and salt.
    function prove(bytes32 salt, Case calldata accused, ElementFault calldata fault) external;
    /// Two answers to one question. Of the case only the claim's fields count.
    function proveTwoWords(
        bytes32 salt,
        Case calldata accused,
        bytes32 question,
        bytes32[2] calldata answers,
        bytes[2] calldata signatures
    ) external;

    function escrow() external view returns (IJobEscrow);
    /// What a provider signs: EIP-712 `Answer{claim, question, answerHash}` of this contract.
    function answerDigest(bytes32 claim, bytes32 question, bytes32 answerHash) external view returns (bytes32);
    function traceQuestion(uint64 segment) external pure returns (bytes32);
    function transcriptQuestion(uint64 segment, uint32 step, uint32 op, uint64 element, uint16[] calldata turns)
        external
        pure
        returns (bytes32);
}
