// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Per epoch: commitments, revealed report roots, and one proposal of weights that anyone may prove wrong.
/// docs/chain.md. Trees are docs/hardware-proof.md §1's shape (a last node without a neighbour is promoted)
/// with keccak256: leaf = keccak(0x00 ‖ fields packed), node = keccak(0x01 ‖ left ‖ right), report root =
/// keccak(0x02 ‖ u32 count ‖ tree root).
interface IScoreboard {
    struct Params {
        uint64 genesis;
        uint64 epochSeconds;
        uint64 commitSeconds;
        uint64 revealSeconds;
        uint64 voidSeconds;
        uint64 challengeSeconds;
        uint32 quorumPpm;
        uint32 proposerSlashPpm;
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
        address validator;
        uint32 count;
        ScoreOpening[] openings;
    }

    /// Leaf of the proposed weights, sorted by provider, weight above 0. Packed: 20 + 4 + 8 + 16 bytes.
    /// The sums over all leaves before it make both totals checkable from two neighbours.
    struct WeightLeaf {
        address provider;
        uint32 weightPpm;
        uint64 weightBefore;
        uint128 amountBefore;
    }

    struct WeightOpening {
        uint32 index;
        WeightLeaf leaf;
        bytes32[] path;
    }

    /// Weights of an epoch and what they make of its emission. A provider gets floor(emission · weight /
    /// totalWeight), and one unit more when its remainder is above `thresholdRemainder`, or equals it and the
    /// provider is not above `thresholdProvider`: src/market/epochs/reward-shares.ts. Without anything left
    /// over the threshold is (totalWeight, 0).
    struct Proposal {
        uint32 count;
        uint64 totalWeight;
        uint128 emission;
        uint64 thresholdRemainder;
        address thresholdProvider;
        bytes32 root;
    }

    event Committed(uint64 indexed epoch, address indexed validator, bytes32 commitment);
    event Revealed(uint64 indexed epoch, address indexed validator, bytes32 root, uint128 stake);
    event WithheldVoted(uint64 indexed epoch, address indexed subject, bytes32 digest, address indexed voter, uint128 stake);
    /// From now on the report counts for nothing.
    event ReportVoided(uint64 indexed epoch, address indexed validator, bool malformed);
    event Proposed(uint64 indexed epoch, address indexed proposer, bytes32 digest, Proposal proposal);
    /// `slashed` is 0 when a majority found the leaves withheld: that is a word, and nobody is slashed on a
    /// word.
    event ProposalRejected(
        uint64 indexed epoch, address indexed proposer, bytes32 digest, address indexed challenger, uint128 slashed
    );

    /// @notice Thrown when a parameter cannot work (docs/chain.md §6).
    error ParamsInvalid();
    /// @notice Thrown when the call is outside its window of the epoch.
    error NotInPhase(uint64 epoch);
    /// @notice Thrown when the account has no voting stake at the moment that counts.
    error NotValidator(address account);
    /// @notice Thrown when too little stake has revealed a report that counts.
    error NoQuorum(uint128 counted, uint128 total);
    /// @notice Thrown when the Rewards contract has fixed the emission of a later epoch; it comes from there.
    error EpochLapsed(uint64 epoch);
    /// @notice Thrown when the proposal is not the one in question, or contradicts itself.
    error WrongProposal();
    /// @notice Thrown when the proposal does not share out the pot of the epoch; `emission` is the right one.
    error WrongEmission(uint128 emission);
    /// @notice Thrown when leaves or paths do not lead to the root, or do not answer the question.
    error OpeningInvalid();
    /// @notice Thrown when reports are not sorted by validator, each once.
    error NotAscending();
    /// @notice Thrown when the openings do not show that the report is malformed.
    error ReportHolds();
    /// @notice Thrown when the openings do not show that the proposal is wrong.
    error ProposalHolds();

    /// Binds the sender to a report of the epoch that has just ended.
    function commit(uint64 epoch, bytes32 commitment) external;
    /// `commitment` was commitmentOf(epoch, validator, root, salt).
    function reveal(uint64 epoch, bytes32 root, bytes32 salt) external;
    /// A revealed report whose leaves cannot be had: void once more than half of all stake says so.
    function voteWithheld(uint64 epoch, address validator) external;
    /// A revealed report with a score above 1,000,000 or neighbours out of order: void by proof.
    function voidMalformed(uint64 epoch, ReportOpening calldata report) external;
    /// Proposes the weights of an epoch. Final after the dispute window, unless proven wrong or voted
    /// unavailable.
    function propose(uint64 epoch, Proposal calldata proposal) external;
    /// A proposal whose leaves cannot be had: dropped, unslashed, once more than half of all stake says so.
    function voteUnavailable(uint64 epoch, bytes32 digest) external;
    /// The proposal gives `provider` a weight that the reports cannot have as their median. Reports left out
    /// count as unknown.
    function challengeWeight(
        uint64 epoch,
        Proposal calldata proposal,
        address provider,
        WeightOpening[] calldata weights,
        ReportOpening[] calldata reports
    ) external;
    /// The proposal's tree contradicts itself: order, running sums, totals, a weight of 0 or above 1,000,000.
    function challengeShape(uint64 epoch, Proposal calldata proposal, WeightOpening[] calldata weights) external;

    /// As set at the deployment.
    function params() external view returns (Params memory);
    /// The contract that pays by these weights.
    function rewards() external view returns (address);
    /// What is committed to before it is revealed.
    function commitmentOf(uint64 epoch, address validator, bytes32 root, bytes32 salt) external pure returns (bytes32);
    /// The last bit of `digest` is the state: 0 commitment, 1 revealed root.
    function reportOf(uint64 epoch, address validator)
        external
        view
        returns (bytes32 digest, bool revealed, bool voided);
    /// The moment from which an epoch can be reported; its stakes are those of that moment.
    function epochEnd(uint64 epoch) external view returns (uint64);
    /// The epoch in which `time` lies.
    function epochAt(uint64 time) external view returns (uint64);
    /// Stake whose reports count, all validators' stake at the epoch's end, and whether the former is enough.
    function stakesOf(uint64 epoch) external view returns (uint128 counted, uint128 total, bool quorum);
    /// Least and greatest value the stake-weighted median can have, given these reports. Equal when all
    /// reports are there.
    function medianOf(uint64 epoch, address provider, ReportOpening[] calldata reports)
        external
        view
        returns (uint32 least, uint32 greatest);
    /// The open or final proposal; zeros when there is none.
    function proposalOf(uint64 epoch) external view returns (bytes32 digest, address proposer, uint64 finalAt);
    /// What stands for a proposal on chain.
    function proposalDigest(uint64 epoch, Proposal calldata proposal) external pure returns (bytes32);
    /// The proposal that stands and when it became final; zeros before that.
    function finalOf(uint64 epoch) external view returns (bytes32 digest, uint64 finalAt);
}
