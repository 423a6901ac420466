// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPullPayments} from "../../src/payments/IPullPayments.sol";
import {IRentalEscrow} from "../../src/rentals/IRentalEscrow.sol";
import {RentalEscrow} from "../../src/rentals/RentalEscrow.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {StakeKit} from "../StakeKit.sol";

/// Paid by the second, to the unit, whoever closes it when.
contract RentalEscrowTest is StakeKit {
    address private constant CUSTOMER = address(0xC0);
    address private constant STRANGER = address(0x57);
    uint128 private constant PRICE = 1003;
    bytes32 private id;

    function newToken() internal override returns (AssayToken) {
        return new Reentrant();
    }

    function setUp() public {
        deployStakes();
        for (uint256 i = 0; i < 2; i++) {
            address who = i == 0 ? CUSTOMER : provider;
            token.transfer(who, 1e12);
            vm.prank(who);
            token.approve(address(escrow), type(uint256).max);
        }
        id = escrow.idOf(CUSTOMER, "salt");
    }

    function open(uint32 seconds_) private {
        vm.prank(CUSTOMER);
        assertEq(escrow.open("salt", provider, PRICE, seconds_), id);
    }

    function later(uint64 seconds_) private {
        vm.warp(block.timestamp + seconds_);
    }

    function close(address who) private {
        vm.prank(who);
        escrow.close(id);
    }

    function burned() private view returns (uint256) {
        return token.balanceOf(escrow.BURN());
    }

    function test_paidByTheSecond() public {
        uint256 before = token.balanceOf(CUSTOMER);
        open(3600);
        assertEq(before - token.balanceOf(CUSTOMER), 3600 * uint256(PRICE));
        later(100);
        close(CUSTOMER);
        // 100 300 used, 10 030 burned.
        assertEq(escrow.owedTo(provider), 90_270);
        assertEq(burned(), 10_030);
        assertEq(escrow.owedTo(CUSTOMER), 3500 * uint256(PRICE));
        vm.prank(CUSTOMER);
        escrow.withdraw(STRANGER);
        assertEq(token.balanceOf(STRANGER), 3500 * uint256(PRICE));
        vm.prank(provider);
        escrow.withdraw(provider);
        assertEq(token.balanceOf(address(escrow)), 0);
        for (uint256 i = 0; i < 2; i++) {
            address who = i == 0 ? CUSTOMER : provider;
            vm.prank(who);
            vm.expectRevert(abi.encodeWithSelector(IPullPayments.NothingOwed.selector, who));
            escrow.withdraw(who);
        }
    }

    function test_eitherClosesAtAnyTimeAndAnyoneOnceItIsOver() public {
        open(60);
        later(59);
        vm.prank(STRANGER);
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.NotParty.selector, STRANGER));
        escrow.close(id);
        close(provider);
        assertEq(escrow.owedTo(CUSTOMER), PRICE);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.RentalOver.selector, id));
        escrow.close(id);
        vm.prank(CUSTOMER);
        bytes32 other = escrow.open("other", provider, PRICE, 60);
        later(1000);
        vm.prank(STRANGER);
        escrow.close(other);
        assertEq(escrow.rentalOf(other).closedAt, escrow.rentalOf(other).until);
        assertEq(escrow.owedTo(CUSTOMER), PRICE);
    }

    function test_closedInTheSameSecondItCostsNothing() public {
        open(60);
        close(CUSTOMER);
        assertEq(escrow.owedTo(CUSTOMER), 60 * uint256(PRICE));
        assertEq(escrow.owedTo(provider), 0);
        assertTrue(!escrow.isRunning(id, uint64(block.timestamp)), "closed");
    }

    function test_extended() public {
        open(60);
        later(59);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.NotParty.selector, provider));
        escrow.extend(id, 60);
        vm.startPrank(CUSTOMER);
        escrow.extend(id, 60);
        assertEq(token.balanceOf(address(escrow)), 120 * uint256(PRICE));
        vm.expectRevert(IRentalEscrow.TermsInvalid.selector);
        escrow.extend(id, 0);
        vm.expectRevert(IRentalEscrow.TermsInvalid.selector);
        escrow.extend(id, 7 days - 119);
        escrow.extend(id, 7 days - 120);
        later(7 days - 59);
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.RentalOver.selector, id));
        escrow.extend(id, 1);
        escrow.close(id);
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.RentalOver.selector, id));
        escrow.extend(id, 1);
        vm.stopPrank();
        assertEq(escrow.owedTo(CUSTOMER), 0);
    }

    /// Closed before its time is over: nothing more can be paid into it.
    function test_aClosedOneIsNotExtended() public {
        open(60);
        later(5);
        close(CUSTOMER);
        vm.prank(CUSTOMER);
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.RentalOver.selector, id));
        escrow.extend(id, 1);
    }

    function test_termsThatAreNone() public {
        vm.startPrank(CUSTOMER);
        vm.expectRevert(IRentalEscrow.TermsInvalid.selector);
        escrow.open("salt", address(0), PRICE, 60);
        vm.expectRevert(IRentalEscrow.TermsInvalid.selector);
        escrow.open("salt", provider, 0, 60);
        vm.expectRevert(IRentalEscrow.TermsInvalid.selector);
        escrow.open("salt", provider, PRICE, 0);
        vm.expectRevert(IRentalEscrow.TermsInvalid.selector);
        escrow.open("salt", provider, PRICE, 7 days + 1);
        escrow.open("salt", provider, PRICE, 7 days);
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.AlreadyOpened.selector, id));
        escrow.open("salt", provider, PRICE, 60);
        escrow.close(id);
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.AlreadyOpened.selector, id));
        escrow.open("salt", provider, PRICE, 60);
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.RentalUnknown.selector, bytes32("none")));
        escrow.close("none");
        vm.expectRevert(abi.encodeWithSelector(IRentalEscrow.RentalUnknown.selector, bytes32("none")));
        escrow.extend("none", 1);
        vm.stopPrank();
        // Another customer's same salt is another rental.
        vm.prank(provider);
        assertTrue(escrow.open("salt", CUSTOMER, PRICE, 60) != id, "one id for two");
        // Without tokens there is no rental.
        vm.prank(STRANGER);
        vm.expectRevert();
        escrow.open("salt", provider, PRICE, 60);
    }

    function test_paramsThatAreNone() public {
        IRentalEscrow.Params[4] memory bad = [
            IRentalEscrow.Params(0, 1),
            IRentalEscrow.Params(1_000_001, 1),
            IRentalEscrow.Params(1, 0),
            IRentalEscrow.Params(1, 365 days + 1)
        ];
        for (uint256 i = 0; i < 4; i++) {
            vm.expectRevert(IRentalEscrow.ParamsInvalid.selector);
            deployCode("RentalEscrow", abi.encode(token, bad[i]));
        }
        bytes memory good = abi.encode(token, IRentalEscrow.Params(1_000_000, 365 days));
        assertEq(RentalEscrow(deployCode("RentalEscrow", good)).params().burnPpm, 1_000_000);
    }

    function test_whatAValidatorAsks() public {
        uint64 start = uint64(block.timestamp);
        assertTrue(!escrow.isRunning(id, start), "before it is opened");
        open(60);
        assertTrue(!escrow.isRunning(id, start - 1), "before it began");
        assertTrue(escrow.isRunning(id, start) && escrow.isRunning(id, start + 59), "while it runs");
        assertTrue(!escrow.isRunning(id, start + 60), "its time is over");
        mustBePaid(start - 1, 0, 0);
        mustBePaid(start, 0, 0);
        mustBePaid(start + 1, 1003, 101);
        mustBePaid(start + 60, 60_180, 6018);
        mustBePaid(start + 6000, 60_180, 6018);
        later(10);
        close(CUSTOMER);
        assertTrue(escrow.isRunning(id, start + 9) && !escrow.isRunning(id, start + 10), "closed at 10");
        mustBePaid(start + 6000, 10_030, 1003);
    }

    function mustBePaid(uint64 time, uint256 used, uint256 burns) private view {
        (uint256 foundUsed, uint256 foundBurned) = escrow.paidBy(id, time);
        assertEq(foundUsed, used);
        assertEq(foundBurned, burns);
    }

    /// Who rents from himself, or two who share, lose what is burned: at any price, for any time.
    function testFuzz_selfRentalAlwaysLoses(uint64 price, uint32 seconds_, uint32 used) public {
        price = uint64(bound(price, 1, 1e5));
        seconds_ = uint32(bound(seconds_, 1, 7 days));
        uint256 before = token.balanceOf(provider);
        vm.startPrank(provider);
        id = escrow.open("self", provider, price, seconds_);
        later(used);
        escrow.close(id);
        uint256 ran = used < seconds_ ? used : seconds_;
        if (escrow.owedTo(provider) > 0) escrow.withdraw(provider);
        vm.stopPrank();
        uint256 lost = before - token.balanceOf(provider);
        assertEq(lost, burned());
        assertTrue(lost * 10 >= ran * price, "a tenth at least");
        assertEq(token.balanceOf(address(escrow)), 0);
    }

    /// A token that is a customer too, and calls back from within each transfer, finds the books changed.
    function test_reentering() public {
        Reentrant customer = Reentrant(address(token));
        token.transfer(address(customer), 1e6);
        customer.rent(escrow, provider, PRICE);
        later(10);
        customer.closeTwice();
        assertEq(escrow.owedTo(address(customer)), 50 * uint256(PRICE));
        customer.withdrawTwice();
        assertEq(customer.refused(), 2);
        assertEq(token.balanceOf(address(customer)), 1e6 - 10 * uint256(PRICE));
        assertEq(token.balanceOf(address(escrow)), escrow.owedTo(provider));
    }
}

/// Repeats its call to the escrow from within the transfer that the call makes.
contract Reentrant is AssayToken(1e30) {
    RentalEscrow private escrow;
    bytes32 private id;
    bytes private again;
    uint256 public refused;

    function rent(RentalEscrow escrow_, address provider, uint128 price) external {
        escrow = escrow_;
        _approve(address(this), address(escrow), type(uint256).max);
        id = escrow.open("salt", provider, price, 60);
    }

    function closeTwice() external {
        again = abi.encodeCall(escrow.close, (id));
        escrow.close(id);
    }

    function withdrawTwice() external {
        again = abi.encodeCall(escrow.withdraw, (address(this)));
        escrow.withdraw(address(this));
    }

    function _update(address from, address to, uint256 amount) internal override {
        super._update(from, to, amount);
        if (again.length == 0) return;
        bytes memory call = again;
        again = "";
        (bool done,) = address(escrow).call(call);
        if (!done) refused++;
    }
}
