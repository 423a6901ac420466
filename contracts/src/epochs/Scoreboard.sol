// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IRewards} from "../rewards/IRewards.sol";
import {Announcements} from "../slashing/Announcements.sol";
import {IRegistry} from "../stake/IRegistry.sol";
import {EpochBook} from "./EpochBook.sol";
import {IScoreboard, ReportRoot, WeightsId} from "./IScoreboard.sol";
import {ReportTree} from "./ReportTree.sol";
import {SeatList} from "./SeatList.sol";
import {WeightTree} from "./WeightTree.sol";

/// Reports of validators and the weights that a quorum of them signs. Windows, stakes, signatures and proofs;
/// the states are EpochBook. Immutable, no owner. Epoch e lasts from genesis + e·epochSeconds; after its end
/// come the windows: commit, reveal, sign; weights are final a challenge window after they were posted.
contract Scoreboard is IScoreboard, Announcements, EIP712 {
    using EpochBook for EpochBook.Book;
    using EpochBook for EpochBook.Epoch;
    using SeatList for Seat[];

    bytes32 private constant WEIGHTS_TYPE = keccak256(
        "Weights(uint64 epoch,bytes32 base,uint64 set,uint32 count,uint64 totalWeight,uint128 paid,bytes32 root)"
    );
    /// As in the Registry's `Slashed`.
    bytes32 public constant REASON = keccak256("assay/wrong-weights");
    uint32 private constant PPM = 1_000_000;
    /// A seat needs one part of so many of all stake.
    uint256 private constant MOST_SEATS = 64;

    IRegistry public immutable registry;
    address public immutable rewards;
    uint64 private immutable GENESIS;
    uint64 private immutable EPOCH_SECONDS;
    uint64 private immutable COMMIT_SECONDS;
    uint64 private immutable REVEAL_SECONDS;
    uint64 private immutable SIGN_SECONDS;
    uint64 private immutable CHALLENGE_SECONDS;
    uint32 private immutable QUORUM_PPM;
    uint32 private immutable SIGNER_SLASH_PPM;
    uint32 private immutable VALIDATOR_PPM;
    uint64 private immutable TARGET_WEIGHT;
    uint128 private immutable STAKE_PER_WEIGHT;

    EpochBook.Book private _book;

    /// `rewards_` is deployed after this one; its constructor refuses when it was foretold wrongly.
    constructor(IRegistry registry_, address rewards_, Params memory params_) EIP712("assay", "1") {
        if (
            params_.epochSeconds == 0 || params_.epochSeconds > 365 days
                // In another unit of time no epoch would ever end.
                || params_.genesis > block.timestamp + 365 days || params_.commitSeconds == 0
                || params_.revealSeconds == 0 || params_.signSeconds == 0 || params_.challengeSeconds == 0
                || params_.commitSeconds > 365 days || params_.revealSeconds > 365 days
                // INVARIANT: the windows to sign do not overlap: an epoch never loses its place to the next.
                || params_.signSeconds > params_.epochSeconds
                // INVARIANT: no more than 64 epochs stand that are not final: what a challenge drops is
                // bounded.
                || params_.challengeSeconds > 62 * params_.epochSeconds
                // Half or less, and two disjoint groups could each be one.
                || params_.quorumPpm <= PPM / 2 || params_.quorumPpm > PPM || params_.signerSlashPpm == 0
                || params_.signerSlashPpm > PPM || params_.validatorPpm > PPM
                // INVARIANT: who signs cannot have left before it can be proven wrong.
                || registry_.params().unbondingSeconds
                    < params_.commitSeconds + params_.revealSeconds + params_.signSeconds + params_.challengeSeconds
        ) revert ParamsInvalid();
        registry = registry_;
        rewards = rewards_;
        GENESIS = params_.genesis;
        EPOCH_SECONDS = params_.epochSeconds;
        COMMIT_SECONDS = params_.commitSeconds;
        REVEAL_SECONDS = params_.revealSeconds;
        SIGN_SECONDS = params_.signSeconds;
        CHALLENGE_SECONDS = params_.challengeSeconds;
        QUORUM_PPM = params_.quorumPpm;
        SIGNER_SLASH_PPM = params_.signerSlashPpm;
        VALIDATOR_PPM = params_.validatorPpm;
        TARGET_WEIGHT = params_.targetWeight;
        STAKE_PER_WEIGHT = params_.stakePerWeight;
    }

    /// Open to all: only a validator of the epoch can reveal, and asking here would cost every honest one
    /// gas.
    function commit(uint64 epoch, bytes32 commitment) external {
        within(epoch, epochEnd(epoch), COMMIT_SECONDS);
        _book.epochs[epoch].commit(msg.sender, commitment);
        emit Committed(epoch, msg.sender, commitment);
    }

    /// INVARIANT: at most 64 seats, each account one: their stakes are those of one moment, and a signer
    /// speaks for its account only in epochs that ended after it became its signer.
    function reveal(uint64 epoch, ReportRoot root, bytes32 salt) external {
        uint64 end = epochEnd(epoch);
        within(epoch, end + COMMIT_SECONDS, REVEAL_SECONDS);
        (address account, uint128 stake, uint128 total) = registry.seatOf(address(this), msg.sender, end - 1);
        if (stake == 0 || stake * MOST_SEATS < total) revert StakeTooSmall(stake, total);
        bytes32 commitment = commitmentOf(epoch, msg.sender, root, salt);
        // The Registry keeps a validator's stake below 2⁹⁶.
        _book.epochs[epoch].reveal(msg.sender, commitment, root, uint96(stake));
        emit Revealed(epoch, account, msg.sender, uint96(stake), root);
    }

    function post(Weights calldata weights, Seat[] calldata seats, uint64 signers, bytes32[2][] calldata signatures)
        external
    {
        uint64 end = epochEnd(weights.epoch);
        within(weights.epoch, revealEnd(end), SIGN_SECONDS);
        mustBeSeats(weights.epoch, seats);
        uint128 total = registry.totalVotingStakeAt(address(this), end - 1);
        if (!seats.exist(weights.set) || !isQuorum(seats.stakeOf(weights.set), total)) revert SetInvalid();
        if (WeightTree.isHollow(weights)) revert StatementHollow();
        WeightsId id = weightsId(weights);
        uint128 signed = seats.signedBy(signers, id, signatures);
        if (!isQuorum(signed, total)) revert QuorumMissing(signed, total);
        uint128 allocated = _book.allocated(weights.base);
        uint128 pot = potFrom(end, total, allocated);
        if (weights.paid > pot) revert PaidTooMuch(pot);
        _book.post(weights.epoch, id, weights.base, allocated + weights.paid, uint64(block.timestamp) + CHALLENGE_SECONDS);
        emit Posted(weights.epoch, id, msg.sender, weights, signers);
    }

    function challengeWeight(
        Weights calldata weights,
        Seat[] calldata seats,
        address account,
        RewardOpening[] calldata opened,
        ReportOpening[] calldata reports,
        bytes32 salt
    ) external {
        mustBeSeats(weights.epoch, seats);
        uint32 weight = WeightTree.leafOf(weights, account, opened).weightPpm;
        (uint128 below, uint128 above) = stakesAround(weights.set, seats, account, weight, reports);
        uint128 all = seats.stakeOf(weights.set);
        // Too high: at least half scores less. Too low: more than half scores more. Reports that are left
        // out, for their gas or because nobody has them, count for neither.
        if (2 * below < all && 2 * above <= all) revert WeightsHold();
        conclude(weights, keccak256("weight"), salt);
    }

    function challengeShape(Weights calldata weights, RewardOpening[] calldata opened, bytes32 salt) external {
        if (!WeightTree.isMisshapen(weights, opened)) revert WeightsHold();
        conclude(weights, keccak256("shape"), salt);
    }

    function challengeEarned(
        Weights calldata weights,
        Seat[] calldata seats,
        address account,
        RewardOpening[] calldata opened,
        bytes32 salt
    ) external {
        mustBeSeats(weights.epoch, seats);
        RewardLeaf memory leaf = WeightTree.leafOf(weights, account, opened);
        uint256 right = WeightTree.earnedOf(
            potOf(weights.epoch, _book.allocated(weights.base)),
            VALIDATOR_PPM,
            leaf.weightPpm,
            weights.totalWeight > TARGET_WEIGHT ? weights.totalWeight : TARGET_WEIGHT,
            stakeIn(weights.set, seats, account),
            seats.stakeOf(weights.set)
        );
        if (leaf.earned == right) revert WeightsHold();
        conclude(weights, keccak256("earned"), salt);
    }

    function challengeTotal(
        Weights calldata weights,
        Weights calldata base,
        address account,
        RewardOpening[] calldata opened,
        RewardOpening[] calldata openedBase,
        bytes32 salt
    ) external {
        RewardLeaf memory leaf = WeightTree.leafOf(weights, account, opened);
        uint256 right = leaf.earned;
        if (WeightsId.unwrap(weights.base) != 0) {
            if (WeightsId.unwrap(weightsId(base)) != WeightsId.unwrap(weights.base)) revert BaseMismatch();
            right += WeightTree.leafOf(base, account, openedBase).total;
        }
        if (leaf.total == right) revert WeightsHold();
        conclude(weights, keccak256("total"), salt);
    }

    function challengeSet(
        Weights calldata weights,
        Seat[] calldata seats,
        ReportOpening[] calldata report,
        bytes32 salt
    ) external {
        mustBeSeats(weights.epoch, seats);
        if (report.length == 0) {
            uint128 total = registry.totalVotingStakeAt(address(this), epochEnd(weights.epoch) - 1);
            if (seats.exist(weights.set) && isQuorum(seats.stakeOf(weights.set), total)) revert WeightsHold();
        } else {
            mustBeReport(weights.set, seats, report[0]);
            if (report.length != 1 || !ReportTree.isMalformed(report[0])) revert WeightsHold();
        }
        conclude(weights, keccak256("set"), salt);
    }

    /// Passes over who was punished already, or has nothing left here: nobody else's call can be made to
    /// fail.
    function punish(Weights calldata weights, bytes32[2][] calldata signatures) external {
        WeightsId id = weightsId(weights);
        address challenger = _book.challengerOf(id);
        EpochBook.Epoch storage epoch = _book.epochs[weights.epoch];
        bool any = false;
        for (uint256 i = 0; i < signatures.length; i++) {
            address account = registry.accountOfSigner(SeatList.signerOf(id, signatures[i]));
            (uint32 mostPpm,) = registry.allowanceOf(account, address(this));
            if (mostPpm < SIGNER_SLASH_PPM || !epoch.punish(account)) continue;
            any = true;
            emit Punished(weights.epoch, id, account, registry.slash(account, SIGNER_SLASH_PPM, challenger, REASON));
        }
        if (!any) revert NothingToPunish();
    }

    function params() external view returns (Params memory) {
        return Params(
            GENESIS,
            EPOCH_SECONDS,
            COMMIT_SECONDS,
            REVEAL_SECONDS,
            SIGN_SECONDS,
            CHALLENGE_SECONDS,
            QUORUM_PPM,
            SIGNER_SLASH_PPM,
            VALIDATOR_PPM,
            TARGET_WEIGHT,
            STAKE_PER_WEIGHT
        );
    }

    function reportOf(uint64 epoch, address signer) external view returns (bytes32 digest, bool revealed) {
        digest = _book.epochs[epoch].reports[signer];
        return (digest, uint256(digest) & 1 == 1);
    }

    function seatsOf(uint64 epoch) external view returns (bytes32 hash) {
        return _book.epochs[epoch].seats;
    }

    function epochAt(uint64 time) external view returns (uint64) {
        if (time < GENESIS) revert NotInPhase(0);
        return (time - GENESIS) / EPOCH_SECONDS;
    }

    function postedOf(uint64 epoch)
        external
        view
        returns (WeightsId id, uint64 finalAt, uint128 total, bool any, uint64 previous)
    {
        id = _book.epochs[epoch].posted;
        EpochBook.Record storage record = _book.records[id];
        (finalAt, total, any) = (record.finalAt, record.total, record.previous != 0);
        if (any) previous = record.previous - 1;
    }

    function head() external view returns (bool any, uint64 epoch) {
        any = _book.head != 0;
        if (any) epoch = _book.head - 1;
    }

    function isFinal(Weights calldata weights) external view returns (bool) {
        return isFinal(_book.records[weightsId(weights)]);
    }

    function finalTotalOf(Weights calldata weights) external view returns (uint128) {
        WeightsId id = weightsId(weights);
        EpochBook.Record storage record = _book.records[id];
        if (!isFinal(record)) revert NotFinal(id);
        return record.total;
    }

    function isProvenWrong(WeightsId id) external view returns (bool) {
        return _book.verdicts[id].isWrong;
    }

    function isPunished(uint64 epoch, address account) external view returns (bool) {
        return _book.epochs[epoch].punished[account];
    }

    /// An epoch that ends after all time has no end. Products of 64 bits do not overflow 256.
    function epochEnd(uint64 epoch) public view returns (uint64) {
        unchecked {
            uint256 end = GENESIS + (uint256(epoch) + 1) * EPOCH_SECONDS;
            if (end > type(uint48).max) revert NotInPhase(epoch);
            return uint64(end);
        }
    }

    function weightsId(Weights calldata weights) public view returns (WeightsId) {
        return WeightsId.wrap(_hashTypedDataV4(keccak256(abi.encode(WEIGHTS_TYPE, weights))));
    }

    function potOf(uint64 epoch, uint128 allocated) public view returns (uint128) {
        uint64 end = epochEnd(epoch);
        return potFrom(end, registry.totalVotingStakeAt(address(this), end - 1), allocated);
    }

    function commitmentOf(uint64 epoch, address signer, ReportRoot root, bytes32 salt) public pure returns (bytes32) {
        return keccak256(abi.encode(epoch, signer, root, salt));
    }

    /// INVARIANT: reached only behind a proof that the statement is wrong.
    function conclude(Weights calldata weights, bytes32 reason, bytes32 salt) private {
        // Before that seats may still be added: what is wrong now could be right then.
        if (block.timestamp < revealEnd(epochEnd(weights.epoch))) revert NotInPhase(weights.epoch);
        WeightsId id = weightsId(weights);
        _book.mustBeUnproven(id);
        _book.prove(weights.epoch, id, accuserOf(WeightsId.unwrap(id), salt));
        emit ProvenWrong(weights.epoch, id, msg.sender, reason);
    }

    function within(uint64 epoch, uint64 from, uint64 length) private view {
        unchecked {
            // Before: wraps around, and is more than any length.
            if (block.timestamp - from >= length) revert NotInPhase(epoch);
        }
    }

    function mustBeSeats(uint64 epoch, Seat[] calldata seats) private view {
        if (seats.hashOf() != _book.epochs[epoch].seats) revert SeatsMismatch();
    }

    /// INVARIANT: no electorate without stake has a quorum: else nobody's signature would do.
    function isQuorum(uint128 stake, uint128 total) private view returns (bool) {
        return total != 0 && uint256(stake) * PPM >= uint256(total) * QUORUM_PPM;
    }

    function potFrom(uint64 end, uint128 total, uint128 allocated) private view returns (uint128 pot) {
        uint128 funded = IRewards(rewards).fundedAt(end - 1);
        pot = IRewards(rewards).emissionPerEpoch();
        uint128 left = funded > allocated ? funded - allocated : 0;
        if (left < pot) pot = left;
        // INVARIANT: an epoch never pays more than the signers of a lie would lose.
        uint256 atStake = uint256(total) * QUORUM_PPM / PPM * SIGNER_SLASH_PPM / PPM;
        if (atStake < pot) pot = uint128(atStake);
    }

    /// Stake of the set whose reports are shown to score less, and more, than the weight.
    function stakesAround(
        uint64 set,
        Seat[] calldata seats,
        address account,
        uint32 weight,
        ReportOpening[] calldata reports
    ) private pure returns (uint128 below, uint128 above) {
        uint256 next = 0;
        for (uint256 i = 0; i < reports.length; i++) {
            ReportOpening calldata report = reports[i];
            // Each seat once.
            if (report.seat < next) revert NotAscending();
            next = uint256(report.seat) + 1;
            mustBeReport(set, seats, report);
            uint32 score = ReportTree.scoreOf(report, account);
            if (score < weight) below += seats[report.seat].stake;
            if (score > weight) above += seats[report.seat].stake;
        }
    }

    /// The openings are of a report that counts.
    function mustBeReport(uint64 set, Seat[] calldata seats, ReportOpening calldata report) private pure {
        if (
            !SeatList.has(set, report.seat) || report.seat >= seats.length
                || ReportRoot.unwrap(ReportTree.rootOf(report)) != ReportRoot.unwrap(seats[report.seat].root)
        ) revert OpeningInvalid();
    }

    /// Stake of the account among the seats of the set.
    function stakeIn(uint64 set, Seat[] calldata seats, address account) private view returns (uint128 stake) {
        for (uint256 i = 0; i < seats.length; i++) {
            if (SeatList.has(set, i) && registry.accountOfSigner(seats[i].signer) == account) stake += seats[i].stake;
        }
    }

    function isFinal(EpochBook.Record storage record) private view returns (bool) {
        uint48 finalAt = record.finalAt;
        return finalAt != 0 && block.timestamp >= finalAt;
    }

    function revealEnd(uint64 end) private view returns (uint64) {
        return end + COMMIT_SECONDS + REVEAL_SECONDS;
    }
}
