// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "./Bn254.sol";
import {Cube} from "./Cube.sol";
import {IZkPlans} from "./IZkPlans.sol";
import {IZkVerifier} from "./IZkVerifier.sol";
import {Mercury} from "./Mercury.sol";
import {RowOrder} from "./RowOrder.sol";
import {SegmentClaims} from "./SegmentClaims.sol";
import {SegmentLookups} from "./SegmentLookups.sol";
import {SegmentProducts} from "./SegmentProducts.sol";
import {SegmentRun} from "./SegmentRun.sol";
import {ZkPlan} from "./ZkPlan.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// Verifies proofs of segments over the powers of one ceremony. It has no owner and no money, and nothing changes after its deployment. The twin of
/// src/verify/zk/verify-segment.ts: whatever one of them refuses the other refuses too.
contract ZkVerifier is IZkVerifier {
    using Cube for uint256;
    using Bn254 for Bn254.Sum;
    using SegmentRun for SegmentRun.Run;

    uint256 private constant VALUES = 1;
    uint256 private constant HELPERS = 2;

    IZkPlans private immutable _plans;
    /// τ in the second group.
    uint256 private immutable _tauXi;
    uint256 private immutable _tauXr;
    uint256 private immutable _tauYi;
    uint256 private immutable _tauYr;
    /// By the number of bits: whether the first 2^bits powers have an id, and which.
    mapping(uint256 chunkBits => bool) private _isKnown;
    mapping(uint256 chunkBits => bytes32) private _ids;

    constructor(IZkPlans plans_, Bn254.G2 memory tau, uint256[] memory bits, bytes32[] memory ids) {
        _plans = plans_;
        (_tauXi, _tauXr, _tauYi, _tauYr) = (tau.xi, tau.xr, tau.yi, tau.yr);
        for (uint256 i = 0; i < bits.length; i++) (_isKnown[bits[i]], _ids[bits[i]]) = (true, ids[i]);
    }

    /// @inheritdoc IZkVerifier
    function mustHold(bytes32 plan, Statement calldata statement, bytes calldata points, bytes calldata proof)
        external
        view
        returns (uint256 steps, bytes32[4] memory hashes)
    {
        SegmentRun.Run memory run;
        run.plan = ZkPlan.loaded(_plans.imageOf(plan));
        mustBeSegment(run.plan, statement.firstStep);
        mustHaveForm(run.plan, points, proof);
        (run.values, run.kept) = (Cube.room(SegmentRun.CLAIMS), Cube.room(Cube.KEPT));
        hashes = pointHashes(run.plan, points);
        run.state = ZkTranscript.begin(statementHash(run.plan, statement, hashes));
        run.order = RowOrder.drawn(
            statement.seed, run.plan.rowBits, run.plan.places, statement.firstStep * run.plan.batch
        );
        uint256 from;
        assembly ("memory-safe") {
            from := proof.offset
        }
        uint256 opening = from + proof.length - Mercury.BYTES;
        (uint256 alpha, uint256 beta) = begin(run, from);
        SegmentLookups.check(run, alpha, beta);
        SegmentProducts.checkProducts(run);
        SegmentProducts.checkWeights(run);
        SegmentClaims.takeBytes(run);
        mustOpen(run, points, from, opening);
        steps = run.plan.steps;
    }

    /// It begins where a segment does, and ends with an epoch of the plan.
    function mustBeSegment(ZkPlan.Plan memory plan, uint256 firstStep) private pure {
        if (
            firstStep > type(uint32).max || firstStep % plan.steps != 0
                || (firstStep + plan.steps) * plan.batch > plan.epochs << plan.rowBits
        ) revert SegmentInvalid();
    }

    /// A proof's size follows from the plan; its numbers have one spelling.
    function mustHaveForm(ZkPlan.Plan memory plan, bytes calldata points, bytes calldata proof) private pure {
        (uint256 told, uint256 own, uint256 scalars) = (plan.toldPoints, plan.points, plan.scalars);
        if (points.length != 64 * told) revert ZkTranscript.ProofLength(points.length, 64 * told);
        uint256 size = 64 * own + 32 * scalars + Mercury.BYTES;
        if (proof.length != size) revert ZkTranscript.ProofLength(proof.length, size);
        uint256 from;
        uint256 first;
        assembly ("memory-safe") {
            from := points.offset
            first := proof.offset
        }
        Bn254.mustBePoints(from, told);
        Bn254.mustBePoints(first, own);
        Bn254.mustBeScalars(first + 64 * own, scalars);
    }

    function pointsIn(ZkPlan.Plan memory plan, uint256 group) private pure returns (uint256 count) {
        (, count) = ZkPlan.chunksOf(plan, group);
    }

    /// Of each of the first four groups.
    function pointHashes(ZkPlan.Plan memory plan, bytes calldata points) private pure returns (bytes32[4] memory hashes) {
        uint256 from = 0;
        for (uint256 i = 0; i < 4; i++) {
            uint256 size = 64 * pointsIn(plan, i);
            hashes[i] = keccak256(points[from:from + size]);
            from += size;
        }
    }

    function statementHash(ZkPlan.Plan memory plan, Statement calldata statement, bytes32[4] memory hashes)
        private
        view
        returns (bytes32)
    {
        if (!_isKnown[plan.chunkBits]) revert PowersUnknown(plan.chunkBits);
        bytes memory head = abi.encodePacked(
            "assay/zk/statement/1", block.chainid, statement.job, plan.program, plan.hash, _ids[plan.chunkBits], statement.seed
        );
        bytes memory rest = abi.encodePacked(
            statement.firstStep,
            plan.steps,
            statement.features,
            statement.labels,
            statement.stateBefore,
            statement.stateAfter,
            hashes
        );
        return keccak256(bytes.concat(head, rest));
    }

    /// Commitments to values, then to helpers.
    function begin(SegmentRun.Run memory run, uint256 from) private pure returns (uint256 alpha, uint256 beta) {
        (uint256 values, uint256 helpers) = (64 * pointsIn(run.plan, 4), 64 * pointsIn(run.plan, 5));
        bytes32 state = ZkTranscript.heard(run.state, VALUES, from, values);
        alpha = ZkTranscript.drawn(state);
        state = ZkTranscript.again(state);
        beta = ZkTranscript.drawn(state);
        run.state = ZkTranscript.heard(state, HELPERS, from + values, helpers);
        run.next = from + values + helpers;
    }

    function mustOpen(SegmentRun.Run memory run, bytes calldata points, uint256 from, uint256 opening) private view {
        Mercury.Claim memory claim;
        uint256 pairs;
        (pairs, claim.point, claim.value) = SegmentClaims.join(run);
        uint256 high = run.plan.bits - run.plan.chunkBits;
        (claim.point, claim.c, claim.state) = (claim.point + 32 * high, run.plan.chunkBits, run.state);
        uint256 told;
        assembly ("memory-safe") {
            told := points.offset
        }
        for (uint256 group = 0; group < ZkPlan.GROUPS; group++) {
            if (group == 4) told = from;
            (uint256 first, uint256 count) = ZkPlan.chunksOf(run.plan, group);
            for (uint256 i = first; i < first + count; i++) {
                addPoint(claim.commitment, told, Cube.corner(i, pairs, high));
                told += 64;
            }
        }
        Mercury.mustOpen(claim, Bn254.G2(_tauXi, _tauXr, _tauYi, _tauYr), opening);
    }

    function addPoint(Bn254.Sum memory sum, uint256 from, uint256 scalar) private view {
        (uint256 x, uint256 y) = (0, 0);
        assembly ("memory-safe") {
            x := calldataload(from)
            y := calldataload(add(from, 0x20))
        }
        sum.addTimes(x, y, scalar);
    }
}
