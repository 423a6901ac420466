// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IScoreboard} from "../epochs/IScoreboard.sol";

/// Holds what providers and validators earn, and pays it by final weights. docs/epochs.md §3.
interface IRewards {
    /// `funded` is the sum of all, with this one.
    event Funded(address indexed from, uint128 amount, uint128 funded);
    /// `total` is what the account was paid in all, with this one.
    event Claimed(address indexed account, address indexed to, uint128 amount, uint128 total);

    /// @notice Thrown when the Scoreboard pays by another contract.
    error ScoreboardMismatch();
    /// @notice Thrown when nothing is to be funded.
    error AmountZero();
    /// @notice Thrown when the sum of all that was ever funded would not fit into 128 bits.
    error FundedTooMuch();
    /// @notice Thrown when the leaf is not of these weights.
    error OpeningInvalid();
    /// @notice Thrown when the account was paid all of it before.
    error NothingToClaim(address account);
    /// @notice Thrown when final weights give an account more than all weights together have given out.
    /// `left` is what nobody has claimed of that.
    error GrantExceeded(uint128 left);

    /// Adds to what epochs that end later than now may pay.
    function fund(uint128 amount) external;
    /// Pays the account of the leaf all that it has earned up to these final weights and not been paid yet,
    /// to its payout address, whoever calls. At any time: nothing lapses.
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
