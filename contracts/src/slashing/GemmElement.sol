// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// One element of C = A·Bᵀ modulo 2^16 from its seed alone: docs/hardware-proof.md §2 to §4,
/// src/protocol/maths/gemm-element.ts.
///
/// How 2·16384 random bytes and as many products fit in well under 3 M gas: everything runs in lanes of a
/// 256-bit word.
/// - Philox: four blocks at a time, one 32-bit word of each in the low half of a 64-bit lane. A lane times a
///   32-bit constant fills its 64 bits and never leaves them, so one MUL is four 32×32→64 products. Words
///   that are only xored later keep their dirty upper half until the mask that follows anyway.
/// - Dot product: 8 lanes of 32 bits. A word with the entries of A in order times one with those of B in
///   reverse has in its top lane the sum of the 8 products of equal place. B is drawn in reverse (counters
///   descending, the pair of words swapped), so nothing is ever shuffled. Products are added up as they are,
///   and the top lane is read once at the end.
/// - Entries are made non-negative first (byte ^ 0x80, or without the "− 8" and "− 181"); with bias c and
///   sums of entries S, Σ(a−c)(b−c) = Σab − c·S + k·c².
/// INVARIANT: no lane below the top one overflows into it: 7 products · 255² · 8192 additions (int8, k =
/// 65536) < 2^32, and 7 · 362² · 2048 (16 bits, k = 16384) < 2^32.
///
/// The small functions in assembly cost nothing: solc inlines them, and finds a shorter stack than code
/// written out has.
library GemmElement {
    uint8 internal constant INT8 = 0;
    uint8 internal constant FP8 = 1;
    /// 3 is bf16 and 4 tf32: the same entries as fp16.
    uint8 internal constant FP16 = 2;
    uint8 internal constant LAST_PRECISION = 4;

    uint256 private constant PHILOX_M0 = 0xD2511F53;
    uint256 private constant PHILOX_M1 = 0xCD9E8D57;
    uint256 private constant PHILOX_W0 = 0x9E3779B9;
    uint256 private constant PHILOX_W1 = 0xBB67AE85;
    /// Ten rounds, two keys each.
    uint256 private constant KEY_BYTES = 640;

    /// Of four lanes of 64 bits: a one in each, four in each, the low half, the high half.
    uint256 private constant LANES = 0x0000000000000001000000000000000100000000000000010000000000000001;
    uint256 private constant FOUR_LANES = 0x0000000000000004000000000000000400000000000000040000000000000004;
    uint256 private constant LOW_WORDS = 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff;
    uint256 private constant HIGH_WORDS = 0xffffffff00000000ffffffff00000000ffffffff00000000ffffffff00000000;
    /// Of eight lanes of 32 bits: a one in each, the low byte, the low 16 bits.
    uint256 private constant EIGHT_ONES = 0x0000000100000001000000010000000100000001000000010000000100000001;
    uint256 private constant LOW_BYTES = 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff;
    uint256 private constant LOW_HALVES = 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff;
    /// The sign of each of 32 bytes.
    uint256 private constant SIGN_BITS = 0x8080808080808080808080808080808080808080808080808080808080808080;

    /// Blocks a row, times rows, must fit the 32-bit counter; k is a multiple of 128 and at most what keeps
    /// sums exact (§3).
    function isValid(uint8 precision, uint256 rows, uint256 k) internal pure returns (bool) {
        if (precision > LAST_PRECISION || k == 0 || k % 128 != 0) return false;
        bool isByte = precision <= FP8;
        return k <= (isByte ? 65536 : 16384) && rows * k <= (isByte ? 16 : 8) * uint256(1 << 32);
    }

    /// The arguments are valid as isValid says, for both rows.
    function element(uint8 precision, bytes32 seed, uint256 k, uint256 row, uint256 column)
        internal
        pure
        returns (uint16)
    {
        uint256 keys = roundKeys(seed);
        uint256 blocks = precision <= FP8 ? k / 16 : k / 8;
        // Four consecutive counters, ascending lanes for A, descending for B.
        (uint256 products, uint256 sums) = accumulate(
            precision,
            keys,
            row * blocks * LANES + 0x0000000000000003000000000000000200000000000000010000000000000000,
            column * blocks * LANES + 0x0000000000000000000000000000000100000000000000020000000000000003,
            blocks
        );
        uint256 bias = precision == INT8 ? 128 : precision == FP8 ? 8 : 181;
        unchecked {
            // The sum of 8 lanes is the top lane of the product with eight ones.
            uint256 total = (sums * EIGHT_ONES) >> 224;
            return uint16((products >> 224) - bias * total + k * bias * bias);
        }
    }

    /// Twenty words in memory: for each round the two keys, each in all four lanes.
    function roundKeys(bytes32 seed) private pure returns (uint256 keys) {
        assembly ("memory-safe") {
            // The first 8 bytes of the seed are two little-endian words.
            function word(value, at_) -> w {
                w := or(or(byte(at_, value), shl(8, byte(add(at_, 1), value))),
                    or(shl(16, byte(add(at_, 2), value)), shl(24, byte(add(at_, 3), value))))
            }
            keys := mload(0x40)
            mstore(0x40, add(keys, KEY_BYTES))
            let k0 := word(seed, 0)
            let k1 := word(seed, 4)
            for { let at_ := keys } lt(at_, add(keys, KEY_BYTES)) { at_ := add(at_, 64) } {
                mstore(at_, mul(k0, LANES))
                mstore(add(at_, 32), mul(k1, LANES))
                k0 := and(add(k0, PHILOX_W0), 0xffffffff)
                k1 := and(add(k1, PHILOX_W1), 0xffffffff)
            }
        }
    }

    /// Σ of lane products and Σ of entries over `left` blocks (a multiple of 4) of both rows.
    function accumulate(uint256 precision, uint256 keys, uint256 countersA, uint256 countersB, uint256 left)
        private
        pure
        returns (uint256 products, uint256 sums)
    {
        assembly ("memory-safe") {
            // One round of Philox4x32 on four blocks. Words 0 and 2 come clean, 1 and 3 with a dirty upper
            // half.
            function philoxRound(key, x0, x1, x2, x3) -> y0, y1, y2, y3 {
                y3 := mul(x0, PHILOX_M0)
                y1 := mul(x2, PHILOX_M1)
                y0 := and(xor(xor(shr(32, y1), x1), mload(key)), LOW_WORDS)
                y2 := and(xor(xor(shr(32, y3), x3), mload(add(key, 32))), LOW_WORDS)
            }
            // Philox4x32-10 on four counters (c, domain, 0, 0). A loop would cost 5 % of a fraud proof.
            function philox(key, counters, domain) -> x0, x1, x2, x3 {
                x0, x1, x2, x3 := philoxRound(key, counters, domain, 0, 0)
                x0, x1, x2, x3 := philoxRound(add(key, 64), x0, x1, x2, x3)
                x0, x1, x2, x3 := philoxRound(add(key, 128), x0, x1, x2, x3)
                x0, x1, x2, x3 := philoxRound(add(key, 192), x0, x1, x2, x3)
                x0, x1, x2, x3 := philoxRound(add(key, 256), x0, x1, x2, x3)
                x0, x1, x2, x3 := philoxRound(add(key, 320), x0, x1, x2, x3)
                x0, x1, x2, x3 := philoxRound(add(key, 384), x0, x1, x2, x3)
                x0, x1, x2, x3 := philoxRound(add(key, 448), x0, x1, x2, x3)
                x0, x1, x2, x3 := philoxRound(add(key, 512), x0, x1, x2, x3)
                x0, x1, x2, x3 := philoxRound(add(key, 576), x0, x1, x2, x3)
            }
            // Eight entries: (u·17) >> 8 of each low byte, (u·363) >> 16 of each low 16 bits.
            function fp8(drawn) -> entries {
                entries := and(shr(8, mul(17, and(drawn, LOW_BYTES))), LOW_BYTES)
            }
            function fp16(drawn) -> entries {
                entries := and(shr(16, mul(363, and(drawn, LOW_HALVES))), LOW_HALVES)
            }
            // Adds eight entries of each row to both sums.
            function addEight(products0, sums0, a, b) -> products1, sums1 {
                products1 := add(products0, mul(a, b))
                sums1 := add(sums0, add(a, b))
            }
            // Adds all entries of a word of draws of each row.
            function addInt8(products0, sums0, a, b) -> products1, sums1 {
                products1, sums1 := addEight(products0, sums0, and(a, LOW_BYTES), and(b, LOW_BYTES))
                products1, sums1 := addEight(products1, sums1, and(shr(8, a), LOW_BYTES), and(shr(8, b), LOW_BYTES))
                products1, sums1 := addEight(products1, sums1, and(shr(16, a), LOW_BYTES), and(shr(16, b), LOW_BYTES))
                products1, sums1 := addEight(products1, sums1, and(shr(24, a), LOW_BYTES), and(shr(24, b), LOW_BYTES))
            }
            function addFp8(products0, sums0, a, b) -> products1, sums1 {
                products1, sums1 := addEight(products0, sums0, fp8(a), fp8(b))
                products1, sums1 := addEight(products1, sums1, fp8(shr(8, a)), fp8(shr(8, b)))
                products1, sums1 := addEight(products1, sums1, fp8(shr(16, a)), fp8(shr(16, b)))
                products1, sums1 := addEight(products1, sums1, fp8(shr(24, a)), fp8(shr(24, b)))
            }
            function addFp16(products0, sums0, a, b) -> products1, sums1 {
                products1, sums1 := addEight(products0, sums0, fp16(a), fp16(b))
                products1, sums1 := addEight(products1, sums1, fp16(shr(16, a)), fp16(shr(16, b)))
            }

            for {} left { left := sub(left, 4) } {
                let a01, a23, b01, b23
                {
                    let x0, x1, x2, x3 := philox(keys, countersA, 0)
                    a01 := or(x0, and(shl(32, x1), HIGH_WORDS))
                    a23 := or(x2, and(shl(32, x3), HIGH_WORDS))
                }
                {
                    let x0, x1, x2, x3 := philox(keys, countersB, LANES)
                    b01 := or(shl(32, x0), and(x1, LOW_WORDS))
                    b23 := or(shl(32, x2), and(x3, LOW_WORDS))
                }
                switch precision
                case 0 {
                    products, sums := addInt8(products, sums, xor(a01, SIGN_BITS), xor(b01, SIGN_BITS))
                    products, sums := addInt8(products, sums, xor(a23, SIGN_BITS), xor(b23, SIGN_BITS))
                }
                case 1 {
                    products, sums := addFp8(products, sums, a01, b01)
                    products, sums := addFp8(products, sums, a23, b23)
                }
                default {
                    products, sums := addFp16(products, sums, a01, b01)
                    products, sums := addFp16(products, sums, a23, b23)
                }
                countersA := add(countersA, FOUR_LANES)
                countersB := add(countersB, FOUR_LANES)
            }
        }
    }
}
