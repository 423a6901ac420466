// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {KeccakTree} from "../trees/KeccakTree.sol";

/// What a program, a trace and a state commit to, docs/work.md §6 and §7, in keccak trees.
/// src/work/trace/commitments.ts and src/work/program/open-program.ts are its twins.
library TraceTree {
    /// Kinds of tensors.
    uint8 internal constant CONSTANT = 0;
    uint8 internal constant STATE = 2;
    uint8 internal constant RESULT = 4;

    struct Head {
        /// Steps a segment.
        uint256 k;
        uint256 tensors;
        uint256 init;
        uint256 step;
    }

    /// @notice Thrown when the head is none, or head and trees are not the claim's program.
    error ProgramMismatch();

    /// The 20 bytes before a program's first leaf.
    function decodeHead(bytes20 head) internal pure returns (Head memory read) {
        uint160 bits = uint160(head);
        if (bits >> 80 != uint80(bytes10("ASSAYPR1\x00\x01"))) revert ProgramMismatch();
        read = Head(uint32(bits >> 48), uint16(bits >> 32), uint16(bits >> 16), uint16(bits));
        if (
            read.k == 0 || read.k > 65_536 || read.tensors > 4096 || read.init + read.step > 65_535 || read.step == 0
        ) revert ProgramMismatch();
    }

    function programRoot(bytes20 head, bytes32 tensors, bytes32 ops) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x03), head, tensors, ops));
    }

    function inputsHash(bytes32 seed, bytes32 tree) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x05), seed, tree));
    }

    /// Of a leaf of a program's ops or tensors.
    function leafHash(bytes calldata leaf) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x00), leaf));
    }

    function traceLeaf(uint32 step, uint32 op, bytes32[] calldata inputs, bytes32 output) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x00), step, op, inputs, output));
    }

    /// Of a tensor's root in the trees of states, results and inputs.
    function rootLeaf(uint16 tensor, bytes32 root) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x00), tensor, root));
    }

    function leads(bytes32 leaf, uint256 index, uint256 count, bytes32[] calldata path, bytes32 root)
        internal
        pure
        returns (bool)
    {
        (bool possible, bytes32 found) = KeccakTree.rootFromPath(leaf, index, count, path);
        return possible && found == root;
    }
}
