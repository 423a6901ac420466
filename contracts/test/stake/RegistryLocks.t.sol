// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRegistry, LockId} from "../../src/stake/IRegistry.sol";
import {StakeKit} from "../StakeKit.sol";

/// Who may slash and lock whom, and every way out of it. This contract is the electorate; LOCKER, FRIEND and
/// SLASHER are contracts that a provider allows.
contract RegistryLocksTest is StakeKit {
    address private constant LOCKER = address(0x10C);
    address private constant FRIEND = address(0xF1);
    address private constant SLASHER = address(0x51A);
    address private constant CUSTOMER = address(0xC0);
    address private validator = address(0xA11CE);
    bytes32 private constant WHY = keccak256("why");

    function setUp() public {
        deployRegistry();
        deployRest(address(this));
        provider = address(0xB0B);
        fund(provider);
        fund(validator);
    }

    function entered(uint128 amount) private {
        IRegistry.Registration memory entry = registration(provider, IRegistry.Role.Provider, amount);
        entry.allowances[0] = IRegistry.Allowance(LOCKER, 0, 500);
        entry.allowances[1] = IRegistry.Allowance(SLASHER, 500_000, 0);
        vm.prank(provider);
        registry.register(entry);
    }

    function allowed(address slasher, uint32 mostPpm, uint128 mostLocked) private view {
        (uint32 ppm, uint128 locked) = registry.allowanceOf(provider, slasher);
        assertEq(ppm, mostPpm);
        assertEq(locked, mostLocked);
    }

    function parts(uint128 stake, uint128 unbonding, uint128 locked) private view {
        IRegistry.Account memory account = registry.accountOf(provider);
        assertEq(account.stake, stake);
        assertEq(account.unbonding, unbonding);
        assertEq(account.locked, locked);
        assertEq(registry.slashableOf(provider), stake + unbonding + locked);
        assertEq(token.balanceOf(address(registry)), registry.totalStake());
    }

    function take(uint32 ppm) private returns (uint128) {
        vm.prank(SLASHER);
        return registry.slash(provider, ppm, CUSTOMER, WHY);
    }

    function hold(bytes32 ref, uint128 amount) private returns (LockId) {
        vm.prank(LOCKER);
        return registry.lock(provider, amount, ref);
    }

    // Allowances

    function test_onlyWhomTheAccountAllows() public {
        entered(1000);
        allowed(LOCKER, 0, 500);
        allowed(SLASHER, 500_000, 0);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, provider, address(this)));
        registry.slash(provider, 1, CUSTOMER, WHY);
        vm.prank(LOCKER);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, provider, LOCKER));
        registry.slash(provider, 1, CUSTOMER, WHY);
        vm.prank(SLASHER);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, provider, SLASHER));
        registry.lock(provider, 1, "ref");
        vm.prank(SLASHER);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.SlashTooLarge.selector, 500_001, 500_000));
        registry.slash(provider, 500_001, CUSTOMER, WHY);
        // Nobody is the electorate of a provider, least of all the zero address.
        vm.prank(address(0));
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, provider, address(0)));
        registry.slash(provider, 1, CUSTOMER, WHY);
        vm.expectEmit(address(registry));
        emit IRegistry.Slashed(provider, SLASHER, WHY, CUSTOMER, 500, 100, 400);
        assertEq(take(500_000), 500);
        assertEq(token.balanceOf(CUSTOMER), 100);
        assertEq(token.balanceOf(registry.BURN()), 400);
    }

    function test_anElectorateMayTakeAllOfItsValidatorsAndLockNothing() public {
        IRegistry.Registration memory entry = registration(validator, IRegistry.Role.Validator, 3000);
        entry.allowances = new IRegistry.Allowance[](1);
        entry.allowances[0] = IRegistry.Allowance(LOCKER, 0, 500);
        vm.prank(validator);
        registry.register(entry);
        // ATTACK: a validator's stake, locked by a friend, would be out of every vote and go to the friend.
        vm.prank(LOCKER);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotProvider.selector, validator));
        registry.lock(validator, 500, "ref");
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, validator, address(this)));
        registry.lock(validator, 500, "ref");
        vm.prank(SLASHER);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, validator, SLASHER));
        registry.slash(validator, 1, CUSTOMER, WHY);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.SlashTooLarge.selector, 1_000_001, 1_000_000));
        registry.slash(validator, 1_000_001, CUSTOMER, WHY);
        assertEq(registry.slash(validator, 1_000_000, CUSTOMER, WHY), 3000);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, validator, address(this)));
        registry.slash(validator, 1, CUSTOMER, WHY);
    }

    function test_slashBelowTheLeastStakeEndsTheVote() public {
        join(validator, IRegistry.Role.Validator, 1000);
        registry.slash(validator, 1, CUSTOMER, WHY);
        assertEq(registry.accountOf(validator).stake, 1000);
        registry.slash(validator, 10_000, CUSTOMER, WHY);
        assertEq(registry.accountOf(validator).stake, 990);
        assertEq(registry.votingStakeAt(address(this), validator, uint64(block.timestamp)), 0);
        assertEq(registry.totalVotingStakeAt(address(this), uint64(block.timestamp)), 0);
    }

    function test_withoutAnAccuserAllIsBurned() public {
        entered(1000);
        vm.prank(SLASHER);
        vm.expectEmit(address(registry));
        emit IRegistry.Slashed(provider, SLASHER, WHY, address(0), 500, 0, 500);
        registry.slash(provider, 500_000, address(0), WHY);
        assertEq(token.balanceOf(registry.BURN()), 500);
    }

    function test_allowancesGrowAtOnce() public {
        entered(1000);
        vm.startPrank(provider);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.AllowanceSmaller.selector, SLASHER));
        registry.allow(IRegistry.Allowance(SLASHER, 499_999, 100));
        vm.expectRevert(abi.encodeWithSelector(IRegistry.AllowanceSmaller.selector, LOCKER));
        registry.allow(IRegistry.Allowance(LOCKER, 1, 499));
        vm.expectRevert(IRegistry.AllowanceInvalid.selector);
        registry.allow(IRegistry.Allowance(address(0), 1, 1));
        vm.expectRevert(IRegistry.AllowanceInvalid.selector);
        registry.allow(IRegistry.Allowance(FRIEND, 0, 0));
        vm.expectRevert(IRegistry.AllowanceInvalid.selector);
        registry.allow(IRegistry.Allowance(FRIEND, 1_000_001, 0));
        vm.expectEmit(address(registry));
        emit IRegistry.AllowanceChanged(provider, SLASHER, 1_000_000, 7, 0);
        registry.allow(IRegistry.Allowance(SLASHER, 1_000_000, 7));
        allowed(SLASHER, 1_000_000, 7);
    }

    /// ATTACK: disallow before a slash, then leave. The slasher has as long as unstaking takes.
    function test_disallowingDoesNotEscape() public {
        entered(1000);
        uint64 ends = uint64(block.timestamp) + 7 days;
        vm.startPrank(provider);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, provider, FRIEND));
        registry.disallow(FRIEND);
        vm.expectEmit(address(registry));
        emit IRegistry.AllowanceChanged(provider, SLASHER, 500_000, 0, ends);
        registry.disallow(SLASHER);
        // A second word neither hastens nor delays it.
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, provider, SLASHER));
        registry.disallow(SLASHER);
        // Nor can it be made smaller meanwhile.
        vm.expectRevert(abi.encodeWithSelector(IRegistry.AllowanceSmaller.selector, SLASHER));
        registry.allow(IRegistry.Allowance(SLASHER, 1, 0));
        registry.unstake(1000);
        vm.stopPrank();
        vm.warp(ends - 1);
        allowed(SLASHER, 500_000, 0);
        assertEq(take(500_000), 500);
        vm.warp(ends);
        allowed(SLASHER, 0, 0);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, provider, SLASHER));
        take(1);
        vm.startPrank(provider);
        registry.withdraw(provider);
        assertEq(token.balanceOf(provider), 1e9 - 500);
    }

    function test_anEndedAllowanceMayBeginSmaller() public {
        entered(1000);
        vm.startPrank(provider);
        registry.disallow(SLASHER);
        vm.warp(block.timestamp + 7 days);
        registry.allow(IRegistry.Allowance(SLASHER, 1, 0));
        allowed(SLASHER, 1, 0);
        // And one that ends may be taken up again.
        registry.disallow(LOCKER);
        allowed(LOCKER, 0, 0);
        registry.allow(IRegistry.Allowance(LOCKER, 0, 500));
        allowed(LOCKER, 0, 500);
        vm.stopPrank();
        hold("ref", 500);
    }

    // Locks

    function test_lockedStakeComesBack() public {
        entered(1000);
        LockId expected = LockId.wrap(keccak256(abi.encode(LOCKER, bytes32("ref"))));
        vm.expectEmit(address(registry));
        emit IRegistry.Locked(expected, provider, LOCKER, 400);
        LockId id = hold("ref", 400);
        assertEq(LockId.unwrap(id), LockId.unwrap(expected));
        parts(600, 0, 400);
        (address account, uint128 amount) = registry.lockOf(id);
        assertEq(account, provider);
        assertEq(amount, 400);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.LockUnknown.selector, LockId.wrap(keccak256(abi.encode(address(this), bytes32("ref"))))));
        registry.unlock("ref");
        vm.prank(LOCKER);
        vm.expectEmit(address(registry));
        emit IRegistry.Unlocked(id, provider, 400);
        assertEq(registry.unlock("ref"), 400);
        parts(1000, 0, 0);
        (account, amount) = registry.lockOf(id);
        assertEq(amount, 0);
        vm.prank(LOCKER);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.LockUnknown.selector, id));
        registry.unlock("ref");
    }

    function test_locksKeepWithinTheirBounds() public {
        entered(550);
        vm.expectRevert(IRegistry.AmountZero.selector);
        hold("ref", 0);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.LockTooLarge.selector, 501, 500));
        hold("ref", 501);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.StakeTooSmall.selector, 99, 100));
        hold("ref", 451);
        LockId id = hold("ref", 250);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.AlreadyLocked.selector, id));
        hold("ref", 1);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.LockTooLarge.selector, 501, 500));
        hold("more", 251);
        hold("more", 200);
        vm.prank(provider);
        registry.allow(IRegistry.Allowance(LOCKER, 0, 5000));
        vm.expectRevert(abi.encodeWithSelector(IRegistry.StakeMissing.selector, 101, 100));
        hold("third", 101);
        vm.prank(LOCKER);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, validator, LOCKER));
        registry.lock(validator, 1, "ref2");
        // What is free again may be locked again.
        vm.prank(LOCKER);
        registry.unlock("ref");
        hold("ref", 250);
        parts(100, 0, 450);
    }

    function test_aBeneficiaryIsPaidFromTheLock() public {
        entered(1000);
        LockId id = hold("ref", 400);
        vm.startPrank(LOCKER);
        vm.expectRevert(IRegistry.AmountZero.selector);
        registry.slashLocked("ref", 0, CUSTOMER, WHY);
        vm.expectEmit(address(registry));
        emit IRegistry.LockSlashed(id, provider, WHY, CUSTOMER, 150);
        assertEq(registry.slashLocked("ref", 150, CUSTOMER, WHY), 150);
        assertEq(token.balanceOf(CUSTOMER), 150);
        parts(600, 0, 250);
        // More than is left is what is left; without a beneficiary it is burned.
        assertEq(registry.slashLocked("ref", 1000, address(0), WHY), 250);
        assertEq(token.balanceOf(registry.BURN()), 250);
        parts(600, 0, 0);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.LockUnknown.selector, id));
        registry.slashLocked("ref", 1, CUSTOMER, WHY);
        vm.stopPrank();
        // It may be held anew: what was taken is not held any more.
        hold("ref", 500);
    }

    /// ATTACK: a locker that the owner no longer wants locks on; or an owner takes back what is locked.
    function test_disallowedItLocksNothingNewAndKeepsWhatItHas() public {
        entered(1000);
        hold("ref", 400);
        vm.prank(provider);
        registry.disallow(LOCKER);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, provider, LOCKER));
        hold("more", 1);
        vm.prank(provider);
        registry.unstake(600);
        vm.warp(block.timestamp + 8 days);
        vm.startPrank(provider);
        registry.withdraw(provider);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.StakeMissing.selector, 1, 0));
        registry.unstake(1);
        vm.stopPrank();
        parts(0, 0, 400);
        vm.startPrank(LOCKER);
        registry.slashLocked("ref", 100, CUSTOMER, WHY);
        registry.unlock("ref");
        parts(300, 0, 0);
    }

    /// ATTACK: all but the least of it locked, or unstaked, before a slash.
    function test_slashTakesStakeThenUnbondingThenLocked() public {
        entered(1000);
        hold("ref", 400);
        vm.prank(provider);
        registry.unstake(300);
        parts(300, 300, 400);
        take(200_000);
        parts(100, 300, 400);
        take(250_000);
        parts(0, 200, 400);
        take(500_000);
        parts(0, 0, 300);
        assertEq(take(500_000), 150);
        parts(0, 0, 150);
        // The lock says 400, and gets what is there.
        (, uint128 amount) = registry.lockOf(LockId.wrap(keccak256(abi.encode(LOCKER, bytes32("ref")))));
        assertEq(amount, 400);
        vm.startPrank(LOCKER);
        assertEq(registry.slashLocked("ref", 100, CUSTOMER, WHY), 100);
        assertEq(registry.unlock("ref"), 50);
        parts(50, 0, 0);
    }

    function test_slashedOfLockedOnlyItIsGone() public {
        entered(1000);
        vm.prank(provider);
        registry.allow(IRegistry.Allowance(SLASHER, 1_000_000, 0));
        hold("ref", 400);
        vm.prank(provider);
        registry.unstake(600);
        vm.warp(block.timestamp + 7 days);
        vm.prank(provider);
        registry.withdraw(provider);
        assertEq(take(1_000_000), 400);
        assertTrue(registry.accountOf(provider).role == IRegistry.Role.None, "still there");
        vm.prank(LOCKER);
        assertEq(registry.unlock("ref"), 0);
    }

    /// What an account of the past had locked is no claim to what the same address has today, and what it
    /// allowed then it does not allow now.
    function test_anotherLifeOwesNothing() public {
        entered(1000);
        vm.prank(provider);
        registry.allow(IRegistry.Allowance(SLASHER, 1_000_000, 0));
        hold("old", 400);
        assertEq(take(1_000_000), 1000);
        join(provider, IRegistry.Role.Provider, 2000);
        allowed(SLASHER, 0, 0);
        allowed(LOCKER, 0, 0);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, provider, SLASHER));
        take(1);
        vm.prank(provider);
        registry.allow(IRegistry.Allowance(LOCKER, 0, 500));
        hold("new", 500);
        parts(1500, 0, 500);
        vm.startPrank(LOCKER);
        assertEq(registry.slashLocked("old", 100, CUSTOMER, WHY), 0);
        assertEq(registry.unlock("old"), 0);
        parts(1500, 0, 500);
        assertEq(registry.unlock("new"), 500);
        parts(2000, 0, 0);
    }

    function testFuzz_partsAreConserved(uint96 bonded, uint96 leaving, uint96 held, uint32 ppm, uint96 paid) public {
        uint128 amount = uint128(bound(bonded, 1000, 1e9));
        entered(amount);
        vm.startPrank(provider);
        registry.allow(IRegistry.Allowance(LOCKER, 0, type(uint128).max));
        registry.allow(IRegistry.Allowance(SLASHER, 1_000_000, 0));
        vm.stopPrank();
        uint128 locked = uint128(bound(held, 1, amount - 200));
        hold("ref", locked);
        uint128 out = uint128(bound(leaving, 0, amount - locked - 100));
        if (out != 0) {
            vm.prank(provider);
            registry.unstake(out);
        }
        uint128 taken = take(uint32(bound(ppm, 0, 999_999)));
        assertEq(registry.slashableOf(provider), amount - taken);
        vm.startPrank(LOCKER);
        uint128 toCustomer = registry.slashLocked("ref", uint128(bound(paid, 1, 1e9)), CUSTOMER, WHY);
        assertEq(registry.slashableOf(provider), amount - taken - toCustomer);
        assertEq(token.balanceOf(address(registry)), registry.totalStake());
        assertEq(registry.totalStake(), registry.slashableOf(provider));
    }
}
