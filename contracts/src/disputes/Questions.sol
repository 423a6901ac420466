// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {JobTerms} from "../jobs/JobTerms.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";
import {TaggedTree} from "../trees/TaggedTree.sol";
import {IDisputes} from "./IDisputes.sol";
import {TraceTree} from "./TraceTree.sol";

/// Questions of a game as bytes, docs/chain.md §12, and what an answer to each must be. Whether a question is true of the claim is not
/// decided here (QuestionJudge): an answer is held against the question alone. src/protocol/chain/chain-question.ts is its twin.
library Questions {
    uint8 internal constant TRACE = 0;
    uint8 internal constant TRANSCRIPT = 1;
    uint8 internal constant WRITER = 2;
    uint8 internal constant NODES = 3;
    uint8 internal constant OP = 4;
    uint8 internal constant LEAF = 5;
    uint8 internal constant ROOTS = 6;

    /// Trees of a question for nodes.
    uint8 internal constant LIST_TREE = 0;
    uint8 internal constant TRACE_TREE = 1;
    uint8 internal constant TENSOR_TREE = 2;

    uint256 private constant ROOTS_BYTES = 46;
    /// Levels that an answer goes down.
    uint256 private constant DOWN = 5;
    uint256 private constant LEAF_BYTES = 1024;

    function number(bytes calldata question, uint256 at_, uint256 size) internal pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := shr(sub(256, shl(3, size)), calldataload(add(question.offset, at_)))
        }
    }

    function hashAt(bytes calldata question, uint256 at_) internal pure returns (bytes32) {
        return bytes32(number(question, at_, 32));
    }

    /// Which one it is. Its length is right: no byte after its end is ever read.
    function kindOf(bytes calldata question) internal pure returns (uint8 kind) {
        uint256 length = question.length;
        if (length < 5 || question[0] != 0x07) revert IDisputes.QuestionInvalid();
        kind = uint8(question[1]);
        bool fits;
        if (kind == TRACE) fits = length == 18;
        else if (kind == TRANSCRIPT) fits = length >= 30 && length <= 36 && length % 2 == 0;
        else if (kind == WRITER) fits = length == 5;
        else if (kind == NODES) fits = length == 68 && uint8(question[2]) <= TENSOR_TREE;
        else if (kind == OP) fits = length == 59;
        else if (kind == LEAF) fits = length == 66;
        else if (kind == ROOTS) fits = length >= ROOTS_BYTES && length == ROOTS_BYTES + 2 * rootsOf(question);
        if (!fits) revert IDisputes.QuestionInvalid();
    }

    function isWord(uint8 kind) internal pure returns (bool) {
        return kind <= WRITER;
    }

    /// The question under which a word is signed and kept: without what only its asker says.
    function wordQuestion(bytes calldata question, uint8 kind) internal pure returns (bytes32) {
        if (kind == TRACE) return keccak256(question[:10]);
        return keccak256(kind == TRANSCRIPT ? question[:question.length - 4] : question);
    }

    /// About which segment; of the list of states and of writers none.
    function segmentOf(bytes calldata question, uint8 kind) internal pure returns (bool isOfOne, uint64 segment) {
        if (kind == WRITER || kind == ROOTS) return (false, 0);
        if (kind == NODES) return (uint8(question[2]) != LIST_TREE, uint64(number(question, 3, 8)));
        return (true, uint64(number(question, 2, 8)));
    }

    /// What answering costs its sender, measured, with room: contracts/gas.json.
    function gasOf(bytes calldata question, uint8 kind) internal pure returns (uint256) {
        if (kind == TRACE) return 100_000;
        if (kind == TRANSCRIPT) return 65_000 + 8 * 60 * number(question, question.length - 4, 4);
        if (kind == WRITER) return 65_000;
        if (kind == NODES) return 90_000;
        if (kind == OP) return 90_000 + 32 * 60 * number(question, 18, 1);
        if (kind == LEAF) return 80_000;
        return 50_000 + (32 * 60 + 2 * 60 + 500) * rootsOf(question);
    }

    /// Tensors of state and of results together.
    function rootsOf(bytes calldata question) internal pure returns (uint256) {
        return number(question, 42, 2) + number(question, 44, 2);
    }

    /// Nodes in the answer to what lies under the node at `height` and `index` of a tree over so many leaves.
    function nodesUnder(uint256 height, uint256 index, uint256 count) internal pure returns (uint256) {
        if (count == 0 || count > 2 ** 48 || height > 48 || index > 2 ** 48) revert IDisputes.QuestionInvalid();
        uint256 down = height < DOWN ? height : DOWN;
        uint256 width = widthAt(count, height - down);
        uint256 from = index << down;
        if (from >= width) revert IDisputes.QuestionInvalid();
        return width - from < 1 << down ? width - from : 1 << down;
    }

    /// Nodes of a tree over so many leaves, at a height above them.
    function widthAt(uint256 count, uint256 height) internal pure returns (uint256) {
        return (count + (1 << height) - 1) >> height;
    }

    /// Of the root.
    function heightOf(uint256 count) internal pure returns (uint256 height) {
        if (count > 2 ** 48) revert IDisputes.QuestionInvalid();
        while (1 << height < count) height++;
    }

    /// Reverts unless it is an answer. Of a word: the hash of what was said.
    function mustAnswer(bytes calldata question, uint8 kind, bytes calldata answer) internal pure returns (bytes32 said) {
        bool fits = false;
        if (kind == TRACE) {
            uint256 count = number(question, 10, 8);
            fits = answer.length == 32 * nodesUnder(heightOf(count), 0, count);
            return done(fits, keccak256(abi.encode(KeccakTree.fold(answer))));
        }
        if (kind == TRANSCRIPT) return done(answer.length == 8 * number(question, question.length - 4, 4), keccak256(answer));
        if (kind == WRITER) return done(answer.length == 4, keccak256(answer));
        if (kind == NODES) fits = areNodes(question, answer);
        else if (kind == OP) fits = isOp(question, answer);
        else if (kind == LEAF) fits = answer.length == LEAF_BYTES && TaggedTree.leafHash(answer) == hashAt(question, 34);
        else fits = areRoots(question, answer);
        return done(fits, 0);
    }

    function done(bool fits, bytes32 said) private pure returns (bytes32) {
        if (!fits) revert IDisputes.AnswerInvalid();
        return said;
    }

    function areNodes(bytes calldata question, bytes calldata answer) private pure returns (bool) {
        uint256 nodes = nodesUnder(number(question, 19, 1), number(question, 20, 8), number(question, 28, 8));
        if (answer.length != 32 * nodes) return false;
        bytes32 root = uint8(question[2]) == TENSOR_TREE ? TaggedTree.fold(answer) : KeccakTree.fold(answer);
        return root == hashAt(question, 36);
    }

    /// Roots of the operands, then nodes of the output's tree: with its root they make the trace leaf.
    function isOp(bytes calldata question, bytes calldata answer) private pure returns (bool) {
        uint256 inputs = 32 * number(question, 18, 1);
        uint256 leaves = number(question, 19, 8);
        if (answer.length != inputs + 32 * nodesUnder(heightOf(leaves), 0, leaves)) return false;
        bytes32 output = TaggedTree.fold(answer[inputs:]);
        bytes32 leaf = keccak256(bytes.concat(hex"00", question[10:18], answer[:inputs], output));
        return leaf == hashAt(question, 27);
    }

    /// Roots of all tensors of state, then of results: with their numbers they make S.
    function areRoots(bytes calldata question, bytes calldata answer) private pure returns (bool) {
        uint256 states = number(question, 42, 2);
        uint256 all = rootsOf(question);
        if (answer.length != 32 * all) return false;
        bytes32[2] memory trees;
        for (uint256 which = 0; which < 2; which++) {
            (uint256 from, uint256 to) = which == 0 ? (uint256(0), states) : (states, all);
            bytes32[] memory leaves = new bytes32[](to - from);
            for (uint256 i = from; i < to; i++) {
                uint16 tensor = uint16(number(question, ROOTS_BYTES + 2 * i, 2));
                leaves[i - from] = TraceTree.rootLeaf(tensor, hashAt(answer, 32 * i));
            }
            trees[which] = KeccakTree.rootOf(leaves);
        }
        return JobTerms.stateHash(uint64(number(question, 2, 8)), trees[0], trees[1]) == hashAt(question, 10);
    }
}
