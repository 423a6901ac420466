// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Root of a validator's report, with its count: keccak(0x02 ‖ u32 count ‖ tree root).
type ReportRoot is bytes32;
/// EIP-712 digest of `Weights`.
type WeightsId is bytes32;

/// Per epoch: commitments, revealed report roots, and weights that a quorum of the stake has signed and
/// anyone may prove wrong. docs/epochs.md.
interface IScoreboard {
    struct Params {
        uint64 genesis;
        uint64 epochSeconds;
        uint64 commitSeconds;
        uint64 revealSeconds;
        /// How long after the reveals weights may be posted.
        uint64 signSeconds;
        /// How long after the post they can be proven wrong before they are paid.
        uint64 challengeSeconds;
        /// Of all voting stake at the epoch's end: what must sign, and what the reports must come from.
        uint32 quorumPpm;
        /// What of its stake a signer of wrong weights loses.
        uint32 signerSlashPpm;
        /// Part of the pot that goes to the validators whose reports count, by stake.
        uint32 validatorPpm;
        /// The providers' part of the pot is paid in full at this sum of weights; below it in proportion.
        uint64 targetWeight;
        /// Stake that a provider needs for a weight of 10⁶. The contract does not use it: reports follow it.
        uint128 stakePerWeight;
    }

    /// Leaf of a validator's report, sorted by provider, each once. Packed: 20 + 4 + 32 bytes.
    struct ScoreLeaf {
        address provider;
        uint32 scorePpm;
        bytes32 evidenceSha256;
    }

    struct ScoreOpening {
        uint32 index;
        ScoreLeaf leaf;
        bytes32[] path;
    }

    /// What one report says of one provider: its leaf; or, when it is absent, the two leaves it would lie
    /// between (one leaf at either end, none in an empty report).
    struct ReportOpening {
        /// Place of the validator among the epoch's seats.
        uint8 seat;
        uint32 count;
        ScoreOpening[] openings;
    }

    /// A validator that has revealed, in the order of the reveals. At most 64: a seat needs a 64th of all
    /// stake. The chain keeps one hash of them all: h₀ = 0, hᵢ₊₁ = keccak(hᵢ ‖ signer (20) ‖ stake (12) ‖
    /// report root).
    struct Seat {
        address signer;
        uint96 stake;
        ReportRoot root;
    }

    /// Leaf of the weights, sorted by account, each once. Packed: 20 + 4 + 8 + 16 + 16 + 16 bytes. Listed is
    /// who earns something in this epoch or ever did.
    struct RewardLeaf {
        address account;
        /// The stake-weighted median of the set's reports; 0 for validators, and for providers without a
        /// score.
        uint32 weightPpm;
        /// Sum over all leaves before it, as `earnedBefore`: totals can be checked from two neighbours.
        uint64 weightBefore;
        /// Of this epoch.
        uint128 earned;
        uint128 earnedBefore;
        /// Of all epochs up to this one: what was earned, claimed or not.
        uint128 total;
    }

    struct RewardOpening {
        uint32 index;
        RewardLeaf leaf;
        bytes32[] path;
    }

    /// What validators sign (EIP-712, domain "assay" "1"): these weights follow from these reports.
    struct Weights {
        uint64 epoch;
        /// Id of the weights they continue: those that stand for an earlier epoch. 0: the first.
        WeightsId base;
        /// Bit i: the report of seat i counts.
        uint64 set;
        uint32 count;
        uint64 totalWeight;
        /// Sum of `earned`.
        uint128 paid;
        bytes32 root;
    }

    /// A signer's word that it has a report.
    event Committed(uint64 indexed epoch, address indexed signer, bytes32 commitment);
    /// `validator` is the account. The n-th of an epoch has seat n − 1.
    event Revealed(uint64 indexed epoch, address indexed validator, address indexed signer, uint96 stake, ReportRoot root);
    /// `signers`: bit i for seat i.
    event Posted(uint64 indexed epoch, WeightsId indexed id, address indexed sender, Weights weights, uint64 signers);
    /// These weights are proven wrong, posted or not. `reason`: keccak256 of the challenge's name.
    event ProvenWrong(uint64 indexed epoch, WeightsId indexed id, address indexed challenger, bytes32 reason);
    /// No longer posted: proven wrong, or built on what was.
    event Dropped(uint64 indexed epoch, WeightsId indexed id);
    /// A signer of weights that were proven wrong; `amount` is what was taken of its account's stake.
    event Punished(uint64 indexed epoch, WeightsId indexed id, address indexed account, uint128 amount);

