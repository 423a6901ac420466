// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAttestations} from "./IAttestations.sol";

/// Reads JSON from the front, as Intel writes it: no white space, no escapes. What is read here was signed by
/// Intel. A place is an address in memory, and whoever reads gives the place behind what it read. Behind a
/// text are zeros, which nobody asks for: so reading at its end is refused like any other wrong letter, and
/// words may be read beyond it.
library JsonText {
    uint256 private constant MOST_BYTES = 32_768;
    uint256 private constant QUOTE = 0x22;
    uint256 private constant COMMA = 0x2c;

    function wrong(bytes memory all, uint256 place) internal pure {
        uint256 start;
        assembly ("memory-safe") {
            start := add(all, 0x20)
        }
        revert IAttestations.TextWrong(place - start);
    }

    function open(bytes calldata given) internal pure returns (bytes memory all, uint256 place) {
        if (given.length > MOST_BYTES) revert IAttestations.TextWrong(given.length);
        assembly ("memory-safe") {
            all := mload(0x40)
            mstore(all, given.length)
            place := add(all, 0x20)
            calldatacopy(place, given.offset, given.length)
            // What is looked for word by word may be looked for 32 bytes behind the end, and a word has 32.
            let last := add(place, given.length)
            mstore(last, 0)
            mstore(add(last, 0x20), 0)
            mstore(0x40, and(add(last, 0x5f), not(0x1f)))
        }
    }

    function endOf(bytes memory all) private pure returns (uint256 last) {
        assembly ("memory-safe") {
            last := add(add(all, 0x20), mload(all))
        }
    }

    function letterAt(uint256 place) internal pure returns (uint256 letter) {
        assembly ("memory-safe") {
            letter := byte(0, mload(place))
        }
    }

    function expect(bytes memory all, uint256 place, bytes1 letter) internal pure returns (uint256) {
        if (letterAt(place) != uint8(letter)) wrong(all, place);
        unchecked {
            return place + 1;
        }
    }

    /// Nothing may follow.
    function end(bytes memory all, uint256 place) internal pure {
        if (place != endOf(all)) wrong(all, place);
    }

    /// After a member or an element: whether there is another one.
    function more(bytes memory all, uint256 place, bytes1 close) internal pure returns (bool isMore, uint256 to) {
        uint256 letter = letterAt(place);
        unchecked {
            to = place + 1;
        }
        if (letter == COMMA) return (true, to);
        if (letter != uint8(close)) wrong(all, place == endOf(all) ? place : to);
    }

    /// An array or object: whether it has anything in it.
    function enter(bytes memory all, uint256 place, bytes1 first, bytes1 close) internal pure returns (bool isFull, uint256 to) {
        to = expect(all, place, first);
        isFull = letterAt(to) != uint8(close);
        if (!isFull) to++;
    }

    /// The first quote or backslash from here on; where there is none, a place behind the end, which has a
    /// zero.
    function stopOf(bytes memory all, uint256 from) private pure returns (uint256 to) {
        assembly ("memory-safe") {
            to := from
            for {} 1 {} {
                let word := mload(to)
                let low := 0x7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f
                let a := xor(word, 0x2222222222222222222222222222222222222222222222222222222222222222)
                let b := xor(word, 0x5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c)
                // 0x80 in every byte that is neither: no sum of seven bits goes beyond its byte.
                let found := and(or(add(and(a, low), low), a), or(add(and(b, low), low), b))
                // 1 in every byte that is one of them.
                found := shr(7, not(or(found, low)))
                if found {
                    // And in all behind the first, which are then counted.
                    found := or(found, shr(8, found))
                    found := or(found, shr(16, found))
                    found := or(found, shr(32, found))
                    found := or(found, shr(64, found))
                    found := or(found, shr(128, found))
                    let count := byte(0, mul(found, 0x0101010101010101010101010101010101010101010101010101010101010101))
                    to := sub(add(to, 0x20), count)
                    break
                }
                to := add(to, 0x20)
                if iszero(lt(to, add(add(all, 0x20), mload(all)))) { break }
            }
        }
    }

    /// A text: where it begins and ends, without its quotes. The place behind it is one more.
    function text(bytes memory all, uint256 place) internal pure returns (uint256 from, uint256 to) {
        from = expect(all, place, '"');
        to = stopOf(all, from);
        // A quote ends it; a backslash would mean another text than the bytes.
        if (letterAt(to) != QUOTE) wrong(all, from);
    }

    function cut(uint256 from, uint256 to) private pure returns (bytes32 found) {
        assembly ("memory-safe") {
            found := and(mload(from), not(shr(mul(8, sub(to, from)), not(0))))
        }
    }

    /// A text of at most 32 bytes, from the left.
    function short(bytes memory all, uint256 place) internal pure returns (bytes32 found, uint256 behind) {
        (uint256 from, uint256 to) = text(all, place);
        behind = to + 1;
        if (to - from > 32) wrong(all, behind);
        found = cut(from, to);
    }

    /// The name of the next member.
    function name(bytes memory all, uint256 place) internal pure returns (bytes32 found, uint256 behind) {
        (uint256 from, uint256 to) = text(all, place);
        unchecked {
            behind = expect(all, to + 1, ":");
            // None that is asked for is longer.
            if (to - from <= 32) found = cut(from, to);
        }
    }

    function number(bytes memory all, uint256 place, uint256 most) internal pure returns (uint256 value, uint256 to) {
        to = place;
        unchecked {
            while (true) {
                uint256 digit = letterAt(to) - 48;
                if (digit > 9) break;
                value = value * 10 + digit;
                if (value > most) wrong(all, to);
                to++;
            }
        }
        if (to == place) wrong(all, to);
    }

    /// Hex of either case, this many bytes of it, from the left of a word or, of more, their keccak.
    function hex_(bytes memory all, uint256 place, uint256 count) internal pure returns (bytes32 found, uint256 behind) {
        (uint256 from, uint256 to) = text(all, place);
        unchecked {
            behind = to + 1;
            if (to - from != 2 * count) wrong(all, behind);
            bytes memory bytes_ = new bytes(count);
            for (uint256 i = 0; i < count; i += 16) {
                (uint256 part, bool isHex) = sixteen(from + 2 * i, to);
                if (!isHex) wrong(all, behind);
                // Up to 16 zeros beside it, in memory that nobody has yet.
                assembly ("memory-safe") {
                    mstore(add(add(bytes_, 0x20), i), shl(128, part))
                }
            }
            found = count > 32 ? keccak256(bytes_) : bytes32(bytes_);
        }
    }

    /// The bytes whose hex is here, sixteen or as many as there are before `to`, and zeros.
    function sixteen(uint256 from, uint256 to) private pure returns (uint256 found, bool isHex) {
        assembly ("memory-safe") {
            let letters := mload(from)
            // Zeros, as letters, where something else follows.
            let rest := shr(mul(8, sub(to, from)), not(0))
            letters := or(and(letters, not(rest)), and(rest, 0x3030303030303030303030303030303030303030303030303030303030303030))
            // 1 in every byte that is a letter rather than a digit, if it is one of hex.
            let isLetter := and(shr(6, letters), 0x0101010101010101010101010101010101010101010101010101010101010101)
            found := add(and(letters, 0x0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f), mul(isLetter, 9))
            // Written again, in lower case, it must be the same; no value is above 15.
            let above9 := and(shr(4, add(found, 0x0606060606060606060606060606060606060606060606060606060606060606)), 0x0101010101010101010101010101010101010101010101010101010101010101)
            let again := add(add(found, 0x3030303030303030303030303030303030303030303030303030303030303030), mul(above9, 0x27))
            let above15 := and(found, 0xf0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0)
            isHex := iszero(or(above15, xor(again, or(letters, shl(5, isLetter)))))
            // Two of four bits each become a byte; the bytes move together.
            found := and(or(found, shr(4, found)), 0x00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff)
            found := and(or(found, shr(8, found)), 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff)
            found := and(or(found, shr(16, found)), 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff)
            found := and(or(found, shr(32, found)), 0x0000000000000000ffffffffffffffff0000000000000000ffffffffffffffff)
            found := and(or(found, shr(64, found)), 0xffffffffffffffffffffffffffffffff)
        }
    }

    /// So many digits of a text; refused at the place behind that.
    function decimals(bytes memory all, uint256 place, uint256 count, uint256 behind) internal pure returns (uint256 value) {
        unchecked {
            for (uint256 i = 0; i < count; i++) {
                uint256 digit = letterAt(place + i) - 48;
                if (digit > 9) wrong(all, behind);
                value = value * 10 + digit;
            }
        }
    }

    /// Any value.
    function skip(bytes memory all, uint256 place) internal pure returns (uint256 behind) {
        uint256 depth;
        behind = place;
        do {
            uint256 letter = letterAt(behind);
            bool isClosed = true;
            if (letter == QUOTE) {
                (, behind) = text(all, behind);
            } else if (letter == uint8(bytes1("{")) || letter == uint8(bytes1("["))) {
                depth++;
            } else if (letter == uint8(bytes1("}")) || letter == uint8(bytes1("]"))) {
                depth--;
            } else {
                if (behind == endOf(all)) wrong(all, behind);
                if (depth == 0 && (letter == COMMA || letter == uint8(bytes1(":")))) wrong(all, behind);
                isClosed = false;
            }
            unchecked {
                behind++;
            }
            // A number or word goes on until something ends it.
            if (depth == 0 && (isClosed || isOver(behind))) return behind;
        } while (true);
    }

    function isOver(uint256 place) private pure returns (bool) {
        uint256 letter = letterAt(place);
        return letter == COMMA || letter == uint8(bytes1("}")) || letter == uint8(bytes1("]"));
    }
}
