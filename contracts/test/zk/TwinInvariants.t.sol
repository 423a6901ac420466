// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ITwinPosts} from "../../src/zk/ITwinPosts.sol";
import {TwinJudge} from "../../src/zk/TwinJudge.sol";
import {TwinTree} from "../../src/zk/TwinTree.sol";
import {Cheats} from "../Cheats.sol";
import {TwinKit} from "./TwinKit.sol";

/// Posters and challengers in random order, before the real contract. Trees are honest, or false in a sum on
/// the way; an honest poster answers in time, unless it sleeps.
contract TwinHandler is TwinKit {
    struct Kept {
        address poster;
        /// 0: every sum is right. 1: a sum is false, so that it cannot be answered.
        uint256 wrong;
        bool isPosted;
        bool sleeps;
        bool stood;
        bool fell;
        uint256 deposits;
    }

    uint256 internal constant TREES = 4;
    Kept[4] private kept;
    TwinTree.Node[][4] private nodes;
    address[2] private challengers = [CHALLENGER, STRANGER];
    uint256 public burned;
    uint256 public paidOut;
    mapping(string => uint256) public seen;
    mapping(string => uint256) public lies;

    constructor() {
        deployTwins();
        for (uint256 i = 0; i < TREES; i++) {
            kept[i].poster = address(uint160(0xB0 + i));
            kept[i].wrong = i == 3 ? 9 : 0;
            vm.deal(kept[i].poster, 1e9);
            TwinTree.Node[] memory made = nodesOf(100 * i + 1, kept[i].wrong);
            for (uint256 k = 0; k < made.length; k++) nodes[i].push(made[k]);
        }
    }

    function treeAt(uint256 i) private view returns (ITwinPosts.Tree memory) {
        return treeOf(i, nodes[i][0]);
    }

    function numberAt(uint256 i) public view returns (bytes32) {
        return twins.numberOf(kept[i].poster, treeAt(i));
    }

    function keptAt(uint256 i) external view returns (Kept memory) {
        return kept[i];
    }

    function contractOf() external view returns (ITwinPosts) {
        return twins;
    }

    function challengerAt(uint256 i) external view returns (address) {
        return challengers[i];
    }

    function post(uint256 which) external {
        which %= TREES;
        vm.prank(kept[which].poster);
        twins.post{value: BOND}(treeAt(which));
        if (kept[which].isPosted) lies["posted twice"]++;
        kept[which].isPosted = true;
        seen["post"]++;
    }

    function demand(uint256 which, uint256 who) external {
        which %= TREES;
        note(which);
        vm.prank(challengers[who % 2]);
        twins.demand{value: DEPOSIT}(kept[which].poster, treeAt(which), 0);
        if (kept[which].stood || kept[which].fell) lies["demanded of what is decided"]++;
        kept[which].deposits++;
        seen["demand"]++;
    }

    function demandBelow(uint256 which, uint256 who, uint256 at_) external {
        which %= TREES;
        TwinTree.Node[] memory fan = below(nodes[which], 0, 4);
        bytes32 number = numberAt(which);
        vm.prank(challengers[who % 2]);
        twins.demandBelow{value: DEPOSIT}(number, fan, at_ % 16);
        kept[which].deposits++;
        seen["demandBelow"]++;
    }

    /// What was asked for, found by its mark; or the next thing, which must be refused.
    function answer(uint256 which, uint256 who, bool isOther) public {
        which %= TREES;
        bytes32 number = numberAt(which);
        address challenger = challengers[who % 2];
        bytes32 mark = twins.gameOf(number, challenger).mark;
        for (uint256 i = 0; i < 31; i++) {
            if (keccak256(abi.encode(nodes[which][i])) != mark) continue;
            uint256 levels = i == 0 ? 4 : 1;
            twins.answer(number, challenger, nodes[which][i], below(nodes[which], isOther ? (i + 1) % 31 : i, levels));
            if (isOther || kept[which].wrong != 0) lies["answered falsely"]++;
            seen["answer"]++;
            return;
        }
    }

    function proveSilent(uint256 which, uint256 who) external {
        which %= TREES;
        note(which);
        twins.proveSilent(numberAt(which), challengers[who % 2]);
        if (kept[which].stood) lies["fell after it stood"]++;
        if (kept[which].fell) lies["fell twice"]++;
        // Everybody who is honest answers before time goes on, below.
        if (kept[which].wrong == 0 && !kept[which].sleeps) lies["an honest one fell"]++;
        kept[which].fell = true;
        burned += BOND / 2;
        seen["fall"]++;
    }

    /// The judge finds nothing in honest trees; whoever tries all the same must be refused.
    function accuse(uint256 which, bool isLeaf) external {
        which %= TREES;
        TwinJudge.Leaf memory leaf;
        TwinTree.Node[2][] memory levels;
        if (isLeaf) twins.proveLeaf("", kept[which].poster, treeAt(which), 0, leaf);
        else twins.proveSum("", kept[which].poster, treeAt(which), 0, levels, 0);
        lies["accused of nothing"]++;
    }

    function close(uint256 which, uint256 who, bool isOwn) external {
        which %= TREES;
        address challenger = challengers[who % 2];
        bytes32 number = numberAt(which);
        vm.prank(isOwn ? challenger : address(0x999));
        twins.close(number, challenger);
        seen["close"]++;
    }

    function settle(uint256 which, uint256 who, bool isBond) external {
        which %= TREES;
        note(which);
        if (isBond) {
            twins.settleBond(numberAt(which));
            if (!kept[which].stood) lies["a bond back too early"]++;
        } else {
            twins.settleDeposits(numberAt(which), challengers[who % 2]);
            if (!kept[which].stood && !kept[which].fell) lies["deposits back too early"]++;
        }
        seen["settle"]++;
    }

    function collect(uint256 which) external {
        address who = which % 6 < 4 ? kept[which % 6].poster : challengers[which % 6 - 4];
        uint256 owed = twins.owedTo(who);
        vm.prank(who);
        twins.collect(payable(address(0xdeaf)));
        paidOut += owed;
        seen["collect"]++;
    }

    /// Time goes on, after everybody who is awake has answered.
    function wait(uint256 seconds_, uint256 sleeper) external {
        for (uint256 i = 0; i < TREES; i++) {
            if (kept[i].wrong != 0) continue;
            for (uint256 k = 0; k < 2; k++) {
                if (!twins.gameOf(numberAt(i), challengers[k]).isAsked) continue;
                if (i == sleeper % 64) kept[i].sleeps = true;
                else answer(i, k, false);
            }
        }
        later(seconds_ % 400);
        for (uint256 i = 0; i < TREES; i++) note(i);
    }

    function note(uint256 which) private {
        if (twins.isStanding(numberAt(which))) kept[which].stood = true;
    }

    receive() external payable {}
}