    /// @notice Thrown when a parameter of the deployment is 0, too large, or does not fit the others.
    error ParamsInvalid();
    /// @notice Thrown when it is too early or too late for this in the epoch.
    error NotInPhase(uint64 epoch);
    /// @notice Thrown when the sender's key speaks for less than a 64th of all stake at the epoch's end.
    error StakeTooSmall(uint128 stake, uint128 total);
    /// @notice Thrown when the list is not that of the epoch's seats.
    error SeatsMismatch();
    /// @notice Thrown when the set has a seat that nobody has, or less stake than the quorum.
    error SetInvalid();
    /// @notice Thrown when weights without leaves have sums or a root.
    error StatementHollow();
    /// @notice Thrown when the signature of this seat is missing or not its own.
    error SignatureInvalid(uint256 seat);
    /// @notice Thrown when there are signatures, or signers, that belong to no seat.
    error SignaturesSpare();
    /// @notice Thrown when too little stake has signed.
    error QuorumMissing(uint128 signed, uint128 total);
    /// @notice Thrown when the weights pay more than the epoch may.
    error PaidTooMuch(uint128 pot);
    /// @notice Thrown when openings are not of the tree, or show nothing of the account.
    error OpeningInvalid();
    /// @notice Thrown when reports are not in the order of their seats, each once.
    error NotAscending();
    /// @notice Thrown when the base that was given is not the one that the weights continue.
    error BaseMismatch();
    /// @notice Thrown when what was shown does not contradict the weights.
    error WeightsHold();
    /// @notice Thrown when none of the signatures is of an account that can still be punished for this epoch.
    error NothingToPunish();
    /// @notice Thrown when the weights do not stand, or can still be dropped.
    error NotFinal(WeightsId id);

    /// Binds the sender, a signer, to a report of the epoch that has just ended.
    function commit(uint64 epoch, bytes32 commitment) external;
    /// `commitment` was commitmentOf(epoch, signer, root, salt). Takes a seat, which needs a 64th of all
    /// stake.
    function reveal(uint64 epoch, ReportRoot root, bytes32 salt) external;
    /// Posts weights with the signatures of at least the quorum of stake. `signers`: bit i for seat i;
    /// signatures (EIP-2098, r and vs) in the order of the seats. By anyone. Epochs ascend.
    function post(Weights calldata weights, Seat[] calldata seats, uint64 signers, bytes32[2][] calldata signatures)
        external;

    /// Each challenge shows that a statement is wrong, whether it was posted or only signed, for an epoch
    /// whose reveals are over. Posted weights are dropped with all that was built on them while they are not
    /// final. The caller gets its share of what `punish` takes if it announced keccak(caller, id, salt) in an
    /// earlier block (Announcements). `seats` are all of the epoch's.
    function challengeWeight(
        Weights calldata weights,
        Seat[] calldata seats,
        address account,
        RewardOpening[] calldata opened,
        ReportOpening[] calldata reports,
        bytes32 salt
    ) external;
    /// Two neighbours, or the first or last leaf, contradict each other or the statement's sums.
    function challengeShape(Weights calldata weights, RewardOpening[] calldata opened, bytes32 salt) external;
    /// An account's `earned` is not what weight, set and pot make it.
    function challengeEarned(
        Weights calldata weights,
        Seat[] calldata seats,
        address account,
        RewardOpening[] calldata opened,
        bytes32 salt
    ) external;
    /// An account's `total` is not its total in the base plus `earned`.
    function challengeTotal(
        Weights calldata weights,
        Weights calldata base,
        address account,
        RewardOpening[] calldata opened,
        RewardOpening[] calldata openedBase,
        bytes32 salt
    ) external;
    /// The set names a seat that nobody has, or too little stake; or a report in it is malformed (a score
    /// above 10⁶, neighbours out of order, more than 2¹⁷ leaves): `report` is empty for the former.
    function challengeSet(
        Weights calldata weights,
        Seat[] calldata seats,
        ReportOpening[] calldata report,
        bytes32 salt
    ) external;
    /// Slashes signers of weights that were proven wrong; each account once an epoch. By anyone, in any
    /// number of calls.
    function punish(Weights calldata weights, bytes32[2][] calldata signatures) external;

    /// As set at the deployment.
    function params() external view returns (Params memory);
    /// The contract that pays by these weights.
    function rewards() external view returns (address);
    /// What is committed to before it is revealed.
    function commitmentOf(uint64 epoch, address signer, ReportRoot root, bytes32 salt) external pure returns (bytes32);
    /// The last bit of `digest` is the state: 0 commitment, 1 revealed root.
    function reportOf(uint64 epoch, address signer) external view returns (bytes32 digest, bool revealed);
    /// The hash of the epoch's seats; 0 when nobody has one.
    function seatsOf(uint64 epoch) external view returns (bytes32 hash);
    /// The moment from which an epoch can be reported; stakes and pot are those of the second before it.
    function epochEnd(uint64 epoch) external view returns (uint64);
    /// The epoch in which `time` lies.
    function epochAt(uint64 time) external view returns (uint64);
    /// What validators sign.
    function weightsId(Weights calldata weights) external view returns (WeightsId);
    /// The weights that stand for an epoch: posted and not dropped. `total` is what all accounts have earned
    /// with them. Zeros when there are none. `previous` is the epoch that they continue (`any` false: none).
    function postedOf(uint64 epoch)
        external
        view
        returns (WeightsId id, uint64 finalAt, uint128 total, bool any, uint64 previous);
    /// The newest epoch with posted weights. `any` is false before the first.
    function head() external view returns (bool any, uint64 epoch);
    /// Whether these weights stand and can no longer be dropped.
    function isFinal(Weights calldata weights) external view returns (bool);
    /// What all accounts have earned with these weights. Reverts unless they are final.
    function finalTotalOf(Weights calldata weights) external view returns (uint128);
    /// Whether somebody has proven them wrong.
    function isProvenWrong(WeightsId id) external view returns (bool);
    /// Whether the account was punished for weights of this epoch.
    function isPunished(uint64 epoch, address account) external view returns (bool);
    /// What an epoch may pay when it continues weights that have given out `allocated` in all.
    function potOf(uint64 epoch, uint128 allocated) external view returns (uint128);
}
