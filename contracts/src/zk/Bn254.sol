// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {POINT, TERM, TERM_TIMES} from "./Layout.sol";

/// The curve BN254 by the chain's precompiles, and the scalars that count its points. Points are x, y; 0, 0
/// is the one at infinity. Every point is checked before a precompile sees it, so that a precompile that
/// fails had too little gas, and nothing else.
library Bn254 {
    /// Of the coordinates.
    uint256 internal constant P = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;
    /// Of the scalars.
    uint256 internal constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    uint256 private constant MODEXP = 5;
    uint256 private constant ADD = 6;
    uint256 private constant MUL = 7;
    uint256 private constant PAIRING = 8;

    /// A sum of points.
    struct Sum {
        uint256 x;
        uint256 y;
    }

    /// A point of the second group, imaginary parts first.
    struct G2 {
        uint256 xi;
        uint256 xr;
        uint256 yi;
        uint256 yr;
    }

    /// @notice Thrown when a number is not below its field's order: another spelling of one that is.
    error NumberTooLarge();
    /// @notice Thrown when a point is on no curve.
    error PointNowhere();
    /// @notice Thrown when the chain's own arithmetic gave nothing: too little gas was sent along.
    error PrecompileFailed();

    /// So many points from a place of the calldata, 64 bytes each.
    function mustBePoints(uint256 from, uint256 count) internal pure {
        bool isLarge;
        bool isNowhere;
        assembly ("memory-safe") {
            let p := P
            for { let end := add(from, shl(6, count)) } lt(from, end) { from := add(from, 0x40) } {
                let x := calldataload(from)
                let y := calldataload(add(from, 0x20))
                isLarge := or(isLarge, iszero(and(lt(x, p), lt(y, p))))
                if xor(mulmod(y, y, p), addmod(mulmod(mulmod(x, x, p), x, p), 3, p)) {
                    isNowhere := or(isNowhere, gt(or(x, y), 0))
                }
            }
        }
        if (isLarge) revert NumberTooLarge();
        if (isNowhere) revert PointNowhere();
    }

    /// So many scalars from a place of the calldata.
    function mustBeScalars(uint256 from, uint256 count) internal pure {
        bool isSmall = true;
        assembly ("memory-safe") {
            let r := R
            let end := add(from, shl(5, count))
            for {} lt(add(from, 0x1e0), end) { from := add(from, 0x200) } {
                isSmall := and(isSmall, and(and(lt(calldataload(from), r), lt(calldataload(add(from, 0x20)), r)), and(lt(calldataload(add(from, 0x40)), r), lt(calldataload(add(from, 0x60)), r))))
                isSmall := and(isSmall, and(and(lt(calldataload(add(from, 0x80)), r), lt(calldataload(add(from, 0xa0)), r)), and(lt(calldataload(add(from, 0xc0)), r), lt(calldataload(add(from, 0xe0)), r))))
                isSmall := and(isSmall, and(and(lt(calldataload(add(from, 0x100)), r), lt(calldataload(add(from, 0x120)), r)), and(lt(calldataload(add(from, 0x140)), r), lt(calldataload(add(from, 0x160)), r))))
                isSmall := and(isSmall, and(and(lt(calldataload(add(from, 0x180)), r), lt(calldataload(add(from, 0x1a0)), r)), and(lt(calldataload(add(from, 0x1c0)), r), lt(calldataload(add(from, 0x1e0)), r))))
            }
            for {} lt(from, end) { from := add(from, 0x20) } { isSmall := and(isSmall, lt(calldataload(from), r)) }
        }
        if (!isSmall) revert NumberTooLarge();
    }

    /// Adds to the sum at POINT those at a place of the calldata, each as often as its scalar in memory says.
    /// Of a verification, whose memory is that of Layout.sol.
    function gather(uint256 from, uint256 scalars, uint256 count) internal view {
        bool isDone = true;
        assembly ("memory-safe") {
            for { count := add(from, shl(6, count)) } lt(from, count) { from := add(from, 0x40) } {
                calldatacopy(TERM, from, 0x40)
                mstore(TERM_TIMES, mload(scalars))
                isDone := and(isDone, staticcall(gas(), MUL, TERM, 0x60, TERM, 0x40))
                isDone := and(isDone, eq(returndatasize(), 0x40))
                // The term stands right behind the sum.
                isDone := and(isDone, staticcall(gas(), ADD, POINT, 0x80, POINT, 0x40))
                isDone := and(isDone, eq(returndatasize(), 0x40))
                scalars := add(scalars, 0x20)
            }
        }
        if (!isDone) revert PrecompileFailed();
    }

    /// So often the group's generator.
    function gatherOne(uint256 scalar) internal view {
        bool isDone;
        assembly ("memory-safe") {
            mstore(TERM, 1)
            mstore(add(TERM, 0x20), 2)
            mstore(TERM_TIMES, scalar)
            isDone := staticcall(gas(), MUL, TERM, 0x60, TERM, 0x40)
            isDone := and(isDone, eq(returndatasize(), 0x40))
            // The term stands right behind the sum.
            isDone := and(isDone, staticcall(gas(), ADD, POINT, 0x80, POINT, 0x40))
            isDone := and(isDone, eq(returndatasize(), 0x40))
        }
        if (!isDone) revert PrecompileFailed();
    }

    /// Adds a point as often as a scalar says.
    function addTimes(Sum memory sum, uint256 x, uint256 y, uint256 scalar) internal view {
        bool isDone;
        assembly ("memory-safe") {
            let free := mload(0x40)
            let term := add(free, 0x40)
            mstore(term, x)
            mstore(add(term, 0x20), y)
            mstore(add(term, 0x40), scalar)
            isDone := staticcall(gas(), MUL, term, 0x60, term, 0x40)
            isDone := and(isDone, eq(returndatasize(), 0x40))
            mcopy(free, sum, 0x40)
            isDone := and(isDone, staticcall(gas(), ADD, free, 0x80, sum, 0x40))
            isDone := and(isDone, eq(returndatasize(), 0x40))
        }
        if (!isDone) revert PrecompileFailed();
    }

    function add(Sum memory sum, uint256 x, uint256 y) internal view {
        bool isDone;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mcopy(free, sum, 0x40)
            mstore(add(free, 0x40), x)
            mstore(add(free, 0x60), y)
            isDone := staticcall(gas(), ADD, free, 0x80, sum, 0x40)
            isDone := and(isDone, eq(returndatasize(), 0x40))
        }
        if (!isDone) revert PrecompileFailed();
    }

    /// 1/x; 0 for 0.
    function inverse(uint256 x) internal view returns (uint256 result) {
        bool isDone;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, 0x20)
            mstore(add(free, 0x20), 0x20)
            mstore(add(free, 0x40), 0x20)
            mstore(add(free, 0x60), x)
            mstore(add(free, 0x80), sub(R, 2))
            mstore(add(free, 0xa0), R)
            isDone := staticcall(gas(), MODEXP, free, 0xc0, 0x00, 0x20)
            isDone := and(isDone, eq(returndatasize(), 0x20))
            result := mload(0x00)
        }
        if (!isDone) revert PrecompileFailed();
    }

    /// Whether e(left, 1) = e(right, tau), 1 being the generator of the second group.
    function isSame(Sum memory left, Sum memory right, G2 memory tau) internal view returns (bool isEqual) {
        bool isDone;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mcopy(free, left, 0x40)
            mstore(add(free, 0x40), 0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2)
            mstore(add(free, 0x60), 0x1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed)
            mstore(add(free, 0x80), 0x090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b)
            mstore(add(free, 0xa0), 0x12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa)
            mstore(add(free, 0xc0), mload(right))
            // Minus the right one.
            let y := mload(add(right, 0x20))
            mstore(add(free, 0xe0), mul(sub(P, y), gt(y, 0)))
            mcopy(add(free, 0x100), tau, 0x80)
            isDone := staticcall(gas(), PAIRING, free, 0x180, 0x00, 0x20)
            isDone := and(isDone, eq(returndatasize(), 0x20))
            isEqual := eq(mload(0x00), 1)
        }
        if (!isDone) revert PrecompileFailed();
    }
}
