// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {
    LAYER_RECORD,
    PAIR_RECORD,
    PLAN,
    P_BITS,
    P_BYTE_BITS,
    P_COUNT,
    P_D_TAG,
    P_FEATURES,
    P_FREE,
    P_GROUPS,
    P_HIGH_TAG,
    P_INPUTS,
    P_LABELS,
    P_LAYER_LIST,
    P_LAYER_RECORDS,
    P_LIMB_SHIFT,
    P_LIMB_TAG0,
    P_LIMB_TAG1,
    P_LIMB_TAG2,
    P_LINK_LIST,
    P_LISTS,
    P_LIST_BITS,
    P_LOSS_SHIFT,
    P_LOW_SHIFT,
    P_LOW_TAG,
    P_PAIR_LIST,
    P_PAIR_RECORDS,
    P_PLACE_SIZE,
    P_POINTS,
    P_PRODUCT_BITS,
    P_R_BITS,
    P_SCALARS,
    P_STEP_SIZE,
    P_S_BITS,
    P_TABLES,
    P_TABLE_BITS,
    P_TABLE_LIST,
    P_TOLD,
    P_USE_BITS
} from "./Layout.sol";
import {Words} from "./Words.sol";

/// What a proof of one segment is about, docs/zk.md §4, from the numbers that its hash is of: tables, and
/// where each block of values stands among the commitments. Nothing but these numbers is believed.
/// src/work/plan/compile-plan.ts is its twin. Its image is what a verifier has in its memory (Layout.sol).
library ZkPlan {
    using Words for uint256;

    // Columns, in the order in which blocks of one size stand.
    uint256 private constant FEATURES = 0;
    uint256 private constant LABELS = 1;
    uint256 private constant BEFORE = 2;
    uint256 private constant AFTER = 3;
    uint256 private constant H = 4;
    uint256 private constant A = 5;
    uint256 private constant M = 6;
    uint256 private constant D = 7;
    uint256 private constant LOW = 8;
    uint256 private constant LOW_BACK = 9;
    uint256 private constant LIMB0 = 10;
    uint256 private constant LIMB1 = 11;
    uint256 private constant MULTIPLICITY = 12;
    uint256 private constant HELPER = 13;
    uint256 private constant HELPER_BACK = 14;
    uint256 private constant BIAS_HELPER = 15;
    uint256 private constant WEIGHT_HELPER = 16;
    uint256 private constant TABLE_HELPER = 17;
    uint256 private constant COLUMNS = 18;

    uint256 private constant GROUPS = 6;
    /// Words of a group in `groups`.
    uint256 private constant GROUP = 6;
    /// Numbers before the layers' sizes: program root, then those of docs/zk.md §4.
    uint256 private constant HEAD = 15;
    uint256 private constant MOST_LINKS = 63;
    /// Of a layer, and of a table.
    uint256 private constant MOST_BITS = 20;
    uint256 private constant MOST_ROW_BITS = 26;
    /// The statement has the commitments of the first four groups.
    uint256 private constant TOLD = 4;
    /// Columns of links, in the order in which a link's word of the image has their places, 16 bits each.
    uint256 private constant LINK_COLUMNS = 14;
    /// All blocks have fewer bits, and no group has more.
    uint256 private constant SIZES = 56;

    struct Plan {
        bytes32 hash;
        bytes32 program;
        uint256 steps;
        uint256 batch;
        uint256 rowBits;
        uint256 epochs;
        /// Products lose so many bits.
        uint256 scale;
        uint256 h;
        uint256 d;
        uint256 activation;
        uint256 gradient;
        uint256 limb0;
        uint256 limb1;
        uint256 limb2;
        /// 2^chunkBits values have one commitment.
        uint256 chunkBits;
        uint256 links;
        // What follows from these.
        uint256 stepBits;
        uint256 batchBits;
        /// Both together.
        uint256 places;
        uint256 lowBits;
        uint256 tables;
        /// Of the lists of links and tables, whichever is longer.
        uint256 stride;
        /// How many blocks there are; all groups together have 2^bits values.
        uint256 count;
        uint256 bits;
        /// Variables of the first sum, of its list, of the second.
        uint256 rBits;
        uint256 listBits;
        uint256 sBits;
        /// Commitments and scalars of a proof, and commitments of a statement.
        uint256 points;
        uint256 scalars;
        uint256 toldPoints;
        /// Numbers of tables from 1 on: of what rounding leaves, below and above, of limbs, of d.
        uint256 lowTag;
        uint256 highTag;
        uint256 limbTag0;
        uint256 limbTag1;
        uint256 limbTag2;
        uint256 dTag;
        /// 1/2^n for the bits below, of two limbs, between activations and gradients.
        uint256 lowShift;
        uint256 limbShift;
        uint256 lossShift;
        // Lists in memory. Of the layers, inputs first: their sizes, and the bits of these.
        uint256 layers;
        uint256 layerBits;
        /// By link: bits of a column of units and of one of weights. By table: its bits.
        uint256 unitBits;
        uint256 weightBits;
        uint256 tableBits;
        /// 32 times the number of each block, from 1 on, in the order of their places: column · stride + link
        /// or table, two bytes each. 0: there is none.
        uint256 blocks;
        /// Of each group: first chunk, chunks, bits, where its sizes of blocks are listed, how many, and how
        /// many values it has. A size is bits · 2^16 and how many blocks have so many, largest first.
        uint256 groups;
    }

    /// What only the compiler needs. Its lists lie before the plan's.
    struct Draft {
        bytes32 hash;
        /// By size: how many blocks, then the number of the next.
        uint256 counts;
        /// Bits of the blocks of features and labels, and of what helps biases.
        uint256 rows;
        uint256 biases;
    }

    /// @notice Thrown when no program has such a plan.
    error PlanInvalid();
    /// @notice Thrown when nobody has registered the plan.
    error PlanUnknown();

    function hashOf(bytes calldata words) internal pure returns (bytes32) {
        return keccak256(bytes.concat("assay/zk/plan/1", words));
    }

    /// The plan of these words, with all its lists behind it in memory and nothing else.
    function compiled(bytes calldata words) internal pure returns (Plan memory) {
        Draft memory draft;
        draft.hash = hashOf(words);
        (draft.counts, draft.rows, draft.biases) = (Words.room(SIZES), Words.room(2), Words.room(MOST_LINKS));
        return compiledFrom(words, draft);
    }

    function compiledFrom(bytes calldata words, Draft memory draft) private pure returns (Plan memory plan) {
        if (words.length < 32 * HEAD || words.length > 32 * (HEAD + MOST_LINKS + 1)) revert PlanInvalid();
        plan.hash = draft.hash;
        assembly ("memory-safe") {
            // From `program` to `links`.
            calldatacopy(add(plan, 0x20), words.offset, shl(5, HEAD))
        }
        uint256 links = plan.links;
        if (links == 0 || links > MOST_LINKS || words.length != 32 * (HEAD + links + 1)) revert PlanInvalid();
        plan.layers = Words.room(links + 1);
        uint256 layers = plan.layers;
        assembly ("memory-safe") {
            calldatacopy(layers, add(words.offset, shl(5, HEAD)), shl(5, add(links, 1)))
        }
        mustBePossible(plan);
        plan.stepBits = bitsFor(plan.steps);
        plan.batchBits = bitsFor(plan.batch);
        plan.places = plan.stepBits + plan.batchBits;
        plan.lowBits = (plan.scale + 1) / 2;
        addSizes(plan);
        addTables(plan);
        addBlocks(plan, draft);
        addCounts(plan);
    }

    /// Whatever passes has places that fit their numbers. Whether it is a program's plan shows only who
    /// compiles that.
    function mustBePossible(Plan memory plan) private pure {
        if (
            !isPower(plan.steps) || plan.steps > 65_536 || !isPower(plan.batch) || plan.batch > 65_536
                || plan.rowBits > MOST_ROW_BITS || plan.epochs > 4096 || plan.scale < 2 || plan.scale > 2 * MOST_BITS
                || plan.h < 2 || plan.h > MOST_BITS || plan.d < 2 || plan.d > MOST_BITS || plan.activation > MOST_BITS
                || plan.gradient > MOST_BITS || plan.gradient < plan.activation
        ) revert PlanInvalid();
        if (
            plan.limb0 == 0 || plan.limb0 > MOST_BITS || plan.limb1 == 0 || plan.limb1 > MOST_BITS || plan.limb2 == 0
                || plan.limb2 > MOST_BITS || plan.chunkBits < 2 || plan.chunkBits > 24 || plan.chunkBits & 1 == 1
                || plan.steps * plan.batch > 1 << plan.rowBits
        ) revert PlanInvalid();
    }

    function isPower(uint256 n) private pure returns (bool) {
        return n != 0 && n & (n - 1) == 0;
    }

    /// The least b with n ≤ 2^b.
    function bitsFor(uint256 n) internal pure returns (uint256 bits) {
        assembly ("memory-safe") {
            for { let left := sub(n, 1) } left { left := shr(1, left) } { bits := add(bits, 1) }
        }
    }

    function addSizes(Plan memory plan) private pure {
        uint256 links = plan.links;
        (plan.layerBits, plan.unitBits, plan.weightBits) = (Words.room(links + 1), Words.room(links), Words.room(links));
        for (uint256 i = 0; i <= links; i++) {
            uint256 size = plan.layers.get(i);
            if (size == 0 || size > 1 << MOST_BITS) revert PlanInvalid();
            uint256 bits = i > 0 && size == plan.layers.get(i - 1) ? plan.layerBits.get(i - 1) : bitsFor(size);
            plan.layerBits.set(i, bits);
            if (i == 0) continue;
            plan.unitBits.set(i - 1, plan.places + bits);
            plan.weightBits.set(i - 1, plan.layerBits.get(i - 1) + bits);
        }
    }

    /// A range for each width, narrowest first and each once; relu, and what h and d may be.
    function addTables(Plan memory plan) private pure {
        uint256 list = Words.room(8);
        uint256 count = 0;
        uint256[5] memory widths = [plan.lowBits, plan.scale - plan.lowBits, plan.limb0, plan.limb1, plan.limb2];
        for (uint256 bits = 1; bits <= MOST_BITS; bits++) {
            for (uint256 i = 0; i < 5; i++) {
                if (widths[i] != bits) continue;
                list.set(count++, bits);
                break;
            }
        }
        list.set(count++, plan.h);
        list.set(count++, plan.h);
        list.set(count++, plan.d);
        (plan.tables, plan.tableBits) = (count, list);
        (plan.lowTag, plan.highTag) = (rangeTag(plan, widths[0]), rangeTag(plan, widths[1]));
        (plan.limbTag0, plan.limbTag1) = (rangeTag(plan, widths[2]), rangeTag(plan, widths[3]));
        plan.limbTag2 = rangeTag(plan, widths[4]);
        // The first table that fits.
        plan.dTag = plan.h == plan.d ? count - 1 : count;
        plan.lowShift = Words.unshift(plan.lowBits);
        plan.limbShift = Words.unshift(plan.limb0 + plan.limb1);
        plan.lossShift = Words.unshift(plan.gradient - plan.activation);
    }

    /// Number of the range of such a width, from 1 on.
    function rangeTag(Plan memory plan, uint256 bits) private pure returns (uint256 tag) {
        while (plan.tableBits.get(tag++) != bits) {}
    }

    /// Largest blocks first, so that each stands at a multiple of its size; so do groups.
    function addBlocks(Plan memory plan, Draft memory draft) private pure {
        plan.stride = plan.links > plan.tables ? plan.links : plan.tables;
        plan.blocks = Words.room((COLUMNS * plan.stride + 15) / 16 + 1);
        plan.groups = Words.room(GROUP * GROUPS);
        for (uint256 i = 0; i < 2; i++) draft.rows.set(i, plan.rowBits + plan.layerBits.get(i * plan.links));
        for (uint256 i = 0; i < plan.links; i++) draft.biases.set(i, plan.places);
        addGroup(plan, draft, 0, FEATURES, LABELS);
        addGroup(plan, draft, 1, LABELS, BEFORE);
        addGroup(plan, draft, 2, BEFORE, AFTER);
        addGroup(plan, draft, 3, AFTER, H);
        addGroup(plan, draft, 4, H, HELPER);
        addGroup(plan, draft, 5, HELPER, COLUMNS);
        uint256 end = 0;
        for (uint256 bits = SIZES; bits > 0; bits--) {
            for (uint256 i = 0; i < GROUPS; i++) {
                if (plan.groups.get(GROUP * i + 2) != bits) continue;
                plan.groups.set(GROUP * i, end >> plan.chunkBits);
                end += 1 << bits;
            }
        }
        plan.bits = bitsFor(end);
    }

    /// Columns `from` … `to` - 1.
    function addGroup(Plan memory plan, Draft memory draft, uint256 group, uint256 from, uint256 to) private pure {
        for (uint256 column = from; column < to; column++) countSizes(plan, draft, column);
        uint256 total = listSizes(plan, draft.counts, group);
        uint256 chunks = (total + (1 << plan.chunkBits) - 1) >> plan.chunkBits;
        plan.groups.set(GROUP * group + 1, chunks);
        plan.groups.set(GROUP * group + 2, plan.chunkBits + bitsFor(chunks));
        for (uint256 column = from; column < to; column++) numberBlocks(plan, draft, column);
        // Empty again for the next group.
        uint256 counts = draft.counts;
        assembly ("memory-safe") {
            calldatacopy(counts, calldatasize(), shl(5, SIZES))
        }
    }

    function countSizes(Plan memory plan, Draft memory draft, uint256 column) private pure {
        (uint256 list, uint256 count) = sizesOf(plan, draft, column);
        uint256 counts = draft.counts;
        assembly ("memory-safe") {
            for { let last := add(list, shl(5, count)) } lt(list, last) { list := add(list, 0x20) } {
                let place := add(counts, shl(5, mload(list)))
                mstore(place, add(mload(place), 1))
            }
        }
    }

    /// From the largest size down. Counts become 32 times the number of the first block of each size. Returns
    /// how many values there are.
    function listSizes(Plan memory plan, uint256 counts, uint256 group) private pure returns (uint256 total) {
        uint256 first = plan.count + 1;
        uint256 list;
        uint256 sizes;
        assembly ("memory-safe") {
            list := mload(0x40)
            let to := list
            for { let place := add(counts, shl(5, SIZES)) } gt(place, counts) {} {
                place := sub(place, 0x20)
                let count := mload(place)
                if count {
                    let bits := shr(5, sub(place, counts))
                    mstore(to, add(shl(16, bits), count))
                    mstore(place, shl(5, first))
                    first := add(first, count)
                    total := add(total, shl(bits, count))
                    to := add(to, 0x20)
                }
            }
            mstore(0x40, to)
            sizes := shr(5, sub(to, list))
        }
        plan.count = first - 1;
        plan.groups.set(GROUP * group + 3, list);
        plan.groups.set(GROUP * group + 4, sizes);
        plan.groups.set(GROUP * group + 5, total);
    }

    function numberBlocks(Plan memory plan, Draft memory draft, uint256 column) private pure {
        (uint256 list, uint256 count) = sizesOf(plan, draft, column);
        uint256 to = plan.blocks + 2 * column * plan.stride;
        uint256 counts = draft.counts;
        assembly ("memory-safe") {
            for { let last := add(list, shl(5, count)) } lt(list, last) { list := add(list, 0x20) } {
                let place := add(counts, shl(5, mload(list)))
                let next := mload(place)
                mstore8(to, shr(8, next))
                mstore8(add(to, 1), next)
                mstore(place, add(next, 0x20))
                to := add(to, 2)
            }
        }
    }

    /// Bits of a column's blocks, and how many it has.
    function sizesOf(Plan memory plan, Draft memory draft, uint256 column) private pure returns (uint256 list, uint256 count) {
        uint256 links = plan.links;
        if (column < BEFORE) return (draft.rows + 32 * column, 1);
        if (column == MULTIPLICITY || column == TABLE_HELPER) return (plan.tableBits, plan.tables);
        if (column <= AFTER || column == LIMB0 || column == LIMB1 || column == WEIGHT_HELPER) return (plan.weightBits, links);
        if (column == BIAS_HELPER) return (draft.biases, links - 1);
        bool isInner = column == A || column == M || column == LOW_BACK;
        return (plan.unitBits, isInner ? links - 1 : links);
    }

    /// Variables of the sums, and the size of a proof.
    function addCounts(Plan memory plan) private pure {
        uint256 links = plan.links;
        uint256 most = 0;
        for (uint256 i = 0; i < links; i++) most = larger(most, larger(plan.unitBits.get(i), plan.weightBits.get(i)));
        for (uint256 i = 0; i < plan.tables; i++) most = larger(most, plan.tableBits.get(i));
        (plan.rBits, plan.listBits) = (most, bitsFor(plan.stride));
        most = 0;
        for (uint256 i = 0; i <= links; i++) {
            // What enters a link, or comes back to the one before: a single link's outputs are neither.
            if (i < links || i > 1) most = larger(most, plan.layerBits.get(i));
        }
        plan.sBits = plan.stepBits + most;
        uint256 lists = bitsFor(2 * links - 1) + bitsFor(3 * links - 1);
        // Rounds of degree 5 and 6, of degree 3, of degree 2; values.
        plan.scalars = 5 * plan.rBits + 6 * plan.listBits + 3 * (plan.sBits + plan.places + lists) + 2 * plan.bits
            + (links == 1 ? 22 : 30);
        for (uint256 i = 0; i < GROUPS; i++) {
            uint256 count = plan.groups.get(GROUP * i + 1);
            if (i < TOLD) plan.toldPoints += count;
            else plan.points += count;
        }
    }

    function larger(uint256 a, uint256 b) private pure returns (uint256) {
        return a > b ? a : b;
    }

    /// What a verifier copies to PLAN. Lists follow each other; what they are of is in Layout.sol.
    function packed(Plan memory plan) internal pure returns (bytes memory image) {
        // A group has no more sizes than there are, and two words more; a link adds no more than a layer and
        // a pair, and its own two words.
        image = new bytes(P_LISTS - PLAN + 32 * (plan.tables + GROUPS * (SIZES + 2) + 4 * plan.links + 1));
        uint256 base;
        assembly ("memory-safe") {
            base := add(image, 0x20)
            // The plan's hash, and what it is of.
            mcopy(base, plan, 0x200)
        }
        // What is at an address of the verifier is so far from here.
        unchecked {
            base -= PLAN;
        }
        packNumbers(plan, base);
        uint256 end = packSizes(plan, base, packTables(plan, base, P_LISTS));
        end = packLinks(plan, base, end);
        assembly ("memory-safe") {
            mstore(image, sub(end, PLAN))
        }
    }

    function packNumbers(Plan memory plan, uint256 base) private pure {
        base.put(P_STEP_SIZE, 32 * plan.stepBits);
        base.put(P_PLACE_SIZE, 32 * plan.places);
        base.put(P_TABLES, plan.tables);
        base.put(P_BITS, plan.bits);
        base.put(P_R_BITS, plan.rBits);
        base.put(P_LIST_BITS, plan.listBits);
        base.put(P_S_BITS, plan.sBits);
        base.put(P_PRODUCT_BITS, bitsFor(2 * plan.links - 1));
        base.put(P_USE_BITS, bitsFor(3 * plan.links - 1));
        base.put(P_POINTS, plan.points);
        base.put(P_SCALARS, plan.scalars);
        base.put(P_TOLD, plan.toldPoints);
        base.put(P_LOW_TAG, plan.lowTag);
        base.put(P_HIGH_TAG, plan.highTag);
        base.put(P_LIMB_TAG0, plan.limbTag0);
        base.put(P_LIMB_TAG1, plan.limbTag1);
        base.put(P_LIMB_TAG2, plan.limbTag2);
        base.put(P_D_TAG, plan.dTag);
        base.put(P_LOW_SHIFT, plan.lowShift);
        base.put(P_LIMB_SHIFT, plan.limbShift);
        base.put(P_LOSS_SHIFT, plan.lossShift);
        base.put(P_FEATURES, placeOf(plan, FEATURES, 0));
        base.put(P_LABELS, placeOf(plan, LABELS, 0));
        base.put(P_COUNT, plan.count);
        base.put(P_INPUTS, plan.layers.get(0));
    }

    /// 32 times the number of a block; 0 where there is none.
    function placeOf(Plan memory plan, uint256 column, uint256 index) private pure returns (uint256 place) {
        uint256 from = plan.blocks + 2 * (column * plan.stride + index);
        assembly ("memory-safe") {
            place := shr(240, mload(from))
        }
    }

    /// A word for each table: its bits, places of multiplicities and of the helper.
    function packTables(Plan memory plan, uint256 base, uint256 to) private pure returns (uint256) {
        base.put(P_TABLE_LIST, to);
        uint256 most = 0;
        for (uint256 i = 0; i < plan.tables; i++) {
            uint256 places = placeOf(plan, MULTIPLICITY, i) << 8 | placeOf(plan, TABLE_HELPER, i) << 24;
            base.put(to, plan.tableBits.get(i) | places);
            most = larger(most, plan.tableBits.get(i));
            to += 32;
        }
        base.put(P_TABLE_BITS, most);
        return to;
    }

    /// Groups, and of each how many values it has and its sizes of blocks, then 0.
    function packSizes(Plan memory plan, uint256 base, uint256 to) private pure returns (uint256) {
        uint256 most = 0;
        for (uint256 i = 0; i < GROUPS; i++) {
            (uint256 group, uint256 from) = (P_GROUPS + 128 * i, GROUP * i);
            for (uint256 k = 0; k < 3; k++) base.put(group + 32 * k, plan.groups.get(from + k));
            base.put(group + 96, to);
            base.put(to, plan.groups.get(from + 5));
            to += 32;
            for (uint256 k = 0; k < plan.groups.get(from + 4); k++) {
                base.put(to, plan.groups.get(from + 3).get(k));
                to += 32;
            }
            to += 32;
            if (i < TOLD) most = larger(most, plan.groups.get(from + 2));
        }
        base.put(P_BYTE_BITS, most);
        return to;
    }

    /// Layers that differ. Returns which of them each layer is, how many there are, and where they end.
    function packLayers(Plan memory plan, uint256 base, uint256 to)
        private
        pure
        returns (uint256 own, uint256 count, uint256 end)
    {
        uint256 links = plan.links;
        own = Words.room(links + 1);
        base.put(P_LAYER_LIST, to);
        // Nobody asks for the last unit of inputs and outputs: they may go with any layer of so many bits.
        for (uint256 i = 1; i <= links + 1; i++) {
            uint256 layer = i <= links ? i : 0;
            uint256 word = (plan.layers.get(layer) - 1) << 16 | 32 * plan.layerBits.get(layer);
            uint256 place = base.find(to, count, word, i < links ? type(uint256).max : 0xffff);
            own.set(layer, place);
            if (place == count) base.put(to + 32 * count++, word);
        }
        end = to + 32 * count;
    }

    /// Pairs of layers that differ, as two numbers of layers. Returns which of them each link has, and where
    /// they end.
    function packPairs(uint256 links, uint256 base, uint256 to, uint256 layers) private pure returns (uint256 own, uint256 end) {
        uint256 count = 0;
        own = Words.room(links);
        base.put(P_PAIR_LIST, to);
        for (uint256 i = 0; i < links; i++) {
            uint256 word = layers.get(i) << 16 | layers.get(i + 1);
            uint256 place = base.find(to, count, word, type(uint256).max);
            own.set(i, place);
            if (place == count) base.put(to + 32 * count++, word);
        }
        end = to + 32 * count;
    }

    /// Layers, pairs, links. Returns where the image ends; behind it the verifier has records.
    function packLinks(Plan memory plan, uint256 base, uint256 to) private pure returns (uint256 end) {
        (uint256 layers, uint256 count, uint256 pairs) = packLayers(plan, base, to);
        uint256 links = plan.links;
        (layers, to) = packPairs(links, base, pairs, layers);
        end = to + 64 * links;
        base.put(P_LINK_LIST, to);
        base.put(P_LAYER_RECORDS, end);
        uint256 records = end + LAYER_RECORD * count;
        base.put(P_PAIR_RECORDS, records);
        base.put(P_FREE, records + PAIR_RECORD * ((to - pairs) / 32));
        // Numbers of layers become the places of their records.
        for (; pairs < to; pairs += 32) {
            uint256 both = base.wordAt(pairs);
            base.put(pairs, (end + LAYER_RECORD * (both >> 16)) << 16 | (end + LAYER_RECORD * (both & 0xffff)));
        }
        for (uint256 i = 0; i < links; i++) {
            base.put(to + 64 * i, linkWord(plan, i));
            base.put(to + 64 * i + 32, records + PAIR_RECORD * layers.get(i));
        }
    }

    /// Places of a link's blocks, and the size of its outputs less 1.
    function linkWord(Plan memory plan, uint256 link) private pure returns (uint256 word) {
        uint256[14] memory columns = [
            H, A, M, LOW, HELPER, D, LOW_BACK, HELPER_BACK, BIAS_HELPER, AFTER, LIMB0, LIMB1, WEIGHT_HELPER, BEFORE
        ];
        word = (plan.layers.get(link + 1) - 1) << 16 * LINK_COLUMNS;
        for (uint256 i = 0; i < LINK_COLUMNS; i++) word |= placeOf(plan, columns[i], link) << (16 * i);
    }

    /// From the code of an account that has a plan's image behind its first byte, to where Layout.sol has it.
    function load(address account) internal view {
        uint256 size = account.code.length;
        if (size == 0) revert PlanUnknown();
        assembly ("memory-safe") {
            extcodecopy(account, PLAN, 1, sub(size, 1))
            mstore(0x40, mload(P_FREE))
        }
    }
}
