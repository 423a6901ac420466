// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Cube} from "./Cube.sol";
import {
    AFTER_VALUE,
    AMONG,
    FIELD,
    LAYER_BEFORE,
    LAYER_LAST,
    LAYER_R_CORNER,
    LAYER_RECORD,
    LAYER_SHARE,
    LAYER_SIZE,
    LAYER_S_CORNER,
    NU,
    PAIR_BACK,
    PAIR_FORTH,
    PAIR_OUT,
    PAIR_RECORD,
    PRODUCTS,
    P_ACTIVATION,
    P_LAYER_LIST,
    P_LAYER_RECORDS,
    P_LINKS,
    P_LINK_LIST,
    P_PAIR_LIST,
    P_PAIR_RECORDS,
    P_PLACE_SIZE,
    P_PRODUCT_BITS,
    P_STEP_SIZE,
    P_S_BITS,
    P_USE_BITS,
    Q,
    R_END,
    S_END,
    T_AT,
    USES,
    VALUES,
    WEIGHT,
    Z,
    read,
    times
} from "./Layout.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// The second and third sum of a segment's proof, docs/zk.md §5: z and q are products with the weights of
/// their step, and these are the weights at the start less what the steps before took away; so are the
/// weights at the end. The twin of src/verify/zk/check-products.ts. Memory is that of Layout.sol. What links
/// of the same sizes share is found once, in the records of layers and of pairs of layers.
library SegmentProducts {
    uint256 private constant PRODUCT_ROUND = 5;
    uint256 private constant PRODUCT_VALUES = 6;
    uint256 private constant WEIGHT_START = 7;
    uint256 private constant WEIGHT_ROUND = 8;
    uint256 private constant WEIGHT_VALUES = 9;

    /// @notice Thrown when a sum is not the product of activations or gradients and weights.
    error ProductsFalse();
    /// @notice Thrown when weights did not change by what the steps took away.
    error WeightsFalse();

    /// z = Σ a_in·W and q = Σ d·W, over steps and the inner axis.
    function checkProducts() internal pure {
        (uint256 mu, uint256 count, uint256 more) = (ZkTranscript.drawn(), read(P_S_BITS), read(P_PRODUCT_BITS));
        uint256 point = Cube.take(count + more);
        uint256 claim;
        assembly ("memory-safe") {
            let r := mload(FIELD)
            claim := addmod(mload(Z), mulmod(mu, mload(Q), r), r)
            mstore(S_END, add(point, shl(5, count)))
        }
        // Over the cube, then over the list.
        claim = Cube.cubicRounds(PRODUCT_ROUND, count + more, claim, point);
        uint256 products = Cube.eqs(point + 32 * count, more);
        uint256 from = ZkTranscript.next(PRODUCT_VALUES, 2);
        assembly ("memory-safe") {
            mstore(PRODUCTS, products)
            mstore(WEIGHT, calldataload(add(from, 0x20)))
        }
        findSteps();
        (uint256 kernel, uint256 biases) = productKernel(mu);
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let operand := calldataload(from)
            kernel := mulmod(kernel, mulmod(operand, mload(WEIGHT), r), r)
            // What is committed of what enters is without the biases.
            mstore(add(VALUES, 0x280), addmod(operand, sub(r, biases), r))
        }
        if (kernel != claim) revert ProductsFalse();
    }

    /// Of each layer: its last unit in the second sum, and the share of a sum over it. Of each pair: whether
    /// steps are the same.
    function findSteps() private pure {
        unchecked {
            uint256 list = read(P_LAYER_LIST);
            (uint256 end, uint256 steps) = (read(S_END), read(P_STEP_SIZE));
            uint256 pairs = read(P_PAIR_LIST);
            uint256 to = read(P_LAYER_RECORDS);
            uint256 most = 32 * read(P_S_BITS) - steps;
            for (; list < pairs; (list, to) = (list + 32, to + LAYER_RECORD)) {
                (uint256 last, uint256 size) = (read(list) >> 16, read(list) & 0xffff);
                uint256 corner = Cube.corner(last, end, size);
                assembly ("memory-safe") {
                    mstore(add(to, LAYER_LAST), last)
                    mstore(add(to, LAYER_SIZE), size)
                    mstore(add(to, LAYER_S_CORNER), corner)
                    // 1/2 for each variable that it does not have. A single link's outputs may have more than
                    // there are: nothing is summed over them.
                    let r := mload(FIELD)
                    let share := 1
                    for {} lt(size, most) { size := add(size, 0x20) } { share := mulmod(share, shr(1, add(r, 1)), r) }
                    mstore(add(to, LAYER_SHARE), share)
                }
            }
            uint256 links = read(P_LINK_LIST);
            for (to = read(P_PAIR_RECORDS); list < links; (list, to) = (list + 32, to + PAIR_RECORD)) {
                findPair(to, read(list) >> 16, read(list) & 0xffff, end - steps);
            }
        }
    }

    /// `end`: of the second sum's variables, but for so many as steps have.
    function findPair(uint256 to, uint256 inputs, uint256 outputs, uint256 end) private pure {
        unchecked {
            uint256 steps = read(P_STEP_SIZE);
            uint256 first = read(R_END) - read(P_PLACE_SIZE);
            (uint256 a, uint256 b) = (read(inputs + LAYER_SIZE), read(outputs + LAYER_SIZE));
            uint256 forth = times(Cube.eq(first - b, end - a, steps), read(inputs + LAYER_SHARE));
            uint256 back = a == b ? forth : times(Cube.eq(first - a, end - b, steps), read(outputs + LAYER_SHARE));
            assembly ("memory-safe") {
                mstore(to, inputs)
                mstore(add(to, PAIR_OUT), outputs)
                mstore(add(to, PAIR_FORTH), forth)
                mstore(add(to, PAIR_BACK), back)
            }
        }
    }

    /// Σ over products of weight in the list · factor of z or q · eq of the steps with its share; and what
    /// the biases of links but the first add to what enters.
    function productKernel(uint256 mu) private pure returns (uint256 kernel, uint256 biases) {
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let back := 0
            let at_ := mload(P_LINK_LIST)
            let among := mload(AMONG)
            let forths := mload(PRODUCTS)
            // Of q of the link before.
            let backs := shl(5, sub(mload(P_LINKS), 1))
            let pair := mload(add(at_, 0x20))
            kernel := mulmod(mulmod(mload(forths), mload(among), r), mload(add(pair, PAIR_FORTH)), r)
            for { let end := add(at_, shl(1, backs)) } lt(at_, end) {} {
                at_ := add(at_, 0x40)
                pair := mload(add(at_, 0x20))
                forths := add(forths, 0x20)
                back := addmod(back, mulmod(mulmod(mload(add(forths, backs)), mload(among), r), mload(add(pair, PAIR_BACK)), r), r)
                among := add(among, 0x20)
                let weight := mload(forths)
                kernel := addmod(kernel, mulmod(mulmod(weight, mload(among), r), mload(add(pair, PAIR_FORTH)), r), r)
                biases := addmod(biases, mulmod(weight, mload(add(mload(pair), LAYER_S_CORNER)), r), r)
            }
            kernel := addmod(kernel, mulmod(mu, back, r), r)
            biases := mulmod(biases, shl(mload(P_ACTIVATION), 1), r)
        }
    }

    /// W at a step = W at the start - Σ a_in·d over the steps before and the batch.
    function checkWeights() internal pure {
        (uint256 nu, uint256 size, uint256 more) = (ZkTranscript.drawn(), read(P_PLACE_SIZE), read(P_USE_BITS));
        uint256 from = ZkTranscript.next(WEIGHT_START, 1);
        uint256 point = Cube.take((size >> 5) + more);
        uint256 claim;
        assembly ("memory-safe") {
            let r := mload(FIELD)
            mstore(NU, nu)
            mstore(T_AT, point)
            // The start is a claim too.
            let start := calldataload(from)
            mstore(add(VALUES, 0x2a0), start)
            claim := add(start, sub(r, addmod(mload(WEIGHT), mulmod(nu, mload(AFTER_VALUE), r), r)))
            claim := mod(claim, r)
        }
        claim = Cube.cubicRounds(WEIGHT_ROUND, (size >> 5) + more, claim, point);
        uint256 uses = Cube.eqs(point + size, more);
        from = ZkTranscript.next(WEIGHT_VALUES, 2);
        assembly ("memory-safe") {
            mstore(USES, uses)
        }
        findBefore();
        (uint256 kernel, uint256 biases) = weightKernel();
        assembly ("memory-safe") {
            let r := mload(FIELD)
            let entering := calldataload(from)
            let d := calldataload(add(from, 0x20))
            mstore(add(VALUES, 0x2c0), addmod(entering, sub(r, biases), r))
            mstore(add(VALUES, 0x2e0), d)
            kernel := mulmod(kernel, mulmod(entering, d, r), r)
        }
        if (kernel != claim) revert WeightsFalse();
    }

    /// Of each layer: whether the step of the third sum is before that of a product over it, and its last
    /// unit in the first sum.
    function findBefore() private pure {
        unchecked {
            (uint256 steps, uint256 point, uint256 pairs) = (read(P_STEP_SIZE), read(T_AT), read(P_PAIR_RECORDS));
            for (uint256 to = read(P_LAYER_RECORDS); to < pairs; to += LAYER_RECORD) {
                uint256 size = read(to + LAYER_SIZE);
                uint256 before = Cube.isLess(point, read(S_END) - steps - size, steps);
                uint256 corner = Cube.corner(read(to), read(R_END), size);
                assembly ("memory-safe") {
                    mstore(add(to, LAYER_BEFORE), before)
                    mstore(add(to, LAYER_R_CORNER), corner)
                }
            }
        }
    }

    /// Σ over all uses of weights: forth, back, at the end, where all that the steps took away counts. And
    /// what the biases of links but the first add to what enters.
    function weightKernel() private pure returns (uint256 kernel, uint256 biases) {
        assembly ("memory-safe") {
            /// Of a link but the first, at this place of the list of the second sum, with these records: what
            /// it adds to both.
            function link(uses, products, backs, pair) -> one, more {
                let r := mload(FIELD)
                let inputs := mload(pair)
                let forth := mload(uses)
                let back := mload(add(uses, backs))
                // Those at the end stand behind all forth and back.
                let end := mload(add(uses, add(add(backs, backs), 0x20)))
                one := mulmod(mulmod(forth, mload(products), r), mload(add(inputs, LAYER_BEFORE)), r)
                let before := mload(add(mload(add(pair, PAIR_OUT)), LAYER_BEFORE))
                one := add(one, mulmod(mulmod(back, mload(add(products, backs)), r), before, r))
                more := mulmod(forth, mload(add(inputs, LAYER_S_CORNER)), r)
                more := add(more, mulmod(add(back, end), mload(add(inputs, LAYER_R_CORNER)), r))
            }
            let r := mload(FIELD)
            let at_ := add(mload(P_LINK_LIST), 0x20)
            let backs := shl(5, sub(mload(P_LINKS), 1))
            let uses := mload(USES)
            let products := mload(PRODUCTS)
            let among := mload(AMONG)
            kernel := mulmod(mulmod(mload(uses), mload(products), r), mload(add(mload(mload(at_)), LAYER_BEFORE)), r)
            let ends := mulmod(mload(add(uses, add(add(backs, backs), 0x20))), mload(among), r)
            for { let last := add(at_, shl(1, backs)) } lt(at_, last) {} {
                at_ := add(at_, 0x40)
                uses := add(uses, 0x20)
                products := add(products, 0x20)
                among := add(among, 0x20)
                let one, more := link(uses, products, backs, mload(at_))
                kernel := addmod(kernel, one, r)
                biases := addmod(biases, more, r)
                ends := addmod(ends, mulmod(mload(add(uses, add(add(backs, backs), 0x20))), mload(among), r), r)
            }
            kernel := addmod(kernel, mulmod(mload(NU), ends, r), r)
            biases := mulmod(biases, shl(mload(P_ACTIVATION), 1), r)
        }
    }
}
