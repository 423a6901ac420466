// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IClaimProofs, IJobEscrow} from "../jobs/IJobEscrow.sol";
import {JobTerms} from "../jobs/JobTerms.sol";
import {ITwinPosts} from "./ITwinPosts.sol";
import {IZkJobs} from "./IZkJobs.sol";
import {IZkPlans} from "./IZkPlans.sol";
import {IZkVerifier} from "./IZkVerifier.sol";
import {P_PROGRAM, P_STEPS} from "./Layout.sol";
import {PlanFacts} from "./PlanFacts.sol";

/// How far jobs are proven, and who is paid for it. Commitments alone count: from the customer's first ones each segment has one next, so whatever is paid here is true
/// and paid once, whoever claims the part and however often it falls. The escrow holds the money. No owner; nothing changes after its deployment.
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

    mapping(uint256 job => bytes32) private _orders;
    mapping(uint256 job => Head) private _heads;
    mapping(uint256 job => mapping(uint32 part => bytes32)) private _ends;
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
        _heads[job] = Head(1, ordered.startPoints);
        (, uint64 count) = terms.rangeOf(0);
        if (count == 1) _ends[job][0] = ordered.startPoints;
        emit Ordered(job, ordered);
    }

    /// @inheritdoc IZkJobs
    function submit(IJobEscrow.Terms calldata terms, Order calldata ordered, Segment calldata segment) external {
        uint256 job = terms.idOf();
        mustBeOrdered(job, ordered);
        Head memory head = _heads[job];
        if (segment.number < head.next || segment.number >= terms.segments) revert SegmentRefused(segment.number);
        (bytes32 before, bytes32 after_) = proven(proverJob(job, msg.sender), terms.seed, ordered, segment);
        emit Proven(job, segment.number, msg.sender, before, after_);
        if (segment.number == head.next && before != head.points) revert PointsMismatch();
        bytes32 place = placeOf(job, segment.number, before);
        // Whoever was first is paid, also where the part was claimed only later: `advance` does that.
        if (_waiting[place].prover != address(0)) revert SegmentRefused(segment.number);
        if (segment.number == head.next && isClaimed(job, partOf(terms, head.next))) {
            head = pay(terms, job, head, Waiting(msg.sender, after_));
            (head,) = payWaiting(terms, job, head, ALONG);
            _heads[job] = head;
            return;
        }
        _waiting[place] = Waiting(msg.sender, after_);
    }

    /// @inheritdoc IZkJobs
    function advance(IJobEscrow.Terms calldata terms, uint256 most) external {
        uint256 job = terms.idOf();
        (Head memory head, uint256 count) = payWaiting(terms, job, _heads[job], most);
        if (count == 0) revert NothingWaits(job);
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

    function payWaiting(IJobEscrow.Terms calldata terms, uint256 job, Head memory head, uint256 most)
        private
        returns (Head memory, uint256 count)
    {
        for (; count < most && head.next != 0 && head.next < terms.segments; count++) {
            Waiting memory one = _waiting[placeOf(job, head.next, head.points)];
            if (one.prover == address(0) || !isClaimed(job, partOf(terms, head.next))) break;
            head = pay(terms, job, head, one);
        }
        return (head, count);
    }

    /// The same for each segment of a part, rounded down; what is left is the customer's.
    function pay(IJobEscrow.Terms calldata terms, uint256 job, Head memory head, Waiting memory one)
        private
        returns (Head memory)
    {
        uint32 part = partOf(terms, head.next);
        (uint64 first, uint64 count) = terms.rangeOf(part);
        uint128 amount = terms.audit / (part == 0 ? count - 1 : count);
        if (head.next + 1 == first + count) _ends[job][part] = one.after_;
        emit Advanced(job, head.next, one.prover, amount, one.after_);
        _escrow.payProver(terms, part, one.prover, amount);
        return Head(head.next + 1, one.after_);
    }

    function partOf(IJobEscrow.Terms calldata terms, uint64 segment) private pure returns (uint32) {
        return uint32(segment / ((terms.segments + terms.parts - 1) / terms.parts));
    }

    function isClaimed(uint256 job, uint32 part) private view returns (bool) {
        return _escrow.partOf(job, part).state == IJobEscrow.PartState.Claimed;
    }

    function placeOf(uint256 job, uint64 segment, bytes32 points) private pure returns (bytes32) {
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
    function endOf(uint256 job, uint32 part) external view returns (bytes32) {
        return _ends[job][part];
    }

    /// @inheritdoc IZkJobs
    function waitingAt(uint256 job, uint64 segment, bytes32 points) external view returns (Waiting memory) {
        return _waiting[placeOf(job, segment, points)];
    }

    /// @inheritdoc IZkJobs
    function twins() external view returns (ITwinPosts) {
        return _twins;
    }
}
