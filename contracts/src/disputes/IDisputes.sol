// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IClaimHolder, IJobEscrow} from "../jobs/IJobEscrow.sol";
import {Transcripts} from "./Transcripts.sol";

/// Convicts a claim of a job by a contradiction in its provider's own words, or by its silence. docs/chain.md
/// §12.
///
/// A *word* is an answer that nothing else binds: the trace of a segment, the transcript of an element, the
/// writer of a tensor. It is signed, or it was an `answer` here; a proof takes either: where a signature is
/// empty, the word that stands here counts.
///
/// A *game* is one accuser against one attempt at a part. The accuser asks one question at a time, with a
/// deposit for the gas of its answer; the provider answers within the question's time, or `timeout` convicts
/// it. What a question says of the program and of trees is not checked when it is asked: `timeout` shows it,
/// so nobody need answer what is not so.
interface IDisputes is IClaimHolder {
    struct Params {
        /// To answer; to answer with a trace.
        uint32 questionSeconds;
        uint32 traceSeconds;
        /// From an answer to the next question: later the game is over.
        uint32 replySeconds;
        /// What a flood may add to the answers of one game: `questionSeconds` for every 16 games on the
        /// claim.
        uint32 extraSeconds;
        /// A game's end, whoever moved how often.
        uint32 gameSeconds;
        /// Coins for a unit of gas of an answer: the fee cap, and a third more.
        uint96 gasPrice;
    }

    /// One attempt at a part. Its hash is the number of the book: keccak256(abi.encode(sitting)).
    struct Sitting {
        uint256 job;
        uint32 part;
        uint16 attempt;
        address provider;
    }

    /// In one slot.
    struct Game {
        uint40 opened;
        /// When it last was the accuser's turn: opened, or the last answer.
        uint40 since;
        uint8 answers;
        /// Extra time that its answers had.
        uint32 extra;
        /// Of all questions that were answered.
        uint96 deposits;
        /// Closed: it holds the claim no longer. Paid: its deposits are gone.
        bool isClosed;
        bool isPaid;
    }

    /// In one slot. Open while `asks` is above the game's `answers`.
    struct Asking {
        /// First 27 bytes of keccak256(abi.encode(book, accuser, hash of the question)).
        bytes27 question;
        uint8 asks;
        /// Extra time, in units of `questionSeconds`.
        uint8 extra;
        /// Last moment to answer, in seconds after the game was opened.
        uint24 deadline;
    }

    /// In one slot: what there is against an attempt.
    struct Book {
        /// Games that are not closed, and all that were opened.
        uint32 open;
        uint32 games;
        /// No payment until then, unless all games are closed.
        uint40 heldUntil;
    }

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

    /// S of some segment, by the two trees in it, and its path in the claim's segment tree.
    struct StateShown {
        bytes32 states;
        bytes32 results;
        bytes32[] path;
    }

    /// A tensor's root in a tree of states, results or inputs.
    struct RootShown {
        uint16 tensor;
        bytes32 root;
        uint32 index;
        uint32 count;
        bytes32[] path;
    }

    /// A tensor of the program.
    struct TensorShown {
        bytes leaf;
        bytes32[] path;
    }

    /// Where a root must come from, docs/work.md §7.
    enum Origin {
        /// Another op's output: in the same step; of state and scratch, the writer's in the step before.
        Op,
        Constant,
        Input,
        /// S before the segment.
        State,
        /// Scratch before it is written.
        Zero
    }

    enum Wire {
        /// An operand of an op.
        Operand,
        /// A tensor in S after the segment.
        EndState,
        EndResult,
        /// The word about who writes a tensor.
        Writer
    }

    /// A false wire. What a kind or an origin does not need is empty.
    struct WireFault {
        Wire wire;
        Origin origin;
        uint8 operand;
        /// Of the operand; of `Writer` the op that shows it.
        OpShown op;
        TraceShown leaf;
        /// S after the segment, and the tensor's root in it.
        StateShown end;
        RootShown root;
        /// Of the origin: the op's trace leaf and, for state, scratch and ends, the writer itself.
        TraceShown from;
        OpShown writer;
        TensorShown tensor;
        /// S before the segment.
        StateShown start;
        /// In S before the segment, or among the job's inputs with their tree.
        RootShown fromRoot;
        bytes32 inputs;
        /// The word about the tensor's writer (2³² − 1: none), and its signature. Needed where no op writes
        /// the tensor.
        uint32 said;
        bytes signature;
    }

    /// What shows that a question could be answered.
    struct Basis {
        OpShown op;
        TraceShown leaf;
        bytes32[] path;
        /// Leaves of all tensors of the program, one after the other. Of a question for the roots in S.
        bytes[] tensors;
    }

    /// An answer of `answerMany`.
    struct Reply {
        uint256 job;
        uint32 part;
        uint16 attempt;
        address accuser;
        bytes question;
        bytes answer;
    }

