// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {KeccakTree} from "../trees/KeccakTree.sol";
import {IScoreboard} from "./IScoreboard.sol";

/// What a revealed report says of a provider, from Merkle openings alone: its score, or, by two neighbours
/// that leave no room for it, that it says nothing (which counts as 0: src/market/epochs/weight-proposal.ts).
library ReportTree {
    uint32 internal constant PPM = 1_000_000;

    function leafHash(IScoreboard.ScoreLeaf calldata leaf) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x00), leaf.provider, leaf.scorePpm, leaf.evidenceSha256));
    }

    function reportRoot(uint32 count, bytes32 treeRoot) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x02), count, treeRoot));
    }

    /// The root that all openings agree on; reverts when they do not. An empty report has tree root 0.
    function rootOf(IScoreboard.ReportOpening calldata report) internal pure returns (bytes32) {
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
    /// opened for a provider.
    function scoreOf(IScoreboard.ReportOpening calldata report, address provider) internal pure returns (uint32) {
        if (report.count == 0) return 0;
        IScoreboard.ScoreOpening calldata first = report.openings[0];
        if (report.openings.length == 1) {
            address there = first.leaf.provider;
            if (there == provider) {
                if (first.leaf.scorePpm > PPM) revert IScoreboard.OpeningInvalid();
                return first.leaf.scorePpm;
            }
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
        IScoreboard.ScoreOpening calldata first = report.openings[0];
        if (first.leaf.scorePpm > PPM) return true;
        if (report.openings.length == 1) return false;
        IScoreboard.ScoreOpening calldata second = report.openings[1];
        return second.index == first.index + 1 && second.leaf.provider <= first.leaf.provider;
    }
}
