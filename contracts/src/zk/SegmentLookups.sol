// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Cube} from "./Cube.sol";
import {SegmentRun} from "./SegmentRun.sol";
import {ZkPlan} from "./ZkPlan.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// The first sum of a segment's proof, docs/zk.md §5: every value that must lie in a table does, and every helper is what it is said to be. The twin of
/// src/verify/zk/check-lookups.ts.
library SegmentLookups {
    using Cube for uint256;
    using SegmentRun for SegmentRun.Run;

    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    uint256 private constant DEGREE = 6;
    uint256 private constant ROUND = 3;
    uint256 private constant VALUES = 4;

    /// What the sum says of columns, in the order of the proof.
    struct Values {
        uint256 h;
        uint256 a;
        uint256 m;
        uint256 low;
        uint256 helper;
        uint256 z;
        uint256 d;
        uint256 lowBack;
        uint256 helperBack;
        uint256 q;
        uint256 lossD;
        uint256 lossHelper;
        uint256 last;
        uint256 biasHelper;
        uint256 afterValue;
        uint256 limb0;
        uint256 limb1;
        uint256 weightHelper;
        uint256 multiplicity;
        uint256 tableHelper;
    }

    struct Fingerprint {
        uint256 alpha;
        uint256 beta;
        uint256 beta2;
        uint256 beta3;
        /// Numbers of tables from 1 on: of what rounding leaves, below and above; of h in its range, of d.
        uint256 lowTag;
        uint256 highTag;
        uint256 hTag;
        uint256 dTag;
        /// 2^(scale - 1), 2^scale, 1/2^lowBits
        uint256 half;
        uint256 whole;
        uint256 shift;
    }

    /// Sums of γ^i · the weight of a list's member, over all links, all but the last, the last, and all tables; and γ^(length of the list).
    struct Shares {
        uint256 all;
        uint256 inner;
        uint256 last;
        uint256 tables;
        uint256 next;
        /// Without γ: number of the table in which units are looked up, that of relu for all links but the last.
        uint256 tag;
    }

    /// @notice Thrown when a value lies in no table, or was rounded in another way.
    error LookupsFalse();

    function check(SegmentRun.Run memory run, uint256 alpha, uint256 beta) internal pure {
        ZkPlan.Plan memory plan = run.plan;
        run.rBits = plan.rBits;
        uint256 rho = run.draw(run.rBits);
        run.state = ZkTranscript.again(run.state);
        uint256 gamma = ZkTranscript.drawn(run.state);
        uint256 claim = rounds(run, rho);
        Values memory values = read(run);
        if (faults(run, fingerprint(plan, alpha, beta), values, gamma) != claim) revert LookupsFalse();
        (run.z, run.q, run.afterValue) = (values.z, values.q, values.afterValue);
    }

    /// Everything that must be 0, by powers of γ.
    function faults(SegmentRun.Run memory run, Fingerprint memory print, Values memory values, uint256 gamma)
        private
        pure
        returns (uint256 sum)
    {
        ZkPlan.Plan memory plan = run.plan;
        Shares memory shares = sharesOf(run, gamma);
        sum = mulmod(tableFault(run, print, values), shares.tables, R);
        sum = addmod(mulmod(sum, shares.next, R), mulmod(weightFault(plan, print, values), shares.all, R), R);
        sum = addmod(mulmod(sum, shares.next, R), mulmod(biasFault(plan, print, values), shares.inner, R), R);
        sum = addmod(mulmod(sum, shares.next, R), mulmod(lossFault(print, values), shares.last, R), R);
        sum = addmod(mulmod(sum, shares.next, R), mulmod(backFault(print, values), shares.inner, R), R);
        sum = addmod(mulmod(sum, shares.next, R), mulmod(forthFault(print, values, shares.tag), shares.all, R), R);
    }

    function rounds(SegmentRun.Run memory run, uint256 rho) private pure returns (uint256 claim) {
        unchecked {
            (uint256 count, uint256 more) = (run.rBits, run.plan.listBits);
            run.r = Cube.room(count);
            (run.state, claim) = Cube.zeroRounds(run.state, run.next, ROUND, rho, count, DEGREE - 1, run.r);
            run.next += 32 * (DEGREE - 1) * count;
            uint256 point = Cube.room(more);
            claim = run.sum(ROUND, more, DEGREE, claim, point);
            run.among = Cube.eqs(point, more);
        }
    }

    /// With one link there are no values of links but the last. Each value but z and q is a claim.
    function read(SegmentRun.Run memory run) private pure returns (Values memory values) {
        unchecked {
            bool isSingle = run.plan.links == 1;
            uint256 from = run.message(VALUES, isSingle ? 12 : 20);
            uint256 list = run.values;
            // Of inner links: a, m, d, lowBack, helperBack, q, last, biasHelper.
            uint256 missing = isSingle ? 0x33c6 : 0;
            uint256 claim = 0;
            for (uint256 i = 0; i < 20; i++) {
                uint256 value = 0;
                if ((missing >> i) & 1 == 0) {
                    assembly ("memory-safe") {
                        value := calldataload(from)
                        mstore(add(values, shl(5, i)), value)
                    }
                    from += 32;
                }
                if (i == 5 || i == 9) continue;
                list.set(claim++, value);
                // What is lost at the end follows from no value.
                if (claim == SegmentRun.LOSS) claim++;
            }
        }
    }

    function sharesOf(SegmentRun.Run memory run, uint256 gamma) private pure returns (Shares memory shares) {
        unchecked {
            uint256 power = 1;
            (uint256 links, uint256 tables, uint256 among) = (run.plan.links, run.plan.tables, run.among);
            for (uint256 i = 0; i < run.plan.stride; i++) {
                uint256 share = mulmod(power, among.get(i), R);
                if (i < tables) shares.tables = addmod(shares.tables, share, R);
                if (i < links) shares.all = addmod(shares.all, share, R);
                if (i + 1 < links) {
                    shares.inner = addmod(shares.inner, share, R);
                    shares.tag = addmod(shares.tag, mulmod(among.get(i), tables - 2, R), R);
                }
                if (i + 1 == links) {
                    shares.last = share;
                    shares.tag = addmod(shares.tag, mulmod(among.get(i), tables - 1, R), R);
                }
                power = mulmod(power, gamma, R);
            }
            shares.next = gamma;
            for (uint256 i = run.plan.listBits; i > 0; i--) shares.next = mulmod(shares.next, shares.next, R);
        }
    }

    function fingerprint(ZkPlan.Plan memory plan, uint256 alpha, uint256 beta) private pure returns (Fingerprint memory print) {
        unchecked {
            (print.alpha, print.beta) = (alpha, beta);
            print.beta2 = mulmod(beta, beta, R);
            print.beta3 = mulmod(print.beta2, beta, R);
            (print.lowTag, print.highTag, print.hTag, print.dTag) = (plan.lowTag, plan.highTag, plan.tables - 1, plan.dTag);
            print.half = 1 << (plan.scale - 1);
            print.whole = 1 << plan.scale;
            print.shift = plan.lowShift;
        }
    }

    /// α less the fingerprint of a row of one number.
    function part(Fingerprint memory print, uint256 tag, uint256 value) private pure returns (uint256) {
        unchecked {
            return addmod(print.alpha, R - addmod(tag, mulmod(print.beta, value, R), R), R);
        }
    }

    /// helper = 1/a + 1/b + 1/c, as a product that must be 0.
    function fraction(uint256 helper, uint256 a, uint256 b, uint256 c) private pure returns (uint256) {
        unchecked {
            uint256 ab = mulmod(a, b, R);
            uint256 others = addmod(ab, mulmod(addmod(a, b, R), c, R), R);
            return addmod(mulmod(helper, mulmod(ab, c, R), R), R - others, R);
        }
    }

    /// What rounding lost, less its lower bits: (sum + half - whole·rounded - low)/2^lowBits.
    function high(Fingerprint memory print, uint256 sum, uint256 rounded, uint256 low) private pure returns (uint256) {
        unchecked {
            uint256 lost = addmod(sum, R - addmod(mulmod(print.whole, rounded, R), low, R), R);
            return mulmod(lost, print.shift, R);
        }
    }

    /// Rounding and relu of z; the last link's units have no relu.
    function forthFault(Fingerprint memory print, Values memory values, uint256 tag) private pure returns (uint256) {
        unchecked {
            uint256 row = addmod(tag, mulmod(print.beta, values.h, R), R);
            row = addmod(row, mulmod(print.beta2, values.a, R), R);
            row = addmod(row, mulmod(print.beta3, values.m, R), R);
            uint256 rest = high(print, addmod(values.z, print.half, R), values.h, values.low);
            return fraction(
                values.helper,
                part(print, print.lowTag, values.low),
                part(print, print.highTag, rest),
                addmod(print.alpha, R - row, R)
            );
        }
    }

    function backFault(Fingerprint memory print, Values memory values) private pure returns (uint256) {
        uint256 rest =
            high(print, mulmod(values.m, addmod(values.q, print.half, R), R), values.d, values.lowBack);
        return fraction(
            values.helperBack,
            part(print, print.dTag, values.d),
            part(print, print.lowTag, values.lowBack),
            part(print, print.highTag, rest)
        );
    }

    function lossFault(Fingerprint memory print, Values memory values) private pure returns (uint256) {
        unchecked {
            return addmod(mulmod(values.lossHelper, part(print, print.dTag, values.lossD), R), R - 1, R);
        }
    }

    /// What enters the next link in its last column is not clamped either.
    function biasFault(ZkPlan.Plan memory plan, Fingerprint memory print, Values memory values) private pure returns (uint256) {
        unchecked {
            uint256 entering = addmod(values.last, 1 << plan.activation, R);
            return addmod(mulmod(values.biasHelper, part(print, print.hTag, entering), R), R - 1, R);
        }
    }

    /// Weights at the segment's end in three limbs, the highest of which is computed.
    function weightFault(ZkPlan.Plan memory plan, Fingerprint memory print, Values memory values)
        private
        pure
        returns (uint256)
    {
        unchecked {
            uint256 low = addmod(values.limb0, mulmod(1 << plan.limb0, values.limb1, R), R);
            uint256 rest = addmod(values.afterValue, 1 << (plan.limb0 + plan.limb1 + plan.limb2 - 1), R);
            rest = mulmod(addmod(rest, R - low, R), plan.limbShift, R);
            return fraction(
                values.weightHelper,
                part(print, plan.limbTag0, values.limb0),
                part(print, plan.limbTag1, values.limb1),
                part(print, plan.limbTag2, rest)
            );
        }
    }

    function tableFault(SegmentRun.Run memory run, Fingerprint memory print, Values memory values)
        private
        pure
        returns (uint256)
    {
        unchecked {
            uint256 rows = 0;
            (uint256 tables, uint256 list, uint256 among) = (run.plan.tables, run.plan.tableBits, run.among);
            for (uint256 i = 0; i < tables; i++) {
                uint256 bits = list.get(i);
                uint256 row = rowOf(print, run.endOfR(bits), bits, i + 3 == tables, i + 3 >= tables);
                row = addmod(print.alpha, R - addmod(i + 1, row, R), R);
                rows = addmod(rows, mulmod(among.get(i), row, R), R);
            }
            return addmod(mulmod(values.tableHelper, rows, R), R - values.multiplicity, R);
        }
    }

    /// What a table holds at a point, up to three numbers, by powers of β. Range: 0 … 2^bits - 1. Signed: ±(2^(bits-1) - 1), the last row zeros. Relu:
    /// (h, max(h, 0), h > 0) of h of `signed`.
    function rowOf(Fingerprint memory print, uint256 point, uint256 bits, bool isRelu, bool isSigned)
        private
        pure
        returns (uint256)
    {
        unchecked {
            (uint256 number, uint256 last) = numberAt(point, bits);
            if (!isSigned) return mulmod(print.beta, number, R);
            uint256 half = 1 << (bits - 1);
            // The last row would be 2^(bits - 1).
            uint256 gone = mulmod(last, half, R);
            uint256 row = mulmod(print.beta, addmod(number, R - addmod(half - 1, gone, R), R), R);
            if (!isRelu) return row;
            uint256 top = point.get(0);
            // Without the top bit: the number of the others.
            number = addmod(number, R - mulmod(top, half, R), R);
            number = addmod(mulmod(top, addmod(1, number, R), R), R - gone, R);
            row = addmod(row, mulmod(print.beta2, number, R), R);
            return addmod(row, mulmod(print.beta3, addmod(top, R - last, R), R), R);
        }
    }

    /// The number of a corner, and 1 at the last one alone.
    function numberAt(uint256 point, uint256 bits) private pure returns (uint256 whole, uint256 last) {
        assembly ("memory-safe") {
            last := 1
            for { let end := add(point, shl(5, bits)) } lt(point, end) { point := add(point, 0x20) } {
                let one := mload(point)
                whole := addmod(add(whole, whole), one, R)
                last := mulmod(last, one, R)
            }
        }
    }
}
