// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TaggedTree} from "../trees/TaggedTree.sol";
import {OpLeaf} from "./OpLeaf.sol";

/// Leaves of a tensor and the elements in them, docs/work.md §1: 1,024 bytes each, two's complement,
/// little-endian. The tree itself is TaggedTree. src/work/trace/tensor-tree.ts is its twin.
library TensorTree {
    uint256 internal constant LEAF_BYTES = 1024;

    /// @notice Thrown when leaf and path do not lead to the tensor's root.
    error LeafMismatch();

    function leafCount(OpLeaf.Tensor memory tensor) internal pure returns (uint256) {
        unchecked {
            return (tensor.count * tensor.size + LEAF_BYTES - 1) / LEAF_BYTES;
        }
    }

    /// Root of so many leaves of zeros.
    function zeroRoot(uint256 leaves) internal pure returns (bytes32 last) {
        bytes32 full = sha256(abi.encodePacked(TaggedTree.LEAF_TAG, TaggedTree.LEAF_TAG, new bytes(LEAF_BYTES)));
        last = full;
        for (uint256 width = leaves; width > 1; width = (width + 1) >> 1) {
            // The last one may stand for less than a full one, and goes up alone where it has no neighbour.
            if (width & 1 == 0) last = TaggedTree.nodeHash(full, last);
            full = TaggedTree.nodeHash(full, full);
        }
    }

    /// It is leaf number `index` of the tensor with this root.
    function mustBeShown(
        bytes calldata leaf,
        bytes32[] calldata path,
        uint256 index,
        OpLeaf.Tensor memory tensor,
        bytes32 root
    ) internal pure {
        if (leaf.length != LEAF_BYTES) revert LeafMismatch();
        (bool possible, bytes32 found) = TaggedTree.rootFromPath(TaggedTree.leafHash(leaf), index, leafCount(tensor), path);
        if (!possible || found != root) revert LeafMismatch();
    }

    /// The element, by the leaf that has it.
    function shownElement(
        bytes calldata leaf,
        bytes32[] calldata path,
        uint256 element,
        OpLeaf.Tensor memory tensor,
        bytes32 root
    ) internal pure returns (int256) {
        uint256 place = element * tensor.size;
        mustBeShown(leaf, path, place / LEAF_BYTES, tensor, root);
        uint256 from;
        assembly ("memory-safe") {
            from := add(leaf.offset, mod(place, LEAF_BYTES))
        }
        return read(from, tensor.size);
    }

    /// The element at a place of the calldata. Sums pay for this a thousand times: no loop.
    function read(uint256 from, uint256 size) internal pure returns (int256 value) {
        assembly ("memory-safe") {
            function half(word, i) -> v {
                v := or(or(byte(i, word), shl(8, byte(add(i, 1), word))),
                    or(shl(16, byte(add(i, 2), word)), shl(24, byte(add(i, 3), word))))
            }
            let word := calldataload(from)
            switch size
            case 1 { value := signextend(0, byte(0, word)) }
            case 2 { value := signextend(1, or(byte(0, word), shl(8, byte(1, word)))) }
            case 4 { value := signextend(3, half(word, 0)) }
            default { value := signextend(7, or(half(word, 0), shl(32, half(word, 4)))) }
        }
    }

    /// Σ a·b of `count` elements from two places of the calldata. No sum of 2²⁰ products of 64 bits leaves
    /// 256.
    function dot(uint256 a, uint256 sizeA, uint256 b, uint256 sizeB, uint256 count) internal pure returns (int256 sum) {
        uint256 done = 0;
        if (sizeA == sizeB && sizeA <= 2) {
            uint256 words = count * sizeA / 32;
            sum = sizeA == 1 ? dot8(a, b, words) : dot16(a, b, words, 32);
            done = words * 32 / sizeA;
        } else if (sizeA + sizeB == 3) {
            sum = sizeA == 1 ? dot16(a, b, count >> 4, 16) : dot16(b, a, count >> 4, 16);
            done = count & ~uint256(15);
        } else if (sizeA <= 4 && sizeB <= 4) {
            sum = dotAny(a, sizeA, b, sizeB, count >> 3);
            done = count & ~uint256(7);
        }
        unchecked {
            a += done * sizeA;
            b += done * sizeB;
            for (uint256 i = done; i < count; i++) {
                sum += read(a, sizeA) * read(b, sizeB);
                (a, b) = (a + sizeA, b + sizeB);
            }
        }
    }

    // Eight products at a time: with x = 2³² a word of eight bytes is a polynomial, and of the product of one
    // with the other's mirror image the coefficient of x⁷ is Σ a·b. What lies below cannot reach it, what
    // lies above leaves the word. Bytes are made positive by 128, and what that adds is taken off: Σ a·b = Σ
    // a'·b' − 128·Σ(a' + b') + 128²·n. Products and sums of all words of a leaf fit into their lanes, 32 · 32
    // · 255² < 2³² and 32 · 4 · 255 < 2¹⁶, so they are taken out once, at the end.

    // In variables where they are used in loops: the compiler reads what it finds often from its code, which
    // costs more.
    uint256 private constant BYTES = 0x00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff;
    uint256 private constant SHORTS = 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff;
    /// One in each of eight lanes.
    uint256 private constant ONES = 0x0000000100000001000000010000000100000001000000010000000100000001;

    function dot8(uint256 a, uint256 b, uint256 words) private pure returns (int256 sum) {
        assembly ("memory-safe") {
            let mask := 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff
            let low := BYTES
            let plain := 0
            for { let end := add(a, shl(5, words)) } lt(a, end) { a := add(a, 32) } {
                let x := xor(calldataload(a), 0x8080808080808080808080808080808080808080808080808080808080808080)
                let y := xor(calldataload(b), 0x8080808080808080808080808080808080808080808080808080808080808080)
                b := add(b, 32)
                plain := add(add(plain, add(and(x, low), and(shr(8, x), low))), add(and(y, low), and(shr(8, y), low)))
                // The lanes of y in the other order.
                y := or(shr(128, y), shl(128, y))
                y := or(
                    and(shr(64, y), 0x0000000000000000ffffffffffffffff0000000000000000ffffffffffffffff),
                    shl(64, and(y, 0x0000000000000000ffffffffffffffff0000000000000000ffffffffffffffff))
                )
                y := or(
                    and(shr(32, y), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff),
                    shl(32, and(y, 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff))
                )
                sum := add(
                    add(
                        add(sum, mul(and(x, mask), and(y, mask))),
                        mul(and(shr(8, x), mask), and(shr(8, y), mask))
                    ),
                    add(
                        mul(and(shr(16, x), mask), and(shr(16, y), mask)),
                        mul(and(shr(24, x), mask), and(shr(24, y), mask))
                    )
                )
            }
            plain := shr(224, mul(add(and(plain, SHORTS), and(shr(16, plain), SHORTS)), ONES))
            sum := sub(add(shr(224, sum), mul(words, 524288)), shl(7, plain))
        }
    }

    /// The same with x = 2⁶⁴, four at a time, and 2¹⁵ for 128: 32 · 16 · 2³² < 2⁶⁴, 32 · 4 · 2¹⁶ < 2³².
    /// `step`: 32, or 16 where a has i8.
    function dot16(uint256 a, uint256 b, uint256 words, uint256 step) private pure returns (int256 sum) {
        assembly ("memory-safe") {
            let mask := 0x000000000000ffff000000000000ffff000000000000ffff000000000000ffff
            let low := BYTES
            let plain := 0
            for { let end := add(b, shl(5, words)) } lt(b, end) { b := add(b, 32) } {
                // Little-endian in the calldata; the highest bit is turned.
                let x := calldataload(a)
                a := add(a, step)
                switch step
                case 32 {
                    x := xor(
                        or(and(shr(8, x), low), shl(8, and(x, low))),
                        0x8000800080008000800080008000800080008000800080008000800080008000
                    )
                }
                default {
                    x := xor(shr(128, x), 0x80808080808080808080808080808080)
                    x := and(or(x, shl(64, x)), 0x0000000000000000ffffffffffffffff0000000000000000ffffffffffffffff)
                    x := and(or(x, shl(32, x)), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
                    x := and(or(x, shl(16, x)), SHORTS)
                    x := and(or(x, shl(8, x)), low)
                    // 2⁷ more than the byte before, 2¹⁵ now.
                    x := add(x, 0x7f807f807f807f807f807f807f807f807f807f807f807f807f807f807f807f80)
                }
                let y := calldataload(b)
                y := xor(
                    or(and(shr(8, y), low), shl(8, and(y, low))),
                    0x8000800080008000800080008000800080008000800080008000800080008000
                )
                plain := add(plain, add(and(x, SHORTS), and(shr(16, x), SHORTS)))
                plain := add(plain, add(and(y, SHORTS), and(shr(16, y), SHORTS)))
                y := or(shr(128, y), shl(128, y))
                y := or(
                    and(shr(64, y), 0x0000000000000000ffffffffffffffff0000000000000000ffffffffffffffff),
                    shl(64, and(y, 0x0000000000000000ffffffffffffffff0000000000000000ffffffffffffffff))
                )
                sum := add(
                    add(
                        add(sum, mul(and(x, mask), and(y, mask))),
                        mul(and(shr(16, x), mask), and(shr(16, y), mask))
                    ),
                    add(
                        mul(and(shr(32, x), mask), and(shr(32, y), mask)),
                        mul(and(shr(48, x), mask), and(shr(48, y), mask))
                    )
                )
            }
            plain := shr(224, mul(plain, ONES))
            sum := sub(add(shr(192, sum), mul(words, 17179869184)), shl(15, plain))
        }
    }

    /// i32 with any type of up to 32 bits: eight of each in lanes of 32 bits, two at a time with x = 2¹²⁸.
    /// Numbers are made positive by half of their type's range, p and q: Σ a·b = Σ a'·b' − q·Σ a' − p·Σ b' +
    /// p·q·n. For 2¹⁰ of them 2¹⁰ · 2⁶⁴ < 2¹²⁸.
    function dotAny(uint256 a, uint256 sizeA, uint256 b, uint256 sizeB, uint256 rounds) private pure returns (int256 sum) {
        (uint256 x, uint256 plainA) = widened(a, sizeA, rounds);
        (uint256 y, uint256 plainB) = widened(b, sizeB, rounds);
        assembly ("memory-safe") {
            let mask := 0x000000000000000000000000ffffffff000000000000000000000000ffffffff
            for { let end := add(x, shl(5, rounds)) } lt(x, end) { x := add(x, 32) } {
                let u := mload(x)
                let v := mload(y)
                y := add(y, 32)
                v := or(shr(128, v), shl(128, v))
                sum := add(
                    add(
                        add(sum, mul(and(u, mask), and(v, mask))),
                        mul(and(shr(32, u), mask), and(shr(32, v), mask))
                    ),
                    add(
                        mul(and(shr(64, u), mask), and(shr(64, v), mask)),
                        mul(and(shr(96, u), mask), and(shr(96, v), mask))
                    )
                )
            }
            let p := shl(sub(shl(3, sizeA), 1), 1)
            let q := shl(sub(shl(3, sizeB), 1), 1)
            sum := add(shr(128, sum), mul(mul(p, q), shl(3, rounds)))
            sum := sub(sub(sum, mul(q, plainA)), mul(p, plainB))
        }
    }

    /// Eight elements a word, made positive, in lanes of 32 bits, the first one in the highest; and their
    /// sum.
    function widened(uint256 from, uint256 size, uint256 rounds) private pure returns (uint256 to, uint256 sum) {
        assembly ("memory-safe") {
            to := mload(0x40)
            let at_ := to
            let end := add(to, shl(5, rounds))
            mstore(0x40, end)
            let long := 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff
            switch size
            case 1 {
                let turn := 0x8080808080808080
                let four := 0x000000000000000000000000ffffffff000000000000000000000000ffffffff
                let two := 0x000000000000ffff000000000000ffff000000000000ffff000000000000ffff
                let one := 0x000000ff000000ff000000ff000000ff000000ff000000ff000000ff000000ff
                for {} lt(at_, end) { at_ := add(at_, 32) } {
                    let v := xor(shr(192, calldataload(from)), turn)
                    v := and(or(v, shl(96, v)), four)
                    v := and(or(v, shl(48, v)), two)
                    v := and(or(v, shl(24, v)), one)
                    mstore(at_, v)
                    sum := add(sum, v)
                    from := add(from, 8)
                }
                sum := add(and(sum, long), and(shr(32, sum), long))
            }
            case 2 {
                let low := 0x00ff00ff00ff00ff00ff00ff00ff00ff
                let turn := 0x80008000800080008000800080008000
                let four := 0x0000000000000000ffffffffffffffff0000000000000000ffffffffffffffff
                let one := SHORTS
                for {} lt(at_, end) { at_ := add(at_, 32) } {
                    let v := shr(128, calldataload(from))
                    v := xor(or(and(shr(8, v), low), shl(8, and(v, low))), turn)
                    v := and(or(v, shl(64, v)), four)
                    v := and(or(v, shl(32, v)), long)
                    v := and(or(v, shl(16, v)), one)
                    mstore(at_, v)
                    sum := add(sum, v)
                    from := add(from, 16)
                }
                sum := add(and(sum, long), and(shr(32, sum), long))
            }
            default {
                let low := BYTES
                let short := SHORTS
                let turn := 0x8000000080000000800000008000000080000000800000008000000080000000
                for {} lt(at_, end) { at_ := add(at_, 32) } {
                    let v := calldataload(from)
                    v := or(and(shr(8, v), low), shl(8, and(v, low)))
                    v := xor(or(and(shr(16, v), short), shl(16, and(v, short))), turn)
                    mstore(at_, v)
                    sum := add(sum, add(and(v, long), and(shr(32, v), long)))
                    from := add(from, 32)
                }
            }
            sum := shr(192, mul(sum, 0x0000000000000001000000000000000100000000000000010000000000000001))
        }
    }

    /// Σ of the elements whose index is this one, eight at a time, of types of up to 32 bits. It costs the
    /// same whichever are picked. Numbers are made positive as in dotAny, so `wanted` is one of the index's
    /// type.
    function pickedAny(uint256 a, uint256 sizeA, uint256 b, uint256 sizeB, uint256 rounds, uint256 wanted)
        internal
        pure
        returns (int256 sum)
    {
        (uint256 x,) = widened(a, sizeA, rounds);
        (uint256 y,) = widened(b, sizeB, rounds);
        assembly ("memory-safe") {
            let rest := 0x7fffffff7fffffff7fffffff7fffffff7fffffff7fffffff7fffffff7fffffff
            let long := 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff
            let ones := ONES
            let all := mul(add(wanted, shl(sub(shl(3, sizeB), 1), 1)), ones)
            let picks := 0
            for { let end := add(x, shl(5, rounds)) } lt(x, end) { x := add(x, 32) } {
                let other := xor(mload(y), all)
                y := add(y, 32)
                // One in each lane that is not another.
                let hits := and(shr(31, not(or(add(and(other, rest), rest), other))), ones)
                picks := add(picks, hits)
                let word := and(mload(x), mul(hits, 0xffffffff))
                sum := add(sum, add(and(word, long), and(shr(32, word), long)))
            }
            picks := shr(224, mul(picks, ones))
            sum := shr(192, mul(sum, 0x0000000000000001000000000000000100000000000000010000000000000001))
            sum := sub(sum, mul(shl(sub(shl(3, sizeA), 1), 1), picks))
        }
    }

    /// Largest of `count` elements from a place of the calldata, and the first index that has it; smallest
    /// with `isLeast`. Only what is above `best` counts.
    function most(uint256 from, uint256 size, uint256 count, bool isLeast, int256 best)
        internal
        pure
        returns (int256 found, uint256 index)
    {
        index = count;
        assembly ("memory-safe") {
            // The smallest is the largest of the turned ones: ~x = −x − 1.
            let turned := sub(0, isLeast)
            found := xor(best, turned)
            let i := 0
            // A leaf has a thousand of these: words are looked into where a byte of them is above what was
            // found, that is where a lane of byte + 127 − found reaches 256.
            if eq(size, 1) {
                let above := 0
                let low := BYTES
                for { let next := 1 } iszero(gt(add(i, 32), count)) { i := add(i, 32) } {
                    if next {
                        above := sub(127, found)
                        if slt(found, sub(0, 128)) { above := 256 }
                        if sgt(found, 127) { above := 0 }
                        above := mul(above, 0x0001000100010001000100010001000100010001000100010001000100010001)
                        next := 0
                    }
                    let word := xor(calldataload(add(from, i)), turned)
                    let positive := xor(word, 0x8080808080808080808080808080808080808080808080808080808080808080)
                    if and(
                        or(add(and(positive, low), above), add(and(shr(8, positive), low), above)),
                        0x0100010001000100010001000100010001000100010001000100010001000100
                    ) {
                        for { let j := 0 } lt(j, 32) { j := add(j, 1) } {
                            let value := signextend(0, byte(j, word))
                            if sgt(value, found) {
                                found := value
                                index := add(i, j)
                            }
                        }
                        next := 1
                    }
                }
                for {} lt(i, count) { i := add(i, 1) } {
                    let value := xor(signextend(0, byte(0, calldataload(add(from, i)))), turned)
                    if sgt(value, found) {
                        found := value
                        index := i
                    }
                }
            }
            found := xor(found, turned)
        }
        if (size > 1) return mostOfWide(from, size, count, isLeast, best);
    }

    /// Words whose bytes are turned once, then lane by lane.
    function mostOfWide(uint256 from, uint256 size, uint256 count, bool isLeast, int256 best)
        private
        pure
        returns (int256 found, uint256 index)
    {
        index = count;
        found = isLeast ? ~best : best;
        for (uint256 i = 0; i < count;) {
            uint256 word = turnedBytes(from, size);
            assembly ("memory-safe") {
                let bits := shl(3, size)
                let sign := sub(size, 1)
                let turned := sub(0, isLeast)
                for { let at_ := 256 } and(gt(at_, 0), lt(i, count)) { i := add(i, 1) } {
                    at_ := sub(at_, bits)
                    let value := xor(signextend(sign, shr(at_, word)), turned)
                    if sgt(value, found) {
                        found := value
                        index := i
                    }
                }
                from := add(from, 32)
            }
        }
        if (isLeast) found = ~found;
    }

    /// Σ of `count` elements from a place of the calldata.
    function total(uint256 from, uint256 size, uint256 count) internal pure returns (int256 sum) {
        assembly ("memory-safe") {
            let i := 0
            if eq(size, 1) {
                // As in dot8: made positive by 128, in lanes.
                let low := BYTES
                for {} iszero(gt(add(i, 32), count)) { i := add(i, 32) } {
                    let word := xor(calldataload(add(from, i)), 0x8080808080808080808080808080808080808080808080808080808080808080)
                    sum := add(sum, add(and(word, low), and(shr(8, word), low)))
                }
                sum := shr(224, mul(add(and(sum, SHORTS), and(shr(16, sum), SHORTS)), ONES))
                sum := sub(sum, shl(7, i))
                for {} lt(i, count) { i := add(i, 1) } {
                    sum := add(sum, signextend(0, byte(0, calldataload(add(from, i)))))
                }
            }
        }
        if (size == 1) return sum;
        uint256 bits = size << 3;
        for (uint256 done = 0; done < count;) {
            uint256 word = turnedBytes(from, size);
            assembly ("memory-safe") {
                for { let at_ := 256 } and(gt(at_, 0), lt(done, count)) { done := add(done, 1) } {
                    at_ := sub(at_, bits)
                    sum := add(sum, signextend(sub(size, 1), shr(at_, word)))
                }
                from := add(from, 32)
            }
        }
    }

    /// A word of elements of two, four or eight bytes, which are little-endian in the calldata.
    function turnedBytes(uint256 from, uint256 size) private pure returns (uint256 v) {
        assembly ("memory-safe") {
            v := calldataload(from)
            v := or(and(shr(8, v), BYTES), shl(8, and(v, BYTES)))
            if gt(size, 2) { v := or(and(shr(16, v), SHORTS), shl(16, and(v, SHORTS))) }
            if gt(size, 4) {
                let long := 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff
                v := or(and(shr(32, v), long), shl(32, and(v, long)))
            }
        }
    }
}
