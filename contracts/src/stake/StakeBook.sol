// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {IRegistry} from "./IRegistry.sol";

/// The state machine of stakes: bonded → unbonding → gone, bonded ⇄ locked, and slashed from each. Whose
/// signer is who. No tokens, no callers, no events: Registry has those; who may lock and slash is LockBook.
/// Keeps the history of every validator's voting stake, so that an epoch is weighed by the stakes at its end.
library StakeBook {
    using Checkpoints for Checkpoints.Trace208;

    uint32 internal constant PPM = 1_000_000;

    /// In one slot: whoever commits or reveals pays for reading it.
    struct Signer {
        address account;
        uint64 since;
    }

    struct Book {
        mapping(address => IRegistry.Account) accounts;
        // INVARIANT: an address signs for one account, for ever; `since` is not 0 for the one key that does
        // now.
        mapping(address => Signer) signers;
        /// How often an account was closed: what others were allowed, and hold, ends with it.
        mapping(address => uint64) lives;
        mapping(address electorate => mapping(address => Checkpoints.Trace208)) voting;
        mapping(address electorate => Checkpoints.Trace208) totalVoting;
        // INVARIANT: total = Σ (stake + unbonding + locked) over all accounts, below 2¹²⁸; the Registry holds
        // at least that many tokens.
        uint128 total;
    }

    function open(Book storage book, address who, IRegistry.Registration calldata entry, uint128 least) internal {
        if (entry.role == IRegistry.Role.None) revert IRegistry.RoleUnknown();
        if (entry.signingKey == 0) revert IRegistry.SigningKeyMissing();
        if ((entry.role == IRegistry.Role.Validator) != (entry.electorate != address(0))) {
            revert IRegistry.ElectorateInvalid(entry.electorate);
        }
        IRegistry.Account storage account = book.accounts[who];
        if (account.role != IRegistry.Role.None) revert IRegistry.AlreadyRegistered(who);
        account.role = entry.role;
        account.electorate = entry.electorate;
        account.signingKey = entry.signingKey;
        account.endpoint = entry.endpoint;
        bond(book, who, entry.amount, least);
    }

    /// The signer has consented. INVARIANT: `since` moves at every change, so that two keys of one account
    /// never both had the seat of one moment.
    function setSigner(Book storage book, address who, address signer) internal {
        IRegistry.Account storage account = known(book, who);
        address taken = book.signers[signer].account;
        if (taken != address(0) && taken != who) revert IRegistry.SignerTaken(signer, taken);
        book.signers[account.signer].since = 0;
        book.signers[signer] = Signer(who, uint64(block.timestamp));
        account.signer = signer;
        account.signerSince = uint64(block.timestamp);
    }

    function bond(Book storage book, address who, uint128 amount, uint128 least) internal returns (uint128 stake) {
        if (amount == 0) revert IRegistry.AmountZero();
        IRegistry.Account storage account = known(book, who);
        stake = account.stake + amount;
        if (stake < least) revert IRegistry.StakeTooSmall(stake, least);
        account.stake = stake;
        book.total += amount;
        recordVoting(book, who, account, least);
    }

    /// What stays is 0 or at least the least stake. A second call while the first is under way starts the
    /// delay anew for both.
    function unbond(Book storage book, address who, uint128 amount, uint128 least, uint64 delay)
        internal
        returns (uint64 unlockAt)
    {
        if (amount == 0) revert IRegistry.AmountZero();
        IRegistry.Account storage account = known(book, who);
        if (amount > account.stake) revert IRegistry.StakeMissing(amount, account.stake);
        uint128 stake = account.stake - amount;
        if (stake != 0 && stake < least) revert IRegistry.StakeTooSmall(stake, least);
        unlockAt = uint64(block.timestamp) + delay;
        account.stake = stake;
        account.unbonding += amount;
        account.unlockAt = unlockAt;
        recordVoting(book, who, account, least);
    }

    /// INVARIANT: depends on nothing but the clock and the account itself: no pause, no role, no third party.
    function release(Book storage book, address who) internal returns (uint128 amount) {
        IRegistry.Account storage account = known(book, who);
        amount = account.unbonding;
        if (amount == 0) revert IRegistry.NothingToWithdraw();
        if (block.timestamp < account.unlockAt) revert IRegistry.StillUnbonding(account.unlockAt);
        account.unbonding = 0;
        account.unlockAt = 0;
        book.total -= amount;
        closeEmpty(book, who, account);
    }

    /// Takes a share of all that is there, bonded first, then unbonding, then locked: nothing escapes.
    function seize(Book storage book, address who, uint32 ppm, uint128 least) internal returns (uint128 amount) {
        IRegistry.Account storage account = known(book, who);
        amount = uint128(uint256(slashable(account)) * ppm / PPM);
        uint128 fromStake = lesser(amount, account.stake);
        uint128 fromUnbonding = lesser(amount - fromStake, account.unbonding);
        account.stake -= fromStake;
        account.unbonding -= fromUnbonding;
        account.locked -= amount - fromStake - fromUnbonding;
        book.total -= amount;
        recordVoting(book, who, account, least);
        closeEmpty(book, who, account);
    }

    /// Of a provider: from its stake to what is locked.
    function hold(Book storage book, address who, uint128 amount, uint128 least) internal {
        IRegistry.Account storage account = known(book, who);
        if (account.role != IRegistry.Role.Provider) revert IRegistry.NotProvider(who);
        if (amount > account.stake) revert IRegistry.StakeMissing(amount, account.stake);
        uint128 stake = account.stake - amount;
        if (stake < least) revert IRegistry.StakeTooSmall(stake, least);
        account.stake = stake;
        account.locked += amount;
    }

    /// Back to its stake: `amount`, or what is left of all that is locked.
    function free(Book storage book, address who, uint128 amount) internal returns (uint128 freed) {
        IRegistry.Account storage account = book.accounts[who];
        freed = lesser(amount, account.locked);
        account.locked -= freed;
        account.stake += freed;
    }

    /// Out of what is locked: `amount`, or what is left of it.
    function take(Book storage book, address who, uint128 amount) internal returns (uint128 taken) {
        IRegistry.Account storage account = book.accounts[who];
        taken = lesser(amount, account.locked);
        account.locked -= taken;
        book.total -= taken;
        closeEmpty(book, who, account);
    }

    function known(Book storage book, address who) internal view returns (IRegistry.Account storage account) {
        account = book.accounts[who];
        if (account.role == IRegistry.Role.None) revert IRegistry.NotRegistered(who);
    }

    function slashable(IRegistry.Account storage account) internal view returns (uint128) {
        return account.stake + account.unbonding + account.locked;
    }

    function votingAt(Book storage book, address electorate, address who, uint64 time) internal view returns (uint128) {
        return uint128(book.voting[electorate][who].upperLookupRecent(momentOf(time)));
    }

    function totalVotingAt(Book storage book, address electorate, uint64 time) internal view returns (uint128) {
        return uint128(book.totalVoting[electorate].upperLookupRecent(momentOf(time)));
    }

    /// The account, and its weight if this key is its signer now and was at that moment.
    function seatAt(Book storage book, address electorate, address signer, uint64 time)
        internal
        view
        returns (address who, uint128 weight)
    {
        Signer storage entry = book.signers[signer];
        who = entry.account;
        uint64 since = entry.since;
        if (since != 0 && since <= time) weight = votingAt(book, electorate, who, time);
    }

    /// The account, and its weight now if this key is its signer now.
    function voiceNow(Book storage book, address electorate, address signer)
        internal
        view
        returns (address who, uint128 weight)
    {
        Signer storage entry = book.signers[signer];
        who = entry.account;
        if (entry.since != 0) weight = uint128(book.voting[electorate][who].latest());
    }

    function lesser(uint128 a, uint128 b) internal pure returns (uint128) {
        return a < b ? a : b;
    }

    /// A time beyond the history's 48 bits is the end of all times, not, cut off, some moment of the past.
    function momentOf(uint64 time) private pure returns (uint48) {
        return time > type(uint48).max ? type(uint48).max : uint48(time);
    }

    /// Nothing is left, so nothing else would ever close it: the address may come back in another role.
    function closeEmpty(Book storage book, address who, IRegistry.Account storage account) private {
        if (account.stake != 0 || account.unbonding != 0 || account.locked != 0) return;
        book.signers[account.signer].since = 0;
        delete book.accounts[who];
        book.lives[who]++;
    }

    /// INVARIANT: totalVoting = Σ voting of an electorate, at every moment of the past and now; each below
    /// 2⁹⁶.
    function recordVoting(Book storage book, address who, IRegistry.Account storage account, uint128 least) private {
        if (account.role != IRegistry.Role.Validator) return;
        uint128 stake = account.stake;
        // Seats are kept in 96 bits.
        if (stake > type(uint96).max) revert IRegistry.StakeTooLarge(stake);
        uint208 now_ = stake >= least ? stake : 0;
        uint48 time = uint48(block.timestamp);
        (uint208 before,) = book.voting[account.electorate][who].push(time, now_);
        if (before == now_) return;
        Checkpoints.Trace208 storage total = book.totalVoting[account.electorate];
        total.push(time, total.latest() + now_ - before);
    }
}
