// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRegistry, LockId} from "./IRegistry.sol";
import {StakeBook} from "./StakeBook.sol";

/// Who may take what of whose stake: allowances, and locks of those who hold a part of it for a purpose. Only
/// an account's owner allows; what was allowed ends a delay after its owner says so, or with the account.
/// What is taken moves in StakeBook.
library LockBook {
    using StakeBook for StakeBook.Book;

    struct Grant {
        uint32 mostPpm;
        /// 0 without end.
        uint64 endsAt;
        uint128 mostLocked;
        // INVARIANT: Σ amounts of the locker's locks on this account.
        uint128 held;
    }

    struct Lock {
        address account;
        /// Of the account, when it was locked.
        uint64 life;
        uint128 amount;
    }

    struct Book {
        mapping(address account => mapping(uint64 life => mapping(address slasher => Grant))) grants;
        mapping(LockId => Lock) locks;
    }

    function allow(Book storage book, StakeBook.Book storage stakes, address who, IRegistry.Allowance calldata more)
        internal
    {
        if (
            more.slasher == address(0) || more.mostPpm > StakeBook.PPM || (more.mostPpm == 0 && more.mostLocked == 0)
        ) revert IRegistry.AllowanceInvalid();
        Grant storage grant = grantOf(book, stakes, who, more.slasher);
        if (!isOver(grant) && (more.mostPpm < grant.mostPpm || more.mostLocked < grant.mostLocked)) {
            revert IRegistry.AllowanceSmaller(more.slasher);
        }
        (grant.mostPpm, grant.mostLocked, grant.endsAt) = (more.mostPpm, more.mostLocked, 0);
    }

    function disallow(Book storage book, StakeBook.Book storage stakes, address who, address slasher, uint64 delay)
        internal
        returns (Grant storage grant)
    {
        grant = grantOf(book, stakes, who, slasher);
        if (grant.endsAt != 0 || (grant.mostPpm == 0 && grant.mostLocked == 0)) {
            revert IRegistry.NotAllowed(who, slasher);
        }
        grant.endsAt = uint64(block.timestamp) + delay;
    }

    /// What the slasher may take now; a validator's electorate all of it.
    function allowed(Book storage book, StakeBook.Book storage stakes, address who, address slasher)
        internal
        view
        returns (uint32 mostPpm, uint128 mostLocked)
    {
        Grant storage grant = grantOf(book, stakes, who, slasher);
        if (!isOver(grant)) mostPpm = grant.mostPpm;
        if (grant.endsAt == 0) mostLocked = grant.mostLocked;
        if (slasher != address(0) && stakes.accounts[who].electorate == slasher) mostPpm = StakeBook.PPM;
    }

    function lock(
        Book storage book,
        StakeBook.Book storage stakes,
        address who,
        address locker,
        bytes32 ref,
        uint128 amount,
        uint128 least
    ) internal returns (LockId id) {
        if (amount == 0) revert IRegistry.AmountZero();
        Grant storage grant = grantOf(book, stakes, who, locker);
        if (grant.endsAt != 0 || grant.mostLocked == 0) revert IRegistry.NotAllowed(who, locker);
        uint128 held = grant.held + amount;
        if (held > grant.mostLocked) revert IRegistry.LockTooLarge(held, grant.mostLocked);
        id = idOf(locker, ref);
        if (book.locks[id].amount != 0) revert IRegistry.AlreadyLocked(id);
        stakes.hold(who, amount, least);
        grant.held = held;
        book.locks[id] = Lock(who, stakes.lives[who], amount);
    }

    function unlock(Book storage book, StakeBook.Book storage stakes, address locker, bytes32 ref)
        internal
        returns (LockId id, address who, uint128 amount)
    {
        uint128 held;
        bool isAlive;
        (id, who, held, isAlive) = reduce(book, stakes, locker, ref, type(uint128).max);
        if (isAlive) amount = stakes.free(who, held);
    }

    function slash(Book storage book, StakeBook.Book storage stakes, address locker, bytes32 ref, uint128 amount)
        internal
        returns (LockId id, address who, uint128 taken)
    {
        if (amount == 0) revert IRegistry.AmountZero();
        uint128 held;
        bool isAlive;
        (id, who, held, isAlive) = reduce(book, stakes, locker, ref, amount);
        if (isAlive) taken = stakes.take(who, held);
    }

    function idOf(address locker, bytes32 ref) internal pure returns (LockId) {
        return LockId.wrap(keccak256(abi.encode(locker, ref)));
    }

    /// Makes the lock smaller by `amount` or all that it has. Not alive: its account was closed meanwhile,
    /// and what the address has since is no part of it.
    function reduce(
        Book storage book,
        StakeBook.Book storage stakes,
        address locker,
        bytes32 ref,
        uint128 amount
    ) private returns (LockId id, address who, uint128 reduced, bool isAlive) {
        id = idOf(locker, ref);
        Lock storage entry = book.locks[id];
        uint128 left = entry.amount;
        if (left == 0) revert IRegistry.LockUnknown(id);
        who = entry.account;
        uint64 life = entry.life;
        isAlive = life == stakes.lives[who];
        reduced = StakeBook.lesser(amount, left);
        book.grants[who][life][locker].held -= reduced;
        if (reduced == left) delete book.locks[id];
        else entry.amount = left - reduced;
    }

    function grantOf(Book storage book, StakeBook.Book storage stakes, address who, address slasher)
        private
        view
        returns (Grant storage)
    {
        return book.grants[who][stakes.lives[who]][slasher];
    }

    function isOver(Grant storage grant) private view returns (bool) {
        return grant.endsAt != 0 && grant.endsAt <= block.timestamp;
    }
}
