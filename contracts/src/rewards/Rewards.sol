// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Multicall} from "@openzeppelin/contracts/utils/Multicall.sol";
import {IScoreboard} from "../epochs/IScoreboard.sol";
import {WeightTree} from "../epochs/WeightTree.sol";
import {IRewards} from "./IRewards.sol";
import {RewardBook} from "./RewardBook.sol";

/// Gives an epoch's emission to providers by weight, on a Merkle proof against the final proposal. Tokens and
/// proofs; the states are RewardBook. Immutable, no owner, no pause: what is in it can only go to providers.
/// Claims of several epochs and the payment go into one transaction by `multicall`; nothing here takes ether
/// or asks who calls, except `fix`, which only the Scoreboard may.
contract Rewards is IRewards, Multicall {
    using SafeERC20 for IERC20;
    using RewardBook for RewardBook.Book;

    IERC20 public immutable token;
    IScoreboard public immutable scoreboard;
    uint128 private immutable EMISSION_PER_EPOCH;
    uint64 private immutable CLAIM_SECONDS;

    RewardBook.Book private _book;

    constructor(IERC20 token_, IScoreboard scoreboard_, Params memory params_) {
        // Longer than any clock, and the sum with a time would overflow: nothing could be claimed.
        if (scoreboard_.rewards() != address(this) || params_.claimSeconds == 0 || params_.claimSeconds > 3650 days) {
            revert ParamsInvalid();
        }
        token = token_;
        scoreboard = scoreboard_;
        EMISSION_PER_EPOCH = params_.emissionPerEpoch;
        CLAIM_SECONDS = params_.claimSeconds;
    }

    function fund(uint128 amount) external {
        if (amount == 0) revert AmountZero();
        _book.reserve += amount;
        emit Funded(msg.sender, amount);
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    function fix(uint64 epoch) external returns (uint128 pot) {
        if (msg.sender != address(scoreboard)) revert NotScoreboard(msg.sender);
        bool fresh;
        (pot, fresh) = _book.fix(epoch, EMISSION_PER_EPOCH);
        if (fresh) emit EmissionFixed(epoch, pot);
    }

    function claim(uint64 epoch, IScoreboard.Proposal calldata proposal, IScoreboard.WeightOpening calldata opening)
        external
    {
        (bytes32 digest, uint64 finalAt) = scoreboard.finalOf(epoch);
        if (digest == 0) revert NotFinal(epoch);
        if (digest != keccak256(abi.encode(epoch, proposal))) revert WrongProposal();
        if (block.timestamp >= finalAt + CLAIM_SECONDS) revert ClaimsClosed();
        if (!WeightTree.isIn(proposal, opening)) revert OpeningInvalid();
        address provider = opening.leaf.provider;
        // Tokens cannot go there: what it would be owed could be neither collected nor swept.
        if (provider == address(0)) revert OpeningInvalid();
        uint128 amount = WeightTree.shareOf(proposal, provider, opening.leaf.weightPpm);
        _book.credit(epoch, provider, amount);
        emit Claimed(epoch, provider, amount);
    }

    // INVARIANT: no clock, no pause and no third party between a provider and what it is owed; the book is
    // changed before the token is called.
    function collect(address provider, uint64[] calldata words) external {
        uint256 amount = _book.collect(provider, words);
        emit Collected(provider, amount);
        token.safeTransfer(provider, amount);
    }

    function sweep(uint64 epoch) external {
        (, uint64 finalAt) = scoreboard.finalOf(epoch);
        if (finalAt != 0) {
            if (block.timestamp < finalAt + CLAIM_SECONDS) revert ClaimsOpen(finalAt + CLAIM_SECONDS);
        } else {
            // Not final: gone for good only when nothing is proposed and a later epoch has been fixed, after
            // which nothing can be.
            (bytes32 digest,,) = scoreboard.proposalOf(epoch);
            if (digest != 0 || !_book.any || _book.lastFixed <= epoch) revert NotFinal(epoch);
        }
        emit CarriedOver(epoch, _book.sweep(epoch));
    }

    function params() external view returns (Params memory) {
        return Params(EMISSION_PER_EPOCH, CLAIM_SECONDS);
    }

    function reserve() external view returns (uint128) {
        return _book.reserve;
    }

    function carry() external view returns (uint128) {
        return _book.carry;
    }

    function lastFixed() external view returns (bool any, uint64 epoch) {
        return (_book.any, _book.lastFixed);
    }

    function potOf(uint64 epoch) external view returns (uint128 pot, uint128 paid, bool swept) {
        RewardBook.Pot storage entry = _book.pots[epoch];
        return (entry.amount, entry.paid, _book.swept[epoch]);
    }

    function isClaimed(uint64 epoch, address provider) external view returns (bool) {
        return _book.isClaimed(epoch, provider);
    }

    function owedOf(address provider, uint64[] calldata words) external view returns (uint128[] memory owed) {
        owed = new uint128[](words.length);
        for (uint256 i = 0; i < words.length; i++) owed[i] = _book.words[provider][words[i]].owed;
    }

    function shareOf(IScoreboard.Proposal calldata proposal, IScoreboard.WeightLeaf calldata leaf)
        external
        pure
        returns (uint128)
    {
        return WeightTree.shareOf(proposal, leaf.provider, leaf.weightPpm);
    }
}
