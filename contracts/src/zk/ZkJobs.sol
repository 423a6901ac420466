// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IClaimProofs, IJobEscrow} from "../jobs/IJobEscrow.sol";
import {JobTerms} from "../jobs/JobTerms.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";
import {ITwinPosts} from "./ITwinPosts.sol";
import {IZkJobs} from "./IZkJobs.sol";
import {IZkPlans} from "./IZkPlans.sol";
import {IZkVerifier} from "./IZkVerifier.sol";
import {P_PROGRAM, P_STEPS} from "./Layout.sol";
import {PlanFacts} from "./PlanFacts.sol";

/// How far jobs are proven, and who is paid for it. Commitments alone count: from the customer's first ones each segment leads to weights that are right, so whatever is paid
/// here is true and paid once, whoever claims the part and however often it falls. The escrow holds the money. No owner; nothing changes after its deployment.
/// ATTACK: an opening does not see coefficients from X^(2^chunkBits) on. So right weights have many commitments, of which all but one are known to their maker alone: nobody
/// else can go on from there. Hence the lists: a prover cannot choose what a segment ends with, and what the worker of one attempt lists binds no other attempt.
contract ZkJobs is IZkJobs, IClaimProofs {
    using JobTerms for IJobEscrow.Terms;
    using PlanFacts for address;

    uint8 private constant ZK = 5;
    /// Waiting proofs that one submission pays besides its own.
    uint256 private constant ALONG = 8;

    IJobEscrow private immutable _escrow;
    IZkVerifier private immutable _verifier;
    IZkPlans private immutable _plans;
    ITwinPosts private immutable _twins;

    /// The way that a part's proofs go: by one list, from one start.
    struct Lane {
        uint32 part;
        /// Segments with steps.
        uint64 first;
        uint64 end;
        /// 0: there is none, or the part is not claimed.
        bytes32 root;
        bytes32 list;
        bytes32 place;
        Head head;
    }

    mapping(uint256 job => bytes32) private _orders;
    /// Commitments before segment 1.
    mapping(uint256 job => bytes32) private _starts;
    mapping(uint256 job => uint64) private _nextUnpaid;
    // INVARIANT: written once.
    mapping(uint256 job => mapping(uint32 part => mapping(uint16 attempt => bytes32))) private _lists;
    mapping(bytes32 lane => Head) private _heads;
    /// What all of a list was proven to end with.
    mapping(bytes32 list => bytes32) private _ends;
    // INVARIANT: written once.
    mapping(bytes32 place => Waiting) private _waiting;
    /// Which attempt's claim is proven.
    mapping(uint256 job => mapping(uint32 part => uint16)) private _proven;

    constructor(IJobEscrow escrow_, IZkVerifier verifier_, IZkPlans plans_, ITwinPosts twins_) {
        (_escrow, _verifier, _plans, _twins) = (escrow_, verifier_, plans_, twins_);
    }

    /// @inheritdoc IZkJobs
    function order(IJobEscrow.Terms calldata terms, Order calldata ordered) external {
        uint256 job = terms.idOf();
        IJobEscrow.Job memory found = _escrow.jobOf(job);
        if (msg.sender != terms.customer || !found.isFunded || found.touched > 0 || _orders[job] != 0) revert OrderRefused(job);
        // Whoever takes a job of another method does not look for trees that somebody posts about its states, so that they must not count there.
        if (
            terms.method != ZK || terms.windowSeconds < _twins.longest()
                || bytes32(PlanFacts.known(_plans.imageOf(ordered.plan)).read(P_PROGRAM)) != terms.program
        ) revert OrderInvalid();
        _orders[job] = keccak256(abi.encode(ordered));
        (_starts[job], _nextUnpaid[job]) = (ordered.startPoints, 1);
        (, uint64 count) = terms.rangeOf(0);
        // Segment 0 alone: there is nothing to list.
        if (count == 1) _ends[listKey(job, 0, 0)] = ordered.startPoints;
        emit Ordered(job, ordered);
    }

    /// @inheritdoc IZkJobs
    function list(IJobEscrow.Terms calldata terms, uint32 part, bytes calldata ends) external {
        uint256 job = terms.idOf();
        IJobEscrow.Part memory one = _escrow.partOf(job, part);
        if (
            msg.sender != one.provider || one.state != IJobEscrow.PartState.Claimed || _lists[job][part][one.attempt] != 0
                || _orders[job] == 0
        ) revert ListRefused(job, part);
        (uint64 first, uint64 end) = provable(terms, part);
        if (first == end || ends.length != 32 * uint256(end - first)) revert ListRefused(job, part);
        _lists[job][part][one.attempt] = KeccakTree.fold(ends);
        emit Listed(job, part, one.attempt, ends);
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
        if (number >= terms.segments) revert SegmentRefused(number);
        Lane memory lane = laneOf(terms, job, partOf(terms, number));
        if (lane.root == 0) revert NotListed(number);
        if (number < lane.head.next) revert SegmentRefused(number);
        (bytes32 before, bytes32 after_) = proven(proverJob(job, msg.sender), terms.seed, ordered, segment);
        mustBeListed(lane, number, after_, path);
        emit Proven(job, number, msg.sender, before, after_);
        if (number == lane.head.next && lane.head.points != 0) {
            if (before != lane.head.points) revert PointsMismatch();
            // Whoever was first is paid, also where the head could only go on later: `advance` does that.
            if (_waiting[placeOf(lane, number, before)].prover != address(0)) revert SegmentRefused(number);
            pay(terms, job, lane, Waiting(msg.sender, after_));
            payWaiting(terms, job, lane, ALONG);
            _heads[lane.place] = lane.head;
            return;
        }
        bytes32 place = placeOf(lane, number, before);
        if (_waiting[place].prover != address(0)) revert SegmentRefused(number);
        _waiting[place] = Waiting(msg.sender, after_);
    }

    /// @inheritdoc IZkJobs
    function advance(IJobEscrow.Terms calldata terms, uint32 part, uint256 most) external {
        uint256 job = terms.idOf();
        Lane memory lane = laneOf(terms, job, part);
        if (lane.root == 0 || payWaiting(terms, job, lane, most) == 0) revert NothingWaits(job);
        _heads[lane.place] = lane.head;
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
                || endOf(job, part) == 0 || standingPoints(job, ordered, poster, tree) != endOf(job, part)
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

    /// ATTACK: before the claim nobody but its worker has the bytes of its end, so nobody could bring a false tree of it down.
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
        // Segment 0 has no steps; a segment has as many as the plan says, which the verifier returns.
        if (segment.number == 0) revert SegmentRefused(0);
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
        if (one.state == IJobEscrow.PartState.Claimed) lane.root = _lists[job][part][one.attempt];
        lane.list = listKey(job, part, _lists[job][part][one.attempt]);
        bytes32 start = part == 0 ? _starts[job] : endOf(job, part - 1);
        lane.place = keccak256(abi.encode(lane.list, start));
        lane.head = _heads[lane.place];
        if (lane.head.next == 0) lane.head = Head(lane.first, start);
    }

    function mustBeListed(Lane memory lane, uint64 number, bytes32 after_, bytes32[] calldata path) private pure {
        (bool isPossible, bytes32 root) =
            KeccakTree.rootFromPath(after_, number - lane.first, lane.end - lane.first, path);
        if (!isPossible || root != lane.root) revert NotListed(number);
    }

    function payWaiting(IJobEscrow.Terms calldata terms, uint256 job, Lane memory lane, uint256 most)
        private
        returns (uint256 count)
    {
        for (; count < most && lane.head.points != 0 && lane.head.next < lane.end; count++) {
            Waiting memory one = _waiting[placeOf(lane, lane.head.next, lane.head.points)];
            if (one.prover == address(0)) break;
            pay(terms, job, lane, one);
        }
    }

    /// The same for each segment of a part, rounded down; what is left is the customer's. ATTACK: a worker and a prover of its own could prove segments by a list that nobody
    /// can go on from, again with each attempt: what was paid once is not paid again.
    function pay(IJobEscrow.Terms calldata terms, uint256 job, Lane memory lane, Waiting memory one) private {
        uint64 number = lane.head.next;
        bool isUnpaid = number == _nextUnpaid[job];
        uint128 amount = isUnpaid ? terms.audit / (lane.end - lane.first) : 0;
        if (number + 1 == lane.end) _ends[lane.list] = one.after_;
        lane.head = Head(number + 1, one.after_);
        emit Advanced(job, number, one.prover, amount, one.after_);
        if (!isUnpaid) return;
        _nextUnpaid[job] = number + 1;
        _escrow.payProver(terms, lane.part, one.prover, amount);
    }

    function partOf(IJobEscrow.Terms calldata terms, uint64 segment) private pure returns (uint32) {
        return uint32(segment / ((terms.segments + terms.parts - 1) / terms.parts));
    }

    /// The part's segments with steps: all but segment 0.
    function provable(IJobEscrow.Terms calldata terms, uint32 part) private pure returns (uint64 first, uint64 end) {
        uint64 count;
        (first, count) = terms.rangeOf(part);
        end = first + count;
        if (part == 0) first = 1;
    }

    function listKey(uint256 job, uint32 part, bytes32 root) private pure returns (bytes32) {
        return keccak256(abi.encode(job, part, root));
    }

    function placeOf(Lane memory lane, uint64 segment, bytes32 points) private pure returns (bytes32) {
        return keccak256(abi.encode(lane.list, segment, points));
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
    function nextUnpaid(uint256 job) external view returns (uint64) {
        return _nextUnpaid[job];
    }

    /// @inheritdoc IZkJobs
    function headOf(IJobEscrow.Terms calldata terms, uint32 part) external view returns (Head memory) {
        return laneOf(terms, terms.idOf(), part).head;
    }

    /// @inheritdoc IZkJobs
    function listOf(uint256 job, uint32 part, uint16 attempt) external view returns (bytes32) {
        return _lists[job][part][attempt];
    }

    /// @inheritdoc IZkJobs
    function endOf(uint256 job, uint32 part) public view returns (bytes32) {
        return _ends[listKey(job, part, _lists[job][part][_escrow.partOf(job, part).attempt])];
    }

    /// @inheritdoc IZkJobs
    function waitingAt(IJobEscrow.Terms calldata terms, uint64 segment, bytes32 points)
        external
        view
        returns (Waiting memory)
    {
        return _waiting[placeOf(laneOf(terms, terms.idOf(), partOf(terms, segment)), segment, points)];
    }

    /// @inheritdoc IZkJobs
    function twins() external view returns (ITwinPosts) {
        return _twins;
    }
}
