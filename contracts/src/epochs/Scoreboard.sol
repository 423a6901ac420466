// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IRewards} from "../rewards/IRewards.sol";
import {IRegistry} from "../stake/IRegistry.sol";
import {EpochBook} from "./EpochBook.sol";
import {IScoreboard} from "./IScoreboard.sol";
import {ReportTree} from "./ReportTree.sol";
import {StakeMedian} from "./StakeMedian.sol";
import {WeightTree} from "./WeightTree.sol";

/// Reports of validators and the weights they make. Windows, stakes and proofs; the states are EpochBook.
/// Immutable, no owner. Epoch e lasts from genesis + e·epochSeconds; after its end come the windows: commit,
/// reveal, void, then a proposal at any time.
contract Scoreboard is IScoreboard {
    using EpochBook for EpochBook.Epoch;

    IRegistry public immutable registry;
    address public immutable rewards;
    uint64 private immutable GENESIS;
    uint64 private immutable EPOCH_SECONDS;
    uint64 private immutable COMMIT_SECONDS;
    uint64 private immutable REVEAL_SECONDS;
    uint64 private immutable VOID_SECONDS;
    uint64 private immutable CHALLENGE_SECONDS;
    uint32 private immutable QUORUM_PPM;
    uint32 private immutable PROPOSER_SLASH_PPM;

    mapping(uint64 => EpochBook.Epoch) private _epochs;

    constructor(IRegistry registry_, address rewards_, Params memory params_) {
        uint256 windows = uint256(params_.commitSeconds) + params_.revealSeconds + params_.voidSeconds + params_.challengeSeconds;
        if (
            registry_.scoreboard() != address(this) || params_.epochSeconds == 0 || params_.epochSeconds > 365 days
                // In another unit of time no epoch would ever end.
                || params_.genesis > block.timestamp + 365 days || params_.commitSeconds == 0
                || params_.revealSeconds == 0 || params_.voidSeconds == 0 || params_.challengeSeconds == 0
                // Half or less, and two disjoint groups could each be one.
                || params_.quorumPpm <= StakeMedian.PPM / 2 || params_.quorumPpm > StakeMedian.PPM
                || params_.proposerSlashPpm == 0 || params_.proposerSlashPpm > StakeMedian.PPM
                // INVARIANT: whoever reports or proposes cannot have left before it can be proven wrong.
                || registry_.params().unbondingSeconds < windows
        ) revert ParamsInvalid();
        registry = registry_;
        rewards = rewards_;
        GENESIS = params_.genesis;
        EPOCH_SECONDS = params_.epochSeconds;
        COMMIT_SECONDS = params_.commitSeconds;
        REVEAL_SECONDS = params_.revealSeconds;
        VOID_SECONDS = params_.voidSeconds;
        CHALLENGE_SECONDS = params_.challengeSeconds;
        QUORUM_PPM = params_.quorumPpm;
        PROPOSER_SLASH_PPM = params_.proposerSlashPpm;
    }

    /// Open to all: only a validator of the epoch can reveal, and asking here would cost every honest one
    /// gas.
    function commit(uint64 epoch, bytes32 commitment) external {
        within(epoch, epochEnd(epoch), COMMIT_SECONDS);
        _epochs[epoch].commit(msg.sender, commitment);
        emit Committed(epoch, msg.sender, commitment);
    }

    function reveal(uint64 epoch, bytes32 root, bytes32 salt) external {
        uint64 end = epochEnd(epoch);
        within(epoch, end + COMMIT_SECONDS, REVEAL_SECONDS);
        uint128 stake = votingStake(msg.sender, end);
        _epochs[epoch].reveal(msg.sender, commitmentOf(epoch, msg.sender, root, salt), root, stake);
        emit Revealed(epoch, msg.sender, root, stake);
    }

    function voteWithheld(uint64 epoch, address validator) external {
        uint64 end = epochEnd(epoch);
        within(epoch, end + COMMIT_SECONDS + REVEAL_SECONDS, VOID_SECONDS);
        EpochBook.Epoch storage book = _epochs[epoch];
        bytes32 report = book.mustCount(epoch, validator);
        if (castVote(book, epoch, end, bytes32(uint256(uint160(validator))), validator, report)) {
            voidReport(book, epoch, end, validator, false);
        }
    }

    function voidMalformed(uint64 epoch, ReportOpening calldata report) external {
        uint64 end = epochEnd(epoch);
        within(epoch, end + COMMIT_SECONDS + REVEAL_SECONDS, VOID_SECONDS);
        EpochBook.Epoch storage book = _epochs[epoch];
        mustOpen(book, epoch, report);
        if (!ReportTree.isMalformed(report)) revert ReportHolds();
        voidReport(book, epoch, end, report.validator, true);
    }

    function propose(uint64 epoch, Proposal calldata proposal) external {
        uint64 end = epochEnd(epoch);
        if (block.timestamp < end + COMMIT_SECONDS + REVEAL_SECONDS + VOID_SECONDS) revert NotInPhase(epoch);
        (uint128 counted, uint128 total, bool quorum) = stakesOf(epoch);
        if (!quorum) revert NoQuorum(counted, total);
        // A proposer must have something to lose now, whatever it had when the epoch ended.
        votingStake(msg.sender, uint64(block.timestamp));
        if (
            (proposal.count == 0) != (proposal.totalWeight == 0) || (proposal.count == 0) != (proposal.root == 0)
                || proposal.totalWeight > uint256(proposal.count) * StakeMedian.PPM
        ) revert WrongProposal();
        uint128 pot = IRewards(rewards).fix(epoch);
        if (proposal.emission != pot) revert WrongEmission(pot);
        bytes32 digest = proposalDigest(epoch, proposal);
        _epochs[epoch].propose(msg.sender, digest, uint64(block.timestamp) + CHALLENGE_SECONDS);
        emit Proposed(epoch, msg.sender, digest, proposal);
    }

    function voteUnavailable(uint64 epoch, bytes32 digest) external {
        EpochBook.Epoch storage book = _epochs[epoch];
        book.mustBeOpen(epoch, digest);
        address proposer = book.proposer;
        bytes32 subject = keccak256(abi.encode(digest, proposer));
        if (castVote(book, epoch, epochEnd(epoch), subject, proposer, digest)) {
            book.reject();
            emit ProposalRejected(epoch, proposer, digest, msg.sender, 0);
        }
    }

    function challengeWeight(
        uint64 epoch,
        Proposal calldata proposal,
        address provider,
        WeightOpening[] calldata weights,
        ReportOpening[] calldata reports
    ) external {
        bytes32 digest = proposalDigest(epoch, proposal);
        _epochs[epoch].mustBeOpen(epoch, digest);
        uint32 weight = WeightTree.weightOf(proposal, provider, weights);
        (uint32 least, uint32 greatest) = medianOf(epoch, provider, reports);
        if (weight >= least && weight <= greatest) revert ProposalHolds();
        punish(epoch, digest);
    }

    function challengeShape(uint64 epoch, Proposal calldata proposal, WeightOpening[] calldata weights) external {
        bytes32 digest = proposalDigest(epoch, proposal);
        _epochs[epoch].mustBeOpen(epoch, digest);
        if (!WeightTree.isMisshapen(proposal, weights)) revert ProposalHolds();
        punish(epoch, digest);
    }

    function params() external view returns (Params memory) {
        return Params(
            GENESIS,
            EPOCH_SECONDS,
            COMMIT_SECONDS,
            REVEAL_SECONDS,
            VOID_SECONDS,
            CHALLENGE_SECONDS,
            QUORUM_PPM,
            PROPOSER_SLASH_PPM
        );
    }

    function reportOf(uint64 epoch, address validator)
        external
        view
        returns (bytes32 digest, bool revealed, bool voided)
    {
        EpochBook.Epoch storage book = _epochs[epoch];
        digest = book.reports[validator];
        return (digest, EpochBook.isRevealed(digest), book.voided[validator]);
    }

    function proposalOf(uint64 epoch) external view returns (bytes32 digest, address proposer, uint64 finalAt) {
        EpochBook.Epoch storage book = _epochs[epoch];
        return (book.digest, book.proposer, book.finalAt);
    }

    function finalOf(uint64 epoch) external view returns (bytes32 digest, uint64 finalAt) {
        EpochBook.Epoch storage book = _epochs[epoch];
        finalAt = book.finalAt;
        if (finalAt == 0 || block.timestamp < finalAt) return (0, 0);
        return (book.digest, finalAt);
    }

    function epochAt(uint64 time) external view returns (uint64) {
        if (time < GENESIS) revert NotInPhase(0);
        return (time - GENESIS) / EPOCH_SECONDS;
    }

    function medianOf(uint64 epoch, address provider, ReportOpening[] calldata reports)
        public
        view
        returns (uint32 least, uint32 greatest)
    {
        EpochBook.Epoch storage book = _epochs[epoch];
        uint64 end = epochEnd(epoch);
        uint32[] memory scores = new uint32[](reports.length);
        uint128[] memory stakes = new uint128[](reports.length);
        address last = address(0);
        for (uint256 i = 0; i < reports.length; i++) {
            ReportOpening calldata report = reports[i];
            // Each validator once.
            if (report.validator <= last) revert NotAscending();
            last = report.validator;
            mustOpen(book, epoch, report);
            scores[i] = ReportTree.scoreOf(report, provider);
            stakes[i] = registry.votingStakeAt(last, end);
        }
        return StakeMedian.bounds(scores, stakes, book.counted);
    }

    function stakesOf(uint64 epoch) public view returns (uint128 counted, uint128 total, bool quorum) {
        counted = _epochs[epoch].counted;
        total = registry.totalVotingStakeAt(epochEnd(epoch));
        quorum = counted > 0 && uint256(counted) * StakeMedian.PPM >= uint256(total) * QUORUM_PPM;
    }

    function epochEnd(uint64 epoch) public view returns (uint64) {
        return GENESIS + (epoch + 1) * EPOCH_SECONDS;
    }

    function commitmentOf(uint64 epoch, address validator, bytes32 root, bytes32 salt) public pure returns (bytes32) {
        return keccak256(abi.encode(epoch, validator, root, salt));
    }

    function proposalDigest(uint64 epoch, Proposal calldata proposal) public pure returns (bytes32) {
        return keccak256(abi.encode(epoch, proposal));
    }

    function within(uint64 epoch, uint64 from, uint64 length) private view {
        if (block.timestamp < from || block.timestamp >= from + length) revert NotInPhase(epoch);
    }

    function votingStake(address validator, uint64 time) private view returns (uint128 stake) {
        stake = registry.votingStakeAt(validator, time);
        if (stake == 0) revert NotValidator(validator);
    }

    function mustOpen(EpochBook.Epoch storage book, uint64 epoch, ReportOpening calldata report) private view {
        bytes32 kept = book.mustCount(epoch, report.validator);
        if (kept != EpochBook.asRoot(ReportTree.rootOf(report))) revert OpeningInvalid();
    }

    function castVote(
        EpochBook.Epoch storage book,
        uint64 epoch,
        uint64 end,
        bytes32 subject,
        address accused,
        bytes32 digest
    ) private returns (bool) {
        uint128 stake = votingStake(msg.sender, end);
        emit WithheldVoted(epoch, accused, digest, msg.sender, stake);
        return book.vote(subject, msg.sender, stake, registry.totalVotingStakeAt(end));
    }

    function voidReport(EpochBook.Epoch storage book, uint64 epoch, uint64 end, address validator, bool malformed)
        private
    {
        book.voidReport(validator, registry.votingStakeAt(validator, end));
        emit ReportVoided(epoch, validator, malformed);
    }

    /// INVARIANT: reached only behind a proof that the proposal is wrong.
    function punish(uint64 epoch, bytes32 digest) private {
        address proposer = _epochs[epoch].reject();
        // Whoever lost everything meanwhile is still wrong.
        uint128 slashed =
            registry.slashableOf(proposer) == 0 ? 0 : registry.slash(proposer, PROPOSER_SLASH_PPM, msg.sender);
        emit ProposalRejected(epoch, proposer, digest, msg.sender, slashed);
    }
}
