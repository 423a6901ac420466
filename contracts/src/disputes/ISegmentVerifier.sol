// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A verifier of zk proofs about one segment of a program. Disputes names its verifiers for ever when it is deployed; there are none yet.
interface ISegmentVerifier {
    /// True when the proof shows: segment `segment` of this program, with these inputs (docs/work.md §7), begun in state `start`, ends in
    /// state `end`. Whatever a verifier says is believed.
    function verifySegment(bytes32 program, bytes32 inputs, uint64 segment, bytes32 start, bytes32 end, bytes calldata proof)
        external
        view
        returns (bool);
}
