// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "./Bn254.sol";
import {FIELD, POINT, STATE} from "./Layout.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// A committed list of 2^c scalars, as a multilinear polynomial, has this value at this point. docs/zk.md §3;
/// the twin of src/verify/zk/opening.ts. Four multiplications of points and one pairing.
library Opening {
    /// S; f(r), f(1/r), S(1/r); W, W′.
    uint256 internal constant BYTES = 288;
    uint256 private constant VALUES = 64;
    uint256 private constant LINE = 160;

    struct Claim {
        /// Behind the last of c scalars in memory; the first belongs to the highest bit of an index.
        uint256 end;
        uint256 c;
        uint256 value;
    }

    struct Drawn {
        uint256 r;
        /// 1/r
        uint256 back;
        /// 1/(r - 1/r)
        uint256 slope;
        uint256 eta;
        uint256 z;
    }

    /// @notice Thrown when the commitment does not open to what the proof says.
    error OpeningFalse();

    /// `from`: BYTES of the calldata. The commitment is the sum at POINT; the claim's point and value are
    /// scalars.
    function mustOpen(Claim memory claim, Bn254.G2 memory tau, uint256 from) internal view {
        Bn254.mustBePoints(from, 1);
        Bn254.mustBeScalars(from + VALUES, 3);
        Bn254.mustBePoints(from + LINE, 2);
        Drawn memory drawn = replay(claim, from);
        invert(drawn);
        gatherAll(drawn, from, lineAt(drawn, from + VALUES, crossedAt(claim, drawn, from + VALUES)));
        Bn254.Sum memory left;
        Bn254.Sum memory right;
        assembly ("memory-safe") {
            mcopy(left, POINT, 0x40)
            calldatacopy(right, add(from, add(LINE, 0x40)), 0x40)
        }
        if (!Bn254.isSame(left, right, tau)) revert OpeningFalse();
    }

    function replay(Claim memory claim, uint256 from) private pure returns (Drawn memory drawn) {
        assembly ("memory-safe") {
            // Commitment, point and value: kind 16.
            let free := mload(0x40)
            let size := shl(5, mload(add(claim, 0x20)))
            mstore(free, mload(STATE))
            mstore(add(free, 0x20), or(shl(248, 16), shl(216, add(size, 0x60))))
            mcopy(add(free, 0x25), POINT, 0x40)
            mcopy(add(free, 0x65), sub(mload(claim), size), size)
            mstore(add(add(free, 0x65), size), mload(add(claim, 0x40)))
            mstore(STATE, keccak256(free, add(size, 0x85)))
        }
        ZkTranscript.hear(17, from, 64);
        drawn.r = ZkTranscript.drawn();
        ZkTranscript.hear(18, from + VALUES, 96);
        drawn.eta = ZkTranscript.drawn();
        ZkTranscript.hear(19, from + LINE, 64);
        drawn.z = ZkTranscript.drawn();
    }

    /// 1/r and 1/(r - 1/r), by one inverse: of r·(r² - 1).
    function invert(Drawn memory drawn) private view {
        uint256 both;
        assembly ("memory-safe") {
            let p := mload(FIELD)
            let r := mload(drawn)
            both := mulmod(r, addmod(mulmod(r, r, p), sub(p, 1), p), p)
        }
        // Challenges with one place instead of two, which nobody can aim at.
        if (both == 0) revert OpeningFalse();
        both = Bn254.inverse(both);
        assembly ("memory-safe") {
            let p := mload(FIELD)
            let square := mulmod(mload(drawn), mload(drawn), p)
            mstore(add(drawn, 0x20), mulmod(both, add(square, sub(p, 1)), p))
            mstore(add(drawn, 0x40), mulmod(both, square, p))
        }
    }

    /// Of e(X) = Σ eq(u,i)·X^i, as a product over the bits of i: f(r)·e(1/r) + f(1/r)·e(r). `values`: of the
    /// calldata.
    function crossedAt(Claim memory claim, Drawn memory drawn, uint256 values) private pure returns (uint256 sum) {
        assembly ("memory-safe") {
            let p := mload(FIELD)
            let x := mload(drawn)
            let back := mload(add(drawn, 0x20))
            let product := calldataload(add(values, 0x20))
            let productBack := calldataload(values)
            let end := mload(claim)
            for { let first := sub(end, shl(5, mload(add(claim, 0x20)))) } gt(end, first) {} {
                end := sub(end, 0x20)
                let u := mload(end)
                product := mulmod(product, add(mulmod(u, add(x, sub(p, 1)), p), 1), p)
                productBack := mulmod(productBack, add(mulmod(u, add(back, sub(p, 1)), p), 1), p)
                x := mulmod(x, x, p)
                back := mulmod(back, back, p)
            }
            // f(X)·e(1/X) + f(1/X)·e(X) = 2·value + X·S(X) + S(1/X)/X: what stands at X^0 on both sides.
            let value := mload(add(claim, 0x40))
            sum := addmod(add(product, productBack), shl(1, sub(p, value)), p)
        }
    }

    /// -(a + b·z): f + η·S is a + b·X at r and at 1/r. `rest`: r·S(r) + S(1/r)/r.
    function lineAt(Drawn memory drawn, uint256 values, uint256 rest) private pure returns (uint256 line) {
        assembly ("memory-safe") {
            let p := mload(FIELD)
            let eta := mload(add(drawn, 0x60))
            let back := mload(add(drawn, 0x20))
            let last := calldataload(add(values, 0x40))
            // S(r), then f + η·S at r and at 1/r.
            let there := mulmod(add(rest, sub(p, mulmod(last, back, p))), back, p)
            there := addmod(calldataload(values), mulmod(eta, there, p), p)
            let other := addmod(calldataload(add(values, 0x20)), mulmod(eta, last, p), p)
            let b := mulmod(add(there, sub(p, other)), mload(add(drawn, 0x40)), p)
            // b·(r - z) less the value at r.
            line := mulmod(b, add(mload(drawn), sub(p, mload(add(drawn, 0x80)))), p)
            line := addmod(line, sub(p, there), p)
        }
    }

    /// Adds to the commitment S η times, W and W′ as often as z says, the generator so often.
    function gatherAll(Drawn memory drawn, uint256 from, uint256 line) private view {
        uint256 scalars;
        assembly ("memory-safe") {
            let p := mload(FIELD)
            // η, then z·(t - z) - 1 in the place of z, and z behind it.
            scalars := mload(0x40)
            mstore(0x40, add(scalars, 0x60))
            let z := mload(add(drawn, 0x80))
            let t := add(mload(drawn), mload(add(drawn, 0x20)))
            mstore(scalars, mload(add(drawn, 0x60)))
            mstore(add(scalars, 0x20), addmod(mulmod(z, add(t, sub(p, z)), p), sub(p, 1), p))
            mstore(add(scalars, 0x40), z)
        }
        Bn254.gather(from, scalars, 1);
        Bn254.gather(from + LINE, scalars + 32, 2);
        Bn254.gatherOne(line);
    }
}
