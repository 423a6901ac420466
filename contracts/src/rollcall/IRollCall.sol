// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Roll calls: which blocks call, what validators commit to of the answers, and openings that are demanded in
/// public. docs/roll-call.md; docs/chain.md.
interface IRollCall {
    struct Params {
        /// One block of this many calls.
        uint32 every;
        /// Places are drawn from the hash of the first block that is this much later than the call's.
        uint32 windowSeconds;
        /// Calls are rounds of drand, of which the chain knows nothing: no hash is checked, nothing can be
        /// demanded.
        bool isDrand;
        /// How many blocks after a commitment its openings may be demanded.
        uint32 demandBlocks;
        /// How long a demand may be answered.
        uint32 answerSeconds;
        /// What of the stake a demand without an answer costs.
        uint32 slashPpm;
        /// Least deposit of a demand, in the chain's own coin.
        uint128 leastDeposit;
    }

    /// Parts of a commitment, of which the chain keeps the hash.
    struct Commitment {
        address validator;
        uint64 call;
        bytes32 root;
        uint32 count;
        /// Hash of the call's block.
        bytes32 beta;
        /// The block that it was made in.
        uint64 blockNumber;
    }

    /// What one device of a host answered, src/protocol/roll-call.
    struct Leaf {
        bytes32 providerKey;
        address account;
        uint32 device;
        uint32 m;
        uint32 n;
        uint32 k;
        uint32 rounds;
        uint32 keep;
        /// The seed that would follow the last round: it binds every seed and every root.
        bytes32 end;
        /// Root of the pass over all that was kept.
        bytes32 last;
    }

    /// A leaf's place in the tree, and its account's word that the answer is its own.
    struct LeafProof {
        Leaf leaf;
        uint32 index;
        bytes32[] path;
        /// EIP-712, over RollAnswer(call, beta, leaf).
        bytes signature;
    }

    struct Place {
        uint32 round;
        uint32 leaf;
        /// Which of the leaf's 512 elements.
        uint16 column;
    }

    /// As in its event; the chain keeps the hash.
    struct Demand {
        address demander;
        uint64 call;
        bytes32 beta;
        Leaf leaf;
        Place place;
        uint256 deposit;
        /// Last second in which it may be answered.
        uint64 until;
        /// By a validator, who has a demand free of the limit.
        bool isValidators;
    }

    /// `validator` is the account, whichever of its keys sent it.
    event Committed(address indexed validator, uint64 indexed call, bytes32 root, uint32 count);
    /// May be answered until `demand.until`.
    event OpeningDemanded(address indexed account, address indexed demander, bytes32 indexed answer, Demand demand);
    /// The element is right; the deposit is the account's.
    event OpeningAnswered(address indexed account, address indexed demander, bytes32 indexed answer);
    /// `slashed` is 0 when the answer has cost its account before, or it has no stake left or has ended its
    /// allowance.
    event OpeningWithheld(address indexed account, address indexed demander, bytes32 indexed answer, uint128 slashed);
    /// Of the chain's own coin.
    event Withdrawn(address indexed account, address to, uint256 amount);

    /// @notice Thrown when a parameter is 0 or too large.
    error ParamsInvalid();
    /// @notice Thrown when the caller is not the signer of a validator with voting stake.
    error NotValidator(address caller);
    /// @notice Thrown when the block is to come, or its hash is no longer known.
    error BlockUnknown(uint64 call);
    /// @notice Thrown when the block's hash does not call.
    error NoCall(uint64 call);
    /// @notice Thrown when the validator has committed for this call before.
    error AlreadyCommitted(address validator, uint64 call);
    /// @notice Thrown when the parts are not those of a commitment here.
    error CommitmentUnknown();
    /// @notice Thrown when nothing of this commitment can be demanded any more, or calls are drand's.
    error DemandsClosed();
    /// @notice Thrown when the leaf does not lead to the commitment's root.
    error LeafUnknown();
    /// @notice Thrown when no signer of the account has signed, or the leaf names none.
    error SignatureInvalid();
    /// @notice Thrown when the leaf has no such round, tile or element.
    error PlaceInvalid();
    /// @notice Thrown when the deposit would not pay for the answer.
    error DepositTooSmall(uint256 deposit, uint256 least);
    /// @notice Thrown when the account has no stake left, or does not allow this contract to take enough of
    /// it.
    error NothingToSlash(address account);
    /// @notice Thrown when the answer has cost its account before.
    error AlreadyPunished();
    /// @notice Thrown when the caller's last demand of this answer is open, or too many others' are.
    error TooManyDemands();
    /// @notice Thrown when there is no such demand, or it is closed.
    error DemandUnknown();
    /// @notice Thrown when the time to answer is over.
    error AnswerLate(uint64 until);
    /// @notice Thrown when there are more or fewer roots than rounds.
    error RoundsInvalid();
    /// @notice Thrown when seed and roots do not lead to the leaf's end.
    error ChainMismatch();
    /// @notice Thrown when the element is not what its seed makes it.
    error ElementWrong(uint16 committed, uint16 right);
    /// @notice Thrown when the demand may still be answered.
    error StillAnswerable(uint64 until);
    /// @notice Thrown when the caller is owed nothing.
    error NothingOwed(address account);
    /// @notice Thrown when the coins could not be sent.
    error PaymentFailed();

    /// Of all answers that came in time, once a call, by a validator: the root of their tree and how many
    /// they are.
    function commit(uint64 call, bytes32 root, uint32 count) external;
    /// Anyone asks, with a deposit, for one element of an answer whose account has signed it.
    function demandOpening(Commitment calldata commitment, LeafProof calldata proof, Place calldata place)
        external
        payable;
    /// All roots, the leaf and its path: the deposit is the account's, whoever calls.
    function answerOpening(Demand calldata demand, bytes32[] calldata roots, bytes calldata leafBytes, bytes32[] calldata path)
        external;
    /// Nobody answered: the account is slashed, the deposit is the demander's again.
    function expire(Demand calldata demand) external;
    /// Pays the caller what it is owed.
    function withdraw(address payable to) external;

    /// As set at the deployment.
    function params() external view returns (Params memory);
    /// Whether a block with this hash calls.
    function isRollCall(bytes32 beta) external view returns (bool);
    /// 0 for none, else the hash of the parts of a commitment.
    function commitmentOf(address validator, uint64 call) external view returns (bytes32);
    /// What may be withdrawn.
    function owedTo(address account) external view returns (uint256);
    /// Least deposit for an answer of this many rounds with rows of k, at the block's price of gas.
    function depositFor(uint32 rounds, uint32 k) external view returns (uint256);
    /// What an account signs for its answer.
    function answerDigest(uint64 call, bytes32 beta, bytes32 leaf) external view returns (bytes32);
    /// Hash of a leaf, as the tree has it.
    function leafHash(Leaf calldata leaf) external pure returns (bytes32);
}
