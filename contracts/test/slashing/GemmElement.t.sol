// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {GemmElement} from "../../src/slashing/GemmElement.sol";
import {ISlashing} from "../../src/slashing/ISlashing.sol";
import {Slashing} from "../../src/slashing/Slashing.sol";
import {Cheats} from "../Cheats.sol";

/// Elements of products against a second, plain rendering of docs/hardware-proof.md §2 to §4, one entry at a
/// time.
contract GemmElementTest is Cheats {
    /// What is deployed: its loops as the optimizer leaves them.
    Slashing private slashing;

    function setUp() public {
        slashing = Slashing(deployCode("Slashing", abi.encode(address(0), ISlashing.Params(1))));
    }

    function littleEndian(bytes32 seed, uint256 at_) private pure returns (uint32 word) {
        for (uint256 i = 0; i < 4; i++) word |= uint32(uint8(seed[at_ + i])) << uint32(8 * i);
    }

    function philox(bytes32 seed, uint32 counter, uint32 domain) private pure returns (uint32[4] memory x) {
        (uint32 k0, uint32 k1) = (littleEndian(seed, 0), littleEndian(seed, 4));
        (x[0], x[1]) = (counter, domain);
        unchecked {
            for (uint256 round = 0; round < 10; round++) {
                uint64 p0 = uint64(0xD2511F53) * x[0];
                uint64 p1 = uint64(0xCD9E8D57) * x[2];
                (x[0], x[1], x[2], x[3]) =
                    (uint32(p1 >> 32) ^ x[1] ^ k0, uint32(p1), uint32(p0 >> 32) ^ x[3] ^ k1, uint32(p0));
                k0 += 0x9E3779B9;
                k1 += 0xBB67AE85;
            }
        }
    }

    function entry(uint8 precision, bytes32 seed, uint32 matrix, uint256 index) private pure returns (int256) {
        uint256 per = precision < 2 ? 16 : 8;
        uint32[4] memory x = philox(seed, uint32(index / per), matrix);
        uint256 at_ = index % per;
        if (per == 16) {
            uint8 u = uint8(x[at_ / 4] >> uint32(8 * (at_ % 4)));
            return precision == 0 ? int256(int8(u)) : int256(uint256(u) * 17 / 256) - 8;
        }
        uint16 v = uint16(x[at_ / 2] >> uint32(16 * (at_ % 2)));
        return int256(uint256(v) * 363 / 65536) - 181;
    }

    function plain(uint8 precision, bytes32 seed, uint256 k, uint256 row, uint256 column)
        private
        pure
        returns (uint16)
    {
        int256 sum = 0;
        for (uint256 i = 0; i < k; i++) {
            sum += entry(precision, seed, 0, row * k + i) * entry(precision, seed, 1, column * k + i);
        }
        return uint16(uint256(sum));
    }

    function testFuzz_equalsThePlainRendering(uint8 precision, bytes32 seed, uint16 row, uint16 column) public view {
        precision %= 5;
        assertEq(slashing.gemmElement(precision, seed, 128, row, column), plain(precision, seed, 128, row, column));
    }

    /// The longest rows, where the lanes are fullest; the exact largest sums are bounded in GemmElement's
    /// comment.
    function test_longRows() public view {
        bytes32 seed = keccak256("long");
        assertEq(slashing.gemmElement(0, seed, 2048, 3, 5), plain(0, seed, 2048, 3, 5));
        assertEq(slashing.gemmElement(4, seed, 1024, 7, 2), plain(4, seed, 1024, 7, 2));
    }

    function test_isValid() public pure {
        assertTrue(GemmElement.isValid(0, 16384, 65536), "int8");
        assertTrue(!GemmElement.isValid(0, 16384, 65536 + 128), "int8 long");
        assertTrue(GemmElement.isValid(4, 16384, 16384), "tf32");
        assertTrue(!GemmElement.isValid(2, 16384, 16384 + 128), "fp16 long");
        assertTrue(!GemmElement.isValid(5, 16384, 128), "no precision");
        assertTrue(!GemmElement.isValid(0, 16384, 64), "k");
        assertTrue(!GemmElement.isValid(0, 16384, 0), "k 0");
        assertTrue(GemmElement.isValid(0, 1 << 20, 65536), "all counters");
        assertTrue(!GemmElement.isValid(0, (1 << 20) + 1, 65536), "counter overflow");
    }
}
