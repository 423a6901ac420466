// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {EpochBook} from "../../src/epochs/EpochBook.sol";
import {IScoreboard, ReportRoot, WeightsId} from "../../src/epochs/IScoreboard.sol";
import {Scoreboard} from "../../src/epochs/Scoreboard.sol";
import {TreeKit} from "../TreeKit.sol";
import {EpochKit} from "./EpochKit.sol";

/// What can be proven of signed weights: everything that is wrong, and nothing of what is right, whatever
/// somebody opens.
contract ChallengesTest is EpochKit {
    function setUp() public {
        deploy();
    }

    /// Epoch 0 posted, epoch 1 reported on top of it: its facts and right weights.
    function second() private returns (Facts memory facts, Statement memory statement) {
        Facts memory none;
        Statement memory first;
        (none, first) = settle(0, sampleReports(), none, first);
        facts = publish(1, sampleReports());
        (facts.base, facts.baseLeaves) = (first.weights, first.leaves);
        facts.pot = scoreboard.potOf(1, first.weights.paid);
        statement = right(facts);
    }

    // --- random epochs

    function pick(uint256 seed, string memory what, uint256 i) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, what, i)));
    }

    /// Sorted, each of seven accounts or not; one of them is a validator.
    function randomReport(uint256 seed) private view returns (IScoreboard.ScoreLeaf[] memory leaves) {
        uint32[5] memory scores = [uint32(0), 1, uint32(pick(seed, "score", 0) % 1_000_001), 999_999, 1_000_000];
        address[7] memory who = [
            address(0), address(1), address(0x77), address(0x78), validators[0], address(type(uint160).max - 1),
            address(type(uint160).max)
        ];
        leaves = new IScoreboard.ScoreLeaf[](7);
        uint256 used = 0;
        for (uint256 i = 0; i < 7; i++) {
            if (pick(seed, "listed", i) % 3 == 0) continue;
            leaves[used++] = IScoreboard.ScoreLeaf(who[i], scores[pick(seed, "which", i) % 5], bytes32(seed));
        }
        assembly ("memory-safe") {
            mstore(leaves, used)
        }
    }

    function randomEpoch(uint256 seed, uint64 epoch) private returns (Facts memory facts) {
        for (uint256 i = 0; i < 3; i++) {
            uint128 more = uint128(pick(seed, "stake", i) % 5000);
            if (more == 0) continue;
            vm.prank(validators[i]);
            registry.stake(more);
        }
        IScoreboard.ScoreLeaf[][] memory reports = new IScoreboard.ScoreLeaf[][](3);
        for (uint256 i = 0; i < 3; i++) reports[i] = randomReport(pick(seed, "report", i));
        facts = publish(epoch, reports);
        uint256 total = registry.totalVotingStakeAt(address(scoreboard), endOf(epoch) - 1);
        facts.set = uint64(1 + pick(seed, "set", 0) % 7);
        if (setStake(facts) * 1_000_000 < total * 666_667) facts.set = 7;
    }

    function randomStatement(uint256 seed) private returns (Facts memory facts, Statement memory statement) {
        if (seed % 2 == 0) {
            facts = randomEpoch(seed, 3);
        } else {
            Facts memory before = randomEpoch(pick(seed, "before", 0), 1);
            Statement memory base = right(before);
            postAll(before, base.weights);
            facts = randomEpoch(seed, 3);
            (facts.base, facts.baseLeaves) = (base.weights, base.leaves);
            facts.pot = scoreboard.potOf(3, base.weights.paid);
        }
        statement = right(facts);
    }

    /// A right statement stands against everything, in or out of order, of this tree or another.
    function testFuzz_rightWeightsCannotBeProvenWrong(uint256 seed) public {
        (Facts memory facts, Statement memory it) = randomStatement(seed);
        assertSame(challenged(facts, it), "");
        for (uint256 i = 0; i < 8; i++) {
            assertTrue(!attempt(hostileChallenge(facts, it, pick(seed, "hostile", i))), "a right statement was proven wrong");
        }
        assertTrue(!scoreboard.isProvenWrong(scoreboard.weightsId(it.weights)), "wrong");
        postAll(facts, it.weights);
    }

    /// Openings that nobody honest would put together.
    function hostileChallenge(Facts memory facts, Statement memory it, uint256 seed)
        private
        view
        returns (bytes memory)
    {
        uint256 length = it.leaves.length;
        IScoreboard.RewardOpening[] memory opened = new IScoreboard.RewardOpening[](length == 0 ? 0 : 1 + seed % 2);
        for (uint256 i = 0; i < opened.length; i++) opened[i] = TreeKit.rewardAt(it.leaves, pick(seed, "leaf", i) % length);
        address account = accountsOf(facts)[pick(seed, "account", 0) % accountsOf(facts).length];
        uint256 kind = pick(seed, "kind", 0) % 5;
        if (kind == 0) return abi.encodeCall(scoreboard.challengeShape, (it.weights, opened, SALT));
        if (kind == 1) {
            return abi.encodeCall(scoreboard.challengeEarned, (it.weights, facts.seats, account, opened, SALT));
        }
        if (kind == 2) {
            // Of its own tree, as if it were the base's.
            return abi.encodeCall(scoreboard.challengeTotal, (it.weights, facts.base, account, opened, opened, SALT));
        }
        IScoreboard.ReportOpening[] memory reports = new IScoreboard.ReportOpening[](1 + seed % 3);
        for (uint256 i = 0; i < reports.length; i++) reports[i] = hostileReport(facts, pick(seed, "hostile report", i));
        if (kind == 3) return abi.encodeCall(scoreboard.challengeSet, (it.weights, facts.seats, reports, SALT));
        if (seed % 3 == 0) opened = TreeKit.open(it.leaves, account);
        return abi.encodeCall(scoreboard.challengeWeight, (it.weights, facts.seats, account, opened, reports, SALT));
    }

    /// One seat's report under another's number, leaves that are no neighbours, one twice.
    function hostileReport(Facts memory facts, uint256 seed) private pure returns (IScoreboard.ReportOpening memory it) {
        IScoreboard.ScoreLeaf[] memory leaves = facts.reports[pick(seed, "whose", 0) % 3];
        it.seat = uint8(seed % 4 == 0 ? pick(seed, "seat", 0) : pick(seed, "seat", 0) % 3);
        it.count = uint32(leaves.length + (seed % 7 == 0 ? 1 : 0));
        it.openings = new IScoreboard.ScoreOpening[](leaves.length == 0 ? 0 : 1 + seed % 2);
        for (uint256 i = 0; i < it.openings.length; i++) {
            it.openings[i] = TreeKit.scoreAt(leaves, pick(seed, "which", i) % leaves.length);
        }
    }

    /// One field of one leaf, with and without the sums put right; or a leaf that is left out, or one more.
    function testFuzz_everyWrongFieldCanBeProven(uint256 seed, uint256 which) public {
        (Facts memory facts, Statement memory it) = randomStatement(seed);
        if (it.leaves.length == 0) return;
        Statement memory lie = copyOf(it);
        uint256 at = pick(which, "leaf", 0) % it.leaves.length;
        IScoreboard.RewardLeaf memory leaf = lie.leaves[at];
        uint256 field = which % 9;
        uint32 change = uint32(1 + pick(which, "change", 0) % 1000);
        if (field == 0) leaf.weightPpm = leaf.weightPpm >= change ? leaf.weightPpm - change : leaf.weightPpm + change;
        if (field == 1) leaf.earned += change;
        if (field == 2) leaf.total += change;
        if (field == 3) (leaf.earned, leaf.total) = (leaf.earned + change, leaf.total + change);
        if (field == 4) leaf.account = address(uint160(leaf.account) ^ change);
        if (field == 5) lie.leaves = without(lie.leaves, at);
        if (field == 6) leaf.total = type(uint128).max - leaf.total;
        if (field < 7) lie = pick(which, "summed", 0) % 2 == 0 ? stated(facts, lie.leaves) : lie;
        if (field == 7) leaf.weightBefore += change;
        if (field == 8) leaf.earnedBefore += change;
        rooted(lie);
        assertTrue(bytes(challenged(facts, lie)).length != 0, "a wrong statement stands");
        assertTrue(scoreboard.isProvenWrong(scoreboard.weightsId(lie.weights)), "not marked");
    }

    function without(IScoreboard.RewardLeaf[] memory leaves, uint256 at)
        private
        pure
        returns (IScoreboard.RewardLeaf[] memory rest)
    {
        rest = new IScoreboard.RewardLeaf[](leaves.length - 1);
        for (uint256 i = 0; i < rest.length; i++) rest[i] = leaves[i < at ? i : i + 1];
    }

    // --- each kind by name

    function test_eachKindProvesItsOwnFault() public {
        (Facts memory facts, Statement memory it) = second();
        Statement memory lie = copyOf(it);
        lie.leaves[0].weightPpm += 1;
        assertSame(challenged(facts, stated(facts, lie.leaves)), "weight");
        lie = copyOf(it);
        lie.leaves[0].earned += 1;
        lie.leaves[0].total += 1;
        assertSame(challenged(facts, stated(facts, lie.leaves)), "earned");
        lie = copyOf(it);
        lie.leaves[0].total += 1;
        assertSame(challenged(facts, stated(facts, lie.leaves)), "total");
        lie = copyOf(it);
        lie.weights.totalWeight += 1;
        assertSame(challenged(facts, lie), "shape");
        lie = copyOf(it);
        lie.weights.paid -= 1;
        assertSame(challenged(facts, lie), "shape");
        lie = copyOf(it);
        lie.weights.set = 15;
        assertSame(challenged(facts, lie), "set");
        assertSame(challenged(facts, it), "");
    }

    function test_setBitWithoutSeatTooLittleStakeOrNoStakeAtAll() public {
        (Facts memory facts, Statement memory it) = second();
        uint64[5] memory sets = [uint64(0), 1, 2, 8, 1 << 63 | 7];
        for (uint256 i = 0; i < sets.length; i++) {
            Statement memory lie = copyOf(it);
            lie.weights.set = sets[i];
            IScoreboard.ReportOpening[] memory none;
            scoreboard.challengeSet(lie.weights, facts.seats, none, SALT);
        }
        // Nobody revealed: the list is empty, and whatever set is wrong.
        toSign(2);
        IScoreboard.Seat[] memory nobody;
        it.weights.epoch = 2;
        it.weights.set = 0;
        scoreboard.challengeSet(it.weights, nobody, new IScoreboard.ReportOpening[](0), SALT);
    }

    function test_anEpochBeforeAnyStakeHasNoRightWeights() public {
        // The electorate had no stake a second before the validators joined: epoch 0 of another genesis.
        IScoreboard.Params memory params = scoreboardParams();
        params.genesis = GENESIS - EPOCH;
        scoreboard = Scoreboard(deployCode("Scoreboard", abi.encode(registry, address(rewards), params)));
        vm.warp(GENESIS + 2 * WINDOW);
        Statement memory lie;
        lie.leaves = new IScoreboard.RewardLeaf[](1);
        lie.leaves[0] = IScoreboard.RewardLeaf(address(0xBAD), 0, 0, 0, 0, 1e9);
        rooted(lie);
        IScoreboard.Seat[] memory nobody;
        bytes32[2][] memory unsigned;
        vm.expectRevert(IScoreboard.SetInvalid.selector);
        scoreboard.post(lie.weights, nobody, 0, unsigned);
        scoreboard.challengeSet(lie.weights, nobody, new IScoreboard.ReportOpening[](0), SALT);
    }

    function malformed(uint256 how) private pure returns (IScoreboard.ScoreLeaf[] memory leaves) {
        leaves = leavesOf(addresses(address(0x10), address(0x20), address(0x30)), numbers(1, 2, 3));
        if (how == 0) leaves[1].scorePpm = 1_000_001;
        if (how == 1) leaves[2].provider = address(0x20);
        if (how == 2) leaves[2].provider = address(0x11);
    }

    function test_aMalformedReportMakesTheSetWrong_andOnlyThen() public {
        // Three quarters without the one that will be malformed.
        vm.prank(validators[0]);
        registry.stake(3000);
        for (uint64 how = 0; how < 4; how++) {
            IScoreboard.ScoreLeaf[][] memory reports = sampleReports();
            reports[1] = malformed(how);
            Facts memory facts = publish(how, reports);
            Statement memory it = right(facts);
            assertSame(challengedSet(facts, it) ? "set" : "", how < 3 ? "set" : "");
            // Left out of the set it does no harm.
            facts.set = 5;
            it = right(facts);
            assertSame(challengedSet(facts, it) ? "set" : "", "");
        }
    }

    /// The count is under the root, so any leaf shows it.
    function test_moreThan2To17LeavesAreMalformed() public {
        for (uint64 more = 0; more < 2; more++) {
            uint32 count = uint32(1 << 17) + uint32(more);
            IScoreboard.ReportOpening[] memory report = new IScoreboard.ReportOpening[](1);
            report[0].count = count;
            report[0].openings = new IScoreboard.ScoreOpening[](1);
            report[0].openings[0].leaf = IScoreboard.ScoreLeaf(address(0x10), 1, 0);
            report[0].openings[0].path = new bytes32[](17 + more);
            bytes32 node = keccak256(abi.encodePacked(bytes1(0), address(0x10), uint32(1), bytes32(0)));
            for (uint256 i = 0; i < 17 + more; i++) node = TreeKit.node(node, 0);
            ReportRoot root = ReportRoot.wrap(keccak256(abi.encodePacked(bytes1(0x02), count, node)));
            Facts memory facts = publish(more, sampleReports());
            facts = published(more + 2, root);
            Statement memory it;
            (it.weights.epoch, it.weights.set) = (more + 2, 7);
            bytes memory call = abi.encodeCall(scoreboard.challengeSet, (it.weights, facts.seats, report, SALT));
            assertTrue(attempt(call) == (more == 1), "the limit is 2^17");
        }
    }

    /// All three reveal this root, whatever it is of.
    function published(uint64 epoch, ReportRoot root) private returns (Facts memory facts) {
        toCommit(epoch);
        facts.seats = new IScoreboard.Seat[](3);
        for (uint256 i = 0; i < 3; i++) {
            bytes32 commitment = scoreboard.commitmentOf(epoch, validators[i], root, salt(i));
            vm.prank(validators[i]);
            scoreboard.commit(epoch, commitment);
        }
        toReveal(epoch);
        for (uint256 i = 0; i < 3; i++) {
            vm.prank(validators[i]);
            scoreboard.reveal(epoch, root, salt(i));
            facts.seats[i] = IScoreboard.Seat(validators[i], uint96(STAKE), root);
        }
        toSign(epoch);
    }

    /// Exactly half below is too high, exactly half above is not too low.
    function test_weightAtTheHalf() public {
        // Stakes 3000, 3000, 6000.
        vm.prank(validators[2]);
        registry.stake(3000);
        IScoreboard.ScoreLeaf[][] memory reports = new IScoreboard.ScoreLeaf[][](3);
        address[] memory who = new address[](1);
        uint32[] memory score = new uint32[](1);
        (who[0], score[0]) = (address(0x10), 100);
        reports[0] = leavesOf(who, score);
        reports[1] = leavesOf(who, score);
        score[0] = 900;
        reports[2] = leavesOf(who, score);
        Facts memory facts = publish(0, reports);
        Statement memory it = right(facts);
        assertEq(it.leaves[0].weightPpm, 100);
        uint32[6] memory weights = [uint32(99), 100, 101, 500, 900, 901];
        for (uint256 i = 0; i < weights.length; i++) {
            Statement memory said = copyOf(it);
            said.leaves[0].weightPpm = weights[i];
            said = stated(facts, said.leaves);
            bool done = challengedWeight(facts, said, address(0x10), 7);
            assertTrue(done == (weights[i] != 100), "half");
            // 3,000 of 12,000 shows nothing, whatever it says.
            if (weights[i] == 100) assertTrue(!challengedWeight(facts, said, address(0x10), 4), "above");
        }
    }

    function test_weightNeedsHalfOfTheSetsStake() public {
        (Facts memory facts, Statement memory it) = second();
        // Medians: 0x10 has 100, 120, 150.
        it.leaves[0].weightPpm = 121;
        it = stated(facts, it.leaves);
        assertTrue(!challengedWeight(facts, it, address(0x10), 1), "a third");
        assertTrue(!challengedWeight(facts, it, address(0x10), 3), "one below, one above");
        assertTrue(challengedWeight(facts, it, address(0x10), 5), "two thirds below");
    }

    /// Before the first leaf, and behind the last one.
    function test_whoIsLeftOutAtEitherEndIsShown() public {
        (Facts memory facts, Statement memory it) = second();
        uint256 last = it.leaves.length - 1;
        IScoreboard.RewardLeaf[] memory later = new IScoreboard.RewardLeaf[](last);
        IScoreboard.RewardLeaf[] memory earlier = new IScoreboard.RewardLeaf[](last);
        for (uint256 i = 0; i < last; i++) (later[i], earlier[i]) = (it.leaves[i + 1], it.leaves[i]);
        assertTrue(challengedWeight(facts, stated(facts, later), it.leaves[0].account, 7), "the first");
        assertTrue(challengedEarned(facts, stated(facts, earlier), it.leaves[last].account), "the last");
    }

    /// ATTACK: a leaf of one's own making contradicts any sums.
    function test_aShapeIsShownByLeavesOfTheTreeAlone() public {
        (, Statement memory it) = second();
        Statement memory forged = copyOf(it);
        forged.leaves[0].weightPpm = 1_000_001;
        IScoreboard.RewardOpening[] memory opened = TreeKit.open(forged.leaves, forged.leaves[0].account);
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeShape(it.weights, opened, SALT);
        // Nor by the first of two leaves that is none.
        IScoreboard.RewardOpening[] memory two = new IScoreboard.RewardOpening[](2);
        two[0] = opened[0];
        two[1] = TreeKit.open(it.leaves, it.leaves[1].account)[0];
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeShape(it.weights, two, SALT);
    }

    function test_openingsOfAnotherTreeOrOrderAreRefused() public {
        (Facts memory facts, Statement memory it) = second();
        IScoreboard.RewardOpening[] memory opened = TreeKit.open(it.leaves, address(0x10));
        IScoreboard.ReportOpening[] memory reports = new IScoreboard.ReportOpening[](2);
        reports[0] = TreeKit.open(1, facts.reports[1], address(0x10));
        reports[1] = TreeKit.open(1, facts.reports[1], address(0x10));
        vm.expectRevert(IScoreboard.NotAscending.selector);
        scoreboard.challengeWeight(it.weights, facts.seats, address(0x10), opened, reports, SALT);
        reports[1] = TreeKit.open(0, facts.reports[0], address(0x10));
        vm.expectRevert(IScoreboard.NotAscending.selector);
        scoreboard.challengeWeight(it.weights, facts.seats, address(0x10), opened, reports, SALT);
        reports[1] = TreeKit.open(2, facts.reports[0], address(0x10));
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeWeight(it.weights, facts.seats, address(0x10), opened, reports, SALT);
        reports[1] = TreeKit.open(3, facts.reports[0], address(0x10));
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeWeight(it.weights, facts.seats, address(0x10), opened, reports, SALT);
        // Of another account.
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeEarned(it.weights, facts.seats, address(0x20), opened, SALT);
        // Of the base: another tree.
        IScoreboard.RewardOpening[] memory before = TreeKit.open(facts.baseLeaves, address(0x10));
        vm.expectRevert(IScoreboard.OpeningInvalid.selector);
        scoreboard.challengeTotal(it.weights, facts.base, address(0x10), before, opened, SALT);
        vm.expectRevert(IScoreboard.BaseMismatch.selector);
        scoreboard.challengeTotal(it.weights, it.weights, address(0x10), opened, opened, SALT);
        vm.expectRevert(IScoreboard.WeightsHold.selector);
        scoreboard.challengeTotal(it.weights, facts.base, address(0x10), opened, before, SALT);
        // The list of seats is all of them, in their order.
        (facts.seats[0], facts.seats[1]) = (facts.seats[1], facts.seats[0]);
        vm.expectRevert(IScoreboard.SeatsMismatch.selector);
        scoreboard.challengeEarned(it.weights, facts.seats, address(0x10), opened, SALT);
        vm.expectRevert(IScoreboard.SeatsMismatch.selector);
        scoreboard.challengeWeight(it.weights, facts.seats, address(0x10), opened, reports, SALT);
        vm.expectRevert(IScoreboard.SeatsMismatch.selector);
        scoreboard.challengeSet(it.weights, facts.seats, new IScoreboard.ReportOpening[](0), SALT);
    }

    function test_twoReportsAtOnceShowNoMalformedOne() public {
        IScoreboard.ScoreLeaf[][] memory all = sampleReports();
        all[1] = malformed(0);
        Facts memory facts = publish(0, all);
        Statement memory it = right(facts);
        IScoreboard.ReportOpening[] memory reports = new IScoreboard.ReportOpening[](2);
        reports[0] = TreeKit.scoresAt(1, facts.reports[1], 1, 1);
        reports[1] = TreeKit.scoresAt(2, facts.reports[2], 1, 1);
        vm.expectRevert(IScoreboard.WeightsHold.selector);
        scoreboard.challengeSet(it.weights, facts.seats, reports, SALT);
    }

    function test_weightsWithoutLeavesHaveNoSums() public {
        Facts memory facts = publish(0, sampleReports());
        IScoreboard.RewardOpening[] memory none;
        for (uint256 i = 0; i < 4; i++) {
            Statement memory it;
            it.weights.set = 7;
            if (i == 0) it.weights.totalWeight = 1;
            if (i == 1) it.weights.paid = 1;
            if (i == 2) it.weights.root = bytes32(uint256(1));
            bool done = attempt(abi.encodeCall(scoreboard.challengeShape, (it.weights, none, SALT)));
            assertTrue(done == (i < 3), "hollow");
            // And nobody could post them.
            bytes32[2][] memory signed = signatures(it.weights, 3);
            if (i < 3) vm.expectRevert(IScoreboard.StatementHollow.selector);
            scoreboard.post(it.weights, facts.seats, 7, signed);
        }
    }

    function test_totalsNear2To128AreComparedWhole() public {
        (Facts memory facts, Statement memory it) = second();
        // A base that lies: no right weights continue it, and what wraps around is no way out.
        Statement memory base = Statement(facts.base, facts.baseLeaves);
        base.leaves[0].total = type(uint128).max;
        base.weights.paid -= base.weights.paid;
        rooted(base);
        (facts.base, facts.baseLeaves) = (base.weights, base.leaves);
        it.weights.base = scoreboard.weightsId(base.weights);
        it.leaves[0].total = it.leaves[0].earned - 1;
        rooted(it);
        assertTrue(challengedTotal(facts, it, it.leaves[0].account), "wraps");
    }

    // --- when

    function test_onlyOnceTheRevealsAreOver() public {
        Facts memory facts = publish(0, sampleReports());
        Statement memory it = right(facts);
        it.weights.set = 8;
        vm.warp(endOf(0) + 2 * WINDOW - 1);
        IScoreboard.ReportOpening[] memory none;
        vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, 0));
        scoreboard.challengeSet(it.weights, facts.seats, none, SALT);
        vm.warp(endOf(0) + 2 * WINDOW);
        scoreboard.challengeSet(it.weights, facts.seats, none, SALT);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.AlreadyProven.selector, scoreboard.weightsId(it.weights)));
        scoreboard.challengeSet(it.weights, facts.seats, none, SALT);
        // An epoch far away is not over, and none of those that never end.
        IScoreboard.Seat[] memory nobody;
        uint64[4] memory epochs = [uint64(1), 1 << 40, 1 << 48, type(uint64).max];
        for (uint256 i = 0; i < epochs.length; i++) {
            it.weights.epoch = epochs[i];
            vm.expectRevert(abi.encodeWithSelector(IScoreboard.NotInPhase.selector, epochs[i]));
            scoreboard.challengeSet(it.weights, nobody, none, SALT);
        }
    }

    function test_anUnknownBaseCanBeNeitherPostedNorJudged() public {
        (Facts memory facts, Statement memory it) = second();
        it.weights.base = WeightsId.wrap(bytes32(uint256(7)));
        bytes32[2][] memory signed = signatures(it.weights, 3);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.BaseUnknown.selector, it.weights.base));
        scoreboard.post(it.weights, facts.seats, 7, signed);
        vm.expectRevert(abi.encodeWithSelector(EpochBook.BaseUnknown.selector, it.weights.base));
        scoreboard.challengeEarned(
            it.weights, facts.seats, address(0x10), TreeKit.open(it.leaves, address(0x10)), SALT
        );
    }
}
