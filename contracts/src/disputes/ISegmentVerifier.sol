// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A verifier of zk proofs about one segment of a job. Disputes names its verifiers for ever when it is
/// deployed: SegmentProofs.
interface ISegmentVerifier {
    /// A segment as it was claimed, and who brings a proof about it.
    struct Disputed {
        address by;
        uint256 job;
        /// Of the terms.
        bytes32 seed;
        uint64 segment;
        /// S before and after it.
        bytes32 start;
        bytes32 end;
    }

    /// Whether the segment ends as claimed: true clears it of questions, false convicts whoever claimed it.
    /// Reverts when neither is shown. Whatever a verifier says is believed.
    function verifySegment(Disputed calldata disputed, bytes calldata proof) external returns (bool);
}
