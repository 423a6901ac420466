// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {KeccakTree} from "../trees/KeccakTree.sol";
import {IScoreboard} from "./IScoreboard.sol";

/// Weights that validators sign: their tree, what of it can be wrong without any report in hand, and what an
/// account earns. Mirrored by src/market/epochs/.
library WeightTree {
    uint32 private constant PPM = 1_000_000;

    function leafHash(IScoreboard.RewardLeaf calldata leaf) internal pure returns (bytes32) {
        return keccak256(
            abi.encodePacked(
                bytes1(0x00), leaf.account, leaf.weightPpm, leaf.weightBefore, leaf.earned, leaf.earnedBefore, leaf.total
            )
        );
    }

    function isIn(IScoreboard.Weights calldata weights, IScoreboard.RewardOpening calldata opening)
        internal
        pure
        returns (bool)
    {
        (bool possible, bytes32 root) =
            KeccakTree.rootFromPath(leafHash(opening.leaf), opening.index, weights.count, opening.path);
        return possible && root == weights.root;
    }

    /// What the weights say of an account: its leaf, or zeros when the openings leave no room for it.
    /// INVARIANT: in a sorted tree exactly one answer can be opened for an account.
    function leafOf(
        IScoreboard.Weights calldata weights,
        address account,
        IScoreboard.RewardOpening[] calldata opened
    ) internal pure returns (IScoreboard.RewardLeaf memory leaf) {
        mustBeIn(weights, opened);
        if (weights.count == 0) return leaf;
        IScoreboard.RewardOpening calldata first = opened[0];
        address there = first.leaf.account;
        if (opened.length == 1) {
            if (there == account) return first.leaf;
            if (first.index == 0 && account < there) return leaf;
            if (first.index == weights.count - 1 && account > there) return leaf;
            revert IScoreboard.OpeningInvalid();
        }
        IScoreboard.RewardOpening calldata second = opened[1];
        if (second.index != first.index + 1 || account <= there || account >= second.leaf.account) {
            revert IScoreboard.OpeningInvalid();
        }
    }

    /// Without leaves there is nothing to sum and no root.
    function isHollow(IScoreboard.Weights calldata weights) internal pure returns (bool) {
        return weights.count == 0 && (weights.totalWeight != 0 || weights.paid != 0 || weights.root != 0);
    }

    /// Do these openings (one, or two neighbours; none of weights without leaves) contradict each other or
    /// the statement's sums? Sums are compared in 256 bits.
    function isMisshapen(IScoreboard.Weights calldata weights, IScoreboard.RewardOpening[] calldata opened)
        internal
        pure
        returns (bool)
    {
        if (weights.count == 0 && opened.length == 0) return isHollow(weights);
        mustBeIn(weights, opened);
        IScoreboard.RewardOpening calldata first = opened[0];
        IScoreboard.RewardLeaf calldata leaf = first.leaf;
        if (leaf.weightPpm > PPM) return true;
        // Listed for nothing.
        if (leaf.weightPpm == 0 && leaf.total == 0) return true;
        if (first.index == 0 && (leaf.weightBefore != 0 || leaf.earnedBefore != 0)) return true;
        uint256 weightAfter = uint256(leaf.weightBefore) + leaf.weightPpm;
        uint256 earnedAfter = uint256(leaf.earnedBefore) + leaf.earned;
        if (first.index == weights.count - 1) {
            return weightAfter != weights.totalWeight || earnedAfter != weights.paid;
        }
        if (opened.length == 1) return false;
        IScoreboard.RewardOpening calldata second = opened[1];
        if (second.index != first.index + 1) revert IScoreboard.OpeningInvalid();
        return second.leaf.account <= leaf.account || second.leaf.weightBefore != weightAfter
            || second.leaf.earnedBefore != earnedAfter;
    }

    /// What an account earns of a pot: by weight, and by stake when its report counts. Always rounded down:
    /// the sum over all accounts is never more than the pot.
    function earnedOf(
        uint128 pot,
        uint32 validatorPpm,
        uint32 weightPpm,
        uint64 fullWeight,
        uint128 stake,
        uint128 setStake
    ) internal pure returns (uint256 earned) {
        uint256 forValidators = uint256(pot) * validatorPpm / PPM;
        // Sums of 0 beside a weight or a stake are another fault of the statement.
        if (fullWeight != 0) earned = (pot - forValidators) * weightPpm / fullWeight;
        if (setStake != 0) earned += forValidators * stake / setStake;
    }

    /// One or two leaves of the tree; none of an empty one.
    function mustBeIn(IScoreboard.Weights calldata weights, IScoreboard.RewardOpening[] calldata opened) private pure {
        if ((opened.length == 0) != (weights.count == 0) || opened.length > 2) revert IScoreboard.OpeningInvalid();
        for (uint256 i = 0; i < opened.length; i++) {
            if (!isIn(weights, opened[i])) revert IScoreboard.OpeningInvalid();
        }
    }
}
