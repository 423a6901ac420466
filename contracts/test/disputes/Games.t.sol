// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IDisputes} from "../../src/disputes/IDisputes.sol";
import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {DisputeKit} from "./DisputeKit.sol";

/// Games: questions, answers, clocks, deposits, and the attacks on them, each by its name. The judges are
/// toys; what the real ones take as a question is contracts/test/dispute-games.test.ts.
contract GamesTest is DisputeKit {
    bytes private trace = askTrace(2, 100);
    bytes private nodes = someNodes(13, "trace");

    function setUp() public {
        deployDisputes();
        (accused.segment, accused.trace) = (2, keccakRoot(nodes));
    }

    function refuse(bytes4 selector) private {
        vm.expectRevert(selector);
    }

    // ---- The course of a game

    function test_whoIsSilentIsConvictedAndTheGamesAccuserIsPaid() public {
        open(ACCUSER, trace);
        assertEq(deadlineOf(ACCUSER), block.timestamp + 1 hours);
        later(1 hours);
        refuseTime(ACCUSER);
        disputes.timeout(accused, ACCUSER, trace, noBasis);
        later(1);
        vm.prank(STRANGER);
        disputes.timeout(accused, ACCUSER, trace, noBasis);
        mustBeIn(0, IJobEscrow.PartState.Open);
        assertEq(escrow.owedTo(ACCUSER), 1075);
        assertEq(escrow.owedTo(STRANGER), 0);
        uint256 had = ACCUSER.balance;
        disputes.collect(sitting(), ACCUSER, trace);
        assertEq(ACCUSER.balance, had + disputes.depositFor(trace));
        assertEq(address(disputes).balance, 0);
        refuse(IDisputes.GameState.selector);
        disputes.collect(sitting(), ACCUSER, trace);
    }

    function test_aWordThatWasSaidHereIsWorthASignature() public {
        open(ACCUSER, trace);
        reply(ACCUSER, trace, nodes);
        assertEq(disputes.wordOf(book, disputes.traceQuestion(2)), keccak256(abi.encode(accused.trace)));
        IDisputes.ElementFault memory fault;
        (fault.leaf.step, fault.leaf.op, fault.words.element) = (3, 4, 5);
        fault.words.transcripts = new bytes[](1);
        fault.words.transcripts[0] = "12345678";
        fault.signatures = new bytes[](1);
        refuse(IDisputes.AnswerUnsigned.selector);
        disputes.prove("salt", accused, fault);
        bytes memory question = askTranscript(5, 1);
        ask(ACCUSER, question);
        reply(ACCUSER, question, "12345678");
        accused.trace = "another";
        refuse(IDisputes.AnswerUnsigned.selector);
        disputes.prove("salt", accused, fault);
        accused.trace = keccakRoot(nodes);
        disputes.prove("salt", accused, fault);
        mustBeIn(0, IJobEscrow.PartState.Open);
    }

    function test_aSignedWordAndAnotherOneHereConvict() public {
        open(ACCUSER, trace);
        reply(ACCUSER, trace, nodes);
        bytes32 question = disputes.traceQuestion(2);
        bytes32[2] memory answers = [keccak256(abi.encode(accused.trace)), bytes32("another")];
        bytes[2] memory both = [bytes(""), answer(KEY, question, "another")];
        refuse(IDisputes.NothingShown.selector);
        disputes.proveTwoWords("salt", accused, question, [answers[0], answers[0]], [bytes(""), bytes("")]);
        disputes.proveTwoWords("salt", accused, question, answers, both);
        mustBeIn(0, IJobEscrow.PartState.Open);
    }

    function test_anAnswerMustBeWhatTheQuestionAsksFor() public {
        open(ACCUSER, trace);
        for (uint256 count = 12; count < 15; count++) {
            if (count == 13) continue;
            bytes memory others = someNodes(count, "trace");
            refuse(IDisputes.AnswerInvalid.selector);
            reply(ACCUSER, trace, others);
        }
        reply(ACCUSER, trace, nodes);
        bytes memory question = askTranscript(5, 3);
        ask(ACCUSER, question);
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, question, new bytes(16));
        reply(ACCUSER, question, new bytes(24));
        question = askWriter(7);
        ask(ACCUSER, question);
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, question, new bytes(5));
        reply(ACCUSER, question, hex"ffffffff");
        assertEq(disputes.wordOf(book, disputes.writerQuestion(1, 7)), keccak256(hex"ffffffff"));
    }

    function test_nodesOfEitherTree() public {
        bytes memory all = someNodes(16, "children");
        bytes32[2] memory roots = [keccakRoot(all), taggedRoot(all)];
        open(ACCUSER, trace);
        reply(ACCUSER, trace, nodes);
        for (uint8 tree = 0; tree < 3; tree++) {
            bytes memory question = askNodes(tree, 7, 1, 255, roots[tree == 2 ? 1 : 0]);
            ask(ACCUSER, question);
            bytes memory others = someNodes(16, "others");
            refuse(IDisputes.AnswerInvalid.selector);
            reply(ACCUSER, question, others);
            reply(ACCUSER, question, all);
        }
        // The last of an odd level goes up alone: 3 leaves are left below it.
        bytes memory three = someNodes(3, "three");
        bytes memory last = askNodes(2, 3, 12, 99, taggedRoot(three));
        ask(ACCUSER, last);
        reply(ACCUSER, last, three);
    }

    function test_oneQuestionAtATimeAndAWordOnce() public {
        refuseMove(IDisputes.GameUnknown.selector);
        ask(ACCUSER, trace);
        open(ACCUSER, trace);
        refuseMove(IDisputes.GameState.selector);
        open(ACCUSER, trace);
        bytes memory question = askTranscript(5, 1);
        refuseMove(IDisputes.QuestionState.selector);
        ask(ACCUSER, question);
        refuse(IDisputes.QuestionState.selector);
        reply(ACCUSER, question, new bytes(8));
        reply(ACCUSER, trace, nodes);
        refuse(IDisputes.QuestionState.selector);
        reply(ACCUSER, trace, nodes);
        // Asked for again, it is said again, and nothing else.
        ask(ACCUSER, trace);
        bytes memory others = someNodes(nodes.length / 32, "others");
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, trace, others);
        reply(ACCUSER, trace, nodes);
    }

    /// A liar asks itself for a word with a count that is nobody's, and says it: the right question is open
    /// all the same, and has no answer.
    function test_attack_aWordThatFitsNoRightQuestion() public {
        bytes memory other = askTrace(2, 1);
        open(STRANGER, other);
        reply(STRANGER, other, abi.encodePacked(bytes32("nowhere")));
        open(ACCUSER, trace);
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, trace, nodes);
        bytes memory short = askTranscript(5, 1);
        ask(STRANGER, short);
        reply(STRANGER, short, new bytes(8));
        vm.warp(deadlineOf(ACCUSER) + 1);
        disputes.timeout(accused, ACCUSER, trace, noBasis);
        assertEq(uint8(escrow.partOf(job, 0).state), uint8(IJobEscrow.PartState.Open));
    }

    function test_whatIsNoQuestion() public {
        bytes[6] memory none = [
            bytes(""),
            hex"0707000000",
            bytes.concat(trace, hex"00"),
            hex"0800000000000000000200000000000000ff",
            askNodes(3, 1, 0, 2, "node"),
            abi.encodePacked(hex"0706", uint64(2), bytes32("S"), uint16(1), uint16(1), uint16(3))
        ];
        for (uint256 i = 0; i < none.length; i++) {
            refuse(IDisputes.QuestionInvalid.selector);
            vm.prank(ACCUSER);
            disputes.open{value: 1}(job, 0, none[i]);
        }
    }

    function test_depositsAreExact() public {
        uint256 deposit = disputes.depositFor(trace);
        assertEq(deposit, 1_000_000);
        for (uint256 i = 0; i < 2; i++) {
            vm.expectRevert(abi.encodeWithSelector(IDisputes.DepositWrong.selector, deposit));
            vm.prank(ACCUSER);
            disputes.open{value: deposit - 1 + 2 * i}(job, 0, trace);
        }
    }

    /// As an asker has nodes: all the same up to one of them.
    function hintOf(bytes memory all, uint256 place, uint256 other) private pure returns (bytes memory hint) {
        hint = abi.encodePacked(uint8(place));
        for (uint256 i = 0; i < 16; i++) {
            uint256 node = 32 * i < all.length ? uint256(wordAt(all, 32 * i)) << (8 * place) >> 240 : 0;
            hint = abi.encodePacked(hint, uint16(i == other ? node ^ 1 : node));
        }
    }

    /// 13 nodes at height 3 under the root of 100 leaves; node 5 has eight leaves below it, the last one has
    /// four.
    function test_byAHintAnAnswerGoesOnUnderTheFirstNodeThatDiffers() public {
        for (uint8 tree = 1; tree < 3; tree++) {
            (bytes memory eight, bytes memory four) = (someNodes(8, "eight"), someNodes(4, "four"));
            bytes memory all = someNodes(13, "children");
            bytes32[2] memory under = tree == 1
                ? [keccakRoot(eight), keccakRoot(four)]
                : [taggedRoot(eight), taggedRoot(four)];
            for (uint256 i = 0; i < 32; i++) (all[32 * 5 + i], all[32 * 12 + i]) = (under[0][i], under[1][i]);
            bytes32 root = tree == 1 ? keccakRoot(all) : taggedRoot(all);
            bytes memory question = bytes.concat(askNodes(tree, 7, 0, 100, root), hintOf(all, 30, 5));
            tree == 1 ? open(ACCUSER, question) : ask(ACCUSER, question);
            bytes[3] memory wrong = [all, bytes.concat(all, four), bytes.concat(all, someNodes(8, "others"))];
            for (uint256 i = 0; i < 3; i++) {
                refuse(IDisputes.AnswerInvalid.selector);
                reply(ACCUSER, question, wrong[i]);
            }
            reply(ACCUSER, question, bytes.concat(all, eight));
            // None differs: the last one. What differs later than another counts for nothing.
            question = bytes.concat(askNodes(tree, 7, 0, 100, root), hintOf(all, 0, 99));
            ask(ACCUSER, question);
            refuse(IDisputes.AnswerInvalid.selector);
            reply(ACCUSER, question, bytes.concat(all, eight));
            reply(ACCUSER, question, bytes.concat(all, four));
        }
        // Without a hint it goes on nowhere.
        bytes memory plain = askNodes(1, 2, 0, 4, keccakRoot(someNodes(4, "four")));
        ask(ACCUSER, plain);
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, plain, someNodes(8, "four"));
        reply(ACCUSER, plain, someNodes(4, "four"));
        // Nor below the leaves of a trace; below a tensor's are its bytes.
        bytes memory hinted = bytes.concat(plain, hintOf(someNodes(4, "four"), 1, 2));
        ask(ACCUSER, hinted);
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, hinted, someNodes(36, "four"));
        reply(ACCUSER, hinted, someNodes(4, "four"));
    }

    function test_byAHintTheBytesOfALeafComeWithItsHash() public {
        bytes32 tag = sha256("assay/leaf/1");
        bytes memory leaves = someNodes(4, "leaves");
        bytes memory data = new bytes(1024);
        data[7] = 0x09;
        bytes32 hash = sha256(bytes.concat(tag, tag, data));
        for (uint256 i = 0; i < 32; i++) leaves[32 * 2 + i] = hash[i];
        bytes memory inputs = someNodes(1, "inputs");
        bytes32 leaf = keccak256(bytes.concat(hex"000000000300000004", inputs, taggedRoot(leaves)));
        bytes memory question = bytes.concat(
            abi.encodePacked(hex"0704", uint64(2), uint32(3), uint32(4), uint8(1), uint64(4), leaf), hintOf(leaves, 4, 2)
        );
        open(ACCUSER, question);
        bytes[3] memory wrong = [
            bytes.concat(inputs, leaves),
            bytes.concat(inputs, leaves, new bytes(1024)),
            bytes.concat(inputs, leaves, data, hex"00")
        ];
        for (uint256 i = 0; i < 3; i++) {
            refuse(IDisputes.AnswerInvalid.selector);
            reply(ACCUSER, question, wrong[i]);
        }
        reply(ACCUSER, question, bytes.concat(inputs, leaves, data));
        // Of a word only the root is kept: the same with and without a hint.
        bytes memory hinted = bytes.concat(trace, hintOf(nodes, 3, 0));
        ask(ACCUSER, hinted);
        bytes memory below = someNodes(8, "below");
        for (uint256 i = 0; i < 32; i++) nodes[i] = keccakRoot(below)[i];
        reply(ACCUSER, hinted, bytes.concat(nodes, below));
        assertEq(disputes.wordOf(book, disputes.traceQuestion(2)), keccak256(abi.encode(keccakRoot(nodes))));
        ask(ACCUSER, trace);
        reply(ACCUSER, trace, nodes);
    }

    function test_rootsOfAState() public {
        bytes memory roots = someNodes(3, "roots");
        bytes32[2] memory states;
        for (uint16 i = 0; i < 2; i++) states[i] = keccak256(abi.encodePacked(hex"00", 2 * i + 1, wordAt(roots, 32 * i)));
        bytes32 tree = keccak256(bytes.concat(hex"01", states[0], states[1]));
        bytes32 results = keccak256(abi.encodePacked(hex"00", uint16(9), wordAt(roots, 64)));
        bytes32 state = keccak256(abi.encodePacked(hex"04", uint64(3), tree, results));
        bytes memory numbers = abi.encodePacked(uint16(2), uint16(1), uint16(1), uint16(3), uint16(9));
        bytes memory question = abi.encodePacked(hex"0706", uint64(3), state, numbers);
        open(ACCUSER, question);
        bytes memory others = someNodes(3, "others");
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, question, others);
        reply(ACCUSER, question, roots);
    }

    function test_anOpAndItsOutput() public {
        bytes memory inputs = someNodes(2, "inputs");
        bytes memory output = someNodes(13, "output");
        bytes32 leaf = keccak256(bytes.concat(hex"000000000300000004", inputs, taggedRoot(output)));
        bytes memory question = abi.encodePacked(hex"0704", uint64(2), uint32(3), uint32(4), uint8(2), uint64(100), leaf);
        open(ACCUSER, question);
        bytes memory swapped = bytes.concat(output, inputs);
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, question, swapped);
        reply(ACCUSER, question, bytes.concat(inputs, output));
        bytes memory data = new bytes(1024);
        bytes32 tag = sha256("assay/leaf/1");
        question = abi.encodePacked(
            hex"0705", uint64(2), uint32(3), uint32(4), uint64(9), uint64(100), sha256(bytes.concat(tag, tag, data))
        );
        ask(ACCUSER, question);
        bytes memory other = bytes.concat(new bytes(1023), hex"01");
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, question, other);
        reply(ACCUSER, question, data);
    }

    // ---- Clocks and finality

    function test_aClaimIsNotPaidWhileAGameGoesOnAndIsWithin36Hours() public {
        later(WINDOW);
        open(ACCUSER, trace);
        uint256 opened = block.timestamp;
        reply(ACCUSER, trace, nodes);
        later(1);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.Held.selector, 0));
        settle(0);
        refuseMove(IDisputes.NotOpen.selector);
        open(STRANGER, trace);
        // It asks whatever it may as late as it may: the end does not move.
        for (uint64 element = 0; block.timestamp + 12 hours < opened + 36 hours; element++) {
            later(11 hours);
            bytes memory question = askTranscript(element, 1);
            ask(ACCUSER, question);
            later(30 minutes);
            reply(ACCUSER, question, new bytes(8));
        }
        vm.warp(opened + 36 hours - 59 minutes);
        bytes memory late = askTranscript(1000, 1);
        refuseMove(IDisputes.GameState.selector);
        ask(ACCUSER, late);
        vm.warp(opened + 36 hours);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.Held.selector, 0));
        settle(0);
        later(1);
        settle(0);
        mustBeIn(0, IJobEscrow.PartState.Settled);
    }

    function test_theLastQuestionsSilenceConvictsBeforeTheClaimIsFree() public {
        later(WINDOW);
        open(ACCUSER, trace);
        uint256 opened = block.timestamp;
        reply(ACCUSER, trace, nodes);
        for (uint64 i = 0; i < 3; i++) {
            vm.warp(opened + 11 hours * (i + 1));
            bytes memory early = askTranscript(i, 1);
            ask(ACCUSER, early);
            reply(ACCUSER, early, new bytes(8));
        }
        vm.warp(opened + 35 hours);
        bytes memory question = askTranscript(5, 1);
        ask(ACCUSER, question);
        later(30 minutes + 1);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.Held.selector, 0));
        settle(0);
        disputes.timeout(accused, ACCUSER, question, noBasis);
        mustBeIn(0, IJobEscrow.PartState.Open);
    }

    function test_clocksThatDoNotFitAreRefused() public {
        for (uint256 i = 0; i < 6; i++) {
            IDisputes.Params memory other = clocks();
            if (i == 0) other.questionSeconds = 0;
            if (i == 1) other.traceSeconds = 0;
            if (i == 2) other.replySeconds = 0;
            if (i == 3) other.gasPrice = 0;
            if (i == 4) other.gameSeconds = 20 hours;
            if (i == 5) other.gameSeconds = 31 days;
            refuse(IDisputes.ParamsInvalid.selector);
            deployCode("Disputes", abi.encode(escrow, toy, toy, new address[](0), other));
        }
    }

    // ---- Attacks

    function test_attack_lastBlockAnswer() public {
        open(ACCUSER, trace);
        vm.warp(deadlineOf(ACCUSER));
        refuseTime(ACCUSER);
        disputes.timeout(accused, ACCUSER, trace, noBasis);
        reply(ACCUSER, trace, nodes);
        bytes memory question = askTranscript(5, 1);
        ask(ACCUSER, question);
        vm.warp(deadlineOf(ACCUSER) + 1);
        refuseTime(ACCUSER);
        reply(ACCUSER, question, new bytes(8));
        disputes.timeout(accused, ACCUSER, question, noBasis);
    }

    function test_attack_accuserVanishes() public {
        later(WINDOW);
        open(ACCUSER, trace);
        reply(ACCUSER, trace, nodes);
        later(12 hours);
        refuse(IDisputes.GameState.selector);
        disputes.close(book, ACCUSER);
        later(1);
        bytes memory question = askTranscript(5, 1);
        refuseMove(IDisputes.GameState.selector);
        ask(ACCUSER, question);
        refuse(IDisputes.NotFinal.selector);
        disputes.collect(sitting(), ACCUSER, "");
        disputes.close(book, ACCUSER);
        refuse(IDisputes.GameState.selector);
        disputes.close(book, ACCUSER);
        settle(0);
        uint256 had = liar.balance;
        disputes.collect(sitting(), ACCUSER, "");
        assertEq(liar.balance, had + disputes.depositFor(trace));
    }

    /// A question that is open may still convict: its game does not close by its time alone.
    function test_attack_accuserVanishesWithAQuestionOpen() public {
        later(WINDOW);
        open(ACCUSER, trace);
        later(13 hours);
        refuse(IDisputes.GameState.selector);
        disputes.close(book, ACCUSER);
        later(1);
        disputes.close(book, ACCUSER);
        settle(0);
        refuse(IDisputes.QuestionState.selector);
        disputes.collect(sitting(), ACCUSER, "");
        bytes memory other = askTrace(1, 100);
        refuse(IDisputes.QuestionState.selector);
        disputes.collect(sitting(), ACCUSER, other);
        uint256 had = liar.balance;
        disputes.collect(sitting(), ACCUSER, trace);
        assertEq(liar.balance, had + disputes.depositFor(trace));
    }

    /// 100 false accusers: each answer has its time and is paid for; the honest one has more in the end.
    function test_attack_flood() public {
        uint256 had = liar.balance;
        for (uint256 i = 0; i < 100; i++) {
            open(somebody(i), trace);
            assertEq(deadlineOf(somebody(i)), block.timestamp + 1 hours + (i + 1) / 16 * 30 minutes);
        }
        IDisputes.Reply[] memory replies = new IDisputes.Reply[](100);
        for (uint256 i = 0; i < 100; i++) replies[i] = IDisputes.Reply(job, 0, 1, somebody(i), trace, nodes);
        vm.prank(liar);
        disputes.answerMany(replies);
        // Extra time of one game is at most 12 hours in all.
        uint256 extra = 0;
        for (uint64 i = 0; i < 5; i++) {
            bytes memory question = askTranscript(i, 1);
            ask(somebody(99), question);
            extra += deadlineOf(somebody(99)) - block.timestamp - 30 minutes;
            vm.warp(deadlineOf(somebody(99)));
            reply(somebody(99), question, new bytes(8));
        }
        assertEq(extra, 12 hours - 3 hours);
        assertEq(disputes.booked(book).heldUntil, GENESIS + 36 hours);
        later(WINDOW + 36 hours);
        settle(0);
        for (uint256 i = 0; i < 100; i++) disputes.collect(sitting(), somebody(i), "");
        assertEq(liar.balance - had, 100 * disputes.depositFor(trace) + 5 * disputes.depositFor(askTranscript(0, 1)));
        assertEq(address(disputes).balance, 0);
    }

    /// A liar's own flood lengthens another's game by no more than its extra time: fifteen questions are
    /// asked and waited for.
    function test_attack_liarsOwnFlood() public {
        for (uint256 i = 0; i < 199; i++) open(somebody(i), trace);
        later(WINDOW);
        open(ACCUSER, trace);
        uint256 opened = block.timestamp;
        vm.warp(deadlineOf(ACCUSER));
        reply(ACCUSER, trace, nodes);
        for (uint64 i = 0; i < 14; i++) {
            bytes memory question = askTranscript(i, 1);
            ask(ACCUSER, question);
            vm.warp(deadlineOf(ACCUSER));
            reply(ACCUSER, question, new bytes(8));
        }
        assertTrue(block.timestamp - opened <= 20 hours, "time is left for the accuser");
    }

    function test_attack_frontRunProve() public {
        open(ACCUSER, trace);
        reply(ACCUSER, trace, nodes);
        IDisputes.ElementFault memory fault;
        bytes memory call = abi.encodeCall(disputes.prove, ("salt", accused, fault));
        bytes memory evidence = new bytes(call.length - 36);
        for (uint256 i = 0; i < evidence.length; i++) evidence[i] = call[i + 36];
        disputes.announce(keccak256(abi.encode(ACCUSER, keccak256(evidence), bytes32("salt"))));
        vm.roll(block.number + 1);
        vm.prank(STRANGER);
        disputes.prove("salt", accused, fault);
        assertEq(escrow.owedTo(STRANGER) + escrow.owedTo(ACCUSER), 0);
        mustBeIn(0, IJobEscrow.PartState.Open);
    }

    function test_attack_frontRunTimeout() public {
        open(ACCUSER, trace);
        later(2 hours);
        vm.prank(STRANGER);
        disputes.timeout(accused, ACCUSER, trace, noBasis);
        assertEq(escrow.owedTo(ACCUSER), 1075);
        refuse(IDisputes.QuestionState.selector);
        disputes.timeout(accused, STRANGER, trace, noBasis);
    }

    function test_attack_twoAccusersAtOnce() public {
        open(ACCUSER, trace);
        open(STRANGER, trace);
        reply(ACCUSER, trace, nodes);
        // Both asked; both are answered, with the same word.
        bytes memory others = someNodes(13, "others");
        refuse(IDisputes.AnswerInvalid.selector);
        reply(STRANGER, trace, others);
        reply(STRANGER, trace, nodes);
        bytes memory question = askTranscript(5, 1);
        ask(STRANGER, question);
        ask(ACCUSER, question);
        later(30 minutes + 1);
        disputes.timeout(accused, STRANGER, question, noBasis);
        assertEq(escrow.owedTo(STRANGER), 1075);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.WrongState.selector, 0, IJobEscrow.PartState.Open));
        disputes.timeout(accused, ACCUSER, question, noBasis);
        // Each has its own deposits back, and nobody another's.
        uint256 each = disputes.depositFor(trace) + disputes.depositFor(question);
        for (uint256 i = 0; i < 2; i++) {
            address who = i == 0 ? ACCUSER : STRANGER;
            uint256 had = who.balance;
            disputes.collect(sitting(), who, question);
            assertEq(who.balance, had + each);
        }
    }

    /// Who has its deposits again asks no more: the coins would stay here for ever.
    function test_aPaidGameTakesNoMoreDeposits() public {
        open(ACCUSER, trace);
        open(STRANGER, trace);
        reply(ACCUSER, trace, nodes);
        later(1 hours + 1);
        disputes.timeout(accused, STRANGER, trace, noBasis);
        disputes.collect(sitting(), ACCUSER, "");
        bytes memory question = askTranscript(5, 1);
        refuseMove(IDisputes.GameState.selector);
        ask(ACCUSER, question);
    }

    function test_attack_accusedAccusesItself() public {
        uint256 had = liar.balance;
        open(liar, trace);
        later(1 hours + 1);
        vm.prank(liar);
        disputes.timeout(accused, liar, trace, noBasis);
        disputes.collect(sitting(), liar, trace);
        assertEq(liar.balance, had);
        // Half of the bond is burned, a quarter is the customer's: it lost.
        assertEq(escrow.owedTo(liar), 1075);
        assertEq(escrow.owedTo(CUSTOMER), 975);
        mustBeIn(0, IJobEscrow.PartState.Open);
    }

    /// An answer is that of one claim, part, attempt, chain and accuser.
    function test_attack_answerReplayed() public {
        open(ACCUSER, trace);
        vm.prank(liar);
        refuse(IDisputes.QuestionState.selector);
        disputes.answer(job, 0, 2, ACCUSER, trace, nodes);
        vm.prank(liar);
        refuse(IDisputes.QuestionState.selector);
        disputes.answer(job, 1, 1, ACCUSER, trace, nodes);
        vm.prank(liar);
        refuse(IDisputes.QuestionState.selector);
        disputes.answer(job + 1, 0, 1, ACCUSER, trace, nodes);
        vm.prank(STRANGER);
        refuse(IDisputes.QuestionState.selector);
        disputes.answer(job, 0, 1, ACCUSER, trace, nodes);
        reply(ACCUSER, trace, nodes);
        // The next attempt at the part has a book of its own.
        open(STRANGER, askTranscript(5, 1));
        later(30 minutes + 1);
        disputes.timeout(accused, STRANGER, askTranscript(5, 1), noBasis);
        work(0, ANNA);
        IDisputes.ElementFault memory fault;
        refuse(IDisputes.AnswerUnsigned.selector);
        disputes.prove("salt", accused, fault);
        bytes32 next = disputes.bookOf(IDisputes.Sitting(job, 0, 2, ANNA));
        assertEq(disputes.wordOf(next, disputes.traceQuestion(2)), 0);
        refuse(IDisputes.QuestionState.selector);
        disputes.timeout(accused, STRANGER, askTranscript(5, 1), noBasis);
    }

    /// After a reorganisation a move fits what it was made for, or reverts.
    function test_attack_staleMoveAfterAReorganisation() public {
        bytes memory question = askTranscript(5, 1);
        refuseMove(IDisputes.GameUnknown.selector);
        ask(ACCUSER, question);
        open(ACCUSER, trace);
        refuse(IDisputes.QuestionState.selector);
        reply(ACCUSER, question, new bytes(8));
        refuse(IDisputes.QuestionState.selector);
        disputes.timeout(accused, ACCUSER, question, noBasis);
        reply(ACCUSER, trace, nodes);
        refuse(IDisputes.QuestionState.selector);
        disputes.timeout(accused, ACCUSER, trace, noBasis);
    }

    /// A level is never taken for another: as many nodes as lie there, no more and no fewer.
    function test_attack_leafAndNodeConfusion() public {
        bytes memory all = someNodes(16, "children");
        bytes memory eight;
        for (uint256 i = 0; i < 8; i++) {
            bytes32 node = keccak256(bytes.concat(hex"01", wordAt(all, 64 * i), wordAt(all, 64 * i + 32)));
            eight = bytes.concat(eight, node);
        }
        assertEq(keccakRoot(eight), keccakRoot(all));
        bytes memory question = askNodes(1, 4, 0, 16, keccakRoot(all));
        open(ACCUSER, question);
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, question, eight);
        // Nor one hash for the other.
        bytes memory itself = abi.encodePacked(keccakRoot(all));
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, question, itself);
        reply(ACCUSER, question, all);
        question = askNodes(2, 4, 0, 16, keccakRoot(all));
        ask(ACCUSER, question);
        refuse(IDisputes.AnswerInvalid.selector);
        reply(ACCUSER, question, all);
    }

    /// However little gas is sent along, a false answer is none.
    function test_attack_gasStarvedPrecompile() public {
        bytes memory all = someNodes(16, "children");
        bytes memory question = askNodes(2, 4, 0, 16, taggedRoot(someNodes(16, "others")));
        open(ACCUSER, question);
        bytes memory call = abi.encodeCall(disputes.answer, (job, 0, 1, ACCUSER, question, all));
        for (uint256 gas_ = 20_000; gas_ < 90_000; gas_ += 500) {
            vm.prank(liar);
            (bool isTaken,) = address(disputes).call{gas: gas_}(call);
            assertTrue(!isTaken, vm.toString(gas_));
        }
    }

    /// A question costs what it costs, at whatever fee of the moment: nobody makes answers cheap to ask for
    /// by waiting.
    function test_attack_feeSpike() public {
        uint256 deposit = disputes.depositFor(trace);
        vm.fee(1e15);
        assertEq(disputes.depositFor(trace), deposit);
        open(ACCUSER, trace);
        vm.fee(1);
        reply(ACCUSER, trace, nodes);
        (IDisputes.Game memory one,) = game(ACCUSER);
        assertEq(one.deposits, deposit);
    }

    /// What is said of the program is not the chain's word: a question that is not so convicts nobody.
    function test_attack_questionThatIsNotSo() public {
        open(ACCUSER, trace);
        later(2 hours);
        toy.refuse();
        refuse(IDisputes.NothingShown.selector);
        disputes.timeout(accused, ACCUSER, trace, noBasis);
        mustBeIn(0, IJobEscrow.PartState.Claimed);
    }

    /// What lies below a trace convicts only if the provider gave that trace.
    function test_attack_nodesOfATraceThatNobodyGave() public {
        bytes memory question = askNodes(1, 4, 0, 16, "node");
        open(ACCUSER, question);
        later(2 hours);
        refuse(IDisputes.AnswerUnsigned.selector);
        disputes.timeout(accused, ACCUSER, question, noBasis);
        bytes32 said = keccak256(abi.encode(accused.trace));
        accused.traceSignature = answer(KEY, disputes.traceQuestion(2), said);
        disputes.timeout(accused, ACCUSER, question, noBasis);
    }

    function test_attack_receiverThatTakesNothing() public {
        Refusing one = new Refusing();
        vm.deal(address(one), 1e18);
        open(address(one), trace);
        open(ACCUSER, trace);
        later(2 hours);
        disputes.timeout(accused, address(one), trace, noBasis);
        refuse(IDisputes.PaymentFailed.selector);
        disputes.collect(sitting(), address(one), trace);
        disputes.collect(sitting(), ACCUSER, trace);
    }

    // ---- The slot for zk proofs, with a toy

    function shownStates() private pure returns (bytes32[2] memory states, bytes32[][2] memory paths) {
        bytes32[] memory leaves = new bytes32[](4);
        for (uint64 i = 0; i < 4; i++) leaves[i] = stateAt(i, "");
        for (uint64 i = 0; i < 2; i++) (states[i], paths[i]) = (leaves[1 + i], pathIn(leaves, 1 + i));
    }

    function pathIn(bytes32[] memory leaves, uint256 index) private pure returns (bytes32[] memory path) {
        path = new bytes32[](2);
        path[0] = leaves[index ^ 1];
        uint256 other = (index / 2) ^ 1;
        path[1] = keccak256(bytes.concat(hex"01", leaves[2 * other], leaves[2 * other + 1]));
    }

    function test_aProofOfAnotherEndConvictsAndOneOfTheClaimedEndClears() public {
        (bytes32[2] memory states, bytes32[][2] memory paths) = shownStates();
        accused.segment = 1;
        refuse(IDisputes.ProofInvalid.selector);
        disputes.proveSegment("salt", accused, 1, states, paths, "elsewhere");
        refuse(IDisputes.NothingShown.selector);
        disputes.proveSegment("salt", accused, 0, states, paths, "neither");
        refuse(IDisputes.TraceMismatch.selector);
        disputes.proveSegment("salt", accused, 0, [states[1], states[0]], paths, "elsewhere");
        bytes memory question = askTrace(1, 10);
        open(ACCUSER, question);
        later(2 hours);
        // States of a claim that nobody made.
        bytes32 last = accused.last;
        accused.last = "another";
        refuse(IDisputes.NotOpen.selector);
        disputes.proveSegment("salt", accused, 0, states, paths, "true");
        accused.last = last;
        disputes.proveSegment("salt", accused, 0, states, paths, "true");
        assertTrue(disputes.isCleared(book, 1), "cleared");
        refuse(IDisputes.NothingShown.selector);
        disputes.timeout(accused, ACCUSER, question, noBasis);
        disputes.proveSegment("salt", accused, 0, states, paths, "elsewhere");
        mustBeIn(0, IJobEscrow.PartState.Open);
    }
}

contract Refusing {}
