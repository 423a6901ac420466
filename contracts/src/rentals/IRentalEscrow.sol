// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPullPayments} from "../payments/IPullPayments.sol";

/// Rentals that are paid by the second: what a customer deposits becomes the provider's as time goes by, less
/// a share that is burned. docs/rentals.md; docs/chain.md.
interface IRentalEscrow is IPullPayments {
    struct Params {
        /// What is burned of all that is paid.
        uint32 burnPpm;
        /// Longest time from beginning to end, extensions included.
        uint32 mostSeconds;
    }

    struct Rental {
        address customer;
        address provider;
        /// Of the token, with what is burned of it.
        uint128 perSecond;
        uint64 startedAt;
        /// Paid for until then.
        uint64 until;
        /// 0 while it is open.
        uint64 closedAt;
    }

    event Opened(
        bytes32 indexed id, address indexed customer, address indexed provider, uint128 perSecond, uint64 startedAt, uint64 until
    );
    event Extended(bytes32 indexed id, uint64 until);
    event Closed(bytes32 indexed id, address by, uint64 closedAt, uint256 toProvider, uint256 burned, uint256 refund);

    /// @notice Thrown when nothing or more than all would be burned, or rentals would have no time or above a
    /// year.
    error ParamsInvalid();
    /// @notice Thrown when there is no provider, no price, no time or too much of it.
    error TermsInvalid();
    /// @notice Thrown when the customer has used this salt before.
    error AlreadyOpened(bytes32 id);
    /// @notice Thrown when there is no such rental.
    error RentalUnknown(bytes32 id);
    /// @notice Thrown when the rental is closed, or its time is over.
    error RentalOver(bytes32 id);
    /// @notice Thrown when the caller is neither its customer nor its provider, and its time is not over; or,
    /// to extend it, not its customer.
    error NotParty(address caller);

    /// Takes `perSecond · seconds_` from the caller. Its time runs from now: no acceptance is waited for,
    /// because either side may close it at once.
    function open(bytes32 salt, address provider, uint128 perSecond, uint32 seconds_) external returns (bytes32 id);
    /// Takes as much more from the customer, at the same price.
    function extend(bytes32 id, uint32 seconds_) external;
    /// What was used is the provider's, less what is burned; the rest is the customer's. Either of them at
    /// any time, anyone once its time is over.
    function close(bytes32 id) external;
    /// Pays the caller what it is owed.
    function withdraw(address to) external;

    /// As set at the deployment.
    function params() external view returns (Params memory);
    /// The id of a customer's rental: nobody can open another's.
    function idOf(address customer, bytes32 salt) external pure returns (bytes32);
    /// All zero for an id that was never opened.
    function rentalOf(bytes32 id) external view returns (Rental memory);
    /// Whether it was paid for and open at that moment; of a moment to come, whether it would be as things
    /// are.
    function isRunning(bytes32 id, uint64 time) external view returns (bool);
    /// What has been used of it up to that moment, and how much of it is burned.
    function paidBy(bytes32 id, uint64 time) external view returns (uint256 used, uint256 burned);
}
