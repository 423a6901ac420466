// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "./Bn254.sol";
import {IZkPlans} from "./IZkPlans.sol";
import {IZkVerifier} from "./IZkVerifier.sol";
import {
    ALPHA,
    BETA,
    FIELD,
    NEXT,
    P_BATCH,
    P_CHUNK_BITS,
    P_EPOCHS,
    P_GROUPS,
    P_HASH,
    P_POINTS,
    P_PROGRAM,
    P_ROW_BITS,
    P_SCALARS,
    P_STEPS,
    P_TOLD,
    RHO_END,
    SHARES,
    read
} from "./Layout.sol";
import {Opening} from "./Opening.sol";
import {Powers} from "./Powers.sol";
import {RowOrder} from "./RowOrder.sol";
import {SegmentClaims} from "./SegmentClaims.sol";
import {SegmentLookups} from "./SegmentLookups.sol";
import {SegmentProducts} from "./SegmentProducts.sol";
import {ZkPlan} from "./ZkPlan.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// Verifies proofs of segments over the powers of one ceremony. It has no owner and no money, and nothing
/// changes after its deployment. The twin of src/verify/zk/verify-segment.ts: whatever one of them refuses
/// the other refuses too.
contract ZkVerifier is IZkVerifier, Powers {
    uint256 private constant VALUES = 1;
    uint256 private constant HELPERS = 2;

    IZkPlans private immutable _plans;

    constructor(IZkPlans plans_, Bn254.G2 memory tau_, uint256[] memory bits, bytes32[] memory ids) Powers(tau_, bits, ids) {
        _plans = plans_;
    }

    /// @inheritdoc IZkVerifier
    function mustHold(bytes32 plan, Statement calldata statement, bytes calldata points, bytes calldata proof)
        external
        view
        returns (uint256 steps, bytes32[4] memory hashes)
    {
        ZkPlan.load(_plans.imageOf(plan));
        mustBeSegment(statement.firstStep);
        (uint256 told, uint256 from) = mustHaveForm(points, proof);
        uint256 field = Bn254.R;
        assembly ("memory-safe") {
            mstore(FIELD, field)
        }
        hashes = pointHashes(points);
        ZkTranscript.begin(statementHash(statement, hashes));
        unchecked {
            RowOrder.draw(statement.seed, statement.firstStep * read(P_BATCH));
        }
        begin(from);
        SegmentLookups.check();
        SegmentProducts.checkProducts();
        SegmentProducts.checkWeights();
        SegmentClaims.takeBytes();
        mustOpen(told, from, proof.length);
        steps = read(P_STEPS);
    }

    /// It begins where a segment does, and ends with an epoch of the plan.
    function mustBeSegment(uint256 firstStep) private pure {
        uint256 steps = read(P_STEPS);
        if (
            firstStep > type(uint32).max || firstStep % steps != 0
                || (firstStep + steps) * read(P_BATCH) > read(P_EPOCHS) << read(P_ROW_BITS)
        ) revert SegmentInvalid();
    }

    /// A proof's size follows from the plan; its numbers have one spelling. Returns where both begin.
    function mustHaveForm(bytes calldata points, bytes calldata proof) private pure returns (uint256 from, uint256 first) {
        unchecked {
            (uint256 told, uint256 own, uint256 scalars) = (read(P_TOLD), read(P_POINTS), read(P_SCALARS));
            if (points.length != 64 * told) revert ZkTranscript.ProofLength(points.length, 64 * told);
            uint256 size = 64 * own + 32 * scalars + Opening.BYTES;
            if (proof.length != size) revert ZkTranscript.ProofLength(proof.length, size);
            assembly ("memory-safe") {
                from := points.offset
                first := proof.offset
            }
            Bn254.mustBePoints(from, told);
            Bn254.mustBePoints(first, own);
            Bn254.mustBeScalars(first + 64 * own, scalars);
        }
    }

    /// First chunk of a group, and how many it has.
    function chunksOf(uint256 group) private pure returns (uint256 first, uint256 count) {
        unchecked {
            return (read(P_GROUPS + 128 * group), read(P_GROUPS + 128 * group + 32));
        }
    }

    /// Of each of the first four groups.
    function pointHashes(bytes calldata points) private pure returns (bytes32[4] memory hashes) {
        unchecked {
            uint256 from = 0;
            for (uint256 i = 0; i < 4; i++) {
                (, uint256 count) = chunksOf(i);
                hashes[i] = keccak256(points[from:from + 64 * count]);
                from += 64 * count;
            }
        }
    }

    function statementHash(Statement calldata statement, bytes32[4] memory hashes) private view returns (bytes32) {
        bytes memory head = abi.encodePacked(
            "assay/zk/statement/1",
            block.chainid,
            statement.job,
            read(P_PROGRAM),
            read(P_HASH),
            powersId(read(P_CHUNK_BITS)),
            statement.seed
        );
        bytes memory rest = abi.encodePacked(
            statement.firstStep,
            read(P_STEPS),
            statement.features,
            statement.labels,
            statement.stateBefore,
            statement.stateAfter,
            hashes
        );
        return keccak256(bytes.concat(head, rest));
    }

    /// Commitments to values, then to helpers.
    function begin(uint256 from) private pure {
        unchecked {
            (, uint256 values) = chunksOf(4);
            (, uint256 helpers) = chunksOf(5);
            ZkTranscript.hear(VALUES, from, 64 * values);
            uint256 drawn = ZkTranscript.draw(2);
            ZkTranscript.hear(HELPERS, from + 64 * values, 64 * helpers);
            assembly ("memory-safe") {
                mstore(ALPHA, mload(drawn))
                mstore(BETA, mload(add(drawn, 0x20)))
                mstore(NEXT, add(from, shl(6, add(values, helpers))))
            }
        }
    }

    /// `told`, `from`: where the commitments of statement and proof begin.
    function mustOpen(uint256 told, uint256 from, uint256 length) private view {
        unchecked {
            Opening.Claim memory claim;
            claim.value = SegmentClaims.join();
            (claim.end, claim.c) = (read(RHO_END), read(P_CHUNK_BITS));
            uint256 shares = read(SHARES);
            uint256 count = read(P_TOLD);
            Bn254.gather(told, shares, count);
            Bn254.gather(from, shares + 32 * count, read(P_POINTS));
            uint256 opening = from + length - Opening.BYTES;
            Opening.mustOpen(claim, tau(), opening);
        }
    }
}
