// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard} from "./IScoreboard.sol";

/// The state machine of one epoch: committed → revealed (→ void), then proposed → final, or rejected and
/// proposed again. Time windows, stakes and proofs are Scoreboard's; this keeps what was said and refuses
/// what cannot follow.
library EpochBook {
    struct Votes {
        uint128 stake;
        mapping(address => bool) cast;
    }

    struct Epoch {
        // INVARIANT: counted = Σ stake (at the epoch's end) of the validators whose report is revealed and
        // not void.
        uint128 counted;
        address proposer;
        uint64 finalAt;
        bytes32 digest;
        /// One slot a validator keeps commit and reveal cheap: the commitment with its last bit 0,
        /// overwritten by the root with its last bit 1.
        mapping(address => bytes32) reports;
        mapping(address => bool) voided;
        mapping(bytes32 => Votes) votes;
        mapping(address => bool) barred;
    }

    /// @notice Thrown when the validator has committed for this epoch before.
    error AlreadyCommitted();
    /// @notice Thrown when the commitment is 0 without its last bit.
    error CommitmentZero();
    /// @notice Thrown when root and salt are not those of the commitment.
    error CommitmentMismatch();
    /// @notice Thrown when the validator has revealed no report for the epoch.
    error NotRevealed(uint64 epoch, address validator);
    /// @notice Thrown when the report is void already.
    error AlreadyVoided();
    /// @notice Thrown when the validator has voted on this before.
    error AlreadyVoted();
    /// @notice Thrown when another proposal is open or final.
    error AlreadyProposed(bytes32 digest);
    /// @notice Thrown when nothing is proposed for the epoch.
    error NoProposal(uint64 epoch);
    /// @notice Thrown when an earlier proposal of this validator for the epoch was rejected.
    error Barred(address proposer);

    function asCommitment(bytes32 value) internal pure returns (bytes32) {
        return bytes32(uint256(value) & ~uint256(1));
    }

    function asRoot(bytes32 value) internal pure returns (bytes32) {
        return bytes32(uint256(value) | 1);
    }

    function isRevealed(bytes32 report) internal pure returns (bool) {
        return uint256(report) & 1 == 1;
    }

    function commit(Epoch storage epoch, address validator, bytes32 commitment) internal {
        bytes32 kept = asCommitment(commitment);
        if (kept == 0) revert CommitmentZero();
        if (epoch.reports[validator] != 0) revert AlreadyCommitted();
        epoch.reports[validator] = kept;
    }

    /// INVARIANT: a report is revealed once: no value that is a commitment has the last bit of a root.
    function reveal(Epoch storage epoch, address validator, bytes32 commitment, bytes32 root, uint128 stake) internal {
        if (epoch.reports[validator] != asCommitment(commitment)) revert CommitmentMismatch();
        epoch.reports[validator] = asRoot(root);
        epoch.counted += stake;
    }

    function mustCount(Epoch storage epoch, uint64 number, address validator) internal view returns (bytes32 report) {
        report = epoch.reports[validator];
        if (!isRevealed(report)) revert NotRevealed(number, validator);
        if (epoch.voided[validator]) revert AlreadyVoided();
    }

    function voidReport(Epoch storage epoch, address validator, uint128 stake) internal {
        epoch.voided[validator] = true;
        epoch.counted -= stake;
    }

    /// True when more than half of `total` has voted on the subject.
    function vote(Epoch storage epoch, bytes32 subject, address voter, uint128 stake, uint128 total)
        internal
        returns (bool passed)
    {
        Votes storage votes = epoch.votes[subject];
        if (votes.cast[voter]) revert AlreadyVoted();
        votes.cast[voter] = true;
        votes.stake += stake;
        passed = 2 * uint256(votes.stake) > total;
    }

    function propose(Epoch storage epoch, address proposer, bytes32 digest, uint64 finalAt) internal {
        if (epoch.digest != 0) revert AlreadyProposed(epoch.digest);
        if (epoch.barred[proposer]) revert Barred(proposer);
        epoch.digest = digest;
        epoch.proposer = proposer;
        epoch.finalAt = finalAt;
    }

    /// INVARIANT: a final proposal never goes away.
    function mustBeOpen(Epoch storage epoch, uint64 number, bytes32 digest) internal view {
        if (epoch.digest == 0) revert NoProposal(number);
        if (epoch.digest != digest) revert IScoreboard.WrongProposal();
        if (block.timestamp >= epoch.finalAt) revert IScoreboard.NotInPhase(number);
    }

    /// Who was rejected may not propose for this epoch again: else it could hold it up for ever.
    function reject(Epoch storage epoch) internal returns (address proposer) {
        proposer = epoch.proposer;
        epoch.barred[proposer] = true;
        epoch.digest = 0;
        epoch.proposer = address(0);
        epoch.finalAt = 0;
    }
}
