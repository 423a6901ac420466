// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {IPullPayments} from "./IPullPayments.sol";

/// One token, and who is owed how much of it. An account that cannot receive, or does not want to, stops
/// nobody else. Books are changed before the token is called. Not here: what is owed for what.
abstract contract PullPayments is IPullPayments {
    using SafeERC20 for IERC20;

    /// Not every ERC-20 can burn; nobody has the key of this address.
    address public constant BURN = 0x000000000000000000000000000000000000dEaD;
    IERC20 public immutable token;
    mapping(address => uint256) private _owed;

    constructor(IERC20 token_) {
        token = token_;
    }

    function owedTo(address account) external view returns (uint256) {
        return _owed[account];
    }

    function owe(address account, uint256 amount) internal {
        _owed[account] += amount;
    }

    /// All that the caller is owed.
    function payOut(address to) internal {
        uint256 amount = _owed[msg.sender];
        if (amount == 0) revert NothingOwed(msg.sender);
        _owed[msg.sender] = 0;
        emit Withdrawn(msg.sender, to, amount);
        token.safeTransfer(to, amount);
    }

    /// Tokens of the caller.
    function takeIn(uint256 amount) internal {
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    function burn(uint256 amount) internal {
        token.safeTransfer(BURN, amount);
    }
}