contract TwinInvariantsTest is Cheats {
    TwinHandler private handler;

    function setUp() public {
        handler = new TwinHandler();
    }

    function targetContracts() public view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function invariant_coinsAreWhatIsOwedAndHeld() public view {
        ITwinPosts twins = handler.contractOf();
        uint256 wanted = twins.owedTo(0x000000000000000000000000000000000000dEaD);
        assertEq(wanted, handler.burned());
        for (uint256 i = 0; i < 4; i++) {
            TwinHandler.Kept memory one = handler.keptAt(i);
            bytes32 number = handler.numberAt(i);
            ITwinPosts.Post memory found = twins.postOf(number);
            if (one.isPosted && !found.isFallen && !found.isPaid) wanted += 1000;
            uint256 open = 0;
            for (uint256 k = 0; k < 2; k++) {
                ITwinPosts.Game memory game = twins.gameOf(number, handler.challengerAt(k));
                wanted += 10 * uint256(game.deposits);
                if (game.isOpen) open++;
                // Nobody is asked outside a game, and no game goes below the leaves.
                assertTrue(game.isOpen || !game.isAsked, "asked");
                assertTrue(game.left <= 5, "left");
                assertTrue(one.isPosted || game.deposits == 0, "of nothing");
            }
            assertEq(found.games, open);
            wanted += twins.owedTo(one.poster);
            // What stood stands, what fell has fallen, and never both.
            assertTrue(!one.stood || twins.isStanding(number), "stood");
            assertTrue(found.isFallen == one.fell, "fell");
            assertTrue(!(one.stood && one.fell), "both");
            assertTrue(!found.isPaid || one.stood, "paid");
        }
        for (uint256 k = 0; k < 2; k++) wanted += twins.owedTo(handler.challengerAt(k));
        assertEq(address(twins).balance, wanted);
        assertEq(address(0xdeaf).balance, handler.paidOut());
    }

    function invariant_noLieIsTaken() public view {
        assertEq(handler.lies("posted twice"), 0);
        assertEq(handler.lies("demanded of what is decided"), 0);
        assertEq(handler.lies("answered falsely"), 0);
        assertEq(handler.lies("fell after it stood"), 0);
        assertEq(handler.lies("fell twice"), 0);
        assertEq(handler.lies("an honest one fell"), 0);
        assertEq(handler.lies("accused of nothing"), 0);
        assertEq(handler.lies("a bond back too early"), 0);
        assertEq(handler.lies("deposits back too early"), 0);
    }

    /// So that a handler that always reverts cannot pass for a contract that holds.
    function test_everyActHappens() public {
        handler.post(0);
        handler.post(3);
        handler.demand(0, 0);
        handler.demand(3, 1);
        handler.answer(0, 0, false);
        handler.demandBelow(0, 0, 3);
        handler.wait(150, 63);
        handler.proveSilent(3, 1);
        handler.close(0, 0, true);
        for (uint256 i = 0; i < 3; i++) handler.wait(399, 63);
        handler.settle(0, 0, true);
        handler.settle(0, 0, false);
        handler.settle(3, 1, false);
        handler.collect(0);
        handler.collect(5);
        assertEq(handler.seen("post") + handler.seen("demand"), 4);
        assertEq(handler.seen("answer") + handler.seen("demandBelow"), 3);
        assertEq(handler.seen("fall") + handler.seen("close"), 2);
        assertEq(handler.seen("settle") + handler.seen("collect"), 5);
        invariant_coinsAreWhatIsOwedAndHeld();
        invariant_noLieIsTaken();
    }
}
