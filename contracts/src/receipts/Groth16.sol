// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Groth16 over BN254 by the precompiles: e(A, B) = e(alpha, beta) · e(inputs, gamma) · e(C, delta). Strict
/// in form. Anybody can write a true proof anew (A and B negated), so its bytes are no name for what it
/// proves. The twin of src/verify/receipts/groth16.ts.
library Groth16 {
    /// Of the coordinates.
    uint256 private constant P = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47;
    /// Of the scalars.
    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    /// A pairing of four pairs takes 181,000 (EIP-1108), and a call has 63/64 of what is left. With less, its
    /// failure says nothing.
    uint256 private constant PAIRING_GAS = 190_000;
    uint256 private constant ADD = 6;
    uint256 private constant MUL = 7;
    uint256 private constant PAIRING = 8;

    /// alpha and beta of Hermez's powers of tau: keys that were made from them begin so.
    bytes internal constant HERMEZ_CEREMONY =
        hex"2d4d9aa7e302d9df41749d5507949d05dbea33fbb16c643b22f599a2be6df2e2"
        hex"14bedd503c37ceb061d8ec60209fe345ce89830a19230301f076caff004d1926"
        hex"0967032fcbf776d1afc985f88877f182d38480a653f2decaa9794cbc3bf3060c"
        hex"0e187847ad4c798374d0d6732bf501847dd68bc0e071241e0213bc7fc13db7ab"
        hex"304cfbd1e08a704a99f5e847d93f8c3caafddec46b7a0d379da69a4d112346a7"
        hex"1739c1b1a457a8c7313123d24d2f9192f896b7c63eea05a9d57f06547ad0cec8";
    /// [1]₂: gamma of most keys.
    bytes internal constant G2_ONE =
        hex"198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2"
        hex"1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"
        hex"090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b"
        hex"12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa";

    /// @notice Thrown when a number is not below its field's order: another spelling of one that is.
    error NumberTooLarge(uint256 number);
    /// @notice Thrown when a point is on no curve, in no subgroup that counts, or at infinity.
    error PointNowhere();
    /// @notice Thrown when the proof does not prove these public values of this program.
    error ProofFalse();
    /// @notice Thrown when the chain's own arithmetic gave nothing: too little gas was sent along.
    error PrecompileFailed();

    /// Reverts unless the proof (A, B, C: eight words) holds for these inputs. `key`: alpha; beta, gamma,
    /// delta; a point for 1 and one for each input. Coordinates of the second group imaginary first, in key
    /// and proof.
    function mustHold(bytes memory key, uint256[8] memory proof, uint256[] memory inputs) internal view {
        assert(key.length == 32 * (16 + 2 * inputs.length));
        for (uint256 i = 0; i < inputs.length; i++) {
            if (inputs[i] >= R) revert NumberTooLarge(inputs[i]);
        }
        mustHaveForm(proof);
        uint256[24] memory pairs;
        // Minus A with B, alpha with beta, the inputs with gamma, C with delta. Loops would cost more than
        // all of the form's checks.
        assembly ("memory-safe") {
            mcopy(add(pairs, 0x40), add(proof, 0x40), 0x80)
            mcopy(add(pairs, 0xc0), add(key, 0x20), 0xc0)
            mcopy(add(pairs, 0x1c0), add(key, 0xe0), 0x80)
            mcopy(add(pairs, 0x280), add(key, 0x160), 0x80)
        }
        // Not zero: no point of the curve has it.
        (pairs[0], pairs[1]) = (proof[0], P - proof[1]);
        (pairs[12], pairs[13]) = sumOf(key, inputs);
        (pairs[18], pairs[19]) = (proof[6], proof[7]);
        if (!isOne(pairs)) revert ProofFalse();
    }

    /// A, B and C are points, but for what only the precompile sees of B.
    function mustHaveForm(uint256[8] memory proof) private pure {
        for (uint256 i = 0; i < 8; i++) {
            if (proof[i] >= P) revert NumberTooLarge(proof[i]);
        }
        // The precompile takes the point at infinity; a proof may not be there. What else B must be, the
        // precompile checks.
        if (!isOnCurve(proof[0], proof[1]) || !isOnCurve(proof[6], proof[7])) revert PointNowhere();
        if (proof[2] | proof[3] | proof[4] | proof[5] == 0) revert PointNowhere();
    }

    function word(bytes memory key, uint256 index) private pure returns (uint256 found) {
        assembly ("memory-safe") {
            found := mload(add(add(key, 0x20), shl(5, index)))
        }
    }

    function isOnCurve(uint256 x, uint256 y) private pure returns (bool) {
        return mulmod(y, y, P) == addmod(mulmod(mulmod(x, x, P), x, P), 3, P);
    }

    /// The point for 1 and each input's point as often as the input says.
    function sumOf(bytes memory key, uint256[] memory inputs) private view returns (uint256, uint256) {
        // The sum so far, and what comes to it.
        uint256[4] memory both;
        (both[0], both[1]) = (word(key, 14), word(key, 15));
        uint256[3] memory term;
        for (uint256 i = 0; i < inputs.length; i++) {
            // Saves a multiplication: the exit code is always zero.
            if (inputs[i] == 0) continue;
            (term[0], term[1], term[2]) = (word(key, 16 + 2 * i), word(key, 17 + 2 * i), inputs[i]);
            bool isDone;
            uint256 size;
            assembly ("memory-safe") {
                isDone := staticcall(gas(), MUL, term, 0x60, add(both, 0x40), 0x40)
                size := returndatasize()
            }
            if (!isDone || size != 0x40) revert PrecompileFailed();
            assembly ("memory-safe") {
                isDone := staticcall(gas(), ADD, both, 0x80, both, 0x40)
                size := returndatasize()
            }
            if (!isDone || size != 0x40) revert PrecompileFailed();
        }
        return (both[0], both[1]);
    }

    /// Whether the product of the four pairings is one.
    function isOne(uint256[24] memory pairs) private view returns (bool) {
        uint256[1] memory found;
        if (gasleft() < PAIRING_GAS) revert PrecompileFailed();
        bool isDone;
        uint256 size;
        assembly ("memory-safe") {
            isDone := staticcall(gas(), PAIRING, pairs, 0x300, found, 0x20)
            size := returndatasize()
        }
        // All else was checked, so B is on no curve or in another subgroup.
        if (!isDone) revert PointNowhere();
        if (size != 0x20) revert PrecompileFailed();
        return found[0] == 1;
    }
}
