// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IClaimProofs, IJobEscrow} from "../jobs/IJobEscrow.sol";
import {JobTerms} from "../jobs/JobTerms.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";
import {ITwinPosts} from "./ITwinPosts.sol";
import {IZkJobs} from "./IZkJobs.sol";
import {IZkPlans} from "./IZkPlans.sol";
import {IZkVerifier} from "./IZkVerifier.sol";
import {P_CHUNK_BITS, P_PROGRAM, P_STEPS} from "./Layout.sol";
import {PlanFacts} from "./PlanFacts.sol";
import {WeightJudge} from "./hybrid/WeightJudge.sol";

/// How far jobs are proven, and who is paid for it. Commitments alone count: from the customer's first ones
/// each segment leads to weights that are right, so whatever is paid here is true and paid once, whoever
/// claims the part and however often it falls. The escrow holds the money. No owner; nothing changes after
/// its deployment.
/// ATTACK: an opening does not see coefficients from X^(2^chunkBits) on. So right weights have many
/// commitments, of which all but one are known to their maker alone: nobody else can go on from there. Hence
/// the lists: a prover cannot choose what a segment ends with, and what a worker lists is shown to be bare:
/// the one that everybody can make.
contract ZkJobs is IZkJobs, IClaimProofs {
    using JobTerms for IJobEscrow.Terms;
    using PlanFacts for address;

    uint8 private constant ZK = 5;
    /// Waiting proofs that one submission pays besides its own.
    uint256 private constant ALONG = 8;
    /// Commitments that are listed at once: some 11,500 gas each, and no transaction may take more than 2^24
    /// (EIP-7825).
    uint256 private constant MOST_LISTED = 1024;

    IJobEscrow private immutable _escrow;
    IZkVerifier private immutable _verifier;
    IZkPlans private immutable _plans;
    ITwinPosts private immutable _twins;
    WeightJudge private immutable _judge;

    /// A part as it is claimed now.
    struct Lane {
        uint32 part;
        /// Segments with steps.
        uint64 first;
        uint64 end;
        bool isClaimed;
        /// 0: there is none.
        bytes32 root;
    }

    mapping(uint256 job => bytes32) private _orders;
    // INVARIANT: true and bare: commitments that follow from the customer's, and that whoever runs the job
    // can make.
    mapping(uint256 job => Head) private _heads;
    mapping(uint256 job => mapping(uint32 part => bytes32)) private _ends;
    // INVARIANT: written once.
    mapping(uint256 job => mapping(uint32 part => mapping(uint16 attempt => bytes32))) private _lists;
    // INVARIANT: written once.
    mapping(bytes32 place => Waiting) private _waiting;
    /// Which attempt's claim is proven.
    mapping(uint256 job => mapping(uint32 part => uint16)) private _proven;

    constructor(IJobEscrow escrow_, IZkVerifier verifier_, IZkPlans plans_, ITwinPosts twins_, WeightJudge judge_) {
        (_escrow, _verifier, _plans, _twins, _judge) = (escrow_, verifier_, plans_, twins_, judge_);
    }

    /// @inheritdoc IZkJobs
    function order(IJobEscrow.Terms calldata terms, Order calldata ordered) external {
        uint256 job = terms.idOf();
        IJobEscrow.Job memory found = _escrow.jobOf(job);
        if (msg.sender != terms.customer || !found.isFunded || found.touched > 0 || _orders[job] != 0) revert OrderRefused(job);
        // Whoever takes a job of another method does not look for trees that somebody posts about its states,
        // so that they must not count there.
        address plan = PlanFacts.known(_plans.imageOf(ordered.plan));
        if (
            terms.method != ZK || terms.windowSeconds < _twins.longest() || bytes32(plan.read(P_PROGRAM)) != terms.program
                || eachOf(terms) * plan.chunksAfter() > MOST_LISTED
        ) revert OrderInvalid();
        _orders[job] = keccak256(abi.encode(ordered));
        _heads[job] = Head(1, bytes28(ordered.startPoints));
        // Segment 0 alone: there is nothing to list.
        if (eachOf(terms) == 1) _ends[job][0] = ordered.startPoints;
        emit Ordered(job, ordered);
    }

    /// @inheritdoc IZkJobs
    function list(
        IJobEscrow.Terms calldata terms,
        Order calldata ordered,
        uint32 part,
        bytes calldata points,
        bytes calldata bare
    ) external {
        uint256 job = terms.idOf();
        IJobEscrow.Part memory one = _escrow.partOf(job, part);
        if (
            msg.sender != one.provider || one.state != IJobEscrow.PartState.Claimed || _lists[job][part][one.attempt] != 0
        ) revert ListRefused(job, part);
        mustBeOrdered(job, ordered);
        (uint64 first, uint64 end) = provable(terms, part);
        address plan = _plans.imageOf(ordered.plan);
        uint256 size = 64 * plan.chunksAfter();
        if (first == end || points.length != size * (end - first)) revert ListRefused(job, part);
        _judge.mustBeBare(plan.read(P_CHUNK_BITS), points, plan.weightPlaces(), bare);
        bytes32[] memory ends = new bytes32[](end - first);
        for (uint256 i = 0; i < ends.length; i++) ends[i] = keccak256(points[size * i:size * (i + 1)]);
        bytes memory all = abi.encodePacked(ends);
        _lists[job][part][one.attempt] = KeccakTree.rootOf(ends);
        emit Listed(job, part, one.attempt, all);
    }

    /// @inheritdoc IZkJobs
    function submit(
        IJobEscrow.Terms calldata terms,
        Order calldata ordered,
        Segment calldata segment,
        bytes32[] calldata path
    ) external {
        uint256 job = terms.idOf();
        mustBeOrdered(job, ordered);
        uint64 number = segment.number;
        Head memory head = _heads[job];
        // Segment 0 has no steps, and is before every head.
        if (number >= terms.segments || number < head.next) revert SegmentRefused(number);
        Lane memory lane = laneOf(terms, job, partOf(terms, number));
        if (lane.root == 0) revert NotListed(number);
        (bytes32 before, bytes32 after_) = proven(proverJob(job, msg.sender), terms.seed, ordered, segment);
        mustBeListed(lane, number, after_, path);
        emit Proven(job, number, msg.sender, before, after_);
        bytes32 place = placeOf(job, number, bytes28(before));
        // Whoever was first is paid, also where the head could only go on later: `advance` does that.
        if (_waiting[place].prover != address(0)) revert SegmentRefused(number);
        if (number > head.next) {
            _waiting[place] = Waiting(msg.sender, after_);
            return;
        }
        if (bytes28(before) != head.points) revert PointsMismatch();
        pay(terms, job, lane, head, Waiting(msg.sender, after_));
        payWaiting(terms, job, lane, head, ALONG);
        _heads[job] = head;
    }

    /// @inheritdoc IZkJobs
    function advance(IJobEscrow.Terms calldata terms, uint256 most) external {
        uint256 job = terms.idOf();
        Head memory head = _heads[job];
        if (head.next >= terms.segments) revert NothingWaits(job);
        Lane memory lane = laneOf(terms, job, partOf(terms, head.next));
        if (!lane.isClaimed || payWaiting(terms, job, lane, head, most) == 0) revert NothingWaits(job);
        _heads[job] = head;
    }

    /// @inheritdoc IZkJobs
    function conclude(
        IJobEscrow.Terms calldata terms,
        Order calldata ordered,
        uint32 part,
        bytes32 claimHash,
        address poster,
        ITwinPosts.Tree calldata tree
    ) external {
        uint256 job = terms.idOf();
        mustBeOrdered(job, ordered);
        IJobEscrow.Part memory one = _escrow.partOf(job, part);
        if (one.state != IJobEscrow.PartState.Claimed) revert EndMismatch();
        (uint64 first, uint64 count) = terms.rangeOf(part);
        bytes32 last = JobTerms.stateHash(tree.segment, tree.states, 0);
        if (
            tree.segment != first + count
                || _escrow.commitmentOf(job, part, one.attempt) != keccak256(abi.encode(claimHash, last))
                || _ends[job][part] == 0 || standingPoints(job, ordered, poster, tree) != _ends[job][part]
                || !isPostedAfter(one.time - terms.windowSeconds, poster, tree)
        ) revert EndMismatch();
        _proven[job][part] = one.attempt;
        emit Concluded(job, part, one.attempt);
    }

    /// Of a tree that was posted for this job and plan, and stands.
    function standingPoints(uint256 job, Order calldata ordered, address poster, ITwinPosts.Tree calldata tree)
        private
        view
        returns (bytes32)
    {
        if (tree.scope != job || tree.plan != ordered.plan || !_twins.isStanding(_twins.numberOf(poster, tree))) {
            revert EndMismatch();
        }
        return _twins.pointsOf(tree);
    }

    /// ATTACK: before the claim nobody but its worker has the bytes of its end, so nobody could bring a false
    /// tree of it down.
    function isPostedAfter(uint256 claimedAt, address poster, ITwinPosts.Tree calldata tree) private view returns (bool) {
        return _twins.postOf(_twins.numberOf(poster, tree)).until >= claimedAt + _twins.params().windowSeconds;
    }

    function mustBeOrdered(uint256 job, Order calldata ordered) private view {
        if (_orders[job] != keccak256(abi.encode(ordered))) revert OrderMismatch(job);
    }

    /// The commitments between which the proof leads, over the data that was ordered.
    function proven(uint256 named, bytes32 seed, Order calldata ordered, Segment calldata segment)
        private
        view
        returns (bytes32 before, bytes32 after_)
    {
        // A segment has as many steps as the plan says, which the verifier returns.
        uint256 steps = PlanFacts.known(_plans.imageOf(ordered.plan)).read(P_STEPS);
        (, bytes32[4] memory hashes) = _verifier.mustHold(
            ordered.plan,
            IZkVerifier.Statement(
                named,
                seed,
                (segment.number - 1) * steps,
                ordered.features,
                ordered.labels,
                segment.stateBefore,
                segment.stateAfter
            ),
            segment.points,
            segment.proof
        );
        if (hashes[0] != ordered.featurePoints || hashes[1] != ordered.labelPoints) revert PointsMismatch();
        return (hashes[2], hashes[3]);
    }

    /// Of the part's present attempt.
    function laneOf(IJobEscrow.Terms calldata terms, uint256 job, uint32 part) private view returns (Lane memory lane) {
        IJobEscrow.Part memory one = _escrow.partOf(job, part);
        lane.part = part;
        (lane.first, lane.end) = provable(terms, part);
        lane.isClaimed = one.state == IJobEscrow.PartState.Claimed;
        if (lane.isClaimed) lane.root = _lists[job][part][one.attempt];
    }

    function mustBeListed(Lane memory lane, uint64 number, bytes32 after_, bytes32[] calldata path) private pure {
        (bool isPossible, bytes32 root) =
            KeccakTree.rootFromPath(after_, number - lane.first, lane.end - lane.first, path);
        if (!isPossible || root != lane.root) revert NotListed(number);
    }

    /// Within the part. What waits was listed when it came, and so is bare, by whichever attempt.
    function payWaiting(IJobEscrow.Terms calldata terms, uint256 job, Lane memory lane, Head memory head, uint256 most)
        private
        returns (uint256 count)
    {
        for (; count < most && head.next < lane.end; count++) {
            Waiting storage one = _waiting[placeOf(job, head.next, head.points)];
            address prover = one.prover;
            if (prover == address(0)) break;
            pay(terms, job, lane, head, Waiting(prover, one.after_));
        }
    }

    /// The same for each segment of a part, rounded down; what is left is the customer's.
    function pay(IJobEscrow.Terms calldata terms, uint256 job, Lane memory lane, Head memory head, Waiting memory one) private {
        uint64 number = head.next;
        uint128 amount = terms.audit / (lane.end - lane.first);
        (head.next, head.points) = (uint32(number + 1), bytes28(one.after_));
        if (number + 1 == lane.end) _ends[job][lane.part] = one.after_;
        emit Advanced(job, number, one.prover, amount, one.after_);
        _escrow.payProver(job, lane.part, one.prover, amount, terms.audit);
    }

    /// Segments of a part; the last one may have fewer.
    function eachOf(IJobEscrow.Terms calldata terms) private pure returns (uint64) {
        return (terms.segments + terms.parts - 1) / terms.parts;
    }

    function partOf(IJobEscrow.Terms calldata terms, uint64 segment) private pure returns (uint32) {
        return uint32(segment / eachOf(terms));
    }

    /// The part's segments with steps: all but segment 0.
    function provable(IJobEscrow.Terms calldata terms, uint32 part) private pure returns (uint64 first, uint64 end) {
        uint64 count;
        (first, count) = terms.rangeOf(part);
        end = first + count;
        if (part == 0) first = 1;
    }

    function placeOf(uint256 job, uint64 segment, bytes28 points) private pure returns (bytes32) {
        return keccak256(abi.encode(job, segment, points));
    }

    /// @inheritdoc IZkJobs
    function proverJob(uint256 job, address prover) public view returns (uint256) {
        return uint256(keccak256(abi.encode(address(this), job, prover)));
    }

    function isOrdered(uint256 job) external view override(IZkJobs, IClaimProofs) returns (bool) {
        return _orders[job] != 0;
    }

    function isProven(uint256 job, uint32 part, uint16 attempt) external view override(IZkJobs, IClaimProofs) returns (bool) {
        return attempt != 0 && _proven[job][part] == attempt;
    }

    /// @inheritdoc IZkJobs
    function headOf(uint256 job) external view returns (Head memory) {
        return _heads[job];
    }

    /// @inheritdoc IZkJobs
    function listOf(uint256 job, uint32 part, uint16 attempt) external view returns (bytes32) {
        return _lists[job][part][attempt];
    }

    /// @inheritdoc IZkJobs
    function endOf(uint256 job, uint32 part) external view returns (bytes32) {
        return _ends[job][part];
    }

    /// @inheritdoc IZkJobs
    function waitingAt(uint256 job, uint64 segment, bytes28 points) external view returns (Waiting memory) {
        return _waiting[placeOf(job, segment, points)];
    }

    /// @inheritdoc IZkJobs
    function twins() external view returns (ITwinPosts) {
        return _twins;
    }
}
