// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {IRegistry} from "./IRegistry.sol";

/// The state machine of stakes: bonded → unbonding → gone, and slashed from either. No tokens, no callers, no
/// events: Registry has those. Keeps the history of every validator's voting stake, so that an epoch is
/// weighed by the stakes at its end.
library StakeBook {
    using Checkpoints for Checkpoints.Trace208;

    uint32 internal constant PPM = 1_000_000;

    struct Book {
        mapping(address => IRegistry.Account) accounts;
        mapping(address => Checkpoints.Trace208) voting;
        Checkpoints.Trace208 totalVoting;
        // INVARIANT: total = Σ (stake + unbonding) over all accounts; the Registry holds at least that many
        // tokens.
        uint256 total;
    }

    /// @notice Thrown when the account is not registered.
    error NotRegistered(address account);
    /// @notice Thrown when the account is registered already.
    error AlreadyRegistered(address account);
    /// @notice Thrown when the role is neither provider nor validator.
    error RoleUnknown();
    /// @notice Thrown when what would be bonded is less than the role needs.
    error StakeTooSmall(uint128 stake, uint128 least);
    /// @notice Thrown when more is to be unbonded than is bonded.
    error StakeMissing(uint128 asked, uint128 there);
    /// @notice Thrown when the unbonding delay is not over.
    error StillLocked(uint64 unlockAt);
    /// @notice Thrown when nothing is unbonding.
    error NothingToWithdraw();

    function open(
        Book storage book,
        IRegistry.Params memory params,
        address who,
        IRegistry.Role role,
        bytes32 signingKey,
        string calldata endpoint,
        uint128 amount
    ) internal {
        if (role == IRegistry.Role.None) revert RoleUnknown();
        if (signingKey == 0) revert IRegistry.SigningKeyMissing();
        IRegistry.Account storage account = book.accounts[who];
        if (account.role != IRegistry.Role.None) revert AlreadyRegistered(who);
        account.role = role;
        account.signingKey = signingKey;
        account.endpoint = endpoint;
        bond(book, params, who, amount);
    }

    function bond(Book storage book, IRegistry.Params memory params, address who, uint128 amount)
        internal
        returns (uint128 stake)
    {
        if (amount == 0) revert IRegistry.AmountZero();
        IRegistry.Account storage account = known(book, who);
        stake = account.stake + amount;
        uint128 least = leastStake(params, account.role);
        if (stake < least) revert StakeTooSmall(stake, least);
        account.stake = stake;
        book.total += amount;
        recordVoting(book, params, who, account);
    }

    /// What stays is 0 or at least the least stake. A second call while the first is under way starts the
    /// delay anew for both.
    function unbond(Book storage book, IRegistry.Params memory params, address who, uint128 amount)
        internal
        returns (uint64 unlockAt)
    {
        if (amount == 0) revert IRegistry.AmountZero();
        IRegistry.Account storage account = known(book, who);
        if (amount > account.stake) revert StakeMissing(amount, account.stake);
        uint128 stake = account.stake - amount;
        uint128 least = leastStake(params, account.role);
        if (stake != 0 && stake < least) revert StakeTooSmall(stake, least);
        unlockAt = uint64(block.timestamp) + params.unbondingSeconds;
        account.stake = stake;
        account.unbonding += amount;
        account.unlockAt = unlockAt;
        recordVoting(book, params, who, account);
    }

    /// INVARIANT: depends on nothing but the clock and the account itself: no pause, no role, no third party.
    function release(Book storage book, address who) internal returns (uint128 amount) {
        IRegistry.Account storage account = known(book, who);
        amount = account.unbonding;
        if (amount == 0) revert NothingToWithdraw();
        if (block.timestamp < account.unlockAt) revert StillLocked(account.unlockAt);
        account.unbonding = 0;
        account.unlockAt = 0;
        book.total -= amount;
        // Nothing left: the address may come back in another role.
        if (account.stake == 0) delete book.accounts[who];
    }

    /// Takes a share of all that is there, bonded first: what is on its way out does not escape.
    function seize(Book storage book, IRegistry.Params memory params, address who, uint32 ppm)
        internal
        returns (uint128 amount)
    {
        if (ppm > PPM) revert IRegistry.SlashTooLarge(ppm);
        IRegistry.Account storage account = known(book, who);
        amount = uint128((uint256(account.stake) + account.unbonding) * ppm / PPM);
        uint128 fromStake = amount < account.stake ? amount : account.stake;
        account.stake -= fromStake;
        account.unbonding -= amount - fromStake;
        book.total -= amount;
        recordVoting(book, params, who, account);
        // Nothing is left to withdraw, so nothing else would ever close it.
        if (account.stake == 0 && account.unbonding == 0) delete book.accounts[who];
    }

    function known(Book storage book, address who) internal view returns (IRegistry.Account storage account) {
        account = book.accounts[who];
        if (account.role == IRegistry.Role.None) revert NotRegistered(who);
    }

    function votingAt(Book storage book, address who, uint64 time) internal view returns (uint128) {
        return uint128(book.voting[who].upperLookupRecent(momentOf(time)));
    }

    function totalVotingAt(Book storage book, uint64 time) internal view returns (uint128) {
        return uint128(book.totalVoting.upperLookupRecent(momentOf(time)));
    }

    /// A time beyond the history's 48 bits is the end of all times, not, cut off, some moment of the past.
    function momentOf(uint64 time) private pure returns (uint48) {
        return time > type(uint48).max ? type(uint48).max : uint48(time);
    }

    function leastStake(IRegistry.Params memory params, IRegistry.Role role) private pure returns (uint128) {
        return role == IRegistry.Role.Validator ? params.minValidatorStake : params.minProviderStake;
    }

    /// INVARIANT: totalVoting = Σ voting, at every moment of the past and now.
    function recordVoting(
        Book storage book,
        IRegistry.Params memory params,
        address who,
        IRegistry.Account storage account
    ) private {
        if (account.role != IRegistry.Role.Validator) return;
        uint208 now_ = account.stake >= params.minValidatorStake ? account.stake : 0;
        uint48 time = uint48(block.timestamp);
        (uint208 before,) = book.voting[who].push(time, now_);
        if (before != now_) book.totalVoting.push(time, book.totalVoting.latest() + now_ - before);
    }
}
