// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ITwinPosts} from "../../src/zk/ITwinPosts.sol";
import {TwinJudge} from "../../src/zk/TwinJudge.sol";
import {TwinTree} from "../../src/zk/TwinTree.sol";
import {ZkPlan} from "../../src/zk/ZkPlan.sol";
import {PlanKit} from "./PlanKit.sol";
import {TwinKit} from "./TwinKit.sol";

/// Who posts a tree of points, who asks for what lies in it, and who loses: whoever lies, and whoever is
/// silent.
contract TwinPostsTest is TwinKit {
    TwinTree.Node[] private nodes;
    ITwinPosts.Tree private tree;
    bytes32 private number;

    function setUp() public {
        deployTwins();
        keep(7, 0);
        vm.prank(POSTER);
        number = twins.post{value: BOND}(tree);
    }

    function keep(uint256 from, uint256 wrong) private {
        TwinTree.Node[] memory made = nodesOf(from, wrong);
        delete nodes;
        for (uint256 i = 0; i < made.length; i++) nodes.push(made[i]);
        ITwinPosts.Tree memory whole = treeOf(1, made[0]);
        (tree.scope, tree.plan, tree.segment, tree.states) = (whole.scope, whole.plan, whole.segment, whole.states);
        delete tree.tops;
        tree.tops.push(made[0]);
    }

    function repost(uint256 wrong) private {
        keep(9, wrong);
        vm.prank(POSTER);
        number = twins.post{value: BOND}(tree);
    }

    function demand() private {
        vm.prank(CHALLENGER);
        twins.demand{value: DEPOSIT}(POSTER, tree, 0);
    }

    function refuse(bytes4 why) private {
        vm.expectRevert(abi.encodeWithSelector(why, number));
    }

    function refuseGame(address challenger) private {
        vm.expectRevert(abi.encodeWithSelector(ITwinPosts.GameState.selector, number, challenger));
    }

    function refuseTime(uint256 until) private {
        vm.expectRevert(abi.encodeWithSelector(ITwinPosts.WrongTime.selector, until));
    }

    function test_anHonestTreeIsAnsweredDownToItsLeavesAndStands() public {
        demand();
        TwinTree.Node[] memory fan = below(nodes, 0, 4);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        vm.prank(CHALLENGER);
        twins.demandBelow{value: DEPOSIT}(number, fan, 5);
        later(100);
        twins.answer(number, CHALLENGER, fan[5], below(nodes, 15 + 5, 1));
        assertEq(twins.gameOf(number, CHALLENGER).left, 0);
        later(2000);
        assertTrue(!twins.isStanding(number), "a game is open");
        vm.prank(STRANGER);
        twins.close(number, CHALLENGER);
        assertTrue(twins.isStanding(number), "stands");
        twins.settleDeposits(number, CHALLENGER);
        twins.settleBond(number);
        assertEq(twins.owedTo(POSTER), BOND + 2 * DEPOSIT);
        vm.prank(POSTER);
        twins.collect(payable(address(0x1234)));
        assertEq(address(0x1234).balance, BOND + 2 * DEPOSIT);
        assertEq(address(twins).balance, 0);
        refuse(ITwinPosts.PostState.selector);
        twins.settleBond(number);
        vm.expectRevert(ITwinPosts.NothingPaid.selector);
        twins.settleDeposits(number, CHALLENGER);
    }

    function test_withoutADemandItStandsWhenItsWindowEnds() public {
        later(1000);
        assertTrue(!twins.isStanding(number), "its last second");
        later(1);
        assertTrue(twins.isStanding(number), "over");
        refuse(ITwinPosts.PostState.selector);
        demand();
        judge.find(true);
        TwinJudge.Leaf memory leaf;
        refuse(ITwinPosts.PostState.selector);
        twins.proveLeaf("salt", POSTER, tree, 0, leaf);
    }

    function test_silenceTakesTheBond() public {
        demand();
        refuseTime(block.timestamp + 100);
        twins.proveSilent(number, CHALLENGER);
        later(101);
        refuseTime(block.timestamp - 1);
        twins.answer(number, CHALLENGER, nodes[0], below(nodes, 0, 4));
        vm.prank(STRANGER);
        twins.proveSilent(number, CHALLENGER);
        twins.settleDeposits(number, CHALLENGER);
        assertEq(twins.owedTo(CHALLENGER), BOND / 2 + DEPOSIT);
        assertEq(twins.owedTo(DEAD), BOND / 2);
        later(5000);
        assertTrue(!twins.isStanding(number), "fallen");
        refuse(ITwinPosts.PostState.selector);
        twins.proveSilent(number, CHALLENGER);
        refuse(ITwinPosts.PostState.selector);
        twins.settleBond(number);
    }

    /// The hole that this contract closes: whoever posts a hash of nothing cannot be convicted by nodes that
    /// nobody knows.
    function test_aTreeWhoseNodesNobodyKnowsFalls() public {
        keep(9, 0);
        tree.tops[0].hash = keccak256("nobody knows");
        vm.prank(POSTER);
        number = twins.post{value: BOND}(tree);
        demand();
        vm.expectRevert(ITwinPosts.NodesMismatch.selector);
        twins.answer(number, CHALLENGER, tree.tops[0], below(nodes, 0, 4));
        later(101);
        twins.proveSilent(number, CHALLENGER);
        assertTrue(twins.postOf(number).isFallen, "fallen");
    }

    /// Node 9 is one of those on the way from the top to the first fan; node 20 is in the fan, so that the
    /// next one shows it.
    function test_aFalseSumCannotBeAnswered() public {
        for (uint256 i = 0; i < 2; i++) {
            repost(i == 0 ? 9 : 20);
            demand();
            TwinTree.Node[] memory fan = below(nodes, 0, 4);
            if (i == 0) vm.expectRevert(ITwinPosts.NodesMismatch.selector);
            twins.answer(number, CHALLENGER, nodes[0], fan);
            if (i == 0) continue;
            vm.prank(CHALLENGER);
            twins.demandBelow{value: DEPOSIT}(number, fan, 5);
            vm.expectRevert(ITwinPosts.NodesMismatch.selector);
            twins.answer(number, CHALLENGER, fan[5], below(nodes, 20, 1));
        }
    }

    function test_whatIsAnsweredMustBeWhatWasAskedFor() public {
        demand();
        TwinTree.Node[] memory fan = below(nodes, 0, 4);
        vm.expectRevert(ITwinPosts.NodesMismatch.selector);
        twins.answer(number, CHALLENGER, nodes[1], below(nodes, 1, 4));
        vm.expectRevert(ITwinPosts.NodesMismatch.selector);
        twins.answer(number, CHALLENGER, nodes[0], below(nodes, 0, 3));
        (fan[0], fan[1]) = (fan[1], fan[0]);
        vm.expectRevert(ITwinPosts.NodesMismatch.selector);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        (fan[0], fan[1]) = (fan[1], fan[0]);
        fan[3].x += 1;
        vm.expectRevert(ITwinPosts.NodesMismatch.selector);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        fan[3].x -= 1;
        refuseGame(STRANGER);
        twins.answer(number, STRANGER, nodes[0], fan);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        refuseGame(CHALLENGER);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        fan[3].hash = "other";
        vm.prank(CHALLENGER);
        vm.expectRevert(ITwinPosts.NodesMismatch.selector);
        twins.demandBelow{value: DEPOSIT}(number, fan, 3);
    }

    function announce(address who, bytes memory call) private {
        bytes memory deed = new bytes(call.length - 36);
        for (uint256 i = 0; i < deed.length; i++) deed[i] = call[i + 36];
        (bool isDone,) = address(twins).call(
            abi.encodeWithSignature("announce(bytes32)", keccak256(abi.encode(who, keccak256(deed), bytes32("salt"))))
        );
        assertTrue(isDone, "announced");
    }

    function test_aFalseLeafAndAFalseSumPayWhoAnnouncedThem() public {
        TwinJudge.Leaf memory leaf;
        bytes memory call = abi.encodeCall(ITwinPosts.proveLeaf, ("salt", POSTER, tree, 0, leaf));
        vm.expectRevert(ITwinPosts.NothingShown.selector);
        twins.proveLeaf("salt", POSTER, tree, 0, leaf);
        TwinTree.Node[2][] memory levels;
        vm.expectRevert(ITwinPosts.NothingShown.selector);
        twins.proveSum("salt", POSTER, tree, 0, levels, 0);
        judge.find(true);
        announce(CHALLENGER, call);
        vm.roll(block.number + 1);
        vm.prank(CHALLENGER);
        (bool isDone,) = address(twins).call(call);
        assertTrue(isDone, "proven");
        assertEq(twins.owedTo(CHALLENGER), BOND / 2);
        repost(0);
        // Copied from the pool: it falls, and nobody is paid.
        vm.prank(STRANGER);
        twins.proveSum("salt", POSTER, tree, 0, levels, 0);
        assertEq(twins.owedTo(STRANGER), 0);
        assertEq(twins.owedTo(DEAD), BOND + BOND / 2);
    }

    function test_nobodyPostsBadlyWhatAnotherPostsWell() public {
        ITwinPosts.Tree memory same = tree;
        vm.prank(STRANGER);
        bytes32 other = twins.post{value: BOND}(same);
        vm.prank(CHALLENGER);
        twins.demand{value: DEPOSIT}(STRANGER, same, 0);
        later(1001);
        twins.proveSilent(other, CHALLENGER);
        assertTrue(twins.isStanding(number), "the first one stands");
        assertEq(twins.pointsOf(same), keccak256(abi.encode(nodes[0].x, nodes[0].y)));
        vm.prank(POSTER);
        refuse(ITwinPosts.PostState.selector);
        twins.post{value: BOND}(same);
    }

    function test_aGameEndsByItsChallengerOrByTheClock() public {
        vm.prank(STRANGER);
        refuseGame(CHALLENGER);
        twins.close(number, CHALLENGER);
        demand();
        refuseGame(CHALLENGER);
        demand();
        vm.prank(CHALLENGER);
        refuseGame(CHALLENGER);
        twins.close(number, CHALLENGER);
        TwinTree.Node[] memory fan = below(nodes, 0, 4);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        refuseTime(block.timestamp + 200);
        twins.close(number, CHALLENGER);
        later(201);
        vm.prank(CHALLENGER);
        refuseTime(block.timestamp - 1);
        twins.demandBelow{value: DEPOSIT}(number, fan, 0);
        twins.close(number, CHALLENGER);
        // As long as the window is open a second way down may begin; both deposits lie there.
        demand();
        assertEq(twins.gameOf(number, CHALLENGER).deposits, 2);
        vm.prank(STRANGER);
        refuseGame(STRANGER);
        twins.demandBelow{value: DEPOSIT}(number, fan, 0);
        refuse(ITwinPosts.PostState.selector);
        twins.settleDeposits(number, CHALLENGER);
        // The worst: a demand in the window's last second, and every clock run out, five times on the deepest
        // tree.
        assertEq(twins.longest(), 1000 + 5 * 300);
    }

    function test_whatIsNoTreeOfThePlanIsRefused() public {
        ITwinPosts.Tree memory other = tree;
        other.scope = 2;
        vm.expectRevert(abi.encodeWithSelector(ITwinPosts.CoinsWrong.selector, BOND));
        twins.post{value: BOND - 1}(other);
        vm.expectRevert(abi.encodeWithSelector(ITwinPosts.CoinsWrong.selector, DEPOSIT));
        twins.demand{value: DEPOSIT + 1}(POSTER, tree, 0);
        other.plan = "none";
        vm.expectRevert(ZkPlan.PlanUnknown.selector);
        twins.post{value: BOND}(other);
        // Over powers that have no id no leaf could be shown false.
        other.plan = plans.register(PlanKit.words("program", CHUNK_BITS + 2));
        vm.expectRevert(ITwinPosts.TreeInvalid.selector);
        twins.post{value: BOND}(other);
        other.plan = plan;
        other.tops[0].x += 1;
        vm.expectRevert(ITwinPosts.TreeInvalid.selector);
        twins.post{value: BOND}(other);
        other.tops = new TwinTree.Node[](2);
        vm.expectRevert(ITwinPosts.TreeInvalid.selector);
        twins.post{value: BOND}(other);
    }

    function test_clocksHaveLimits() public {
        for (uint256 i = 0; i < 8; i++) {
            ITwinPosts.Params memory params = clocks();
            if (i == 0) params.windowSeconds = 0;
            if (i == 1) params.answerSeconds = 0;
            if (i == 2) params.replySeconds = 0;
            if (i == 3) params.bond = 0;
            if (i == 4) params.windowSeconds = 365 days + 1;
            if (i == 5) params.answerSeconds = 30 days + 1;
            if (i == 6) params.replySeconds = 30 days + 1;
            if (i == 7) (params.windowSeconds, params.answerSeconds, params.replySeconds) = (365 days, 30 days, 30 days);
            if (i < 7) vm.expectRevert(ITwinPosts.ParamsInvalid.selector);
            deployWith(params);
        }
        uint256[] memory bits = new uint256[](1);
        vm.expectRevert(ITwinPosts.ParamsInvalid.selector);
        deployCode("TwinPosts", abi.encode(plans, judge, bits, new bytes32[](2), clocks()));
        vm.expectRevert(ITwinPosts.ParamsInvalid.selector);
        deployCode("TwinPosts", abi.encode(plans, address(0x1234), bits, new bytes32[](1), clocks()));
    }

    function test_eachClockRunsToItsLastSecond() public {
        later(1000);
        demand();
        later(1);
        // The game keeps the tree open, not its window.
        vm.prank(STRANGER);
        refuseTime(block.timestamp - 1);
        twins.demand{value: DEPOSIT}(POSTER, tree, 0);
        later(99);
        refuseTime(block.timestamp);
        twins.proveSilent(number, CHALLENGER);
        TwinTree.Node[] memory fan = below(nodes, 0, 4);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        later(200);
        refuseTime(block.timestamp);
        twins.close(number, CHALLENGER);
        vm.prank(CHALLENGER);
        twins.demandBelow{value: DEPOSIT}(number, fan, 5);
    }

    function test_aGameGoesDownWhereItIsAndNowhereElse() public {
        TwinTree.Node[] memory fan = below(nodes, 0, 4);
        demand();
        vm.prank(CHALLENGER);
        refuseGame(CHALLENGER);
        twins.demandBelow{value: DEPOSIT}(number, fan, 0);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        vm.prank(CHALLENGER);
        twins.close(number, CHALLENGER);
        vm.prank(CHALLENGER);
        refuseGame(CHALLENGER);
        twins.demandBelow{value: DEPOSIT}(number, fan, 0);
        demand();
        twins.answer(number, CHALLENGER, nodes[0], fan);
        vm.prank(CHALLENGER);
        twins.demandBelow{value: DEPOSIT}(number, fan, 5);
        TwinTree.Node[] memory leaves = below(nodes, 15 + 5, 1);
        twins.answer(number, CHALLENGER, fan[5], leaves);
        vm.prank(CHALLENGER);
        refuseGame(CHALLENGER);
        twins.demandBelow{value: DEPOSIT}(number, leaves, 0);
    }

    function test_ofAFallenTreeNothingIsAskedOrAnswered() public {
        demand();
        TwinTree.Node[] memory fan = below(nodes, 0, 4);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        vm.prank(STRANGER);
        twins.demand{value: DEPOSIT}(POSTER, tree, 0);
        vm.prank(address(this));
        vm.deal(address(this), DEPOSIT);
        twins.demand{value: DEPOSIT}(POSTER, tree, 0);
        later(101);
        twins.proveSilent(number, STRANGER);
        vm.prank(CHALLENGER);
        refuse(ITwinPosts.PostState.selector);
        twins.demandBelow{value: DEPOSIT}(number, fan, 0);
        refuse(ITwinPosts.PostState.selector);
        twins.answer(number, address(this), nodes[0], fan);
    }

    function test_hashAndBothCoordinatesMustLeadUp() public {
        demand();
        TwinTree.Node[] memory fan = below(nodes, 0, 4);
        // The same sums over other bytes.
        fan[0].hash = "other";
        vm.expectRevert(ITwinPosts.NodesMismatch.selector);
        twins.answer(number, CHALLENGER, nodes[0], fan);
        // The negative of the sum: the same x.
        keep(9, 0);
        tree.tops[0].y = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47 - tree.tops[0].y;
        vm.prank(POSTER);
        number = twins.post{value: BOND}(tree);
        demand();
        vm.expectRevert(ITwinPosts.NodesMismatch.selector);
        twins.answer(number, CHALLENGER, tree.tops[0], below(nodes, 0, 4));
    }

    function test_belowACommitmentThatIsOneLeafNothingLies() public {
        uint256[] memory bits = new uint256[](1);
        bytes32[] memory ids = new bytes32[](1);
        (bits[0], ids[0]) = (6, keccak256("powers"));
        twins = ITwinPosts(deployCode("TwinPosts", abi.encode(plans, judge, bits, ids, clocks())));
        ITwinPosts.Tree memory small = tree;
        small.plan = plans.register(PlanKit.words("program", 6));
        for (uint256 count = 1; count < 100; count++) {
            small.tops = new TwinTree.Node[](count);
            vm.prank(POSTER);
            try twins.post{value: BOND}(small) returns (bytes32 made) {
                number = made;
                vm.prank(CHALLENGER);
                refuseGame(CHALLENGER);
                twins.demand{value: DEPOSIT}(POSTER, small, 0);
                return;
            } catch {}
        }
        revert("no tree has so many commitments");
    }

    function test_coinsThatNobodyTakesStay() public {
        later(1001);
        twins.settleBond(number);
        vm.prank(POSTER);
        vm.expectRevert(ITwinPosts.NothingPaid.selector);
        twins.collect(payable(address(this)));
        assertEq(twins.owedTo(POSTER), BOND);
        vm.expectRevert(ITwinPosts.NothingPaid.selector);
        twins.collect(payable(POSTER));
    }
}
