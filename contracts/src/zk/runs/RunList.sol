// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {FIELD, ORDER, P_PLACE_SIZE, P_ROW_BITS} from "../Layout.sol";

/// The list of all that a verifier of a wrapped run must see, docs/zk.md §13, as a polynomial: its value at
/// x, from the last coefficient to the first. The twin of src/verify/zk/run/wrap-circuit.ts. Lists are in
/// memory.
library RunList {
    /// Σ of a list behind which stands what has the value `sum` at x: words from `from` to `end`.
    function words(uint256 sum, uint256 from, uint256 end, uint256 x) internal pure returns (uint256) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            for {} lt(add(from, 0x60), end) {} {
                end := sub(end, 0x80)
                sum := add(mulmod(sum, x, r), mload(add(end, 0x60)))
                sum := add(mulmod(sum, x, r), mload(add(end, 0x40)))
                sum := add(mulmod(sum, x, r), mload(add(end, 0x20)))
                sum := add(mulmod(sum, x, r), mload(end))
            }
            for {} lt(from, end) {} {
                end := sub(end, 0x20)
                sum := add(mulmod(sum, x, r), mload(end))
            }
            sum := mod(sum, r)
        }
        return sum;
    }

    /// As `words`, each of them told by halves.
    function halves(uint256 sum, uint256 from, uint256 end, uint256 x) internal pure returns (uint256) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            // A point has two words.
            for {} lt(add(from, 0x20), end) {} {
                end := sub(end, 0x40)
                let word := mload(add(end, 0x20))
                sum := add(mulmod(sum, x, r), and(word, 0xffffffffffffffffffffffffffffffff))
                sum := add(mulmod(sum, x, r), shr(128, word))
                word := mload(end)
                sum := add(mulmod(sum, x, r), and(word, 0xffffffffffffffffffffffffffffffff))
                sum := add(mulmod(sum, x, r), shr(128, word))
            }
            if lt(from, end) {
                let word := mload(from)
                sum := add(mulmod(sum, x, r), and(word, 0xffffffffffffffffffffffffffffffff))
                sum := add(mulmod(sum, x, r), shr(128, word))
            }
            sum := mod(sum, r)
        }
        return sum;
    }

    /// 1, x, … up to the power that stands for a constant in a row of an order, and the next, which is a
    /// row's length.
    function powers(uint256 x) internal pure returns (uint256 list) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            list := mload(0x40)
            let last := add(add(list, mload(P_PLACE_SIZE)), 0x20)
            mstore(0x40, add(last, 0x20))
            let power := 1
            for { let to := list } iszero(gt(to, last)) { to := add(to, 0x20) } {
                mstore(to, power)
                power := mulmod(power, x, r)
            }
        }
    }

    /// An order as RowOrder left it, for a segment that begins with this place: each row has one entry for
    /// each variable of (step, place), and a constant.
    function order(uint256 sum, uint256 place, uint256 list) internal pure returns (uint256) {
        assembly ("memory-safe") {
            let constant_ := mload(add(list, mload(P_PLACE_SIZE)))
            let whole := mload(add(add(list, mload(P_PLACE_SIZE)), 0x20))
            let shared := sub(shl(5, mload(P_ROW_BITS)), mload(P_PLACE_SIZE))
            for { let row := add(mload(ORDER), shl(5, mload(P_ROW_BITS))) } gt(row, mload(ORDER)) {} {
                row := sub(row, 0x20)
                let at_ := and(mload(row), 0xffe0)
                let isTurned := and(mload(row), 1)
                let term
                switch lt(at_, shared)
                case 1 {
                    // A bit of the place that the whole segment shares.
                    term := and(shr(sub(sub(mload(P_ROW_BITS), 1), shr(5, at_)), place), 1)
                    term := mul(constant_, xor(term, isTurned))
                }
                default {
                    term := mload(add(list, sub(at_, shared)))
                    if isTurned { term := add(constant_, sub(mload(FIELD), term)) }
                }
                sum := addmod(mulmod(sum, whole, mload(FIELD)), term, mload(FIELD))
            }
        }
        return sum;
    }
}
