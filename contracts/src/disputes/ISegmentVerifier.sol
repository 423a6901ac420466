// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A verifier of zk proofs about one segment of a job. Disputes names its verifiers for ever when it is deployed: ZkJobs.
interface ISegmentVerifier {
    /// Whether the job's segment, begun in state `start`, ends in state `end`: true clears it of questions, false convicts whoever claimed `end`. Reverts when neither is
    /// shown. `seed`: of the terms. Whatever a verifier says is believed.
    function verifySegment(uint256 job, bytes32 seed, uint64 segment, bytes32 start, bytes32 end, bytes calldata proof)
        external
        view
        returns (bool);
}
