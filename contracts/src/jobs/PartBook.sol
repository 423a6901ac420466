// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "./IJobEscrow.sol";

/// The state machine of the parts of jobs: untouched → assigned → claimed → settled; late, fallen and
/// convicted ones are open, and assigned again or refunded. No tokens, no callers, no events, no signatures:
/// JobEscrow has those.
library PartBook {
    struct Book {
        mapping(uint256 job => IJobEscrow.Job) jobs;
        mapping(uint256 job => mapping(uint32 part => IJobEscrow.Part)) parts;
        // INVARIANT: written once. What was built on an attempt is still known when that attempt is long
        // gone.
        mapping(uint256 job => mapping(uint32 part => mapping(uint16 attempt => bytes32))) commitments;
        mapping(uint256 job => mapping(uint32 part => uint256)) auditSpent;
    }

    function known(Book storage book, uint256 job) internal view returns (IJobEscrow.Job storage found) {
        found = book.jobs[job];
        if (!found.isFunded) revert IJobEscrow.JobUnknown(job);
    }

    /// The job's part, if it was ever assigned.
    function touched(Book storage book, uint256 job, uint32 part) internal view returns (IJobEscrow.Part storage) {
        if (part >= known(book, job).touched) revert IJobEscrow.PartUnknown(part);
        return book.parts[job][part];
    }

    function claimed(Book storage book, uint256 job, uint32 part) internal view returns (IJobEscrow.Part storage one) {
        one = touched(book, job, part);
        if (one.state != IJobEscrow.PartState.Claimed) revert IJobEscrow.WrongState(part, one.state);
    }

    /// The next attempt of a part that is open, or the first one of the next part.
    function assign(Book storage book, uint256 job, uint32 part, uint16 attempt, address provider, uint40 until) internal {
        IJobEscrow.Job storage entry = known(book, job);
        if (part >= entry.end || part > entry.touched) revert IJobEscrow.PartUnknown(part);
        IJobEscrow.Part memory one = book.parts[job][part];
        if (part == entry.touched) entry.touched = part + 1;
        else if (one.state != IJobEscrow.PartState.Open) revert IJobEscrow.WrongState(part, one.state);
        if (attempt != one.attempt + 1) revert IJobEscrow.WrongAttempt(one.attempt + 1);
        (uint16 base, bool isAlone) = part == 0 ? (0, false) : baseOf(book, job, part, provider);
        book.parts[job][part] =
            IJobEscrow.Part(provider, attempt, base, until, IJobEscrow.PartState.Assigned, false, isAlone);
    }

    /// On which attempt of the part before this one is built: a settled one, one's own, or one that is
    /// checked.
    function baseOf(Book storage book, uint256 job, uint32 part, address provider)
        private
        view
        returns (uint16 base, bool isAlone)
    {
        IJobEscrow.Part memory before = book.parts[job][part - 1];
        isAlone = before.provider != provider;
        bool isThere = before.state == IJobEscrow.PartState.Settled
            || (before.state == IJobEscrow.PartState.Claimed && (before.isChecked || !isAlone));
        if (!isThere) revert IJobEscrow.NotInOrder(part);
        base = before.attempt;
    }

    /// The claim that the part was built on stands, paid or not. Attempts only grow, so what fell never
    /// stands again.
    function isBaseStanding(Book storage book, uint256 job, uint32 part, IJobEscrow.Part memory one)
        internal
        view
        returns (bool standing, bool isSettled)
    {
        if (part == 0) return (true, true);
        IJobEscrow.Part memory before = book.parts[job][part - 1];
        isSettled = before.state == IJobEscrow.PartState.Settled;
        standing = before.attempt == one.base && (isSettled || before.state == IJobEscrow.PartState.Claimed);
    }

    /// One's own later parts fall with an earlier one.
    function isFallen(Book storage book, uint256 job, uint32 part, IJobEscrow.Part memory one)
        internal
        view
        returns (bool)
    {
        (bool standing,) = isBaseStanding(book, job, part, one);
        return !standing && !one.isAlone;
    }

    function reopen(IJobEscrow.Part storage one) internal {
        one.state = IJobEscrow.PartState.Open;
        one.isChecked = false;
    }
}
