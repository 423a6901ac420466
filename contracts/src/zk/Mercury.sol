// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "./Bn254.sol";
import {FIELD, POINT, STATE} from "./Layout.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// Mercury (ePrint 2025/385): a committed list of 2^c scalars, as a multilinear polynomial, has this value at this point. docs/zk.md §3; the twin of
/// src/verify/zk/mercury.ts. Eleven multiplications of points and one pairing.
library Mercury {
    /// h; q, g; S, D; g(ζ), g(1/ζ), h(ζ), h(1/ζ), h(α), S(1/ζ); quotients at ζ, 1/ζ, α.
    uint256 internal constant BYTES = 704;
    uint256 private constant SCALARS = 320;
    uint256 private constant QUOTIENTS = 512;

    struct Claim {
        /// Behind the last of c scalars in memory; the first belongs to the highest bit of an index.
        uint256 end;
        uint256 c;
        uint256 value;
    }

    struct Challenges {
        uint256 alpha;
        uint256 gamma;
        uint256 zeta;
        /// 1/ζ
        uint256 back;
        uint256 nu;
        uint256 omega;
        /// ζ^b, b = 2^(c/2); in the end ω².
        uint256 power;
    }

    /// @notice Thrown when the commitment does not open to what the proof says.
    error OpeningFalse();

    /// `from`: BYTES of the calldata. The commitment is the sum at POINT; the claim's point and value are scalars.
    function mustOpen(Claim memory claim, Bn254.G2 memory tau, uint256 from) internal view {
        (Bn254.Sum memory left, Bn254.Sum memory right) = sides(claim, from);
        if (!Bn254.isSame(left, right, tau)) revert OpeningFalse();
    }

    /// All but the pairing: it opens where e(left, 1) = e(right, tau).
    function sides(Claim memory claim, uint256 from) internal view returns (Bn254.Sum memory left, Bn254.Sum memory right) {
        Bn254.mustBePoints(from, 5);
        Bn254.mustBeScalars(from + SCALARS, 6);
        Bn254.mustBePoints(from + QUOTIENTS, 3);
        Challenges memory drawn = replay(claim, from);
        if (drawn.zeta == 0) revert OpeningFalse();
        drawn.back = Bn254.inverse(drawn.zeta);
        uint256 third = thirdAt(claim, drawn, from);
        gatherLeft(drawn, from, valuesTogether(drawn, from, third));
        assembly ("memory-safe") {
            mcopy(left, POINT, 0x40)
            calldatacopy(POINT, add(from, QUOTIENTS), 0x40)
        }
        uint256 omegas;
        assembly ("memory-safe") {
            // ω, ω²
            omegas := add(drawn, 0xa0)
            mstore(add(drawn, 0xc0), mulmod(mload(omegas), mload(omegas), mload(FIELD)))
        }
        Bn254.gather(from + QUOTIENTS + 64, omegas, 2);
        assembly ("memory-safe") {
            mcopy(right, POINT, 0x40)
        }
    }

    function replay(Claim memory claim, uint256 from) private pure returns (Challenges memory drawn) {
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
        drawn.alpha = ZkTranscript.drawn();
        ZkTranscript.hear(18, from + 64, 128);
        drawn.gamma = ZkTranscript.drawn();
        ZkTranscript.hear(19, from + 192, 128);
        drawn.zeta = ZkTranscript.drawn();
        ZkTranscript.hear(20, from + SCALARS, 192);
        drawn.nu = ZkTranscript.drawn();
        ZkTranscript.hear(21, from + QUOTIENTS, 192);
        drawn.omega = ZkTranscript.drawn();
    }

    /// Values of all openings, by powers of ω and, inside each, of ν. `third`: S(ζ).
    function valuesTogether(Challenges memory drawn, uint256 from, uint256 third) private pure returns (uint256 total) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let s := add(from, SCALARS)
            let nu := mload(add(drawn, 0x80))
            let omega := mload(add(drawn, 0xa0))
            // D(X) = X^(b-1)·g(1/X) is a polynomial only where g has no more than b coefficients.
            total := mulmod(mulmod(mload(add(drawn, 0xc0)), mload(add(drawn, 0x60)), r), calldataload(add(s, 0x20)), r)
            // At ζ: 0, g, h, S, D.
            total := add(mulmod(total, nu, r), third)
            total := add(mulmod(total, nu, r), calldataload(add(s, 0x40)))
            total := mulmod(add(mulmod(total, nu, r), calldataload(s)), nu, r)
            // At 1/ζ: g, h, S. At α: h.
            let other := add(mulmod(calldataload(add(s, 0xa0)), nu, r), calldataload(add(s, 0x60)))
            other := add(mulmod(other, nu, r), calldataload(add(s, 0x20)))
            other := add(other, mulmod(omega, calldataload(add(s, 0x80)), r))
            total := addmod(total, mulmod(omega, other, r), r)
        }
    }

    /// S(ζ): g(X)·e₁(1/X) + g(1/X)·e₁(X) + γ·(h(X)·e₂(1/X) + h(1/X)·e₂(X)) = 2·(h(α) + γ·value) + X·S(X) + S(1/X)/X is what stands at X^0 on both
    /// sides. Finds ζ^b on the way.
    function thirdAt(Claim memory claim, Challenges memory drawn, uint256 from) private pure returns (uint256 third) {
        uint256 half = claim.c >> 1;
        uint256 first = both(claim.end, half, drawn, from + SCALARS);
        third = both(claim.end - 32 * half, half, drawn, from + SCALARS + 64);
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let gamma := mload(add(drawn, 0x20))
            let back := mload(add(drawn, 0x60))
            from := add(from, SCALARS)
            third := add(mulmod(gamma, third, r), first)
            let other := addmod(calldataload(add(from, 0x80)), mulmod(gamma, mload(add(claim, 0x40)), r), r)
            other := addmod(add(other, other), mulmod(back, calldataload(add(from, 0xa0)), r), r)
            third := mulmod(add(third, sub(r, other)), back, r)
        }
    }

    /// Of e(X) = Σ eq(u,i)·X^i, as a product over the bits of i: value at ζ · e(1/ζ) + value at 1/ζ · e(ζ). `end`: behind u. `values`: of the calldata. Leaves ζ^(2^count) as the power.
    function both(uint256 end, uint256 count, Challenges memory drawn, uint256 values) private pure returns (uint256 sum) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let x := mload(add(drawn, 0x40))
            let back := mload(add(drawn, 0x60))
            let product := calldataload(add(values, 0x20))
            let productBack := calldataload(values)
            for { count := sub(end, shl(5, count)) } gt(end, count) {} {
                end := sub(end, 0x20)
                let u := mload(end)
                product := mulmod(product, add(mulmod(u, add(x, sub(r, 1)), r), 1), r)
                productBack := mulmod(productBack, add(mulmod(u, add(back, sub(r, 1)), r), 1), r)
                x := mulmod(x, x, r)
                back := mulmod(back, back, r)
            }
            mstore(add(drawn, 0xc0), x)
            sum := addmod(product, productBack, r)
        }
    }

    /// Adds to the commitment everything else at ζ, ω times everything at 1/ζ, ω² times h; each quotient as often as its place says; less the values.
    function gatherLeft(Challenges memory drawn, uint256 from, uint256 value) private view {
        uint256[9] memory scalars;
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let nu := mload(add(drawn, 0x80))
            let omega := mload(add(drawn, 0xa0))
            let square := mulmod(nu, nu, r)
            let omegas := mulmod(omega, omega, r)
            // h: ν² + ων + ω²
            mstore(scalars, addmod(add(square, mulmod(omega, nu, r)), omegas, r))
            // q: α - ζ^b
            mstore(add(scalars, 0x20), addmod(mload(drawn), sub(r, mload(add(drawn, 0xc0))), r))
            // g: -1 + ν + ω
            mstore(add(scalars, 0x40), addmod(add(nu, omega), sub(r, 1), r))
            // S: ν³ + ων²
            mstore(add(scalars, 0x60), mulmod(square, add(nu, omega), r))
            // D: ν⁴
            mstore(add(scalars, 0x80), mulmod(square, square, r))
            mstore(add(scalars, 0xa0), mload(add(drawn, 0x40)))
            mstore(add(scalars, 0xc0), mulmod(omega, mload(add(drawn, 0x60)), r))
            mstore(add(scalars, 0xe0), mulmod(omegas, mload(drawn), r))
            mstore(add(scalars, 0x100), mulmod(sub(r, value), 1, r))
        }
        uint256 list;
        assembly ("memory-safe") {
            list := scalars
        }
        Bn254.gather(from, list, 5);
        Bn254.gather(from + QUOTIENTS, list + 160, 3);
        Bn254.gatherOne(scalars[8]);
    }
}
