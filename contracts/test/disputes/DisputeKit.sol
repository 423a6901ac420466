// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Disputes} from "../../src/disputes/Disputes.sol";
import {IDisputes} from "../../src/disputes/IDisputes.sol";
import {ISegmentVerifier} from "../../src/disputes/ISegmentVerifier.sol";
import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {JobKit} from "../jobs/JobKit.sol";

/// A claim of a provider with a key, before the real Disputes and a judge that finds what it is told to; and
/// questions as bytes, made without the code of src.
abstract contract DisputeKit is JobKit {
    uint256 internal constant KEY = 0xB0B;
    ToyJudge internal toy;
    ToyVerifier internal verifier;
    Disputes internal disputes;
    address internal liar;
    bytes32 internal claimed;
    bytes32 internal book;
    IDisputes.Case internal accused;
    IDisputes.Basis internal noBasis;

    function clocks() internal pure returns (IDisputes.Params memory) {
        return IDisputes.Params(30 minutes, 1 hours, 12 hours, 12 hours, 36 hours, 10);
    }

    function deployDisputes() internal {
        toy = new ToyJudge();
        verifier = new ToyVerifier();
        deployJobs(vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 2));
        address[] memory verifiers = new address[](1);
        verifiers[0] = address(verifier);
        disputes = Disputes(deployCode("Disputes", abi.encode(escrow, toy, toy, verifiers, clocks())));
        accused.head = bytes20(abi.encodePacked("ASSAYPR1", hex"000100000002000300000005"));
        terms.program = keccak256(abi.encodePacked(hex"03", accused.head, accused.tensors, accused.ops));
        job = idOf(terms);
        liar = vm.addr(KEY);
        enrich(liar);
        vm.prank(liar);
        escrow.deposit(3 * BOND);
        fund();
        work(0, liar);
        (IJobEscrow.Claim memory made, bytes32 hash, bytes32 last) = claimFor(0, "", "");
        claimed = hash;
        accused.terms = terms;
        (accused.segmentRoot, accused.resultRoot, accused.last) = (made.segmentRoot, made.resultRoot, last);
        book = disputes.bookOf(sitting());
        for (uint256 i = 0; i < 200; i++) vm.deal(somebody(i), 1e18);
        vm.deal(ACCUSER, 1e18);
        vm.deal(STRANGER, 1e18);
        vm.deal(liar, 1e18);
    }

    function somebody(uint256 i) internal pure returns (address) {
        return address(uint160(0xE0000 + i));
    }

    function sitting() internal view returns (IDisputes.Sitting memory) {
        return IDisputes.Sitting(job, 0, 1, liar);
    }

    function answer(uint256 key, bytes32 question, bytes32 hash) internal view returns (bytes memory) {
        return signed(key, disputes.answerDigest(claimed, question, hash));
    }

    // Questions

    function askTrace(uint64 segment, uint64 count) internal pure returns (bytes memory) {
        return abi.encodePacked(hex"0700", segment, count);
    }

    function askTranscript(uint64 element, uint32 numbers) internal pure returns (bytes memory) {
        return abi.encodePacked(hex"0701", uint64(2), uint32(3), uint32(4), element, numbers);
    }

    function askWriter(uint16 tensor) internal pure returns (bytes memory) {
        return abi.encodePacked(hex"070201", tensor);
    }

    function askNodes(uint8 tree, uint8 height, uint64 index, uint64 count, bytes32 node)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodePacked(hex"0703", tree, uint64(2), uint32(0), uint32(0), height, index, count, node);
    }

    // Moves

    /// What the next `open` or `ask` is refused with: they look at the deposit first.
    bytes4 private expected;

    function refuseMove(bytes4 selector) internal {
        expected = selector;
    }

    function expectIt() private {
        if (expected != 0) vm.expectRevert(expected);
        expected = 0;
    }

    function refuseTime(address who) internal {
        uint256 deadline = deadlineOf(who);
        vm.expectRevert(abi.encodeWithSelector(IDisputes.WrongTime.selector, deadline));
    }

    function open(address who, bytes memory question) internal {
        uint256 deposit = disputes.depositFor(question);
        expectIt();
        vm.prank(who);
        disputes.open{value: deposit}(job, 0, question);
    }

    function ask(address who, bytes memory question) internal {
        uint256 deposit = disputes.depositFor(question);
        expectIt();
        vm.prank(who);
        disputes.ask{value: deposit}(book, question);
    }

    function reply(address who, bytes memory question, bytes memory said) internal {
        vm.prank(liar);
        disputes.answer(job, 0, 1, who, question, said);
    }

    function game(address who) internal view returns (IDisputes.Game memory one, IDisputes.Asking memory asking) {
        return disputes.gameOf(book, who);
    }

    function deadlineOf(address who) internal view returns (uint256) {
        (IDisputes.Game memory one, IDisputes.Asking memory asking) = game(who);
        return uint256(one.opened) + asking.deadline;
    }

    // Trees

    function someNodes(uint256 count, string memory name) internal pure returns (bytes memory all) {
        for (uint256 i = 0; i < count; i++) all = bytes.concat(all, keccak256(abi.encode(name, i)));
    }

    function keccakRoot(bytes memory nodes) internal pure returns (bytes32) {
        return rootBy(nodes, false);
    }

    function taggedRoot(bytes memory nodes) internal pure returns (bytes32) {
        return rootBy(nodes, true);
    }

    function rootBy(bytes memory nodes, bool isTagged) private pure returns (bytes32) {
        uint256 width = nodes.length / 32;
        bytes32[] memory level = new bytes32[](width);
        for (uint256 i = 0; i < width; i++) level[i] = wordAt(nodes, 32 * i);
        bytes32 tag = sha256("assay/node/1");
        while (width > 1) {
            for (uint256 i = 0; i < width / 2; i++) {
                bytes memory pair = bytes.concat(level[2 * i], level[2 * i + 1]);
                level[i] = isTagged ? sha256(bytes.concat(tag, tag, pair)) : keccak256(bytes.concat(hex"01", pair));
            }
            if (width % 2 == 1) level[width / 2] = level[width - 1];
            width = (width + 1) / 2;
        }
        return level[0];
    }

    function wordAt(bytes memory data, uint256 at_) internal pure returns (bytes32 word) {
        assembly ("memory-safe") {
            word := mload(add(add(data, 32), at_))
        }
    }
}

/// Agrees with every accuser, until it is told not to.
contract ToyJudge {
    bool private isStrict;

    function refuse() external {
        isStrict = true;
    }

    fallback() external {
        if (isStrict) revert IDisputes.NothingShown();
    }
}

/// A proof says what it shows: "true" the claimed end, "elsewhere" another.
contract ToyVerifier {
    function verifySegment(ISegmentVerifier.Disputed calldata, bytes calldata proof) external pure returns (bool) {
        if (keccak256(proof) == keccak256("elsewhere")) return false;
        if (keccak256(proof) != keccak256("true")) revert IDisputes.NothingShown();
        return true;
    }
}
