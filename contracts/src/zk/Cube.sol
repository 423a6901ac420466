// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {FIELD, HEAD, MESSAGE, NEXT, STATE} from "./Layout.sol";

/// Multilinear polynomials that a verifier evaluates by itself, docs/zk.md §5, and the rounds of sums over
/// cubes. Points are scalars in memory, 32 bytes each, named by the address of the first, which belongs to
/// the highest bit of an index; their sizes are in bytes. The order of the scalars is 2^256 / 5.29: so five
/// numbers below it can be added without a remainder being taken. src/verify/zk/scalars.ts and sumcheck.ts
/// are its twins.
library Cube {
    /// So many words of memory, which nobody has, and what stood there before.
    function take(uint256 words) internal pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := mload(0x40)
            mstore(0x40, add(place, shl(5, words)))
        }
    }

    /// 1 where both are the same corner of the cube, 0 at its other corners.
    function eq(uint256 u, uint256 v, uint256 size) internal pure returns (uint256 product) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let most := add(add(r, r), 1)
            product := 1
            v := sub(v, u)
            // 1 - a - b + 2ab, for two variables at a time.
            if and(size, 0x20) {
                let a := mload(u)
                let b := mload(add(v, u))
                product := add(sub(most, add(a, b)), shl(1, mulmod(a, b, r)))
                u := add(u, 0x20)
                size := sub(size, 0x20)
            }
            for { size := add(u, size) } lt(u, size) { u := add(u, 0x40) } {
                let a := mload(u)
                let b := mload(add(v, u))
                product := mulmod(product, add(sub(most, add(a, b)), shl(1, mulmod(a, b, r))), r)
                a := mload(add(u, 0x20))
                b := mload(add(add(v, 0x20), u))
                product := mulmod(product, add(sub(most, add(a, b)), shl(1, mulmod(a, b, r))), r)
            }
            // Of a single one it may be more.
            product := mod(product, r)
        }
    }

    /// eq of the last k of both points, for k = 0 … count. `u`, `v`: behind the last.
    function suffixes(uint256 u, uint256 v, uint256 count) internal pure returns (uint256 list) {
        list = take(count + 2);
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let most := add(add(r, r), 1)
            let product := 1
            mstore(list, 1)
            let to := list
            // Two at a time, and one more than needed of an odd number: its place is taken by whatever comes
            // next.
            for { count := add(to, shl(5, count)) } lt(to, count) { to := add(to, 0x40) } {
                u := sub(u, 0x40)
                v := sub(v, 0x40)
                let a := mload(add(u, 0x20))
                let b := mload(add(v, 0x20))
                product := mulmod(product, add(sub(most, add(a, b)), shl(1, mulmod(a, b, r))), r)
                mstore(add(to, 0x20), product)
                a := mload(u)
                b := mload(v)
                product := mulmod(product, add(sub(most, add(a, b)), shl(1, mulmod(a, b, r))), r)
                mstore(add(to, 0x40), product)
            }
        }
    }

    /// eq of a corner, by its number, and a point. `end`: behind its last.
    function corner(uint256 index, uint256 end, uint256 size) internal pure returns (uint256 product) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            product := 1
            for { size := sub(end, size) } gt(end, size) {} {
                end := sub(end, 0x20)
                let x := mload(end)
                if iszero(and(index, 1)) { x := sub(add(r, 1), x) }
                product := mulmod(product, x, r)
                index := shr(1, index)
            }
        }
    }

    /// 1 where s < t, as numbers; 0 at the cube's other corners.
    function isLess(uint256 s, uint256 t, uint256 size) internal pure returns (uint256 sum) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let same := 1
            t := sub(t, s)
            for { size := add(s, size) } lt(s, size) { s := add(s, 0x20) } {
                let a := mload(s)
                let b := mload(add(s, t))
                let ab := mulmod(a, b, r)
                // same·(1 - a)·b
                sum := addmod(sum, mulmod(same, add(b, sub(r, ab)), r), r)
                same := mulmod(same, add(sub(add(add(r, r), 1), add(a, b)), add(ab, ab)), r)
            }
        }
    }

    /// eq(point, i) for all i.
    function eqs(uint256 point, uint256 count) internal pure returns (uint256 list) {
        list = take(1 << count);
        assembly ("memory-safe") {
            mstore(list, 1)
        }
        split(list, 1 << count, count, 0, point);
    }

    /// A list of eq of places of 2^level values becomes that of places of 2^bits: each has two halves, by the
    /// next variable. Only places that `left` values reach are in the list, and what stands behind them is
    /// lost.
    function split(uint256 list, uint256 left, uint256 level, uint256 bits, uint256 variable) internal pure {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            for {} gt(level, bits) { variable := add(variable, 0x20) } {
                let x := mload(variable)
                let y := sub(add(r, 1), x)
                // Behind the last place.
                let at_ := add(list, shl(5, shr(level, add(left, sub(shl(level, 1), 1)))))
                level := sub(level, 1)
                switch gt(left, shl(level, 1))
                case 0 {
                    // There is one place, and nothing in its second half.
                    mstore(list, mulmod(mload(list), y, r))
                }
                default {
                    let to := sub(add(at_, at_), list)
                    // From the last one on, so that nothing is overwritten that is needed; then four at a
                    // time.
                    for { let few := add(list, and(sub(at_, list), not(0x60))) } gt(at_, few) {} {
                        at_ := sub(at_, 0x20)
                        to := sub(to, 0x40)
                        let whole := mload(at_)
                        mstore(to, mulmod(whole, y, r))
                        mstore(add(to, 0x20), mulmod(whole, x, r))
                    }
                    for {} gt(at_, list) {} {
                        at_ := sub(at_, 0x80)
                        to := sub(to, 0x100)
                        let whole := mload(add(at_, 0x60))
                        mstore(add(to, 0xe0), mulmod(whole, x, r))
                        mstore(add(to, 0xc0), mulmod(whole, y, r))
                        whole := mload(add(at_, 0x40))
                        mstore(add(to, 0xa0), mulmod(whole, x, r))
                        mstore(add(to, 0x80), mulmod(whole, y, r))
                        whole := mload(add(at_, 0x20))
                        mstore(add(to, 0x60), mulmod(whole, x, r))
                        mstore(add(to, 0x40), mulmod(whole, y, r))
                        whole := mload(at_)
                        mstore(add(to, 0x20), mulmod(whole, x, r))
                        mstore(to, mulmod(whole, y, r))
                    }
                }
            }
        }
    }

    // Rounds of sums: each says a polynomial by its coefficients but that of X, which follows from the claim,
    // since p(0) + p(1) is it. Scalars were checked before. The point goes to `to`. Returns what the sum must
    // be where it ended. 0xe5, 0x105 … are the scalars of a message behind its first.

    /// Of degree 2: 1, X².
    function squareRounds(uint256 kind, uint256 count, uint256 claim, uint256 to) internal pure returns (uint256) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let from := mload(NEXT)
            mstore(HEAD, or(shl(248, kind), shl(216, 0x40)))
            for { count := add(to, shl(5, count)) } lt(to, count) { to := add(to, 0x20) } {
                calldatacopy(MESSAGE, from, 0x40)
                let x := keccak256(STATE, 0x65)
                mstore(STATE, x)
                x := mod(x, r)
                mstore(to, x)
                // What stands at X; then all of it.
                claim := sub(add(claim, mul(3, r)), add(shl(1, mload(MESSAGE)), mload(0xe5)))
                claim := addmod(mulmod(add(mulmod(mload(0xe5), x, r), claim), x, r), mload(MESSAGE), r)
                from := add(from, 0x40)
            }
            mstore(NEXT, from)
        }
        return claim;
    }

    /// Of degree 3: 1, X², X³.
    function cubicRounds(uint256 kind, uint256 count, uint256 claim, uint256 to) internal pure returns (uint256) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let from := mload(NEXT)
            mstore(HEAD, or(shl(248, kind), shl(216, 0x60)))
            for { count := add(to, shl(5, count)) } lt(to, count) { to := add(to, 0x20) } {
                calldatacopy(MESSAGE, from, 0x60)
                let x := keccak256(STATE, 0x85)
                mstore(STATE, x)
                x := mod(x, r)
                mstore(to, x)
                claim := sub(add(claim, shl(2, r)), add(shl(1, mload(MESSAGE)), add(mload(0xe5), mload(0x105))))
                claim := addmod(
                    mulmod(addmod(mulmod(add(mulmod(mload(0x105), x, r), mload(0xe5)), x, r), claim, r), x, r),
                    mload(MESSAGE),
                    r
                )
                from := add(from, 0x60)
            }
            mstore(NEXT, from)
        }
        return claim;
    }

    /// Of degree 6: 1, X² … X⁶.
    function sixthRounds(uint256 kind, uint256 count, uint256 claim, uint256 to) internal pure returns (uint256) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let from := mload(NEXT)
            mstore(HEAD, or(shl(248, kind), shl(216, 0xc0)))
            for { count := add(to, shl(5, count)) } lt(to, count) { to := add(to, 0x20) } {
                calldatacopy(MESSAGE, from, 0xc0)
                let x := keccak256(STATE, 0xe5)
                mstore(STATE, x)
                x := mod(x, r)
                mstore(to, x)
                let value := add(mulmod(add(mulmod(mload(0x165), x, r), mload(0x145)), x, r), mload(0x125))
                value := mulmod(add(mulmod(add(mulmod(value, x, r), mload(0x105)), x, r), mload(0xe5)), x, r)
                let sum := add(add(mload(0x165), mload(0xe5)), add(mload(0x105), add(mload(0x125), mload(0x145))))
                sum := sub(add(claim, mul(3, r)), add(mod(sum, r), shl(1, mload(MESSAGE))))
                claim := addmod(mulmod(add(value, sum), x, r), mload(MESSAGE), r)
                from := add(from, 0xc0)
            }
            mstore(NEXT, from)
        }
        return claim;
    }

    /// Of Σ eq(rho, ·)·value = 0, each without its factor of eq: X … X⁵; what stands at 1 follows, since (1 -
    /// rho)·p(0) + rho·p(1) is the claim.
    function zeroRounds(uint256 kind, uint256 rho, uint256 count, uint256 to) internal pure returns (uint256 claim) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let from := mload(NEXT)
            mstore(HEAD, or(shl(248, kind), shl(216, 0xa0)))
            for { count := add(to, shl(5, count)) } lt(to, count) { to := add(to, 0x20) } {
                calldatacopy(MESSAGE, from, 0xa0)
                let x := keccak256(STATE, 0xc5)
                mstore(STATE, x)
                x := mod(x, r)
                mstore(to, x)
                let value := add(mulmod(add(mulmod(mload(0x145), x, r), mload(0x125)), x, r), mload(0x105))
                value := mulmod(add(mulmod(add(mulmod(value, x, r), mload(0xe5)), x, r), mload(MESSAGE)), x, r)
                let sum := add(add(mload(MESSAGE), mload(0xe5)), add(mload(0x105), add(mload(0x125), mload(0x145))))
                claim := addmod(value, add(claim, sub(r, mulmod(mload(rho), sum, r))), r)
                rho := add(rho, 0x20)
                from := add(from, 0xa0)
            }
            mstore(NEXT, from)
        }
    }
}
