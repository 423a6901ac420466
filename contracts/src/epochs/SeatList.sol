// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IScoreboard, ReportRoot, WeightsId} from "./IScoreboard.sol";

/// The validators that have revealed in an epoch, as callers list them: their one hash, and what stake sets
/// of them have. Bit i of a set is seat i.
library SeatList {
    function append(bytes32 hash, address signer, uint96 stake, ReportRoot root) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(hash, signer, stake, root));
    }

    /// In assembly: with checked access this loop costs whoever posts or challenges with 64 seats 30,000 gas
    /// more.
    function hashOf(IScoreboard.Seat[] calldata seats) internal pure returns (bytes32 hash) {
        uint256 unclean = 0;
        assembly ("memory-safe") {
            let at := mload(0x40)
            let end := add(seats.offset, mul(seats.length, 0x60))
            for { let seat := seats.offset } lt(seat, end) { seat := add(seat, 0x60) } {
                let signer := calldataload(seat)
                let stake := calldataload(add(seat, 0x20))
                unclean := or(unclean, or(shr(160, signer), shr(96, stake)))
                mstore(at, hash)
                mstore(add(at, 0x20), or(shl(96, signer), stake))
                mstore(add(at, 0x40), calldataload(add(seat, 0x40)))
                hash := keccak256(at, 0x60)
            }
        }
        // Bits beyond a field are no part of the hash, and others could read them.
        if (unclean != 0) revert IScoreboard.SeatsMismatch();
    }

    /// Stake of the seats of the set, all of which must have signed, in their order. The list is known to be
    /// the epoch's. In assembly: with checked access and Solidity's ecrecover 64 signatures cost 100,000 gas
    /// more, and posting must stay cheap for whoever does it.
    function signedBy(IScoreboard.Seat[] calldata seats, uint64 set, WeightsId id, bytes32[2][] calldata signatures)
        internal
        view
        returns (uint128 stake)
    {
        uint256 missing = 0;
        uint256 spare = 0;
        assembly ("memory-safe") {
            let at := mload(0x40)
            mstore(at, id)
            let next := signatures.offset
            let end := add(next, shl(6, signatures.length))
            for { let i := 0 } lt(i, seats.length) { i := add(i, 1) } {
                if and(shr(i, set), 1) {
                    let seat := add(seats.offset, mul(i, 0x60))
                    mstore(0x00, 0)
                    if lt(next, end) {
                        let vs := calldataload(add(next, 0x20))
                        mstore(add(at, 0x20), add(shr(255, vs), 27))
                        mstore(add(at, 0x40), calldataload(next))
                        mstore(add(at, 0x60), shr(1, shl(1, vs)))
                        // Writes nothing when it is no signature: then 0 is compared, which is nobody's
                        // address.
                        pop(staticcall(gas(), 1, at, 0x80, 0x00, 0x20))
                    }
                    if iszero(eq(mload(0x00), calldataload(seat))) {
                        missing := add(i, 1)
                        break
                    }
                    stake := add(stake, calldataload(add(seat, 0x20)))
                    next := add(next, 0x40)
                }
            }
            spare := iszero(eq(next, end))
        }
        if (missing != 0) revert IScoreboard.SignatureInvalid(missing - 1);
        if (spare != 0 || !exist(seats, set)) revert IScoreboard.SignaturesSpare();
    }

    /// A bit without a seat has no stake. The list is known to be the epoch's; sums of its 96 bits cannot
    /// pass 128. In assembly: with checked access 64 seats cost 15,000 gas more.
    function stakeOf(IScoreboard.Seat[] calldata seats, uint64 set) internal pure returns (uint128 stake) {
        assembly ("memory-safe") {
            let at := add(seats.offset, 0x20)
            for { let i := 0 } lt(i, seats.length) { i := add(i, 1) } {
                stake := add(stake, mul(and(shr(i, set), 1), calldataload(at)))
                at := add(at, 0x60)
            }
        }
    }

    function has(uint64 set, uint256 seat) internal pure returns (bool) {
        return seat < 64 && (set >> seat) & 1 == 1;
    }

    /// Whether every bit has a seat.
    function exist(IScoreboard.Seat[] calldata seats, uint64 set) internal pure returns (bool) {
        return set >> seats.length == 0;
    }

    /// Who signed: 0 for what is no signature. EIP-2098: the highest bit of `vs` is the parity.
    function signerOf(WeightsId id, bytes32[2] calldata signature) internal pure returns (address) {
        (bytes32 r, uint256 vs) = (signature[0], uint256(signature[1]));
        return ecrecover(WeightsId.unwrap(id), uint8(vs >> 255) + 27, r, bytes32(vs & (type(uint256).max >> 1)));
    }
}
