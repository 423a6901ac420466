// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {KeccakTree} from "../trees/KeccakTree.sol";
import {IScoreboard} from "./IScoreboard.sol";

/// A proposal of weights: its tree, each provider's share of the emission, and what of it can be wrong
/// without any report in hand.
library WeightTree {
    uint32 internal constant PPM = 1_000_000;

    function leafHash(IScoreboard.WeightLeaf calldata leaf) internal pure returns (bytes32) {
        return keccak256(
            abi.encodePacked(bytes1(0x00), leaf.provider, leaf.weightPpm, leaf.weightBefore, leaf.amountBefore)
        );
    }

    function isIn(IScoreboard.Proposal calldata proposal, IScoreboard.WeightOpening calldata opening)
        internal
        pure
        returns (bool)
    {
        (bool possible, bytes32 root) =
            KeccakTree.rootFromPath(leafHash(opening.leaf), opening.index, proposal.count, opening.path);
        return possible && root == proposal.root;
    }

    /// Largest remainders, src/market/epochs/reward-shares.ts, decided by the proposal's threshold.
    /// INVARIANT: over the leaves of a proposal that cannot be disputed the shares sum to the emission, to
    /// the unit.
    function shareOf(IScoreboard.Proposal calldata proposal, address provider, uint32 weightPpm)
        internal
        pure
        returns (uint128)
    {
        uint256 exact = uint256(proposal.emission) * weightPpm;
        uint256 remainder = exact % proposal.totalWeight;
        bool oneMore = remainder > proposal.thresholdRemainder
            || (remainder == proposal.thresholdRemainder && provider <= proposal.thresholdProvider);
        return uint128(exact / proposal.totalWeight) + (oneMore ? 1 : 0);
    }

    /// The weight the proposal gives a provider: its leaf's, or 0 when the openings leave no room for it.
    function weightOf(
        IScoreboard.Proposal calldata proposal,
        address provider,
        IScoreboard.WeightOpening[] calldata openings
    ) internal pure returns (uint32) {
        if ((openings.length == 0) != (proposal.count == 0) || openings.length > 2) revert IScoreboard.OpeningInvalid();
        for (uint256 i = 0; i < openings.length; i++) {
            if (!isIn(proposal, openings[i])) revert IScoreboard.OpeningInvalid();
        }
        if (proposal.count == 0) return 0;
        IScoreboard.WeightOpening calldata first = openings[0];
        if (openings.length == 1) {
            address there = first.leaf.provider;
            if (there == provider) return first.leaf.weightPpm;
            if (first.index == 0 && provider < there) return 0;
            if (first.index == proposal.count - 1 && provider > there) return 0;
            revert IScoreboard.OpeningInvalid();
        }
        IScoreboard.WeightOpening calldata second = openings[1];
        if (
            second.index != first.index + 1 || provider <= first.leaf.provider || provider >= second.leaf.provider
        ) revert IScoreboard.OpeningInvalid();
        return 0;
    }

    /// Do these openings (one, or two neighbours) contradict the proposal's own rules? Sums are compared in
    /// 256 bits.
    function isMisshapen(IScoreboard.Proposal calldata proposal, IScoreboard.WeightOpening[] calldata openings)
        internal
        pure
        returns (bool)
    {
        if (openings.length == 0 || openings.length > 2) revert IScoreboard.OpeningInvalid();
        for (uint256 i = 0; i < openings.length; i++) {
            if (!isIn(proposal, openings[i])) revert IScoreboard.OpeningInvalid();
        }
        IScoreboard.WeightOpening calldata first = openings[0];
        IScoreboard.WeightLeaf calldata leaf = first.leaf;
        if (leaf.weightPpm == 0 || leaf.weightPpm > PPM) return true;
        if (first.index == 0 && (leaf.weightBefore != 0 || leaf.amountBefore != 0)) return true;
        uint256 weightAfter = uint256(leaf.weightBefore) + leaf.weightPpm;
        uint256 amountAfter = uint256(leaf.amountBefore) + shareOf(proposal, leaf.provider, leaf.weightPpm);
        if (first.index == proposal.count - 1) {
            return weightAfter != proposal.totalWeight || amountAfter != proposal.emission;
        }
        if (openings.length == 1) return false;
        IScoreboard.WeightOpening calldata second = openings[1];
        if (second.index != first.index + 1) revert IScoreboard.OpeningInvalid();
        return second.leaf.provider <= leaf.provider || second.leaf.weightBefore != weightAfter
            || second.leaf.amountBefore != amountAfter;
    }
}
