// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ISegmentVerifier} from "../../disputes/ISegmentVerifier.sol";
import {IJobEscrow} from "../../jobs/IJobEscrow.sol";
import {JobTerms} from "../../jobs/JobTerms.sol";
import {IZkJobs} from "../IZkJobs.sol";
import {IZkPlans} from "../IZkPlans.sol";
import {IZkVerifier} from "../IZkVerifier.sol";
import {Bn254} from "../Bn254.sol";
import {P_CHUNK_BITS, P_LIMB0, P_LIMB1, P_LIMB2, P_PROGRAM, P_STEPS} from "../Layout.sol";
import {PlanFacts} from "../PlanFacts.sol";
import {TwinValues} from "../TwinValues.sol";
import {ISegmentProofs} from "./ISegmentProofs.sol";
import {WeightJudge} from "./WeightJudge.sol";

/// Lists of commitments, and what a proof shows of them. Disputes names it as its verifier and convicts by
/// its word. Holds coins: deposits of demands, and what is owed. No owner; nothing changes after its
/// deployment.
contract SegmentProofs is ISegmentProofs, ISegmentVerifier {
    using JobTerms for IJobEscrow.Terms;
    using PlanFacts for address;

    /// docs/jobs.md §9.
    uint8 private constant OPTIMISTIC = 3;
    /// A list stands in one transaction.
    uint64 private constant MOST_SEGMENTS = 2 ** 12;
    /// To prove a segment: measured, with room.
    uint256 private constant PROOF_GAS = 1_300_000;
    /// So many open demands of one claim give the next one's answer the same time once more, up to so often.
    uint256 private constant FLOOD = 16;
    uint256 private constant MOST_MORE = 8;
    /// Numbers of 64 bits have 39 in the limbs of a plan, those of 32 have 31.
    uint256 private constant NARROW_BITS = 31;

    IJobEscrow private immutable _escrow;
    /// Whose word counts for who brings a proof, and for what was claimed.
    address private immutable _disputes;
    IZkVerifier private immutable _verifier;
    IZkPlans private immutable _plans;
    WeightJudge private immutable _judge;
    uint32 private immutable ANSWER;
    uint96 private immutable GAS_PRICE;

    struct Ordering {
        bytes32 hash;
        uint64 segments;
    }

    mapping(uint256 job => Ordering) private _orders;
    // INVARIANT: written once.
    mapping(bytes32 book => bytes32) private _lists;
    mapping(bytes32 book => mapping(uint64 segment => bool)) private _linked;
    // INVARIANT: coins held = deposits of demands that are not paid + all that is owed.
    mapping(bytes32 book => mapping(uint64 segment => Demand)) private _demands;
    mapping(bytes32 book => uint256) private _open;
    mapping(address => uint256) private _owed;

    constructor(
        IJobEscrow escrow_,
        address disputes_,
        IZkVerifier verifier_,
        IZkPlans plans_,
        WeightJudge judge_,
        Params memory params_
    ) {
        if (
            params_.answerSeconds == 0 || params_.answerSeconds > 30 days || params_.gasPrice == 0
                || address(judge_).code.length == 0
        ) revert ParamsInvalid();
        (_escrow, _disputes, _verifier, _plans, _judge) = (escrow_, disputes_, verifier_, plans_, judge_);
        (ANSWER, GAS_PRICE) = (params_.answerSeconds, params_.gasPrice);
    }

    /// @inheritdoc ISegmentProofs
    function order(IJobEscrow.Terms calldata terms, IZkJobs.Order calldata ordered) external {
        uint256 job = terms.idOf();
        // ATTACK: an order that comes when somebody has accused could name what saves the accused.
        if (msg.sender != terms.customer || _escrow.jobOf(job).isFunded || _orders[job].hash != 0) revert OrderRefused(job);
        if (
            terms.method != OPTIMISTIC || terms.parts != 1 || terms.segments < 2 || terms.segments > MOST_SEGMENTS
                || bytes32(PlanFacts.known(_plans.imageOf(ordered.plan)).read(P_PROGRAM)) != terms.program
        ) revert OrderInvalid();
        _orders[job] = Ordering(keccak256(abi.encode(ordered)), terms.segments);
        emit Ordered(job, ordered);
    }

    /// @inheritdoc ISegmentProofs
    function demand(uint256 job, uint64 segment) external payable {
        (bytes32 book,) = claimed(job);
        if (_lists[book] == 0) revert ListState(job);
        mustHaveSteps(job, segment);
        if (_linked[book][segment] || _demands[book][segment].by != address(0)) revert SegmentRefused(segment);
        if (msg.value != deposit()) revert CoinsWrong(deposit());
        uint256 more = _open[book]++ / FLOOD;
        uint40 deadline = uint40(block.timestamp + ANSWER * (1 + (more < MOST_MORE ? more : MOST_MORE)));
        _demands[book][segment] = Demand(msg.sender, deadline, false);
        emit Demanded(job, book, segment, msg.sender, deadline);
    }

    /// @inheritdoc ISegmentProofs
    function settleDemand(bytes32 book, uint64 segment) external {
        Demand memory asked = _demands[book][segment];
        if (asked.by == address(0) || asked.isPaid) revert NothingPaid();
        if (block.timestamp <= asked.deadline) revert WrongTime(asked.deadline);
        pay(book, segment, asked.by);
    }

    function pay(bytes32 book, uint64 segment, address to) private {
        _demands[book][segment].isPaid = true;
        _open[book]--;
        _owed[to] += deposit();
    }

    /// @inheritdoc ISegmentProofs
    function collect(address payable to) external {
        uint256 amount = _owed[msg.sender];
        if (amount == 0) revert NothingPaid();
        _owed[msg.sender] = 0;
        (bool isPaid,) = to.call{value: amount}("");
        if (!isPaid) revert NothingPaid();
    }

    /// A `proof` is abi.encode(Shown).
    function verifySegment(Disputed calldata disputed, bytes calldata proof) external returns (bool) {
        // ATTACK: whoever names seed and states itself could link a segment by a proof about another order of
        // the data, and so pass for one that answered.
        if (msg.sender != _disputes) revert ListRefused(disputed.job);
        Shown calldata shown;
        // What lies beyond the calldata reads as zeros, which are nobody's order.
        assembly ("memory-safe") {
            shown := add(proof.offset, calldataload(proof.offset))
        }
        mustBeOrdered(disputed.job, shown.ordered);
        mustHaveSteps(disputed.job, disputed.segment);
        (bytes32 book, address provider) = claimed(disputed.job);
        if (shown.kind == Kind.Silence) return mustBeSilent(book, disputed.segment);
        mustBeSaid(disputed, book, provider, shown);
        address plan = PlanFacts.known(_plans.imageOf(shown.ordered.plan));
        if (shown.kind == Kind.Weight) return mustBeOther(plan, disputed, shown);
        if (!endsAsSaid(plan, disputed, shown)) return false;
        _linked[book][disputed.segment] = true;
        Demand memory asked = _demands[book][disputed.segment];
        if (asked.by != address(0) && !asked.isPaid) pay(book, disputed.segment, provider);
        return true;
    }

    /// Of a claim without a list whoever claimed it says it now.
    function mustBeSaid(Disputed calldata disputed, bytes32 book, address provider, Shown calldata shown) private {
        bytes32 hash = keccak256(abi.encodePacked(shown.list));
        uint256 job = disputed.job;
        if (_lists[book] == hash) return;
        if (_lists[book] != 0) revert ListMismatch(job);
        if (
            disputed.by != provider || shown.list.length != _orders[job].segments
                || shown.list[0] != shown.ordered.startPoints
        ) revert ListRefused(job);
        _lists[book] = hash;
        emit Said(job, book, provider, shown.list);
    }

    /// The list has one commitment before each segment with steps, and the last one's end.
    function endsAsSaid(address plan, Disputed calldata disputed, Shown calldata shown) private view returns (bool) {
        uint64 segment = disputed.segment;
        IZkVerifier.Statement memory statement = IZkVerifier.Statement(
            proofJob(disputed.job),
            disputed.seed,
            (segment - 1) * plan.read(P_STEPS),
            shown.ordered.features,
            shown.ordered.labels,
            disputed.start,
            disputed.end
        );
        (, bytes32[4] memory hashes) = _verifier.mustHold(shown.ordered.plan, statement, shown.points, shown.proof);
        if (
            hashes[0] != shown.ordered.featurePoints || hashes[1] != shown.ordered.labelPoints
                || hashes[2] != shown.list[segment - 1]
        ) revert PointsMismatch();
        if (hashes[3] == shown.list[segment]) return true;
        // ATTACK: a commitment may be to more numbers than the proof says anything of, and so be another one
        // to the right weights.
        uint256 after_ = 64 * plan.chunksAfter();
        uint256 size = shown.points.length;
        _judge.mustBeBare(plan.read(P_CHUNK_BITS), shown.points[size - after_:], plan.weightPlaces(), shown.bare);
        return false;
    }

    /// False: a weight of the claimed state is not the one that the list's commitment has.
    function mustBeOther(address plan, Disputed calldata disputed, Shown calldata shown) private view returns (bool) {
        Weight calldata one = shown.weight;
        if (
            keccak256(shown.points) != shown.list[disputed.segment]
                || JobTerms.stateHash(disputed.segment + 1, one.states, one.results) != disputed.end || one.place >= plan.weightPlaces()
        ) revert PointsMismatch();
        TwinValues.Sizes memory sizes;
        uint256 weightBits = plan.read(P_LIMB0) + plan.read(P_LIMB1) + plan.read(P_LIMB2);
        (sizes.weightSize, sizes.layers) = (weightBits > NARROW_BITS ? 8 : 4, plan.layersOf());
        int256 said = TwinValues.valuesAt(sizes, TwinValues.Group.After, one.states, one.place, 1, one.shown)[0];
        uint256 bits = plan.read(P_CHUNK_BITS);
        uint256 chunk = one.place >> bits;
        _judge.mustHave(bits, shown.points[64 * chunk:64 * chunk + 64], one.place & ((1 << bits) - 1), one.value, shown.proof);
        if (one.value == (said < 0 ? Bn254.R - uint256(-said) : uint256(said))) revert NothingShown();
        return false;
    }

    function mustBeSilent(bytes32 book, uint64 segment) private view returns (bool) {
        Demand memory asked = _demands[book][segment];
        if (asked.by == address(0) || _linked[book][segment]) revert SegmentRefused(segment);
        if (block.timestamp <= asked.deadline) revert WrongTime(asked.deadline);
        return false;
    }

    /// Segment 0 makes the first weights, which the customer named.
    function mustHaveSteps(uint256 job, uint64 segment) private view {
        if (segment == 0 || segment >= _orders[job].segments) revert SegmentRefused(segment);
    }

    /// The book of the claim that stands, as Disputes numbers it, and whose it is.
    function claimed(uint256 job) private view returns (bytes32 book, address provider) {
        IJobEscrow.Part memory one = _escrow.partOf(job, 0);
        if (one.state != IJobEscrow.PartState.Claimed) revert ListState(job);
        return (keccak256(abi.encode(job, uint32(0), one.attempt, one.provider)), one.provider);
    }

    function mustBeOrdered(uint256 job, IZkJobs.Order calldata ordered) private view {
        if (_orders[job].hash != keccak256(abi.encode(ordered))) revert OrderMismatch(job);
    }

    /// @inheritdoc ISegmentProofs
    function isOrdered(uint256 job) external view returns (bool) {
        return _orders[job].hash != 0;
    }

    /// @inheritdoc ISegmentProofs
    function listOf(bytes32 book) external view returns (bytes32) {
        return _lists[book];
    }

    /// @inheritdoc ISegmentProofs
    function isLinked(bytes32 book, uint64 segment) external view returns (bool) {
        return _linked[book][segment];
    }

    /// @inheritdoc ISegmentProofs
    function demandOf(bytes32 book, uint64 segment) external view returns (Demand memory) {
        return _demands[book][segment];
    }

    /// @inheritdoc ISegmentProofs
    function deposit() public view returns (uint256) {
        return PROOF_GAS * GAS_PRICE;
    }

    /// @inheritdoc ISegmentProofs
    function owedTo(address account) external view returns (uint256) {
        return _owed[account];
    }

    /// @inheritdoc ISegmentProofs
    function proofJob(uint256 job) public view returns (uint256) {
        return uint256(keccak256(abi.encode(address(this), job)));
    }

    /// @inheritdoc ISegmentProofs
    function params() external view returns (Params memory) {
        return Params(ANSWER, GAS_PRICE);
    }
}
