// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "../Bn254.sol";
import {FIELD, PLAN, POINT} from "../Layout.sol";
import {Opening} from "../Opening.sol";
import {Powers} from "../Powers.sol";
import {ZkTranscript} from "../ZkTranscript.sol";

/// Two facts about commitments to weights, docs/zk.md §15. Each reverts unless it is shown. It has no state;
/// src/verify/zk/hybrid/ is its twin.
contract WeightJudge is Powers {
    using Bn254 for Bn254.Sum;

    /// D, two quotients; a scalar.
    uint256 private constant BARE_BYTES = 224;

    /// @notice Thrown when commitments are said to be of fewer numbers than they are.
    error BareFalse();

    constructor(Bn254.G2 memory tau_, uint256[] memory bits, bytes32[] memory ids) Powers(tau_, bits, ids) {}

    /// The commitment, 64 bytes, is of a list of 2^chunkBits numbers with this one at `place`.
    function mustHave(uint256 chunkBits, bytes calldata point, uint256 place, uint256 value, bytes calldata opening)
        external
        view
    {
        uint256 from;
        assembly ("memory-safe") {
            // What Layout.sol names lies below.
            mstore(0x40, PLAN)
            from := point.offset
        }
        uint256 field = Bn254.R;
        if (point.length != 64) revert ZkTranscript.ProofLength(point.length, 64);
        if (opening.length != Opening.BYTES) revert ZkTranscript.ProofLength(opening.length, Opening.BYTES);
        if (value >= field || place >> chunkBits != 0) revert Bn254.NumberTooLarge();
        Bn254.mustBePoints(from, 1);
        uint256 list;
        assembly ("memory-safe") {
            mstore(FIELD, field)
            calldatacopy(POINT, from, 0x40)
            from := opening.offset
            // The point of the cube whose coordinates are the bits of the place.
            list := mload(0x40)
            for { let i := 0 } lt(i, chunkBits) { i := add(i, 1) } {
                mstore(add(list, shl(5, i)), and(shr(sub(sub(chunkBits, 1), i), place), 1))
            }
            mstore(0x40, add(list, shl(5, chunkBits)))
        }
        ZkTranscript.begin(keccak256(abi.encodePacked("assay/zk/weight/1", powersId(chunkBits))));
        Opening.mustOpen(Opening.Claim(list + 32 * chunkBits, chunkBits, value), tau(), from);
    }

    /// What the equation of `mustBeBare` is made of.
    struct Bare {
        uint256 rho;
        uint256 zeta;
        uint256 back;
        uint256 omega;
        uint256 value;
    }

    /// Each list of `count` numbers has these commitments, 64 bytes each: all but the last one of
    /// 2^chunkBits, that one of the rest. So they are the only ones to these numbers. `points`: of one list,
    /// or of several after each other.
    ///
    /// D(X) = X^(2^c - 1) · Σ ρ^k · X^(-shift_k) · f_k(1/X) is a polynomial only where f_k has no more than
    /// 2^c - shift_k coefficients. Shown at ζ, by the value at 1/ζ of Σ ρ^k · ζ^(-shift_k) · f_k.
    function mustBeBare(uint256 chunkBits, bytes calldata points, uint256 count, bytes calldata proof) external view {
        if (proof.length != BARE_BYTES) revert ZkTranscript.ProofLength(proof.length, BARE_BYTES);
        uint256 chunks = (count + (1 << chunkBits) - 1) >> chunkBits;
        if (count == 0 || points.length == 0 || points.length % (64 * chunks) != 0) {
            revert ZkTranscript.ProofLength(points.length, 64 * chunks);
        }
        Bare memory bare = drawn(chunkBits, count, points, proof);
        Bn254.Sum memory left = together(bare, powerOf(bare.back, (chunks << chunkBits) - count), 64 * chunks, points);
        Bn254.Sum memory right;
        addPoint(right, proof, 64, 1);
        addPoint(right, proof, 128, bare.omega);
        // (f - v) + π/ζ + ω·((D - ζ^(2^c - 1)·v) + ζ·π′) = τ·(π + ω·π′)
        addPoint(left, proof, 64, bare.back);
        addPoint(left, proof, 0, bare.omega);
        addPoint(left, proof, 128, mulmod(bare.omega, bare.zeta, Bn254.R));
        uint256 power = powerOf(bare.zeta, 1 << chunkBits);
        power = mulmod(mulmod(power, bare.back, Bn254.R), bare.omega, Bn254.R);
        uint256 off = mulmod(addmod(1, power, Bn254.R), bare.value, Bn254.R);
        left.addTimes(1, 2, off == 0 ? 0 : Bn254.R - off);
        if (!Bn254.isSame(left, right, tau())) revert BareFalse();
    }

    /// ρ after the commitments, ζ after D, ω after all.
    function drawn(uint256 chunkBits, uint256 count, bytes calldata points, bytes calldata proof)
        private
        view
        returns (Bare memory bare)
    {
        uint256 from;
        uint256 own;
        assembly ("memory-safe") {
            from := points.offset
            own := proof.offset
        }
        Bn254.mustBePoints(from, points.length / 64);
        Bn254.mustBePoints(own, 3);
        Bn254.mustBeScalars(own + 192, 1);
        bytes32 state = keccak256(abi.encodePacked("assay/zk/bare/1", powersId(chunkBits), count, points));
        bare.rho = uint256(state) % Bn254.R;
        state = keccak256(abi.encodePacked(state, proof[:64]));
        bare.zeta = uint256(state) % Bn254.R;
        if (bare.zeta == 0) revert BareFalse();
        bare.back = Bn254.inverse(bare.zeta);
        state = keccak256(abi.encodePacked(state, proof[64:]));
        bare.omega = uint256(state) % Bn254.R;
        bare.value = uint256(bytes32(proof[192:224]));
    }

    /// Σ ρ^k · ζ^(-shift_k) · f_k; only the last one of each list is shifted, which counts `shifted` times.
    function together(Bare memory bare, uint256 shifted, uint256 each, bytes calldata points)
        private
        view
        returns (Bn254.Sum memory sum)
    {
        uint256 factor = 1;
        for (uint256 at_ = 0; at_ < points.length; at_ += 64) {
            bool isLast = (at_ + 64) % each == 0;
            addPoint(sum, points, at_, isLast ? mulmod(factor, shifted, Bn254.R) : factor);
            factor = mulmod(factor, bare.rho, Bn254.R);
        }
    }

    function addPoint(Bn254.Sum memory sum, bytes calldata points, uint256 at_, uint256 factor) private view {
        (uint256 x, uint256 y) = (uint256(bytes32(points[at_:at_ + 32])), uint256(bytes32(points[at_ + 32:at_ + 64])));
        sum.addTimes(x, y, factor);
    }

    function powerOf(uint256 base, uint256 exponent) private pure returns (uint256 power) {
        power = 1;
        for (; exponent > 0; exponent >>= 1) {
            if (exponent & 1 == 1) power = mulmod(power, base, Bn254.R);
            base = mulmod(base, base, Bn254.R);
        }
    }
}
