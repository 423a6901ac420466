// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {PullPayments} from "../payments/PullPayments.sol";
import {IRentalEscrow} from "./IRentalEscrow.sol";

/// Deposits of customers, by the second the provider's. Immutable, no owner, no pause. It knows no role: any
/// two addresses may rent from each other, and whoever rents from himself loses what is burned.
contract RentalEscrow is IRentalEscrow, PullPayments {
    uint32 private constant PPM = 1_000_000;
    uint32 private immutable BURN_PPM;
    uint32 private immutable MOST_SECONDS;

    // INVARIANT: tokens held = Σ owed + Σ perSecond · (until − startedAt) of open rentals, and what strangers
    // sent.
    mapping(bytes32 => Rental) private _rentals;

    constructor(IERC20 token_, Params memory params_) PullPayments(token_) {
        if (
            params_.burnPpm == 0 || params_.burnPpm > PPM || params_.mostSeconds == 0 || params_.mostSeconds > 365 days
        ) revert ParamsInvalid();
        BURN_PPM = params_.burnPpm;
        MOST_SECONDS = params_.mostSeconds;
    }

    function open(bytes32 salt, address provider, uint128 perSecond, uint32 seconds_) external returns (bytes32 id) {
        // Tokens cannot go to the zero address: what is the provider's would be nobody's.
        if (provider == address(0) || perSecond == 0 || seconds_ == 0 || seconds_ > MOST_SECONDS) revert TermsInvalid();
        id = idOf(msg.sender, salt);
        Rental storage rental = _rentals[id];
        if (rental.customer != address(0)) revert AlreadyOpened(id);
        (uint64 now_, uint64 until) = (uint64(block.timestamp), uint64(block.timestamp) + seconds_);
        _rentals[id] = Rental(msg.sender, provider, perSecond, now_, until, 0);
        emit Opened(id, msg.sender, provider, perSecond, now_, until);
        takeIn(uint256(perSecond) * seconds_);
    }

    function extend(bytes32 id, uint32 seconds_) external {
        Rental storage rental = known(id);
        if (msg.sender != rental.customer) revert NotParty(msg.sender);
        if (rental.closedAt != 0 || block.timestamp >= rental.until) revert RentalOver(id);
        uint64 until = rental.until + seconds_;
        if (seconds_ == 0 || until - rental.startedAt > MOST_SECONDS) revert TermsInvalid();
        rental.until = until;
        emit Extended(id, until);
        takeIn(uint256(rental.perSecond) * seconds_);
    }

    // INVARIANT: the provider gets what was used less what is burned, the customer the rest, to the unit;
    // once. No third party comes between, and the books are changed before the token is called.
    function close(bytes32 id) external {
        Rental storage rental = known(id);
        if (rental.closedAt != 0) revert RentalOver(id);
        bool isOver = block.timestamp >= rental.until;
        if (msg.sender != rental.customer && msg.sender != rental.provider && !isOver) revert NotParty(msg.sender);
        uint64 closedAt = isOver ? rental.until : uint64(block.timestamp);
        rental.closedAt = closedAt;
        (uint256 used, uint256 burned) = paidBy(id, closedAt);
        uint256 refund = uint256(rental.perSecond) * (rental.until - closedAt);
        owe(rental.provider, used - burned);
        owe(rental.customer, refund);
        emit Closed(id, msg.sender, closedAt, used - burned, burned, refund);
        burn(burned);
    }

    function withdraw(address to) external {
        payOut(to);
    }

    function params() external view returns (Params memory) {
        return Params(BURN_PPM, MOST_SECONDS);
    }

    function rentalOf(bytes32 id) external view returns (Rental memory) {
        return _rentals[id];
    }

    function isRunning(bytes32 id, uint64 time) external view returns (bool) {
        Rental storage rental = _rentals[id];
        return time >= rental.startedAt && time < endOf(rental);
    }

    function idOf(address customer, bytes32 salt) public pure returns (bytes32) {
        return keccak256(abi.encode(customer, salt));
    }

    function paidBy(bytes32 id, uint64 time) public view returns (uint256 used, uint256 burned) {
        Rental storage rental = _rentals[id];
        uint64 end = endOf(rental);
        if (time > end) time = end;
        if (time <= rental.startedAt) return (0, 0);
        used = uint256(rental.perSecond) * (time - rental.startedAt);
        // Rounded up: not even a unit goes to oneself for nothing.
        burned = (used * BURN_PPM + PPM - 1) / PPM;
    }

    function endOf(Rental storage rental) private view returns (uint64) {
        return rental.closedAt == 0 ? rental.until : rental.closedAt;
    }

    function known(bytes32 id) private view returns (Rental storage rental) {
        rental = _rentals[id];
        if (rental.customer == address(0)) revert RentalUnknown(id);
    }
}
