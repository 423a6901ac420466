// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {RevokedSerials} from "../../src/attestations/RevokedSerials.sol";
import {Cheats} from "../Cheats.sol";

/// What was added is there, nothing else is, and each is told once: as words, as code, and as both.
contract RevokedSerialsTest is Cheats {
    using RevokedSerials for RevokedSerials.Serials;

    mapping(uint256 book => RevokedSerials.Serials) private books;
    mapping(uint256 book => mapping(uint160 serial => bool)) private due;
    uint160[] private toldOf;

    function told(uint16 authority, uint160 serial) private {
        assertEq(authority, 7);
        toldOf.push(serial);
    }

    function serialOf(uint256 number) private pure returns (uint160) {
        return uint160(uint256(keccak256(abi.encode(number))));
    }

    function numbered(uint256 from, uint256 count) private pure returns (uint160[] memory serials) {
        serials = new uint160[](count);
        for (uint256 i = 0; i < count; i++) serials[i] = serialOf(from + i);
    }

    /// Adds them; exactly those that are new are told, in their order.
    function mustAdd(uint256 book, uint160[] memory serials) private {
        delete toldOf;
        uint160[] memory given = new uint160[](serials.length);
        uint256 fresh;
        for (uint256 i = 0; i < serials.length; i++) {
            if (due[book][serials[i]]) continue;
            due[book][serials[i]] = true;
            given[fresh++] = serials[i];
        }
        assertEq(books[book].add(7, copyOf(serials), told), fresh);
        assertEq(toldOf.length, fresh);
        for (uint256 i = 0; i < fresh; i++) assertEq(toldOf[i], given[i]);
        for (uint256 i = 0; i < serials.length; i++) assertTrue(this.has(book, serials[i]), "added");
    }

    /// In a call of its own, whose memory is free again.
    function has(uint256 book, uint160 serial) public view returns (bool) {
        return books[book].has(serial);
    }

    /// What is added is changed.
    function copyOf(uint160[] memory serials) private pure returns (uint160[] memory copy) {
        copy = new uint160[](serials.length);
        for (uint256 i = 0; i < copy.length; i++) copy[i] = serials[i];
    }

    function test_fewOrMany() public {
        mustAdd(1, numbered(0, 0));
        mustAdd(1, numbered(0, 3));
        assertTrue(books[1].many == address(0) && books[1].fewCount == 3, "three are few");
        mustAdd(2, numbered(0, 4));
        address first = books[2].many;
        assertTrue(first != address(0) && books[2].fewCount == 0, "four are many");
        assertEq(first.code.length, 1 + 32 + 4 * 20);
        // Nothing new: nothing changes.
        mustAdd(2, numbered(0, 4));
        mustAdd(2, numbered(0, 0));
        assertEq(books[2].many, first);
        // Four more cost as much as words.
        mustAdd(2, numbered(2, 6));
        assertTrue(books[2].many == first && books[2].fewCount == 4, "four more");
        mustAdd(2, numbered(0, 8));
        assertTrue(books[2].many == first && books[2].fewCount == 4, "the same eight");
        mustAdd(2, numbered(4, 9));
        assertTrue(books[2].many != first && books[2].fewCount == 4, "five more");
        assertEq(books[2].many.code.length, 1 + 32 + 9 * 20);
        for (uint256 i = 0; i < 13; i++) assertTrue(books[2].has(serialOf(i)), vm.toString(i));
        for (uint256 i = 13; i < 100; i++) assertTrue(!books[2].has(serialOf(i)), vm.toString(i));
        assertTrue(!books[3].has(serialOf(0)), "of nobody else");
    }

    /// Where both cost the same they are words.
    function test_sameCost() public {
        mustAdd(1, numbered(0, 29));
        address many = books[1].many;
        mustAdd(1, numbered(29, 10));
        assertTrue(books[1].many == many && books[1].fewCount == 10, "words");
    }

    function addMany() external returns (uint256) {
        return books[1].add(7, numbered(0, 58), told);
    }

    /// Too little gas never loses a serial: all of it is undone.
    function test_littleGas() public {
        uint256 fresh;
        for (uint256 limit = 1_000_000; fresh == 0; limit += limit / 200) {
            try this.addMany{gas: limit}() returns (uint256 count) {
                fresh = count;
            } catch {}
        }
        assertEq(fresh, 58);
        for (uint256 i = 0; i < 58; i++) assertTrue(this.has(1, serialOf(i)), vm.toString(i));
    }

    /// A word in which nobody is, of an issuer that has code.
    function test_none() public {
        mustAdd(1, numbered(0, 58));
        assertTrue(!books[1].has(0) && !books[1].has(type(uint160).max), "the ends");
        for (uint256 i = 0; i < 58; i++) {
            for (uint256 bit = 0; bit < 160; bit += 13) assertTrue(!this.has(1, serialOf(i) ^ uint160(1 << bit)), vm.toString(bit));
        }
        (bool isDone, bytes memory found) = books[1].many.call("");
        assertTrue(isDone && found.length == 0 && books[1].many.code[0] == 0, "it does nothing");
    }

    function test_namedTwice() public {
        uint160[] memory serials = new uint160[](3);
        (serials[0], serials[1], serials[2]) = (5, 6, 5);
        mustAdd(1, serials);
        assertEq(books[1].fewCount, 2);
        serials = new uint160[](8);
        for (uint160 i = 0; i < 8; i++) serials[i] = 16 * (i % 5) + 3;
        mustAdd(2, serials);
        assertTrue(books[2].many != address(0), "many");
        mustAdd(2, serials);
    }

    /// All of one last digit, each digit alone, and the lowest and highest number of each.
    function test_digits() public {
        for (uint160 digit = 0; digit < 16; digit++) {
            uint160[] memory serials = new uint160[](20);
            for (uint160 i = 0; i < 20; i++) serials[i] = (i << 4) | digit;
            (serials[18], serials[19]) = (digit, (type(uint160).max ^ 15) | digit);
            mustAdd(digit, serials);
            for (uint160 other = 0; other < 16; other++) {
                assertTrue(books[digit].has(other) == (other == digit), "the digit");
                assertTrue(books[digit].has((type(uint160).max ^ 15) | other) == (other == digit), "the digit, highest");
            }
            assertTrue(!books[digit].has((18 << 4) | digit), "behind the last");
        }
    }

    /// Code has an end: what does not fit any more is kept as words.
    function test_most() public {
        mustAdd(1, numbered(0, 1_200));
        address many = books[1].many;
        assertEq(many.code.length, 1 + 32 + 1_200 * 20);
        mustAdd(1, numbered(1_100, 500));
        assertTrue(books[1].many == many && books[1].fewCount == 400, "words");
        assertTrue(books[1].has(serialOf(1_199)) && books[1].has(serialOf(1_200)) && !books[1].has(serialOf(1_600)), "which");
    }

    /// Many additions, of numbers that meet.
    function testFuzz_additions(uint256 seed) public {
        for (uint256 i = 0; i < 6; i++) {
            seed = uint256(keccak256(abi.encode(seed)));
            uint160[] memory serials = new uint160[](seed % 40);
            for (uint256 j = 0; j < serials.length; j++) {
                uint256 drawn = uint256(keccak256(abi.encode(seed, j)));
                serials[j] = drawn & 1 == 0 ? uint160(drawn >> 8) : uint160((drawn >> 8) % 64);
            }
            mustAdd(seed, serials);
            mustAdd(0, serials);
        }
        for (uint160 i = 0; i < 64; i++) assertTrue(books[0].has(i) == due[0][i], "exactly these");
    }
}
