// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "./IJobEscrow.sol";

/// The state machine of a provider's deposit: free ⇄ locked, free → leaving → owed; locked → gone when it is
/// convicted. No tokens, no events.
library DepositBook {
    function lock(IJobEscrow.Deposit storage account, uint128 amount) internal {
        uint128 free = account.free;
        if (free < amount) revert IJobEscrow.DepositTooSmall(free, amount);
        (account.free, account.locked) = (free - amount, account.locked + amount);
    }

    function unlock(IJobEscrow.Deposit storage account, uint128 amount) internal {
        (account.free, account.locked) = (account.free + amount, account.locked - amount);
    }

    function take(IJobEscrow.Deposit storage account, uint128 amount) internal {
        account.locked -= amount;
    }

    function startLeaving(IJobEscrow.Deposit storage account, uint128 amount, uint64 readyAt) internal {
        uint128 free = account.free;
        if (amount == 0) revert IJobEscrow.AmountZero();
        if (free < amount) revert IJobEscrow.DepositTooSmall(free, amount);
        account.free = free - amount;
        (account.leaving, account.readyAt) = (account.leaving + amount, readyAt);
    }

    /// What has left by now.
    function left(IJobEscrow.Deposit storage account) internal returns (uint128 amount) {
        if (block.timestamp < account.readyAt) return 0;
        amount = account.leaving;
        if (amount > 0) account.leaving = 0;
    }
}
