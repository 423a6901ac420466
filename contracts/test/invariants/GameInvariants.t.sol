// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IDisputes} from "../../src/disputes/IDisputes.sol";
import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {DisputeKit} from "../disputes/DisputeKit.sol";

/// Four accusers, one of them the accused itself, in random order against one claim: after every act what
/// must always hold is held against books of its own. The judges are toys, so every question could be
/// answered.
contract GameInvariantsTest is DisputeKit {
    uint256 private constant ACTS = 24;
    address[4] private accusers;
    mapping(address => bytes) private openQuestion;
    mapping(address => uint256) private deposited;
    mapping(address => bool) private wasClosed;
    mapping(address => bool) private wasPaid;
    mapping(bytes32 => bytes32) private word;
    bytes32[] private words;
    uint256 private opened;
    uint256 private closed;
    uint256 private paidOut;
    uint256 private allCoins;
    bool private isDead;
    bool private isSettled;
    uint256 private windowEnd;
    uint256 private random;

    function setUp() public {
        deployDisputes();
        accusers = [ACCUSER, STRANGER, somebody(1), liar];
        windowEnd = part(0).time;
        allCoins = coins();
    }

    function coins() private view returns (uint256 sum) {
        sum = address(disputes).balance;
        for (uint256 i = 0; i < 4; i++) sum += accusers[i].balance;
    }

    function draw(uint256 below) private returns (uint256) {
        random = uint256(keccak256(abi.encode(random)));
        return random % below;
    }

    function testFuzz_whatAlwaysHolds(uint256 seed) public {
        random = seed;
        for (uint256 i = 0; i < ACTS; i++) {
            act(accusers[draw(4)]);
            mustHold();
        }
    }

    function act(address who) private {
        uint256 which = draw(8);
        if (which == 0 || which == 1) move(who);
        else if (which == 2 || which == 3) tryReply(who);
        else if (which == 4) tryTimeout(who);
        else if (which == 5) tryEnd(who);
        else if (which == 6) trySettle();
        else later([uint256(1), 31 minutes, 1 hours, 5 hours, 13 hours, 1 days][draw(6)]);
    }

    function someQuestion() private returns (bytes memory) {
        uint256 which = draw(3);
        if (which == 0) return askTrace(uint64(draw(3)), 4);
        if (which == 1) return askTranscript(uint64(draw(6)), 2);
        return askWriter(uint16(draw(4)));
    }

    /// Asks, in a new game or in its own.
    function move(address who) private {
        bytes memory question = someQuestion();
        uint256 deposit = disputes.depositFor(question);
        (IDisputes.Game memory one,) = game(who);
        vm.prank(who);
        bool isDone;
        if (one.opened == 0) {
            try disputes.open{value: deposit}(job, 0, question) {
                isDone = true;
                opened++;
                assertTrue(!isDead && !isSettled && block.timestamp <= windowEnd, "opened too late");
            } catch {}
        } else {
            try disputes.ask{value: deposit}(book, question) {
                isDone = true;
                assertTrue(!wasClosed[who] && openQuestion[who].length == 0, "asked out of turn");
            } catch {}
        }
        if (!isDone) return;
        openQuestion[who] = question;
        deposited[who] += deposit;
    }

    /// The right answer, or one that is none.
    function tryReply(address who) private {
        bytes memory question = openQuestion[who];
        if (question.length == 0) question = askTrace(0, 4);
        bool isRight = draw(4) > 0;
        bytes memory said = isRight ? rightAnswer(question) : bytes("nothing");
        uint256 deadline = deadlineOf(who);
        vm.prank(liar);
        try disputes.answer(job, 0, 1, who, question, said) {
            assertTrue(isRight && openQuestion[who].length > 0 && block.timestamp <= deadline, "a false answer");
            delete openQuestion[who];
            bytes32 asked = wordQuestion(question);
            if (word[asked] == 0) words.push(asked);
            word[asked] = disputes.wordOf(book, asked);
        } catch {}
    }

    function wordQuestion(bytes memory question) private view returns (bytes32) {
        if (question.length == 18) return disputes.traceQuestion(uint64(bytes8(wordAt(question, 2))));
        if (question.length == 5) return keccak256(question);
        bytes memory short = new bytes(question.length - 4);
        for (uint256 i = 0; i < short.length; i++) short[i] = question[i];
        return keccak256(short);
    }

    function rightAnswer(bytes memory question) private pure returns (bytes memory) {
        if (question.length == 18) return someNodes(4, "trace");
        return question.length == 5 ? bytes(hex"ffffffff") : new bytes(16);
    }

    function tryTimeout(address who) private {
        bytes memory question = openQuestion[who].length == 0 ? askTrace(0, 4) : openQuestion[who];
        uint256 deadline = deadlineOf(who);
        try disputes.timeout(accused, who, question, noBasis) {
            assertTrue(openQuestion[who].length > 0 && block.timestamp > deadline, "convicted without silence");
            assertTrue(!isDead && !isSettled, "convicted twice, or after it was paid");
            isDead = true;
        } catch {}
    }

    /// Closes a game, or collects its deposits.
    function tryEnd(address who) private {
        if (draw(2) == 0) {
            try disputes.close(book, who) {
                assertTrue(!wasClosed[who], "closed twice");
                wasClosed[who] = true;
                closed++;
            } catch {}
            return;
        }
        address to = isSettled ? liar : who;
        uint256 had = to.balance;
        try disputes.collect(sitting(), who, openQuestion[who]) {
            assertTrue((isDead || isSettled) && !wasPaid[who], "paid early or twice");
            assertEq(to.balance - had, deposited[who]);
            wasPaid[who] = true;
            paidOut += deposited[who];
        } catch {}
    }

    function trySettle() private {
        IDisputes.Book memory all = disputes.booked(book);
        try escrow.settle(terms, 0) {
            assertTrue(!isDead && block.timestamp > windowEnd, "paid a dead claim, or early");
            assertTrue(all.open == 0 || block.timestamp > all.heldUntil, "paid while a game held it");
            isSettled = true;
        } catch {
            bool isFree = !isDead && !isSettled && block.timestamp > windowEnd + 36 hours;
            assertTrue(!isFree, "a claim is paid within its window and 36 hours");
        }
    }

    function mustHold() private view {
        assertEq(coins(), allCoins);
        uint256 held = 0;
        uint256 games = 0;
        for (uint256 i = 0; i < 4; i++) held += mustHoldOf(accusers[i]);
        for (uint256 i = 0; i < 4; i++) {
            (IDisputes.Game memory one,) = game(accusers[i]);
            if (one.opened != 0) games++;
        }
        assertEq(address(disputes).balance, held);
        IDisputes.Book memory all = disputes.booked(book);
        assertEq(all.games, opened);
        assertEq(games, opened);
        assertEq(all.open, opened - closed);
        assertTrue(all.heldUntil <= windowEnd + 36 hours, "held too long");
        for (uint256 i = 0; i < words.length; i++) assertEq(disputes.wordOf(book, words[i]), word[words[i]]);
        IJobEscrow.PartState state = part(0).state;
        assertTrue(isDead == (state == IJobEscrow.PartState.Open), "dead");
        assertTrue(isSettled == (state == IJobEscrow.PartState.Settled), "settled");
    }

    /// What the contract holds for a game.
    function mustHoldOf(address who) private view returns (uint256) {
        (IDisputes.Game memory one, IDisputes.Asking memory asking) = game(who);
        bool isOpen = openQuestion[who].length > 0;
        assertEq(asking.asks, uint256(one.answers) + (isOpen ? 1 : 0));
        assertTrue(one.extra <= 12 hours, "extra");
        assertTrue(asking.deadline + 30 minutes <= 36 hours, "deadline");
        assertTrue(one.isClosed == wasClosed[who] && one.isPaid == wasPaid[who], "closed, paid");
        uint256 ofOpen = isOpen ? disputes.depositFor(openQuestion[who]) : 0;
        assertEq(uint256(one.deposits) + ofOpen, deposited[who]);
        return wasPaid[who] ? 0 : deposited[who];
    }
}
