// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Groth16} from "../../receipts/Groth16.sol";
import {Bn254} from "../Bn254.sol";
import {IZkPlans} from "../IZkPlans.sol";
import {
    FIELD,
    P_BATCH,
    P_CHUNK_BITS,
    P_EPOCHS,
    P_GROUPS,
    P_HASH,
    P_POINTS,
    P_PROGRAM,
    P_ROW_BITS,
    P_STEPS,
    P_TOLD,
    POINT,
    STATE,
    TERM,
    TERM_TIMES
} from "../Layout.sol";
import {Powers} from "../Powers.sol";
import {RowOrder} from "../RowOrder.sol";
import {ZkPlan} from "../ZkPlan.sol";
import {ZkTranscript} from "../ZkTranscript.sol";
import {IZkKeys} from "./IZkKeys.sol";
import {IZkRunVerifier} from "./IZkRunVerifier.sol";
import {RunList} from "./RunList.sol";

/// Verifies wrapped run proofs over the powers of one ceremony, with registered keys. It has no owner and no
/// money, and nothing changes after its deployment. The twin of src/verify/zk/run/verify-wrapped.ts: whatever
/// one of them refuses the other refuses too.
contract ZkRunVerifier is IZkRunVerifier, Powers {
    /// A, B, C.
    uint256 private constant GROTH16 = 256;
    /// W, W′.
    uint256 private constant OPENING = 128;
    /// The message of the opening's transcript: what is opened, and W.
    uint256 private constant LINE = 22;
    uint256 private constant KEY_WORDS = 22;
    /// A pairing of five pairs takes 215,000 (EIP-1108), and a call has 63/64 of what is left. With less, its
    /// failure says nothing.
    uint256 private constant PAIRING_GAS = 225_000;
    uint256 private constant ADD = 6;
    uint256 private constant MUL = 7;
    uint256 private constant PAIRING = 8;

    IZkPlans private immutable _plans;
    IZkKeys private immutable _keys;

    /// Where things are: a proof's parts in the calldata, and lists in memory.
    struct Parts {
        uint256 segments;
        /// Commitments to features and labels, to weights; of a segment's proof.
        uint256 data;
        uint256 weights;
        uint256 own;
        /// In the calldata.
        uint256 points;
        uint256 proof;
        uint256 groth16;
        /// In memory: hashes of statements; then the proof up to Groth16's: how often each commitment counts,
        /// S's the last of them; the digest, right behind t, a and b.
        uint256 statements;
        uint256 claimed;
        uint256 counts;
        uint256 digest;
        /// Public numbers of the circuit, but for the digest.
        uint256 x;
        uint256 seen;
        bytes32 key;
        bytes words;
    }

    constructor(IZkPlans plans_, IZkKeys keys_, Bn254.G2 memory tau_, uint256[] memory bits, bytes32[] memory ids)
        Powers(tau_, bits, ids)
    {
        (_plans, _keys) = (plans_, keys_);
    }

    /// @inheritdoc IZkRunVerifier
    function mustHold(
        RunStatement calldata statement,
        bytes32[] calldata states,
        bytes calldata points,
        bytes calldata proof
    ) external view returns (uint256 steps, bytes32[] memory hashes) {
        ZkPlan.loadHead(_plans.imageOf(statement.plan));
        uint256 field = Bn254.R;
        assembly ("memory-safe") {
            mstore(FIELD, field)
        }
        Parts memory parts;
        takeKey(parts, statement.key, statement.plan, states.length);
        mustBeSegments(statement.firstStep, parts.segments);
        mustHaveForm(parts, points, proof);
        hashes = pointHashes(parts, points);
        hashStatements(parts, packedStatement(statement, hashes), states, hashes);
        drawList(parts, statement.seed, statement.firstStep);
        (uint256 z, uint256 factor) = drawFactor(parts);
        gatherInputs(parts);
        gatherPoints(parts, factor);
        gatherOpening(parts, z, factor);
        if (!isOne(pairsOf(parts, factor))) revert RunFalse();
        steps = read(P_STEPS);
    }

    function read(uint256 place) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(place)
        }
    }

    /// How many chunks a group has.
    function chunksOf(uint256 group) private pure returns (uint256) {
        unchecked {
            return read(P_GROUPS + 128 * group + 32);
        }
    }

    /// It is for this plan, and one segment fewer than there are states.
    function takeKey(Parts memory parts, bytes32 key, bytes32 plan, uint256 states) private view {
        address image = _keys.keyImageOf(key);
        if (image == address(0)) revert KeyUnknown(key);
        bytes memory words = new bytes(32 * KEY_WORDS);
        bytes32 found;
        uint256 segments;
        assembly ("memory-safe") {
            // The image begins behind the code's first byte.
            extcodecopy(image, 0x00, 1, 0x40)
            found := mload(0x00)
            segments := mload(0x20)
            extcodecopy(image, add(words, 0x20), 0x41, mload(words))
        }
        unchecked {
            if (found != plan || segments != states - 1) revert KeyMismatch(key);
        }
        (parts.segments, parts.key, parts.words) = (segments, key, words);
    }

    /// They begin where a segment does, and end with an epoch of the plan.
    function mustBeSegments(uint256 firstStep, uint256 segments) private pure {
        uint256 steps = read(P_STEPS);
        if (
            firstStep > type(uint32).max || firstStep % steps != 0 || segments > type(uint16).max
                || (firstStep + segments * steps) * read(P_BATCH) > read(P_EPOCHS) << read(P_ROW_BITS)
        ) revert SegmentsInvalid();
    }

    /// Sizes follow from plan and key; numbers have one spelling.
    function mustHaveForm(Parts memory parts, bytes calldata points, bytes calldata proof) private pure {
        unchecked {
            (parts.data, parts.weights, parts.own) = (chunksOf(0) + chunksOf(1), chunksOf(2), read(P_POINTS));
            uint256 told = parts.data + (parts.segments + 1) * parts.weights;
            if (points.length != 64 * told) revert ZkTranscript.ProofLength(points.length, 64 * told);
            // Of all segments, the mask and S.
            uint256 own = parts.segments * parts.own + 2;
            // How often each counts; t, a, b, the digest.
            uint256 scalars = parts.segments * (read(P_TOLD) + parts.own) + 2 + 4;
            uint256 size = 64 * own + 32 * scalars + GROTH16 + OPENING;
            if (proof.length != size) revert ZkTranscript.ProofLength(proof.length, size);
            uint256 from;
            uint256 first;
            assembly ("memory-safe") {
                from := points.offset
                first := proof.offset
            }
            (parts.points, parts.proof) = (from, first);
            Bn254.mustBePoints(from, told);
            Bn254.mustBePoints(first, own);
            first += 64 * own;
            Bn254.mustBeScalars(first, scalars);
            parts.groth16 = first + 32 * scalars;
            Bn254.mustBePoints(parts.groth16 + GROTH16, 2);
        }
    }

    /// Of features, of labels, of weights before the first segment and after each.
    function pointHashes(Parts memory parts, bytes calldata points) private pure returns (bytes32[] memory hashes) {
        unchecked {
            uint256 from = 64 * chunksOf(0);
            uint256 size = 64 * parts.weights;
            hashes = new bytes32[](parts.segments + 3);
            hashes[0] = keccak256(points[:from]);
            hashes[1] = keccak256(points[from:64 * parts.data]);
            from = 64 * parts.data;
            for (uint256 i = 2; i < hashes.length; i++) {
                hashes[i] = keccak256(points[from:from + size]);
                from += size;
            }
        }
    }

    /// The first segment's statement, but for its states and commitments to weights.
    function packedStatement(RunStatement calldata statement, bytes32[] memory hashes) private view returns (bytes memory) {
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
            bytes32(0),
            bytes32(0),
            hashes[0],
            hashes[1],
            bytes32(0),
            bytes32(0)
        );
        return bytes.concat(head, rest);
    }

    /// Puts into memory, one behind the other, what x is drawn from: a name, the hashes of the statements,
    /// the proof up to Groth16's.
    function hashStatements(Parts memory parts, bytes memory packed, bytes32[] calldata states, bytes32[] memory hashes) private pure {
        assembly ("memory-safe") {
            let count := mload(parts)
            let free := mload(0x40)
            mstore(free, "assay/zk/wrap/2")
            let to := add(free, 0x0f)
            mstore(add(parts, 0xe0), to)
            // Behind the name of a statement: its first step, its states, its commitments to weights.
            let step := add(packed, 0xf4)
            let before := add(packed, 0x174)
            let weights := add(packed, 0x1f4)
            let size := mload(packed)
            packed := add(packed, 0x20)
            let state := states.offset
            // Behind those of the data.
            hashes := add(hashes, 0x60)
            for { let end := add(to, shl(5, count)) } lt(to, end) { to := add(to, 0x20) } {
                calldatacopy(before, state, 0x40)
                mcopy(weights, hashes, 0x40)
                hashes := add(hashes, 0x20)
                mstore(to, keccak256(packed, size))
                mstore(step, add(mload(step), mload(P_STEPS)))
                state := add(state, 0x20)
            }
            mstore(add(parts, 0x100), to)
            let proof := mload(add(parts, 0xa0))
            let length := sub(mload(add(parts, 0xc0)), proof)
            calldatacopy(to, proof, length)
            let end := add(to, length)
            mstore(0x40, and(add(end, 0x1f), not(0x1f)))
            mstore(add(parts, 0x140), sub(end, 0x20))
            // Behind the commitments of all segments, the mask and S.
            mstore(add(parts, 0x120), add(to, shl(6, add(mul(count, mload(add(parts, 0x60))), 2))))
            mstore(add(parts, 0x160), mod(keccak256(free, sub(end, free)), mload(FIELD)))
        }
    }

    /// The value of the list at x.
    function drawList(Parts memory parts, bytes32 seed, uint256 firstStep) private pure {
        unchecked {
            uint256 x = parts.x;
            // b, a, t, how often commitments count; S, the mask; then segments from the last one on.
            uint256 sum = RunList.words(0, parts.counts, parts.digest, x);
            uint256 end = parts.counts - 128;
            sum = RunList.halves(sum, end, parts.counts, x);
            uint256 powers = RunList.powers(x);
            uint256 epoch = type(uint256).max;
            for (uint256 i = parts.segments; i-- > 0;) {
                sum = RunList.halves(sum, end - 64 * parts.own, end, x);
                end -= 64 * parts.own;
                uint256 place = (firstStep + i * read(P_STEPS)) * read(P_BATCH);
                // An order is for all segments of an epoch.
                if (place >> read(P_ROW_BITS) != epoch) {
                    epoch = place >> read(P_ROW_BITS);
                    RowOrder.draw(seed, place);
                }
                sum = RunList.order(sum, place, powers);
                uint256 hash = parts.statements + 32 * i;
                sum = RunList.halves(sum, hash, hash + 32, x);
            }
            parts.seen = sum;
        }
    }

    /// z, which is drawn when W is there; and how often the opening counts beside Groth16's equation: drawn
    /// when both are fixed.
    function drawFactor(Parts memory parts) private pure returns (uint256 z, uint256 factor) {
        ZkTranscript.begin(keccak256(abi.encodePacked("assay/zk/run/2", read(parts.digest))));
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let groth16 := mload(add(parts, 0xc0))
            let free := mload(0x40)
            mstore(free, mload(STATE))
            // η, t, a, b, W: 192 bytes.
            mstore(add(free, 0x20), or(shl(248, LINE), shl(216, 0xc0)))
            calldatacopy(add(free, 0x25), sub(groth16, 0xa0), 0x80)
            calldatacopy(add(free, 0xa5), add(groth16, GROTH16), 0x40)
            let state := keccak256(free, 0xe5)
            z := mod(state, r)
            mstore(free, state)
            mstore(add(free, 0x20), mload(add(parts, 0x1a0)))
            mstore(add(free, 0x40), mload(add(parts, 0x160)))
            mstore(add(free, 0x60), mload(add(parts, 0x180)))
            // A, B, C, W, W′.
            calldatacopy(add(free, 0x80), groth16, add(GROTH16, OPENING))
            factor := mod(keccak256(free, add(0x80, add(GROTH16, OPENING))), r)
        }
    }

    /// The key's point for 1, and each input's as often as it says. Of gamma, which is 1, and so with the
    /// left side of the opening.
    function gatherInputs(Parts memory parts) private view {
        bytes memory words = parts.words;
        bool isDone = true;
        assembly ("memory-safe") {
            mcopy(POINT, add(words, 0x1e0), 0x40)
            isDone := addInput(add(words, 0x220), mload(mload(add(parts, 0x140))))
            isDone := and(isDone, addInput(add(words, 0x260), mload(add(parts, 0x160))))
            isDone := and(isDone, addInput(add(words, 0x2a0), mload(add(parts, 0x180))))

            function addInput(point, input) -> isAdded {
                mcopy(TERM, point, 0x40)
                mstore(TERM_TIMES, input)
                isAdded := staticcall(gas(), MUL, TERM, 0x60, TERM, 0x40)
                isAdded := and(isAdded, eq(returndatasize(), 0x40))
                // The term stands right behind the sum.
                isAdded := and(isAdded, staticcall(gas(), ADD, POINT, 0x80, POINT, 0x40))
                isAdded := and(isAdded, eq(returndatasize(), 0x40))
            }
        }
        if (!isDone) revert Bn254.PrecompileFailed();
    }

    /// Each commitment as often as it counts, times the factor. Those to data are the same in all segments,
    /// and those to weights with which one ends are those with which the next begins: their numbers are added
    /// up first.
    function gatherPoints(Parts memory parts, uint256 factor) private view {
        unchecked {
            uint256 told = read(P_TOLD);
            uint256 step = 32 * (told + parts.own);
            uint256 counts = addedCounts(parts, step);
            Bn254.gatherTimes(parts.points, counts, parts.data + (parts.segments + 1) * parts.weights, factor);
            uint256 from = parts.proof;
            counts = parts.counts;
            for (uint256 i = 0; i < parts.segments; i++) {
                Bn254.gatherTimes(from, counts + 32 * told, parts.own, factor);
                (from, counts) = (from + 64 * parts.own, counts + step);
            }
            // The mask, and S.
            Bn254.gatherTimes(from, counts, 2, factor);
        }
    }

    /// Of the commitments of all statements, in the order of the calldata. `step`: bytes of a segment's
    /// counts.
    function addedCounts(Parts memory parts, uint256 step) private pure returns (uint256 list) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let segments := mload(parts)
            let data := shl(5, mload(add(parts, 0x20)))
            let weights := shl(5, mload(add(parts, 0x40)))
            let counts := mload(add(parts, 0x120))
            list := mload(0x40)
            let size := add(data, mul(add(segments, 1), weights))
            mstore(0x40, add(list, size))
            // Memory may have been used before.
            calldatacopy(list, calldatasize(), size)
            let to := add(list, data)
            for {} segments { segments := sub(segments, 1) } {
                addAll(list, counts, data, r)
                // Before and after.
                addAll(to, add(counts, data), shl(1, weights), r)
                to := add(to, weights)
                counts := add(counts, step)
            }

            function addAll(sums, from, length, order) {
                for { let end := add(sums, length) } lt(sums, end) { sums := add(sums, 0x20) } {
                    mstore(sums, addmod(mload(sums), mload(from), order))
                    from := add(from, 0x20)
                }
            }
        }
    }

    /// The sum is a + b·z, and (z² - t·z + 1) times W, and (τ - z) times W′: of the last z times W′ stands on
    /// this side.
    function gatherOpening(Parts memory parts, uint256 z, uint256 factor) private view {
        uint256[2] memory scalars;
        uint256 line;
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let digest := mload(add(parts, 0x140))
            let b := mload(sub(digest, 0x20))
            let a := mload(sub(digest, 0x40))
            let t := mload(sub(digest, 0x60))
            line := mulmod(sub(r, addmod(a, mulmod(b, z, r), r)), factor, r)
            // z·(t - z) - 1
            mstore(scalars, addmod(mulmod(z, add(t, sub(r, z)), r), sub(r, 1), r))
            mstore(add(scalars, 0x20), z)
        }
        uint256 list;
        assembly ("memory-safe") {
            list := scalars
        }
        Bn254.gatherOne(line);
        Bn254.gatherTimes(parts.groth16 + GROTH16, list, 2, factor);
    }

    /// Minus A with B, alpha with beta, the sum with 1, C with delta, minus W′ times the factor with tau: the
    /// opening and Groth16's equation at once.
    function pairsOf(Parts memory parts, uint256 factor) private view returns (uint256[30] memory pairs) {
        uint256[8] memory proof;
        uint256 from = parts.groth16;
        bytes memory words = parts.words;
        assembly ("memory-safe") {
            calldatacopy(proof, from, GROTH16)
        }
        Groth16.mustHaveForm(proof);
        Bn254.G2 memory second = tau();
        uint256 p = Bn254.P;
        bool isDone;
        assembly ("memory-safe") {
            mcopy(pairs, proof, 0xc0)
            // Not zero: no point of the curve has it.
            mstore(add(pairs, 0x20), sub(p, mload(add(proof, 0x20))))
            mcopy(add(pairs, 0xc0), add(words, 0x20), 0xc0)
            mcopy(add(pairs, 0x180), POINT, 0x40)
            mcopy(add(pairs, 0x1c0), add(words, 0xe0), 0x80)
            mcopy(add(pairs, 0x240), add(proof, 0xc0), 0x40)
            mcopy(add(pairs, 0x280), add(words, 0x160), 0x80)
            let other := add(pairs, 0x300)
            calldatacopy(other, add(from, add(GROTH16, 0x40)), 0x40)
            mstore(add(other, 0x40), factor)
            isDone := staticcall(gas(), MUL, other, 0x60, other, 0x40)
            isDone := and(isDone, eq(returndatasize(), 0x40))
            let y := mload(add(other, 0x20))
            mstore(add(other, 0x20), mul(sub(p, y), gt(y, 0)))
            mcopy(add(pairs, 0x340), second, 0x80)
        }
        if (!isDone) revert Bn254.PrecompileFailed();
    }

    function isOne(uint256[30] memory pairs) private view returns (bool isEqual) {
        if (gasleft() < PAIRING_GAS) revert Bn254.PrecompileFailed();
        bool isDone;
        uint256 size;
        assembly ("memory-safe") {
            isDone := staticcall(gas(), PAIRING, pairs, 0x3c0, 0x00, 0x20)
            size := returndatasize()
            isEqual := eq(mload(0x00), 1)
        }
        // All else was checked, here or with the key, so B is on no curve or in another subgroup.
        if (!isDone) revert Bn254.PointNowhere();
        if (size != 0x20) revert Bn254.PrecompileFailed();
    }
}
