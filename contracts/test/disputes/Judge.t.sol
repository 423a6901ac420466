// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IDisputes} from "../../src/disputes/IDisputes.sol";
import {Judge} from "../../src/disputes/Judge.sol";
import {OpLeaf} from "../../src/disputes/OpLeaf.sol";
import {Transcripts} from "../../src/disputes/Transcripts.sol";
import {Cheats} from "../Cheats.sol";

/// The calls of contracts/vectors/judge.json: what convicts does so by these numbers, honest ones show
/// nothing, and no byte that is hashed can be changed.
contract JudgeTest is Cheats {
    Judge private judge = Judge(deployCode("Judge", ""));
    bytes[] private calls;
    int256[] private said;
    int256[] private right;

    function setUp() public {
        string memory json = vm.readFile("contracts/vectors/judge.json");
        calls = vm.parseJsonBytesArray(json, ".calls");
        said = vm.parseJsonIntArray(json, ".said");
        right = vm.parseJsonIntArray(json, ".right");
    }

    function test_everyCall() public view {
        assertTrue(calls.length >= 40 && calls.length == said.length && calls.length == right.length, "vectors");
        for (uint256 i = 0; i < calls.length; i++) {
            (bool isShown, bytes memory data) = address(judge).staticcall(calls[i]);
            assertTrue(isShown == (said[i] != right[i]), vm.toString(i));
            if (isShown) assertEq(keccak256(data), keccak256(abi.encode(said[i], right[i])));
            else assertEq(bytes32(bytes4(data)), bytes32(IDisputes.NothingShown.selector));
        }
    }

    /// A leaf that no checker reads is none here either; one at the very bounds is.
    function test_leavesOfMaps() public view {
        string memory json = vm.readFile("contracts/vectors/judge.json");
        bytes[] memory refused = vm.parseJsonBytesArray(json, ".refused");
        bytes[] memory taken = vm.parseJsonBytesArray(json, ".taken");
        assertTrue(refused.length >= 20 && taken.length >= 3, "vectors");
        for (uint256 i = 0; i < refused.length; i++) {
            (, bytes memory data) = address(judge).staticcall(refused[i]);
            assertTrue(bytes4(data) == OpLeaf.OpMalformed.selector, vm.toString(i));
        }
        for (uint256 i = 0; i < taken.length; i++) {
            (, bytes memory data) = address(judge).staticcall(taken[i]);
            assertTrue(bytes4(data) == Transcripts.WordsInvalid.selector, vm.toString(i));
        }
    }

    /// Whatever field of a conviction is changed, it convicts no longer.
    function test_noFieldOfAConvictionMayChange() public view {
        uint256 tried = 0;
        for (uint256 i = 0; i < calls.length; i++) {
            if (said[i] == right[i]) continue;
            for (uint256 field = 0; field < 17; field++) {
                (IDisputes.Case memory accused, IDisputes.ElementFault memory fault) = decoded(calls[i]);
                if (!tamper(accused, fault, field)) continue;
                tried++;
                try judge.judgeElement(0, accused, fault) {
                    assertTrue(false, string.concat(vm.toString(i), " convicts with field ", vm.toString(field)));
                } catch {}
            }
        }
        assertTrue(tried > 300, vm.toString(tried));
    }

    function decoded(bytes memory call)
        private
        pure
        returns (IDisputes.Case memory accused, IDisputes.ElementFault memory fault)
    {
        bytes memory body = new bytes(call.length - 4);
        for (uint256 i = 0; i < body.length; i++) body[i] = call[i + 4];
        (, accused, fault) = abi.decode(body, (bytes32, IDisputes.Case, IDisputes.ElementFault));
    }

    /// False when the call has no such field.
    function tamper(IDisputes.Case memory accused, IDisputes.ElementFault memory fault, uint256 field)
        private
        pure
        returns (bool)
    {
        if (field == 0) accused.head ^= bytes20(uint160(1));
        if (field == 1) accused.tensors ^= bytes32(uint256(1));
        if (field == 2) accused.ops ^= bytes32(uint256(1));
        if (field == 3) accused.trace ^= bytes32(uint256(1));
        if (field == 4) accused.segment = accused.terms.segments;
        if (field == 5) accused.terms.seed ^= bytes32(uint256(1));
        if (field == 6) fault.inputs ^= bytes32(uint256(1));
        if (field == 7) fault.op.number++;
        if (field == 8) fault.leaf.op++;
        if (field == 9) fault.leaf.step++;
        if (field == 10) fault.leaf.output ^= bytes32(uint256(1));
        if (field == 11) fault.words.element = type(uint64).max;
        if (field == 12) fault.op.leaf = bytes.concat(fault.op.leaf, hex"00");
        if (field == 13) {
            if (fault.words.transcripts.length == 0) return false;
            fault.words.transcripts[0] = bytes.concat(fault.words.transcripts[0], bytes8(0));
        }
        if (field == 14) {
            if (fault.shown.leaves.length == 0) return false;
            fault.shown.leaves[0][1023] ^= 0x01;
        }
        if (field == 15) {
            if (fault.shown.paths.length == 0) return false;
            fault.shown.paths[0] = new bytes32[](fault.shown.paths[0].length + 1);
        }
        if (field == 16) {
            if (fault.leaf.inputs.length == 0) return false;
            fault.leaf.inputs[0] ^= bytes32(uint256(1));
        }
        return true;
    }
}
