// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Groth16} from "../../src/receipts/Groth16.sol";
import {IReceipts} from "../../src/receipts/IReceipts.sol";
import {Receipts} from "../../src/receipts/Receipts.sol";
import {Cheats} from "../Cheats.sol";

/// The calls of contracts/vectors/receipts.json: real receipts and every change of them that a check is for.
contract ReceiptsTest is Cheats {
    /// A precompile that refuses its input takes all of it.
    uint256 private constant GAS = 400_000;
    Receipts private receipts = Receipts(deployCode("Receipts", ""));
    bytes[] private calls;
    /// A status by number, or an error's selector.
    uint256[] private wanted;

    function setUp() public {
        string memory json = vm.readFile("contracts/vectors/receipts.json");
        calls = vm.parseJsonBytesArray(json, ".calls");
        wanted = vm.parseJsonUintArray(json, ".wanted");
    }

    function test_everyCall() public view {
        assertTrue(calls.length >= 100 && calls.length == wanted.length, "vectors");
        for (uint256 i = 0; i < calls.length; i++) {
            (bool isTrue, bytes memory data) = address(receipts).staticcall{gas: GAS}(calls[i]);
            assertTrue(isTrue == (wanted[i] < 3), vm.toString(i));
            if (isTrue) assertEq(uint256(bytes32(data)), wanted[i]);
            else assertEq(uint256(uint32(bytes4(data))), wanted[i]);
        }
    }

    /// Only what is current is accepted; what is false is refused as before.
    function test_acceptance() public view {
        for (uint256 i = 0; i < calls.length; i++) {
            bytes memory asked = calls[i];
            bytes4 selector = IReceipts.mustAccept.selector;
            assembly ("memory-safe") {
                mstore(add(asked, 0x20), or(selector, and(mload(add(asked, 0x20)), not(shl(224, 0xffffffff)))))
            }
            (bool isTaken, bytes memory data) = address(receipts).staticcall{gas: GAS}(asked);
            assertTrue(isTaken == (wanted[i] == 0), vm.toString(i));
            if (isTaken) continue;
            bytes4 because = wanted[i] < 3 ? IReceipts.ReleaseNotCurrent.selector : bytes4(uint32(wanted[i]));
            assertEq(bytes32(bytes4(data)), bytes32(because));
        }
    }

    /// Whatever gas it has, a true receipt is never called false.
    function test_littleGas() public view {
        for (uint256 gasLeft = 20_000; gasLeft < 260_000; gasLeft += 4_000) {
            (bool isTrue, bytes memory data) = address(receipts).staticcall{gas: gasLeft}(calls[0]);
            if (isTrue || data.length == 0) continue;
            assertEq(bytes32(bytes4(data)), bytes32(Groth16.PrecompileFailed.selector));
        }
        (bool isTold, bytes memory because) = address(receipts).staticcall{gas: 200_000}(calls[0]);
        assertTrue(!isTold && because.length == 4, "too little gas");
        (bool isDone,) = address(receipts).staticcall{gas: 250_000}(calls[0]);
        assertTrue(isDone, "enough gas");
    }
}
