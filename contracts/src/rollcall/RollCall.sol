// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {GemmElement} from "../slashing/GemmElement.sol";
import {GemmOpening} from "../slashing/GemmOpening.sol";
import {IRegistry} from "../stake/IRegistry.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";
import {IRollCall} from "./IRollCall.sol";
import {RollLeaf} from "./RollLeaf.sol";

/// What validators commit to at each roll call, and openings demanded of those who answered. Immutable, no
/// owner. Deposits are the chain's own coin, because that is what an answer's gas is paid in.
contract RollCall is IRollCall, EIP712 {
    bytes32 private constant ANSWER_TYPE = keccak256("RollAnswer(uint64 call,bytes32 beta,bytes32 leaf)");
    /// As in the Registry's `Slashed`.
    bytes32 public constant REASON = keccak256("assay/withheld-opening");
    uint32 private constant PPM = 1_000_000;
    /// Open demands of one answer by accounts without voting stake. With 1 a cheat could keep all others out
    /// by a demand of his own; he could with any number, therefore each validator has one beyond it.
    uint32 private constant MOST_OPEN = 8;
    /// Gas of an answer, rounded up from contracts/gas.json.
    uint256 private constant ANSWER_GAS = 400_000;
    uint256 private constant ANSWER_GAS_PER_ROUND = 1500;
    uint256 private constant ANSWER_GAS_PER_K = 90;

    struct State {
        /// Open demands by accounts without voting stake.
        uint32 open;
        bool isPunished;
    }

    IRegistry public immutable registry;
    /// Whose validators commit.
    address public immutable electorate;
    uint32 private immutable EVERY;
    uint32 private immutable WINDOW_SECONDS;
    bool private immutable IS_DRAND;
    uint32 private immutable DEMAND_BLOCKS;
    uint32 private immutable ANSWER_SECONDS;
    uint32 private immutable SLASH_PPM;
    uint128 private immutable LEAST_DEPOSIT;

    /// One slot a commitment: ten thousand devices are timed for the price of it.
    mapping(address => mapping(uint64 => bytes32)) private _commitments;
    /// By answer and demander: the hash of the demand that is open.
    mapping(bytes32 => mapping(address => bytes32)) private _demands;
    /// By answer (its digest).
    mapping(bytes32 => State) private _answers;
    // INVARIANT: coins held = Σ owed + Σ deposits of open demands, and what strangers forced in.
    mapping(address => uint256) private _owed;

    constructor(IRegistry registry_, address electorate_, Params memory params_) EIP712("assay", "1") {
        if (
            electorate_ == address(0) || params_.every == 0 || params_.windowSeconds == 0
                || params_.demandBlocks == 0 || params_.answerSeconds == 0 || params_.slashPpm == 0
                || params_.slashPpm > PPM || params_.leastDeposit == 0
                // INVARIANT: whoever answers a call cannot have left before a demand of it runs out. Twice:
                // the demand comes later than the answer.
                || registry_.params().unbondingSeconds < 2 * uint256(params_.answerSeconds)
        ) revert ParamsInvalid();
        registry = registry_;
        electorate = electorate_;
        EVERY = params_.every;
        WINDOW_SECONDS = params_.windowSeconds;
        IS_DRAND = params_.isDrand;
        DEMAND_BLOCKS = params_.demandBlocks;
        ANSWER_SECONDS = params_.answerSeconds;
        SLASH_PPM = params_.slashPpm;
        LEAST_DEPOSIT = params_.leastDeposit;
    }

    function commit(uint64 call, bytes32 root, uint32 count) external {
        (address validator, uint128 weight) = seatOf(msg.sender);
        if (weight == 0) revert NotValidator(msg.sender);
        bytes32 beta = 0;
        if (!IS_DRAND) {
            beta = blockhash(call);
            if (beta == 0) revert BlockUnknown(call);
            if (!isRollCall(beta)) revert NoCall(call);
        }
        // By account: another signer of it is no other validator.
        mapping(uint64 => bytes32) storage own = _commitments[validator];
        if (own[call] != 0) revert AlreadyCommitted(validator, call);
        own[call] = commitmentHash(root, count, beta, uint64(block.number));
        emit Committed(validator, call, root, count);
    }

    function demandOpening(Commitment calldata commitment, LeafProof calldata proof, Place calldata place)
        external
        payable
    {
        mustBeCommitted(commitment, proof);
        Leaf calldata leaf = proof.leaf;
        // ATTACK: a validator puts whom it likes into its tree. So an account answers only for what it signed
        // itself, for this call and this block's hash: what was computed on a dropped fork accuses nobody.
        bytes32 answer = answerDigest(commitment.call, commitment.beta, RollLeaf.hash(leaf));
        mustBeSigned(leaf.account, answer, proof.signature);
        mustBePlace(leaf, place);
        uint256 least = depositFor(leaf.rounds, leaf.k);
        if (msg.value < least) revert DepositTooSmall(msg.value, least);
        // Who does not allow what a withheld opening costs is worth nothing to validators either.
        (uint32 mostPpm,) = registry.allowanceOf(leaf.account, address(this));
        if (mostPpm < SLASH_PPM || registry.slashableOf(leaf.account) == 0) revert NothingToSlash(leaf.account);
        (, uint128 weight) = seatOf(msg.sender);
        open(
            answer,
            Demand({
                demander: msg.sender,
                call: commitment.call,
                beta: commitment.beta,
                leaf: leaf,
                place: place,
                deposit: msg.value,
                until: uint64(block.timestamp) + ANSWER_SECONDS,
                isValidators: weight != 0
            })
        );
    }

    function answerOpening(
        Demand calldata demand,
        bytes32[] calldata roots,
        bytes calldata leafBytes,
        bytes32[] calldata path
    ) external {
        if (block.timestamp > demand.until) revert AnswerLate(demand.until);
        bytes32 answer = close(demand);
        bytes32 seed = RollLeaf.seedOf(demand.beta, demand.leaf, demand.place.round, roots);
        GemmOpening.Product memory product = productOf(demand.leaf, demand.place);
        uint16 committed = GemmOpening.committed(product, roots[demand.place.round], leafBytes, path);
        uint16 right = GemmOpening.right(product, seed);
        if (committed != right) revert ElementWrong(committed, right);
        _owed[demand.leaf.account] += demand.deposit;
        emit OpeningAnswered(demand.leaf.account, demand.demander, answer);
    }

    // INVARIANT: an answer is punished once, however many of its openings are withheld.
    function expire(Demand calldata demand) external {
        if (block.timestamp <= demand.until) revert StillAnswerable(demand.until);
        bytes32 answer = close(demand);
        _owed[demand.demander] += demand.deposit;
        address account = demand.leaf.account;
        uint128 slashed = 0;
        // Without a stake, or an allowance that has not ended, the deposit must come back all the same.
        (uint32 mostPpm,) = registry.allowanceOf(account, address(this));
        if (!_answers[answer].isPunished && mostPpm != 0 && registry.slashableOf(account) != 0) {
            _answers[answer].isPunished = true;
            uint32 ppm = mostPpm < SLASH_PPM ? mostPpm : SLASH_PPM;
            slashed = registry.slash(account, ppm, demand.demander, REASON);
        }
        emit OpeningWithheld(account, demand.demander, answer, slashed);
    }

    function withdraw(address payable to) external {
        uint256 amount = _owed[msg.sender];
        if (amount == 0) revert NothingOwed(msg.sender);
        // Before the coins go: whoever gets them may call again.
        _owed[msg.sender] = 0;
        emit Withdrawn(msg.sender, to, amount);
        (bool sent,) = to.call{value: amount}("");
        if (!sent) revert PaymentFailed();
    }

    function params() external view returns (Params memory) {
        return Params(EVERY, WINDOW_SECONDS, IS_DRAND, DEMAND_BLOCKS, ANSWER_SECONDS, SLASH_PPM, LEAST_DEPOSIT);
    }

    function commitmentOf(address validator, uint64 call) external view returns (bytes32) {
        return _commitments[validator][call];
    }

    function owedTo(address account) external view returns (uint256) {
        return _owed[account];
    }

    function leafHash(Leaf calldata leaf) external pure returns (bytes32) {
        return RollLeaf.hash(leaf);
    }

    function isRollCall(bytes32 beta) public view returns (bool) {
        return uint256(keccak256(abi.encodePacked("assay/roll-call/1", beta))) < type(uint256).max / EVERY;
    }

    /// Twice what the answer costs now: gas may be dearer when it is sent.
    function depositFor(uint32 rounds, uint32 k) public view returns (uint256) {
        uint256 gas_ = ANSWER_GAS + ANSWER_GAS_PER_ROUND * rounds + ANSWER_GAS_PER_K * k;
        uint256 least = 2 * gas_ * block.basefee;
        return least > LEAST_DEPOSIT ? least : LEAST_DEPOSIT;
    }

    function answerDigest(uint64 call, bytes32 beta, bytes32 leaf) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(ANSWER_TYPE, call, beta, leaf)));
    }

    function open(bytes32 answer, Demand memory demand) private {
        State storage state = _answers[answer];
        if (state.isPunished) revert AlreadyPunished();
        if (_demands[answer][demand.demander] != 0) revert TooManyDemands();
        if (!demand.isValidators && ++state.open > MOST_OPEN) revert TooManyDemands();
        _demands[answer][demand.demander] = keccak256(abi.encode(demand));
        emit OpeningDemanded(demand.leaf.account, demand.demander, answer, demand);
    }

    /// Once: a second answer, or an expiry after an answer, finds nothing.
    function close(Demand calldata demand) private returns (bytes32 answer) {
        answer = answerDigest(demand.call, demand.beta, RollLeaf.hash(demand.leaf));
        if (_demands[answer][demand.demander] != keccak256(abi.encode(demand))) revert DemandUnknown();
        delete _demands[answer][demand.demander];
        if (!demand.isValidators) _answers[answer].open--;
    }

    function seatOf(address signer) private view returns (address validator, uint128 weight) {
        return registry.voiceOf(electorate, signer);
    }

    function mustBeCommitted(Commitment calldata made, LeafProof calldata proof) private view {
        bytes32 hash = commitmentHash(made.root, made.count, made.beta, made.blockNumber);
        if (_commitments[made.validator][made.call] != hash) revert CommitmentUnknown();
        if (IS_DRAND || block.number > uint256(made.blockNumber) + DEMAND_BLOCKS) revert DemandsClosed();
        (bool possible, bytes32 root) =
            KeccakTree.rootFromPath(RollLeaf.hash(proof.leaf), proof.index, made.count, proof.path);
        if (!possible || root != made.root) revert LeafUnknown();
    }

    /// By a key that signs for the account, or once did. Only plain keys sign: what a contract "signs" can
    /// change after the fact.
    function mustBeSigned(address account, bytes32 digest, bytes calldata signature) private view {
        (address signer, ECDSA.RecoverError err,) = ECDSA.tryRecoverCalldata(digest, signature);
        if (
            err != ECDSA.RecoverError.NoError || account == address(0) || registry.accountOfSigner(signer) != account
        ) revert SignatureInvalid();
    }

    function mustBePlace(Leaf calldata leaf, Place calldata place) private pure {
        GemmOpening.Product memory product = productOf(leaf, place);
        GemmOpening.mustBeValid(product);
        if (leaf.rounds > RollLeaf.MOST_ROUNDS || place.round >= leaf.rounds || !GemmOpening.isPlace(product)) {
            revert PlaceInvalid();
        }
    }

    function productOf(Leaf calldata leaf, Place calldata place) private pure returns (GemmOpening.Product memory) {
        return GemmOpening.Product(GemmElement.INT8, leaf.m, leaf.n, leaf.k, place.leaf, place.column);
    }

    function commitmentHash(bytes32 root, uint32 count, bytes32 beta, uint64 blockNumber) private pure returns (bytes32) {
        return keccak256(abi.encode(root, count, beta, blockNumber));
    }
}
