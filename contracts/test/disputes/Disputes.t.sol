// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IDisputes} from "../../src/disputes/IDisputes.sol";
import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {DisputeKit} from "./DisputeKit.sol";

/// Who said it, and who accuses. The judge is a toy that finds what it is told to; the real one is
/// Judge.t.sol.
contract DisputesTest is DisputeKit {
    IDisputes.ElementFault private fault;

    function setUp() public {
        deployDisputes();
        (accused.segment, accused.trace) = (2, "trace");
        accused.traceSignature = answer(KEY, disputes.traceQuestion(2), keccak256(abi.encode(bytes32("trace"))));
        (fault.leaf.step, fault.leaf.op, fault.words.element) = (3, 4, 5);
        fault.words.turns.push(7);
        fault.words.turns.push(8);
        say("turn", fault.words.turns);
        uint16[] memory path = new uint16[](1);
        path[0] = 7;
        fault.words.marked = 1;
        say("span", path);
    }

    function say(bytes memory transcript, uint16[] memory path) private {
        fault.words.transcripts.push(transcript);
        bytes32 question = disputes.transcriptQuestion(2, 3, 4, 5, path);
        fault.signatures.push(answer(KEY, question, keccak256(transcript)));
    }

    function refuse(bytes4 selector) private {
        vm.expectRevert(selector);
        disputes.prove("salt", accused, fault);
    }

    function announce(address who) private {
        bytes memory call = abi.encodeCall(disputes.prove, ("salt", accused, fault));
        bytes memory evidence = new bytes(call.length - 36);
        for (uint256 i = 0; i < evidence.length; i++) evidence[i] = call[i + 36];
        disputes.announce(keccak256(abi.encode(who, keccak256(evidence), bytes32("salt"))));
    }

    function test_signedAnswersConvictAndWhoAnnouncedIsPaid() public {
        announce(ACCUSER);
        vm.roll(block.number + 1);
        vm.prank(ACCUSER);
        disputes.prove("salt", accused, fault);
        assertEq(escrow.owedTo(ACCUSER), 1075);
        assertEq(escrow.owedTo(CUSTOMER), 975);
        mustBeIn(0, IJobEscrow.PartState.Open);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.WrongState.selector, 0, IJobEscrow.PartState.Open));
        disputes.prove("salt", accused, fault);
    }

    function test_whoCopiesIsNotPaid() public {
        announce(ACCUSER);
        vm.roll(block.number + 1);
        vm.prank(STRANGER);
        disputes.prove("salt", accused, fault);
        assertEq(escrow.owedTo(STRANGER) + escrow.owedTo(ACCUSER), 0);
        mustBeIn(0, IJobEscrow.PartState.Open);
    }

    function test_announcedInTheSameBlockOrWithAnotherSaltIsTooLate() public {
        announce(ACCUSER);
        vm.prank(ACCUSER);
        disputes.prove("salt", accused, fault);
        assertEq(escrow.owedTo(ACCUSER), 0);
    }

    function test_otherEvidenceWasNotAnnounced() public {
        announce(ACCUSER);
        vm.roll(block.number + 1);
        fault.inputs = "other";
        vm.prank(ACCUSER);
        disputes.prove("salt", accused, fault);
        assertEq(escrow.owedTo(ACCUSER), 0);
    }

    /// Each answer is the provider's, of this claim, to this question.
    function test_everyAnswerIsSigned() public {
        bytes memory right = accused.traceSignature;
        bytes32 question = disputes.traceQuestion(2);
        bytes32 hash = keccak256(abi.encode(bytes32("trace")));
        accused.traceSignature = answer(0xBAD, question, hash);
        refuse(IDisputes.AnswerUnsigned.selector);
        accused.traceSignature = answer(KEY, disputes.traceQuestion(3), hash);
        refuse(IDisputes.AnswerUnsigned.selector);
        accused.traceSignature = mirrored(right);
        refuse(IDisputes.AnswerUnsigned.selector);
        accused.traceSignature = "";
        refuse(IDisputes.AnswerUnsigned.selector);
        vm.chainId(99);
        accused.traceSignature = right;
        refuse(IDisputes.AnswerUnsigned.selector);
        vm.chainId(31337);
        for (uint256 i = 0; i < 2; i++) {
            bytes memory kept = fault.signatures[i];
            fault.signatures[i] = fault.signatures[1 - i];
            refuse(IDisputes.AnswerUnsigned.selector);
            fault.signatures[i] = kept;
            kept = fault.words.transcripts[i];
            fault.words.transcripts[i] = "others";
            refuse(IDisputes.AnswerUnsigned.selector);
            fault.words.transcripts[i] = kept;
        }
        // The span is that of the first part of the path: not the whole, not the turn, not one beyond it.
        for (uint8 depth = 0; depth < 4; depth++) {
            if (depth == 1) continue;
            fault.words.marked = depth;
            refuse(IDisputes.AnswerUnsigned.selector);
        }
        fault.words.marked = 1;
        fault.signatures.push(right);
        refuse(IDisputes.AnswerUnsigned.selector);
        fault.words.transcripts.push("more");
        refuse(IDisputes.AnswerUnsigned.selector);
        fault.words.transcripts.pop();
        fault.signatures.pop();
        (fault.leaf.step, fault.words.element) = (5, 3);
        refuse(IDisputes.AnswerUnsigned.selector);
        (fault.leaf.step, fault.words.element) = (3, 5);
        accused.segmentRoot = 0;
        refuse(IDisputes.AnswerUnsigned.selector);
    }

    function test_anotherLastStateIsNotTheClaims() public {
        accused.last = 0;
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.ClaimUnknown.selector, claimed));
        disputes.prove("salt", accused, fault);
    }

    /// What the judge refuses, with its own words.
    function test_theJudgeDecides() public {
        toy.refuse();
        refuse(IDisputes.NothingShown.selector);
        mustBeIn(0, IJobEscrow.PartState.Claimed);
        vm.expectRevert(IDisputes.JudgeMissing.selector);
        deployCode("Disputes", abi.encode(escrow, address(0x1234), toy, new address[](0), clocks()));
        vm.expectRevert(IDisputes.JudgeMissing.selector);
        deployCode("Disputes", abi.encode(escrow, toy, address(0x1234), new address[](0), clocks()));
    }

    function test_twoAnswersToOneQuestion() public {
        bytes32 question = "question";
        bytes32[2] memory answers = [bytes32("yes"), "no"];
        bytes[2] memory both = [answer(KEY, question, "yes"), answer(KEY, question, "no")];
        toy.refuse();
        vm.expectRevert(IDisputes.AnswerUnsigned.selector);
        disputes.proveTwoWords("salt", accused, question, [answers[0], "maybe"], both);
        vm.expectRevert(IDisputes.AnswerUnsigned.selector);
        disputes.proveTwoWords("salt", accused, "another", answers, both);
        both[1] = both[0];
        vm.expectRevert(IDisputes.NothingShown.selector);
        disputes.proveTwoWords("salt", accused, question, [answers[0], answers[0]], both);
        both[1] = answer(KEY, question, "no");
        disputes.proveTwoWords("salt", accused, question, answers, both);
        mustBeIn(0, IJobEscrow.PartState.Open);
    }
}
