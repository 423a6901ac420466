// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IScoreboard} from "../../src/epochs/IScoreboard.sol";
import {IRewards} from "../../src/rewards/IRewards.sol";
import {RewardBook} from "../../src/rewards/RewardBook.sol";
import {Rewards} from "../../src/rewards/Rewards.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {NetworkKit} from "../NetworkKit.sol";
import {TreeKit} from "../TreeKit.sol";

/// Emissions: fixed once, claimed once and collected once, to the unit; what is left carries over.
contract RewardsTest is NetworkKit {
    address[] private who;
    Pointer private pointer = new Pointer();

    function setUp() public {
        deploy();
        who = addresses(address(0x1111), address(0x2222), address(0x3333));
    }

    /// All three validators agree on these weights, and they become final.
    function settle(uint64 epoch, uint32[] memory weights, uint128 emission)
        private
        returns (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts)
    {
        bytes32 root = TreeKit.reportRoot(leavesOf(who, weights));
        report(epoch, [root, root, root]);
        toPropose(epoch);
        (proposal, leaves, amounts) = TreeKit.propose(who, weights, emission);
        propose(0, epoch, proposal);
        vm.warp(block.timestamp + DISPUTE);
    }

    function words(uint64 word) private pure returns (uint64[] memory list) {
        list = new uint64[](1);
        list[0] = word;
    }

    function testFuzz_sharesSumToTheEmission(uint32 a, uint32 b, uint32 c) public {
        uint32[] memory weights = numbers(
            uint32(bound(a, 1, 1_000_000)), uint32(bound(b, 1, 1_000_000)), uint32(bound(c, 1, 1_000_000))
        );
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts) =
            settle(0, weights, EMISSION);
        uint256 sum = 0;
        for (uint256 i = 0; i < 3; i++) {
            assertEq(rewards.shareOf(proposal, leaves[i]), amounts[i]);
            rewards.claim(0, proposal, TreeKit.weightAt(leaves, i));
            assertEq(token.balanceOf(who[i]), 0);
            assertEq(rewards.owedOf(who[i], words(0))[0], amounts[i]);
            rewards.collect(who[i], words(0));
            assertEq(token.balanceOf(who[i]), amounts[i]);
            sum += amounts[i];
        }
        assertEq(sum, EMISSION);
        assertEq(token.balanceOf(address(rewards)), rewards.reserve());
        (uint128 pot, uint128 paid,) = rewards.potOf(0);
        assertEq(pot, EMISSION);
        assertEq(paid, EMISSION);
        vm.warp(block.timestamp + 30 days);
        vm.expectRevert(RewardBook.NothingToCarry.selector);
        rewards.sweep(0);
    }

    function test_claimOnceAndOnlyWhatIsThere() public {
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            settle(0, numbers(1, 2, 3), EMISSION);
        IScoreboard.WeightOpening memory opening = TreeKit.weightAt(leaves, 1);
        opening.leaf.weightPpm++;
        vm.expectRevert(IRewards.OpeningInvalid.selector);
        rewards.claim(0, proposal, opening);
        opening.leaf.weightPpm--;
        opening.index = 0;
        vm.expectRevert(IRewards.OpeningInvalid.selector);
        rewards.claim(0, proposal, opening);
        opening.index = 1;
        proposal.emission++;
        vm.expectRevert(IRewards.WrongProposal.selector);
        rewards.claim(0, proposal, opening);
        proposal.emission--;
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotFinal.selector, 1));
        rewards.claim(1, proposal, opening);
        assertTrue(!rewards.isClaimed(0, who[1]), "not yet");
        rewards.claim(0, proposal, opening);
        assertTrue(rewards.isClaimed(0, who[1]), "claimed");
        vm.expectRevert(abi.encodeWithSelector(RewardBook.AlreadyClaimed.selector, 0, who[1]));
        rewards.claim(0, proposal, opening);
    }

    /// Anyone may bring it about; the provider alone gets it, once, however often a word is named.
    function test_collectPaysWhatIsOwedOnceAndTheProviderOnly() public {
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts) =
            settle(0, numbers(1, 2, 3), EMISSION);
        vm.expectRevert(abi.encodeWithSelector(RewardBook.NothingOwed.selector, who[1]));
        rewards.collect(who[1], words(0));
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 1));
        // Of another's, of another word, of none.
        vm.expectRevert(abi.encodeWithSelector(RewardBook.NothingOwed.selector, who[0]));
        rewards.collect(who[0], words(0));
        vm.expectRevert(abi.encodeWithSelector(RewardBook.NothingOwed.selector, who[1]));
        rewards.collect(who[1], words(1));
        vm.expectRevert(abi.encodeWithSelector(RewardBook.NothingOwed.selector, who[1]));
        rewards.collect(who[1], new uint64[](0));
        uint64[] memory again = new uint64[](3);
        again[1] = type(uint64).max;
        vm.prank(ACCUSER);
        rewards.collect(who[1], again);
        assertEq(token.balanceOf(who[1]), amounts[1]);
        assertEq(token.balanceOf(ACCUSER), 0);
        vm.expectRevert(abi.encodeWithSelector(RewardBook.NothingOwed.selector, who[1]));
        rewards.collect(who[1], words(0));
        assertTrue(rewards.isClaimed(0, who[1]), "still claimed");
        vm.expectRevert(abi.encodeWithSelector(RewardBook.AlreadyClaimed.selector, 0, who[1]));
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 1));
    }

    /// Owed is owed: not swept with the rest of its pot, not stopped by a pause, not lapsed with the claims.
    function test_whatIsOwedStaysOwed() public {
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts) =
            settle(0, numbers(1, 2, 3), EMISSION);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 0));
        vm.warp(block.timestamp + 3650 days);
        rewards.sweep(0);
        assertEq(rewards.carry(), EMISSION - amounts[0]);
        assertEq(rewards.owedOf(who[0], words(0))[0], amounts[0]);
        registry.pause();
        rewards.collect(who[0], words(0));
        assertEq(token.balanceOf(who[0]), amounts[0]);
        assertEq(token.balanceOf(address(rewards)), uint256(rewards.reserve()) + rewards.carry());
    }

    /// Epochs 126 … 129: the last two of a word and the first two of the next; four claims and the payment in
    /// one transaction.
    function test_severalEpochsInOneTransaction() public {
        bytes[] memory calls = new bytes[](5);
        uint256 sum = 0;
        for (uint64 i = 0; i < 4; i++) {
            (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts) =
                settle(126 + i, numbers(1 + uint32(i), 2, 3), EMISSION);
            calls[i] = abi.encodeCall(IRewards.claim, (126 + i, proposal, TreeKit.weightAt(leaves, 0)));
            sum += amounts[0];
        }
        uint64[] memory both = new uint64[](2);
        both[1] = 1;
        calls[4] = abi.encodeCall(IRewards.collect, (who[0], both));
        rewards.multicall(calls);
        assertEq(token.balanceOf(who[0]), sum);
        for (uint64 epoch = 120; epoch < 136; epoch++) {
            assertTrue(rewards.isClaimed(epoch, who[0]) == (epoch >= 126 && epoch < 130), "its own bit and no other");
        }
        // All or nothing, and no way around who may do what.
        vm.expectRevert(abi.encodeWithSelector(RewardBook.AlreadyClaimed.selector, 126, who[0]));
        rewards.multicall(calls);
        calls = new bytes[](1);
        calls[0] = abi.encodeCall(IRewards.fix, (130));
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotScoreboard.selector, address(this)));
        rewards.multicall(calls);
    }

    /// Nobody can be paid there, so nobody is credited there; it is swept with what nobody claimed.
    function test_theZeroAddressClaimsNothing() public {
        who[0] = address(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts) =
            settle(0, numbers(1, 2, 3), EMISSION);
        vm.expectRevert(IRewards.OpeningInvalid.selector);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 0));
        for (uint256 i = 1; i < 3; i++) rewards.claim(0, proposal, TreeKit.weightAt(leaves, i));
        vm.warp(block.timestamp + 30 days);
        rewards.sweep(0);
        assertEq(rewards.carry(), amounts[0]);
    }

    function test_nothingIsPaidBeforeTheProposalIsFinal() public {
        bytes32 root = TreeKit.reportRoot(leavesOf(who, numbers(1, 2, 3)));
        report(0, [root, root, root]);
        toPropose(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(who, numbers(1, 2, 3), EMISSION);
        propose(0, 0, proposal);
        IScoreboard.WeightOpening memory opening = TreeKit.weightAt(leaves, 0);
        vm.warp(block.timestamp + DISPUTE - 1);
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotFinal.selector, 0));
        rewards.claim(0, proposal, opening);
        vm.warp(block.timestamp + 1);
        rewards.claim(0, proposal, opening);
    }

    /// The last second of the claims is the one before the first of the sweep.
    function test_claimsEndWhereTheSweepBegins() public {
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            settle(0, numbers(1, 2, 3), EMISSION);
        uint64 closes = uint64(block.timestamp + 30 days);
        vm.warp(closes - 1);
        vm.expectRevert(abi.encodeWithSelector(IRewards.ClaimsOpen.selector, closes));
        rewards.sweep(0);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 0));
        vm.warp(closes);
        vm.expectRevert(IRewards.ClaimsClosed.selector);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 1));
        rewards.sweep(0);
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotFinal.selector, 1));
        rewards.sweep(1);
    }

    function deployWith(IRewards.Params memory params) external {
        new Rewards(token, IScoreboard(address(pointer)), params);
    }

    function test_paramsThatWouldLockPotsAreRefused() public {
        uint64[4] memory times = [uint64(1), 0, 3650 days + 1, type(uint64).max];
        for (uint256 i = 0; i < 4; i++) {
            pointer.set(vm.computeCreateAddress(address(this), vm.getNonce(address(this))));
            if (i > 0) vm.expectRevert(IRewards.ParamsInvalid.selector);
            this.deployWith(IRewards.Params(EMISSION, times[i]));
        }
        pointer.set(address(1));
        vm.expectRevert(IRewards.ParamsInvalid.selector);
        this.deployWith(IRewards.Params(EMISSION, 1));
    }

    /// A final proposal that nobody disputed may lie, but never pays more than its pot.
    function test_anUndisputedLieCannotDrainOthers() public {
        bytes32 root = TreeKit.reportRoot(leavesOf(who, numbers(1, 2, 3)));
        report(0, [root, root, root]);
        toPropose(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(who, numbers(1_000_000, 1_000_000, 1_000_000), EMISSION);
        proposal.totalWeight = 1_000_000;
        propose(0, 0, proposal);
        vm.warp(block.timestamp + DISPUTE);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 0));
        vm.expectRevert(RewardBook.PotExceeded.selector);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 1));
    }

    function test_unclaimedCarriesOver() public {
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts) =
            settle(0, numbers(1, 2, 3), EMISSION);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 2));
        vm.expectRevert();
        rewards.sweep(0);
        vm.warp(block.timestamp + 30 days);
        vm.expectRevert(IRewards.ClaimsClosed.selector);
        rewards.claim(0, proposal, TreeKit.weightAt(leaves, 0));
        rewards.sweep(0);
        vm.expectRevert(RewardBook.NothingToCarry.selector);
        rewards.sweep(0);
        uint128 left = EMISSION - amounts[2];
        assertEq(rewards.carry(), left);
        uint64 epoch = scoreboard.epochAt(uint64(block.timestamp));
        (proposal, leaves, amounts) = settle(epoch, numbers(5, 5, 5), EMISSION + left);
        for (uint256 i = 0; i < 3; i++) rewards.claim(epoch, proposal, TreeKit.weightAt(leaves, i));
        assertEq(rewards.carry(), 0);
        rewards.collect(who[2], words(0));
        for (uint256 i = 0; i < 3; i++) rewards.collect(who[i], words(epoch / 128));
        assertEq(token.balanceOf(address(rewards)), rewards.reserve());
    }

    function test_anEpochLeftBehindLapsesAndItsPotCarriesOver() public {
        uint32[] memory weights = numbers(1, 2, 3);
        bytes32 root = TreeKit.reportRoot(leavesOf(who, weights));
        report(0, [root, root, root]);
        toPropose(0);
        (IScoreboard.Proposal memory wrong, IScoreboard.WeightLeaf[] memory leaves,) =
            TreeKit.propose(who, numbers(1, 2, 4), EMISSION);
        propose(0, 0, wrong);
        IScoreboard.ReportOpening[] memory proof = new IScoreboard.ReportOpening[](2);
        for (uint256 i = 0; i < 2; i++) {
            proof[i] = TreeKit.open(validators[i], leavesOf(who, weights), who[2]);
        }
        scoreboard.challengeWeight(0, wrong, who[2], TreeKit.open(leaves, who[2]), proof);
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotFinal.selector, 0));
        rewards.sweep(0);
        report(1, [bytes32(0), root, root]);
        toPropose(1);
        (IScoreboard.Proposal memory proposal,,) = TreeKit.propose(who, weights, EMISSION);
        propose(1, 1, proposal);
        vm.prank(validators[1]);
        vm.expectRevert(abi.encodeWithSelector(RewardBook.EpochLapsed.selector, 0));
        scoreboard.propose(0, proposal);
        rewards.sweep(0);
        assertEq(rewards.carry(), EMISSION);
    }

    /// What is left when it is less than an emission, then nothing; the same answer ever after, and no way
    /// back.
    function test_theReserveEndsAtZero() public {
        pointer.set(vm.computeCreateAddress(address(this), vm.getNonce(address(this))));
        Rewards poor = new Rewards(token, IScoreboard(address(pointer)), IRewards.Params(EMISSION, 1));
        token.approve(address(poor), type(uint256).max);
        poor.fund(EMISSION + 5);
        uint64[5] memory epochs = [uint64(0), 3, 3, 7, 7];
        uint128[5] memory pots = [EMISSION, 5, 5, 0, 0];
        for (uint256 i = 0; i < 5; i++) {
            vm.prank(address(pointer));
            assertEq(poor.fix(epochs[i]), pots[i]);
        }
        vm.prank(address(pointer));
        vm.expectRevert(abi.encodeWithSelector(RewardBook.EpochLapsed.selector, 6));
        poor.fix(6);
        assertEq(poor.reserve(), 0);
        assertEq(token.balanceOf(address(poor)), EMISSION + 5);
    }

    function test_eachEpochDrawsOnce() public {
        uint256 reserve = rewards.reserve();
        assertEq(rewards.params().emissionPerEpoch, EMISSION);
        (bool any,) = rewards.lastFixed();
        assertTrue(!any, "nothing fixed yet");
        for (uint64 epoch = 0; epoch < 3; epoch++) settle(epoch, numbers(1, 2, 3), EMISSION);
        assertEq(rewards.reserve(), reserve - 3 * EMISSION);
        (, uint64 last) = rewards.lastFixed();
        assertEq(last, 2);
        vm.expectRevert(abi.encodeWithSelector(IRewards.NotScoreboard.selector, address(this)));
        rewards.fix(7);
        vm.expectRevert(IRewards.AmountZero.selector);
        rewards.fund(0);
    }
}

