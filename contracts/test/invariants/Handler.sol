// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard} from "../../src/epochs/IScoreboard.sol";
import {ISlashing} from "../../src/slashing/ISlashing.sol";
import {IRegistry} from "../../src/stake/IRegistry.sol";
import {NetworkKit} from "../NetworkKit.sol";
import {TreeKit} from "../TreeKit.sol";

/// What a whole network does in random order: people come, stake and leave, epochs are reported, proposed
/// (rightly or wrongly), disputed, paid and swept, fraud is proven, false accusers and the owner try their
/// luck. Counts what must never happen; Invariants.t.sol reads it. Its own address owns the Registry.
contract Handler is NetworkKit {
    struct Settled {
        uint64 epoch;
        IScoreboard.Proposal proposal;
        IScoreboard.WeightLeaf[] leaves;
    }

    address[] public actors;
    mapping(address => uint256) public keyOf;
    mapping(address => uint256) public deposited;
    mapping(address => uint256) public withdrawn;
    mapping(address => uint256) public lost;
    /// Stake that a proof took, whoever lost it.
    uint256 public seized;
    uint256 public funded;
    uint256 public paidOut;
    mapping(address => uint256) public claimed;
    mapping(address => uint256) public paidTo;
    Settled[] private settled;
    uint64 public nextEpoch;
    bytes32[] public devices;
    mapping(bytes32 => address) private boundTo;
    mapping(bytes32 => uint64) private boundUntil;
    uint64 private probes;

    // What must stay 0.
    uint256 public blockedWithdrawals;
    uint256 public earlyWithdrawals;
    uint256 public doubleClaims;
    uint256 public wrongShares;
    uint256 public doubleCollects;
    uint256 public blockedCollects;
    uint256 public wrongPayments;
    uint256 public honestRejected;
    uint256 public liesAccepted;
    uint256 public fraudAccepted;
    uint256 public slashesWithoutFraud;
    uint256 public ownerTook;
    uint256 public devicesTaken;
    uint256 public wrongMedians;
    uint256 public entriesWhilePaused;
    // What must not stay 0 for ever, or the campaign shows nothing.
    mapping(string => uint256) public seen;

    constructor() {
        deploy();
        funded = uint256(EMISSION) * 1000;
        for (uint256 i = 0; i < 3; i++) {
            actors.push(validators[i]);
            keyOf[validators[i]] = keys[i];
            deposited[validators[i]] = STAKE;
        }
        actors.push(provider);
        keyOf[provider] = PROVIDER_KEY;
        deposited[provider] = 1000;
        for (uint256 i = 0; i < 2; i++) {
            address newcomer = vm.addr(0xC0 + i);
            actors.push(newcomer);
            keyOf[newcomer] = 0xC0 + i;
            token.transfer(newcomer, 1e9);
            vm.prank(newcomer);
            token.approve(address(registry), type(uint256).max);
        }
        devices.push(keccak256("gpu 0"));
        devices.push(keccak256("gpu 1"));
    }

    function actorCount() external view returns (uint256) {
        return actors.length;
    }

    function settledCount() external view returns (uint256) {
        return settled.length;
    }

    function settledEpoch(uint256 i) external view returns (uint64) {
        return settled[i].epoch;
    }

    function contracts() external view returns (address, address, address, address, address) {
        return (address(token), address(registry), address(scoreboard), address(rewards), address(slashing));
    }

    function isPaused() external view returns (bool) {
        return registry.paused();
    }

    // People

    function register(uint256 who, bool asValidator, uint128 amount) external {
        address actor = actors[who % actors.length];
        amount = uint128(bound(amount, 1, 5000));
        bool paused = registry.paused();
        vm.prank(actor);
        registry.register(
            asValidator ? IRegistry.Role.Validator : IRegistry.Role.Provider, keccak256(abi.encode(actor)), "", "", amount
        );
        deposited[actor] += amount;
        if (paused) entriesWhilePaused++;
        seen["register"]++;
    }

    function stake(uint256 who, uint128 amount) external {
        address actor = actors[who % actors.length];
        amount = uint128(bound(amount, 1, 5000));
        bool paused = registry.paused();
        vm.prank(actor);
        registry.stake(amount);
        deposited[actor] += amount;
        if (paused) entriesWhilePaused++;
        seen["stake"]++;
    }

    function unstake(uint256 who, uint128 amount, bool all) external {
        address actor = actors[who % actors.length];
        uint128 there = registry.accountOf(actor).stake;
        if (there == 0) return;
        vm.prank(actor);
        registry.unstake(all ? there : uint128(bound(amount, 1, there)));
        seen["unstake"]++;
    }

    /// When the delay is over nothing keeps an account from its stake, least of all a pause; before, nothing
    /// gives it.
    function withdraw(uint256 who, bool whilePaused) external {
        address actor = actors[who % actors.length];
        bool pauses = whilePaused && !registry.paused();
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

    /// Mostly short; now and then long enough for claims to close.
    function wait(uint32 time) external {
        vm.warp(block.timestamp + bound(time, 1, time % 8 == 0 ? 40 days : 3 days));
    }

    // The owner

    function pause(bool on) external {
        if (on) registry.pause();
        else registry.unpause();
        seen["pause"]++;
    }

    /// All that an owner can name: a slash, a withdrawal in another's name.
    function ownerReaches(uint256 who, uint32 ppm) external {
        address actor = actors[who % actors.length];
        uint256 before = registry.slashableOf(actor);
        try registry.slash(actor, uint32(bound(ppm, 1, 1_000_000)), address(this)) {
            ownerTook++;
        } catch {}
        try registry.withdraw(address(this)) {
            ownerTook++;
        } catch {}
        if (registry.slashableOf(actor) != before) ownerTook++;
    }

    // Devices

    function bindDevice(uint256 who, uint256 which, uint256 attester, uint32 age) external {
        // Mostly by providers on a validator's word, or two would hardly ever want one device.
        address actor = nearest(who, IRegistry.Role.Provider);
        address voucher = attester % 4 == 0 ? actors[attester % actors.length] : nearest(attester, IRegistry.Role.Validator);
        bytes32 device = devices[which % devices.length];
        IRegistry.DeviceAttestation memory word = IRegistry.DeviceAttestation(
            device, actor, bytes32(uint256(1)), uint64(block.timestamp - bound(age, 0, 4 days))
        );
        bytes memory signature = signed(keyOf[voucher], registry.attestationDigest(word));
        vm.prank(actor);
        registry.bindDevice(word, signature);
        bool isHeld = boundUntil[device] > block.timestamp;
        if (isHeld && boundTo[device] != actor) devicesTaken++;
        if (registry.paused() && !(isHeld && boundTo[device] == actor)) entriesWhilePaused++;
        (boundTo[device], boundUntil[device]) = (actor, word.issuedAt + 3 days);
        seen["bindDevice"]++;
    }

    /// The first of this role from a place on; when there is none, whoever is there.
    function nearest(uint256 who, IRegistry.Role role) private view returns (address) {
        for (uint256 i = 0; i < actors.length; i++) {
            address actor = actors[(who % actors.length + i) % actors.length];
            if (registry.accountOf(actor).role == role) return actor;
        }
        return actors[who % actors.length];
    }

    function releaseDevice(uint256 who, uint256 which) external {
        address actor = actors[who % actors.length];
        bytes32 device = devices[which % devices.length];
        vm.prank(actor);
        registry.releaseDevice(device);
        if (boundTo[device] != actor) devicesTaken++;
        boundUntil[device] = 0;
    }

    function boundOf(bytes32 device) external view returns (address) {
        return boundUntil[device] > block.timestamp ? boundTo[device] : address(0);
    }

    // Epochs

    /// One epoch from its end to a proposal. `lie` changes one weight by that much; whoever sees it proves
    /// it.
    function epoch(uint256 seed, uint32 lie, bool isLie) external {
        uint64 number = scoreboard.epochAt(uint64(block.timestamp));
        if (number < nextEpoch || seed % 3 != 0) return;
        nextEpoch = number + 1;
        IScoreboard.ScoreLeaf[][3] memory reports;
        bool[3] memory said = gather(number, seed, reports);
        (,, bool quorum) = scoreboard.stakesOf(number);
        if (!quorum) return;
        uint32[] memory weights = medians(number, reports, said);
        bool isWrong = false;
        if (isLie) {
            lie = uint32(bound(lie, 0, 1_000_000));
            isWrong = lie != weights[seed % 2];
            weights[seed % 2] = lie;
        }
        conclude(number, seed, weights, reports, said, isWrong);
    }

    function conclude(
        uint64 number,
        uint256 seed,
        uint32[] memory weights,
        IScoreboard.ScoreLeaf[][3] memory reports,
        bool[3] memory said,
        bool isWrong
    ) private {
        toPropose(number);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves) = proposalOf(weights);
        vm.prank(validators[(seed / 3) % 3]);
        scoreboard.propose(number, proposal);
        keep(number, proposal, leaves);
        dispute(number, proposal, leaves, reports, said, two()[seed % 2], isWrong);
        seen["epoch"]++;
    }

    function proposalOf(uint32[] memory weights)
        private
        view
        returns (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves)
    {
        (address[] memory who, uint32[] memory positive) = withoutZeros(weights);
        (proposal, leaves,) = TreeKit.propose(who, positive, nextPot());
    }

    function two() public pure returns (address[] memory who) {
        who = new address[](2);
        (who[0], who[1]) = (address(0x1111), address(0x2222));
    }

    function gather(uint64 number, uint256 seed, IScoreboard.ScoreLeaf[][3] memory reports)
        private
        returns (bool[3] memory said)
    {
        bytes32[3] memory roots;
        uint64 end = scoreboard.epochEnd(number);
        vm.warp(end);
        for (uint256 i = 0; i < 3; i++) {
            said[i] = registry.votingStakeAt(validators[i], end) > 0 && (seed >> (8 + i)) % 8 != 0;
            if (!said[i]) continue;
            uint32[] memory scores = new uint32[](2);
            for (uint256 j = 0; j < 2; j++) scores[j] = uint32(uint256(keccak256(abi.encode(seed, i, j))) % 1_000_001);
            reports[i] = leavesOf(two(), scores);
            roots[i] = TreeKit.reportRoot(reports[i]);
        }
        report(number, roots);
    }

    function opened(IScoreboard.ScoreLeaf[][3] memory reports, bool[3] memory said, address who)
        private
        view
        returns (IScoreboard.ReportOpening[] memory list)
    {
        uint256 count = 0;
        for (uint256 i = 0; i < 3; i++) if (said[i]) count++;
        list = new IScoreboard.ReportOpening[](count);
        count = 0;
        for (uint256 i = 0; i < 3; i++) if (said[i]) list[count++] = TreeKit.open(validators[i], reports[i], who);
    }

    /// By brute force, and by the Scoreboard.
    function medians(uint64 number, IScoreboard.ScoreLeaf[][3] memory reports, bool[3] memory said)
        private
        returns (uint32[] memory weights)
    {
        weights = new uint32[](2);
        uint128[3] memory stakes;
        for (uint256 i = 0; i < 3; i++) {
            if (said[i]) stakes[i] = registry.votingStakeAt(validators[i], scoreboard.epochEnd(number));
        }
        for (uint256 j = 0; j < 2; j++) {
            weights[j] = plainMedian(reports, stakes, j);
            (uint32 least, uint32 greatest) = scoreboard.medianOf(number, two()[j], opened(reports, said, two()[j]));
            if (least != weights[j] || greatest != weights[j]) wrongMedians++;
        }
    }

    /// Whoever said nothing has no stake here.
    function plainMedian(IScoreboard.ScoreLeaf[][3] memory reports, uint128[3] memory stakes, uint256 j)
        private
        pure
        returns (uint32 best)
    {
        uint256 total = uint256(stakes[0]) + stakes[1] + stakes[2];
        best = type(uint32).max;
        for (uint256 i = 0; i < 3; i++) {
            if (stakes[i] == 0) continue;
            uint32 score = reports[i][j].scorePpm;
            uint256 below = 0;
            for (uint256 l = 0; l < 3; l++) if (stakes[l] > 0 && reports[l][j].scorePpm <= score) below += stakes[l];
            if (2 * below >= total && score < best) best = score;
        }
    }

    function withoutZeros(uint32[] memory weights) private pure returns (address[] memory who, uint32[] memory positive) {
        uint256 count = 0;
        for (uint256 j = 0; j < 2; j++) if (weights[j] > 0) count++;
        (who, positive) = (new address[](count), new uint32[](count));
        count = 0;
        for (uint256 j = 0; j < 2; j++) if (weights[j] > 0) (who[count], positive[count++]) = (two()[j], weights[j]);
    }

    function nextPot() private view returns (uint128) {
        uint128 reserve = rewards.reserve();
        return (reserve < EMISSION ? reserve : EMISSION) + rewards.carry();
    }

    function dispute(
        uint64 number,
        IScoreboard.Proposal memory proposal,
        IScoreboard.WeightLeaf[] memory leaves,
        IScoreboard.ScoreLeaf[][3] memory reports,
        bool[3] memory said,
        address who,
        bool isWrong
    ) private {
        (, address proposer,) = scoreboard.proposalOf(number);
        uint256 before = registry.slashableOf(proposer);
        IScoreboard.WeightOpening[] memory weights = TreeKit.open(leaves, who);
        IScoreboard.ReportOpening[] memory proof = opened(reports, said, who);
        vm.prank(ACCUSER);
        try scoreboard.challengeWeight(number, proposal, who, weights, proof) {
            if (!isWrong) honestRejected++;
            took(proposer, before);
            seen["lie proven"]++;
        } catch {
            if (isWrong) liesAccepted++;
            if (registry.slashableOf(proposer) != before) slashesWithoutFraud++;
        }
    }

    function took(address actor, uint256 before) private {
        uint256 amount = before - registry.slashableOf(actor);
        lost[actor] += amount;
        seized += amount;
    }

    function keep(uint64 number, IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves) private {
        Settled storage entry = settled.push();
        entry.epoch = number;
        entry.proposal = proposal;
        for (uint256 i = 0; i < leaves.length; i++) entry.leaves.push(leaves[i]);
    }

    /// Twice, the second must fail. No token moves, and the provider is owed its share more than before.
    function claim(uint256 which, uint256 leaf) external {
        if (settled.length == 0) return;
        Settled storage entry = settled[which % settled.length];
        if (entry.leaves.length == 0) return;
        leaf %= entry.leaves.length;
        IScoreboard.WeightLeaf[] memory leaves = entry.leaves;
        IScoreboard.WeightOpening memory opening = TreeKit.weightAt(leaves, leaf);
        address who = opening.leaf.provider;
        uint256 before = token.balanceOf(who) + owed(who);
        bool was = rewards.isClaimed(entry.epoch, who);
        rewards.claim(entry.epoch, entry.proposal, opening);
        if (was) doubleClaims++;
        uint256 credited = token.balanceOf(who) + owed(who) - before;
        if (credited != rewards.shareOf(entry.proposal, opening.leaf)) wrongShares++;
        claimed[who] += credited;
        try rewards.claim(entry.epoch, entry.proposal, opening) {
            doubleClaims++;
        } catch {}
        seen["claim"]++;
    }

    /// By anyone, at any time, also while entries are paused: what is owed of the named words and nothing
    /// else, each word named twice; a second time nothing.
    function collect(uint256 which, uint256 first, uint256 count, bool whilePaused) external {
        address who = two()[which % 2];
        uint64 end = scoreboard.epochAt(uint64(block.timestamp)) / 128 + 1;
        first %= end;
        count = bound(count, 1, end - first);
        uint64[] memory named = new uint64[](2 * count);
        for (uint256 i = 0; i < named.length; i++) named[i] = uint64(first + i % count);
        uint256 due = 0;
        for (uint256 i = 0; i < count; i++) due += rewards.owedOf(who, named)[i];
        bool pauses = whilePaused && !registry.paused();
        if (pauses) registry.pause();
        uint256 before = token.balanceOf(who);
        vm.prank(ACCUSER);
        try rewards.collect(who, named) {
            uint256 paid = token.balanceOf(who) - before;
            if (paid != due || due == 0) wrongPayments++;
            paidOut += paid;
            paidTo[who] += paid;
            try rewards.collect(who, named) {
                doubleCollects++;
            } catch {}
            seen["collect"]++;
        } catch {
            if (due > 0) blockedCollects++;
        }
        if (pauses) registry.unpause();
    }

    /// Of all words until now.
    function owed(address who) public view returns (uint256 sum) {
        uint64[] memory all = new uint64[](scoreboard.epochAt(uint64(block.timestamp)) / 128 + 1);
        for (uint64 i = 0; i < all.length; i++) all[i] = i;
        uint128[] memory amounts = rewards.owedOf(who, all);
        for (uint256 i = 0; i < all.length; i++) sum += amounts[i];
    }

    function sweep(uint256 which) external {
        if (settled.length == 0) return;
        rewards.sweep(settled[which % settled.length].epoch);
        seen["sweep"]++;
    }

    function fund(uint64 amount) external {
        if (amount == 0) return;
        rewards.fund(amount);
        funded += amount;
    }

    // Fraud, real and pretended

    function conflict(uint256 who, uint64 number, bytes32 one, bytes32 other, bool forged) external {
        address actor = actors[who % actors.length];
        ISlashing.ScoreReport memory first = ISlashing.ScoreReport(actor, number, one);
        ISlashing.ScoreReport memory second = ISlashing.ScoreReport(actor, number, other);
        // Forged: the second signature is somebody else's.
        uint256 key = forged ? keyOf[actors[(who % actors.length + 1) % actors.length]] : keyOf[actor];
        // Rare, or nobody would have any stake left.
        if (!forged && uint256(keccak256(abi.encode(one, number))) % 8 != 0) other = one;
        second.root = other;
        bytes memory firstSignature = signed(keyOf[actor], slashing.reportDigest(first));
        bytes memory secondSignature = signed(key, slashing.reportDigest(second));
        uint256 before = registry.slashableOf(actor);
        vm.prank(ACCUSER);
        try slashing.proveConflict(first, firstSignature, second, secondSignature) {
            if (forged || one == other) fraudAccepted++;
            took(actor, before);
            seen["conflict"]++;
        } catch {
            if (registry.slashableOf(actor) != before) slashesWithoutFraud++;
        }
    }

    /// A receipt over 1 × 512 × 128 with one leaf whose element `column` is right or off by `error`.
    function gemm(uint256 who, uint8 precision, bytes32 seed, uint16 column, uint16 error_) external {
        address actor = actors[who % actors.length];
        precision %= 5;
        column %= 512;
        if (uint256(seed) % 4 != 0) error_ = 0;
        uint16 value;
        unchecked {
            value = slashing.gemmElement(precision, seed, 128, 0, column) + error_;
        }
        bytes memory leaf = new bytes(1024);
        (leaf[2 * column], leaf[2 * column + 1]) = (bytes1(uint8(value)), bytes1(uint8(value >> 8)));
        bytes32 tag = sha256("assay/leaf/1");
        bytes32[] memory roots = new bytes32[](1);
        roots[0] = sha256(bytes.concat(tag, tag, leaf));
        tag = sha256("assay/seed/1");
        ISlashing.ProbeReceipt memory receipt = ISlashing.ProbeReceipt(
            actor, bytes32(uint256(probes++)), 0, precision, 1, 512, 128, 1, seed, sha256(bytes.concat(tag, tag, seed, roots[0]))
        );
        ISlashing.GemmFraud memory fraud = ISlashing.GemmFraud(seed, roots, 0, column, leaf, new bytes32[](0));
        bytes memory signature = signed(keyOf[actor], slashing.receiptDigest(receipt));
        uint256 before = registry.slashableOf(actor);
        vm.prank(ACCUSER);
        try slashing.proveGemm(receipt, signature, fraud) {
            if (error_ == 0) fraudAccepted++;
            took(actor, before);
            seen["gemm"]++;
        } catch {
            if (registry.slashableOf(actor) != before) slashesWithoutFraud++;
        }
    }
}
