// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Lists of words in memory, named by their address; what plans are compiled with.
library Words {
    /// Order of the scalars of BN254.
    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;

    /// So many words of memory, which nobody has.
    function room(uint256 words) internal pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := mload(0x40)
            mstore(0x40, add(place, shl(5, words)))
            // Memory may have been used before.
            calldatacopy(place, calldatasize(), shl(5, words))
        }
    }

    function get(uint256 list, uint256 index) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(add(list, shl(5, index)))
        }
    }

    function set(uint256 list, uint256 index, uint256 value) internal pure {
        assembly ("memory-safe") {
            mstore(add(list, shl(5, index)), value)
        }
    }

    /// As set, so many bytes from there.
    function put(uint256 base, uint256 offset, uint256 value) internal pure {
        assembly ("memory-safe") {
            mstore(add(base, offset), value)
        }
    }

    function wordAt(uint256 base, uint256 offset) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(add(base, offset))
        }
    }

    /// Where a word stands among so many, so many bytes from there; their number if it does not. Only bits of
    /// the mask count.
    function find(uint256 base, uint256 offset, uint256 count, uint256 word, uint256 mask) internal pure returns (uint256 index) {
        assembly ("memory-safe") {
            for { let place := add(base, offset) } lt(index, count) { index := add(index, 1) } {
                if iszero(and(xor(mload(place), word), mask)) { break }
                place := add(place, 0x20)
            }
        }
    }

    /// 1 / 2^bits.
    function unshift(uint256 bits) internal pure returns (uint256 result) {
        result = 1;
        for (uint256 i = 0; i < bits; i++) result = mulmod(result, (R + 1) / 2, R);
    }
}
