// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRentalEscrow} from "../src/rentals/IRentalEscrow.sol";
import {RentalEscrow} from "../src/rentals/RentalEscrow.sol";
import {IRollCall} from "../src/rollcall/IRollCall.sol";
import {RollCall} from "../src/rollcall/RollCall.sol";
import {ISlashing} from "../src/slashing/ISlashing.sol";
import {Slashing} from "../src/slashing/Slashing.sol";
import {AssayToken} from "../src/stake/AssayToken.sol";
import {IRegistry} from "../src/stake/IRegistry.sol";
import {Registry} from "../src/stake/Registry.sol";
import {Cheats} from "./Cheats.sol";

/// Token, Registry, Slashing, RollCall and RentalEscrow, three validators with stakes 3000, 3000, 3000 in an
/// electorate that is any address, and one provider. Scoreboard and Rewards are NetworkKit's.
abstract contract StakeKit is Cheats {
    uint64 internal constant GENESIS = 1_800_000_000;
    uint128 internal constant STAKE = 3000;

    AssayToken internal token;
    Registry internal registry;
    Slashing internal slashing;
    RollCall internal rollCall;
    RentalEscrow internal escrow;
    address internal electorate;
    /// Ascending addresses; keys in the same order.
    address[3] internal validators;
    uint256[3] internal keys;
    address internal provider;
    uint256 internal constant PROVIDER_KEY = 0xB0B;
    address internal constant ACCUSER = address(0xACC);

    function newToken() internal virtual returns (AssayToken) {
        return AssayToken(deployCode("AssayToken", abi.encode(1e30)));
    }

    function defaultParams() internal pure virtual returns (IRegistry.Params memory) {
        return IRegistry.Params({
            minProviderStake: 100,
            minValidatorStake: 1000,
            unbondingSeconds: 7 days,
            deviceSeconds: 3 days,
            devicePpm: 333_334,
            accuserPpm: 200_000
        });
    }

    /// The electorate is nobody's contract: tests call in its name.
    function deployStakes() internal {
        deployRegistry();
        deployRest(address(0xE1EC));
        joinAll();
    }

    function deployRegistry() internal {
        vm.warp(GENESIS);
        token = newToken();
        registry = Registry(deployCode("Registry", abi.encode(token, address(this), defaultParams())));
    }

    function rollCallParams() private pure returns (IRollCall.Params memory) {
        return IRollCall.Params({
            every: 1,
            windowSeconds: 60,
            isDrand: false,
            demandBlocks: 300,
            answerSeconds: 1 days,
            slashPpm: 100_000,
            leastDeposit: 0.001 ether
        });
    }

    function deployRest(address electorate_) internal {
        electorate = electorate_;
        slashing = Slashing(deployCode("Slashing", abi.encode(registry, ISlashing.Params(500_000))));
        rollCall = RollCall(deployCode("RollCall", abi.encode(registry, electorate, rollCallParams())));
        escrow = RentalEscrow(deployCode("RentalEscrow", abi.encode(token, IRentalEscrow.Params(100_000, 7 days))));
    }

    function joinAll() internal {
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

    /// With one key for all, as on the embedded chain.
    function join(address who, IRegistry.Role role, uint128 amount) internal {
        fund(who);
        IRegistry.Registration memory entry = registration(who, role, amount);
        vm.prank(who);
        registry.register(entry);
    }

    /// Tokens, and the word that the Registry may take them.
    function fund(address who) internal {
        token.transfer(who, 1e9);
        vm.prank(who);
        token.approve(address(registry), type(uint256).max);
    }

    /// A provider's allows Slashing and RollCall all they may ask for.
    function registration(address who, IRegistry.Role role, uint128 amount)
        internal
        view
        returns (IRegistry.Registration memory entry)
    {
        entry.role = role;
        entry.signingKey = keccak256(abi.encode(who));
        entry.keyNumber = 1;
        entry.keyProof = "proof";
        entry.endpoint = "https://host";
        entry.amount = amount;
        if (role == IRegistry.Role.Validator) {
            entry.electorate = electorate;
        } else {
            entry.allowances = new IRegistry.Allowance[](2);
            entry.allowances[0] = IRegistry.Allowance(address(slashing), 500_000, 0);
            entry.allowances[1] = IRegistry.Allowance(address(rollCall), 100_000, 0);
        }
    }
}
