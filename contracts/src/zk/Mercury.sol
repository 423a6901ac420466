// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "./Bn254.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// Mercury (ePrint 2025/385): a committed list of 2^c scalars, as a multilinear polynomial, has this value at this point. docs/zk.md §3; the twin of
/// src/verify/zk/mercury.ts. Eleven multiplications of points and one pairing.
library Mercury {
    using Bn254 for Bn254.Sum;

    /// h; q, g; S, D; g(ζ), g(1/ζ), h(ζ), h(1/ζ), h(α), S(1/ζ); quotients at ζ, 1/ζ, α.
    uint256 internal constant BYTES = 704;
    uint256 private constant SCALARS = 320;
    uint256 private constant QUOTIENTS = 512;
    /// Of the scalars. As a number: assembly knows no other.
    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;

    struct Claim {
        /// Of the transcript.
        bytes32 state;
        Bn254.Sum commitment;
        /// c scalars in memory; the first belongs to the highest bit of an index.
        uint256 point;
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
        /// ζ^b, b = 2^(c/2)
        uint256 power;
    }

    /// @notice Thrown when the commitment does not open to what the proof says.
    error OpeningFalse();

    /// `from`: BYTES of the calldata. The claim's commitment is a point, its point and value are scalars.
    function mustOpen(Claim memory claim, Bn254.G2 memory tau, uint256 from) internal view {
        Bn254.mustBePoints(from, 5);
        Bn254.mustBeScalars(from + SCALARS, 6);
        Bn254.mustBePoints(from + QUOTIENTS, 3);
        Challenges memory drawn = replay(claim, from);
        if (drawn.zeta == 0) revert OpeningFalse();
        drawn.back = Bn254.inverse(drawn.zeta);
        uint256 value = valuesTogether(claim, drawn, from);
        Bn254.Sum memory left = leftOf(claim.commitment, drawn, from, value);
        Bn254.Sum memory right;
        (uint256 x, uint256 y) = pointAt(from + QUOTIENTS);
        (right.x, right.y) = (x, y);
        (x, y) = pointAt(from + QUOTIENTS + 64);
        right.addTimes(x, y, drawn.omega);
        (x, y) = pointAt(from + QUOTIENTS + 128);
        right.addTimes(x, y, mulmod(drawn.omega, drawn.omega, R));
        if (!Bn254.isSame(left, right, tau)) revert OpeningFalse();
    }

    function replay(Claim memory claim, uint256 from) private pure returns (Challenges memory drawn) {
        uint256 message;
        uint256 size = 32 * (claim.c + 3);
        (Bn254.Sum memory commitment, uint256 point, uint256 value) = (claim.commitment, claim.point, claim.value);
        assembly ("memory-safe") {
            // The transcript copies it further on.
            message := mload(0x40)
            mcopy(message, commitment, 0x40)
            mcopy(add(message, 0x40), point, sub(size, 0x60))
            mstore(add(message, sub(size, 0x20)), value)
            mstore(0x40, add(message, size))
        }
        bytes32 state = ZkTranscript.told(claim.state, 16, message, size);
        state = ZkTranscript.heard(state, 17, from, 64);
        drawn.alpha = ZkTranscript.drawn(state);
        state = ZkTranscript.heard(state, 18, from + 64, 128);
        drawn.gamma = ZkTranscript.drawn(state);
        state = ZkTranscript.heard(state, 19, from + 192, 128);
        drawn.zeta = ZkTranscript.drawn(state);
        state = ZkTranscript.heard(state, 20, from + SCALARS, 192);
        drawn.nu = ZkTranscript.drawn(state);
        state = ZkTranscript.heard(state, 21, from + QUOTIENTS, 192);
        drawn.omega = ZkTranscript.drawn(state);
    }

    /// Values of all openings, by powers of ω and, inside each, of ν.
    function valuesTogether(Claim memory claim, Challenges memory drawn, uint256 from) private pure returns (uint256 total) {
        uint256[6] memory s;
        assembly ("memory-safe") {
            calldatacopy(s, add(from, SCALARS), 0xc0)
        }
        uint256 sZeta = thirdAt(claim, drawn, s);
        uint256 nu = drawn.nu;
        // D(X) = X^(b-1)·g(1/X) is a polynomial only where g has no more than b coefficients.
        total = mulmod(mulmod(drawn.power, drawn.back, R), s[1], R);
        // At ζ: 0, g, h, S, D.
        total = addmod(mulmod(total, nu, R), sZeta, R);
        total = addmod(mulmod(total, nu, R), s[2], R);
        total = mulmod(addmod(mulmod(total, nu, R), s[0], R), nu, R);
        // At 1/ζ: g, h, S. At α: h.
        uint256 other = addmod(mulmod(s[5], nu, R), s[3], R);
        other = addmod(mulmod(other, nu, R), s[1], R);
        other = addmod(other, mulmod(drawn.omega, s[4], R), R);
        total = addmod(total, mulmod(drawn.omega, other, R), R);
    }

    /// S(ζ): g(X)·e₁(1/X) + g(1/X)·e₁(X) + γ·(h(X)·e₂(1/X) + h(1/X)·e₂(X)) = 2·(h(α) + γ·value) + X·S(X) + S(1/X)/X is what stands at X^0 on both
    /// sides. Finds ζ^b on the way.
    function thirdAt(Claim memory claim, Challenges memory drawn, uint256[6] memory s) private pure returns (uint256) {
        uint256 half = claim.c >> 1;
        uint256 power = drawn.zeta;
        for (uint256 i = 0; i < half; i++) power = mulmod(power, power, R);
        drawn.power = power;
        uint256 sum = both(claim.point + 32 * half, half, drawn, s[0], s[1]);
        sum = addmod(sum, mulmod(drawn.gamma, both(claim.point, half, drawn, s[2], s[3]), R), R);
        uint256 other = addmod(s[4], mulmod(drawn.gamma, claim.value, R), R);
        other = addmod(addmod(other, other, R), mulmod(drawn.back, s[5], R), R);
        return mulmod(addmod(sum, R - other, R), drawn.back, R);
    }

    function both(uint256 u, uint256 count, Challenges memory drawn, uint256 atZeta, uint256 atBack)
        private
        pure
        returns (uint256)
    {
        uint256 sum = mulmod(atZeta, eqPolynomial(u, count, drawn.back), R);
        return addmod(sum, mulmod(atBack, eqPolynomial(u, count, drawn.zeta), R), R);
    }

    /// Σ eq(u,i)·x^i, as a product over the bits of i.
    function eqPolynomial(uint256 u, uint256 count, uint256 x) private pure returns (uint256 product) {
        assembly ("memory-safe") {
            let r := R
            product := 1
            for { let at_ := add(u, shl(5, count)) } gt(at_, u) {} {
                at_ := sub(at_, 0x20)
                product := mulmod(product, add(mulmod(mload(at_), add(x, sub(r, 1)), r), 1), r)
                x := mulmod(x, x, r)
            }
        }
    }

    /// Everything at ζ, ω times everything at 1/ζ, ω² times h; each quotient as often as its place says; less the values.
    function leftOf(Bn254.Sum memory commitment, Challenges memory drawn, uint256 from, uint256 value)
        private
        view
        returns (Bn254.Sum memory left)
    {
        (left.x, left.y) = (commitment.x, commitment.y);
        (uint256 nu, uint256 omega) = (drawn.nu, drawn.omega);
        uint256 square = mulmod(nu, nu, R);
        uint256 omegas = mulmod(omega, omega, R);
        // h: ν² + ων + ω²
        timesAt(left, from, addmod(addmod(square, mulmod(omega, nu, R), R), omegas, R));
        // q: α - ζ^b
        timesAt(left, from + 64, addmod(drawn.alpha, R - drawn.power, R));
        // g: -1 + ν + ω
        timesAt(left, from + 128, addmod(addmod(nu, omega, R), R - 1, R));
        // S: ν³ + ων²
        timesAt(left, from + 192, mulmod(square, addmod(nu, omega, R), R));
        // D: ν⁴
        timesAt(left, from + 256, mulmod(square, square, R));
        timesAt(left, from + QUOTIENTS, drawn.zeta);
        timesAt(left, from + QUOTIENTS + 64, mulmod(omega, drawn.back, R));
        timesAt(left, from + QUOTIENTS + 128, mulmod(omegas, drawn.alpha, R));
        left.addTimes(1, 2, (R - value) % R);
    }

    function timesAt(Bn254.Sum memory sum, uint256 from, uint256 scalar) private view {
        (uint256 x, uint256 y) = pointAt(from);
        sum.addTimes(x, y, scalar);
    }

    function pointAt(uint256 from) private pure returns (uint256 x, uint256 y) {
        assembly ("memory-safe") {
            x := calldataload(from)
            y := calldataload(add(from, 0x20))
        }
    }
}
