// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "../../src/zk/Bn254.sol";
import {IZkPlans} from "../../src/zk/IZkPlans.sol";
import {IZkKeys} from "../../src/zk/runs/IZkKeys.sol";
import {IZkRunVerifier} from "../../src/zk/runs/IZkRunVerifier.sol";
import {Cheats} from "../Cheats.sol";

/// The wrapped run of contracts/vectors/zk-run.json, on chains that do not keep their promises. What is
/// changed of it is zk-runs.test.ts.
contract ZkRunVerifierTest is Cheats {
    uint256 private constant GAS = 4_000_000;
    uint256 private constant CHAIN = 5;
    IZkPlans private plans = IZkPlans(deployCode("ZkPlans", ""));
    IZkRunVerifier private verifier;
    bytes private call;

    function setUp() public {
        string memory json = vm.readFile("contracts/vectors/zk-run.json");
        uint256[] memory numbers = vm.parseJsonUintArray(json, ".tau");
        // Ceremony, plan, key, call.
        bytes[] memory parts = vm.parseJsonBytesArray(json, ".parts");
        IZkKeys keys = IZkKeys(deployCode("ZkKeys", abi.encode(parts[0])));
        uint256[] memory bits = new uint256[](1);
        bits[0] = vm.parseJsonUint(json, ".chunkBits");
        Bn254.G2 memory tau = Bn254.G2(numbers[0], numbers[1], numbers[2], numbers[3]);
        verifier = IZkRunVerifier(deployCode("ZkRunVerifier", abi.encode(plans, keys, tau, bits, new bytes32[](1))));
        keys.registerKey(plans.register(parts[1]), vm.parseJsonUint(json, ".segments"), parts[2]);
        call = parts[3];
        vm.chainId(CHAIN);
    }

    function asked(uint256 gas_) private view returns (bytes4) {
        (bool holds, bytes memory data) = address(verifier).staticcall{gas: gas_}(call);
        return holds ? bytes4(0) : bytes4(data);
    }

    function test_itHolds() public view {
        assertTrue(asked(GAS) == bytes4(0), "it holds");
    }

    /// A chain whose own arithmetic fails, or is not there, calls no proof true. The pairing's failure says
    /// that B is no point, since all else was checked before.
    function test_failedPrecompiles() public {
        for (uint160 precompile = 6; precompile < 9; precompile++) {
            vm.mockCallRevert(address(precompile), "", "");
            bytes4 wanted = precompile == 8 ? Bn254.PointNowhere.selector : Bn254.PrecompileFailed.selector;
            assertTrue(asked(GAS) == wanted, vm.toString(precompile));
            vm.clearMockedCalls();
            vm.mockCall(address(precompile), "", "");
            assertTrue(asked(GAS) == Bn254.PrecompileFailed.selector, vm.toString(precompile));
            vm.clearMockedCalls();
        }
        assertTrue(asked(GAS) == bytes4(0), "the same again");
    }

    function test_replayAcrossChains() public {
        vm.chainId(CHAIN + 1);
        assertTrue(asked(GAS) == IZkRunVerifier.RunFalse.selector, "another chain");
    }

    /// With any gas: nothing, or that there was too little.
    function testFuzz_gasStarvation(uint256 gas_) public view {
        bytes4 found = asked(bound(gas_, 0, 700_000));
        assertTrue(found == bytes4(0) || found == Bn254.PrecompileFailed.selector || found == bytes4(""), "gas");
    }
}
