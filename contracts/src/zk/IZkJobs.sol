// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../jobs/IJobEscrow.sol";
import {ITwinPosts} from "./ITwinPosts.sol";

/// Jobs that are paid by proof, docs/zk.md §12. The customer orders: which plan, and the commitments to its data and to the model that training begins with. From there
/// every segment leads to one next commitment, whoever proves it; each is paid once. A part is proven when its last commitment is that of the state that was claimed.
interface IZkJobs {
    /// What is to be proven of a job, in its customer's words. Whoever takes work checks it against program and data first.
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
        /// S before and after, for whoever compares bytes. They are told to the proof and not believed: commitments are what counts.
        bytes32 stateBefore;
        bytes32 stateAfter;
        /// Commitments to features, labels, weights before and after, 64 bytes each.
        bytes points;
        bytes proof;
    }

    /// How far a job is proven and paid: the next segment, and the commitments to the weights before it.
    struct Head {
        uint64 next;
        bytes32 points;
    }

    /// A proof that waits for the segments before it.
    struct Waiting {
        address prover;
        bytes32 after_;
    }

    event Ordered(uint256 indexed job, Order order);
    /// It was verified. Paid when the head comes by.
    event Proven(uint256 indexed job, uint64 indexed segment, address indexed prover, bytes32 before, bytes32 after_);
    event Advanced(uint256 indexed job, uint64 indexed segment, address indexed prover, uint256 pay, bytes32 points);
    event Concluded(uint256 indexed job, uint32 indexed part, uint16 attempt);

    /// @notice Thrown when the caller is not the customer, the job is not funded or begun, or was ordered before.
    error OrderRefused(uint256 job);
    /// @notice Thrown when the job has another method, no plan of the program has this hash, or the job's windows are too short for what may be demanded.
    error OrderInvalid();
    /// @notice Thrown when the job was ordered otherwise, or not at all.
    error OrderMismatch(uint256 job);
    /// @notice Thrown when the segment is none of the job, or is proven.
    error SegmentRefused(uint64 segment);
    /// @notice Thrown when a proof is about other data, or begins with other weights.
    error PointsMismatch();
    /// @notice Thrown when the head cannot go on: nothing waits there, or the part is not claimed.
    error NothingWaits(uint256 job);
    /// @notice Thrown when the claim is another, is not proven so far, or the tree is not that of its end, was posted before the claim, or does not stand.
    error EndMismatch();

    /// By the customer, once, before anybody has a part.
    function order(IJobEscrow.Terms calldata terms, Order calldata ordered) external;
    /// By anyone. The proof names the caller (`proverJob`), so nobody else can use it.
    function submit(IJobEscrow.Terms calldata terms, Order calldata ordered, Segment calldata segment) external;
    /// By anyone: pays proofs that wait, so many at most.
    function advance(IJobEscrow.Terms calldata terms, uint256 most) external;
    /// By anyone: the part's claim ends with the weights that the proofs end with, by a tree that was posted after the claim and stands.
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
    function headOf(uint256 job) external view returns (Head memory);
    /// The commitments that a part ends with; 0: not proven so far.
    function endOf(uint256 job, uint32 part) external view returns (bytes32);
    /// What waits for the head to come to these commitments before that segment.
    function waitingAt(uint256 job, uint64 segment, bytes32 points) external view returns (Waiting memory);
    function twins() external view returns (ITwinPosts);
}
