// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IScoreboard, ReportRoot, WeightsId} from "./IScoreboard.sol";
import {SeatList} from "./SeatList.sol";

/// The state machine of epochs: committed → revealed (a seat), then posted → final, or dropped. Posted
/// weights are a chain by `previous`, the head is its newest; only its end that is not final can be dropped.
/// Time windows, stakes, signatures and proofs are Scoreboard's; this keeps what was said and refuses what
/// cannot follow.
library EpochBook {
    struct Epoch {
        /// Hash of all seats, in the order of the reveals.
        bytes32 seats;
        /// The weights that stand; 0 when there are none.
        WeightsId posted;
        /// One slot a signer keeps commit and reveal cheap: the commitment with its last bit 0, overwritten
        /// by the root with its last bit 1.
        mapping(address signer => bytes32) reports;
        mapping(address account => bool) punished;
    }

    /// One slot, because every claim reads it. Kept when the weights are dropped: what was signed on top of
    /// them is right or wrong by this total for ever.
    struct Record {
        /// What all accounts have earned with these weights.
        uint128 total;
        /// 0: dropped.
        uint48 finalAt;
        /// The epoch that they continue and one more; 0: none.
        uint48 previous;
        bool wasPosted;
    }

    struct Verdict {
        bool isWrong;
        /// Who gets the accuser's share; 0: nobody announced it.
        address challenger;
    }

    struct Book {
        mapping(uint64 => Epoch) epochs;
        mapping(WeightsId => Record) records;
        mapping(WeightsId => Verdict) verdicts;
        /// The newest epoch with posted weights and one more; 0: none.
        uint48 head;
    }

    /// @notice Thrown when the signer has committed for this epoch before.
    error AlreadyCommitted();
    /// @notice Thrown when the commitment is 0 without its last bit.
    error CommitmentZero();
    /// @notice Thrown when root and salt are not those of the commitment.
    error CommitmentMismatch();
    /// @notice Thrown when weights of this or a later epoch are posted. `head` is the newest.
    error NotAfterHead(uint64 head);
    /// @notice Thrown when the weights continue others than those of the head.
    error WrongBase(WeightsId head);
    /// @notice Thrown when the weights that are continued were never posted: what they gave out is unknown.
    error BaseUnknown(WeightsId base);
    /// @notice Thrown when the weights are proven wrong.
    error AlreadyProven(WeightsId id);
    /// @notice Thrown when nobody has proven the weights wrong.
    error NotProven(WeightsId id);

    function commit(Epoch storage epoch, address signer, bytes32 commitment) internal {
        bytes32 kept = asCommitment(commitment);
        if (kept == 0) revert CommitmentZero();
        if (epoch.reports[signer] != 0) revert AlreadyCommitted();
        epoch.reports[signer] = kept;
    }

    /// INVARIANT: a report is revealed once: no value that is a commitment has the last bit of a root.
    function reveal(Epoch storage epoch, address signer, bytes32 commitment, ReportRoot root, uint96 stake) internal {
        if (epoch.reports[signer] != asCommitment(commitment)) revert CommitmentMismatch();
        epoch.reports[signer] = bytes32(uint256(ReportRoot.unwrap(root)) | 1);
        epoch.seats = SeatList.append(epoch.seats, signer, stake, root);
    }

    /// INVARIANT: epochs ascend, and each continues the head: of two statements on one base only one is
    /// posted.
    function post(Book storage book, uint64 epoch, WeightsId id, WeightsId base, uint128 total, uint64 finalAt)
        internal
    {
        if (book.verdicts[id].isWrong) revert AlreadyProven(id);
        uint48 head = book.head;
        if (head > epoch) revert NotAfterHead(head - 1);
        WeightsId there = head == 0 ? WeightsId.wrap(0) : book.epochs[head - 1].posted;
        if (WeightsId.unwrap(there) != WeightsId.unwrap(base)) revert WrongBase(there);
        // Below 2⁴⁸: the epoch is over, so it is less than the time in seconds.
        book.head = uint48(epoch) + 1;
        book.epochs[epoch].posted = id;
        book.records[id] = Record(total, uint48(finalAt), head, true);
    }

    /// What the weights of this id have given out to all; those before the first gave nothing.
    function allocated(Book storage book, WeightsId id) internal view returns (uint128) {
        if (WeightsId.unwrap(id) == 0) return 0;
        Record storage record = book.records[id];
        if (!record.wasPosted) revert BaseUnknown(id);
        return record.total;
    }

    function mustBeUnproven(Book storage book, WeightsId id) internal view {
        if (book.verdicts[id].isWrong) revert AlreadyProven(id);
    }

    /// Marks weights as wrong, and drops them with all that continues them unless they are final.
    /// INVARIANT: what is final never goes away. All that continues weights was posted later, so it is not
    /// final before they are.
    function prove(Book storage book, uint64 epoch, WeightsId id, address challenger) internal {
        book.verdicts[id] = Verdict(true, challenger);
        Record storage record = book.records[id];
        if (record.finalAt == 0 || block.timestamp >= record.finalAt) return;
        uint48 head = book.head;
        // Ends: the weights stand, so the chain from the head leads to them. Scoreboard's windows keep it
        // short.
        while (head > epoch) {
            uint64 number = head - 1;
            WeightsId there = book.epochs[number].posted;
            book.epochs[number].posted = WeightsId.wrap(0);
            Record storage dropped = book.records[there];
            dropped.finalAt = 0;
            head = dropped.previous;
            emit IScoreboard.Dropped(number, there);
        }
        book.head = head;
    }

    /// False: it was punished for this epoch before. INVARIANT: once an account and epoch, however much it
    /// signed.
    function punish(Epoch storage epoch, address account) internal returns (bool isFirst) {
        isFirst = !epoch.punished[account];
        epoch.punished[account] = true;
    }

    function challengerOf(Book storage book, WeightsId id) internal view returns (address) {
        Verdict storage verdict = book.verdicts[id];
        if (!verdict.isWrong) revert NotProven(id);
        return verdict.challenger;
    }

    function asCommitment(bytes32 value) private pure returns (bytes32) {
        return bytes32(uint256(value) & ~uint256(1));
    }
}
