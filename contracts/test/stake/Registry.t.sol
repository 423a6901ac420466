// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {DeviceBook} from "../../src/stake/DeviceBook.sol";
import {IRegistry} from "../../src/stake/IRegistry.sol";
import {Registry} from "../../src/stake/Registry.sol";
import {StakeBook} from "../../src/stake/StakeBook.sol";
import {Cheats} from "../Cheats.sol";

/// Stakes, roles and devices, one rule a test, each with the case that must be refused. This contract stands
/// in for both slashers and the owner.
contract RegistryTest is Cheats {
    AssayToken private token;
    Registry private registry;
    uint256 private constant VALIDATOR_KEY = 0xA11CE;
    address private validator = vm.addr(VALIDATOR_KEY);
    address private provider = address(0xB0B);
    address private other = address(0xCAFE);

    function setUp() public {
        vm.warp(1_800_000_000);
        token = new AssayToken(1e27);
        registry = new Registry(
            token,
            address(this),
            address(this),
            address(this),
            address(this),
            IRegistry.Params({
                minProviderStake: 100,
                minValidatorStake: 1000,
                unbondingSeconds: 7 days,
                deviceSeconds: 3 days,
                accuserPpm: 200_000
            })
        );
        address[3] memory all = [validator, provider, other];
        for (uint256 i = 0; i < 3; i++) {
            token.transfer(all[i], 1e24);
            vm.prank(all[i]);
            token.approve(address(registry), type(uint256).max);
        }
    }

    function join(address who, IRegistry.Role role, uint128 amount) private {
        vm.prank(who);
        registry.register(role, bytes32(uint256(uint160(who))), "proof", "https://host", amount);
    }

    function test_registerTakesTheStakeAndKeepsTheAccount() public {
        join(provider, IRegistry.Role.Provider, 100);
        IRegistry.Account memory account = registry.accountOf(provider);
        assertTrue(account.role == IRegistry.Role.Provider, "role");
        assertEq(account.stake, 100);
        assertEq(account.signingKey, bytes32(uint256(uint160(provider))));
        assertEq(token.balanceOf(address(registry)), 100);
        assertEq(registry.totalVotingStakeAt(uint64(block.timestamp)), 0);
    }

    function test_registerRefuses() public {
        vm.expectRevert(abi.encodeWithSelector(StakeBook.StakeTooSmall.selector, 99, 100));
        join(provider, IRegistry.Role.Provider, 99);
        vm.expectRevert(StakeBook.RoleUnknown.selector);
        join(provider, IRegistry.Role.None, 100);
        vm.prank(provider);
        vm.expectRevert(IRegistry.SigningKeyMissing.selector);
        registry.register(IRegistry.Role.Provider, 0, "", "", 100);
        join(provider, IRegistry.Role.Provider, 100);
        vm.expectRevert(abi.encodeWithSelector(StakeBook.AlreadyRegistered.selector, provider));
        join(provider, IRegistry.Role.Validator, 1000);
    }

    function test_pauseStopsEntriesAndNeverWithdrawals() public {
        join(provider, IRegistry.Role.Provider, 200);
        registry.pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        join(other, IRegistry.Role.Provider, 100);
        vm.prank(provider);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        registry.stake(1);
        vm.prank(provider);
        registry.unstake(200);
        vm.warp(block.timestamp + 7 days);
        vm.prank(provider);
        registry.withdraw(other);
        assertEq(token.balanceOf(other), 1e24 + 200);
        registry.unpause();
        join(other, IRegistry.Role.Provider, 100);
    }

    function test_onlyTheOwnerPauses() public {
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, other));
        registry.pause();
    }

    function test_unbondingWaits() public {
        join(provider, IRegistry.Role.Provider, 200);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(StakeBook.StakeTooSmall.selector, 99, 100));
        registry.unstake(101);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(StakeBook.StakeMissing.selector, 201, 200));
        registry.unstake(201);
        vm.prank(provider);
        registry.unstake(100);
        uint64 unlockAt = uint64(block.timestamp + 7 days);
        vm.warp(unlockAt - 1);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(StakeBook.StillLocked.selector, unlockAt));
        registry.withdraw(provider);
        vm.warp(unlockAt);
        vm.prank(provider);
        registry.withdraw(provider);
        assertEq(token.balanceOf(provider), 1e24 - 100);
        vm.prank(provider);
        vm.expectRevert(StakeBook.NothingToWithdraw.selector);
        registry.withdraw(provider);
    }

    function test_whoLeftMayComeBackInAnotherRole() public {
        join(provider, IRegistry.Role.Provider, 100);
        vm.prank(provider);
        registry.unstake(100);
        vm.warp(block.timestamp + 7 days);
        vm.prank(provider);
        registry.withdraw(provider);
        join(provider, IRegistry.Role.Validator, 1000);
        assertEq(registry.votingStakeAt(provider, uint64(block.timestamp)), 1000);
    }

    function test_votingStakeIsKeptForThePast() public {
        uint64 start = uint64(block.timestamp);
        join(validator, IRegistry.Role.Validator, 1000);
        vm.warp(start + 10);
        vm.prank(validator);
        registry.stake(500);
        vm.warp(start + 20);
        vm.prank(validator);
        registry.unstake(1500);
        assertEq(registry.votingStakeAt(validator, start - 1), 0);
        assertEq(registry.votingStakeAt(validator, start + 9), 1000);
        assertEq(registry.votingStakeAt(validator, start + 19), 1500);
        assertEq(registry.totalVotingStakeAt(start + 19), 1500);
        assertEq(registry.votingStakeAt(validator, start + 20), 0);
        assertEq(registry.totalVotingStakeAt(start + 20), 0);
    }

    function test_slashTakesBondedThenUnbondingAndSplits() public {
        join(validator, IRegistry.Role.Validator, 3000);
        vm.prank(validator);
        registry.unstake(2000);
        uint128 amount = registry.slash(validator, 500_000, other);
        assertEq(amount, 1500);
        assertEq(registry.accountOf(validator).stake, 0);
        assertEq(registry.accountOf(validator).unbonding, 1500);
        assertEq(token.balanceOf(other), 1e24 + 300);
        assertEq(token.balanceOf(registry.BURN()), 1200);
        assertEq(registry.totalVotingStakeAt(uint64(block.timestamp)), 0);
        assertEq(registry.totalStake(), 1500);
    }

    function test_slashBelowTheLeastStakeEndsTheVote() public {
        join(validator, IRegistry.Role.Validator, 1000);
        registry.slash(validator, 1, other);
        assertEq(registry.accountOf(validator).stake, 1000);
        registry.slash(validator, 10_000, other);
        assertEq(registry.accountOf(validator).stake, 990);
        assertEq(registry.votingStakeAt(validator, uint64(block.timestamp)), 0);
    }

    function test_onlyTheSlashersSlash() public {
        join(validator, IRegistry.Role.Validator, 1000);
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotSlasher.selector, other));
        registry.slash(validator, 1_000_000, other);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.SlashTooLarge.selector, 1_000_001));
        registry.slash(validator, 1_000_001, other);
        vm.expectRevert(abi.encodeWithSelector(StakeBook.NotRegistered.selector, other));
        registry.slash(other, 1, other);
    }

    function attest(uint256 key, bytes32 device, address to, uint64 issuedAt) private {
        IRegistry.DeviceAttestation memory statement = IRegistry.DeviceAttestation(device, to, bytes32(uint256(7)), issuedAt);
        bytes memory signature = signed(key, registry.attestationDigest(statement));
        vm.prank(to);
        registry.bindDevice(statement, signature);
    }

    function test_oneProviderADevice() public {
        join(validator, IRegistry.Role.Validator, 1000);
        join(provider, IRegistry.Role.Provider, 100);
        join(other, IRegistry.Role.Provider, 100);
        bytes32 device = keccak256("gpu");
        uint64 start = uint64(block.timestamp);
        attest(VALIDATOR_KEY, device, provider, start);
        (address owner, uint64 until) = registry.deviceOf(device);
        assertEq(owner, provider);
        assertEq(until, start + 3 days);
        IRegistry.DeviceAttestation memory late =
            IRegistry.DeviceAttestation(device, other, bytes32(uint256(7)), start);
        bytes memory signature = signed(VALIDATOR_KEY, registry.attestationDigest(late));
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(DeviceBook.DeviceTaken.selector, device, provider, until));
        registry.bindDevice(late, signature);
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(DeviceBook.NotDeviceOwner.selector, device, other));
        registry.releaseDevice(device);
        vm.prank(provider);
        registry.releaseDevice(device);
        attest(VALIDATOR_KEY, device, other, start);
        (owner,) = registry.deviceOf(device);
        assertEq(owner, other);
        vm.warp(start + 3 days);
        (owner,) = registry.deviceOf(device);
        assertEq(owner, address(0));
        attest(VALIDATOR_KEY, device, provider, start + 1 days);
        (owner,) = registry.deviceOf(device);
        assertEq(owner, provider);
    }

    function test_devicesNeedAFreshWordOfAValidator() public {
        join(provider, IRegistry.Role.Provider, 100);
        uint64 start = uint64(block.timestamp);
        IRegistry.DeviceAttestation memory statement =
            IRegistry.DeviceAttestation(keccak256("gpu"), provider, bytes32(uint256(7)), start);
        bytes memory signature = signed(VALIDATOR_KEY, registry.attestationDigest(statement));
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.AttesterNotValidator.selector, validator));
        registry.bindDevice(statement, signature);
        join(validator, IRegistry.Role.Validator, 1000);
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotProvider.selector, other));
        registry.bindDevice(statement, signature);
        vm.warp(start + 3 days);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(DeviceBook.AttestationStale.selector, start));
        registry.bindDevice(statement, signature);
        statement.issuedAt = uint64(block.timestamp + 1);
        signature = signed(VALIDATOR_KEY, registry.attestationDigest(statement));
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(DeviceBook.AttestationStale.selector, statement.issuedAt));
        registry.bindDevice(statement, signature);
        // A word for one provider does not serve for a changed statement.
        statement.device = keccak256("another");
        vm.prank(provider);
        vm.expectRevert();
        registry.bindDevice(statement, signature);
    }

    /// Not to another registry, not to another chain, not as the other signature of the same key.
    function test_attestationsDoNotTravel() public {
        join(validator, IRegistry.Role.Validator, 1000);
        join(provider, IRegistry.Role.Provider, 100);
        IRegistry.DeviceAttestation memory statement =
            IRegistry.DeviceAttestation(keccak256("gpu"), provider, bytes32(uint256(7)), uint64(block.timestamp));
        bytes memory signature = signed(VALIDATOR_KEY, registry.attestationDigest(statement));
        bytes memory mirror = mirrored(signature);
        vm.prank(provider);
        vm.expectRevert();
        registry.bindDevice(statement, mirror);
        vm.prank(provider);
        vm.expectRevert();
        registry.bindDevice(statement, bytes.concat(signature, hex"00"));
        vm.chainId(block.chainid + 1);
        vm.prank(provider);
        vm.expectRevert();
        registry.bindDevice(statement, signature);
        vm.chainId(block.chainid - 1);
        Registry another = new Registry(token, address(this), address(this), address(this), address(this), registry.params());
        assertTrue(another.attestationDigest(statement) != registry.attestationDigest(statement), "one digest for two registries");
        vm.prank(provider);
        registry.bindDevice(statement, signature);
        // Replayed: it stretches nothing.
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(DeviceBook.AttestationStale.selector, statement.issuedAt));
        registry.bindDevice(statement, signature);
    }

    /// While entries are paused whoever has a device keeps it; nobody else gets one.
    function test_aRenewalIsNoEntry() public {
        join(validator, IRegistry.Role.Validator, 1000);
        join(provider, IRegistry.Role.Provider, 100);
        join(other, IRegistry.Role.Provider, 100);
        bytes32 device = keccak256("gpu");
        uint64 start = uint64(block.timestamp);
        attest(VALIDATOR_KEY, device, provider, start);
        registry.pause();
        vm.warp(start + 2 days);
        attest(VALIDATOR_KEY, device, provider, start + 2 days);
        (address owner, uint64 until) = registry.deviceOf(device);
        assertEq(owner, provider);
        assertEq(until, start + 5 days);
        IRegistry.DeviceAttestation memory statement =
            IRegistry.DeviceAttestation(keccak256("another"), other, bytes32(uint256(7)), start + 2 days);
        bytes memory signature = signed(VALIDATOR_KEY, registry.attestationDigest(statement));
        vm.prank(other);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        registry.bindDevice(statement, signature);
        // Run out it is free, and to bind it is an entry again.
        vm.warp(start + 5 days);
        statement = IRegistry.DeviceAttestation(device, provider, bytes32(uint256(7)), start + 5 days);
        signature = signed(VALIDATOR_KEY, registry.attestationDigest(statement));
        vm.prank(provider);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        registry.bindDevice(statement, signature);
    }

    function test_renouncingEndsThePause() public {
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, other));
        registry.renounceOwnership();
        registry.pause();
        registry.renounceOwnership();
        join(provider, IRegistry.Role.Provider, 100);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, address(this)));
        registry.pause();
    }

    /// A history of 48 bits of seconds must not be asked for a moment that was cut off.
    function test_theFutureIsNotThePast() public {
        uint64 start = uint64(block.timestamp);
        join(validator, IRegistry.Role.Validator, 1000);
        assertEq(registry.votingStakeAt(validator, (1 << 48) + start - 1), 1000);
        assertEq(registry.totalVotingStakeAt((1 << 48) + start - 1), 1000);
        assertEq(registry.totalVotingStakeAt(type(uint64).max), 1000);
        assertEq(registry.totalVotingStakeAt(start - 1), 0);
    }

    function test_slashedToNothingWhileLeaving() public {
        join(validator, IRegistry.Role.Validator, 3000);
        vm.prank(validator);
        registry.unstake(3000);
        assertEq(registry.slash(validator, 1_000_000, other), 3000);
        assertEq(registry.totalStake(), 0);
        vm.warp(block.timestamp + 7 days);
        vm.prank(validator);
        vm.expectRevert(abi.encodeWithSelector(StakeBook.NotRegistered.selector, validator));
        registry.withdraw(validator);
        join(validator, IRegistry.Role.Provider, 100);
        assertEq(registry.slashableOf(validator), 100);
    }

    function test_accountsChangeTheirOwnWordsOnly() public {
        join(provider, IRegistry.Role.Provider, 100);
        vm.prank(provider);
        registry.setEndpoint("https://elsewhere");
        vm.prank(provider);
        registry.setSigningKey(bytes32(uint256(9)), "proof");
        IRegistry.Account memory account = registry.accountOf(provider);
        assertEq(keccak256(bytes(account.endpoint)), keccak256("https://elsewhere"));
        assertEq(account.signingKey, bytes32(uint256(9)));
        vm.prank(provider);
        vm.expectRevert(IRegistry.SigningKeyMissing.selector);
        registry.setSigningKey(0, "");
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(StakeBook.NotRegistered.selector, other));
        registry.setEndpoint("https://nowhere");
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(StakeBook.NotRegistered.selector, other));
        registry.setSigningKey(bytes32(uint256(9)), "");
        vm.prank(provider);
        vm.expectRevert(IRegistry.AmountZero.selector);
        registry.stake(0);
        vm.prank(provider);
        vm.expectRevert(IRegistry.AmountZero.selector);
        registry.unstake(0);
    }

    function deployWith(IRegistry.Params memory params) external returns (Registry) {
        return new Registry(token, address(this), address(this), address(this), address(this), params);
    }

    /// Least stakes of 0, delays without end, a slash that mostly comes back: not deployed at all.
    function test_paramsThatTakeOrTrapAreRefused() public {
        IRegistry.Params memory good = registry.params();
        this.deployWith(good);
        IRegistry.Params memory bad = registry.params();
        bad.minProviderStake = 0;
        vm.expectRevert(IRegistry.AmountZero.selector);
        this.deployWith(bad);
        bad = registry.params();
        bad.minValidatorStake = 0;
        vm.expectRevert(IRegistry.AmountZero.selector);
        this.deployWith(bad);
        bad = registry.params();
        bad.accuserPpm = 500_001;
        vm.expectRevert(abi.encodeWithSelector(IRegistry.SlashTooLarge.selector, 500_001));
        this.deployWith(bad);
        bad = registry.params();
        bad.unbondingSeconds = 365 days + 1;
        vm.expectRevert(IRegistry.ParamsInvalid.selector);
        this.deployWith(bad);
        bad.unbondingSeconds = type(uint64).max;
        vm.expectRevert(IRegistry.ParamsInvalid.selector);
        this.deployWith(bad);
        bad = registry.params();
        bad.deviceSeconds = 0;
        vm.expectRevert(IRegistry.ParamsInvalid.selector);
        this.deployWith(bad);
        bad.deviceSeconds = 365 days + 1;
        vm.expectRevert(IRegistry.ParamsInvalid.selector);
        this.deployWith(bad);
    }

    function testFuzz_stakesAreConserved(uint96 bonded, uint96 leaving, uint32 ppm) public {
        uint128 amount = uint128(bound(bonded, 1000, 1e24));
        uint128 out = uint128(bound(leaving, 1, amount - 1000 > 0 ? amount - 1000 : 1));
        uint32 share = uint32(bound(ppm, 0, 1_000_000));
        join(validator, IRegistry.Role.Validator, amount);
        if (out <= amount - 1000) {
            vm.prank(validator);
            registry.unstake(out);
        }
        uint128 taken = registry.slash(validator, share, other);
        assertEq(registry.slashableOf(validator), amount - taken);
        assertEq(token.balanceOf(address(registry)), registry.totalStake());
        assertEq(token.balanceOf(other) - 1e24 + token.balanceOf(registry.BURN()), taken);
    }
}
