// SPDX-License-Identifier: UNLICENSED
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
        for (uint256 size = 1; size <= 2; size++) {
            (uint256 from, uint256 count) = spanOf(seed, size);
            (int256 many, int256 one) = sums.dot(leafOf(seed), leafOf(other), from * size, size, count);
            assertTrue(many == one, "dot");
        }
    }

    function testFuzz_sumsAndExtremesManyAtATime(uint256 seed, int256 best) public view {
        // What false words say of an earlier chunk may lie outside of the type.
        if (seed % 5 < 3) best = int8(best);
        if (seed % 5 == 4) best = seed % 2 == 0 ? type(int256).min : type(int256).max;
        (uint256 from, uint256 count) = spanOf(seed >> 16, 1);
        bytes memory leaf = leafOf(seed);
        (int256 many, int256 one) = sums.total(leaf, from, count);
        assertTrue(many == one, "total");
        for (uint256 i = 0; i < 2; i++) {
            (int256[2] memory found, int256[2] memory right) = sums.most(leaf, from, count, i == 1, best);
            assertTrue(found[0] == right[0] && found[1] == right[1], "most");
        }
    }
}

contract Sums {
    function start(bytes calldata leaf, uint256 from) private pure returns (uint256 at_) {
        assembly ("memory-safe") {
            at_ := add(leaf.offset, from)
        }
    }

    function dot(bytes calldata a, bytes calldata b, uint256 from, uint256 size, uint256 count)
        external
        pure
        returns (int256 many, int256 one)
    {
        (uint256 x, uint256 y) = (start(a, from), start(b, from));
        many = TensorTree.dot(x, size, y, size, count);
        for (uint256 i = 0; i < count; i++) one += TensorTree.read(x + i * size, size) * TensorTree.read(y + i * size, size);
    }

    function total(bytes calldata leaf, uint256 from, uint256 count) external pure returns (int256 many, int256 one) {
        many = TensorTree.total(start(leaf, from), 1, count);
        for (uint256 i = 0; i < count; i++) one += TensorTree.read(start(leaf, from) + i, 1);
    }

    function most(bytes calldata leaf, uint256 from, uint256 count, bool isLeast, int256 best)
        external
        pure
        returns (int256[2] memory found, int256[2] memory right)
    {
        (int256 value, uint256 index) = TensorTree.most(start(leaf, from), 1, count, isLeast, best);
        found = [value, int256(index)];
        right = [best, int256(count)];
        for (uint256 i = 0; i < count; i++) {
            value = TensorTree.read(start(leaf, from) + i, 1);
            if (isLeast ? value < right[0] : value > right[0]) right = [value, int256(i)];
        }
    }
}
