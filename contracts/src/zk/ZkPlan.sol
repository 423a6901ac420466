// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Cube} from "./Cube.sol";

/// What a proof of one segment is about, docs/zk.md §4, from the numbers that its hash is of: tables, and where each block of values stands among the
/// commitments. Nothing but these numbers is believed. src/work/plan/compile-plan.ts is its twin.
library ZkPlan {
    using Cube for uint256;

    // Columns, in the order in which blocks of one size stand.
    uint256 internal constant FEATURES = 0;
    uint256 internal constant LABELS = 1;
    uint256 internal constant BEFORE = 2;
    uint256 internal constant AFTER = 3;
    uint256 internal constant H = 4;
    uint256 internal constant A = 5;
    uint256 internal constant M = 6;
    uint256 internal constant D = 7;
    uint256 internal constant LOW = 8;
    uint256 internal constant LOW_BACK = 9;
    uint256 internal constant LIMB0 = 10;
    uint256 internal constant LIMB1 = 11;
    uint256 internal constant MULTIPLICITY = 12;
    uint256 internal constant HELPER = 13;
    uint256 internal constant HELPER_BACK = 14;
    uint256 internal constant BIAS_HELPER = 15;
    uint256 internal constant WEIGHT_HELPER = 16;
    uint256 internal constant TABLE_HELPER = 17;
    uint256 internal constant COLUMNS = 18;

    uint256 internal constant GROUPS = 6;
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
    // Where a plan has the addresses of its lists.
    uint256 private constant LISTS = 0x4e0;
    uint256 private constant LISTS_END = 0x5c0;
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
        /// 32 times the number of each block in the order of their places: column · stride + link or table, two bytes each.
        uint256 blocks;
        /// Of each group: first chunk, chunks, bits, where its sizes of blocks are listed, how many, and the number of the next group's first block. A size is
        /// bits and how many blocks have so many, largest first.
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
        (draft.counts, draft.rows, draft.biases) = (Cube.room(SIZES), Cube.room(2), Cube.room(MOST_LINKS));
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
        plan.layers = Cube.room(links + 1);
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

    /// Whatever passes has places that fit their numbers. Whether it is a program's plan shows only who compiles that.
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
        (plan.layerBits, plan.unitBits, plan.weightBits) = (Cube.room(links + 1), Cube.room(links), Cube.room(links));
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
        uint256 list = Cube.room(8);
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
        plan.lowShift = Cube.unshift(plan.lowBits);
        plan.limbShift = Cube.unshift(plan.limb0 + plan.limb1);
        plan.lossShift = Cube.unshift(plan.gradient - plan.activation);
    }

    /// Number of the range of such a width, from 1 on.
    function rangeTag(Plan memory plan, uint256 bits) private pure returns (uint256 tag) {
        while (plan.tableBits.get(tag++) != bits) {}
    }

    function chunksOf(Plan memory plan, uint256 group) internal pure returns (uint256 first, uint256 count) {
        return (plan.groups.get(GROUP * group), plan.groups.get(GROUP * group + 1));
    }

    /// Where a group begins, and how many bits it has.
    function groupAt(Plan memory plan, uint256 group) internal pure returns (uint256 first, uint256 bits) {
        return (plan.groups.get(GROUP * group) << plan.chunkBits, plan.groups.get(GROUP * group + 2));
    }

    /// Where the sizes of a group's blocks are listed, how many there are, and the number of the block after its last. Of a plan that was loaded.
    function sizesIn(Plan memory plan, uint256 group) internal pure returns (uint256 list, uint256 count, uint256 end) {
        uint256 from = plan.groups + 32 * (GROUP * group + 3);
        assembly ("memory-safe") {
            list := add(plan, mload(from))
            count := mload(add(from, 0x20))
            end := mload(add(from, 0x40))
        }
    }

    /// Largest blocks first, so that each stands at a multiple of its size; so do groups.
    function addBlocks(Plan memory plan, Draft memory draft) private pure {
        plan.stride = plan.links > plan.tables ? plan.links : plan.tables;
        plan.blocks = Cube.room((COLUMNS * plan.stride + 15) / 16 + 1);
        plan.groups = Cube.room(GROUP * GROUPS);
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

    /// From the largest size down. Counts become 32 times the number of the first block of each size. Returns how many values there are.
    function listSizes(Plan memory plan, uint256 counts, uint256 group) private pure returns (uint256 total) {
        uint256 first = plan.count;
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
                    mstore(to, bits)
                    mstore(add(to, 0x20), count)
                    mstore(place, shl(5, first))
                    first := add(first, count)
                    total := add(total, shl(bits, count))
                    to := add(to, 0x40)
                }
            }
            mstore(0x40, to)
            sizes := shr(6, sub(to, list))
        }
        plan.count = first;
        plan.groups.set(GROUP * group + 3, list);
        plan.groups.set(GROUP * group + 4, sizes);
        plan.groups.set(GROUP * group + 5, first);
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
            (, uint256 count) = chunksOf(plan, i);
            if (i < TOLD) plan.toldPoints += count;
            else plan.points += count;
        }
    }

    function larger(uint256 a, uint256 b) private pure returns (uint256) {
        return a > b ? a : b;
    }

    /// Its bytes with addresses that count from the plan's own: what `loaded` reads.
    function packed(Plan memory plan) internal pure returns (bytes memory image) {
        uint256 size;
        for (uint256 i = 0; i < GROUPS; i++) plan.groups.set(GROUP * i + 3, plan.groups.get(GROUP * i + 3) - addressOf(plan));
        assembly ("memory-safe") {
            size := sub(mload(0x40), plan)
            for { let at_ := add(plan, LISTS) } lt(at_, add(plan, LISTS_END)) { at_ := add(at_, 0x20) } {
                mstore(at_, sub(mload(at_), plan))
            }
        }
        image = new bytes(size);
        assembly ("memory-safe") {
            mcopy(add(image, 0x20), plan, size)
        }
    }

    function addressOf(Plan memory plan) private pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := plan
        }
    }

    /// From the code of an account that has a plan's bytes behind its first.
    function loaded(address account) internal view returns (Plan memory plan) {
        uint256 size = account.code.length;
        if (size == 0) revert PlanUnknown();
        assembly ("memory-safe") {
            plan := mload(0x40)
            size := sub(size, 1)
            extcodecopy(account, plan, 1, size)
            mstore(0x40, add(plan, size))
            for { let at_ := add(plan, LISTS) } lt(at_, add(plan, LISTS_END)) { at_ := add(at_, 0x20) } {
                mstore(at_, add(mload(at_), plan))
            }
        }
    }
}
