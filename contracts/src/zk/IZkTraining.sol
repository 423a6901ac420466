// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IZkVerifier} from "./IZkVerifier.sol";
import {IZkRunVerifier} from "./runs/IZkRunVerifier.sol";

/// Training runs that are proven segment after segment, docs/zk.md §11. A run's number is the hash of what it
/// is about, so every call brings that and the chain keeps one slot of a run.
interface IZkTraining {
    /// What a run is about: for ever the same.
    struct Run {
        /// The customer's own: two runs of the same need two.
        bytes32 salt;
        /// Who alone takes it on. ATTACK: right weights have many commitments, and from all but one of them
        /// only their maker can go on; whoever might prove a segment of another's run could end it there.
        address prover;
        /// Hash of the plan; the program's root is in it.
        bytes32 plan;
        /// Hash of the key with which several segments may be proven at once, docs/zk.md §13; 0: none.
        bytes32 key;
        /// Of the order of rows.
        bytes32 seed;
        /// Roots of the data, and keccak256 of the commitments to it.
        bytes32 features;
        bytes32 labels;
        bytes32 featurePoints;
        bytes32 labelPoints;
        /// The model that it begins with: S_j, docs/work.md §7, and keccak256 of the commitments to its
        /// weights.
        bytes32 state;
        bytes32 points;
        /// The first step that is proven, and the first that is not any more.
        uint64 firstStep;
        uint64 endStep;
    }

    /// What of a run is proven so far.
    struct Head {
        uint64 nextStep;
        bytes32 state;
        bytes32 points;
    }

    event Opened(uint256 indexed run, address indexed by, Run of_);
    event Proven(uint256 indexed run, address indexed prover, uint64 nextStep, bytes32 state, bytes32 points);

    /// @notice Thrown when the run was opened before.
    error AlreadyOpened(uint256 run);
    /// @notice Thrown when the caller is not the run's prover.
    error NotProver(address caller);
    /// @notice Thrown when the run ends before it begins, or not where one of its plan's segments does, or
    /// nobody has registered the plan.
    error RunInvalid();
    /// @notice Thrown when nobody has opened the run, or the head is not where it stands.
    error HeadMismatch(uint256 run);
    /// @notice Thrown when all its steps are proven.
    error RunEnded(uint256 run);
    /// @notice Thrown when a proof is about other data, or begins with other weights.
    error PointsMismatch();

    /// By anyone.
    function open(Run calldata run) external returns (uint256 number);
    /// One segment more, by the run's prover: from the head to `state`. `points`: the commitments to
    /// features, labels, weights before and after.
    function submit(Run calldata run, Head calldata head, bytes32 state, bytes calldata points, bytes calldata proof) external;

    /// As many segments more as the run's key is for, by the run's prover. `states`: the head's, and that
    /// after each of them. `points`: the commitments to features, labels, and weights: the head's, and those
    /// after each.
    function submitRun(
        Run calldata run,
        Head calldata head,
        bytes32[] calldata states,
        bytes calldata points,
        bytes calldata proof
    ) external;

    /// Also the number of the job in the statements of its proofs: it names chain and contract.
    function numberOf(Run calldata run) external view returns (uint256);
    /// Whether this much of a run, and no more, is proven.
    function isHead(uint256 run, Head calldata head) external view returns (bool);
    function verifier() external view returns (IZkVerifier);
    function runVerifier() external view returns (IZkRunVerifier);
}
