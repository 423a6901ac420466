// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard} from "../src/epochs/IScoreboard.sol";
import {Scoreboard} from "../src/epochs/Scoreboard.sol";
import {IRentalEscrow} from "../src/rentals/IRentalEscrow.sol";
import {RentalEscrow} from "../src/rentals/RentalEscrow.sol";
import {IRewards} from "../src/rewards/IRewards.sol";
import {Rewards} from "../src/rewards/Rewards.sol";
import {IRollCall} from "../src/rollcall/IRollCall.sol";
import {RollCall} from "../src/rollcall/RollCall.sol";
import {ISlashing} from "../src/slashing/ISlashing.sol";
import {Slashing} from "../src/slashing/Slashing.sol";
import {AssayToken} from "../src/stake/AssayToken.sol";
import {IRegistry} from "../src/stake/IRegistry.sol";
import {Registry} from "../src/stake/Registry.sol";
import {Cheats} from "./Cheats.sol";

/// All contracts as a deployment makes them, three validators with stakes 3000, 3000, 3000 and two
/// providers.
abstract contract NetworkKit is Cheats {
    uint64 internal constant GENESIS = 1_800_000_000;
    uint64 internal constant EPOCH = 4320;
    uint64 internal constant WINDOW = 600;
    uint64 internal constant DISPUTE = 3600;
    uint128 internal constant EMISSION = 1_000_000_007;
    uint128 internal constant STAKE = 3000;

    AssayToken internal token;
    Registry internal registry;
    Scoreboard internal scoreboard;
    Rewards internal rewards;
    Slashing internal slashing;
    RollCall internal rollCall;
    RentalEscrow internal escrow;
    /// Ascending addresses; keys in the same order.
    address[3] internal validators;
    uint256[3] internal keys;
    address internal provider;
    uint256 internal constant PROVIDER_KEY = 0xB0B;
    address internal constant ACCUSER = address(0xACC);

    function newToken() internal virtual returns (AssayToken) {
        return new AssayToken(1e30);
    }

    function deploy() internal {
        vm.warp(GENESIS);
        token = newToken();
        uint256 nonce = vm.getNonce(address(this));
        registry = new Registry(
            token,
            vm.computeCreateAddress(address(this), nonce + 1),
            vm.computeCreateAddress(address(this), nonce + 3),
            vm.computeCreateAddress(address(this), nonce + 4),
            address(this),
            IRegistry.Params({
                minProviderStake: 100,
                minValidatorStake: 1000,
                unbondingSeconds: 7 days,
                deviceSeconds: 3 days,
                accuserPpm: 200_000
            })
        );
        scoreboard = new Scoreboard(
            registry,
            vm.computeCreateAddress(address(this), nonce + 2),
            IScoreboard.Params(GENESIS, EPOCH, WINDOW, WINDOW, WINDOW, DISPUTE, 666_666, 500_000)
        );
        rewards = new Rewards(token, scoreboard, IRewards.Params(EMISSION, 30 days));
        slashing = new Slashing(registry, ISlashing.Params(500_000, 1_000_000));
        rollCall = new RollCall(
            registry,
            IRollCall.Params({
                every: 1,
                windowSeconds: 60,
                isDrand: false,
                demandBlocks: 300,
                answerSeconds: 1 days,
                slashPpm: 100_000,
                leastDeposit: 0.001 ether
            })
        );
        escrow = new RentalEscrow(token, IRentalEscrow.Params(100_000, 7 days));
        token.approve(address(rewards), type(uint256).max);
        rewards.fund(EMISSION * 1000);
        keys = [uint256(0xA1), 0xA2, 0xA3];
        for (uint256 i = 0; i < 3; i++) validators[i] = vm.addr(keys[i]);
        for (uint256 i = 0; i < 2; i++) {
            for (uint256 j = 0; j < 2; j++) {
                if (validators[j] > validators[j + 1]) {
                    (validators[j], validators[j + 1]) = (validators[j + 1], validators[j]);
                    (keys[j], keys[j + 1]) = (keys[j + 1], keys[j]);
                }
            }
        }
        for (uint256 i = 0; i < 3; i++) join(validators[i], IRegistry.Role.Validator, STAKE);
        provider = vm.addr(PROVIDER_KEY);
        join(provider, IRegistry.Role.Provider, 1000);
    }

    function join(address who, IRegistry.Role role, uint128 amount) internal {
        token.transfer(who, 1e9);
        vm.startPrank(who);
        token.approve(address(registry), type(uint256).max);
        registry.register(role, keccak256(abi.encode(who)), "proof", "https://host", amount);
        vm.stopPrank();
    }

    function toCommit(uint64 epoch) internal {
        vm.warp(GENESIS + (epoch + 1) * EPOCH);
    }

    function toReveal(uint64 epoch) internal {
        vm.warp(GENESIS + (epoch + 1) * EPOCH + WINDOW);
    }

    function toVoid(uint64 epoch) internal {
        vm.warp(GENESIS + (epoch + 1) * EPOCH + 2 * WINDOW);
    }

    function toPropose(uint64 epoch) internal {
        vm.warp(GENESIS + (epoch + 1) * EPOCH + 3 * WINDOW);
    }

    /// `from` … `from + count − 1` providers with these scores, plus `i·step`.
    function leavesOf(address[] memory providers, uint32[] memory scores)
        internal
        pure
        returns (IScoreboard.ScoreLeaf[] memory leaves)
    {
        leaves = new IScoreboard.ScoreLeaf[](providers.length);
        for (uint256 i = 0; i < providers.length; i++) {
            leaves[i] = IScoreboard.ScoreLeaf(providers[i], scores[i], keccak256(abi.encode("evidence", providers[i])));
        }
    }

    function salt(uint256 validator) internal pure returns (bytes32) {
        return keccak256(abi.encode("salt", validator));
    }

    /// Commits and reveals these roots (0: says nothing) and goes to the window after it.
    function report(uint64 epoch, bytes32[3] memory roots) internal {
        toCommit(epoch);
        for (uint256 i = 0; i < 3; i++) {
            if (roots[i] == 0) continue;
            bytes32 commitment = scoreboard.commitmentOf(epoch, validators[i], roots[i], salt(i));
            vm.prank(validators[i]);
            scoreboard.commit(epoch, commitment);
        }
        toReveal(epoch);
        for (uint256 i = 0; i < 3; i++) {
            if (roots[i] == 0) continue;
            vm.prank(validators[i]);
            scoreboard.reveal(epoch, roots[i], salt(i));
        }
        toVoid(epoch);
    }

    function propose(uint256 validator, uint64 epoch, IScoreboard.Proposal memory proposal) internal {
        vm.prank(validators[validator]);
        scoreboard.propose(epoch, proposal);
    }

    function addresses(address a, address b, address c) internal pure returns (address[] memory list) {
        list = new address[](3);
        (list[0], list[1], list[2]) = (a, b, c);
    }

    function numbers(uint32 a, uint32 b, uint32 c) internal pure returns (uint32[] memory list) {
        list = new uint32[](3);
        (list[0], list[1], list[2]) = (a, b, c);
    }
}
