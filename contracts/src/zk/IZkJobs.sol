// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../jobs/IJobEscrow.sol";
import {ITwinPosts} from "./ITwinPosts.sol";

/// Jobs that are paid by proof, docs/zk.md §12. The customer orders: which plan, and the commitments to its
/// data and to the model that training begins with. A part's worker lists the commitments that its segments
/// end with; whoever proves a segment from one of the list to the next is paid, once. A part is proven when
/// its last commitment is that of the state that was claimed.
interface IZkJobs {
    /// What is to be proven of a job, in its customer's words. Whoever takes work checks it against program
    /// and data first.
    struct Order {
        /// Hash of the plan of the terms' program.
        bytes32 plan;
        /// Roots of the data, and keccak256 of the commitments to it.
        bytes32 features;
        bytes32 labels;
        bytes32 featurePoints;
        bytes32 labelPoints;
        /// keccak256 of the commitments to the weights before segment 1.
        bytes32 startPoints;
    }

    /// One segment, 1 the first with steps.
    struct Segment {
        uint64 number;
        /// S before and after, for whoever compares bytes. They are told to the proof and not believed:
        /// commitments are what counts.
        bytes32 stateBefore;
        bytes32 stateAfter;
        /// Commitments to features, labels, weights before and after, 64 bytes each.
        bytes points;
        bytes proof;
    }

    /// How far a job is proven and paid: the next segment, and the commitments to the weights before it.
    /// In one slot: 224 bits of the hash are more than a commitment is worth.
    struct Head {
        uint32 next;
        bytes28 points;
    }

    /// A proof that waits for the segments before it.
    struct Waiting {
        address prover;
        bytes32 after_;
    }

    event Ordered(uint256 indexed job, Order order);
    /// 32 bytes for each segment with steps: keccak256 of the commitments that it ends with.
    event Listed(uint256 indexed job, uint32 indexed part, uint16 attempt, bytes ends);
    /// It was verified. Paid when the head comes by.
    event Proven(uint256 indexed job, uint64 indexed segment, address indexed prover, bytes32 before, bytes32 after_);
    event Advanced(uint256 indexed job, uint64 indexed segment, address indexed prover, uint256 pay, bytes32 points);
    event Concluded(uint256 indexed job, uint32 indexed part, uint16 attempt);

    /// @notice Thrown when the caller is not the customer, the job is not funded or begun, or was ordered
    /// before.
    error OrderRefused(uint256 job);
    /// @notice Thrown when the job has another method, no plan of the program has this hash, its windows are
    /// too short for what may be demanded, or a part has more commitments than can be listed.
    error OrderInvalid();
    /// @notice Thrown when the job was ordered otherwise, or not at all.
    error OrderMismatch(uint256 job);
    /// @notice Thrown when the caller is not the part's provider, the part is not claimed, its attempt has a
    /// list, or it is not of the ends of each segment with steps.
    error ListRefused(uint256 job, uint32 part);
    /// @notice Thrown when the segment is none of the job, or is proven.
    error SegmentRefused(uint64 segment);
    /// @notice Thrown when the part is not claimed, has no list, or the segment ends with other commitments
    /// than the list says.
    error NotListed(uint64 segment);
    /// @notice Thrown when a proof is about other data, or begins with other weights.
    error PointsMismatch();
    /// @notice Thrown when the head cannot go on: nothing waits there, or the part is not claimed.
    error NothingWaits(uint256 job);
    /// @notice Thrown when the claim is another, is not proven so far, or the tree is not that of its end,
    /// was posted before the claim, or does not stand.
    error EndMismatch();

    /// By the customer, once, before anybody has a part.
    function order(IJobEscrow.Terms calldata terms, Order calldata ordered) external;
    /// By the provider of a claimed part, once an attempt. `points`: the commitments to the weights after
    /// each segment with steps, 64 bytes each. `bare`: they are of weights and of nothing else (WeightJudge),
    /// so that whoever has the weights can go on from them. Provers compare them with their own before they
    /// work.
    function list(
        IJobEscrow.Terms calldata terms,
        Order calldata ordered,
        uint32 part,
        bytes calldata points,
        bytes calldata bare
    ) external;
    /// By anyone. The proof names the caller (`proverJob`), so nobody else can use it. `path`: from what the
    /// segment ends with to the root of the part's list.
    function submit(
        IJobEscrow.Terms calldata terms,
        Order calldata ordered,
        Segment calldata segment,
        bytes32[] calldata path
    ) external;
    /// By anyone: pays proofs that wait where the head is, so many at most and of one part.
    function advance(IJobEscrow.Terms calldata terms, uint256 most) external;
    /// By anyone: the part's claim ends with the weights that the proofs end with, by a tree that was posted
    /// after the claim and stands.
    function conclude(
        IJobEscrow.Terms calldata terms,
        Order calldata ordered,
        uint32 part,
        bytes32 claimHash,
        address poster,
        ITwinPosts.Tree calldata tree
    ) external;

    /// The number of the job in the statements of a prover's proofs.
    function proverJob(uint256 job, address prover) external view returns (uint256);
    function isOrdered(uint256 job) external view returns (bool);
    function isProven(uint256 job, uint32 part, uint16 attempt) external view returns (bool);
    /// Next 0: the job was not ordered.
    function headOf(uint256 job) external view returns (Head memory);
    /// Root of the list of an attempt; 0: there is none.
    function listOf(uint256 job, uint32 part, uint16 attempt) external view returns (bytes32);
    /// The commitments that a part was proven to end with; 0: not so far.
    function endOf(uint256 job, uint32 part) external view returns (bytes32);
    /// What waits for the head to come to these commitments before that segment.
    function waitingAt(uint256 job, uint64 segment, bytes28 points) external view returns (Waiting memory);
    function twins() external view returns (ITwinPosts);
}
