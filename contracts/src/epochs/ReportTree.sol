// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {KeccakTree} from "../trees/KeccakTree.sol";
import {IScoreboard, ReportRoot} from "./IScoreboard.sol";

/// What a revealed report says of a provider, from Merkle openings alone: its score, or, by two neighbours
/// that leave no room for it, that it says nothing (which counts as 0: src/market/epochs/weights.ts).
library ReportTree {
    uint32 private constant PPM = 1_000_000;
    /// A challenge of a weight opens up to 64 paths of as many leaves.
    uint32 private constant MOST_LEAVES = 1 << 17;

    function leafHash(IScoreboard.ScoreLeaf calldata leaf) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x00), leaf.provider, leaf.scorePpm, leaf.evidenceSha256));
    }

    function reportRoot(uint32 count, bytes32 treeRoot) internal pure returns (ReportRoot) {
        return ReportRoot.wrap(keccak256(abi.encodePacked(bytes1(0x02), count, treeRoot)));
    }

    /// The root that all openings agree on; reverts when they do not. An empty report has tree root 0.
    function rootOf(IScoreboard.ReportOpening calldata report) internal pure returns (ReportRoot) {
        bytes32 treeRoot;
        uint256 length = report.openings.length;
        if ((length == 0) != (report.count == 0) || length > 2) revert IScoreboard.OpeningInvalid();
        for (uint256 i = 0; i < length; i++) {
            IScoreboard.ScoreOpening calldata opening = report.openings[i];
            (bool possible, bytes32 root) =
                KeccakTree.rootFromPath(leafHash(opening.leaf), opening.index, report.count, opening.path);
            if (!possible || (i > 0 && root != treeRoot)) revert IScoreboard.OpeningInvalid();
            treeRoot = root;
        }
        return reportRoot(report.count, treeRoot);
    }

    /// Openings are known to be of the report's tree. INVARIANT: in a sorted tree exactly one answer can be
    /// opened for a provider; in one that is not, every statement that counts it is wrong anyway.
    function scoreOf(IScoreboard.ReportOpening calldata report, address provider) internal pure returns (uint32) {
        if (report.count == 0) return 0;
        IScoreboard.ScoreOpening calldata first = report.openings[0];
        if (report.openings.length == 1) {
            address there = first.leaf.provider;
            if (there == provider) return first.leaf.scorePpm;
            if (first.index == 0 && provider < there) return 0;
            if (first.index == report.count - 1 && provider > there) return 0;
            revert IScoreboard.OpeningInvalid();
        }
        IScoreboard.ScoreOpening calldata second = report.openings[1];
        if (
            second.index != first.index + 1 || provider <= first.leaf.provider || provider >= second.leaf.provider
        ) revert IScoreboard.OpeningInvalid();
        return 0;
    }

    /// Openings are known to be of the report's tree: do they show that it is no report?
    function isMalformed(IScoreboard.ReportOpening calldata report) internal pure returns (bool) {
        if (report.count == 0) return false;
        if (report.count > MOST_LEAVES) return true;
        IScoreboard.ScoreOpening calldata first = report.openings[0];
        if (first.leaf.scorePpm > PPM) return true;
        if (report.openings.length == 1) return false;
        IScoreboard.ScoreOpening calldata second = report.openings[1];
        return second.index == first.index + 1 && second.leaf.provider <= first.leaf.provider;
    }
}
