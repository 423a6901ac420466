// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Cube} from "./Cube.sol";
import {RowOrder} from "./RowOrder.sol";
import {ZkPlan} from "./ZkPlan.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// What the parts of a verification of a segment share: the plan, the transcript, the proof's scalars, where each sum ended, and the claims about committed
/// columns that each part leaves for the last one. docs/zk.md §5. Fields that name points and lists are addresses in memory.
library SegmentRun {
    using Cube for uint256;

    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    // Claims, in their order.
    uint256 internal constant H = 0;
    uint256 internal constant A = 1;
    uint256 internal constant M = 2;
    uint256 internal constant LOW = 3;
    uint256 internal constant HELPER = 4;
    uint256 internal constant D = 5;
    uint256 internal constant LOW_BACK = 6;
    uint256 internal constant HELPER_BACK = 7;
    uint256 internal constant LOSS_D = 8;
    uint256 internal constant LOSS_HELPER = 9;
    uint256 internal constant LOSS = 10;
    uint256 internal constant LAST_COLUMN = 11;
    uint256 internal constant BIAS_HELPER = 12;
    uint256 internal constant AFTER = 13;
    uint256 internal constant LIMB0 = 14;
    uint256 internal constant LIMB1 = 15;
    uint256 internal constant WEIGHT_HELPER = 16;
    uint256 internal constant MULTIPLICITY = 17;
    uint256 internal constant TABLE_HELPER = 18;
    uint256 internal constant HELPER_SUM = 19;
    uint256 internal constant OPERAND = 20;
    uint256 internal constant START = 21;
    uint256 internal constant ENTERING = 22;
    uint256 internal constant GRADIENT = 23;
    /// Features, labels, weights at the start and at the end.
    uint256 internal constant BYTES = 24;
    uint256 internal constant CLAIMS = 28;
    /// Claims about links but the last: with one link there are none.
    uint256 internal constant INNER = 2 + 4 + 32 + 64 + 128 + 2048 + 4096;

    struct Run {
        ZkPlan.Plan plan;
        RowOrder.Order order;
        bytes32 state;
        /// Of the next scalar, in the calldata.
        uint256 next;
        /// Where the first sum ended: over the cube, and the weights of a list's members.
        uint256 r;
        uint256 rBits;
        uint256 among;
        /// The second: products.
        uint256 s;
        uint256 sBits;
        uint256 products;
        /// The third: weights. All uses of weights, in the order of their list.
        uint256 t;
        uint256 uses;
        uint256 nu;
        /// Of the bytes.
        uint256 byteBits;
        uint256 bytesAt;
        /// Values of z and q, and of the weights at the end and at their steps.
        uint256 z;
        uint256 q;
        uint256 afterValue;
        uint256 weight;
        /// Of each claim.
        uint256 values;
        /// For Cube.keptEq.
        uint256 kept;
    }

    /// The next scalars of the calldata, told to the transcript as one message.
    function message(Run memory run, uint256 kind, uint256 count) internal pure returns (uint256 from) {
        unchecked {
            from = run.next;
            run.state = ZkTranscript.heard(run.state, kind, from, 32 * count);
            run.next = from + 32 * count;
        }
    }

    function draw(Run memory run, uint256 count) internal pure returns (uint256 list) {
        list = Cube.room(count);
        bytes32 state = run.state;
        assembly ("memory-safe") {
            for { let to := list } lt(to, add(list, shl(5, count))) { to := add(to, 0x20) } {
                if gt(to, list) {
                    mstore(0x00, state)
                    mstore8(0x20, 0xff)
                    state := keccak256(0x00, 0x21)
                }
                mstore(to, mod(state, R))
            }
        }
        run.state = state;
    }

    /// Rounds of one sum. Returns what it must be where it ended.
    function sum(Run memory run, uint256 kind, uint256 count, uint256 degree, uint256 claim, uint256 to)
        internal
        pure
        returns (uint256 left)
    {
        unchecked {
            (run.state, left) = Cube.rounds(run.state, run.next, kind, count, degree, claim, to);
            run.next += 32 * degree * count;
        }
    }

    /// The last so many variables of the first and of the second sum's cube.
    function endOfR(Run memory run, uint256 count) internal pure returns (uint256) {
        unchecked {
            return run.r + 32 * (run.rBits - count);
        }
    }

    function endOfS(Run memory run, uint256 count) internal pure returns (uint256) {
        unchecked {
            return run.s + 32 * (run.sBits - count);
        }
    }
}
