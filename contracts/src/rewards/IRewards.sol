// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard} from "../epochs/IScoreboard.sol";

/// The emission of each epoch, claimed for providers on proof of their weight, and collected by them.
/// docs/chain.md.
interface IRewards {
    struct Params {
        uint128 emissionPerEpoch;
        uint64 claimSeconds;
    }

    event Funded(address indexed from, uint128 amount);
    event EmissionFixed(uint64 indexed epoch, uint128 pot);
    /// Owed from now on.
    event Claimed(uint64 indexed epoch, address indexed provider, uint128 amount);
    /// Paid.
    event Collected(address indexed provider, uint256 amount);
    event CarriedOver(uint64 indexed epoch, uint128 amount);

    /// @notice Thrown when the claim window is 0 or above ten years, or the Scoreboard names other Rewards.
    error ParamsInvalid();
    /// @notice Thrown when the caller is not the Scoreboard.
    error NotScoreboard(address caller);
    /// @notice Thrown when the amount is 0.
    error AmountZero();
    /// @notice Thrown when the epoch has no final proposal.
    error NotFinal(uint64 epoch);
    /// @notice Thrown when the proposal is not the final one of the epoch.
    error WrongProposal();
    /// @notice Thrown when the leaf does not lead to the root, or names the zero address.
    error OpeningInvalid();
    /// @notice Thrown when the epoch can still be claimed.
    error ClaimsOpen(uint64 until);
    /// @notice Thrown when the epoch can no longer be claimed.
    error ClaimsClosed();

    /// Adds to the reserve from which emissions are drawn.
    function fund(uint128 amount) external;
    /// Only the Scoreboard, with the first proposal of an epoch: what this epoch pays. The same answer ever
    /// after.
    function fix(uint64 epoch) external returns (uint128 pot);
    /// From now on the provider of the leaf is owed its share, whoever calls. Once an epoch, until the claims
    /// are closed.
    function claim(uint64 epoch, IScoreboard.Proposal calldata proposal, IScoreboard.WeightOpening calldata opening)
        external;
    /// Pays the provider what it is owed of these words (epoch / 128), whoever calls. At any time: what is
    /// owed does not lapse.
    function collect(address provider, uint64[] calldata words) external;
    /// What nobody claimed in time, or nobody can claim any more, joins the next emission.
    function sweep(uint64 epoch) external;

    /// As set at the deployment.
    function params() external view returns (Params memory);
    /// What later emissions are drawn from.
    function reserve() external view returns (uint128);
    /// What joins the next emission.
    function carry() external view returns (uint128);
    /// The newest epoch whose emission is fixed; older ones cannot be proposed any more. `any` is false
    /// before the first.
    function lastFixed() external view returns (bool any, uint64 epoch);
    /// `paid` is what providers have claimed of it, collected or not.
    function potOf(uint64 epoch) external view returns (uint128 pot, uint128 paid, bool swept);
    /// Whether the provider has claimed for the epoch.
    function isClaimed(uint64 epoch, address provider) external view returns (bool);
    /// What may be collected, word by word.
    function owedOf(address provider, uint64[] calldata words) external view returns (uint128[] memory);
    /// What a leaf is worth under a proposal.
    function shareOf(IScoreboard.Proposal calldata proposal, IScoreboard.WeightLeaf calldata leaf)
        external
        pure
        returns (uint128);
}
