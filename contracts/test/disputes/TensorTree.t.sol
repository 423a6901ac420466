// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TensorTree} from "../../src/disputes/TensorTree.sol";
import {Cheats} from "../Cheats.sol";

/// Sums and extremes over elements of a leaf, many at a time, beside the same one by one.
contract TensorTreeTest is Cheats {
    Sums private sums = new Sums();

    /// 1,024 bytes: drawn, or all of one kind at the edges of the type.
    function leafOf(uint256 seed) private pure returns (bytes memory leaf) {
        bytes1[4] memory edges = [bytes1(0x80), 0x7f, 0xff, 0x00];
        leaf = new bytes(1024);
        for (uint256 i = 0; i < 1024; i++) {
            bytes1 drawn = bytes1(uint8(uint256(keccak256(abi.encode(seed, i / 32))) >> (8 * (i % 32))));
            leaf[i] = seed % 8 < 4 ? edges[seed % 4] : seed % 8 == 4 ? edges[uint8(drawn) % 4] : drawn;
        }
    }

    function spanOf(uint256 seed, uint256 size) private pure returns (uint256 from, uint256 count) {
        uint256 all = 1024 / size;
        from = seed % 3 == 0 ? 0 : (seed >> 8) % all;
        count = seed % 2 == 0 ? all - from : 1 + (seed >> 32) % (all - from);
    }

    function testFuzz_productsManyAtATime(uint256 seed, uint256 other) public view {
        bytes memory a = leafOf(seed);
        bytes memory b = leafOf(other);
        for (uint256 i = 0; i < 9; i++) {
            (uint256 sizeA, uint256 sizeB) = (1 << (i % 3), 1 << (i / 3));
            (uint256 from, uint256 count) = spanOf(seed, sizeA > sizeB ? sizeA : sizeB);
            (int256 many, int256 one) = sums.dot(a, b, from, [sizeA, sizeB], count);
            assertTrue(many == one, "dot");
        }
    }

    function testFuzz_sumsAndExtremesManyAtATime(uint256 seed, int256 best) public view {
        bytes memory leaf = leafOf(seed);
        // What false words say of an earlier chunk may lie outside of the type.
        if (seed % 5 == 4) best = seed % 2 == 0 ? type(int256).min : type(int256).max;
        for (uint256 size = 1; size <= 8; size *= 2) {
            int256 least = seed % 5 < 3 ? best >> (256 - 8 * size) : best;
            (uint256 from, uint256 count) = spanOf(seed >> 16, size);
            (int256 many, int256 one) = sums.total(leaf, from, size, count);
            assertTrue(many == one, "total");
            for (uint256 i = 0; i < 2; i++) {
                (int256[2] memory found, int256[2] memory right) = sums.most(leaf, [from, size, count], i == 1, least);
                assertTrue(found[0] == right[0] && found[1] == right[1], "most");
            }
        }
    }

    function testFuzz_pickedManyAtATime(uint256 seed, uint256 other) public view {
        uint256[2] memory sizes = [uint256(1) << (other >> 8) % 3, uint256(1) << (other >> 16) % 3];
        bytes memory index = leafOf(other);
        // Few indexes, so that many are the wanted one; or any.
        if (other % 8 > 4) {
            for (uint256 j = 0; j < 1024; j++) index[j] = index[j] & bytes1(j % sizes[1] == 0 ? 0x03 : 0x00);
        }
        // Also those of all bits but the sign's.
        if (other % 8 == 7) {
            for (uint256 j = 0; j < 128; j++) index[j] = bytes1(j % sizes[1] + 1 == sizes[1] ? 0x7f : 0xff);
        }
        uint256 most = 2 ** (8 * sizes[1] - 1);
        uint256[3] memory all = [seed >> 30 & 1, most - 1, (seed >> 40) % most];
        uint256 rounds = (seed >> 16) % (128 / (sizes[0] > sizes[1] ? sizes[0] : sizes[1]) + 1);
        for (uint256 j = 0; j < 3; j++) {
            (int256 many, int256 right) = sums.picked(leafOf(seed), index, rounds, all[j], sizes);
            assertTrue(many == right, "picked");
        }
    }
}

contract Sums {
    function start(bytes calldata leaf, uint256 from) private pure returns (uint256 at_) {
        assembly ("memory-safe") {
            at_ := add(leaf.offset, from)
        }
    }

    function dot(bytes calldata a, bytes calldata b, uint256 from, uint256[2] calldata sizes, uint256 count)
        external
        pure
        returns (int256 many, int256 one)
    {
        (uint256 x, uint256 y) = (start(a, from * sizes[0]), start(b, from * sizes[1]));
        many = TensorTree.dot(x, sizes[0], y, sizes[1], count);
        for (uint256 i = 0; i < count; i++) {
            one += TensorTree.read(x + i * sizes[0], sizes[0]) * TensorTree.read(y + i * sizes[1], sizes[1]);
        }
    }

    function total(bytes calldata leaf, uint256 from, uint256 size, uint256 count)
        external
        pure
        returns (int256 many, int256 one)
    {
        uint256 x = start(leaf, from * size);
        many = TensorTree.total(x, size, count);
        for (uint256 i = 0; i < count; i++) one += TensorTree.read(x + i * size, size);
    }

    /// `where`: from, size, count.
    function most(bytes calldata leaf, uint256[3] calldata where, bool isLeast, int256 best)
        external
        pure
        returns (int256[2] memory found, int256[2] memory right)
    {
        (uint256 size, uint256 count) = (where[1], where[2]);
        uint256 x = start(leaf, where[0] * size);
        (int256 value, uint256 index) = TensorTree.most(x, size, count, isLeast, best);
        found = [value, int256(index)];
        right = [best, int256(count)];
        for (uint256 i = 0; i < count; i++) {
            value = TensorTree.read(x + i * size, size);
            if (isLeast ? value < right[0] : value > right[0]) right = [value, int256(i)];
        }
    }

    function picked(bytes calldata leaf, bytes calldata index, uint256 rounds, uint256 wanted, uint256[2] calldata sizes)
        external
        pure
        returns (int256 many, int256 one)
    {
        (uint256 x, uint256 y) = (start(leaf, 0), start(index, 0));
        many = TensorTree.pickedAny(x, sizes[0], y, sizes[1], rounds, wanted);
        for (uint256 i = 0; i < 8 * rounds; i++) {
            if (TensorTree.read(y + i * sizes[1], sizes[1]) == int256(wanted)) one += TensorTree.read(x + i * sizes[0], sizes[0]);
        }
    }
}
