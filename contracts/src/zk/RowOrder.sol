// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Cube} from "./Cube.sol";

/// The order `cube`, docs/work.md §10: bits of a row are bits of its place in the epoch, in another order, some turned over. So a point of (step, place in
/// the batch) has a point of the data's rows. src/verify/zk/segment-run.ts is its twin.
library RowOrder {
    using Cube for uint256;

    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    /// Fourth word of Philox's counter.
    uint256 private constant DOMAIN = 0x6f726472;

    struct Order {
        /// Bit j of a row is bit from[j] of the place in the epoch, turned over where the mask has a 1. In memory.
        uint256 from;
        uint256 mask;
        /// Place in the epoch with which the segment begins.
        uint256 first;
        uint256 rowBits;
        /// Bits of a segment's places.
        uint256 own;
    }

    function drawn(bytes32 seed, uint256 rowBits, uint256 own, uint256 place) internal pure returns (Order memory order) {
        unchecked {
            (uint256 epoch, uint256 first) = (place >> rowBits, place & ((1 << rowBits) - 1));
            uint256 words = wordsOf(seed, epoch, rowBits);
            uint256 from = Cube.room(rowBits);
            for (uint256 i = 0; i < rowBits; i++) from.set(i, i);
            uint256 next = 0;
            for (uint256 i = rowBits; i > 1; i--) {
                uint256 j = words.get(next++) % i;
                uint256 moved = from.get(i - 1);
                from.set(i - 1, from.get(j));
                from.set(j, moved);
            }
            return Order(from, words.get(next) & ((1 << rowBits) - 1), first, rowBits, own);
        }
    }

    /// eq of the data's rows for a point of (step, place in the batch), and a point of the rows.
    function eqAt(Order memory order, uint256 place, uint256 point) internal pure returns (uint256 product) {
        uint256 own = order.own;
        assembly ("memory-safe") {
            product := 1
            // Behind the last of the places.
            place := add(place, shl(5, own))
            for { let j := mload(add(order, 0x60)) } j {} {
                j := sub(j, 1)
                let from := mload(add(mload(order), shl(5, j)))
                let a := 0
                switch lt(from, own)
                case 1 { a := mload(sub(place, shl(5, add(from, 1)))) }
                default { a := and(shr(from, mload(add(order, 0x40))), 1) }
                let b := mload(point)
                // Turned over: eq(1 - a, b) = a + b - 2ab.
                a := addmod(add(a, b), shl(1, sub(R, mulmod(a, b, R))), R)
                if iszero(and(shr(j, mload(add(order, 0x20))), 1)) { a := sub(add(R, 1), a) }
                product := mulmod(product, a, R)
                point := add(point, 0x20)
            }
        }
    }

    /// As many words of the epoch as an order takes, and up to three more: Philox4x32-10, the key is the first 8 bytes of the seed as two little-endian words.
    function wordsOf(bytes32 seed, uint256 epoch, uint256 count) private pure returns (uint256 list) {
        unchecked {
            list = Cube.room(count + 4);
            assembly ("memory-safe") {
                function word(bytes_, from) -> v {
                    v := or(or(byte(from, bytes_), shl(8, byte(add(from, 1), bytes_))),
                        or(shl(16, byte(add(from, 2), bytes_)), shl(24, byte(add(from, 3), bytes_))))
                }
                let mask := 0xffffffff
                for { let i := 0 } lt(shl(2, i), add(count, 1)) { i := add(i, 1) } {
                    let x0 := i
                    let x1 := 0
                    let x2 := epoch
                    let x3 := DOMAIN
                    let k0 := word(seed, 0)
                    let k1 := word(seed, 4)
                    for { let round := 0 } lt(round, 10) { round := add(round, 1) } {
                        let p0 := mul(x0, 0xD2511F53)
                        let p1 := mul(x2, 0xCD9E8D57)
                        x0 := xor(xor(shr(32, p1), x1), k0)
                        x1 := and(p1, mask)
                        x2 := xor(xor(shr(32, p0), x3), k1)
                        x3 := and(p0, mask)
                        k0 := and(add(k0, 0x9E3779B9), mask)
                        k1 := and(add(k1, 0xBB67AE85), mask)
                    }
                    let to := add(list, shl(7, i))
                    mstore(to, x0)
                    mstore(add(to, 0x20), x1)
                    mstore(add(to, 0x40), x2)
                    mstore(add(to, 0x60), x3)
                }
            }
        }
    }
}
