// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {DeviceId, IRegistry} from "../../src/stake/IRegistry.sol";
import {Registry} from "../../src/stake/Registry.sol";
import {StakeKit} from "../StakeKit.sol";

/// Devices: bound by more than a third of an electorate's stake, released, run out, revoked; and every
/// statement that must not do any of it. Three validators have 3000 each, so two must sign.
contract RegistryDevicesTest is StakeKit {
    DeviceId private constant GPU = DeviceId.wrap(keccak256("gpu"));
    bytes32 private constant SCHEMA = keccak256("assay/device/1");
    address private other;
    uint256 private constant OTHER_KEY = 0xB0C;
    uint64 private start;

    function setUp() public {
        deployStakes();
        other = vm.addr(OTHER_KEY);
        join(other, IRegistry.Role.Provider, 100);
        start = uint64(block.timestamp);
    }

    function stated(address to, uint64 issuedAt) private view returns (IRegistry.DeviceStatement memory) {
        return IRegistry.DeviceStatement(GPU, to, electorate, SCHEMA, keccak256("evidence"), issuedAt);
    }

    function signatures(bytes32 digest, uint256 count) private view returns (bytes[] memory list) {
        list = new bytes[](count);
        for (uint256 i = 0; i < count; i++) list[i] = signed(keys[i], digest);
    }

    function bind(IRegistry.DeviceStatement memory said) private {
        bytes[] memory all = signatures(registry.statementDigest(said), 2);
        vm.prank(said.provider);
        registry.bindDevice(said, all);
    }

    function refused(IRegistry.DeviceStatement memory said, bytes[] memory all, bytes memory why) private {
        vm.prank(said.provider);
        vm.expectRevert(why);
        registry.bindDevice(said, all);
    }

    function refused(IRegistry.DeviceStatement memory said, bytes memory why) private {
        refused(said, signatures(registry.statementDigest(said), 2), why);
    }

    function revoke(uint64 issuedAt, uint256 count, bytes memory why) private {
        bytes[] memory all = signatures(registry.revocationDigest(GPU, electorate, SCHEMA, issuedAt), count);
        vm.prank(address(0x57));
        if (why.length != 0) vm.expectRevert(why);
        registry.revokeDevice(GPU, electorate, SCHEMA, issuedAt, all);
    }

    function revoke(uint64 issuedAt, address whose) private {
        bytes[] memory all = signatures(registry.revocationDigest(GPU, electorate, SCHEMA, issuedAt), 2);
        vm.expectEmit(address(registry));
        emit IRegistry.DeviceRevoked(GPU, whose, electorate, SCHEMA);
        registry.revokeDevice(GPU, electorate, SCHEMA, issuedAt, all);
    }

    function belongs(address to, uint64 until) private view {
        (address provider_, uint64 until_) = registry.deviceOf(electorate, SCHEMA, GPU);
        assertEq(provider_, to);
        assertEq(until_, until);
    }

    function stale(uint64 issuedAt) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IRegistry.StatementStale.selector, issuedAt);
    }

    function test_oneProviderADevice() public {
        IRegistry.DeviceStatement memory said = stated(provider, start);
        vm.expectEmit(address(registry));
        emit IRegistry.DeviceBound(GPU, provider, electorate, SCHEMA, keccak256("evidence"), start + 3 days);
        bind(said);
        belongs(provider, start + 3 days);
        refused(
            stated(other, start), abi.encodeWithSelector(IRegistry.DeviceTaken.selector, GPU, provider, start + 3 days)
        );
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotDeviceOwner.selector, GPU, other));
        registry.releaseDevice(electorate, SCHEMA, GPU);
        vm.prank(provider);
        vm.expectEmit(address(registry));
        emit IRegistry.DeviceReleased(GPU, provider, electorate, SCHEMA);
        registry.releaseDevice(electorate, SCHEMA, GPU);
        belongs(address(0), 0);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotDeviceOwner.selector, GPU, provider));
        registry.releaseDevice(electorate, SCHEMA, GPU);
        bind(stated(other, start));
        belongs(other, start + 3 days);
        vm.warp(start + 3 days - 1);
        belongs(other, start + 3 days);
        vm.warp(start + 3 days);
        belongs(address(0), 0);
        bind(stated(provider, start + 1 days));
        belongs(provider, start + 4 days);
    }

    /// L3: one validator's word binds nobody's device; a third's does not either.
    function test_moreThanAThirdMustSign() public {
        IRegistry.DeviceStatement memory said = stated(provider, start);
        bytes32 digest = registry.statementDigest(said);
        refused(
            said, signatures(digest, 1), abi.encodeWithSelector(IRegistry.TooFewSigners.selector, 3000, 9000)
        );
        refused(said, new bytes[](0), abi.encodeWithSelector(IRegistry.TooFewSigners.selector, 0, 9000));
        // The same one twice, or in the wrong order, is no second.
        bytes[] memory twice = new bytes[](2);
        twice[0] = signed(keys[0], digest);
        twice[1] = twice[0];
        refused(said, twice, abi.encodeWithSelector(IRegistry.SignerInvalid.selector, validators[0]));
        (twice[0], twice[1]) = (signed(keys[1], digest), signed(keys[0], digest));
        refused(said, twice, abi.encodeWithSelector(IRegistry.SignerInvalid.selector, validators[0]));
        // Nor is a provider, or who votes elsewhere.
        twice = new bytes[](1);
        twice[0] = signed(PROVIDER_KEY, digest);
        refused(said, twice, abi.encodeWithSelector(IRegistry.SignerInvalid.selector, provider));
        said.electorate = address(0xE2);
        digest = registry.statementDigest(said);
        refused(said, signatures(digest, 1), abi.encodeWithSelector(IRegistry.SignerInvalid.selector, validators[0]));
        refused(said, new bytes[](0), abi.encodeWithSelector(IRegistry.TooFewSigners.selector, 0, 0));
        bind(stated(provider, start));
    }

    /// Exactly the share is too little.
    function test_moreThanTheShareMustSign() public {
        IRegistry.Params memory params = registry.params();
        params.devicePpm = 500_000;
        registry = Registry(deployCode("Registry", abi.encode(token, address(this), params)));
        for (uint256 i = 0; i < 2; i++) join(validators[i], IRegistry.Role.Validator, 1000);
        join(provider, IRegistry.Role.Provider, 100);
        IRegistry.DeviceStatement memory said = stated(provider, start);
        bytes32 digest = registry.statementDigest(said);
        refused(said, signatures(digest, 1), abi.encodeWithSelector(IRegistry.TooFewSigners.selector, 1000, 2000));
        vm.prank(validators[0]);
        registry.stake(1);
        bytes[] memory one = signatures(digest, 1);
        vm.prank(provider);
        registry.bindDevice(said, one);
        belongs(provider, start + 3 days);
    }

    /// Signatures of validators that have left since count for nothing.
    function test_stakeOfNowSigns() public {
        IRegistry.DeviceStatement memory said = stated(provider, start);
        vm.prank(validators[1]);
        registry.unstake(3000);
        refused(said, abi.encodeWithSelector(IRegistry.SignerInvalid.selector, validators[1]));
        // What is left are 6000, of which one is half.
        bytes[] memory one = signatures(registry.statementDigest(said), 1);
        vm.prank(provider);
        registry.bindDevice(said, one);
        belongs(provider, start + 3 days);
    }

    function test_statementsAreFreshAndTheirProvidersOwn() public {
        refused(stated(provider, start + 1), stale(start + 1));
        IRegistry.DeviceStatement memory said = stated(provider, start);
        bytes[] memory all = signatures(registry.statementDigest(said), 2);
        vm.prank(other);
        vm.expectRevert(abi.encodeWithSelector(IRegistry.NotProvider.selector, provider));
        registry.bindDevice(said, all);
        IRegistry.DeviceStatement memory validators_ = stated(validators[0], start);
        refused(validators_, abi.encodeWithSelector(IRegistry.NotProvider.selector, validators[0]));
        IRegistry.DeviceStatement memory strangers = stated(address(0x57), start);
        refused(strangers, abi.encodeWithSelector(IRegistry.NotProvider.selector, address(0x57)));
        vm.warp(start + 3 days);
        refused(said, stale(start));
        vm.warp(start);
        bind(said);
        // Replayed: it stretches nothing.
        refused(said, stale(start));
        vm.warp(start + 1 days);
        refused(said, stale(start));
        bind(stated(provider, start + 1 days));
        belongs(provider, start + 4 days);
    }

    /// By its signer as well as its owner.
    function test_theSignerBindsAndReleases() public {
        address signer = vm.addr(0x51);
        bytes memory consent = signed(0x51, registry.consentDigest(provider));
        vm.prank(provider);
        registry.setSigner(signer, consent);
        IRegistry.DeviceStatement memory said = stated(provider, start);
        bytes[] memory all = signatures(registry.statementDigest(said), 2);
        vm.prank(signer);
        registry.bindDevice(said, all);
        belongs(provider, start + 3 days);
        vm.prank(signer);
        registry.releaseDevice(electorate, SCHEMA, GPU);
        belongs(address(0), 0);
    }

    /// Not to another registry, not to another chain, not in another form, not with another field.
    function test_statementsDoNotTravel() public {
        IRegistry.DeviceStatement memory said = stated(provider, start);
        bytes[] memory all = signatures(registry.statementDigest(said), 2);
        bytes[] memory odd = signatures(registry.statementDigest(said), 2);
        odd[0] = mirrored(odd[0]);
        vm.startPrank(provider);
        vm.expectRevert();
        registry.bindDevice(said, odd);
        odd[0] = bytes.concat(all[0], hex"00");
        vm.expectRevert();
        registry.bindDevice(said, odd);
        vm.chainId(block.chainid + 1);
        vm.expectRevert();
        registry.bindDevice(said, all);
        vm.chainId(block.chainid - 1);
        said.schema = keccak256("another");
        vm.expectRevert();
        registry.bindDevice(said, all);
        said.schema = SCHEMA;
        said.device = DeviceId.wrap(keccak256("another"));
        vm.expectRevert();
        registry.bindDevice(said, all);
        said.device = GPU;
        said.evidenceSha256 = 0;
        vm.expectRevert();
        registry.bindDevice(said, all);
        said.evidenceSha256 = keccak256("evidence");
        Registry another = Registry(deployCode("Registry", abi.encode(token, address(this), registry.params())));
        assertTrue(another.statementDigest(said) != registry.statementDigest(said), "one digest for two registries");
        // A revocation is no statement and the other way round.
        assertTrue(
            registry.revocationDigest(GPU, electorate, SCHEMA, start) != registry.statementDigest(said), "one digest"
        );
        registry.bindDevice(said, all);
    }

    /// By schema and electorate apart: another network's validators take nobody's device.
    function test_bindingsAreApart() public {
        bind(stated(provider, start));
        IRegistry.DeviceStatement memory said = stated(other, start);
        said.schema = keccak256("another");
        bind(said);
        belongs(provider, start + 3 days);
        (address holder,) = registry.deviceOf(electorate, said.schema, GPU);
        assertEq(holder, other);
        // An electorate of one's own.
        vm.startPrank(other);
        registry.unstake(100);
        vm.warp(start + 7 days);
        registry.withdraw(other);
        vm.stopPrank();
        electorate = other;
        join(other, IRegistry.Role.Validator, 1000);
        said = stated(provider, start + 7 days);
        bytes[] memory own = new bytes[](1);
        own[0] = signed(OTHER_KEY, registry.statementDigest(said));
        vm.prank(provider);
        registry.bindDevice(said, own);
        (holder,) = registry.deviceOf(other, SCHEMA, GPU);
        assertEq(holder, provider);
        (holder,) = registry.deviceOf(address(0xE1EC), SCHEMA, GPU);
        assertEq(holder, address(0));
    }

    function test_revoked() public {
        bind(stated(provider, start));
        vm.warp(start + 1 days);
        revoke(start + 1 days, 1, abi.encodeWithSelector(IRegistry.TooFewSigners.selector, 3000, 9000));
        revoke(start + 1 days + 1, 2, stale(start + 1 days + 1));
        revoke(start + 1 days, provider);
        belongs(address(0), 0);
        // No statement up to then binds it again, whosever it is.
        refused(stated(provider, start), stale(start));
        refused(stated(other, start + 1 days), stale(start + 1 days));
        vm.warp(start + 2 days);
        bind(stated(provider, start + 1 days + 1));
        // Replayed, or older: it takes nothing that is newer.
        revoke(start + 1 days, 2, stale(start + 1 days));
        belongs(provider, start + 4 days + 1);
    }

    /// A revocation that comes late frees no binding that was stated after it.
    function test_anOldRevocationTakesNoNewerBinding() public {
        vm.warp(start + 1 days);
        bind(stated(provider, start + 1 days));
        revoke(start + 1 days - 1, address(0));
        belongs(provider, start + 4 days);
        // Of the same second it does.
        revoke(start + 1 days, provider);
        belongs(address(0), 0);
    }

    /// While entries are paused whoever has a device keeps it; nobody else gets one.
    function test_aRenewalIsNoEntry() public {
        bind(stated(provider, start));
        registry.pause();
        vm.warp(start + 2 days);
        bind(stated(provider, start + 2 days));
        belongs(provider, start + 5 days);
        IRegistry.DeviceStatement memory said = stated(other, start + 2 days);
        said.device = DeviceId.wrap(keccak256("another"));
        refused(said, abi.encodeWithSelector(Pausable.EnforcedPause.selector));
        // Run out it is free, and to bind it is an entry again.
        vm.warp(start + 5 days);
        refused(stated(provider, start + 5 days), abi.encodeWithSelector(Pausable.EnforcedPause.selector));
        revoke(start + 5 days, provider);
    }
}
