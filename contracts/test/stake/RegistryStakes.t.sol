// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {IRegistry} from "../../src/stake/IRegistry.sol";
import {Registry} from "../../src/stake/Registry.sol";
import {StakeKit} from "../StakeKit.sol";

/// Stakes, roles and votes, one rule a test, each with the case that must be refused. This contract is the
/// electorate and the Registry's owner.
contract RegistryStakesTest is StakeKit {
    uint256 private constant VALIDATOR_KEY = 0xA11CE;
    address private validator = vm.addr(VALIDATOR_KEY);
    address private other = address(0xCAFE);

    function newToken() internal override returns (AssayToken) {
        return new ReenteringToken();
    }

    function setUp() public {
        deployRegistry();
        deployRest(address(this));
        provider = address(0xB0B);
        fund(validator);
        fund(provider);
        fund(other);
    }

    function votes(address who) private view returns (uint128) {
        return registry.votingStakeAt(address(this), who, uint64(block.timestamp));
    }

    function enter(address who, IRegistry.Role role, uint128 amount) private {
        IRegistry.Registration memory entry = registration(who, role, amount);
        vm.prank(who);
        registry.register(entry);
    }

    function refused(address who, IRegistry.Registration memory entry, bytes memory why) private {
        vm.prank(who);
        vm.expectRevert(why);
        registry.register(entry);
    }

    function test_registerTakesTheStakeAndKeepsTheAccount() public {
        IRegistry.Registration memory entry = registration(provider, IRegistry.Role.Provider, 100);
        vm.expectEmit(address(registry));
        emit IRegistry.Registered(
            provider, IRegistry.Role.Provider, entry.signingKey, 1, "proof", "https://host", address(0)
        );
        vm.expectEmit(address(registry));
        emit IRegistry.SignerChanged(provider, provider);
        vm.expectEmit(address(registry));
        emit IRegistry.PayoutChanged(provider, provider);
        vm.expectEmit(address(registry));
        emit IRegistry.AllowanceChanged(provider, address(slashing), 500_000, 0, 0);
        vm.expectEmit(address(registry));
        emit IRegistry.AllowanceChanged(provider, address(rollCall), 100_000, 0, 0);
        vm.expectEmit(address(registry));
        emit IRegistry.Staked(provider, 100, 100);
        vm.prank(provider);
        registry.register(entry);
        IRegistry.Account memory account = registry.accountOf(provider);
        assertTrue(account.role == IRegistry.Role.Provider, "role");
        assertEq(account.stake, 100);
        assertEq(account.signer, provider);
        assertEq(account.signerSince, block.timestamp);
        assertEq(account.payout, provider);
        assertEq(account.electorate, address(0));
        assertEq(account.signingKey, keccak256(abi.encode(provider)));
        assertEq(token.balanceOf(address(registry)), 100);
        assertEq(registry.totalStake(), 100);
        assertEq(registry.totalVotingStakeAt(address(this), uint64(block.timestamp)), 0);
    }

    function test_registerRefuses() public {
        IRegistry.Registration memory entry = registration(provider, IRegistry.Role.Provider, 99);
        refused(provider, entry, abi.encodeWithSelector(IRegistry.StakeTooSmall.selector, 99, 100));
        entry.amount = 0;
        refused(provider, entry, abi.encodeWithSelector(IRegistry.AmountZero.selector));
        entry.amount = 100;
        entry.role = IRegistry.Role.None;
        refused(provider, entry, abi.encodeWithSelector(IRegistry.RoleUnknown.selector));
        entry.role = IRegistry.Role.Provider;
        entry.signingKey = 0;
        refused(provider, entry, abi.encodeWithSelector(IRegistry.SigningKeyMissing.selector));
        entry = registration(provider, IRegistry.Role.Provider, 100);
        entry.electorate = address(this);
        refused(provider, entry, abi.encodeWithSelector(IRegistry.ElectorateInvalid.selector, address(this)));
        entry = registration(other, IRegistry.Role.Validator, 999);
        refused(other, entry, abi.encodeWithSelector(IRegistry.StakeTooSmall.selector, 999, 1000));
        entry.amount = 1000;
        entry.electorate = address(0);
        refused(other, entry, abi.encodeWithSelector(IRegistry.ElectorateInvalid.selector, address(0)));
        enter(provider, IRegistry.Role.Provider, 100);
        entry = registration(provider, IRegistry.Role.Validator, 1000);
        refused(provider, entry, abi.encodeWithSelector(IRegistry.AlreadyRegistered.selector, provider));
    }

    /// L2: a slashed validator comes back to its least stake, pause or no pause.
    function test_pauseStopsEntriesAndNeitherStakesNorWithdrawals() public {
        enter(provider, IRegistry.Role.Provider, 200);
        enter(validator, IRegistry.Role.Validator, 1000);
        registry.slash(validator, 500_000, address(0), "reason");
        assertEq(votes(validator), 0);
        registry.pause();
        IRegistry.Registration memory entry = registration(other, IRegistry.Role.Provider, 100);
        refused(other, entry, abi.encodeWithSelector(Pausable.EnforcedPause.selector));
        vm.prank(validator);
        registry.stake(500);
        assertEq(votes(validator), 1000);
        vm.prank(provider);
        registry.unstake(200);
        vm.warp(block.timestamp + 7 days);
        vm.prank(provider);
        registry.withdraw(other);
        assertEq(token.balanceOf(other), 1e9 + 200);
        registry.unpause();
        enter(other, IRegistry.Role.Provider, 100);
    }

    function test_onlyTheOwnerPauses() public {
        vm.startPrank(other);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, other));
        registry.pause();
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, other));
        registry.unpause();
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, other));
        registry.renounceOwnership();
    }

    function test_renouncingEndsThePause() public {
        registry.pause();
        registry.renounceOwnership();
        enter(provider, IRegistry.Role.Provider, 100);
        vm.expectRevert(abi.encodeWithSelector(Ownable.OwnableUnauthorizedAccount.selector, address(this)));
        registry.pause();
    }

    function test_unbondingWaits() public {
        enter(provider, IRegistry.Role.Provider, 200);
        vm.startPrank(provider);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.StakeTooSmall.selector, 99, 100));
        registry.unstake(101);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.StakeMissing.selector, 201, 200));
        registry.unstake(201);
        vm.expectRevert(IRegistry.AmountZero.selector);
        registry.unstake(0);
        vm.expectRevert(IRegistry.AmountZero.selector);
        registry.stake(0);
        uint64 unlockAt = uint64(block.timestamp + 7 days);
        vm.expectEmit(address(registry));
        emit IRegistry.Unstaked(provider, 100, unlockAt);
        registry.unstake(100);
        vm.warp(unlockAt - 1);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.StillUnbonding.selector, unlockAt));
        registry.withdraw(provider);
        vm.warp(unlockAt);
        vm.expectEmit(address(registry));
        emit IRegistry.Withdrawn(provider, provider, 100);
        registry.withdraw(provider);
        assertEq(token.balanceOf(provider), 1e9 - 100);
        vm.expectRevert(IRegistry.NothingToWithdraw.selector);
        registry.withdraw(provider);
    }

    /// What was unstaked first does not leave by the clock of then: else the second part would leave at once.
    function test_aSecondUnstakeStartsTheDelayAnew() public {
        enter(provider, IRegistry.Role.Provider, 300);
        uint64 start = uint64(block.timestamp);
        vm.startPrank(provider);
        registry.unstake(100);
        vm.warp(start + 6 days);
        registry.unstake(200);
        vm.warp(start + 7 days);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.StillUnbonding.selector, start + 13 days));
        registry.withdraw(provider);
        vm.warp(start + 13 days);
        registry.withdraw(provider);
        assertEq(token.balanceOf(provider), 1e9);
    }

    function test_strangersHaveNoStake() public {
        vm.startPrank(other);
        bytes memory why = abi.encodeWithSelector(IRegistry.NotRegistered.selector, other);
        vm.expectRevert(why);
        registry.stake(100);
        vm.expectRevert(why);
        registry.unstake(100);
        vm.expectRevert(why);
        registry.withdraw(other);
        assertEq(registry.slashableOf(other), 0);
    }

    /// A provider that leaves comes back as a validator: its allowances went with it, its past has no vote.
    function test_whoLeftMayComeBackInAnotherRole() public {
        enter(provider, IRegistry.Role.Provider, 100);
        vm.startPrank(provider);
        registry.unstake(100);
        vm.warp(block.timestamp + 7 days);
        registry.withdraw(provider);
        vm.stopPrank();
        enter(provider, IRegistry.Role.Validator, 1000);
        assertEq(votes(provider), 1000);
        assertEq(registry.votingStakeAt(address(this), provider, uint64(block.timestamp) - 1), 0);
        (uint32 mostPpm,) = registry.allowanceOf(provider, address(slashing));
        assertEq(mostPpm, 0);
        (mostPpm,) = registry.allowanceOf(provider, address(this));
        assertEq(mostPpm, 1_000_000);
    }

    function test_votingStakeIsKeptForThePast() public {
        uint64 start = uint64(block.timestamp);
        enter(validator, IRegistry.Role.Validator, 1000);
        vm.warp(start + 10);
        vm.prank(validator);
        registry.stake(500);
        vm.warp(start + 20);
        vm.prank(validator);
        registry.unstake(1500);
        assertEq(registry.votingStakeAt(address(this), validator, start - 1), 0);
        assertEq(registry.votingStakeAt(address(this), validator, start + 9), 1000);
        assertEq(registry.votingStakeAt(address(this), validator, start + 19), 1500);
        assertEq(registry.totalVotingStakeAt(address(this), start + 19), 1500);
        assertEq(registry.votingStakeAt(address(this), validator, start + 20), 0);
        assertEq(registry.totalVotingStakeAt(address(this), start + 20), 0);
    }

    /// Stake in an electorate of one's own is none in another.
    function test_anElectorateCountsItsOwn() public {
        enter(validator, IRegistry.Role.Validator, 1000);
        IRegistry.Registration memory entry = registration(other, IRegistry.Role.Validator, 5000);
        entry.electorate = other;
        vm.prank(other);
        registry.register(entry);
        assertEq(registry.totalVotingStakeAt(address(this), uint64(block.timestamp)), 1000);
        assertEq(registry.totalVotingStakeAt(other, uint64(block.timestamp)), 5000);
        assertEq(votes(other), 0);
        (, uint128 weight, uint128 total) = registry.seatOf(address(this), other, uint64(block.timestamp));
        assertEq(weight, 0);
        assertEq(total, 1000);
        (, weight, total) = registry.seatOf(other, other, uint64(block.timestamp));
        assertEq(weight, 5000);
        assertEq(total, 5000);
    }

    /// A history of 48 bits of seconds must not be asked for a moment that was cut off.
    function test_theFutureIsNotThePast() public {
        uint64 start = uint64(block.timestamp);
        enter(validator, IRegistry.Role.Validator, 1000);
        assertEq(registry.votingStakeAt(address(this), validator, (1 << 48) + start - 1), 1000);
        assertEq(registry.totalVotingStakeAt(address(this), (1 << 48) + start - 1), 1000);
        assertEq(registry.totalVotingStakeAt(address(this), type(uint64).max), 1000);
        assertEq(registry.totalVotingStakeAt(address(this), start - 1), 0);
    }

    /// Seats keep 96 bits of a stake, accounts 128 of all of it: neither is ever cut off.
    function test_stakesThatWouldOverflowAreRefused() public {
        Registry wide = Registry(deployCode("Registry", abi.encode(token, address(this), defaultParams())));
        token.approve(address(wide), type(uint256).max);
        ReenteringToken(address(token)).mint(type(uint256).max - token.totalSupply());
        IRegistry.Registration memory entry = registration(address(this), IRegistry.Role.Validator, type(uint96).max);
        uint256 snapshot = token.balanceOf(address(this));
        entry.amount = uint128(type(uint96).max) + 1;
        vm.expectRevert(abi.encodeWithSelector(IRegistry.StakeTooLarge.selector, uint128(1) << 96));
        wide.register(entry);
        entry.amount = type(uint96).max;
        wide.register(entry);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.StakeTooLarge.selector, uint128(1) << 96));
        wide.stake(1);
        assertEq(token.balanceOf(address(this)), snapshot - type(uint96).max);
        token.transfer(other, type(uint136).max);
        vm.startPrank(other);
        token.approve(address(wide), type(uint256).max);
        entry = registration(other, IRegistry.Role.Provider, type(uint128).max);
        vm.expectRevert();
        wide.register(entry);
        entry.amount = type(uint128).max - type(uint96).max;
        wide.register(entry);
        vm.expectRevert();
        wide.stake(1);
        assertEq(wide.slashableOf(other), type(uint128).max - type(uint96).max);
    }

    function deployWith(IRegistry.Params memory params) external returns (Registry) {
        return Registry(deployCode("Registry", abi.encode(token, address(this), params)));
    }

    function refusedParams(IRegistry.Params memory params) private {
        vm.expectRevert(IRegistry.ParamsInvalid.selector);
        this.deployWith(params);
    }

    /// Least stakes of 0, delays without end, a slash that mostly comes back: not deployed at all.
    function test_paramsThatTakeOrTrapAreRefused() public {
        IRegistry.Params memory good = registry.params();
        assertEq(keccak256(abi.encode(good)), keccak256(abi.encode(defaultParams())));
        good.accuserPpm = 500_000;
        good.unbondingSeconds = 365 days;
        good.deviceSeconds = 365 days;
        good.devicePpm = 999_999;
        this.deployWith(good);
        IRegistry.Params memory bad = registry.params();
        bad.minProviderStake = 0;
        refusedParams(bad);
        bad = registry.params();
        bad.minValidatorStake = 0;
        refusedParams(bad);
        bad = registry.params();
        bad.accuserPpm = 500_001;
        refusedParams(bad);
        bad = registry.params();
        bad.unbondingSeconds = 365 days + 1;
        refusedParams(bad);
        bad = registry.params();
        bad.deviceSeconds = 0;
        refusedParams(bad);
        bad.deviceSeconds = 365 days + 1;
        refusedParams(bad);
        bad = registry.params();
        bad.devicePpm = 1_000_000;
        refusedParams(bad);
    }

    /// A token that calls back at every transfer finds all books closed: nothing is taken twice.
    function test_aTokenThatReentersGainsNothing() public {
        ReenteringToken hooked = ReenteringToken(address(token));
        enter(provider, IRegistry.Role.Provider, 200);
        enter(other, IRegistry.Role.Provider, 200);
        vm.startPrank(provider);
        registry.unstake(200);
        vm.warp(block.timestamp + 7 days);
        vm.stopPrank();
        hooked.onTransfer(address(registry), abi.encodeCall(registry.withdraw, (address(token))), provider);
        vm.prank(provider);
        registry.withdraw(provider);
        assertTrue(hooked.failed(), "a withdrawal within a withdrawal");
        assertEq(token.balanceOf(address(registry)), 200);
        assertEq(registry.totalStake(), 200);
    }
}

/// Calls somebody at the next transfer, as if a receiver did.
contract ReenteringToken is AssayToken {
    address private _to;
    bytes private _data;
    bool public failed;

    constructor() AssayToken(1e30) {}

    function mint(uint256 amount) external {
        _mint(msg.sender, amount);
    }

    function onTransfer(address to, bytes calldata data, address) external {
        (_to, _data) = (to, data);
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        if (_to == address(0)) return;
        address target = _to;
        _to = address(0);
        (bool ok,) = target.call(_data);
        failed = !ok;
    }
}