    event Opened(
        bytes32 indexed book,
        address indexed provider,
        address indexed accuser,
        uint256 job,
        uint32 part,
        uint16 attempt,
        uint40 until
    );
    event Asked(bytes32 indexed book, address indexed accuser, uint40 deadline, bytes question);
    /// All of it is here: whoever looks for an answer need not look into transactions.
    event Answered(bytes32 indexed book, address indexed accuser, bytes32 indexed question, bytes answer);
    event Closed(bytes32 indexed book, address indexed accuser);
    /// To the provider when the claim was paid, else to the accuser.
    event Paid(bytes32 indexed book, address indexed accuser, address to, uint256 amount);
    event Silent(bytes32 indexed claim, address indexed provider, address indexed accuser, bytes question);
    /// A verifier took a proof of where the segment ends: as claimed.
    event Cleared(bytes32 indexed book, uint64 segment);
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
    /// @notice Thrown when a time or price of the parameters is none, or times do not fit into a game.
    error ParamsInvalid();
    /// @notice Thrown when the part is not claimed, or its window is over.
    error NotOpen();
    /// @notice Thrown when there is no such game.
    error GameUnknown();
    /// @notice Thrown when the game was opened before, is over, or goes on.
    error GameState();
    /// @notice Thrown when a question is open, or none is, or another.
    error QuestionState();
    /// @notice Thrown when the bytes are no question, or what the question says of the program or a tree is
    /// not so.
    error QuestionInvalid();
    /// @notice Thrown when the answer is not what the question asks for, or another than was given before.
    error AnswerInvalid();
    /// @notice Thrown when it is too late to answer, or too early to time out.
    error WrongTime(uint256 deadline);
    /// @notice Thrown when the deposit is another than it must be.
    error DepositWrong(uint256 wanted);
    /// @notice Thrown when the claim is neither paid nor dead.
    error NotFinal();
    /// @notice Thrown when coins did not arrive.
    error PaymentFailed();
    /// @notice Thrown when there is no such verifier, or it does not take the proof.
    error ProofInvalid();

    /// A number that the provider signed is not what its own words and leaves make it. The caller is the
    /// accuser if it announced this evidence in an earlier block: the hash of all that it sends after
    /// selector and salt.
    function prove(bytes32 salt, Case calldata accused, ElementFault calldata fault) external;
    /// Two answers to one question. Of the case only the claim's fields count.
    function proveTwoWords(
        bytes32 salt,
        Case calldata accused,
        bytes32 question,
        bytes32[2] calldata answers,
        bytes[2] calldata signatures
    ) external;

    /// A root in the claim is not that of its origin, or the word about a tensor's writer is false.
    function proveWire(bytes32 salt, Case calldata accused, WireFault calldata fault) external;
    /// A zk proof of where a segment ends: elsewhere than claimed convicts; as claimed clears the segment of
    /// questions. `states`: S before and after it in the claim's list, with their paths.
    function proveSegment(
        bytes32 salt,
        Case calldata accused,
        uint256 verifier,
        bytes32[2] calldata states,
        bytes32[][2] calldata paths,
        bytes calldata proof
    ) external;

    /// Opens a game of the caller with its first question, until the claim's window ends. Coins:
    /// `depositFor`.
    function open(uint256 job, uint32 part, bytes calldata question) external payable returns (bytes32 book);
    /// The next question, in one's own game.
    function ask(bytes32 book, bytes calldata question) external payable;
    /// By the provider.
    function answer(
        uint256 job,
        uint32 part,
        uint16 attempt,
        address accuser,
        bytes calldata question,
        bytes calldata answer_
    ) external;
    function answerMany(Reply[] calldata replies) external;
    /// By anyone, after a question's time: convicts. The game's accuser gets the accuser's share.
    function timeout(Case calldata accused, address accuser, bytes calldata question, Basis calldata basis) external;
    /// By anyone: a game that is over, so that it holds the claim no longer.
    function close(bytes32 book, address accuser) external;
    /// By anyone, once the claim is paid or dead: the deposits of a game. `question` is the one that was
    /// never answered, if there is one.
    function collect(Sitting calldata sitting, address accuser, bytes calldata question) external;

    function escrow() external view returns (IJobEscrow);
    function params() external view returns (Params memory);
    function bookOf(Sitting calldata sitting) external pure returns (bytes32);
    function booked(bytes32 book) external view returns (Book memory);
    function gameOf(bytes32 book, address accuser) external view returns (Game memory, Asking memory);
    /// Hash of the answer that was given here; 0: none.
    function wordOf(bytes32 book, bytes32 question) external view returns (bytes32);
    /// What the question costs its asker.
    function depositFor(bytes calldata question) external view returns (uint256);
    /// What a provider signs: EIP-712 `Answer{claim, question, answerHash}` of this contract.
    function answerDigest(bytes32 claim, bytes32 question, bytes32 answerHash) external view returns (bytes32);
    function traceQuestion(uint64 segment) external pure returns (bytes32);
    function transcriptQuestion(uint64 segment, uint32 step, uint32 op, uint64 element, uint16[] calldata turns)
        external
        pure
        returns (bytes32);
}
