// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Cube} from "./Cube.sol";
import {
    AMONG,
    BLOCKS,
    BYTES_END,
    ETAS,
    ETA_A,
    ETA_AFTER,
    ETA_BIAS_HELPER,
    ETA_BYTES,
    ETA_D,
    ETA_ENTERING,
    ETA_GRADIENT,
    ETA_H,
    ETA_HELPER,
    ETA_HELPER_BACK,
    ETA_HELPER_SUM,
    ETA_LAST_COLUMN,
    ETA_LIMB0,
    ETA_LIMB1,
    ETA_LOSS,
    ETA_LOSS_D,
    ETA_LOSS_HELPER,
    ETA_LOW,
    ETA_LOW_BACK,
    ETA_M,
    ETA_MULTIPLICITY,
    ETA_OPERAND,
    ETA_START,
    ETA_TABLE_HELPER,
    ETA_WEIGHT_HELPER,
    FIELD,
    LAYER_BIAS,
    LAYER_ENTERING,
    LAYER_GRADIENT,
    LAYER_LAST,
    LAYER_RECORD,
    LAYER_SIZE,
    NU,
    PAIR_ENTERING,
    PAIR_OUT,
    PAIR_OUTPUT,
    PAIR_RECORD,
    PAIR_RETURNING,
    PAIR_START_BACK,
    PAIR_START_END,
    PAIR_START_FORTH,
    PAIR_UNITS,
    PAIR_WEIGHTS,
    PRODUCTS,
    P_BITS,
    P_BYTE_BITS,
    P_CHUNK_BITS,
    P_COUNT,
    P_FEATURES,
    P_GROUPS,
    P_LABELS,
    P_LAYER_RECORDS,
    P_LINKS,
    P_LINK_LIST,
    P_LOSS_SHIFT,
    P_PAIR_LIST,
    P_PAIR_RECORDS,
    P_PLACE_SIZE,
    P_ROW_BITS,
    P_R_BITS,
    P_STEP_SIZE,
    P_S_BITS,
    P_TABLES,
    P_TABLE_LIST,
    SHARES,
    P_POINTS,
    P_TOLD,
    RHO_END,
    R_END,
    R_EQS,
    S_END,
    S_EQS,
    T_AT,
    USES,
    VALUES,
    read,
    times
} from "./Layout.sol";
import {RowOrder} from "./RowOrder.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// The last sum of a segment's proof, docs/zk.md §5: all claims about committed columns become one, about all
/// values at one point. The twin of joinClaims in src/verify/zk/verify-segment.ts. Terms that share factors
/// are added up first. Memory is that of Layout.sol.
///
/// Claims, in their order, which is that of VALUES and ETAS: 0 h, 1 a, 2 m, 3 low, 4 helper; 5 d, 6 lowBack,
/// 7 helperBack of links but the last; 8 d, 9 helperBack of the last, 10 its loss; 11 a of the last column,
/// 12 biasHelper; 13 after, 14 limb0, 15 limb1, 16 weightHelper; 17 multiplicity, 18 tableHelper; 19 the sum
/// of all helpers; 20 what enters products; 21 the weights at the start; 22 what enters changes, 23
/// gradients; 24 features, 25 labels, 26 before, 27 after of the bytes.
library SegmentClaims {
    uint256 private constant BYTES = 10;
    uint256 private constant ROUND = 11;
    uint256 private constant VALUE = 12;
    uint256 private constant GROUPS = 6;
    /// Groups of the statement.
    uint256 private constant BOUND = 4;
    /// Claims about links but the last: with one link there are none.
    uint256 private constant INNER = 2 + 4 + 32 + 64 + 128 + 2048 + 4096;

    /// @notice Thrown when what the sums say of the columns is not what was committed.
    error ClaimsFalse();

    /// Random points of the statement's groups, drawn after everything that they are about.
    function takeBytes() internal pure {
        uint256 count = read(P_BYTE_BITS);
        uint256 end = ZkTranscript.draw(count) + 32 * count;
        uint256 from = ZkTranscript.next(BYTES, BOUND);
        assembly ("memory-safe") {
            mstore(BYTES_END, end)
            calldatacopy(add(VALUES, 0x300), from, 0x80)
        }
    }

    /// The value at RHO_END's point, at which the commitments must open.
    function join() internal pure returns (uint256 value) {
        uint256 count = read(P_BITS);
        uint256 claim = together(ZkTranscript.drawn());
        uint256 rho = Cube.take(count);
        claim = Cube.squareRounds(ROUND, count, claim, rho);
        uint256 from = ZkTranscript.next(VALUE, 1);
        assembly ("memory-safe") {
            mstore(RHO_END, add(rho, shl(5, count)))
            value := calldataload(from)
        }
        if (times(kernel(), value) != claim) revert ClaimsFalse();
    }

    /// Σ η·value over all claims. Claims that a plan of one link does not have take no power.
    function together(uint256 eta) private pure returns (uint256 sum) {
        uint256 missing = read(P_LINKS) == 1 ? INNER : 0;
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let power := 1
            for { let to := 0 } lt(to, 0x380) { to := add(to, 0x20) } {
                if iszero(and(missing, 1)) {
                    mstore(add(to, ETAS), power)
                    sum := addmod(sum, mulmod(power, mload(add(to, VALUES)), r), r)
                    power := mulmod(power, eta, r)
                }
                missing := shr(1, missing)
            }
        }
    }

    /// Everything that all claims are at rho, together.
    function kernel() private pure returns (uint256 sum) {
        uint256 end = read(RHO_END);
        uint256 list = Cube.suffixes(read(R_END), end, read(P_R_BITS));
        uint256 other = Cube.suffixes(read(S_END), end, read(P_S_BITS));
        assembly ("memory-safe") {
            mstore(R_EQS, list)
            mstore(S_EQS, other)
        }
        sum = findBlocks(Cube.suffixes(read(BYTES_END), end, read(P_BYTE_BITS)));
        findLayers(end);
        findPairs(end);
        (uint256 rows, uint256 labels) = lossOf(end);
        uint256 first = firstOf(end);
        uint256 tables = tablesOf();
        uint256 links = linksOf(first);
        assembly ("memory-safe") {
            sum := addmod(add(sum, rows), add(labels, add(tables, links)), mload(FIELD))
        }
    }

    /// eq of each block's place and rho, group by group. What is said of the bytes is about whole groups:
    /// returns that. `bound`: eq of their point's last variables.
    function findBlocks(uint256 bound) private pure returns (uint256 sum) {
        unchecked {
            uint256 shares = Cube.take(read(P_TOLD) + read(P_POINTS));
            put(SHARES, shares);
            uint256 to = Cube.take(read(P_COUNT) + 3);
            (uint256 end, uint256 bits) = (read(RHO_END), read(P_BITS));
            assembly ("memory-safe") {
                mstore(BLOCKS, to)
                mstore(to, 0)
                to := add(to, 0x20)
            }
            for (uint256 group = P_GROUPS; group < P_GROUPS + 128 * GROUPS; group += 128) {
                uint256 own = read(group + 64);
                uint256 high = Cube.corner(read(group) >> (own - read(P_CHUNK_BITS)), end - 32 * own, 32 * (bits - own));
                if (group < P_GROUPS + 128 * BOUND) sum = more(sum, (group - P_GROUPS) >> 2, high, read(bound + 32 * own));
                put(to, high);
                (to, shares) = splitGroup(group, to, shares);
            }
        }
    }

    /// From eq of a group's place to those of its blocks, which take the first places of their size. Chunks
    /// are such places too, where no block has several of them: what they count goes to `shares`. Returns
    /// where the next group's begin.
    function splitGroup(uint256 group, uint256 to, uint256 shares) private pure returns (uint256, uint256) {
        unchecked {
            (uint256 level, uint256 sizes, uint256 end) = (read(group + 64), read(group + 96), read(RHO_END));
            (uint256 left, uint256 chunk, uint256 next) = (read(sizes), read(P_CHUNK_BITS), shares + 32 * read(group + 32));
            sizes += 32;
            if (read(sizes) >> 16 <= chunk) {
                Cube.split(to, left, level, chunk, end - 32 * level);
                copy(shares, to, next - shares);
                level = chunk;
            } else {
                for (uint256 i = read(group); shares < next; shares += 32) put(shares, chunkAt(i++));
            }
            for (uint256 own = read(sizes); own != 0; own = read(sizes)) {
                Cube.split(to, left, level, own >> 16, end - 32 * level);
                (level, own, sizes) = (own >> 16, own & 0xffff, sizes + 32);
                left -= own << level;
                to += 32 * own;
            }
            return (to, next);
        }
    }

    /// eq of a chunk, by its number, and rho.
    function chunkAt(uint256 chunk) private pure returns (uint256) {
        unchecked {
            uint256 low = read(P_CHUNK_BITS);
            return Cube.corner(chunk, read(RHO_END) - 32 * low, 32 * (read(P_BITS) - low));
        }
    }

    /// Adds what is said of the bytes of a group, by its number times 32.
    function more(uint256 sum, uint256 group, uint256 high, uint256 low) private pure returns (uint256 all) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            all := addmod(sum, mulmod(mulmod(mload(add(ETA_BYTES, group)), low, r), high, r), r)
        }
    }

    /// eq of (step, place) of the third sum, and of the first with the last unit, and those of a block of
    /// units at rho.
    function findLayers(uint256 end) private pure {
        unchecked {
            (uint256 size, uint256 pairs) = (read(P_PLACE_SIZE), read(P_PAIR_RECORDS));
            (uint256 first, uint256 third) = (read(R_END) - size, read(T_AT));
            for (uint256 to = read(P_LAYER_RECORDS); to < pairs; to += LAYER_RECORD) {
                uint256 units = read(to + LAYER_SIZE);
                uint256 there = end - size - units;
                uint256 same = Cube.eq(third, there, size);
                put(to + LAYER_GRADIENT, times(read(ETA_GRADIENT), same));
                put(to + LAYER_ENTERING, times(read(ETA_ENTERING), same));
                same = times(Cube.eq(first, there, size), Cube.corner(read(to + LAYER_LAST), end, units));
                put(to + LAYER_BIAS, times(read(ETA_LAST_COLUMN), same));
            }
        }
    }

    function findPairs(uint256 end) private pure {
        unchecked {
            // A word each, and the links' words stand behind them.
            uint256 count = (read(P_LINK_LIST) - read(P_PAIR_LIST)) >> 5;
            uint256 to = read(P_PAIR_RECORDS);
            for (; count > 0; (count, to) = (count - 1, to + PAIR_RECORD)) findPair(to, end);
        }
    }

    function findPair(uint256 to, uint256 end) private pure {
        unchecked {
            (uint256 a, uint256 b) = (read(read(to) + LAYER_SIZE), read(read(to + PAIR_OUT) + LAYER_SIZE));
            (uint256 r, uint256 rs) = (read(R_END), read(R_EQS));
            uint256 one = enters(a, b, end);
            put(to + PAIR_ENTERING, one);
            put(to + PAIR_RETURNING, a == b ? one : enters(b, a, end));
            put(to + PAIR_OUTPUT, Cube.eq(r - a - b, end - b, b));
            one = read(ETA_START);
            put(to + PAIR_START_FORTH, times(times(one, Cube.eq(r - b, end - a - b, b)), read(read(S_EQS) + a)));
            put(to + PAIR_START_BACK, times(times(one, Cube.eq(read(S_END) - b, end - a - b, b)), read(rs + a)));
            put(to + PAIR_START_END, times(times(one, read(NU)), read(rs + a + b)));
            put(to + PAIR_UNITS, read(rs + read(P_PLACE_SIZE) + b));
            put(to + PAIR_WEIGHTS, read(rs + a + b));
        }
    }

    /// η times eq of (step of the second sum, place in the batch of the first, unit of the second), and those
    /// of a block of units at rho. `inner`: of the layer that is summed over; `outer`: of the one whose z or
    /// q it is.
    function enters(uint256 inner, uint256 outer, uint256 end) private pure returns (uint256 product) {
        unchecked {
            (uint256 steps, uint256 places) = (read(P_STEP_SIZE), read(P_PLACE_SIZE));
            uint256 there = end - places - inner;
            product = Cube.eq(read(S_END) - steps - inner, there, steps);
            product = times(product, Cube.eq(read(R_END) - places - outer + steps, there + steps, places - steps));
            product = times(product, times(read(read(S_EQS) + inner), read(ETA_OPERAND)));
        }
    }

    function put(uint256 place, uint256 value) private pure {
        assembly ("memory-safe") {
            mstore(place, value)
        }
    }

    /// d = (h - y)·2^(gradient - activation) of the last link is linear: at a random point it holds only if
    /// it does everywhere. What labels count in it, and h and d of the last link.
    function lossOf(uint256 end) private pure returns (uint256 labels, uint256 units) {
        unchecked {
            uint256 last = read(P_LINK_LIST) + 64 * (read(P_LINKS) - 1);
            uint256 pair = read(last + 32);
            uint256 classes = read(read(pair + PAIR_OUT) + LAYER_SIZE);
            uint256 places = read(P_PLACE_SIZE);
            copy(RowOrder.own(), read(R_END) - places - classes, places);
            uint256 rows = times(RowOrder.eqAt(end - 32 * read(P_ROW_BITS) - classes), read(read(R_EQS) + classes));
            assembly ("memory-safe") {
                let r := mload(FIELD)
                let blocks := mload(BLOCKS)
                let eta := mload(ETA_LOSS)
                labels := sub(r, mulmod(mulmod(eta, rows, r), mload(add(blocks, mload(P_LABELS))), r))
                last := mload(last)
                let d := mulmod(mload(add(blocks, and(shr(80, last), 0xffff))), mload(P_LOSS_SHIFT), r)
                units := add(mload(add(blocks, and(last, 0xffff))), sub(r, d))
                units := mulmod(units, mulmod(eta, mload(add(pair, PAIR_UNITS)), r), r)
            }
        }
    }

    function copy(uint256 to, uint256 from, uint256 size) private pure {
        assembly ("memory-safe") {
            mcopy(to, from, size)
        }
    }

    /// Of the first link, which has data for what enters: two words, η times eq of what enters its products,
    /// and of (step, place) where its weights change.
    function firstOf(uint256 end) private pure returns (uint256 list) {
        unchecked {
            uint256 pair = read(read(P_LINK_LIST) + 32);
            (uint256 inputs, uint256 outputs) = (read(read(pair) + LAYER_SIZE), read(read(pair + PAIR_OUT) + LAYER_SIZE));
            (uint256 steps, uint256 places, uint256 own) = (read(P_STEP_SIZE), read(P_PLACE_SIZE), RowOrder.own());
            uint256 rows = end - 32 * read(P_ROW_BITS) - inputs;
            list = Cube.take(2);
            copy(own, read(S_END) - steps - inputs, steps);
            copy(own + steps, read(R_END) - places - outputs + steps, places - steps);
            put(list, times(times(RowOrder.eqAt(rows), read(read(S_EQS) + inputs)), read(ETA_OPERAND)));
            copy(own, read(T_AT), places);
            put(list + 32, times(RowOrder.eqAt(rows), read(ETA_ENTERING)));
        }
    }

    /// What the first sum says of tables, and their helpers, which must have the sum of all others.
    function tablesOf() private pure returns (uint256 sum) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let at_ := mload(P_TABLE_LIST)
            let among := mload(AMONG)
            let helpers := 0
            for { let end := add(at_, shl(5, mload(P_TABLES))) } lt(at_, end) { at_ := add(at_, 0x20) } {
                let one := mload(at_)
                let helper := mload(add(mload(BLOCKS), and(shr(24, one), 0xffff)))
                let multiplicity := mload(add(mload(BLOCKS), and(shr(8, one), 0xffff)))
                helpers := addmod(helpers, helper, r)
                helper := mulmod(helper, mload(ETA_TABLE_HELPER), r)
                helper := add(helper, mulmod(multiplicity, mload(ETA_MULTIPLICITY), r))
                let share := mulmod(mload(among), mload(add(mload(R_EQS), shl(5, and(one, 0xff)))), r)
                sum := addmod(sum, mulmod(share, helper, r), r)
                among := add(among, 0x20)
            }
            sum := addmod(sum, sub(r, mulmod(helpers, mload(ETA_HELPER_SUM), r)), r)
        }
    }

    /// Everything about links. `first`: of firstOf.
    function linksOf(uint256 first) private pure returns (uint256 sum) {
        assembly ("memory-safe") {
            /// All that the first sum says of a link, but for its weight in the list; and the sum of its
            /// helpers.
            function lookups(word, pair, blocks) -> all, helpers {
                let r := mload(FIELD)
                let helper := mload(add(blocks, and(shr(64, word), 0xffff)))
                let back := mload(add(blocks, and(shr(112, word), 0xffff)))
                helpers := add(helper, back)
                // By powers of η: h, helper, low, d; helperBack.
                all :=
                    addmod(
                        add(
                            add(
                                mulmod(mload(ETA_H), mload(add(blocks, and(word, 0xffff))), r),
                                mulmod(mload(ETA_HELPER), helper, r)
                            ),
                            add(
                                mulmod(mload(ETA_LOW), mload(add(blocks, and(shr(48, word), 0xffff))), r),
                                mulmod(mload(ETA_D), mload(add(blocks, and(shr(80, word), 0xffff))), r)
                            )
                        ),
                        mulmod(mload(ETA_HELPER_BACK), back, r),
                        r
                    )
                // a, m, lowBack. In the last column a counts once more, and what helps it.
                let a := mload(add(blocks, and(shr(16, word), 0xffff)))
                all :=
                    add(
                        add(all, mulmod(mload(ETA_A), a, r)),
                        add(
                            mulmod(mload(ETA_M), mload(add(blocks, and(shr(32, word), 0xffff))), r),
                            mulmod(mload(ETA_LOW_BACK), mload(add(blocks, and(shr(96, word), 0xffff))), r)
                        )
                    )
                all := add(mulmod(all, mload(add(pair, PAIR_UNITS)), r), mulmod(mload(add(mload(add(pair, PAIR_OUT)), LAYER_BIAS)), a, r))
                helper := mload(add(blocks, and(shr(128, word), 0xffff)))
                back := mload(add(blocks, and(shr(192, word), 0xffff)))
                helpers := add(helpers, add(helper, back))
                all := add(all, mulmod(mload(ETA_BIAS_HELPER), helper, r))
                // Weights at the end: after, limb0, limb1, weightHelper.
                back :=
                    add(
                        add(
                            mulmod(mload(ETA_AFTER), mload(add(blocks, and(shr(144, word), 0xffff))), r),
                            mulmod(mload(ETA_LIMB0), mload(add(blocks, and(shr(160, word), 0xffff))), r)
                        ),
                        add(
                            mulmod(mload(ETA_LIMB1), mload(add(blocks, and(shr(176, word), 0xffff))), r),
                            mulmod(mload(ETA_WEIGHT_HELPER), back, r)
                        )
                    )
                all := add(all, mulmod(back, mload(add(pair, PAIR_WEIGHTS)), r))
            }
            /// Of a link but the first: what enters it, in products and where its weights change; its weights
            /// at the start; its gradients, in products and where its weights change.
            function changes(uses, products, backs, pair) -> entering, start, d {
                let r := mload(FIELD)
                let back := mload(add(uses, backs))
                // Those at the end stand behind all forth and back.
                let end := mload(add(uses, add(shl(1, backs), 0x20)))
                let inputs := mload(pair)
                let size := mload(add(inputs, LAYER_SIZE))
                entering :=
                    mulmod(
                        mload(add(inputs, LAYER_ENTERING)),
                        add(
                            mulmod(mload(uses), mload(add(mload(S_EQS), size)), r),
                            mulmod(add(back, end), mload(add(mload(R_EQS), size)), r)
                        ),
                        r
                    )
                inputs := mload(add(pair, PAIR_OUT))
                size := mload(add(inputs, LAYER_SIZE))
                d :=
                    mulmod(
                        mload(add(inputs, LAYER_GRADIENT)),
                        add(
                            mulmod(mload(uses), mload(add(mload(R_EQS), size)), r),
                            add(mulmod(back, mload(add(mload(S_EQS), size)), r), mulmod(end, mload(add(pair, PAIR_OUTPUT)), r))
                        ),
                        r
                    )
                back := mload(add(products, backs))
                d := add(d, mulmod(back, mload(add(pair, PAIR_RETURNING)), r))
                end := mload(products)
                entering := add(entering, mulmod(end, mload(add(pair, PAIR_ENTERING)), r))
                start := add(mulmod(end, mload(add(pair, PAIR_START_FORTH)), r), mulmod(back, mload(add(pair, PAIR_START_BACK)), r))
            }
            /// The same of the first link: it has data for what enters, and nothing comes back from it.
            function firstChanges(uses, backs, pair, first_) -> entering, start, d {
                let r := mload(FIELD)
                let end := mload(add(uses, add(shl(1, backs), 0x20)))
                let size := mload(add(mload(pair), LAYER_SIZE))
                let products := mload(mload(PRODUCTS))
                entering := add(mulmod(mload(uses), mload(add(mload(S_EQS), size)), r), mulmod(end, mload(add(mload(R_EQS), size)), r))
                entering := add(mulmod(mload(add(first_, 0x20)), entering, r), mulmod(products, mload(first_), r))
                let outputs := mload(add(pair, PAIR_OUT))
                d := mulmod(mload(uses), mload(add(mload(R_EQS), mload(add(outputs, LAYER_SIZE)))), r)
                d := mulmod(mload(add(outputs, LAYER_GRADIENT)), add(d, mulmod(end, mload(add(pair, PAIR_OUTPUT)), r)), r)
                start := mulmod(products, mload(add(pair, PAIR_START_FORTH)), r)
            }
            let helpers := 0
            let before := mload(add(mload(BLOCKS), mload(P_FEATURES)))
            let backs := shl(5, sub(mload(P_LINKS), 1))
            // What helps biases is of step and place alone.
            mstore(ETA_BIAS_HELPER, mulmod(mload(ETA_BIAS_HELPER), mload(add(mload(R_EQS), mload(P_PLACE_SIZE))), mload(FIELD)))
            for { let offset := 0 } iszero(gt(offset, backs)) { offset := add(offset, 0x20) } {
                let pair := add(mload(P_LINK_LIST), shl(1, offset))
                let word := mload(pair)
                pair := mload(add(pair, 0x20))
                if eq(offset, backs) {
                    // Those of the last link.
                    mstore(ETA_D, mload(ETA_LOSS_D))
                    mstore(ETA_HELPER_BACK, mload(ETA_LOSS_HELPER))
                }
                let entering, start, d
                switch offset
                case 0 { entering, start, d := firstChanges(mload(USES), backs, pair, first) }
                default {
                    entering, start, d := changes(add(mload(USES), offset), add(mload(PRODUCTS), offset), backs, pair)
                }
                let r := mload(FIELD)
                let blocks := mload(BLOCKS)
                entering := add(mulmod(entering, before, r), mulmod(d, mload(add(blocks, and(shr(80, word), 0xffff))), r))
                before := mload(add(blocks, and(shr(16, word), 0xffff)))
                let share := mload(add(mload(AMONG), offset))
                start := add(start, mulmod(share, mload(add(pair, PAIR_START_END)), r))
                sum := addmod(sum, add(entering, mulmod(start, mload(add(blocks, and(shr(208, word), 0xffff))), r)), r)
                start, d := lookups(word, pair, blocks)
                helpers := addmod(helpers, d, r)
                sum := addmod(sum, mulmod(start, share, r), r)
            }
            sum := addmod(sum, mulmod(helpers, mload(ETA_HELPER_SUM), mload(FIELD)), mload(FIELD))
        }
    }
}
