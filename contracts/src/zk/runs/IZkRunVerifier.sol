// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Whether a wrapped run proof is true, docs/zk.md §13: commitments to data and weights belong to segments of
/// one run of a plan, one after the other.
interface IZkRunVerifier {
    /// What all segments have in common. With chain, powers and states it makes their statements, docs/zk.md
    /// §4.
    struct RunStatement {
        /// Their hashes.
        bytes32 plan;
        bytes32 key;
        uint256 job;
        /// Of the order of rows.
        bytes32 seed;
        uint256 firstStep;
        /// Roots of the inputs.
        bytes32 features;
        bytes32 labels;
    }

    /// @notice Thrown when the segments are none of the plan.
    error SegmentsInvalid();
    /// @notice Thrown when nobody has registered the key.
    error KeyUnknown(bytes32 key);
    /// @notice Thrown when the key is for another plan, or another number of segments.
    error KeyMismatch(bytes32 key);
    /// @notice Thrown when the proof of the sums is false or of other ones, or the commitments do not open to
    /// what it says.
    error RunFalse();

    /// Reverts unless the proof holds. `states`: S before the first segment and after each. `points`: 64
    /// bytes each, the commitments to features, labels, and weights: before the first segment and after each.
    /// Returns the steps of a segment, and keccak256 of the points of features, of labels, and of each
    /// weights in turn.
    function mustHold(
        RunStatement calldata statement,
        bytes32[] calldata states,
        bytes calldata points,
        bytes calldata proof
    ) external view returns (uint256 steps, bytes32[] memory hashes);
}
