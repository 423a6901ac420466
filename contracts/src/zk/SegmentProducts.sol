// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Cube} from "./Cube.sol";
import {SegmentRun} from "./SegmentRun.sol";
import {ZkPlan} from "./ZkPlan.sol";
import {ZkTranscript} from "./ZkTranscript.sol";

/// The second and third sum of a segment's proof, docs/zk.md §5: z and q are products with the weights of their step, and these are the weights at the start
/// less what the steps before took away; so are the weights at the end. The twin of src/verify/zk/check-products.ts.
library SegmentProducts {
    using Cube for uint256;
    using SegmentRun for SegmentRun.Run;

    uint256 private constant R = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001;
    uint256 private constant DEGREE = 3;
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
    function checkProducts(SegmentRun.Run memory run) internal pure {
        unchecked {
            uint256 mu = ZkTranscript.drawn(run.state);
            run.sBits = run.plan.sBits;
            run.s = Cube.room(run.sBits);
            uint256 claim = run.sum(PRODUCT_ROUND, run.sBits, DEGREE, addmod(run.z, mulmod(mu, run.q, R), R), run.s);
            uint256 bits = ZkPlan.bitsFor(2 * run.plan.links - 1);
            uint256 point = Cube.room(bits);
            claim = run.sum(PRODUCT_ROUND, bits, DEGREE, claim, point);
            run.products = Cube.eqs(point, bits);
            uint256 from = run.message(PRODUCT_VALUES, 2);
            (uint256 operand, uint256 weight) = two(from);
            uint256 kernel = mulmod(productKernel(run, mu), mulmod(operand, weight, R), R);
            if (kernel != claim) revert ProductsFalse();
            run.weight = weight;
            run.values.set(SegmentRun.OPERAND, addmod(operand, R - enteringMore(run), R));
        }
    }

    /// Σ over products of weight in the list · factor of z or q · eq of the steps, divided by the corners of variables that a product does not have.
    function productKernel(SegmentRun.Run memory run, uint256 mu) private pure returns (uint256 kernel) {
        unchecked {
            uint256 links = run.plan.links;
            for (uint256 i = 0; i < links; i++) {
                uint256 one = mulmod(run.products.get(i), run.among.get(i), R);
                kernel = addmod(kernel, mulmod(one, sameStep(run, i, run.plan.layerBits.get(i)), R), R);
                if (i + 1 == links) break;
                one = mulmod(mu, mulmod(run.products.get(links + i), run.among.get(i), R), R);
                kernel = addmod(kernel, mulmod(one, sameStep(run, i, run.plan.layerBits.get(i + 2)), R), R);
            }
        }
    }

    /// `link`: whose z or q. `inner`: bits of the axis that is summed over.
    function sameStep(SegmentRun.Run memory run, uint256 link, uint256 inner) private pure returns (uint256) {
        unchecked {
            uint256 bits = run.plan.stepBits;
            uint256 same = Cube.keptEq(run.kept, run.endOfR(run.plan.unitBits.get(link)), run.endOfS(bits + inner), bits);
            return mulmod(same, Cube.unshift(run.sBits - bits - inner), R);
        }
    }

    /// What the biases of links but the first add to what enters products.
    function enteringMore(SegmentRun.Run memory run) private pure returns (uint256 more) {
        unchecked {
            for (uint256 i = 1; i < run.plan.links; i++) {
                uint256 bits = run.plan.layerBits.get(i);
                uint256 last = Cube.keptCorner(run.kept, run.plan.layers.get(i) - 1, run.endOfS(bits), bits);
                more = addmod(more, mulmod(run.products.get(i), last, R), R);
            }
            return mulmod(more, 1 << run.plan.activation, R);
        }
    }

    /// W at a step = W at the start - Σ a_in·d over the steps before and the batch.
    function checkWeights(SegmentRun.Run memory run) internal pure {
        unchecked {
            run.nu = ZkTranscript.drawn(run.state);
            uint256 value = addmod(run.weight, mulmod(run.nu, run.afterValue, R), R);
            (uint256 start,) = two(run.message(WEIGHT_START, 1));
            run.t = Cube.room(run.plan.places);
            uint256 claim = run.sum(WEIGHT_ROUND, run.plan.places, DEGREE, addmod(start, R - value, R), run.t);
            uint256 bits = ZkPlan.bitsFor(3 * run.plan.links - 1);
            uint256 point = Cube.room(bits);
            claim = run.sum(WEIGHT_ROUND, bits, DEGREE, claim, point);
            run.uses = Cube.eqs(point, bits);
            (uint256 entering, uint256 d) = two(run.message(WEIGHT_VALUES, 2));
            if (mulmod(weightKernel(run), mulmod(entering, d, R), R) != claim) revert WeightsFalse();
            run.values.set(SegmentRun.START, start);
            run.values.set(SegmentRun.ENTERING, addmod(entering, R - changingMore(run), R));
            run.values.set(SegmentRun.GRADIENT, d);
        }
    }

    function weightKernel(SegmentRun.Run memory run) private pure returns (uint256 kernel) {
        unchecked {
            uint256 links = run.plan.links;
            for (uint256 i = 0; i < links; i++) {
                uint256 one = mulmod(run.uses.get(i), run.products.get(i), R);
                kernel = addmod(kernel, mulmod(one, before(run, run.plan.layerBits.get(i)), R), R);
                // At the end, what all steps took away counts.
                one = mulmod(run.uses.get(2 * links - 1 + i), run.among.get(i), R);
                kernel = addmod(kernel, mulmod(one, run.nu, R), R);
                if (i + 1 == links) break;
                one = mulmod(run.uses.get(links + i), run.products.get(links + i), R);
                kernel = addmod(kernel, mulmod(one, before(run, run.plan.layerBits.get(i + 2)), R), R);
            }
        }
    }

    /// lt of the step of the third sum and that of a product.
    function before(SegmentRun.Run memory run, uint256 inner) private pure returns (uint256) {
        unchecked {
            uint256 bits = run.plan.stepBits;
            return Cube.isLess(run.t, run.endOfS(bits + inner), bits);
        }
    }

    /// What the biases of links but the first add to what enters changes.
    function changingMore(SegmentRun.Run memory run) private pure returns (uint256 more) {
        unchecked {
            uint256 links = run.plan.links;
            for (uint256 i = 1; i < links; i++) {
                uint256 bits = run.plan.layerBits.get(i);
                uint256 last = run.plan.layers.get(i) - 1;
                uint256 one = mulmod(run.uses.get(i), Cube.keptCorner(run.kept, last, run.endOfS(bits), bits), R);
                more = addmod(more, one, R);
                one = addmod(run.uses.get(links + i - 1), run.uses.get(2 * links - 1 + i), R);
                more = addmod(more, mulmod(one, Cube.keptCorner(run.kept, last, run.endOfR(bits), bits), R), R);
            }
            return mulmod(more, 1 << run.plan.activation, R);
        }
    }

    function two(uint256 from) private pure returns (uint256 a, uint256 b) {
        assembly ("memory-safe") {
            a := calldataload(from)
            b := calldataload(add(from, 0x20))
        }
    }
}
