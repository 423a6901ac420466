// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Whether a proof of a segment of training is true, docs/zk.md: commitments to data and weights belong to a
/// run of a plan, step by step.
interface IZkVerifier {
    /// With plan, chain and powers it makes the statement of docs/zk.md §4.
    struct Statement {
        uint256 job;
        /// Of the order of rows.
        bytes32 seed;
        uint256 firstStep;
        /// Roots of the inputs.
        bytes32 features;
        bytes32 labels;
        /// S_j before and after, docs/work.md §7.
        bytes32 stateBefore;
        bytes32 stateAfter;
    }

    /// @notice Thrown when the segment is none of the plan.
    error SegmentInvalid();

    /// Reverts unless the proof holds. `plan`: its hash; it was registered. `points`: 64 bytes each, the
    /// commitments to features, labels, weights before and after. Returns the steps of a segment, and
    /// keccak256 of the points of each group. What it does not say: that these are those of bytes with the
    /// statement's roots.
    function mustHold(bytes32 plan, Statement calldata statement, bytes calldata points, bytes calldata proof)
        external
        view
        returns (uint256 steps, bytes32[4] memory hashes);
}
