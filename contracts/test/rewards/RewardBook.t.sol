// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {RewardBook} from "../../src/rewards/RewardBook.sol";
import {Cheats} from "../Cheats.sol";

/// The book alone, without tokens and proofs: any epochs and amounts, beside a plain list of what was
/// claimed.
contract RewardBookTest is Cheats {
    using RewardBook for RewardBook.Book;

    RewardBook.Book private book;
    mapping(uint64 => bool) private wasClaimed;
    mapping(uint64 => uint256) private owedBy;
    address private constant WHO = address(0x1111);

    function credit(uint64 epoch, uint128 amount) external {
        book.credit(epoch, WHO, amount);
    }

    function collect(address who, uint64[] calldata words) external returns (uint256) {
        return book.collect(who, words);
    }

    /// Bits are one epoch's each, sums are their word's, and collecting takes every sum once and no bit.
    function testFuzz_bitsAndSums(uint64[8] memory epochs, uint96[8] memory amounts) public {
        uint256 sum = 0;
        uint64[] memory words = new uint64[](8);
        for (uint256 i = 0; i < 8; i++) {
            // Half of them close together, so that they share words or an epoch.
            if (i % 2 == 0) epochs[i] = 1000 + epochs[i] % 200;
            uint64 epoch = epochs[i];
            words[i] = epoch / 128;
            book.pots[epoch].amount = type(uint128).max;
            if (wasClaimed[epoch]) {
                vm.expectRevert(abi.encodeWithSelector(RewardBook.AlreadyClaimed.selector, epoch, WHO));
                this.credit(epoch, amounts[i]);
                continue;
            }
            this.credit(epoch, amounts[i]);
            wasClaimed[epoch] = true;
            owedBy[epoch / 128] += amounts[i];
            sum += amounts[i];
            assertEq(book.pots[epoch].paid, amounts[i]);
        }
        look(epochs);
        for (uint256 i = 0; i < 8; i++) assertEq(book.words[WHO][words[i]].owed, owedBy[words[i]]);
        vm.expectRevert(abi.encodeWithSelector(RewardBook.NothingOwed.selector, address(0x2222)));
        this.collect(address(0x2222), words);
        if (sum > 0) assertEq(this.collect(WHO, words), sum);
        vm.expectRevert(abi.encodeWithSelector(RewardBook.NothingOwed.selector, WHO));
        this.collect(WHO, words);
        look(epochs);
    }

    function look(uint64[8] memory epochs) private view {
        for (uint256 i = 0; i < 8; i++) {
            unchecked {
                uint64[5] memory near =
                    [epochs[i], epochs[i] + 1, epochs[i] - 1, epochs[i] + 128, epochs[i] ^ 127];
                for (uint256 j = 0; j < 5; j++) {
                    assertTrue(book.isClaimed(near[j], WHO) == wasClaimed[near[j]], "its own bit");
                    assertTrue(!book.isClaimed(near[j], address(0x2222)), "its own account");
                }
            }
        }
    }

    /// A sum that would pass 128 bits waits for its collection, and nothing is lost by it.
    function test_aSumThatIsTooLargeWaits() public {
        uint64[] memory words = new uint64[](1);
        for (uint64 epoch = 0; epoch < 2; epoch++) book.pots[epoch].amount = type(uint128).max;
        this.credit(0, type(uint128).max);
        vm.expectRevert();
        this.credit(1, 1);
        assertTrue(!book.isClaimed(1, WHO), "not yet");
        assertEq(this.collect(WHO, words), type(uint128).max);
        this.credit(1, 1);
        assertEq(this.collect(WHO, words), 1);
        // Nor more than a pot has.
        book.pots[2].amount = 5;
        vm.expectRevert(RewardBook.PotExceeded.selector);
        this.credit(2, 6);
        this.credit(2, 5);
    }
}
