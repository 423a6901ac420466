// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Philox4x32-10, docs/hardware-proof.md §2, one block at a time. GemmElement, which needs thousands, has
/// four in a word; RowOrder has its own.
library Philox {
    /// The block of a counter of four words; the key is the first 8 bytes of the seed as two little-endian
    /// words.
    function words(bytes32 seed, uint256 c0, uint256 c1, uint256 c2, uint256 c3)
        internal
        pure
        returns (uint256, uint256, uint256, uint256)
    {
        assembly ("memory-safe") {
            function word(bytes_, from) -> v {
                v := or(or(byte(from, bytes_), shl(8, byte(add(from, 1), bytes_))),
                    or(shl(16, byte(add(from, 2), bytes_)), shl(24, byte(add(from, 3), bytes_))))
            }
            let mask := 0xffffffff
            let k0 := word(seed, 0)
            let k1 := word(seed, 4)
            for { let round := 0 } lt(round, 10) { round := add(round, 1) } {
                let p0 := mul(c0, 0xD2511F53)
                let p1 := mul(c2, 0xCD9E8D57)
                c0 := xor(xor(shr(32, p1), c1), k0)
                c1 := and(p1, mask)
                c2 := xor(xor(shr(32, p0), c3), k1)
                c3 := and(p0, mask)
                k0 := and(add(k0, 0x9E3779B9), mask)
                k1 := and(add(k1, 0xBB67AE85), mask)
            }
        }
        return (c0, c1, c2, c3);
    }
}
