// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRentalEscrow} from "../../src/rentals/IRentalEscrow.sol";
import {RentalEscrow} from "../../src/rentals/RentalEscrow.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {Cheats} from "../Cheats.sol";

/// Four who rent from each other and from themselves in random order, and a stranger who closes.
contract EscrowHandler is Cheats {
    uint256 private constant EACH = 1e18;
    AssayToken public token = AssayToken(deployCode("AssayToken", abi.encode(4 * EACH)));
    RentalEscrow public escrow =
        RentalEscrow(deployCode("RentalEscrow", abi.encode(token, IRentalEscrow.Params(100_000, 7 days))));
    address[4] public actors = [address(0xA1), address(0xA2), address(0xA3), address(0xA4)];
    bytes32[] public ids;
    uint256 public closedEarlyByStrangers;
    mapping(string => uint256) public seen;

    constructor() {
        vm.warp(1_800_000_000);
        for (uint256 i = 0; i < 4; i++) {
            token.transfer(actors[i], EACH);
            vm.prank(actors[i]);
            token.approve(address(escrow), type(uint256).max);
        }
    }

    function count() external view returns (uint256) {
        return ids.length;
    }

    function wait(uint32 seconds_) external {
        vm.warp(block.timestamp + seconds_ % 1 days);
    }

    function open(uint256 customer, uint256 provider, uint32 price, uint32 seconds_) external {
        // The rules look at every rental after every act.
        if (ids.length == 16) return;
        vm.prank(actors[customer % 4]);
        ids.push(escrow.open(bytes32(ids.length), actors[provider % 4], price, seconds_ % 7 days));
        seen["open"]++;
    }

    function extend(uint256 which, uint32 seconds_) external {
        bytes32 id = ids[which % ids.length];
        vm.prank(escrow.rentalOf(id).customer);
        escrow.extend(id, seconds_ % 7 days);
        seen["extend"]++;
    }

    function close(uint256 which, uint256 who) external {
        bytes32 id = ids[which % ids.length];
        IRentalEscrow.Rental memory rental = escrow.rentalOf(id);
        who %= 3;
        vm.prank(who == 0 ? rental.customer : who == 1 ? rental.provider : address(0x57));
        escrow.close(id);
        if (who == 2 && block.timestamp < rental.until) closedEarlyByStrangers++;
        seen["close"]++;
    }

    function withdraw(uint256 who) external {
        vm.prank(actors[who % 4]);
        escrow.withdraw(actors[who % 4]);
        seen["withdraw"]++;
    }
}

contract EscrowInvariantsTest is Cheats {
    EscrowHandler private handler;
    AssayToken private token;
    RentalEscrow private escrow;

    function setUp() public {
        handler = new EscrowHandler();
        (token, escrow) = (handler.token(), handler.escrow());
    }

    function targetContracts() public view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function invariant_depositsAreConserved() public view {
        uint256 owed = 0;
        uint256 outside = token.balanceOf(escrow.BURN());
        for (uint256 i = 0; i < 4; i++) {
            owed += escrow.owedTo(handler.actors(i));
            outside += token.balanceOf(handler.actors(i));
        }
        uint256 open = 0;
        uint256 burned = 0;
        for (uint256 i = 0; i < handler.count(); i++) {
            bytes32 id = handler.ids(i);
            IRentalEscrow.Rental memory rental = escrow.rentalOf(id);
            if (rental.closedAt == 0) {
                open += uint256(rental.perSecond) * (rental.until - rental.startedAt);
            } else {
                (uint256 used, uint256 share) = escrow.paidBy(id, rental.closedAt);
                assertTrue(share * 10 >= used, "less than its share was burned");
                burned += share;
            }
        }
        assertEq(token.balanceOf(address(escrow)), owed + open);
        assertEq(token.balanceOf(escrow.BURN()), burned);
        assertEq(outside + owed + open, token.totalSupply());
        assertEq(handler.closedEarlyByStrangers(), 0);
    }

    /// So that a handler that always reverts cannot pass for an escrow that holds.
    function test_everyActHappens() public {
        handler.open(0, 1, 7, 100);
        handler.extend(0, 50);
        handler.wait(149);
        handler.close(0, 1);
        handler.withdraw(0);
        handler.withdraw(1);
        handler.open(2, 2, 7, 100);
        handler.wait(200);
        handler.close(1, 2);
        string[4] memory acts = ["open", "extend", "close", "withdraw"];
        for (uint256 i = 0; i < 4; i++) assertTrue(handler.seen(acts[i]) > 0, acts[i]);
        invariant_depositsAreConserved();
    }
}
