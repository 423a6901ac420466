// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {FIELD, ORDER, PLACE, P_PLACE_SIZE, P_ROW_BITS} from "./Layout.sol";

/// The order `cube`, docs/work.md §10: bits of a row are bits of its place in the epoch, in another order,
/// some turned over. So a point of (step, place in the batch) has a point of the data's rows.
/// src/verify/zk/segment-run.ts is its twin.
library RowOrder {
    /// Fourth word of Philox's counter.
    uint256 private constant DOMAIN = 0x6f726472;
    /// 1 in each of four lanes of 64 bits, and 32 bits of each.
    uint256 private constant LANES = 0x0000000000000001000000000000000100000000000000010000000000000001;
    uint256 private constant LOW = 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff;

    /// Leaves at ORDER, for each bit of a row from the highest on: where its bit of the place stands behind
    /// PLACE, plus 1 where it is turned over. Then the place's bits that the whole segment shares: `place` is
    /// the one with which it begins.
    function draw(bytes32 seed, uint256 place) internal pure {
        uint256 words;
        assembly ("memory-safe") {
            let bits := mload(P_ROW_BITS)
            words := mload(0x40)
            mstore(ORDER, add(words, 0x400))
            mstore(PLACE, add(words, 0x800))
            mstore(0x40, add(words, 0xc00))
            // As many words of the epoch as an order of 26 bits takes at most.
            philox(words, 0, seed, shr(bits, place))
            if gt(bits, 15) { philox(add(words, 0x200), 4, seed, shr(bits, place)) }

            /// 16 words from this block of the counter on: Philox4x32-10, four blocks at once. The key is the
            /// first 8 bytes of the seed as two little-endian words.
            function philox(to, block_, seed_, epoch) {
                let x0 := add(mul(block_, LANES), 0x0000000000000003000000000000000200000000000000010000000000000000)
                let x1 := 0
                let x2 := mul(epoch, LANES)
                let x3 := mul(DOMAIN, LANES)
                let k0 := mul(word(seed_, 0), LANES)
                let k1 := mul(word(seed_, 4), LANES)
                for { let round := 0 } lt(round, 10) { round := add(round, 1) } {
                    let p0 := mul(x0, 0xD2511F53)
                    let p1 := mul(x2, 0xCD9E8D57)
                    x0 := xor(xor(and(shr(32, p1), LOW), x1), k0)
                    x1 := and(p1, LOW)
                    x2 := xor(xor(and(shr(32, p0), LOW), x3), k1)
                    x3 := and(p0, LOW)
                    k0 := and(add(k0, mul(0x9E3779B9, LANES)), LOW)
                    k1 := and(add(k1, mul(0xBB67AE85, LANES)), LOW)
                }
                for { let end := add(to, 0x200) } lt(to, end) { to := add(to, 0x80) } {
                    mstore(to, and(x0, 0xffffffff))
                    mstore(add(to, 0x20), and(x1, 0xffffffff))
                    mstore(add(to, 0x40), and(x2, 0xffffffff))
                    mstore(add(to, 0x60), and(x3, 0xffffffff))
                    x0 := shr(64, x0)
                    x1 := shr(64, x1)
                    x2 := shr(64, x2)
                    x3 := shr(64, x3)
                }
            }
            function word(bytes_, from) -> v {
                v := or(or(byte(from, bytes_), shl(8, byte(add(from, 1), bytes_))),
                    or(shl(16, byte(add(from, 2), bytes_)), shl(24, byte(add(from, 3), bytes_))))
            }
        }
        shuffle(words);
        share(place);
    }

    /// Fisher and Yates; then the mask.
    function shuffle(uint256 words) private pure {
        assembly ("memory-safe") {
            let bits := mload(P_ROW_BITS)
            let list := mload(ORDER)
            // Bit j of a row stands at the end, bit 0 last: at first it is bit j of the place, and stands
            // there behind PLACE.
            for { let at_ := 0 } lt(at_, shl(5, bits)) { at_ := add(at_, 0x20) } { mstore(add(list, at_), at_) }
            let last := add(list, shl(5, sub(bits, 1)))
            for { let here := list } lt(here, last) { here := add(here, 0x20) } {
                let there := sub(last, shl(5, mod(mload(words), bits)))
                let moved := mload(here)
                mstore(here, mload(there))
                mstore(there, moved)
                words := add(words, 0x20)
                bits := sub(bits, 1)
            }
            let mask := mload(words)
            for {} iszero(lt(last, list)) { last := sub(last, 0x20) } {
                mstore(last, or(mload(last), and(mask, 1)))
                mask := shr(1, mask)
            }
        }
    }

    /// Bits of the place above those of the segment, the highest first.
    function share(uint256 place) private pure {
        assembly ("memory-safe") {
            let bits := mload(P_ROW_BITS)
            let to := mload(PLACE)
            for { let i := bits } gt(shl(5, i), mload(P_PLACE_SIZE)) {} {
                i := sub(i, 1)
                mstore(to, and(shr(i, place), 1))
                to := add(to, 0x20)
            }
        }
    }

    /// Where the variables of (step, place) belong, behind the bits that all of the segment share.
    function own() internal pure returns (uint256 to) {
        assembly ("memory-safe") {
            to := add(mload(PLACE), sub(shl(5, mload(P_ROW_BITS)), mload(P_PLACE_SIZE)))
        }
    }

    /// eq of the data's rows for the point of (step, place) that was put in its place, and a point of the
    /// rows.
    function eqAt(uint256 point) internal pure returns (uint256 product) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let place := mload(PLACE)
            let list := sub(mload(ORDER), point)
            let most := add(add(r, r), 1)
            product := 1
            for { let end := add(point, shl(5, mload(P_ROW_BITS))) } lt(point, end) { point := add(point, 0x20) } {
                let a := mload(add(list, point))
                let b := mload(point)
                // Turned over: eq(1 - a, b) = eq(a, 1 - b).
                if and(a, 1) { b := sub(add(r, 1), b) }
                a := mload(add(place, and(a, 0xffe0)))
                product := mulmod(product, add(sub(most, add(a, b)), shl(1, mulmod(a, b, r))), r)
            }
        }
    }
}
