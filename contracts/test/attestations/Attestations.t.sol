// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Attestations} from "../../src/attestations/Attestations.sol";
import {Der} from "../../src/attestations/Der.sol";
import {IAttestations} from "../../src/attestations/IAttestations.sol";
import {Cheats} from "../Cheats.sol";

/// The calls of contracts/vectors/attestations.json: minted quotes and collateral, each wrong in one thing.
contract AttestationsTest is Cheats {
    Attestations private book;
    bytes[] private base;
    bytes[] private calls;
    uint256[] private prefix;
    uint256[] private times;
    uint256[] private wanted;

    function setUp() public {
        string memory json = vm.readFile("contracts/vectors/attestations.json");
        base = vm.parseJsonBytesArray(json, ".base");
        calls = vm.parseJsonBytesArray(json, ".calls");
        prefix = vm.parseJsonUintArray(json, ".prefix");
        times = vm.parseJsonUintArray(json, ".times");
        wanted = vm.parseJsonUintArray(json, ".wanted");
        bytes32[] memory keys = vm.parseJsonBytes32Array(json, ".keys");
        address reader = deployCode("IntelReader", "");
        book = Attestations(deployCode("Attestations", abi.encode(keys[0], keys[1], 4_102_444_799, reader)));
    }

    /// Each wrong call is tried after exactly the right ones that come before it.
    function test_everyCall() public {
        assertTrue(calls.length >= 40, "vectors");
        uint256 start = times[0];
        for (uint256 done = 0; done <= base.length; done++) {
            for (uint256 i = 0; i < calls.length; i++) {
                if (prefix[i] != done) continue;
                vm.warp(times[i]);
                (bool isTaken, bytes memory because) = address(book).call(calls[i]);
                assertTrue(!isTaken, vm.toString(i));
                assertEq(uint256(uint32(bytes4(because))), wanted[i]);
            }
            vm.warp(start);
            if (done == base.length) break;
            (bool isDone,) = address(book).call(base[done]);
            assertTrue(isDone, vm.toString(done));
        }
    }

    function unixOf(uint256 year, uint256 month, uint256 day) external pure returns (uint256) {
        return Der.unixOf(year, month, day);
    }

    /// Dates of certificates: each end of each part.
    function test_dates() public {
        assertEq(this.unixOf(1970, 1, 1), 0);
        assertEq(this.unixOf(2000, 2, 29), 951_782_400);
        assertEq(this.unixOf(2049, 12, 31), 2_524_521_600);
        uint16[3][5] memory wrong = [
            [uint16(1969), 12, 31],
            [uint16(2026), 0, 1],
            [uint16(2026), 13, 1],
            [uint16(2026), 1, 0],
            [uint16(2026), 1, 32]
        ];
        for (uint256 i = 0; i < wrong.length; i++) {
            vm.expectRevert(abi.encodeWithSelector(IAttestations.FormWrong.selector, wrong[i][0]));
            this.unixOf(wrong[i][0], wrong[i][1], wrong[i][2]);
        }
    }

    /// What is known is known: no right call works twice, but for a registration.
    function test_twice() public {
        vm.warp(times[0]);
        for (uint256 i = 0; i < base.length; i++) {
            (bool isDone,) = address(book).call(base[i]);
            assertTrue(isDone, vm.toString(i));
            (bool isTaken, bytes memory because) = address(book).call(base[i]);
            assertTrue(isTaken == (i == 6), vm.toString(i));
            if (i == 6) continue;
            bytes4 due = i == 7 ? IAttestations.AlreadyAttested.selector : IAttestations.Older.selector;
            assertEq(bytes32(bytes4(because)), bytes32(due));
        }
        IAttestations.Authority memory issuer = book.authorityOf(1);
        assertTrue(issuer.isIssuer && !book.authorityOf(2).isIssuer && book.authorityCount() == 2, "authorities");
        assertEq(issuer.serial, 32);
        assertEq(book.numberOf(issuer.key), 1);
    }

    function test_littleGas() public {
        vm.warp(times[0]);
        for (uint256 i = 0; i < 7; i++) {
            (bool isDone,) = address(book).call(base[i]);
            assertTrue(isDone, vm.toString(i));
        }
        // Too little gas never makes a true quote false.
        bool isTaken = false;
        for (uint256 gasLeft = 5_000; !isTaken; gasLeft += 1_000) {
            bytes memory because;
            (isTaken, because) = address(book).call{gas: gasLeft}(base[7]);
            assertTrue(isTaken || because.length == 0, vm.toString(gasLeft));
            assertTrue(gasLeft < 80_000, "enough gas");
        }
    }
}
