// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Cube} from "./Cube.sol";
import {RowOrder} from "./RowOrder.sol";
import {SegmentRun} from "./SegmentRun.sol";
import {ZkPlan} from "./ZkPlan.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// The last sum of a segment's proof, docs/zk.md §5: all claims about committed columns become one, about all values at one point. The twin of joinClaims in
/// src/verify/zk/verify-segment.ts. Terms that share factors are added up first.
library SegmentClaims {
    using Cube for uint256;
    using RowOrder for RowOrder.Order;
    using SegmentRun for SegmentRun.Run;

    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    uint256 private constant BYTES = 10;
    uint256 private constant ROUND = 11;
    uint256 private constant VALUE = 12;
    uint256 private constant BOUND = 4;

    /// What kernels are made of. Lists in memory.
    struct Kernel {
        /// Where the sum ended.
        uint256 rho;
        uint256 bits;
        uint256 pairs;
        /// eq of the ends of the first and second sum's cube, and the end of rho.
        uint256 r;
        uint256 s;
        /// Powers of η, by claim.
        uint256 etas;
        /// By block, in the order of their places: what all claims about it are together, but for eq of its place.
        uint256 weights;
        /// The first sum's list.
        uint256 among;
        /// Of the plan: places in that list, by column.
        uint256 blocks;
        uint256 stride;
    }

    /// @notice Thrown when what the sums say of the columns is not what was committed.
    error ClaimsFalse();

    /// Random points of the statement's groups, drawn after everything that they are about.
    function takeBytes(SegmentRun.Run memory run) internal pure {
        unchecked {
            uint256 most = 0;
            for (uint256 i = 0; i < BOUND; i++) {
                (, uint256 bits) = ZkPlan.groupAt(run.plan, i);
                if (bits > most) most = bits;
            }
            (run.byteBits, run.bytesAt) = (most, run.draw(most));
            uint256 from = run.message(BYTES, BOUND);
            uint256 to = run.values + 32 * SegmentRun.BYTES;
            assembly ("memory-safe") {
                calldatacopy(to, from, 0x80)
            }
        }
    }

    /// The pairs of the point at which the commitments must open, the point and the value.
    function join(SegmentRun.Run memory run) internal pure returns (uint256 pairs, uint256 point, uint256 value) {
        unchecked {
            Kernel memory kernel;
            kernel.etas = etasOf(run);
            uint256 claim = together(kernel.etas, run.values);
            kernel.bits = run.plan.bits;
            kernel.rho = Cube.room(kernel.bits);
            claim = run.sum(ROUND, kernel.bits, 2, claim, kernel.rho);
            uint256 from = run.message(VALUE, 1);
            assembly ("memory-safe") {
                value := calldataload(from)
            }
            kernel.pairs = Cube.pairs(kernel.rho, kernel.bits);
            if (mulmod(kernelOf(run, kernel), value, R) != claim) revert ClaimsFalse();
            return (kernel.pairs, kernel.rho, value);
        }
    }

    function kernelOf(SegmentRun.Run memory run, Kernel memory kernel) private pure returns (uint256 sum) {
        unchecked {
            ZkPlan.Plan memory plan = run.plan;
            uint256 end = kernel.rho + 32 * kernel.bits;
            kernel.r = Cube.suffixes(run.r + 32 * run.rBits, end, run.rBits);
            kernel.s = Cube.suffixes(run.s + 32 * run.sBits, end, run.sBits);
            (kernel.among, kernel.blocks, kernel.stride) = (run.among, plan.blocks, plan.stride);
            kernel.weights = Cube.room(plan.count);
            addLookups(run, kernel);
            addLoss(run, kernel);
            addProducts(run, kernel);
            addWeights(run, kernel);
            uint256 list = Cube.suffixes(run.bytesAt + 32 * run.byteBits, end, run.byteBits);
            for (uint256 i = 0; i < ZkPlan.GROUPS; i++) {
                (uint256 first, uint256 bits) = ZkPlan.groupAt(plan, i);
                uint256 one = folded(plan, kernel, i, bits);
                // What is said of the bytes is about the whole group.
                if (i < BOUND) one = addmod(one, mulmod(kernel.etas.get(SegmentRun.BYTES + i), list.get(bits), R), R);
                sum = addmod(sum, mulmod(one, Cube.corner(first >> bits, kernel.pairs, kernel.bits - bits), R), R);
            }
        }
    }

    /// Σ eq(place in the group, rho)·weight over the blocks of a group. Smaller blocks stand behind larger ones: they are folded to the size of these, which
    /// then stand right before them in the list.
    function folded(ZkPlan.Plan memory plan, Kernel memory kernel, uint256 group, uint256 bits)
        private
        pure
        returns (uint256 sum)
    {
        unchecked {
            (uint256 sizes, uint256 count, uint256 end) = ZkPlan.sizesIn(plan, group);
            uint256 list = kernel.weights + 32 * end;
            uint256 last = kernel.rho + 32 * (kernel.bits - 1);
            assembly ("memory-safe") {
                function fold(from, length, x) -> shorter {
                    shorter := shr(1, add(length, 1))
                    let to := from
                    for { let i := 1 } lt(i, length) { i := add(i, 2) } {
                        let a := mload(from)
                        mstore(to, addmod(a, mulmod(x, add(mload(add(from, 0x20)), sub(R, a)), R), R))
                        from := add(from, 0x40)
                        to := add(to, 0x20)
                    }
                    // Nothing stands beside it.
                    if and(length, 1) { mstore(to, mulmod(mload(from), add(1, sub(R, x)), R)) }
                }
                let length := 0
                let level := 0
                for { let at_ := add(sizes, shl(6, count)) } gt(at_, sizes) {} {
                    at_ := sub(at_, 0x40)
                    let size := mload(at_)
                    switch length
                    case 0 { level := size }
                    default {
                        for {} lt(level, size) { level := add(level, 1) } {
                            length := fold(list, length, mload(sub(last, shl(5, level))))
                        }
                    }
                    let own := mload(add(at_, 0x20))
                    list := sub(list, shl(5, own))
                    length := add(length, own)
                }
                for {} lt(level, bits) { level := add(level, 1) } {
                    length := fold(list, length, mload(sub(last, shl(5, level))))
                }
                sum := mload(list)
            }
        }
    }

    /// Claims that a plan of one link does not have take no power.
    function etasOf(SegmentRun.Run memory run) private pure returns (uint256 list) {
        uint256 eta = ZkTranscript.drawn(run.state);
        uint256 missing = run.plan.links == 1 ? SegmentRun.INNER : 0;
        list = Cube.room(SegmentRun.CLAIMS);
        assembly ("memory-safe") {
            let power := 1
            for { let to := list } lt(to, add(list, 0x380)) { to := add(to, 0x20) } {
                if iszero(and(missing, 1)) {
                    mstore(to, power)
                    power := mulmod(power, eta, R)
                }
                missing := shr(1, missing)
            }
        }
    }

    /// Σ η·value over all claims.
    function together(uint256 etas, uint256 values) private pure returns (uint256 sum) {
        assembly ("memory-safe") {
            for { let end := add(etas, 0x380) } lt(etas, end) { etas := add(etas, 0x20) } {
                sum := addmod(sum, mulmod(mload(etas), mload(values), R), R)
                values := add(values, 0x20)
            }
        }
    }

    /// Where the weight of a block stands.
    function place(Kernel memory kernel, uint256 column, uint256 index) private pure returns (uint256 to) {
        unchecked {
            uint256 block_ = kernel.blocks + 2 * (column * kernel.stride + index);
            uint256 weights = kernel.weights;
            assembly ("memory-safe") {
                to := add(weights, shr(240, mload(block_)))
            }
        }
    }

    function add(Kernel memory kernel, uint256 column, uint256 index, uint256 value) private pure {
        unchecked {
            uint256 to = place(kernel, column, index);
            assembly ("memory-safe") {
                mstore(to, addmod(mload(to), value, R))
            }
        }
    }

    /// What the first sum says, column by column, and that helpers and tables' helpers have the same sum: that of a block is its value in the middle of
    /// the cube times its size, so that nothing but eq of its place is left.
    function addLookups(SegmentRun.Run memory run, Kernel memory kernel) private pure {
        unchecked {
            ZkPlan.Plan memory plan = run.plan;
            uint256 last = plan.links - 1;
            for (uint256 i = 0; i <= last; i++) {
                uint256 share = kernel.among.get(i);
                addUnits(kernel, i, i == last, mulmod(share, kernel.r.get(plan.unitBits.get(i)), R));
                addEnds(kernel, i, mulmod(share, kernel.r.get(plan.weightBits.get(i)), R));
                if (i < last) addBias(run, kernel, i, share);
            }
            for (uint256 i = 0; i < plan.tables; i++) {
                uint256 share = mulmod(kernel.among.get(i), kernel.r.get(plan.tableBits.get(i)), R);
                addTable(kernel, i, share);
            }
        }
    }

    // Each block's first weight is written, not added. η of a claim is at 32 · its number; 16 · 32 and so on below are those of SegmentRun, and columns are those of
    // ZkPlan.

    function addUnits(Kernel memory kernel, uint256 i, bool isLast, uint256 share) private pure {
        unchecked {
            (uint256 etas, uint256 weights, uint256 blocks, uint256 step) =
                (kernel.etas, kernel.weights, kernel.blocks + 2 * i, 2 * kernel.stride);
            assembly ("memory-safe") {
                let helpers := mload(add(etas, 0x260))
                mstore(add(weights, shr(240, mload(add(blocks, mul(4, step))))), mulmod(share, mload(etas), R))
                mstore(add(weights, shr(240, mload(add(blocks, mul(8, step))))), mulmod(share, mload(add(etas, 0x60)), R))
                mstore(add(weights, shr(240, mload(add(blocks, mul(13, step))))), addmod(mulmod(share, mload(add(etas, 0x80)), R), helpers, R))
                switch isLast
                case 1 {
                    mstore(add(weights, shr(240, mload(add(blocks, mul(7, step))))), mulmod(share, mload(add(etas, 0x100)), R))
                    mstore(add(weights, shr(240, mload(add(blocks, mul(14, step))))), addmod(mulmod(share, mload(add(etas, 0x120)), R), helpers, R))
                }
                default {
                    mstore(add(weights, shr(240, mload(add(blocks, mul(5, step))))), mulmod(share, mload(add(etas, 0x20)), R))
                    mstore(add(weights, shr(240, mload(add(blocks, mul(6, step))))), mulmod(share, mload(add(etas, 0x40)), R))
                    mstore(add(weights, shr(240, mload(add(blocks, mul(7, step))))), mulmod(share, mload(add(etas, 0xa0)), R))
                    mstore(add(weights, shr(240, mload(add(blocks, mul(9, step))))), mulmod(share, mload(add(etas, 0xc0)), R))
                    mstore(add(weights, shr(240, mload(add(blocks, mul(14, step))))), addmod(mulmod(share, mload(add(etas, 0xe0)), R), helpers, R))
                }
            }
        }
    }

    /// Weights at the end.
    function addEnds(Kernel memory kernel, uint256 i, uint256 share) private pure {
        unchecked {
            (uint256 etas, uint256 weights, uint256 blocks, uint256 step) =
                (kernel.etas, kernel.weights, kernel.blocks + 2 * i, 2 * kernel.stride);
            assembly ("memory-safe") {
                mstore(add(weights, shr(240, mload(add(blocks, mul(3, step))))), mulmod(share, mload(add(etas, 0x1a0)), R))
                mstore(add(weights, shr(240, mload(add(blocks, mul(10, step))))), mulmod(share, mload(add(etas, 0x1c0)), R))
                mstore(add(weights, shr(240, mload(add(blocks, mul(11, step))))), mulmod(share, mload(add(etas, 0x1e0)), R))
                let helper := addmod(mulmod(share, mload(add(etas, 0x200)), R), mload(add(etas, 0x260)), R)
                mstore(add(weights, shr(240, mload(add(blocks, mul(16, step))))), helper)
            }
        }
    }

    function addTable(Kernel memory kernel, uint256 i, uint256 share) private pure {
        unchecked {
            (uint256 etas, uint256 weights, uint256 blocks, uint256 step) =
                (kernel.etas, kernel.weights, kernel.blocks + 2 * i, 2 * kernel.stride);
            assembly ("memory-safe") {
                mstore(add(weights, shr(240, mload(add(blocks, mul(12, step))))), mulmod(share, mload(add(etas, 0x220)), R))
                let helper := addmod(mulmod(share, mload(add(etas, 0x240)), R), sub(R, mload(add(etas, 0x260))), R)
                mstore(add(weights, shr(240, mload(add(blocks, mul(17, step))))), helper)
            }
        }
    }

    /// Units of the last column, and their helpers.
    function addBias(SegmentRun.Run memory run, Kernel memory kernel, uint256 i, uint256 share) private pure {
        unchecked {
            ZkPlan.Plan memory plan = run.plan;
            (uint256 places, uint256 bits) = (plan.places, plan.layerBits.get(i + 1));
            uint256 there = Cube.keptEq(run.kept, run.endOfR(places), endOfRho(kernel, places + bits), places);
            there = mulmod(
                there, Cube.keptCorner(run.kept, plan.layers.get(i + 1) - 1, endOfRho(kernel, bits), bits), R
            );
            uint256 eta = mulmod(share, kernel.etas.get(SegmentRun.LAST_COLUMN), R);
            add(kernel, ZkPlan.A, i, mulmod(eta, there, R));
            eta = mulmod(share, kernel.etas.get(SegmentRun.BIAS_HELPER), R);
            eta = addmod(mulmod(eta, kernel.r.get(places), R), kernel.etas.get(SegmentRun.HELPER_SUM), R);
            add(kernel, ZkPlan.BIAS_HELPER, i, eta);
        }
    }

    function endOfRho(Kernel memory kernel, uint256 count) private pure returns (uint256) {
        unchecked {
            return kernel.rho + 32 * (kernel.bits - count);
        }
    }

    /// d = (h - y)·2^(gradient - activation) of the last link is linear: at a random point it holds only if it does everywhere.
    function addLoss(SegmentRun.Run memory run, Kernel memory kernel) private pure {
        unchecked {
            ZkPlan.Plan memory plan = run.plan;
            uint256 last = plan.links - 1;
            uint256 bits = plan.unitBits.get(last);
            uint256 eta = kernel.etas.get(SegmentRun.LOSS);
            uint256 one = mulmod(eta, kernel.r.get(bits), R);
            add(kernel, ZkPlan.H, last, one);
            add(kernel, ZkPlan.D, last, R - mulmod(one, plan.lossShift, R));
            uint256 classes = plan.layerBits.get(plan.links);
            uint256 rows = run.order.eqAt(run.endOfR(bits), endOfRho(kernel, plan.rowBits + classes));
            add(kernel, ZkPlan.LABELS, 0, R - mulmod(eta, mulmod(rows, kernel.r.get(classes), R), R));
        }
    }

    /// What enters products, and what comes back to them.
    function addProducts(SegmentRun.Run memory run, Kernel memory kernel) private pure {
        unchecked {
            uint256 links = run.plan.links;
            uint256 eta = kernel.etas.get(SegmentRun.OPERAND);
            add(kernel, ZkPlan.FEATURES, 0, mulmod(eta, mulmod(run.products.get(0), featuresAt(run, kernel), R), R));
            for (uint256 i = 1; i < links; i++) {
                uint256 one = mulmod(eta, run.products.get(i), R);
                add(kernel, ZkPlan.A, i - 1, mulmod(one, placeOf(run, kernel, i, i - 1, i), R));
                one = mulmod(eta, run.products.get(links + i - 1), R);
                add(kernel, ZkPlan.D, i, mulmod(one, placeOf(run, kernel, i - 1, i, i + 1), R));
            }
        }
    }

    /// eq of (step of the second sum, place in the batch of the first, unit of the second), and those of a block of link `owner`'s units. `link`: whose z or q.
    /// `layer`: which is summed over.
    function placeOf(SegmentRun.Run memory run, Kernel memory kernel, uint256 link, uint256 owner, uint256 layer)
        private
        pure
        returns (uint256 same)
    {
        unchecked {
            ZkPlan.Plan memory plan = run.plan;
            (uint256 steps, uint256 inner) = (plan.stepBits, plan.layerBits.get(layer));
            uint256 rho = endOfRho(kernel, plan.unitBits.get(owner));
            same = Cube.keptEq(run.kept, run.s + 32 * (run.sBits - steps - inner), rho, steps);
            uint256 batch = run.r + 32 * (run.rBits - plan.unitBits.get(link) + steps);
            same = mulmod(same, Cube.keptEq(run.kept, batch, rho + 32 * steps, plan.batchBits), R);
            return mulmod(same, kernel.s.get(inner), R);
        }
    }

    /// What enters the first link's products.
    function featuresAt(SegmentRun.Run memory run, Kernel memory kernel) private pure returns (uint256) {
        unchecked {
            ZkPlan.Plan memory plan = run.plan;
            (uint256 steps, uint256 bits) = (plan.stepBits, plan.layerBits.get(0));
            uint256 point = Cube.room(plan.places);
            uint256 from = run.endOfS(steps + bits);
            uint256 more = run.endOfR(plan.unitBits.get(0)) + 32 * steps;
            uint256 batch = plan.batchBits;
            assembly ("memory-safe") {
                mcopy(point, from, shl(5, steps))
                mcopy(add(point, shl(5, steps)), more, shl(5, batch))
            }
            return mulmod(run.order.eqAt(point, endOfRho(kernel, plan.rowBits + bits)), kernel.s.get(bits), R);
        }
    }

    /// Weights at the start, and what enters and comes back where they change.
    function addWeights(SegmentRun.Run memory run, Kernel memory kernel) private pure {
        unchecked {
            ZkPlan.Plan memory plan = run.plan;
            uint256 links = plan.links;
            // Of (step, place) of the third sum, in the block that enters the link.
            uint256 same = run.order.eqAt(run.t, endOfRho(kernel, plan.rowBits + plan.layerBits.get(0)));
            (uint256 column, uint256 owner) = (ZkPlan.FEATURES, 0);
            for (uint256 i = 0; i < links; i++) {
                uint256 one = mulmod(mulmod(same, kernel.etas.get(SegmentRun.ENTERING), R), inputsAt(run, kernel, i), R);
                add(kernel, column, owner, one);
                one = mulmod(kernel.etas.get(SegmentRun.START), startsAt(run, kernel, i), R);
                add(kernel, ZkPlan.BEFORE, i, one);
                same = Cube.keptEq(run.kept, run.t, endOfRho(kernel, plan.unitBits.get(i)), plan.places);
                one = mulmod(mulmod(same, kernel.etas.get(SegmentRun.GRADIENT), R), outputsAt(run, kernel, i), R);
                add(kernel, ZkPlan.D, i, one);
                (column, owner) = (ZkPlan.A, i);
            }
        }
    }

    /// Uses of a link's weights: forth, back (not of the first link), at the end.
    function inputsAt(SegmentRun.Run memory run, Kernel memory kernel, uint256 i) private pure returns (uint256) {
        unchecked {
            (uint256 links, uint256 bits, uint256 uses) = (run.plan.links, run.plan.layerBits.get(i), run.uses);
            uint256 others = uses.get(2 * links - 1 + i);
            if (i > 0) others += uses.get(links + i - 1);
            return addmod(mulmod(uses.get(i), kernel.s.get(bits), R), mulmod(others, kernel.r.get(bits), R), R);
        }
    }

    function outputsAt(SegmentRun.Run memory run, Kernel memory kernel, uint256 i) private pure returns (uint256 sum) {
        unchecked {
            (uint256 links, uint256 bits, uint256 uses) = (run.plan.links, run.plan.layerBits.get(i + 1), run.uses);
            sum = mulmod(uses.get(i), kernel.r.get(bits), R);
            if (i > 0) sum = addmod(sum, mulmod(uses.get(links + i - 1), kernel.s.get(bits), R), R);
            uint256 end = run.r + 32 * (run.rBits - run.plan.weightBits.get(i));
            return addmod(sum, mulmod(uses.get(2 * links - 1 + i), Cube.keptEq(run.kept, end, endOfRho(kernel, bits), bits), R), R);
        }
    }

    function startsAt(SegmentRun.Run memory run, Kernel memory kernel, uint256 i) private pure returns (uint256 sum) {
        unchecked {
            (uint256 inputs, uint256 outputs) = (run.plan.layerBits.get(i), run.plan.layerBits.get(i + 1));
            uint256 rho = endOfRho(kernel, inputs + outputs);
            sum = mulmod(Cube.keptEq(run.kept, run.r + 32 * (run.rBits - outputs), rho, outputs), kernel.s.get(inputs), R);
            sum = mulmod(run.products.get(i), sum, R);
            if (i > 0) {
                uint256 back = Cube.keptEq(run.kept, run.s + 32 * (run.sBits - outputs), rho, outputs);
                back = mulmod(back, kernel.r.get(inputs), R);
                sum = addmod(sum, mulmod(run.products.get(run.plan.links + i - 1), back, R), R);
            }
            uint256 end = mulmod(mulmod(run.nu, kernel.among.get(i), R), kernel.r.get(inputs + outputs), R);
            return addmod(sum, end, R);
        }
    }
}
