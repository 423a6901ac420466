// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IScoreboard, ReportRoot, WeightsId} from "../../src/epochs/IScoreboard.sol";
import {DeviceId} from "../../src/stake/IRegistry.sol";
import {TreeKit} from "../TreeKit.sol";
import {Fraud} from "./Fraud.sol";

/// What a whole network does in random order. Epochs are reported, signed, posted, rightly or wrongly, proven
/// wrong, dropped and paid. Counts what must never happen; Invariants.t.sol reads it. Its own address owns
/// the Registry. handler.test.ts checks that it calls every function of the contracts.
contract Handler is Fraud {
    uint256 public funded;
    /// All that final weights gave out, as it was last seen: it only grows.
    uint128 public finalTotal;
    uint64 private nextEpoch;
    bytes private headStatement;
    bytes[] private settled;
    address[] public earners;
    mapping(address => bool) private isEarner;

    // What must stay 0.
    uint256 public blockedPosts;
    uint256 public blockedClaims;
    uint256 public wrongClaims;
    uint256 public rightProvenWrong;
    uint256 public liesStand;
    uint256 public wronglyPunished;
    uint256 public seatsTwice;
    uint256 public postsWithoutQuorum;
    uint256 public totalsShrank;

    constructor() {
        deploy();
        funded = uint256(EMISSION) * 1000;
        for (uint256 i = 0; i < 3; i++) added(validators[i], keys[i], STAKE);
        added(provider, PROVIDER_KEY, 1000);
        for (uint256 i = 0; i < 3; i++) {
            fund(vm.addr(0xC0 + i));
            added(vm.addr(0xC0 + i), 0xC0 + i, 0);
        }
        devices.push(DeviceId.wrap(keccak256("gpu 0")));
        devices.push(DeviceId.wrap(keccak256("gpu 1")));
    }

    function added(address actor, uint256 key, uint256 amount) private {
        actors.push(actor);
        keyOf[actor] = key;
        deposited[actor] = amount;
    }

    /// Three epochs stand before one is final: what is built on a lie is dropped with it.
    function deployParams() internal pure override returns (IScoreboard.Params memory params) {
        params = scoreboardParams();
        params.challengeSeconds = 3 * EPOCH;
    }

    function contracts() external view returns (address, address, address, address) {
        return (address(token), address(registry), address(scoreboard), address(rewards));
    }

    function earnerCount() external view returns (uint256) {
        return earners.length;
    }

    function wait(uint32 time) external {
        vm.warp(block.timestamp + bound(time, 1, time % 8 == 0 ? 10 days : 1 days));
    }

    // --- epochs

    /// One epoch from its end to weights that stand: honestly at once, or after a lie of all who signed.
    function epoch(uint256 seed, uint256 lie) external {
        uint64 number = scoreboard.epochAt(uint64(block.timestamp));
        if (number < nextEpoch) number = nextEpoch;
        Facts memory facts = reported(number, seed);
        if (!hasQuorum(facts)) {
            withoutQuorum(facts);
            return;
        }
        Statement memory it = right(facts);
        if (seed % 8 == 0 && bytes(challenged(facts, it)).length != 0) rightProvenWrong++;
        uint256 kind = lie % 8;
        if (kind < 3 && it.leaves.length > 0) {
            Statement memory wrong = lieOf(facts, it, lie);
            if (kind > 0) postBy(facts, wrong.weights);
            if (kind == 2) builtOn(facts, wrong, seed);
            proven(facts, wrong, lie);
            punishAll(facts, wrong.weights);
            if (kind == 2) {
                // Too late for this epoch: the next one goes on where the last right one was.
                facts = reported(nextEpoch, seed + 1);
                if (!hasQuorum(facts)) return;
                it = right(facts);
            }
        }
        postRight(facts, it);
    }

    function reported(uint64 number, uint256 seed) private returns (Facts memory facts) {
        nextEpoch = number + 1;
        facts.epoch = number;
        vm.warp(endOf(number));
        address[] memory who = speakers(number, seed);
        facts.reports = new IScoreboard.ScoreLeaf[][](who.length);
        facts.accounts = new address[](who.length);
        facts.seats = new IScoreboard.Seat[](who.length);
        for (uint256 i = 0; i < who.length; i++) {
            facts.reports[i] = reportOf(seed, i);
            facts.accounts[i] = registry.accountOfSigner(who[i]);
            ReportRoot root = TreeKit.reportRoot(facts.reports[i]);
            (, uint128 weight,) = registry.seatOf(electorate, who[i], endOf(number) - 1);
            facts.seats[i] = IScoreboard.Seat(who[i], uint96(weight), root);
            bytes32 commitment = scoreboard.commitmentOf(number, who[i], root, salt(i));
            vm.prank(who[i]);
            scoreboard.commit(number, commitment);
            for (uint256 j = 0; j < i; j++) if (facts.accounts[j] == facts.accounts[i]) seatsTwice++;
        }
        toReveal(number);
        for (uint256 i = 0; i < who.length; i++) {
            vm.prank(who[i]);
            scoreboard.reveal(number, facts.seats[i].root, salt(i));
        }
        toSign(number);
        facts.set = who.length == 0 ? 0 : uint64((1 << who.length) - 1);
        based(facts);
    }

    /// On top of what stands.
    function based(Facts memory facts) private view {
        uint128 allocated = 0;
        if (headStatement.length != 0) {
            Statement memory head = abi.decode(headStatement, (Statement));
            (facts.base, facts.baseLeaves) = (head.weights, head.leaves);
            (,, allocated,,) = scoreboard.postedOf(head.weights.epoch);
        }
        facts.pot = scoreboard.potOf(facts.epoch, allocated);
    }

    /// Those who have a seat and, most of them, say something.
    function speakers(uint64 number, uint256 seed) private view returns (address[] memory who) {
        who = new address[](actors.length);
        uint256 used = 0;
        for (uint256 i = 0; i < actors.length; i++) {
            address signer = registry.accountOf(actors[i]).signer;
            (, uint128 weight, uint128 total) = registry.seatOf(electorate, signer, endOf(number) - 1);
            if (weight == 0 || uint256(weight) * 64 < total || (seed >> (16 + i)) % 16 == 0) continue;
            who[used++] = signer;
        }
        assembly ("memory-safe") {
            mstore(who, used)
        }
    }

    function reportOf(uint256 seed, uint256 i) private view returns (IScoreboard.ScoreLeaf[] memory) {
        uint32[] memory scores = new uint32[](3);
        for (uint256 j = 0; j < 3; j++) scores[j] = uint32(uint256(keccak256(abi.encode(seed, i, j))) % 1_000_001);
        IScoreboard.ScoreLeaf[] memory leaves =
            leavesOf(addresses(address(0x1111), address(0x2222), provider), scores);
        uint256 left = 3 - (seed >> (32 + i)) % 2;
        assembly ("memory-safe") {
            mstore(leaves, left)
        }
        return leaves;
    }

    function hasQuorum(Facts memory facts) private view returns (bool) {
        uint256 total = registry.totalVotingStakeAt(electorate, endOf(facts.epoch) - 1);
        return total != 0 && setStake(facts) * 1_000_000 >= total * 666_667;
    }

    /// Nobody posts anything then, whatever it says.
    function withoutQuorum(Facts memory facts) private {
        IScoreboard.Weights memory weights = stated(facts, new IScoreboard.RewardLeaf[](0)).weights;
        bytes32[2][] memory all = wordsOf(facts, weights);
        try scoreboard.post(weights, facts.seats, facts.set, all) {
            postsWithoutQuorum++;
        } catch {}
        seen["no quorum"]++;
    }

    function wordsOf(Facts memory facts, IScoreboard.Weights memory weights)
        private
        view
        returns (bytes32[2][] memory all)
    {
        WeightsId id = scoreboard.weightsId(weights);
        all = new bytes32[2][](facts.seats.length);
        for (uint256 i = 0; i < all.length; i++) all[i] = signature(keyOf[facts.seats[i].signer], id);
    }

    function postBy(Facts memory facts, IScoreboard.Weights memory weights) private returns (bool) {
        bytes32[2][] memory all = wordsOf(facts, weights);
        try scoreboard.post(weights, facts.seats, facts.set, all) {
            return true;
        } catch {
            blockedPosts++;
            return false;
        }
    }

    /// With a quorum of honest stake an epoch can always be posted.
    function postRight(Facts memory facts, Statement memory it) private {
        if (!postBy(facts, it.weights)) return;
        headStatement = abi.encode(it);
        settled.push(headStatement);
        for (uint256 i = 0; i < it.leaves.length; i++) {
            address account = it.leaves[i].account;
            if (!isEarner[account]) earners.push(account);
            isEarner[account] = true;
        }
        seen["epoch"]++;
    }

    /// One field of one leaf, or a sum. Never more than may be posted.
    function lieOf(Facts memory facts, Statement memory it, uint256 lie) private view returns (Statement memory wrong) {
        wrong = copyOf(it);
        IScoreboard.RewardLeaf memory leaf = wrong.leaves[lie / 8 % wrong.leaves.length];
        uint256 field = lie / 256 % 4;
        if (field == 0) leaf.total += 1;
        if (field == 1) leaf.weightPpm = leaf.weightPpm > 0 ? leaf.weightPpm - 1 : 1;
        if (field == 2) (leaf.earned, leaf.total) = leaf.earned > 0 ? (leaf.earned - 1, leaf.total - 1) : (leaf.earned, leaf.total + 1);
        if (field == 3) leaf.weightBefore += 1;
        if (field == 1 || field == 2) wrong = stated(facts, wrong.leaves);
        rooted(wrong);
    }

    /// Somebody takes the lie for the truth: right weights of the next epoch on top of it.
    function builtOn(Facts memory facts, Statement memory wrong, uint256 seed) private {
        bytes memory head = headStatement;
        headStatement = abi.encode(wrong);
        Facts memory next = reported(facts.epoch + 1, seed);
        if (hasQuorum(next)) {
            Statement memory on = right(next);
            postBy(next, on.weights);
            seen["built on a lie"]++;
        }
        headStatement = head;
    }

    /// By whoever announced it where totals are wrong; else by anyone, with whatever shows it.
    function proven(Facts memory facts, Statement memory wrong, uint256 lie) private {
        WeightsId id = scoreboard.weightsId(wrong.weights);
        (bool any, uint64 head) = scoreboard.head();
        if (lie / 256 % 4 == 0) {
            scoreboard.announce(scoreboard.announcementOf(ACCUSER, WeightsId.unwrap(id), SALT));
            vm.roll(block.number + 1);
            address account = wrong.leaves[lie / 8 % wrong.leaves.length].account;
            IScoreboard.RewardOpening[] memory opened = TreeKit.open(wrong.leaves, account);
            IScoreboard.RewardOpening[] memory before = TreeKit.open(facts.baseLeaves, account);
            vm.prank(ACCUSER);
            scoreboard.challengeTotal(wrong.weights, facts.base, account, opened, before, SALT);
        } else {
            challenged(facts, wrong);
        }
        if (!scoreboard.isProvenWrong(id)) liesStand++;
        (any, head) = scoreboard.head();
        if (any && head >= facts.epoch) liesStand++;
        seen["lie proven"]++;
    }

    /// Half of each signer's stake, once; then they stake it again, or the network would end.
    function punishAll(Facts memory facts, IScoreboard.Weights memory weights) private {
        bytes32[2][] memory all = wordsOf(facts, weights);
        uint256[] memory before = new uint256[](all.length);
        for (uint256 i = 0; i < all.length; i++) before[i] = registry.slashableOf(facts.accounts[i]);
        scoreboard.punish(weights, all);
        try scoreboard.punish(weights, all) {
            wronglyPunished++;
        } catch {}
        for (uint256 i = 0; i < all.length; i++) {
            address account = facts.accounts[i];
            if (registry.slashableOf(account) != before[i] - before[i] / 2) wronglyPunished++;
            took(account, before[i]);
            uint128 more = uint128(before[i] / 2);
            vm.prank(account);
            try registry.stake(more) {
                deposited[account] += more;
            } catch {}
        }
    }

    // --- rewards

    function fund(uint64 amount) external {
        if (amount == 0) return;
        rewards.fund(amount);
        funded += amount;
        seen["fund"]++;
    }

    /// What is final can always be claimed: by any final weights, in any order, by anyone.
    function claim(uint256 which, uint256 leaf) external {
        if (settled.length == 0) return;
        Statement memory it = abi.decode(settled[which % settled.length], (Statement));
        if (it.leaves.length == 0) return;
        IScoreboard.RewardOpening memory opening = TreeKit.rewardAt(it.leaves, leaf % it.leaves.length);
        address account = opening.leaf.account;
        uint128 before = rewards.claimedOf(account);
        address to = registry.payoutOf(account);
        uint256 had = token.balanceOf(to);
        bool due = scoreboard.isFinal(it.weights) && opening.leaf.total > before;
        try rewards.claim(it.weights, opening) {
            if (!due || token.balanceOf(to) - had != opening.leaf.total - before) wrongClaims++;
            if (rewards.claimedOf(account) != opening.leaf.total) wrongClaims++;
            uint128 total = scoreboard.finalTotalOf(it.weights);
            if (total > finalTotal) finalTotal = total;
            seen["claim"]++;
        } catch {
            if (due) blockedClaims++;
        }
    }

    /// What stands only grows: each epoch's totals are at least its base's. Who was given nothing may be
    /// gone.
    function look() external {
        for (uint256 i = 1; i < settled.length && i < 4; i++) {
            Statement memory late = abi.decode(settled[settled.length - i], (Statement));
            Statement memory early = abi.decode(settled[settled.length - i - 1], (Statement));
            for (uint256 j = 0; j < early.leaves.length; j++) {
                if (early.leaves[j].total == 0) continue;
                IScoreboard.RewardOpening[] memory found = TreeKit.open(late.leaves, early.leaves[j].account);
                if (found.length != 1 || found[0].leaf.total < early.leaves[j].total) totalsShrank++;
            }
            if (settled.length - i == 1) break;
        }
    }
}
