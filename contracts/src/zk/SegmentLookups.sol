// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Cube} from "./Cube.sol";
import {
    AFTER_VALUE,
    ALPHA,
    AMONG,
    BETA,
    FIELD,
    P_ACTIVATION,
    P_D_TAG,
    P_HIGH_TAG,
    P_LIMB0,
    P_LIMB1,
    P_LIMB2,
    P_LIMB_SHIFT,
    P_LIMB_TAG0,
    P_LIMB_TAG1,
    P_LIMB_TAG2,
    P_LINKS,
    P_LIST_BITS,
    P_LOW_SHIFT,
    P_LOW_TAG,
    P_R_BITS,
    P_SCALE,
    P_TABLES,
    P_TABLE_BITS,
    P_TABLE_LIST,
    Q,
    R_END,
    VALUES,
    Z,
    read
} from "./Layout.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// The first sum of a segment's proof, docs/zk.md §5: every value that must lie in a table does, and every
/// helper is what it is said to be. The twin of src/verify/zk/check-lookups.ts. Memory is that of Layout.sol;
/// values are known by the numbers of their claims (SegmentClaims).
library SegmentLookups {
    uint256 private constant ROUND = 3;
    uint256 private constant TOLD = 4;

    /// Sums of γ^i · the weight of a list's member, over all links but the last, the last, and all tables;
    /// and γ^(length of the list).
    struct Shares {
        uint256 inner;
        uint256 last;
        uint256 tables;
        uint256 next;
        /// Without γ: number of the table in which units are looked up, that of relu for all links but the
        /// last.
        uint256 tag;
    }

    /// @notice Thrown when a value lies in no table, or was rounded in another way.
    error LookupsFalse();

    function check() internal pure {
        (uint256 count, uint256 more) = (read(P_R_BITS), read(P_LIST_BITS));
        // ρ, and γ behind it.
        uint256 rho = ZkTranscript.draw(count + 1);
        uint256 point = Cube.take(count + more);
        uint256 claim = Cube.zeroRounds(ROUND, rho, count, point);
        claim = Cube.sixthRounds(ROUND, more, claim, point + 32 * count);
        uint256 among = Cube.eqs(point + 32 * count, more);
        assembly ("memory-safe") {
            mstore(R_END, add(point, shl(5, count)))
            mstore(AMONG, among)
        }
        readValues();
        if (faults(sharesOf(read(rho + 32 * count)), tableFault()) != claim) revert LookupsFalse();
    }

    /// Each value but z and q is a claim. With one link there are no values of links but the last: they stay
    /// 0.
    function readValues() private pure {
        bool isSingle = read(P_LINKS) == 1;
        uint256 from = ZkTranscript.next(TOLD, isSingle ? 12 : 20);
        assembly ("memory-safe") {
            switch isSingle
            case 0 {
                // h, a, m, low, helper; z; d, lowBack, helperBack; q; d and helperBack of the last link.
                calldatacopy(VALUES, from, 0xa0)
                mstore(Z, calldataload(add(from, 0xa0)))
                calldatacopy(add(VALUES, 0xa0), add(from, 0xc0), 0x60)
                mstore(Q, calldataload(add(from, 0x120)))
                calldatacopy(add(VALUES, 0x100), add(from, 0x140), 0x40)
                // What is lost at the end follows from no value. a of the last column, biasHelper; after,
                // limb0, limb1, weightHelper; multiplicity, tableHelper.
                calldatacopy(add(VALUES, 0x160), add(from, 0x180), 0x100)
            }
            default {
                mstore(VALUES, calldataload(from))
                calldatacopy(add(VALUES, 0x60), add(from, 0x20), 0x40)
                mstore(Z, calldataload(add(from, 0x60)))
                calldatacopy(add(VALUES, 0x100), add(from, 0x80), 0x40)
                calldatacopy(add(VALUES, 0x1a0), add(from, 0xc0), 0xc0)
            }
            mstore(AFTER_VALUE, mload(add(VALUES, 0x1a0)))
        }
    }

    function sharesOf(uint256 gamma) private pure returns (Shares memory shares) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let tables := mload(P_TABLES)
            let among := mload(AMONG)
            let power := 1
            let sum := 0
            let tag := 0
            let at_ := among
            // All links but the last.
            for { let last := add(among, shl(5, sub(mload(P_LINKS), 1))) } lt(at_, last) { at_ := add(at_, 0x20) } {
                let one := mload(at_)
                tag := addmod(tag, one, r)
                sum := addmod(sum, mulmod(power, one, r), r)
                power := mulmod(power, gamma, r)
            }
            mstore(shares, sum)
            let one := mload(at_)
            mstore(add(shares, 0x20), mulmod(power, one, r))
            mstore(add(shares, 0x80), addmod(mulmod(tag, sub(tables, 2), r), mulmod(one, sub(tables, 1), r), r))
            power := 1
            sum := 0
            at_ := among
            for { let end := add(among, shl(5, tables)) } lt(at_, end) { at_ := add(at_, 0x20) } {
                sum := addmod(sum, mulmod(power, mload(at_), r), r)
                power := mulmod(power, gamma, r)
            }
            mstore(add(shares, 0x40), sum)
            for { let i := mload(P_LIST_BITS) } i { i := sub(i, 1) } { gamma := mulmod(gamma, gamma, r) }
            mstore(add(shares, 0x60), gamma)
        }
    }

    /// Everything that must be 0, by powers of γ.
    function faults(Shares memory shares, uint256 table) private pure returns (uint256 sum) {
        (uint256 weight, uint256 bias, uint256 loss) = (weightFault(), biasFault(), lossFault());
        (uint256 back, uint256 forth) = (backFault(), forthFault(shares.tag));
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let inner := mload(shares)
            let last := mload(add(shares, 0x20))
            let all := add(inner, last)
            let next := mload(add(shares, 0x60))
            sum := mulmod(table, mload(add(shares, 0x40)), r)
            sum := add(mulmod(sum, next, r), mulmod(weight, all, r))
            sum := add(mulmod(sum, next, r), mulmod(bias, inner, r))
            sum := add(mulmod(sum, next, r), mulmod(loss, last, r))
            sum := add(mulmod(sum, next, r), mulmod(back, inner, r))
            sum := addmod(mulmod(sum, next, r), mulmod(forth, all, r), r)
        }
    }

    /// α less the fingerprint of a row of one number; not below r, but below 2r.
    function part(uint256 tag, uint256 value) private pure returns (uint256 rest) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            rest := add(mload(ALPHA), sub(r, addmod(tag, mulmod(mload(BETA), value, r), r)))
        }
    }

    /// helper = 1/a + 1/b + 1/c, as a product that must be 0.
    function fraction(uint256 helper, uint256 a, uint256 b, uint256 c) private pure returns (uint256 fault) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let ab := mulmod(a, b, r)
            let others := addmod(ab, mulmod(add(a, b), c, r), r)
            fault := addmod(mulmod(helper, mulmod(ab, c, r), r), sub(r, others), r)
        }
    }

    /// What rounding lost, less its lower bits: (sum - 2^scale·rounded - low)/2^lowBits.
    function high(uint256 sum, uint256 rounded, uint256 low) private pure returns (uint256 rest) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let lost := addmod(mulmod(shl(mload(P_SCALE), 1), rounded, r), low, r)
            rest := mulmod(add(sum, sub(r, lost)), mload(P_LOW_SHIFT), r)
        }
    }

    /// 2^(scale - 1): so that what is left is rounded to the nearest.
    function half() private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := shl(sub(mload(P_SCALE), 1), 1)
        }
    }

    function said(uint256 claim) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(add(VALUES, shl(5, claim)))
        }
    }

    /// Rounding and relu of z; the last link's units have no relu.
    function forthFault(uint256 tag) private pure returns (uint256) {
        unchecked {
            (uint256 h, uint256 low) = (said(0), said(3));
            uint256 relu;
            assembly ("memory-safe") {
                let r := mload(FIELD)
                let beta := mload(BETA)
                // h, a, m by powers of β.
                relu := add(mulmod(beta, mload(add(VALUES, 0x40)), r), mload(add(VALUES, 0x20)))
                relu := add(mulmod(beta, relu, r), h)
                relu := addmod(mulmod(beta, relu, r), tag, r)
                relu := add(mload(ALPHA), sub(r, relu))
            }
            uint256 rest = high(read(Z) + half(), h, low);
            return fraction(said(4), part(read(P_LOW_TAG), low), part(read(P_HIGH_TAG), rest), relu);
        }
    }

    function backFault() private pure returns (uint256) {
        unchecked {
            (uint256 d, uint256 low, uint256 sum) = (said(5), said(6), read(Q) + half());
            assembly ("memory-safe") {
                sum := mulmod(mload(add(VALUES, 0x40)), sum, mload(FIELD))
            }
            uint256 rest = high(sum, d, low);
            return fraction(said(7), part(read(P_D_TAG), d), part(read(P_LOW_TAG), low), part(read(P_HIGH_TAG), rest));
        }
    }

    /// helper = 1/a.
    function inverseFault(uint256 helper, uint256 a) private pure returns (uint256 fault) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            fault := addmod(mulmod(helper, a, r), sub(r, 1), r)
        }
    }

    function lossFault() private pure returns (uint256) {
        return inverseFault(said(9), part(read(P_D_TAG), said(8)));
    }

    /// What enters the next link in its last column is not clamped either.
    function biasFault() private pure returns (uint256) {
        unchecked {
            return inverseFault(said(12), part(read(P_TABLES) - 1, said(11) + (1 << read(P_ACTIVATION))));
        }
    }

    /// Weights at the segment's end in three limbs, the highest of which is computed.
    function weightFault() private pure returns (uint256) {
        unchecked {
            (uint256 limb0, uint256 limb1, uint256 rest) = (said(14), said(15), 0);
            assembly ("memory-safe") {
                let r := mload(FIELD)
                let bits := mload(P_LIMB0)
                let low := addmod(limb0, mulmod(shl(bits, 1), limb1, r), r)
                bits := add(bits, add(mload(P_LIMB1), mload(P_LIMB2)))
                rest := add(mload(add(VALUES, 0x1a0)), shl(sub(bits, 1), 1))
                rest := mulmod(add(rest, sub(r, low)), mload(P_LIMB_SHIFT), r)
            }
            return fraction(
                said(16),
                part(read(P_LIMB_TAG0), limb0),
                part(read(P_LIMB_TAG1), limb1),
                part(read(P_LIMB_TAG2), rest)
            );
        }
    }

    /// tableHelper·(α - row) = multiplicity, row by the tables' numbers where the first sum ended.
    function tableFault() private pure returns (uint256 fault) {
        (uint256 wholes, uint256 lasts) = numbersAt();
        assembly ("memory-safe") {
            /// What a table holds at a point, up to three numbers, by powers of β. Range: 0 … 2^bits - 1.
            /// Signed: ±(2^(bits-1) - 1), the last row zeros. Relu: (h, max(h, 0), h > 0) of h of `signed`.
            function signed(bits, whole, last, isRelu) -> row {
                let r := mload(FIELD)
                let beta := mload(BETA)
                let half_ := shl(sub(bits, 1), 1)
                // The last row would be 2^(bits - 1).
                let gone := mulmod(last, half_, r)
                row := add(whole, sub(r, addmod(sub(half_, 1), gone, r)))
                if isRelu {
                    let top := mload(sub(mload(R_END), shl(5, bits)))
                    // Without the top bit: the number of the others.
                    let rest := addmod(whole, sub(r, mulmod(top, half_, r)), r)
                    rest := add(mulmod(top, add(1, rest), r), sub(r, gone))
                    rest := add(rest, mulmod(beta, add(top, sub(r, last)), r))
                    row := add(row, mulmod(beta, rest, r))
                }
                row := mulmod(beta, row, r)
            }
            let r := mload(FIELD)
            let rows := 0
            let tables := mload(P_TABLES)
            let among := mload(AMONG)
            for { let i := 0 } lt(i, tables) {} {
                let bits := mload(add(mload(P_TABLE_LIST), shl(5, i)))
                bits := and(bits, 0xff)
                let whole := mload(add(wholes, shl(5, bits)))
                i := add(i, 1)
                switch gt(add(i, 3), tables)
                case 0 { whole := mulmod(mload(BETA), whole, r) }
                default { whole := signed(bits, whole, mload(add(lasts, shl(5, bits))), eq(add(i, 2), tables)) }
                // α less its row.
                whole := add(mload(ALPHA), sub(r, addmod(i, whole, r)))
                rows := addmod(rows, mulmod(mload(among), whole, r), r)
                among := add(among, 0x20)
            }
            fault := addmod(mulmod(mload(add(VALUES, 0x240)), rows, r), sub(r, mload(add(VALUES, 0x220))), r)
        }
    }

    /// Of the last k variables of the first sum, for each k up to the largest table's: the number of a
    /// corner, and 1 at the last one alone.
    function numbersAt() private pure returns (uint256 wholes, uint256 lasts) {
        uint256 count = read(P_TABLE_BITS);
        wholes = Cube.take(2 * (count + 1));
        lasts = wholes + 32 * (count + 1);
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let to := wholes
            let more := sub(lasts, wholes)
            let from := mload(R_END)
            let whole := 0
            let last := 1
            let power := 1
            mstore(to, 0)
            mstore(lasts, 1)
            for { count := add(to, shl(5, count)) } lt(to, count) {} {
                from := sub(from, 0x20)
                to := add(to, 0x20)
                let one := mload(from)
                whole := addmod(whole, mulmod(power, one, r), r)
                last := mulmod(last, one, r)
                mstore(to, whole)
                mstore(add(to, more), last)
                power := shl(1, power)
            }
        }
    }
}
