// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {IScoreboard} from "../epochs/IScoreboard.sol";
import {WeightTree} from "../epochs/WeightTree.sol";
import {IRegistry} from "../stake/IRegistry.sol";
import {IRewards} from "./IRewards.sol";

/// Pays what final weights say that accounts have earned, in all epochs at once. Immutable, no owner, no
/// pause: what is in it can only go to accounts of final weights, and nothing lapses.
contract Rewards is IRewards {
    using SafeERC20 for IERC20;
    using Checkpoints for Checkpoints.Trace208;

    IERC20 public immutable token;
    IScoreboard public immutable scoreboard;
    IRegistry public immutable registry;
    uint128 public immutable emissionPerEpoch;

    /// By time, so that the pot of an epoch does not depend on when somebody asks.
    Checkpoints.Trace208 private _funded;
    uint128 private _claimed;
    /// The most that any final weights gave to all, of those that claims came with.
    uint128 private _granted;
    mapping(address account => uint128) public claimedOf;

    constructor(IERC20 token_, IScoreboard scoreboard_, IRegistry registry_, uint128 emissionPerEpoch_) {
        if (scoreboard_.rewards() != address(this)) revert ScoreboardMismatch();
        token = token_;
        scoreboard = scoreboard_;
        registry = registry_;
        emissionPerEpoch = emissionPerEpoch_;
    }

    function fund(uint128 amount) external {
        if (amount == 0) revert AmountZero();
        uint256 funded = uint256(_funded.latest()) + amount;
        if (funded > type(uint128).max) revert FundedTooMuch();
        _funded.push(uint48(block.timestamp), uint208(funded));
        emit Funded(msg.sender, amount, uint128(funded));
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    // INVARIANT: an account is paid no more than the largest total that final weights gave it, and all of
    // them no more than the largest sum, which is no more than what was funded: even weights that lie cannot
    // take what nobody was given. The book is changed before the token is called.
    function claim(IScoreboard.Weights calldata weights, IScoreboard.RewardOpening calldata opening) external {
        uint128 granted = scoreboard.finalTotalOf(weights);
        if (!WeightTree.isIn(weights, opening)) revert OpeningInvalid();
        address account = opening.leaf.account;
        (uint128 total, uint128 before) = (opening.leaf.total, claimedOf[account]);
        if (total <= before) revert NothingToClaim(account);
        uint128 amount = total - before;
        (uint128 claimed, uint128 most) = (_claimed, _granted);
        if (granted < most) granted = most;
        if (amount > granted - claimed) revert GrantExceeded(granted - claimed);
        claimedOf[account] = total;
        (_claimed, _granted) = (claimed + amount, granted);
        address to = registry.payoutOf(account);
        emit Claimed(account, to, amount, total);
        token.safeTransfer(to, amount);
    }

    function fundedAt(uint64 time) external view returns (uint128) {
        // A time beyond the history's 48 bits is the end of all times.
        uint48 moment = time > type(uint48).max ? type(uint48).max : uint48(time);
        return uint128(_funded.upperLookupRecent(moment));
    }

    function claimedTotal() external view returns (uint128) {
        return _claimed;
    }
}
