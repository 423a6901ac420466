// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Multilinear polynomials that a verifier evaluates by itself, docs/zk.md §5, and the rounds of sums over cubes. Points are scalars in memory, 32 bytes
/// each, named by the address of the first, which belongs to the highest bit of an index. src/verify/zk/scalars.ts and sumcheck.ts are its twins.
library Cube {
    /// Of the scalars.
    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;

    /// Words that keptEq and keptCorner need.
    uint256 internal constant KEPT = 128;
    /// Spreads keys over 64 places: odd, of no other meaning.
    uint256 private constant SPREAD = 0x9e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c6a11d0c18e95;

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

    /// 1 where both are the same corner of the cube, 0 at its other corners.
    function eq(uint256 u, uint256 v, uint256 count) internal pure returns (uint256 product) {
        assembly ("memory-safe") {
            let r := R
            let twice := shl(1, r)
            product := 1
            for { let end := add(u, shl(5, count)) } lt(u, end) { u := add(u, 0x20) } {
                let a := mload(u)
                let b := mload(v)
                let ab := mulmod(a, b, r)
                // 1 - a - b + 2ab
                product := mulmod(product, add(sub(twice, add(a, b)), add(add(ab, ab), 1)), r)
                v := add(v, 0x20)
            }
        }
    }

    /// eq of two points, which is found once: a point is known by its address. `kept`: KEPT words that were empty. Links of one size ask for the same.
    function keptEq(uint256 kept, uint256 u, uint256 v, uint256 count) internal pure returns (uint256 product) {
        uint256 slot;
        assembly ("memory-safe") {
            let key := or(u, or(shl(64, v), shl(128, add(count, 1))))
            slot := add(kept, shl(6, shr(250, mul(key, SPREAD))))
            if eq(mload(slot), key) { product := mload(add(slot, 0x20)) }
            mstore(slot, key)
        }
        // Never 0, but for points that nobody can aim at: then it is found again.
        if (product != 0) return product;
        product = eq(u, v, count);
        assembly ("memory-safe") {
            mstore(add(slot, 0x20), product)
        }
    }

    /// As keptEq, of a corner, by its number, and a point.
    function keptCorner(uint256 kept, uint256 index, uint256 point, uint256 count) internal pure returns (uint256 product) {
        uint256 slot;
        assembly ("memory-safe") {
            let key := or(point, or(shl(64, index), shl(192, 1)))
            slot := add(kept, shl(6, shr(250, mul(key, SPREAD))))
            if eq(mload(slot), key) { product := mload(add(slot, 0x20)) }
            mstore(slot, key)
        }
        if (product != 0) return product;
        product = cornerOf(index, point, count);
        assembly ("memory-safe") {
            mstore(add(slot, 0x20), product)
        }
    }

    /// eq of the last k of both points, for k = 0 … count. `u`, `v`: behind the last.
    function suffixes(uint256 u, uint256 v, uint256 count) internal pure returns (uint256 list) {
        list = room(count + 1);
        assembly ("memory-safe") {
            let r := R
            let twice := shl(1, r)
            let product := 1
            mstore(list, 1)
            for { let i := 0x20 } iszero(gt(i, shl(5, count))) { i := add(i, 0x20) } {
                let a := mload(sub(u, i))
                let b := mload(sub(v, i))
                let ab := mulmod(a, b, r)
                product := mulmod(product, add(sub(twice, add(a, b)), add(add(ab, ab), 1)), r)
                mstore(add(list, i), product)
            }
        }
    }

    /// 1 - x and x for each x of a point: what `corner` reads.
    function pairs(uint256 point, uint256 count) internal pure returns (uint256 list) {
        list = room(2 * count);
        assembly ("memory-safe") {
            let r := R
            let to := list
            for { let end := add(point, shl(5, count)) } lt(point, end) { point := add(point, 0x20) } {
                let x := mload(point)
                mstore(to, addmod(1, sub(r, x), r))
                mstore(add(to, 0x20), x)
                to := add(to, 0x40)
            }
        }
    }

    /// eq of a corner, by its number, and the point that the pairs are of.
    function corner(uint256 index, uint256 list, uint256 count) internal pure returns (uint256 product) {
        assembly ("memory-safe") {
            let r := R
            product := 1
            for { let at_ := add(list, shl(6, count)) } gt(at_, list) {} {
                at_ := sub(at_, 0x40)
                product := mulmod(product, mload(add(at_, shl(5, and(index, 1)))), r)
                index := shr(1, index)
            }
        }
    }

    /// eq of a corner, by its number, and a point.
    function cornerOf(uint256 index, uint256 point, uint256 count) internal pure returns (uint256 product) {
        assembly ("memory-safe") {
            let r := R
            product := 1
            for { let at_ := add(point, shl(5, count)) } gt(at_, point) {} {
                at_ := sub(at_, 0x20)
                let x := mload(at_)
                if iszero(and(index, 1)) { x := add(1, sub(r, x)) }
                product := mulmod(product, x, r)
                index := shr(1, index)
            }
        }
    }

    /// 1 where s < t, as numbers; 0 at the cube's other corners.
    function isLess(uint256 s, uint256 t, uint256 count) internal pure returns (uint256 sum) {
        assembly ("memory-safe") {
            let r := R
            let twice := shl(1, r)
            let same := 1
            for { let end := add(s, shl(5, count)) } lt(s, end) { s := add(s, 0x20) } {
                let a := mload(s)
                let b := mload(t)
                let ab := mulmod(a, b, r)
                // same·(1 - a)·b
                sum := addmod(sum, mulmod(same, add(b, sub(r, ab)), r), r)
                same := mulmod(same, add(sub(twice, add(a, b)), add(add(ab, ab), 1)), r)
                t := add(t, 0x20)
            }
        }
    }

    /// eq(point, i) for all i.
    function eqs(uint256 point, uint256 count) internal pure returns (uint256 list) {
        list = room(1 << count);
        assembly ("memory-safe") {
            let r := R
            mstore(list, 1)
            let size := 0x20
            // From the last variable on, so that each doubles what is there.
            for { let at_ := add(point, shl(5, count)) } gt(at_, point) {} {
                at_ := sub(at_, 0x20)
                let x := mload(at_)
                for { let i := 0 } lt(i, size) { i := add(i, 0x20) } {
                    let whole := mload(add(list, i))
                    let more := mulmod(whole, x, r)
                    mstore(add(list, add(i, size)), more)
                    mstore(add(list, i), addmod(whole, sub(r, more), r))
                }
                size := shl(1, size)
            }
        }
    }

    /// 1 / 2^bits.
    function unshift(uint256 bits) internal pure returns (uint256 result) {
        result = 1;
        for (uint256 i = 0; i < bits; i++) result = mulmod(result, (R + 1) / 2, R);
    }

    /// What a round's message begins with, behind the transcript's state: its kind and its length.
    function headOf(uint256 kind, uint256 degree) private pure returns (uint256 head, uint256 size) {
        size = 32 * degree;
        head = (kind << 248) | (size << 216);
    }

    /// Rounds of a sum: each says a polynomial by its coefficients but that of X, which follows from the claim. The point goes to `to`. Scalars were
    /// checked before.
    function rounds(bytes32 state, uint256 from, uint256 kind, uint256 count, uint256 degree, uint256 claim, uint256 to)
        internal
        pure
        returns (bytes32, uint256)
    {
        (kind, degree) = headOf(kind, degree);
        assembly ("memory-safe") {
            mstore(add(mload(0x40), 0x20), kind)
            for { count := add(to, shl(5, count)) } lt(to, count) { to := add(to, 0x20) } {
                let x := mload(0x40)
                mstore(x, state)
                calldatacopy(add(x, 0x25), from, degree)
                state := keccak256(x, add(0x25, degree))
                x := mod(state, R)
                mstore(to, x)
                let sum := mulmod(2, calldataload(from), R)
                let value := 0
                for { let at_ := add(from, degree) } gt(at_, add(from, 0x20)) {} {
                    at_ := sub(at_, 0x20)
                    let one := calldataload(at_)
                    sum := addmod(sum, one, R)
                    value := addmod(mulmod(value, x, R), one, R)
                }
                // p(0) + p(1) is the claim.
                value := addmod(mulmod(value, x, R), addmod(claim, sub(R, sum), R), R)
                claim := addmod(mulmod(value, x, R), calldataload(from), R)
                from := add(from, degree)
            }
        }
        return (state, claim);
    }

    /// Rounds of Σ eq(rho, ·)·value = 0, each without its factor of eq: coefficients but the constant one, which follows from the claim.
    function zeroRounds(bytes32 state, uint256 from, uint256 kind, uint256 rho, uint256 count, uint256 degree, uint256 to)
        internal
        pure
        returns (bytes32, uint256 claim)
    {
        (kind, degree) = headOf(kind, degree);
        assembly ("memory-safe") {
            mstore(add(mload(0x40), 0x20), kind)
            for { count := add(to, shl(5, count)) } lt(to, count) { to := add(to, 0x20) } {
                let x := mload(0x40)
                mstore(x, state)
                calldatacopy(add(x, 0x25), from, degree)
                state := keccak256(x, add(0x25, degree))
                x := mod(state, R)
                mstore(to, x)
                let sum := 0
                let value := 0
                for { let at_ := add(from, degree) } gt(at_, from) {} {
                    at_ := sub(at_, 0x20)
                    let one := calldataload(at_)
                    sum := addmod(sum, one, R)
                    value := addmod(mulmod(value, x, R), one, R)
                }
                // (1 - rho)·p(0) + rho·p(1) is the claim.
                claim := addmod(mulmod(value, x, R), addmod(claim, sub(R, mulmod(mload(rho), sum, R)), R), R)
                rho := add(rho, 0x20)
                from := add(from, degree)
            }
        }
        return (state, claim);
    }
}