/// A Scoreboard as far as a constructor asks it.
contract Pointer {
    address public rewards;

    function set(address to) external {
        rewards = to;
    }
}

/// A token that calls back while it pays: no plain ERC-20, and still nothing is paid twice, because the book
/// is changed first.
contract CallingToken is AssayToken(1e30) {
    Rewards private target;
    address private whom;
    uint256 public refusals;
    bool private isInside;

    function callBack(Rewards target_, address whom_) external {
        (target, whom) = (target_, whom_);
    }

    function _update(address from, address to, uint256 amount) internal override {
        super._update(from, to, amount);
        if (from != address(target) || from == address(0) || isInside) return;
        isInside = true;
        try target.collect(whom, new uint64[](1)) {} catch {
            refusals++;
        }
        isInside = false;
    }
}

contract RewardsReentryTest is NetworkKit {
    function newToken() internal override returns (AssayToken) {
        return new CallingToken();
    }

    function test_collectCannotBeEnteredAgain() public {
        deploy();
        address[] memory who = addresses(address(0x1111), address(0x2222), address(0x3333));
        uint32[] memory weights = numbers(1, 2, 3);
        bytes32 root = TreeKit.reportRoot(leavesOf(who, weights));
        report(0, [root, root, root]);
        toPropose(0);
        (IScoreboard.Proposal memory proposal, IScoreboard.WeightLeaf[] memory leaves, uint128[] memory amounts) =
            TreeKit.propose(who, weights, EMISSION);
        propose(0, 0, proposal);
        vm.warp(block.timestamp + DISPUTE);
        for (uint256 i = 0; i < 3; i++) rewards.claim(0, proposal, TreeKit.weightAt(leaves, i));
        CallingToken calling = CallingToken(address(token));
        calling.callBack(rewards, who[2]);
        rewards.collect(who[2], new uint64[](1));
        assertEq(token.balanceOf(who[2]), amounts[2]);
        assertEq(calling.refusals(), 1);
        // Another's, from within: each gets its own.
        calling.callBack(rewards, who[0]);
        rewards.collect(who[1], new uint64[](1));
        assertEq(token.balanceOf(who[0]), amounts[0]);
        assertEq(token.balanceOf(who[1]), amounts[1]);
        assertEq(token.balanceOf(address(rewards)), rewards.reserve());
    }
}
