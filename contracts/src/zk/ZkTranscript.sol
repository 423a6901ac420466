// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "./Bn254.sol";

/// The transcript of a proof, docs/zk.md §2: 32 bytes to which each message goes before a challenge is drawn. A challenge is the state modulo the
/// scalars' order. src/verify/zk/transcript.ts is its twin.
library ZkTranscript {
    /// @notice Thrown when the proof has another length than its plan says.
    error ProofLength(uint256 found, uint256 wanted);

    function begin(bytes32 statement) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked("assay/zk/1", statement));
    }

    /// A message from a place of the calldata.
    function heard(bytes32 state, uint256 kind, uint256 from, uint256 length) internal pure returns (bytes32 next) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, state)
            mstore(add(free, 0x20), or(shl(248, kind), shl(216, length)))
            calldatacopy(add(free, 0x25), from, length)
            next := keccak256(free, add(0x25, length))
        }
    }

    /// A message from memory.
    function told(bytes32 state, uint256 kind, uint256 from, uint256 length) internal pure returns (bytes32 next) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, state)
            mstore(add(free, 0x20), or(shl(248, kind), shl(216, length)))
            mcopy(add(free, 0x25), from, length)
            next := keccak256(free, add(0x25, length))
        }
    }

    /// For a further challenge without a message between.
    function again(bytes32 state) internal pure returns (bytes32 next) {
        assembly ("memory-safe") {
            mstore(0x00, state)
            mstore8(0x20, 0xff)
            next := keccak256(0x00, 0x21)
        }
    }

    function drawn(bytes32 state) internal pure returns (uint256) {
        return uint256(state) % Bn254.R;
    }
}
