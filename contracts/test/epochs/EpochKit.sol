// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IScoreboard, ReportRoot, WeightsId} from "../../src/epochs/IScoreboard.sol";
import {NetworkKit} from "../NetworkKit.sol";
import {TreeKit} from "../TreeKit.sol";

/// An epoch as validators see it: reports, right weights the plain way (every account against every report),
/// and every challenge that somebody who holds all leaves can bring. Shares no code with src.
abstract contract EpochKit is NetworkKit {
    /// All that weights follow from.
    struct Facts {
        uint64 epoch;
        IScoreboard.Seat[] seats;
        /// Accounts and reports by seat.
        address[] accounts;
        IScoreboard.ScoreLeaf[][] reports;
        uint64 set;
        IScoreboard.Weights base;
        IScoreboard.RewardLeaf[] baseLeaves;
        uint128 pot;
    }

    struct Statement {
        IScoreboard.Weights weights;
        IScoreboard.RewardLeaf[] leaves;
    }

    bytes32 internal constant SALT = "salt of a challenge";

    function noWeights() internal pure returns (IScoreboard.Weights memory none) {}

    // --- reports

    /// Commits and reveals these reports in the order of the validators (those without a root say nothing)
    /// and goes to the moment when weights may be posted.
    function publish(uint64 epoch, IScoreboard.ScoreLeaf[][] memory reports) internal returns (Facts memory facts) {
        toCommit(epoch);
        for (uint256 i = 0; i < reports.length; i++) {
            bytes32 commitment =
                scoreboard.commitmentOf(epoch, validators[i], TreeKit.reportRoot(reports[i]), salt(i));
            vm.prank(validators[i]);
            scoreboard.commit(epoch, commitment);
        }
        toReveal(epoch);
        facts.epoch = epoch;
        facts.seats = new IScoreboard.Seat[](reports.length);
        facts.accounts = new address[](reports.length);
        facts.reports = reports;
        for (uint256 i = 0; i < reports.length; i++) {
            ReportRoot root = TreeKit.reportRoot(reports[i]);
            vm.prank(validators[i]);
            scoreboard.reveal(epoch, root, salt(i));
            uint128 stake = registry.votingStakeAt(address(scoreboard), validators[i], endOf(epoch) - 1);
            facts.seats[i] = IScoreboard.Seat(validators[i], uint96(stake), root);
            facts.accounts[i] = validators[i];
        }
        facts.set = uint64((1 << reports.length) - 1);
        toSign(epoch);
        facts.pot = scoreboard.potOf(epoch, 0);
    }

    function endOf(uint64 epoch) internal pure returns (uint64) {
        return GENESIS + (epoch + 1) * EPOCH;
    }

    /// Three reports over a few providers, with an absent one each.
    function sampleReports() internal pure returns (IScoreboard.ScoreLeaf[][] memory reports) {
        reports = new IScoreboard.ScoreLeaf[][](3);
        address[] memory who = addresses(address(0x10), address(0x20), address(0x30));
        reports[0] = leavesOf(who, numbers(100, 200, 300));
        reports[1] = leavesOf(who, numbers(150, 250, 350));
        who[2] = address(0x40);
        reports[2] = leavesOf(who, numbers(120, 900_000, 1_000_000));
    }

    // --- right weights

    function right(Facts memory facts) internal view returns (Statement memory) {
        address[] memory accounts = accountsOf(facts);
        IScoreboard.RewardLeaf[] memory leaves = new IScoreboard.RewardLeaf[](accounts.length);
        uint64 totalWeight = 0;
        for (uint256 i = 0; i < accounts.length; i++) {
            leaves[i].account = accounts[i];
            leaves[i].weightPpm = medianOf(facts, accounts[i]);
            totalWeight += leaves[i].weightPpm;
        }
        uint256 used = 0;
        for (uint256 i = 0; i < accounts.length; i++) {
            IScoreboard.RewardLeaf memory leaf = leaves[i];
            leaf.earned = earnedOf(facts, leaf.account, leaf.weightPpm, totalWeight);
            leaf.total = leaf.earned + totalBefore(facts, leaf.account);
            if (leaf.total != 0 || leaf.weightPpm != 0) leaves[used++] = leaf;
        }
        IScoreboard.RewardLeaf[] memory listed = new IScoreboard.RewardLeaf[](used);
        for (uint256 i = 0; i < used; i++) listed[i] = leaves[i];
        return stated(facts, listed);
    }

    /// These leaves with sums and root put right.
    function stated(Facts memory facts, IScoreboard.RewardLeaf[] memory leaves)
        internal
        view
        returns (Statement memory statement)
    {
        IScoreboard.Weights memory weights = statement.weights;
        weights.epoch = facts.epoch;
        if (facts.base.epoch != 0 || facts.base.set != 0) weights.base = scoreboard.weightsId(facts.base);
        weights.set = facts.set;
        for (uint256 i = 0; i < leaves.length; i++) {
            leaves[i].weightBefore = weights.totalWeight;
            leaves[i].earnedBefore = weights.paid;
            weights.totalWeight += leaves[i].weightPpm;
            weights.paid += leaves[i].earned;
        }
        statement.leaves = leaves;
        rooted(statement);
    }

    /// The same leaves, whatever they are, under their root.
    function rooted(Statement memory statement) internal pure {
        statement.weights.count = uint32(statement.leaves.length);
        (statement.weights.root,) = TreeKit.climb(TreeKit.hashes(statement.leaves), 0);
    }

    function copyOf(Statement memory statement) internal pure returns (Statement memory copy) {
        return abi.decode(abi.encode(statement), (Statement));
    }

    /// Everybody whom a report, a seat or the base names, ascending, each once.
    function accountsOf(Facts memory facts) internal pure returns (address[] memory accounts) {
        uint256 most = facts.accounts.length + facts.baseLeaves.length;
        for (uint256 i = 0; i < facts.reports.length; i++) most += facts.reports[i].length;
        address[] memory found = new address[](most);
        uint256 used = 0;
        for (uint256 i = 0; i < facts.accounts.length; i++) used = insert(found, used, facts.accounts[i]);
        for (uint256 i = 0; i < facts.baseLeaves.length; i++) used = insert(found, used, facts.baseLeaves[i].account);
        for (uint256 i = 0; i < facts.reports.length; i++) {
            for (uint256 j = 0; j < facts.reports[i].length; j++) {
                used = insert(found, used, facts.reports[i][j].provider);
            }
        }
        accounts = new address[](used);
        for (uint256 i = 0; i < used; i++) accounts[i] = found[i];
    }

    function insert(address[] memory sorted, uint256 used, address account) private pure returns (uint256) {
        uint256 at = 0;
        while (at < used && sorted[at] < account) at++;
        if (at < used && sorted[at] == account) return used;
        for (uint256 i = used; i > at; i--) sorted[i] = sorted[i - 1];
        sorted[at] = account;
        return used + 1;
    }

    function isCounted(Facts memory facts, uint256 seat) internal pure returns (bool) {
        return facts.set & (uint64(1) << uint64(seat)) != 0;
    }

    function scoreOf(Facts memory facts, uint256 seat, address account) internal pure returns (uint32) {
        IScoreboard.ScoreLeaf[] memory report = facts.reports[seat];
        for (uint256 i = 0; i < report.length; i++) if (report[i].provider == account) return report[i].scorePpm;
        return 0;
    }

    function setStake(Facts memory facts) internal pure returns (uint256 stake) {
        for (uint256 i = 0; i < facts.seats.length; i++) if (isCounted(facts, i)) stake += facts.seats[i].stake;
    }

    /// The least of the set's scores at or below which half of its stake lies.
    function medianOf(Facts memory facts, address account) internal pure returns (uint32 median) {
        uint256 all = setStake(facts);
        median = type(uint32).max;
        for (uint256 i = 0; i < facts.seats.length; i++) {
            if (!isCounted(facts, i)) continue;
            uint32 score = scoreOf(facts, i, account);
            uint256 atOrBelow = 0;
            for (uint256 j = 0; j < facts.seats.length; j++) {
                if (isCounted(facts, j) && scoreOf(facts, j, account) <= score) atOrBelow += facts.seats[j].stake;
            }
            if (2 * atOrBelow >= all && score < median) median = score;
        }
        if (median == type(uint32).max) median = 0;
    }

    function earnedOf(Facts memory facts, address account, uint32 weight, uint64 totalWeight)
        internal
        pure
        returns (uint128 earned)
    {
        IScoreboard.Params memory params = scoreboardParams();
        uint256 forValidators = uint256(facts.pot) * params.validatorPpm / 1_000_000;
        uint256 full = totalWeight < params.targetWeight ? params.targetWeight : totalWeight;
        if (full > 0) earned = uint128((facts.pot - forValidators) * weight / full);
        for (uint256 i = 0; i < facts.seats.length; i++) {
            if (facts.accounts[i] == account && isCounted(facts, i)) {
                earned += uint128(forValidators * facts.seats[i].stake / setStake(facts));
            }
        }
    }

    function totalBefore(Facts memory facts, address account) internal pure returns (uint128) {
        for (uint256 i = 0; i < facts.baseLeaves.length; i++) {
            if (facts.baseLeaves[i].account == account) return facts.baseLeaves[i].total;
        }
        return 0;
    }

    // --- signing and posting

    function signature(uint256 key, WeightsId id) internal pure returns (bytes32[2] memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, WeightsId.unwrap(id));
        return [r, v == 28 ? bytes32(uint256(s) | 1 << 255) : s];
    }

    /// Of the first `count` validators.
    function signatures(IScoreboard.Weights memory weights, uint256 count)
        internal
        view
        returns (bytes32[2][] memory all)
    {
        WeightsId id = scoreboard.weightsId(weights);
        all = new bytes32[2][](count);
        for (uint256 i = 0; i < count; i++) all[i] = signature(keys[i], id);
    }

    function postAll(Facts memory facts, IScoreboard.Weights memory weights) internal {
        scoreboard.post(weights, facts.seats, 7, signatures(weights, 3));
    }

    /// Reports, and the right weights posted by all three.
    function settle(uint64 epoch, IScoreboard.ScoreLeaf[][] memory reports, Facts memory before, Statement memory base)
        internal
        returns (Facts memory facts, Statement memory statement)
    {
        facts = publish(epoch, reports);
        if (base.weights.set != 0) {
            (facts.base, facts.baseLeaves) = (base.weights, base.leaves);
            (,, uint128 allocated,,) = scoreboard.postedOf(before.epoch);
            facts.pot = scoreboard.potOf(epoch, allocated);
        }
        statement = right(facts);
        postAll(facts, statement.weights);
    }

    // --- challenges

    /// Whether the call goes through; its revert otherwise.
    function attempt(bytes memory data) internal returns (bool) {
        (bool done,) = address(scoreboard).call(data);
        return done;
    }

    function challengedSet(Facts memory facts, Statement memory it) internal returns (bool) {
        IScoreboard.ReportOpening[] memory none;
        if (attempt(abi.encodeCall(scoreboard.challengeSet, (it.weights, facts.seats, none, SALT)))) return true;
        for (uint256 seat = 0; seat < facts.seats.length; seat++) {
            uint256 length = facts.reports[seat].length;
            for (uint256 i = 0; i < length; i++) {
                if (challengedReport(facts, it, seat, i, 1)) return true;
                if (i + 1 < length && challengedReport(facts, it, seat, i, 2)) return true;
            }
        }
        return false;
    }

    function challengedReport(Facts memory facts, Statement memory it, uint256 seat, uint256 first, uint256 count)
        internal
        returns (bool)
    {
        IScoreboard.ReportOpening[] memory report = new IScoreboard.ReportOpening[](1);
        report[0] = TreeKit.scoresAt(seat, facts.reports[seat], first, count);
        return attempt(abi.encodeCall(scoreboard.challengeSet, (it.weights, facts.seats, report, SALT)));
    }

    function challengedShape(Statement memory it) internal returns (bool) {
        uint256 length = it.leaves.length;
        if (length == 0) return challengedShape(it, 0, 0);
        for (uint256 i = 0; i < length; i++) {
            if (challengedShape(it, i, 1) || (i + 1 < length && challengedShape(it, i, 2))) return true;
        }
        return false;
    }

    function challengedShape(Statement memory it, uint256 first, uint256 count) internal returns (bool) {
        IScoreboard.RewardOpening[] memory opened = TreeKit.rewardsAt(it.leaves, first, count);
        return attempt(abi.encodeCall(scoreboard.challengeShape, (it.weights, opened, SALT)));
    }

    /// With the reports of the set that `shown` names.
    function challengedWeight(Facts memory facts, Statement memory it, address account, uint64 shown)
        internal
        returns (bool)
    {
        uint256 count = 0;
        for (uint256 i = 0; i < facts.seats.length; i++) if (it.weights.set & shown & (1 << i) != 0) count++;
        IScoreboard.ReportOpening[] memory reports = new IScoreboard.ReportOpening[](count);
        count = 0;
        for (uint256 i = 0; i < facts.seats.length; i++) {
            if (it.weights.set & shown & (1 << i) == 0) continue;
            reports[count++] = TreeKit.open(i, facts.reports[i], account);
        }
        IScoreboard.RewardOpening[] memory opened = TreeKit.open(it.leaves, account);
        return attempt(
            abi.encodeCall(scoreboard.challengeWeight, (it.weights, facts.seats, account, opened, reports, SALT))
        );
    }

    function challengedEarned(Facts memory facts, Statement memory it, address account) internal returns (bool) {
        IScoreboard.RewardOpening[] memory opened = TreeKit.open(it.leaves, account);
        return attempt(abi.encodeCall(scoreboard.challengeEarned, (it.weights, facts.seats, account, opened, SALT)));
    }

    function challengedTotal(Facts memory facts, Statement memory it, address account) internal returns (bool) {
        IScoreboard.RewardOpening[] memory opened = TreeKit.open(it.leaves, account);
        IScoreboard.RewardOpening[] memory before = TreeKit.open(facts.baseLeaves, account);
        return
            attempt(abi.encodeCall(scoreboard.challengeTotal, (it.weights, facts.base, account, opened, before, SALT)));
    }

    /// Every challenge that the leaves allow, until one goes through: its kind, or nothing.
    function challenged(Facts memory facts, Statement memory it) internal returns (string memory kind) {
        if (challengedSet(facts, it)) return "set";
        if (challengedShape(it)) return "shape";
        address[] memory known = accountsOf(facts);
        address[] memory accounts = new address[](known.length + it.leaves.length);
        for (uint256 i = 0; i < known.length; i++) accounts[i] = known[i];
        for (uint256 i = 0; i < it.leaves.length; i++) accounts[known.length + i] = it.leaves[i].account;
        for (uint256 i = 0; i < accounts.length; i++) {
            if (challengedWeight(facts, it, accounts[i], type(uint64).max)) return "weight";
        }
        for (uint256 i = 0; i < accounts.length; i++) if (challengedEarned(facts, it, accounts[i])) return "earned";
        for (uint256 i = 0; i < accounts.length; i++) if (challengedTotal(facts, it, accounts[i])) return "total";
        return "";
    }

    function assertSame(string memory found, string memory wanted) internal pure {
        if (keccak256(bytes(found)) != keccak256(bytes(wanted))) {
            revert Untrue(string.concat("found '", found, "', wanted '", wanted, "'"));
        }
    }
}
