// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// What every contract that owes tokens says of them: nothing is pushed to anybody, each asks for its own.
interface IPullPayments {
    event Withdrawn(address indexed account, address to, uint256 amount);

    /// @notice Thrown when the caller is owed nothing.
    error NothingOwed(address account);

    /// What may be withdrawn.
    function owedTo(address account) external view returns (uint256);
}
