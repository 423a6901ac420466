// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAttestations} from "./IAttestations.sol";

/// Reads JSON from the front, as Intel writes it: no white space, no escapes. What is read here was signed by Intel.
library JsonText {
    struct Cursor {
        bytes all;
        uint256 place;
    }

    uint256 private constant MOST_BYTES = 32_768;

    function wrong(Cursor memory c) internal pure {
        revert IAttestations.TextWrong(c.place);
    }

    function open(bytes calldata given) internal pure returns (Cursor memory) {
        if (given.length > MOST_BYTES) revert IAttestations.TextWrong(given.length);
        return Cursor(given, 0);
    }

    function peek(Cursor memory c) private pure returns (bytes1) {
        if (c.place >= c.all.length) wrong(c);
        return c.all[c.place];
    }

    function expect(Cursor memory c, bytes1 letter) internal pure {
        if (peek(c) != letter) wrong(c);
        c.place++;
    }

    /// Nothing may follow.
    function end(Cursor memory c) internal pure {
        if (c.place != c.all.length) wrong(c);
    }

    /// After a member or an element: whether there is another one.
    function more(Cursor memory c, bytes1 close) internal pure returns (bool) {
        bytes1 letter = peek(c);
        c.place++;
        if (letter == ",") return true;
        if (letter != close) wrong(c);
        return false;
    }

    /// An array or object: whether it has anything in it.
    function enter(Cursor memory c, bytes1 first, bytes1 close) internal pure returns (bool) {
        expect(c, first);
        if (peek(c) != close) return true;
        c.place++;
        return false;
    }

    /// A text: where it begins and ends, without its quotes.
    function text(Cursor memory c) internal pure returns (uint256 from, uint256 to) {
        expect(c, '"');
        from = c.place;
        bytes memory all = c.all;
        uint256 length = all.length;
        to = from;
        bytes32 letter;
        while (to < length) {
            assembly ("memory-safe") {
                letter := byte(0, mload(add(add(all, 0x20), to)))
            }
            // A quote ends it; a backslash would mean another text than the bytes.
            if (uint256(letter) == 0x22) break;
            if (uint256(letter) == 0x5c) wrong(c);
            to++;
        }
        if (to == length) wrong(c);
        c.place = to + 1;
    }

    /// A text of at most 32 bytes, from the left.
    function short(Cursor memory c) internal pure returns (bytes32 found) {
        (uint256 from, uint256 to) = text(c);
        if (to - from > 32) wrong(c);
        bytes memory all = c.all;
        assembly ("memory-safe") {
            found := mload(add(add(all, 0x20), from))
            found := and(found, not(shr(mul(8, sub(to, from)), not(0))))
        }
    }

    /// The name of the next member.
    function name(Cursor memory c) internal pure returns (bytes32 found) {
        (uint256 from, uint256 to) = text(c);
        expect(c, ":");
        // None that is asked for is longer.
        if (to - from > 32) return 0;
        bytes memory all = c.all;
        assembly ("memory-safe") {
            found := mload(add(add(all, 0x20), from))
            found := and(found, not(shr(mul(8, sub(to, from)), not(0))))
        }
    }

    function number(Cursor memory c, uint256 most) internal pure returns (uint256 value) {
        uint256 from = c.place;
        while (true) {
            uint256 digit = uint256(uint8(peek(c)));
            if (digit < 48 || digit > 57) break;
            value = value * 10 + digit - 48;
            if (value > most) wrong(c);
            c.place++;
        }
        if (c.place == from) wrong(c);
    }

    /// Hex of either case, this many bytes of it, from the left of a word or, of more, their keccak.
    function hex_(Cursor memory c, uint256 count) internal pure returns (bytes32 found) {
        (uint256 from, uint256 to) = text(c);
        if (to - from != 2 * count) wrong(c);
        bytes memory bytes_ = new bytes(count < 32 ? 32 : count);
        for (uint256 i = 0; i < count; i++) {
            bytes_[i] = bytes1(nibble(c, from + 2 * i) * 16 + nibble(c, from + 2 * i + 1));
        }
        return count > 32 ? keccak256(bytes_) : bytes32(bytes_);
    }

    function nibble(Cursor memory c, uint256 place) private pure returns (uint8) {
        uint8 letter = uint8(c.all[place]);
        if (letter >= 48 && letter <= 57) return letter - 48;
        letter |= 0x20;
        if (letter < 97 || letter > 102) wrong(c);
        return letter - 87;
    }

    function decimals(Cursor memory c, uint256 place, uint256 count) internal pure returns (uint256 value) {
        for (uint256 i = 0; i < count; i++) {
            uint8 letter = uint8(c.all[place + i]);
            if (letter < 48 || letter > 57) wrong(c);
            value = value * 10 + letter - 48;
        }
    }

    /// Any value.
    function skip(Cursor memory c) internal pure {
        uint256 depth;
        do {
            bytes1 letter = peek(c);
            if (letter == '"') {
                text(c);
            } else {
                if (letter == "{" || letter == "[") depth++;
                else if (letter == "}" || letter == "]") depth--;
                else if (depth == 0 && (letter == "," || letter == ":")) wrong(c);
                c.place++;
            }
            // A number or word goes on until something ends it.
            if (depth == 0 && letter != '"' && letter != "}" && letter != "]") {
                bytes1 following = peek(c);
                if (following == "," || following == "}" || following == "]") return;
            } else if (depth == 0) {
                return;
            }
        } while (true);
    }
}
