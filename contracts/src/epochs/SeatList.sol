// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard, ReportRoot, WeightsId} from "./IScoreboard.sol";

/// The validators that have revealed in an epoch, as callers list them: their one hash, and what stake sets of
/// them have. Bit i of a set is seat i.
library SeatList {
    function append(bytes32 hash, address signer, uint96 stake, ReportRoot root) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(hash, signer, stake, root));
    }

    function hashOf(IScoreboard.Seat[] calldata seats) internal pure returns (bytes32 hash) {
        for (uint256 i = 0; i < seats.length; i++) {
            IScoreboard.Seat calldata seat = seats[i];
            hash = append(hash, seat.signer, seat.stake, seat.root);
        }
    }

    /// A bit without a seat has no stake. Sums of 96 bits cannot pass 128.
    function stakeOf(IScoreboard.Seat[] calldata seats, uint64 set) internal pure returns (uint128 stake) {
        for (uint256 i = 0; i < seats.length; i++) {
            if (has(set, i)) stake += seats[i].stake;
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
