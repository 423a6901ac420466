// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// The stake-weighted median of src/market/epochs/weighted-median.ts: the least score at or below which at
/// least half of the stake lies.
library StakeMedian {
    uint32 internal constant PPM = 1_000_000;

    /// Least and greatest median when `total − Σ stakes` of the stake reports scores that are not known.
    /// Equal when all is known.
    /// INVARIANT: whatever the unknown scores are, the median lies in least … greatest.
    function bounds(uint32[] memory scores, uint128[] memory stakes, uint256 total)
        internal
        pure
        returns (uint32 least, uint32 greatest)
    {
        // No stake, no median: anything may be.
        if (total == 0) return (0, PPM);
        uint256 length = scores.length;
        // Insertion sort: validators are tens, and most lists come sorted or nearly so.
        for (uint256 i = 1; i < length; i++) {
            (uint32 score, uint128 stake) = (scores[i], stakes[i]);
            uint256 at_ = i;
            for (; at_ > 0 && scores[at_ - 1] > score; at_--) {
                (scores[at_], stakes[at_]) = (scores[at_ - 1], stakes[at_ - 1]);
            }
            (scores[at_], stakes[at_]) = (score, stake);
        }
        uint256 known = 0;
        for (uint256 i = 0; i < length; i++) known += stakes[i];
        // The unknown all at 0, then all at 1,000,000.
        uint256 unknown = total - known;
        least = firstHalf(scores, stakes, unknown, total);
        greatest = firstHalf(scores, stakes, 0, total);
    }

    /// `below` lies at 0; what is missing from `total` lies at the top.
    function firstHalf(uint32[] memory scores, uint128[] memory stakes, uint256 below, uint256 total)
        private
        pure
        returns (uint32)
    {
        if (below > 0 && 2 * below >= total) return 0;
        for (uint256 i = 0; i < scores.length; i++) {
            below += stakes[i];
            if (stakes[i] > 0 && 2 * below >= total) return scores[i];
        }
        return PPM;
    }
}
