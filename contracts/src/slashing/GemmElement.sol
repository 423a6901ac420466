// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// One element of C = A·Bᵀ modulo 2^16 from its seed alone: docs/hardware-proof.md §2 to §4, src/protocol/maths/gemm-element.ts.
///
/// How 2·16384 random bytes and as many products fit in well under 3 M gas: everything runs in lanes of a 256-bit word.
/// - Philox: four blocks at a time, one 32-bit word of each in the low half of a 64-bit lane. A lane times a 32-bit constant fills its
///   64 bits and never leaves them, so one MUL is four 32×32→64 products. Words that are only xored later keep their dirty upper
///   half until the mask that follows anyway.
/// - Dot product: 8 lanes of 32 bits. A word with the entries of A in order times one with those of B in reverse has in its top lane
///   the sum of the 8 products of equal place. B is drawn in reverse (counters descending, the pair of words swapped), so nothing is ever shuffled.
///   Products are added up as they are, and the top lane is read once at the end.
/// - Entries are made non-negative first (byte ^ 0x80, or without the "− 8" and "− 181"); with bias c and sums of entries S,
///   Σ(a−c)(b−c) = Σab − c·S + k·c².
/// INVARIANT: no lane below the top one overflows into it: 7 products · 255² · 8192 additions (int8, k = 65536) < 2^32, and
/// 7 · 362² · 2048 (16 bits, k = 16384) < 2^32.
library GemmElement {
    uint8 internal constant INT8 = 0;
    uint8 internal constant FP8 = 1;
    /// 3 is bf16 and 4 tf32: the same entries as fp16.
    uint8 internal constant FP16 = 2;
    uint8 internal constant LAST_PRECISION = 4;
    /// A one in each of four 64-bit lanes.
    uint256 private constant LANES = 0x0000000000000001000000000000000100000000000000010000000000000001;

    /// Blocks a row, times rows, must fit the 32-bit counter; k is a multiple of 128 and at most what keeps sums exact (§3).
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
            uint256 total = (sums * 0x0000000100000001000000010000000100000001000000010000000100000001) >> 224;
            return uint16((products >> 224) - bias * total + k * bias * bias);
        }
    }

    /// Twenty words in memory, for round r the two keys, each in all four lanes; then two words of room for a row's draws.
    function roundKeys(bytes32 seed) private pure returns (uint256 keys) {
        assembly ("memory-safe") {
            // The first 8 bytes of the seed are two little-endian words.
            function word(value, at_) -> w {
                w := or(or(byte(at_, value), shl(8, byte(add(at_, 1), value))),
                    or(shl(16, byte(add(at_, 2), value)), shl(24, byte(add(at_, 3), value))))
            }
            keys := mload(0x40)
            mstore(0x40, add(keys, 704))
            let k0 := word(seed, 0)
            let k1 := word(seed, 4)
            let lanes := 0x0000000000000001000000000000000100000000000000010000000000000001
            for { let at_ := keys } lt(at_, add(keys, 640)) { at_ := add(at_, 64) } {
                mstore(at_, mul(k0, lanes))
                mstore(add(at_, 32), mul(k1, lanes))
                k0 := and(add(k0, 0x9E3779B9), 0xffffffff)
                k1 := and(add(k1, 0xBB67AE85), 0xffffffff)
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
            // Philox4x32-10 on four counters (c, domain, 0, 0). Words 0 and 2 come clean, 1 and 3 with a dirty upper half.
            // `start` is word 0 after the first round, in which the second product is 0: domain ^ key.
            function philox(table, counters, start) -> x0, q1, x2, q3 {
                let p0 := mul(counters, 0xD2511F53)
                let p1
                x0 := start
                x2 := and(xor(shr(32, p0), mload(add(table, 0x20))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q3 := p0
                p0 := mul(x0, 0xD2511F53)
                p1 := mul(x2, 0xCD9E8D57)
                x0 := and(xor(xor(shr(32, p1), q1), mload(add(table, 0x40))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                x2 := and(xor(xor(shr(32, p0), q3), mload(add(table, 0x60))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q1 := p1
                q3 := p0
                p0 := mul(x0, 0xD2511F53)
                p1 := mul(x2, 0xCD9E8D57)
                x0 := and(xor(xor(shr(32, p1), q1), mload(add(table, 0x80))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                x2 := and(xor(xor(shr(32, p0), q3), mload(add(table, 0xa0))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q1 := p1
                q3 := p0
                p0 := mul(x0, 0xD2511F53)
                p1 := mul(x2, 0xCD9E8D57)
                x0 := and(xor(xor(shr(32, p1), q1), mload(add(table, 0xc0))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                x2 := and(xor(xor(shr(32, p0), q3), mload(add(table, 0xe0))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q1 := p1
                q3 := p0
                p0 := mul(x0, 0xD2511F53)
                p1 := mul(x2, 0xCD9E8D57)
                x0 := and(xor(xor(shr(32, p1), q1), mload(add(table, 0x100))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                x2 := and(xor(xor(shr(32, p0), q3), mload(add(table, 0x120))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q1 := p1
                q3 := p0
                p0 := mul(x0, 0xD2511F53)
                p1 := mul(x2, 0xCD9E8D57)
                x0 := and(xor(xor(shr(32, p1), q1), mload(add(table, 0x140))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                x2 := and(xor(xor(shr(32, p0), q3), mload(add(table, 0x160))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q1 := p1
                q3 := p0
                p0 := mul(x0, 0xD2511F53)
                p1 := mul(x2, 0xCD9E8D57)
                x0 := and(xor(xor(shr(32, p1), q1), mload(add(table, 0x180))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                x2 := and(xor(xor(shr(32, p0), q3), mload(add(table, 0x1a0))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q1 := p1
                q3 := p0
                p0 := mul(x0, 0xD2511F53)
                p1 := mul(x2, 0xCD9E8D57)
                x0 := and(xor(xor(shr(32, p1), q1), mload(add(table, 0x1c0))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                x2 := and(xor(xor(shr(32, p0), q3), mload(add(table, 0x1e0))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q1 := p1
                q3 := p0
                p0 := mul(x0, 0xD2511F53)
                p1 := mul(x2, 0xCD9E8D57)
                x0 := and(xor(xor(shr(32, p1), q1), mload(add(table, 0x200))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                x2 := and(xor(xor(shr(32, p0), q3), mload(add(table, 0x220))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q1 := p1
                q3 := p0
                p0 := mul(x0, 0xD2511F53)
                p1 := mul(x2, 0xCD9E8D57)
                x0 := and(xor(xor(shr(32, p1), q1), mload(add(table, 0x240))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                x2 := and(xor(xor(shr(32, p0), q3), mload(add(table, 0x260))), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                q1 := p1
                q3 := p0
            }
            // The products of 32 bytes and the sum of all 64, by planes of 8 lanes.
            function add8(a, b) -> product, total {
                {
                    let p := and(a, 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    let q := and(b, 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
                {
                    let p := and(shr(8, a), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    let q := and(shr(8, b), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
                {
                    let p := and(shr(16, a), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    let q := and(shr(16, b), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
                {
                    let p := and(shr(24, a), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    let q := and(shr(24, b), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
            }
            // The same of (u·17) >> 8.
            function addFp8(a, b) -> product, total {
                {
                    let p := and(shr(8, mul(17, and(a, 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff))), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    let q := and(shr(8, mul(17, and(b, 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff))), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
                {
                    let p := and(shr(8, mul(17, and(shr(8, a), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff))), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    let q := and(shr(8, mul(17, and(shr(8, b), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff))), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
                {
                    let p := and(shr(8, mul(17, and(shr(16, a), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff))), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    let q := and(shr(8, mul(17, and(shr(16, b), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff))), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
                {
                    let p := and(shr(8, mul(17, and(shr(24, a), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff))), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    let q := and(shr(8, mul(17, and(shr(24, b), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff))), 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
            }
            // The same of 16-bit words, as (u·363) >> 16.
            function add16(a, b) -> product, total {
                {
                    let p := and(shr(16, mul(363, and(a, 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff))), 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff)
                    let q := and(shr(16, mul(363, and(b, 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff))), 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
                {
                    let p := and(shr(16, mul(363, and(shr(16, a), 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff))), 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff)
                    let q := and(shr(16, mul(363, and(shr(16, b), 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff))), 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff)
                    product := add(product, mul(p, q))
                    total := add(total, add(p, q))
                }
            }

            for {} left { left := sub(left, 4) } {
                {
                    let x0, q1, x2, q3 := philox(keys, countersA, mload(keys))
                    mstore(add(keys, 640), or(x0, and(shl(32, q1), 0xffffffff00000000ffffffff00000000ffffffff00000000ffffffff00000000)))
                    mstore(add(keys, 672), or(x2, and(shl(32, q3), 0xffffffff00000000ffffffff00000000ffffffff00000000ffffffff00000000)))
                }
                let b01, b23
                {
                    let x0, q1, x2, q3 := philox(keys, countersB, xor(mload(keys), 0x0000000000000001000000000000000100000000000000010000000000000001))
                    b01 := or(shl(32, x0), and(q1, 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff))
                    b23 := or(shl(32, x2), and(q3, 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff))
                }
                let product, total
                switch precision
                case 0 {
                    let a := xor(mload(add(keys, 640)), 0x8080808080808080808080808080808080808080808080808080808080808080)
                    product, total := add8(a, xor(b01, 0x8080808080808080808080808080808080808080808080808080808080808080))
                    products := add(products, product)
                    sums := add(sums, total)
                    a := xor(mload(add(keys, 672)), 0x8080808080808080808080808080808080808080808080808080808080808080)
                    product, total := add8(a, xor(b23, 0x8080808080808080808080808080808080808080808080808080808080808080))
                }
                case 1 {
                    product, total := addFp8(mload(add(keys, 640)), b01)
                    products := add(products, product)
                    sums := add(sums, total)
                    product, total := addFp8(mload(add(keys, 672)), b23)
                }
                default {
                    product, total := add16(mload(add(keys, 640)), b01)
                    products := add(products, product)
                    sums := add(sums, total)
                    product, total := add16(mload(add(keys, 672)), b23)
                }
                products := add(products, product)
                sums := add(sums, total)
                countersA := add(countersA, 0x0000000000000004000000000000000400000000000000040000000000000004)
                countersB := add(countersB, 0x0000000000000004000000000000000400000000000000040000000000000004)
            }
        }
    }
}
