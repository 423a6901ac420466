// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard} from "../epochs/IScoreboard.sol";

/// Holds what providers and validators earn, and pays it by final weights. docs/epochs.md §3.
interface IRewards {
    event Funded(address indexed from, uint128 amount, uint128 funded);
    event Claimed(address indexed account, address indexed to, uint128 amount, uint128 total);

    /// Adds to what epochs that end later than now may pay.
    function fund(uint128 amount) external;
    /// Pays the account of the leaf all that it has earned up to these final weights and not been paid yet, to
    /// its payout address, whoever calls. At any time: nothing lapses.
    function claim(IScoreboard.Weights calldata weights, IScoreboard.RewardOpening calldata opening) external;

    /// What one epoch pays at most.
    function emissionPerEpoch() external view returns (uint128);
    /// All that was ever funded, as it was at that moment.
    function fundedAt(uint64 time) external view returns (uint128);
    /// What the account was paid in all.
    function claimedOf(address account) external view returns (uint128);
    /// What was paid to all.
    function claimedTotal() external view returns (uint128);
}
