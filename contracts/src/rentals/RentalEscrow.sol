// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IRentalEscrow} from "./IRentalEscrow.sol";

/// Deposits of customers, by the second the provider's. Immutable, no owner, no pause. It knows no role: any
/// two addresses may rent from each other, and whoever rents from himself loses what is burned.
contract RentalEscrow is IRentalEscrow {
    using SafeERC20 for IERC20;

    uint32 private constant PPM = 1_000_000;
    /// Not every ERC-20 can burn; nobody has the key of this address.
    address public constant BURN = 0x000000000000000000000000000000000000dEaD;

    IERC20 public immutable token;
    uint32 private immutable BURN_PPM;
    uint32 private immutable MOST_SECONDS;

    mapping(bytes32 => Rental) private _rentals;
    // INVARIANT: tokens held = Σ owed + Σ perSecond · (until − startedAt) of open rentals, and what strangers
    // sent.
    mapping(address => uint256) private _owed;

    constructor(IERC20 token_, Params memory params_) {
        if (
            params_.burnPpm == 0 || params_.burnPpm > PPM || params_.mostSeconds == 0 || params_.mostSeconds > 365 days
        ) revert ParamsInvalid();
        token = token_;
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
        token.safeTransferFrom(msg.sender, address(this), uint256(perSecond) * seconds_);
    }

    function extend(bytes32 id, uint32 seconds_) external {
        Rental storage rental = known(id);
        if (msg.sender != rental.customer) revert NotParty(msg.sender);
        if (rental.closedAt != 0 || block.timestamp >= rental.until) revert RentalOver(id);
        uint64 until = rental.until + seconds_;
        if (seconds_ == 0 || until - rental.startedAt > MOST_SECONDS) revert TermsInvalid();
        rental.until = until;
        emit Extended(id, until);
        token.safeTransferFrom(msg.sender, address(this), uint256(rental.perSecond) * seconds_);
    }

    // INVARIANT: the provider gets what was used less what is burned, the customer the rest, to the unit; once.
    // No third party comes between, and the books are changed before the token is called.
    function close(bytes32 id) external {
        Rental storage rental = known(id);
        if (rental.closedAt != 0) revert RentalOver(id);
        bool isOver = block.timestamp >= rental.until;
        if (msg.sender != rental.customer && msg.sender != rental.provider && !isOver) revert NotParty(msg.sender);
        uint64 closedAt = isOver ? rental.until : uint64(block.timestamp);
        rental.closedAt = closedAt;
        (uint256 used, uint256 burned) = paidBy(id, closedAt);
        uint256 refund = uint256(rental.perSecond) * (rental.until - closedAt);
        _owed[rental.provider] += used - burned;
        _owed[rental.customer] += refund;
        emit Closed(id, msg.sender, closedAt, used - burned, burned, refund);
        token.safeTransfer(BURN, burned);
    }

    function withdraw(address to) external {
        uint256 amount = _owed[msg.sender];
        if (amount == 0) revert NothingOwed(msg.sender);
        _owed[msg.sender] = 0;
        emit Withdrawn(msg.sender, to, amount);
        token.safeTransfer(to, amount);
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

    function owedTo(address account) external view returns (uint256) {
        return _owed[account];
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
