// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {BitMaps} from "@openzeppelin/contracts/utils/structs/BitMaps.sol";
import {IRewards} from "../interfaces/IRewards.sol";

/// The state machine of emissions: reserve → pot of an epoch → paid, or carried over into the next pot. No tokens, no proofs: Rewards has those.
library RewardBook {
    using BitMaps for BitMaps.BitMap;

    struct Pot {
        uint128 amount;
        uint128 paid;
    }

    struct Book {
        // INVARIANT: tokens held ≥ reserve + carry + Σ (amount − paid) over pots that are not swept.
        uint128 reserve;
        uint128 carry;
        uint64 lastFixed;
        bool any;
        mapping(uint64 => Pot) pots;
        mapping(uint64 => bool) isFixed;
        mapping(uint64 => bool) swept;
        /// By provider, one bit an epoch: whoever claims regularly pays for a new slot once in 256 epochs.
        mapping(address => BitMaps.BitMap) claimed;
    }

    /// Epochs are fixed in ascending order; one that was left out draws nothing: its emission stays in the reserve.
    function fix(Book storage book, uint64 epoch, uint128 emissionPerEpoch) internal returns (uint128 pot, bool fresh) {
        if (book.any && epoch < book.lastFixed) revert IRewards.EpochLapsed(epoch);
        if (book.isFixed[epoch]) return (book.pots[epoch].amount, false);
        uint128 drawn = book.reserve < emissionPerEpoch ? book.reserve : emissionPerEpoch;
        pot = drawn + book.carry;
        book.reserve -= drawn;
        book.carry = 0;
        book.lastFixed = epoch;
        book.any = true;
        book.isFixed[epoch] = true;
        book.pots[epoch].amount = pot;
        return (pot, true);
    }

    /// INVARIANT: a provider is paid once an epoch, and an epoch never pays more than its pot, whatever a proposal says.
    function pay(Book storage book, uint64 epoch, address provider, uint128 amount) internal {
        BitMaps.BitMap storage claimed = book.claimed[provider];
        if (claimed.get(epoch)) revert IRewards.AlreadyClaimed(epoch, provider);
        claimed.set(epoch);
        Pot storage pot = book.pots[epoch];
        (uint128 all, uint128 paid) = (pot.amount, pot.paid);
        if (amount > all - paid) revert IRewards.PotExceeded();
        pot.paid = paid + amount;
    }

    function sweep(Book storage book, uint64 epoch) internal returns (uint128 left) {
        Pot storage pot = book.pots[epoch];
        if (book.swept[epoch] || !book.isFixed[epoch]) revert IRewards.NothingToCarry();
        left = pot.amount - pot.paid;
        if (left == 0) revert IRewards.NothingToCarry();
        book.swept[epoch] = true;
        book.carry += left;
    }
}
