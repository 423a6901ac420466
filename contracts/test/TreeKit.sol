// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard} from "../src/epochs/IScoreboard.sol";

/// The prover's side of both keccak trees, for tests: builds whole trees in memory and opens them. Shares no
/// code with src.
library TreeKit {
    function node(bytes32 left, bytes32 right) internal pure returns (bytes32) {
        return keccak256(bytes.concat(hex"01", left, right));
    }

    /// Root and the path of one index.
    function climb(bytes32[] memory level, uint256 index) internal pure returns (bytes32 root, bytes32[] memory path) {
        if (level.length == 0) return (0, path);
        bytes32[] memory found = new bytes32[](64);
        uint256 used = 0;
        while (level.length > 1) {
            bytes32[] memory above = new bytes32[]((level.length + 1) / 2);
            for (uint256 i = 0; i < above.length; i++) {
                above[i] = 2 * i + 1 < level.length ? node(level[2 * i], level[2 * i + 1]) : level[2 * i];
            }
            uint256 sibling = index % 2 == 0 ? index + 1 : index - 1;
            if (sibling < level.length) found[used++] = level[sibling];
            index /= 2;
            level = above;
        }
        path = new bytes32[](used);
        for (uint256 i = 0; i < used; i++) path[i] = found[i];
        root = level[0];
    }

    function hashes(IScoreboard.ScoreLeaf[] memory leaves) internal pure returns (bytes32[] memory all) {
        all = new bytes32[](leaves.length);
        for (uint256 i = 0; i < leaves.length; i++) {
            all[i] = keccak256(
                bytes.concat(
                    hex"00",
                    bytes20(leaves[i].provider),
                    bytes4(leaves[i].scorePpm),
                    leaves[i].evidenceSha256
                )
            );
        }
    }

    function hashes(IScoreboard.WeightLeaf[] memory leaves) internal pure returns (bytes32[] memory all) {
        all = new bytes32[](leaves.length);
        for (uint256 i = 0; i < leaves.length; i++) {
            all[i] = keccak256(
                bytes.concat(
                    hex"00",
                    bytes20(leaves[i].provider),
                    bytes4(leaves[i].weightPpm),
                    bytes8(leaves[i].weightBefore),
                    bytes16(leaves[i].amountBefore)
                )
            );
        }
    }

    function reportRoot(IScoreboard.ScoreLeaf[] memory leaves) internal pure returns (bytes32) {
        (bytes32 root,) = climb(hashes(leaves), 0);
        return keccak256(bytes.concat(hex"02", bytes4(uint32(leaves.length)), root));
    }

    function scoreAt(IScoreboard.ScoreLeaf[] memory leaves, uint256 index)
        internal
        pure
        returns (IScoreboard.ScoreOpening memory)
    {
        (, bytes32[] memory path) = climb(hashes(leaves), index);
        return IScoreboard.ScoreOpening(uint32(index), leaves[index], path);
    }

    function weightAt(IScoreboard.WeightLeaf[] memory leaves, uint256 index)
        internal
        pure
        returns (IScoreboard.WeightOpening memory)
    {
        (, bytes32[] memory path) = climb(hashes(leaves), index);
        return IScoreboard.WeightOpening(uint32(index), leaves[index], path);
    }

    /// Which leaves show what a sorted list says of a provider: from `first`, `count` of them.
    function places(address[] memory sorted, address provider) internal pure returns (uint256 first, uint256 count) {
        uint256 place = 0;
        while (place < sorted.length && sorted[place] < provider) place++;
        if (sorted.length == 0) return (0, 0);
        if (place < sorted.length && sorted[place] == provider) return (place, 1);
        if (place == 0) return (0, 1);
        if (place == sorted.length) return (place - 1, 1);
        return (place - 1, 2);
    }

    function open(address validator, IScoreboard.ScoreLeaf[] memory leaves, address provider)
        internal
        pure
        returns (IScoreboard.ReportOpening memory report)
    {
        address[] memory sorted = new address[](leaves.length);
        for (uint256 i = 0; i < leaves.length; i++) sorted[i] = leaves[i].provider;
        (uint256 first, uint256 count) = places(sorted, provider);
        report.validator = validator;
        report.count = uint32(leaves.length);
        report.openings = new IScoreboard.ScoreOpening[](count);
        for (uint256 i = 0; i < count; i++) report.openings[i] = scoreAt(leaves, first + i);
    }

    function open(IScoreboard.WeightLeaf[] memory leaves, address provider)
        internal
        pure
        returns (IScoreboard.WeightOpening[] memory openings)
    {
        address[] memory sorted = new address[](leaves.length);
        for (uint256 i = 0; i < leaves.length; i++) sorted[i] = leaves[i].provider;
        (uint256 first, uint256 count) = places(sorted, provider);
        openings = new IScoreboard.WeightOpening[](count);
        for (uint256 i = 0; i < count; i++) openings[i] = weightAt(leaves, first + i);
    }

    /// The honest proposal: largest remainders as src/market/epochs/reward-shares.ts, the plain way. Weights
    /// are above 0, providers ascend.
    function propose(address[] memory providers, uint32[] memory weights, uint128 emission)
        internal
        pure
        returns (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts)
    {
        uint256 length = providers.length;
        leaves = new IScoreboard.WeightLeaf[](length);
        amounts = new uint128[](length);
        proposal.emission = emission;
        if (length == 0) return (proposal, leaves, amounts);
        for (uint256 i = 0; i < length; i++) proposal.totalWeight += weights[i];
        uint256[] memory remainders = new uint256[](length);
        uint128 left = emission;
        for (uint256 i = 0; i < length; i++) {
            uint256 exact = uint256(emission) * weights[i];
            amounts[i] = uint128(exact / proposal.totalWeight);
            remainders[i] = exact % proposal.totalWeight;
            left -= amounts[i];
        }
        proposal.thresholdRemainder = proposal.totalWeight;
        bool[] memory lucky = new bool[](length);
        for (; left > 0; left--) {
            uint256 best = length;
            for (uint256 i = 0; i < length; i++) {
                if (!lucky[i] && (best == length || remainders[i] > remainders[best])) best = i;
            }
            lucky[best] = true;
            amounts[best]++;
            (proposal.thresholdRemainder, proposal.thresholdProvider) = (uint64(remainders[best]), providers[best]);
        }
        uint64 weightBefore = 0;
        uint128 amountBefore = 0;
        for (uint256 i = 0; i < length; i++) {
            leaves[i] = IScoreboard.WeightLeaf(providers[i], weights[i], weightBefore, amountBefore);
            weightBefore += weights[i];
            amountBefore += amounts[i];
        }
        proposal.count = uint32(length);
        (proposal.root,) = climb(hashes(leaves), 0);
    }
}
