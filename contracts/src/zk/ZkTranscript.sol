// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {FIELD, HEAD, NEXT, STATE} from "./Layout.sol";

/// The transcript of a proof, docs/zk.md §2: 32 bytes to which each message goes before a challenge is drawn.
/// A challenge is the state modulo the scalars' order. src/verify/zk/transcript.ts is its twin.
library ZkTranscript {
    /// @notice Thrown when the proof has another length than its plan says.
    error ProofLength(uint256 found, uint256 wanted);

    function begin(bytes32 statement) internal pure {
        bytes32 state = keccak256(abi.encodePacked("assay/zk/1", statement));
        assembly ("memory-safe") {
            mstore(STATE, state)
        }
    }

    /// A message from a place of the calldata.
    function hear(uint256 kind, uint256 from, uint256 length) internal pure {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, mload(STATE))
            mstore(add(free, 0x20), or(shl(248, kind), shl(216, length)))
            calldatacopy(add(free, 0x25), from, length)
            mstore(STATE, keccak256(free, add(0x25, length)))
        }
    }

    /// The next scalars of the proof, as one message.
    function next(uint256 kind, uint256 count) internal pure returns (uint256 from) {
        assembly ("memory-safe") {
            from := mload(NEXT)
            mstore(NEXT, add(from, shl(5, count)))
        }
        hear(kind, from, count << 5);
    }

    /// The challenge that follows a message.
    function drawn() internal pure returns (uint256 challenge) {
        assembly ("memory-safe") {
            challenge := mod(mload(STATE), mload(FIELD))
        }
    }

    /// That one and more, without a message between them.
    function draw(uint256 count) internal pure returns (uint256 list) {
        assembly ("memory-safe") {
            list := mload(0x40)
            let end := add(list, shl(5, count))
            mstore(0x40, end)
            mstore8(HEAD, 0xff)
            let r := mload(FIELD)
            let state := mload(STATE)
            mstore(list, mod(state, r))
            for { let to := add(list, 0x20) } lt(to, end) { to := add(to, 0x20) } {
                state := keccak256(STATE, 0x21)
                mstore(STATE, state)
                mstore(to, mod(state, r))
            }
        }
    }
}
