// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard} from "./IScoreboard.sol";

/// The emission of each epoch, claimed for providers on proof of their weight, and collected by them. docs/chain.md.
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

    error ParamsInvalid();
    error NotScoreboard(address caller);
    error AmountZero();
    error EpochLapsed(uint64 epoch);
    error NotFinal(uint64 epoch);
    error WrongProposal();
    error OpeningInvalid();
    error AlreadyClaimed(uint64 epoch, address provider);
    error PotExceeded();
    error NothingOwed(address provider);
    error ClaimsOpen(uint64 until);
    error ClaimsClosed();
    error NothingToCarry();

    function fund(uint128 amount) external;
    /// Only the Scoreboard, with the first proposal of an epoch: what this epoch pays. The same answer ever after.
    function fix(uint64 epoch) external returns (uint128 pot);
    /// From now on the provider of the leaf is owed its share, whoever calls. Once an epoch, until the claims are closed.
    function claim(uint64 epoch, IScoreboard.Proposal calldata proposal, IScoreboard.WeightOpening calldata opening)
        external;
    /// Pays the provider what it is owed of these words (epoch / 128), whoever calls. At any time: what is owed does not lapse.
    function collect(address provider, uint64[] calldata words) external;
    /// What nobody claimed in time, or nobody can claim any more, joins the next emission.
    function sweep(uint64 epoch) external;

    function params() external view returns (Params memory);
    function reserve() external view returns (uint128);
    function carry() external view returns (uint128);
    /// The newest epoch whose emission is fixed; older ones cannot be proposed any more. `any` is false before the first.
    function lastFixed() external view returns (bool any, uint64 epoch);
    /// `paid` is what providers have claimed of it, collected or not.
    function potOf(uint64 epoch) external view returns (uint128 pot, uint128 paid, bool swept);
    function isClaimed(uint64 epoch, address provider) external view returns (bool);
    /// What may be collected, word by word.
    function owedOf(address provider, uint64[] calldata words) external view returns (uint128[] memory);
    function shareOf(IScoreboard.Proposal calldata proposal, IScoreboard.WeightLeaf calldata leaf)
        external
        pure
        returns (uint128);
}
