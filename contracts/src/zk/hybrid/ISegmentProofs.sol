// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../../jobs/IJobEscrow.sol";
import {IZkJobs} from "../IZkJobs.sol";
import {TwinValues} from "../TwinValues.sol";

/// Optimistic jobs whose disputes are settled by one zk proof, docs/zk.md §15. The customer names plan, data
/// and first weights by their commitments before it funds the job. Whoever claimed the job may clear a
/// segment by its proof. With the first one it says the *list*: for each state from the first weights on, the
/// hash of the commitments to its weights. A list begins with the customer's commitments, each segment has
/// one next, and the bytes of the end are public: so a list is right, or one proof shows that it is not.
interface ISegmentProofs {
    struct Params {
        /// From a demand to the proof of a segment.
        uint32 answerSeconds;
        /// Coins for a unit of gas of what is demanded: the fee cap, and a third more.
        uint96 gasPrice;
    }

    /// In one slot: who demanded the proof of a segment of a list, and until when it must be there. Paid: the
    /// deposit is somebody's.
    struct Demand {
        address by;
        uint40 deadline;
        bool isPaid;
    }

    enum Kind {
        /// A proof of the segment, from the list's commitments before it: to those after it, or to others.
        Segment,
        /// A weight that the list's commitments have and the claimed state has not.
        Weight,
        /// A segment of the list whose proof was demanded and did not come.
        Silence
    }

    /// A place among the weights, in the order of commitments; what the commitment has there; what the
    /// claimed state has.
    struct Weight {
        uint256 place;
        uint256 value;
        bytes32 states;
        bytes32 results;
        TwinValues.Shown[] shown;
    }

    /// A `proof` of Disputes.proveSegment is abi.encode(Shown). What a kind does not need is empty.
    struct Shown {
        Kind kind;
        IZkJobs.Order ordered;
        bytes32[] list;
        /// Segment: commitments to features, labels, weights before and after. Weight: to the weights after
        /// the segment.
        bytes points;
        /// Of the segment; of the weight's place.
        bytes proof;
        /// That the commitments after are of weights and nothing else. For a segment that ends elsewhere.
        bytes bare;
        Weight weight;
    }

    event Ordered(uint256 indexed job, IZkJobs.Order order);
    /// All of it is here.
    event Said(uint256 indexed job, bytes32 indexed book, address indexed provider, bytes32[] list);
    event Demanded(uint256 indexed job, bytes32 indexed book, uint64 indexed segment, address by, uint40 deadline);

    /// @notice Thrown when the caller is not the customer, or the job is funded or was ordered before.
    error OrderRefused(uint256 job);
    /// @notice Thrown when the job has another method or several parts, too many or too few segments, or no
    /// plan of the program has this hash.
    error OrderInvalid();
    /// @notice Thrown when the job was ordered otherwise, or not at all.
    error OrderMismatch(uint256 job);
    /// @notice Thrown when the job is not claimed, or no list was said.
    error ListState(uint256 job);
    /// @notice Thrown when a first list has another length or beginning, or whoever brings it did not claim
    /// the job; and for proofs that do not come through Disputes.
    error ListRefused(uint256 job);
    /// @notice Thrown when the list is another than was said.
    error ListMismatch(uint256 job);
    /// @notice Thrown when the segment has no steps, is none of the job, is proven, or its proof was demanded
    /// before, or never.
    error SegmentRefused(uint64 segment);
    /// @notice Thrown when a proof is about other data, or other weights.
    error PointsMismatch();
    /// @notice Thrown when what is shown agrees with the claim.
    error NothingShown();
    /// @notice Thrown when it is too early.
    error WrongTime(uint256 deadline);
    /// @notice Thrown when other coins were sent than it takes.
    error CoinsWrong(uint256 wanted);
    /// @notice Thrown when nothing is owed, or it could not be paid.
    error NothingPaid();
    /// @notice Thrown when a parameter is none or too large.
    error ParamsInvalid();

    /// By the customer, once, before it funds the job.
    function order(IJobEscrow.Terms calldata terms, IZkJobs.Order calldata ordered) external;
    /// By anyone, of a claim with a list: the proof of one of its segments. Whoever says a list can prove all
    /// of it. Coins: `deposit`.
    function demand(uint256 job, uint64 segment) external payable;
    /// By anyone, when a demand's time is over and no proof came: the deposit is its owner's again.
    function settleDemand(bytes32 book, uint64 segment) external;
    /// What the caller is owed.
    function collect(address payable to) external;

    function isOrdered(uint256 job) external view returns (bool);
    /// keccak256 of the words of the list that was said; 0: none.
    function listOf(bytes32 book) external view returns (bytes32);
    /// Whether a segment of the list is proven.
    function isLinked(bytes32 book, uint64 segment) external view returns (bool);
    function demandOf(bytes32 book, uint64 segment) external view returns (Demand memory);
    /// Of a demand, in coins.
    function deposit() external view returns (uint256);
    function owedTo(address account) external view returns (uint256);
    /// The number of the job in the statements of its proofs.
    function proofJob(uint256 job) external view returns (uint256);
    function params() external view returns (Params memory);
}
