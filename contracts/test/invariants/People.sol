// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {DeviceId, IRegistry} from "../../src/stake/IRegistry.sol";
import {EpochKit} from "../epochs/EpochKit.sol";

/// Acts of those who take part, in the Registry: they come, stake, change keys, allow others to take, bind
/// devices and leave; lockers and the owner try what they may and what they may not. Counts what must never
/// happen.
abstract contract People is EpochKit {
    /// Whom some providers allow to slash and to lock.
    address internal constant LOCKER = address(0x10CC);
    address internal constant HARMED = address(0x4A12);
    address internal constant NEXT_OWNER = address(0x0E2);
    bytes32 internal constant SCHEMA = keccak256("assay/device/1");

    address[] public actors;
    mapping(address signer => uint256) internal keyOf;
    mapping(address => uint256) public deposited;
    mapping(address => uint256) public withdrawn;
    mapping(address => uint256) public lost;
    /// Stake that was taken, whoever lost it.
    uint256 public seized;
    DeviceId[] public devices;
    mapping(DeviceId => address) internal boundTo;
    mapping(DeviceId => uint64) internal boundUntil;
    bytes32[] internal refs;
    uint256 private made;

    // What must stay 0.
    uint256 public blockedWithdrawals;
    uint256 public earlyWithdrawals;
    uint256 public ownerTook;
    uint256 public lockersTook;
    uint256 public devicesTaken;
    uint256 public signersTaken;
    uint256 public entriesWhilePaused;
    // What must not stay 0 for ever, or the campaign shows nothing.
    mapping(string => uint256) public seen;

    function actorCount() external view returns (uint256) {
        return actors.length;
    }

    function someone(uint256 who) internal view returns (address) {
        return actors[who % actors.length];
    }

    /// The first of this role from a place on; when there is none, whoever is there.
    function nearest(uint256 who, IRegistry.Role role) internal view returns (address) {
        for (uint256 i = 0; i < actors.length; i++) {
            address actor = actors[(who % actors.length + i) % actors.length];
            if (registry.accountOf(actor).role == role) return actor;
        }
        return someone(who);
    }

    function took(address actor, uint256 before) internal {
        uint256 amount = before - registry.slashableOf(actor);
        lost[actor] += amount;
        seized += amount;
    }

    function newKey(address actor) internal returns (uint256 key) {
        key = uint256(keccak256(abi.encode(actor, made++))) >> 8;
        keyOf[vm.addr(key)] = key;
    }

    function register(uint256 who, bool asValidator, uint128 amount, bool ownSigner) external {
        address actor = someone(who);
        amount = uint128(bound(amount, 1, 6000));
        IRegistry.Registration memory entry =
            registration(actor, asValidator ? IRegistry.Role.Validator : IRegistry.Role.Provider, amount);
        if (ownSigner) {
            uint256 key = newKey(actor);
            entry.signer = vm.addr(key);
            entry.signerConsent = signed(key, registry.consentDigest(actor));
        }
        bool paused = registry.paused();
        vm.prank(actor);
        registry.register(entry);
        deposited[actor] += amount;
        if (paused) entriesWhilePaused++;
        seen["register"]++;
    }

    /// Also while entries are paused: a slashed account must be able to come back.
    function stake(uint256 who, uint128 amount) external {
        address actor = someone(who);
        amount = uint128(bound(amount, 1, 5000));
        vm.prank(actor);
        registry.stake(amount);
        deposited[actor] += amount;
        seen["stake"]++;
    }

    function unstake(uint256 who, uint128 amount, bool all) external {
        address actor = someone(who);
        uint128 there = registry.accountOf(actor).stake;
        // Rarely all of it, or epochs would hardly ever have a quorum.
        if (there == 0 || (all && amount % 4 != 0)) return;
        vm.prank(actor);
        registry.unstake(all ? there : uint128(bound(amount, 1, there)));
        seen["unstake"]++;
    }

    /// When the delay is over nothing keeps an account from its stake, least of all a pause; before, nothing
    /// gives it.
    function withdraw(uint256 who, bool whilePaused) external {
        address actor = someone(who);
        bool pauses = whilePaused && !registry.paused() && registry.owner() == address(this);
        if (pauses) registry.pause();
        IRegistry.Account memory account = registry.accountOf(actor);
        bool due = account.unbonding > 0 && block.timestamp >= account.unlockAt;
        vm.prank(actor);
        try registry.withdraw(actor) {
            withdrawn[actor] += account.unbonding;
            if (!due) earlyWithdrawals++;
            seen["withdraw"]++;
        } catch {
            if (due) blockedWithdrawals++;
        }
        if (pauses) registry.unpause();
    }

    function keys_(uint256 who, uint256 other, uint256 what) external {
        address actor = someone(who);
        uint256 key = newKey(actor);
        bytes memory consent = signed(key, registry.consentDigest(actor));
        address taken = registry.accountOf(someone(other)).signer;
        bytes memory stolen = signed(keyOf[taken], registry.consentDigest(actor));
        address own = registry.accountOfSigner(taken);
        address next = vm.addr(key);
        // One call a prank: what reverts between start and stop would leave it on for all that follows.
        vm.prank(actor);
        if (what % 4 == 0) registry.setSigner(next, consent);
        if (what % 4 == 1) registry.setPayout(address(uint160(0xFA00 + what % 3)));
        if (what % 4 == 2) registry.setSigningKey(keccak256(abi.encode(what)), uint64(what), "proof");
        if (what % 4 == 3) registry.setEndpoint("https://elsewhere");
        if (taken != address(0) && own != actor) {
            vm.prank(actor);
            try registry.setSigner(taken, stolen) {
                signersTaken++;
            } catch {}
        }
        seen["keys"]++;
    }

    // --- whom one allows to take

    function allowances(uint256 who, uint32 ppm, uint128 most, bool ends) external {
        address actor = nearest(who, IRegistry.Role.Provider);
        vm.prank(actor);
        if (ends) registry.disallow(LOCKER);
        else registry.allow(IRegistry.Allowance(LOCKER, uint32(bound(ppm, 1, 200_000)), uint128(bound(most, 1, 5000))));
        seen[ends ? "disallow" : "allow"]++;
    }

    /// No more than the account allows at this moment.
    function slash(uint256 who, uint32 ppm) external {
        address actor = someone(who);
        (uint32 mostPpm,) = registry.allowanceOf(actor, LOCKER);
        ppm = uint32(bound(ppm, 1, 1_000_000));
        uint256 before = registry.slashableOf(actor);
        vm.prank(LOCKER);
        try registry.slash(actor, ppm, ACCUSER, "reason") {
            if (ppm > mostPpm || registry.slashableOf(actor) < before - before * mostPpm / 1_000_000) lockersTook++;
            took(actor, before);
            seen["slash"]++;
        } catch {}
    }

    function lock(uint256 who, uint128 amount) external {
        address actor = nearest(who, IRegistry.Role.Provider);
        (, uint128 most) = registry.allowanceOf(actor, LOCKER);
        bytes32 ref = bytes32(refs.length + 1);
        amount = uint128(bound(amount, 1, 2000));
        vm.prank(LOCKER);
        registry.lock(actor, amount, ref);
        if (amount > most || registry.accountOf(actor).stake < 100) lockersTook++;
        refs.push(ref);
        seen["lock"]++;
    }

    function endLock(uint256 which, uint128 amount, bool isSlash) external {
        if (refs.length == 0) return;
        bytes32 ref = refs[which % refs.length];
        for (uint256 i = 0; i < actors.length; i++) _before[i] = registry.slashableOf(actors[i]);
        vm.prank(LOCKER);
        if (isSlash) registry.slashLocked(ref, uint128(bound(amount, 1, 2000)), HARMED, "reason");
        else registry.unlock(ref);
        for (uint256 i = 0; i < actors.length; i++) {
            uint256 now_ = registry.slashableOf(actors[i]);
            if (now_ != _before[i] && !isSlash) lockersTook++;
            if (now_ != _before[i]) took(actors[i], _before[i]);
        }
        // The locker's alone.
        try registry.unlock(ref) {
            lockersTook++;
        } catch {}
        seen[isSlash ? "slashLocked" : "unlock"]++;
    }

    mapping(uint256 => uint256) private _before;

    // --- the owner

    function owner(uint256 what, uint256 who, uint32 ppm) external {
        address actor = someone(who);
        uint256 before = registry.slashableOf(actor);
        try registry.slash(actor, uint32(bound(ppm, 1, 1_000_000)), address(this), "owner") {
            ownerTook++;
        } catch {}
        try registry.lock(actor, 1, "owner") {
            ownerTook++;
        } catch {}
        try registry.withdraw(address(this)) {
            ownerTook++;
        } catch {}
        if (registry.slashableOf(actor) != before) ownerTook++;
        if (what % 4 == 0) registry.pause();
        if (what % 4 == 1) registry.unpause();
        if (what % 4 == 2) {
            registry.transferOwnership(NEXT_OWNER);
            vm.prank(NEXT_OWNER);
            registry.acceptOwnership();
            vm.prank(NEXT_OWNER);
            registry.transferOwnership(address(this));
            registry.acceptOwnership();
        }
        // For good: rarely.
        if (what % 256 == 3) registry.renounceOwnership();
        seen["owner"]++;
    }

    // --- devices

    /// Signers of all who vote now, ascending, with their signatures.
    function voted(bytes32 digest, uint256 without) internal view returns (bytes[] memory list) {
        address[] memory sorted = new address[](actors.length);
        uint256 used = 0;
        for (uint256 i = 0; i < actors.length; i++) {
            address signer = registry.accountOf(actors[i]).signer;
            (, uint128 weight) = registry.voiceOf(electorate, signer);
            if (weight == 0) continue;
            uint256 at = used++;
            for (; at > 0 && sorted[at - 1] > signer; at--) sorted[at] = sorted[at - 1];
            sorted[at] = signer;
        }
        list = new bytes[](used > without ? used - without : 0);
        for (uint256 i = 0; i < list.length; i++) list[i] = signed(keyOf[sorted[i]], digest);
    }

    function bindDevice(uint256 who, uint256 which, uint32 age, uint256 without) external {
        address actor = nearest(who, IRegistry.Role.Provider);
        DeviceId device = devices[which % devices.length];
        uint64 issuedAt = uint64(block.timestamp - bound(age, 0, 4 days));
        IRegistry.DeviceStatement memory word =
            IRegistry.DeviceStatement(device, actor, electorate, SCHEMA, bytes32(uint256(1)), issuedAt);
        bytes[] memory words = voted(registry.statementDigest(word), without % 3);
        vm.prank(actor);
        registry.bindDevice(word, words);
        bool isHeld = boundUntil[device] > block.timestamp;
        if (words.length == 0 || (isHeld && boundTo[device] != actor)) devicesTaken++;
        if (registry.paused() && !(isHeld && boundTo[device] == actor)) entriesWhilePaused++;
        (boundTo[device], boundUntil[device]) = (actor, issuedAt + 3 days);
        seen["bindDevice"]++;
    }

    function releaseDevice(uint256 who, uint256 which) external {
        address actor = someone(who);
        DeviceId device = devices[which % devices.length];
        vm.prank(actor);
        registry.releaseDevice(electorate, SCHEMA, device);
        if (boundTo[device] != actor) devicesTaken++;
        boundUntil[device] = 0;
        seen["releaseDevice"]++;
    }

    function revokeDevice(uint256 which, uint256 without) external {
        DeviceId device = devices[which % devices.length];
        uint64 issuedAt = uint64(block.timestamp);
        bytes[] memory words = voted(registry.revocationDigest(device, electorate, SCHEMA, issuedAt), without % 4);
        registry.revokeDevice(device, electorate, SCHEMA, issuedAt, words);
        if (words.length == 0) devicesTaken++;
        boundUntil[device] = 0;
        seen["revokeDevice"]++;
    }

    function boundOf(DeviceId device) external view returns (address) {
        return boundUntil[device] > block.timestamp ? boundTo[device] : address(0);
    }
}
