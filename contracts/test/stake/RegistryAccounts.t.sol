// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRegistry} from "../../src/stake/IRegistry.sol";
import {Registry} from "../../src/stake/Registry.sol";
import {StakeKit} from "../StakeKit.sol";

/// Owner, signer and payout of an account: who may say what, and what a key signed once does not escape. This
/// contract is the electorate.
contract RegistryAccountsTest is StakeKit {
    address private constant OWNER = address(0x0123);
    uint256 private constant SIGNER_KEY = 0x51;
    uint256 private constant NEXT_KEY = 0x52;
    address private signer = vm.addr(SIGNER_KEY);
    address private next = vm.addr(NEXT_KEY);
    address private constant VAULT = address(0x7A);
    address private constant STRANGER = address(0x57);

    function setUp() public {
        deployRegistry();
        deployRest(address(this));
        fund(OWNER);
        fund(STRANGER);
    }

    function consent(uint256 key, address account) private view returns (bytes memory) {
        return signed(key, registry.consentDigest(account));
    }

    function entered(IRegistry.Role role, uint128 amount) private {
        IRegistry.Registration memory entry = registration(OWNER, role, amount);
        (entry.signer, entry.signerConsent, entry.payout) = (signer, consent(SIGNER_KEY, OWNER), VAULT);
        vm.prank(OWNER);
        registry.register(entry);
    }

    function seat(address key, uint64 time) private view returns (uint128 weight) {
        (, weight,) = registry.seatOf(address(this), key, time);
    }

    function test_ownerSignerAndPayoutApart() public {
        entered(IRegistry.Role.Validator, 1000);
        IRegistry.Account memory account = registry.accountOf(OWNER);
        assertEq(account.signer, signer);
        assertEq(account.payout, VAULT);
        assertEq(account.electorate, address(this));
        assertEq(registry.accountOfSigner(signer), OWNER);
        assertEq(registry.accountOfSigner(OWNER), address(0));
        assertEq(registry.payoutOf(OWNER), VAULT);
        assertEq(registry.payoutOf(STRANGER), STRANGER);
        (address who, uint128 weight, uint128 total) = registry.seatOf(address(this), signer, uint64(block.timestamp));
        assertEq(who, OWNER);
        assertEq(weight, 1000);
        assertEq(total, 1000);
        // The owner's own key speaks for nobody.
        assertEq(seat(OWNER, uint64(block.timestamp)), 0);
    }

    /// The hot key moves no stake, no payout, no allowance, no key.
    function test_theSignerMovesNothing() public {
        entered(IRegistry.Role.Provider, 1000);
        bytes memory why = abi.encodeWithSelector(IRegistry.NotRegistered.selector, signer);
        vm.startPrank(signer);
        vm.expectRevert(why);
        registry.unstake(1000);
        vm.expectRevert(why);
        registry.withdraw(signer);
        vm.expectRevert(why);
        registry.stake(1);
        vm.expectRevert(why);
        registry.setPayout(signer);
        vm.expectRevert(why);
        registry.setSigner(signer, "");
        vm.expectRevert(why);
        registry.setSigningKey("key", 2, "proof");
        vm.expectRevert(why);
        registry.allow(IRegistry.Allowance(signer, 1_000_000, 1000));
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotAllowed.selector, signer, address(slashing)));
        registry.disallow(address(slashing));
        // But it says where it is found.
        vm.expectEmit(address(registry));
        emit IRegistry.EndpointChanged(OWNER, "https://elsewhere");
        registry.setEndpoint("https://elsewhere");
        assertEq(keccak256(bytes(registry.accountOf(OWNER).endpoint)), keccak256("https://elsewhere"));
    }

    function test_theOwnerChangesItsWords() public {
        entered(IRegistry.Role.Provider, 1000);
        vm.startPrank(OWNER);
        registry.setEndpoint("https://third");
        assertEq(keccak256(bytes(registry.accountOf(OWNER).endpoint)), keccak256("https://third"));
        vm.expectEmit(address(registry));
        emit IRegistry.SigningKeyChanged(OWNER, bytes32(uint256(9)), 2, "proof");
        registry.setSigningKey(bytes32(uint256(9)), 2, "proof");
        assertEq(registry.accountOf(OWNER).signingKey, bytes32(uint256(9)));
        vm.expectRevert(IRegistry.SigningKeyMissing.selector);
        registry.setSigningKey(0, 3, "");
        vm.expectEmit(address(registry));
        emit IRegistry.PayoutChanged(OWNER, STRANGER);
        registry.setPayout(STRANGER);
        assertEq(registry.payoutOf(OWNER), STRANGER);
        registry.setPayout(address(0));
        assertEq(registry.payoutOf(OWNER), OWNER);
        vm.stopPrank();
        vm.startPrank(STRANGER);
        bytes memory why = abi.encodeWithSelector(IRegistry.NotRegistered.selector, STRANGER);
        vm.expectRevert(why);
        registry.setSigningKey("key", 1, "");
        vm.expectRevert(why);
        registry.setPayout(STRANGER);
        vm.expectRevert(why);
        registry.allow(IRegistry.Allowance(STRANGER, 1, 0));
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotRegistered.selector, address(0)));
        registry.setEndpoint("https://nowhere");
    }

    /// Who signed for an account once says nothing in its name later.
    function test_aFormerSignerSaysNothing() public {
        entered(IRegistry.Role.Provider, 1000);
        vm.startPrank(OWNER);
        registry.setSigner(next, consent(NEXT_KEY, OWNER));
        vm.stopPrank();
        vm.prank(signer);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotRegistered.selector, signer));
        registry.setEndpoint("https://stolen");
        vm.prank(next);
        registry.setEndpoint("https://own");
    }

    /// Nobody is made a signer that did not agree to this very account, here.
    function test_nobodysKeyIsSquatted() public {
        entered(IRegistry.Role.Provider, 1000);
        IRegistry.Registration memory entry = registration(STRANGER, IRegistry.Role.Provider, 1000);
        entry.signer = next;
        bytes memory why = abi.encodeWithSelector(IRegistry.ConsentInvalid.selector, next);
        bytes[5] memory wrong = [
            bytes(""),
            consent(NEXT_KEY, OWNER),
            consent(SIGNER_KEY, STRANGER),
            mirrored(consent(NEXT_KEY, STRANGER)),
            bytes.concat(consent(NEXT_KEY, STRANGER), hex"00")
        ];
        vm.startPrank(STRANGER);
        for (uint256 i = 0; i < 5; i++) {
            entry.signerConsent = wrong[i];
            vm.expectRevert(why);
            registry.register(entry);
        }
        // Not with a word for another registry or another chain.
        Registry another = Registry(deployCode("Registry", abi.encode(token, STRANGER, defaultParams())));
        entry.signerConsent = signed(NEXT_KEY, another.consentDigest(STRANGER));
        vm.expectRevert(why);
        registry.register(entry);
        entry.signerConsent = consent(NEXT_KEY, STRANGER);
        vm.chainId(block.chainid + 1);
        vm.expectRevert(why);
        registry.register(entry);
        vm.chainId(block.chainid - 1);
        // Another's signer, even with its consent.
        (entry.signer, entry.signerConsent) = (signer, consent(SIGNER_KEY, STRANGER));
        vm.expectRevert(abi.encodeWithSelector(IRegistry.SignerTaken.selector, signer, OWNER));
        registry.register(entry);
        (entry.signer, entry.signerConsent) = (next, consent(NEXT_KEY, STRANGER));
        registry.register(entry);
        assertEq(registry.accountOfSigner(next), STRANGER);
    }

    /// A key that signs for somebody can own an account, but needs another signer for it.
    function test_aSignerThatIsAnOwnerToo() public {
        entered(IRegistry.Role.Provider, 1000);
        fund(signer);
        IRegistry.Registration memory entry = registration(signer, IRegistry.Role.Provider, 100);
        vm.startPrank(signer);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.SignerTaken.selector, signer, OWNER));
        registry.register(entry);
        (entry.signer, entry.signerConsent) = (next, consent(NEXT_KEY, signer));
        registry.register(entry);
        // Its own account first.
        registry.setEndpoint("https://mine");
        assertEq(keccak256(bytes(registry.accountOf(signer).endpoint)), keccak256("https://mine"));
        assertEq(keccak256(bytes(registry.accountOf(OWNER).endpoint)), keccak256("https://host"));
    }

    /// What a signer signed stays its account's, when it was replaced, and when the account is gone.
    function test_aSignerBelongsToItsAccountForEver() public {
        entered(IRegistry.Role.Provider, 1000);
        vm.startPrank(OWNER);
        registry.setSigner(next, consent(NEXT_KEY, OWNER));
        assertEq(registry.accountOfSigner(signer), OWNER);
        assertEq(registry.accountOfSigner(next), OWNER);
        registry.unstake(1000);
        vm.warp(block.timestamp + 7 days);
        registry.withdraw(OWNER);
        vm.stopPrank();
        assertEq(registry.accountOf(OWNER).signer, address(0));
        assertEq(registry.accountOfSigner(next), OWNER);
        vm.startPrank(STRANGER);
        IRegistry.Registration memory entry = registration(STRANGER, IRegistry.Role.Provider, 1000);
        (entry.signer, entry.signerConsent) = (next, consent(NEXT_KEY, STRANGER));
        vm.expectRevert(abi.encodeWithSelector(IRegistry.SignerTaken.selector, next, OWNER));
        registry.register(entry);
        // Nor does an account that is gone say anything.
        vm.stopPrank();
        vm.prank(next);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotRegistered.selector, OWNER));
        registry.setEndpoint("https://ghost");
    }

    /// Two keys of one account never both have the seat of one moment, in whatever order they are changed.
    function test_aChangeOfSignersMakesNoSecondSeat() public {
        entered(IRegistry.Role.Validator, 1000);
        uint64 end = uint64(block.timestamp) + 100;
        vm.warp(end + 10);
        assertEq(seat(signer, end - 1), 1000);
        vm.startPrank(OWNER);
        vm.expectEmit(address(registry));
        emit IRegistry.SignerChanged(OWNER, next);
        registry.setSigner(next, consent(NEXT_KEY, OWNER));
        assertEq(seat(signer, end - 1), 0);
        assertEq(seat(next, end - 1), 0);
        assertEq(seat(next, end + 9), 0);
        assertEq(seat(next, end + 10), 1000);
        // Back again within the window: the old key has no seat of that epoch any more.
        registry.setSigner(signer, consent(SIGNER_KEY, OWNER));
        assertEq(seat(signer, end - 1), 0);
        assertEq(seat(next, end + 10), 0);
        assertEq(seat(signer, end + 10), 1000);
        // The owner itself, without a word to itself.
        registry.setSigner(address(0), "");
        assertEq(registry.accountOf(OWNER).signer, OWNER);
        assertEq(seat(OWNER, end + 10), 1000);
    }

    /// ATTACK: slashed to nothing, then reveal with the stake of the epoch's end, with nothing left to lose.
    function test_whoHasNothingLeftHasNoSeatOfThePast() public {
        entered(IRegistry.Role.Validator, 1000);
        uint64 end = uint64(block.timestamp) + 100;
        vm.warp(end + 10);
        registry.slash(OWNER, 1_000_000, address(0), "why");
        assertEq(seat(signer, end - 1), 0);
        (address who, uint128 weight) = registry.voiceOf(address(this), signer);
        assertEq(who, OWNER);
        assertEq(weight, 0);
        // Nor when it comes back.
        entered(IRegistry.Role.Validator, 1000);
        assertEq(seat(signer, end - 1), 0);
        assertEq(seat(signer, end + 10), 1000);
        (, weight) = registry.voiceOf(address(this), signer);
        assertEq(weight, 1000);
    }

    function testFuzz_atMostOneSeatAMoment(uint8[8] calldata changes, uint16 ask) public {
        entered(IRegistry.Role.Validator, 1000);
        uint64 start = uint64(block.timestamp);
        uint64 moment = start + uint64(ask) % 100;
        vm.warp(start + 100);
        uint256 everSeated = 0;
        for (uint256 i = 0; i < 8; i++) {
            uint256 key = changes[i] % 3;
            vm.startPrank(OWNER);
            if (key == 0) registry.setSigner(signer, consent(SIGNER_KEY, OWNER));
            else if (key == 1) registry.setSigner(next, consent(NEXT_KEY, OWNER));
            else registry.setSigner(address(0), "");
            vm.stopPrank();
            vm.warp(block.timestamp + changes[i] % 5);
            if (seat(signer, moment) + seat(next, moment) + seat(OWNER, moment) > 0) everSeated++;
        }
        // All changes came later than the moment: nobody has its seat any more.
        assertEq(everSeated, 0);
    }
}
