// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "../../src/zk/Bn254.sol";
import {IZkPlans} from "../../src/zk/IZkPlans.sol";
import {IZkVerifier} from "../../src/zk/IZkVerifier.sol";
import {Powers} from "../../src/zk/Powers.sol";
import {SegmentLookups} from "../../src/zk/SegmentLookups.sol";
import {ZkPlan} from "../../src/zk/ZkPlan.sol";
import {ZkTranscript} from "../../src/zk/ZkTranscript.sol";
import {Cheats} from "../Cheats.sol";

/// Proofs of contracts/vectors/zk.json: honest ones of several plans, and one cheater for each check. Then
/// every way in which the bytes of a true one can be others.
contract ZkVerifierTest is Cheats {
    /// A precompile that refuses its input takes all of it.
    uint256 private constant GAS = 4_000_000;
    uint256 private constant CHAIN = 5;
    IZkPlans private plans = IZkPlans(deployCode("ZkPlans", ""));
    IZkVerifier private verifier;
    Bn254.G2 private tau;
    bytes[] private words;
    bytes[] private calls;
    /// An error's selector; 0: it holds.
    uint256[] private wanted;

    function setUp() public {
        string memory json = vm.readFile("contracts/vectors/zk.json");
        uint256[] memory numbers = vm.parseJsonUintArray(json, ".tau");
        tau = Bn254.G2(numbers[0], numbers[1], numbers[2], numbers[3]);
        verifier = deployed(4, 14);
        words = vm.parseJsonBytesArray(json, ".plans");
        calls = vm.parseJsonBytesArray(json, ".calls");
        wanted = vm.parseJsonUintArray(json, ".wanted");
        for (uint256 i = 0; i < words.length; i++) plans.register(words[i]);
        vm.chainId(CHAIN);
    }

    /// Over powers of a known τ, which have no id.
    function deployed(uint256 from, uint256 to) private returns (IZkVerifier) {
        uint256[] memory bits = new uint256[]((to - from) / 2 + 1);
        for (uint256 i = 0; i < bits.length; i++) bits[i] = from + 2 * i;
        return IZkVerifier(deployCode("ZkVerifier", abi.encode(plans, tau, bits, new bytes32[](bits.length))));
    }

    function asked(bytes memory call) private view returns (bytes4) {
        (bool holds, bytes memory data) = address(verifier).staticcall{gas: GAS}(call);
        return holds ? bytes4(0) : bytes4(data);
    }

    function mustBe(bytes memory call, bytes4 error_, string memory what) private view {
        assertTrue(asked(call) == error_, what);
    }

    /// Parts of a call, which may then be changed.
    function opened(uint256 index)
        private
        view
        returns (bytes32 plan, IZkVerifier.Statement memory statement, bytes memory points, bytes memory proof)
    {
        bytes memory call = calls[index];
        bytes memory arguments = new bytes(call.length - 4);
        for (uint256 i = 0; i < arguments.length; i++) arguments[i] = call[i + 4];
        return abi.decode(arguments, (bytes32, IZkVerifier.Statement, bytes, bytes));
    }

    function callOf(bytes32 plan, IZkVerifier.Statement memory statement, bytes memory points, bytes memory proof)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeCall(IZkVerifier.mustHold, (plan, statement, points, proof));
    }

    function test_everyCall() public view {
        assertTrue(calls.length >= 15 && calls.length == wanted.length, "vectors");
        for (uint256 i = 0; i < calls.length; i++) {
            mustBe(calls[i], bytes4(uint32(wanted[i])), vm.toString(i));
        }
    }

    /// It says how far the proof goes, and of which points.
    function test_whatItSays() public view {
        (bytes32 plan, IZkVerifier.Statement memory statement, bytes memory points, bytes memory proof) = opened(0);
        (uint256 steps, bytes32[4] memory hashes) = verifier.mustHold(plan, statement, points, proof);
        assertEq(steps, 2);
        for (uint256 i = 0; i < 4; i++) {
            bytes memory own = new bytes(64);
            for (uint256 k = 0; k < 64; k++) own[k] = points[64 * i + k];
            assertEq(hashes[i], keccak256(own));
        }
    }

    /// A proof is of one statement: chain, job, plan, seed, steps, data, states, commitments.
    function test_noOtherStatement() public {
        (bytes32 plan, IZkVerifier.Statement memory told, bytes memory points, bytes memory proof) = opened(0);
        for (uint256 i = 0; i < 7; i++) {
            IZkVerifier.Statement memory other = IZkVerifier.Statement(
                told.job, told.seed, told.firstStep, told.features, told.labels, told.stateBefore, told.stateAfter
            );
            if (i == 0) other.job++;
            if (i == 1) other.seed = bytes32(uint256(other.seed) ^ 1);
            if (i == 2) other.firstStep += 2;
            if (i == 3) other.features = bytes32(uint256(other.features) ^ 1);
            if (i == 4) other.labels = bytes32(uint256(other.labels) ^ 1);
            if (i == 5) other.stateBefore = bytes32(uint256(other.stateBefore) ^ 1);
            if (i == 6) other.stateAfter = bytes32(uint256(other.stateAfter) ^ 1);
            assertTrue(asked(callOf(plan, other, points, proof)) != 0, vm.toString(i));
        }
        // Of the same size, for another program.
        bytes memory changed = words[0];
        changed[0] ^= 0x01;
        assertTrue(asked(callOf(plans.register(changed), told, points, proof)) != 0, "plan");
        vm.chainId(CHAIN + 1);
        assertTrue(asked(calls[0]) != 0, "chain");
        vm.chainId(CHAIN);
        mustBe(calls[0], 0, "the same again");
    }

    /// Every word of a true proof, and of its commitments, matters.
    function test_everyWord() public view {
        (bytes32 plan, IZkVerifier.Statement memory statement, bytes memory points, bytes memory proof) = opened(0);
        for (uint256 i = 31; i < proof.length; i += 32) {
            proof[i] ^= 0x01;
            assertTrue(asked(callOf(plan, statement, points, proof)) != 0, vm.toString(i));
            proof[i] ^= 0x01;
        }
        for (uint256 i = 31; i < points.length; i += 32) {
            points[i] ^= 0x01;
            mustBe(callOf(plan, statement, points, proof), Bn254.PointNowhere.selector, "point");
            points[i] ^= 0x01;
        }
        mustBe(callOf(plan, statement, points, proof), 0, "the same again");
    }

    function test_form() public {
        (bytes32 plan, IZkVerifier.Statement memory statement, bytes memory points, bytes memory proof) = opened(0);
        mustBe(callOf(plan, statement, points, bytes.concat(proof, hex"00")), ZkTranscript.ProofLength.selector, "longer");
        mustBe(callOf(plan, statement, bytes.concat(points, hex"00"), proof), ZkTranscript.ProofLength.selector, "more points");
        mustBe(callOf(plan, statement, points, ""), ZkTranscript.ProofLength.selector, "none");
        mustBe(callOf("another", statement, points, proof), ZkPlan.PlanUnknown.selector, "plan");
        // Not below the order of coordinates: another spelling of a point.
        bytes memory spelled = bytes.concat(proof);
        uint256 x;
        assembly ("memory-safe") {
            x := add(mload(add(spelled, 0x20)), 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47)
            mstore(add(spelled, 0x20), x)
        }
        mustBe(callOf(plan, statement, points, spelled), Bn254.NumberTooLarge.selector, "spelling");
        verifier = deployed(10, 14);
        mustBe(calls[0], Powers.PowersUnknown.selector, "powers");
    }

    /// Whatever gas it has, a true proof is never called false.
    function test_gasStarvation() public view {
        uint256 held = 0;
        for (uint256 left = 40_000; left < 520_000; left += 15_000) {
            (bool holds, bytes memory data) = address(verifier).staticcall{gas: left}(calls[0]);
            if (holds) held++;
            if (holds || data.length == 0) continue;
            assertEq(bytes32(bytes4(data)), bytes32(Bn254.PrecompileFailed.selector));
        }
        assertTrue(held > 0, "enough in the end");
    }

    /// A chain whose own arithmetic fails, or is not there, calls no proof false and none true: of exponents,
    /// of sums, products and pairings of points.
    function test_failedPrecompiles() public {
        for (uint160 precompile = 5; precompile < 9; precompile++) {
            vm.mockCallRevert(address(precompile), "", "");
            mustBe(calls[0], Bn254.PrecompileFailed.selector, vm.toString(precompile));
            vm.clearMockedCalls();
            vm.mockCall(address(precompile), "", "");
            mustBe(calls[0], Bn254.PrecompileFailed.selector, vm.toString(precompile));
            vm.clearMockedCalls();
        }
        mustBe(calls[0], 0, "the same again");
    }

    function test_replayAcrossChains() public {
        vm.chainId(CHAIN + 1);
        mustBe(calls[0], SegmentLookups.LookupsFalse.selector, "another chain");
        vm.chainId(CHAIN);
        mustBe(calls[0], 0, "its own");
    }

    /// Of a plan of the same sizes, for another program.
    function test_replayAcrossPlans() public {
        (, IZkVerifier.Statement memory told, bytes memory points, bytes memory proof) = opened(0);
        bytes memory other = bytes.concat(words[0]);
        other[0] ^= 0x01;
        mustBe(callOf(plans.register(other), told, points, proof), SegmentLookups.LookupsFalse.selector, "another plan");
    }

    /// A run's number is the job of its statements.
    function test_replayAcrossRuns() public view {
        (bytes32 plan, IZkVerifier.Statement memory told, bytes memory points, bytes memory proof) = opened(0);
        told.job++;
        mustBe(callOf(plan, told, points, proof), SegmentLookups.LookupsFalse.selector, "another run");
    }

    /// Nor over other powers of the same number.
    function test_replayAcrossPowers() public {
        uint256[] memory bits = new uint256[](1);
        bytes32[] memory ids = new bytes32[](1);
        (bits[0], ids[0]) = (8, keccak256("other powers"));
        verifier = IZkVerifier(deployCode("ZkVerifier", abi.encode(plans, tau, bits, ids)));
        mustBe(calls[0], SegmentLookups.LookupsFalse.selector, "other powers");
    }

    /// No numbers but those of plans that have places: nothing in them overflows.
    function test_plansThatAreNone() public {
        bytes memory good = words[0];
        // Steps, batch, bits of rows, epochs, scale, h, d, activation, gradient, limbs, chunkBits, links, a
        // layer.
        uint256[15] memory bad = [uint256(3), 6, 27, 4097, 1, 1, 21, 21, 0, 0, 21, 0, 7, 0, 0];
        for (uint256 i = 0; i < 15; i++) {
            bytes memory changed = bytes.concat(good);
            uint256 value = bad[i];
            assembly ("memory-safe") {
                mstore(add(changed, shl(5, add(i, 2))), value)
            }
            vm.expectRevert(ZkPlan.PlanInvalid.selector);
            plans.register(changed);
        }
        vm.expectRevert(ZkPlan.PlanInvalid.selector);
        plans.register(bytes.concat(good, new bytes(32)));
        vm.expectRevert(ZkPlan.PlanInvalid.selector);
        plans.register("");
    }

    /// Whoever registers it, a plan has one image for ever.
    function test_onePlanOneImage() public {
        bytes32 plan = keccak256(bytes.concat("assay/zk/plan/1", words[0]));
        address image = plans.imageOf(plan);
        assertTrue(image != address(0) && image.code[0] == 0, "image");
        vm.prank(address(77));
        assertEq(plans.register(words[0]), plan);
        assertEq(plans.imageOf(plan), image);
        (bool isRun,) = image.call("");
        assertTrue(isRun, "it does nothing");
    }
}
