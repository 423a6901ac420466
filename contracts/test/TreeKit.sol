// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IScoreboard, ReportRoot} from "../src/epochs/IScoreboard.sol";

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

    function hashes(IScoreboard.RewardLeaf[] memory leaves) internal pure returns (bytes32[] memory all) {
        all = new bytes32[](leaves.length);
        for (uint256 i = 0; i < leaves.length; i++) {
            all[i] = keccak256(
                bytes.concat(
                    hex"00",
                    bytes20(leaves[i].account),
                    bytes4(leaves[i].weightPpm),
                    bytes8(leaves[i].weightBefore),
                    bytes16(leaves[i].earned),
                    bytes16(leaves[i].earnedBefore),
                    bytes16(leaves[i].total)
                )
            );
        }
    }

    function reportRoot(IScoreboard.ScoreLeaf[] memory leaves) internal pure returns (ReportRoot) {
        (bytes32 root,) = climb(hashes(leaves), 0);
        return ReportRoot.wrap(keccak256(bytes.concat(hex"02", bytes4(uint32(leaves.length)), root)));
    }

    function scoreAt(IScoreboard.ScoreLeaf[] memory leaves, uint256 index)
        internal
        pure
        returns (IScoreboard.ScoreOpening memory)
    {
        (, bytes32[] memory path) = climb(hashes(leaves), index);
        return IScoreboard.ScoreOpening(uint32(index), leaves[index], path);
    }

    function rewardAt(IScoreboard.RewardLeaf[] memory leaves, uint256 index)
        internal
        pure
        returns (IScoreboard.RewardOpening memory)
    {
        (, bytes32[] memory path) = climb(hashes(leaves), index);
        return IScoreboard.RewardOpening(uint32(index), leaves[index], path);
    }

    /// From `first`, `count` of them.
    function rewardsAt(IScoreboard.RewardLeaf[] memory leaves, uint256 first, uint256 count)
        internal
        pure
        returns (IScoreboard.RewardOpening[] memory opened)
    {
        opened = new IScoreboard.RewardOpening[](count);
        for (uint256 i = 0; i < count; i++) opened[i] = rewardAt(leaves, first + i);
    }

    function scoresAt(uint256 seat, IScoreboard.ScoreLeaf[] memory leaves, uint256 first, uint256 count)
        internal
        pure
        returns (IScoreboard.ReportOpening memory report)
    {
        report.seat = uint8(seat);
        report.count = uint32(leaves.length);
        report.openings = new IScoreboard.ScoreOpening[](count);
        for (uint256 i = 0; i < count; i++) report.openings[i] = scoreAt(leaves, first + i);
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

    function open(uint256 seat, IScoreboard.ScoreLeaf[] memory leaves, address provider)
        internal
        pure
        returns (IScoreboard.ReportOpening memory)
    {
        address[] memory sorted = new address[](leaves.length);
        for (uint256 i = 0; i < leaves.length; i++) sorted[i] = leaves[i].provider;
        (uint256 first, uint256 count) = places(sorted, provider);
        return scoresAt(seat, leaves, first, count);
    }

    function open(IScoreboard.RewardLeaf[] memory leaves, address account)
        internal
        pure
        returns (IScoreboard.RewardOpening[] memory)
    {
        address[] memory sorted = new address[](leaves.length);
        for (uint256 i = 0; i < leaves.length; i++) sorted[i] = leaves[i].account;
        (uint256 first, uint256 count) = places(sorted, account);
        return rewardsAt(leaves, first, count);
    }
}
