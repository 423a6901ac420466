// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {JobTerms} from "../jobs/JobTerms.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";
import {TaggedTree} from "../trees/TaggedTree.sol";
import {IDisputes} from "./IDisputes.sol";
import {TraceTree} from "./TraceTree.sol";

/// Questions of a game as bytes, docs/chain.md §12, and what an answer to each must be. Whether a question is
/// true of the claim is not decided here (QuestionJudge): an answer is held against the question alone.
/// src/protocol/network/chain-question.ts is its twin.
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
    uint256 private constant DOWN = 4;
    uint256 private constant LEAF_BYTES = 1024;
    /// Of questions for nodes, without a hint.
    uint256 private constant TRACE_BYTES = 18;
    uint256 private constant NODES_BYTES = 68;
    uint256 private constant OP_BYTES = 59;
    /// At their end: u8 place ‖ for each of the nodes the two bytes that the asker has from there on.
    uint256 private constant HINT_BYTES = 1 + 2 * 2 ** DOWN;

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
        if (kind == TRACE) fits = length == TRACE_BYTES || length == TRACE_BYTES + HINT_BYTES;
        else if (kind == TRANSCRIPT) fits = length >= 30 && length <= 42 && length % 2 == 0;
        else if (kind == WRITER) fits = length == 5;
        else if (kind == NODES) {
            fits = (length == NODES_BYTES || length == NODES_BYTES + HINT_BYTES) && uint8(question[2]) <= TENSOR_TREE;
        } else if (kind == OP) fits = length == OP_BYTES || length == OP_BYTES + HINT_BYTES;
        else if (kind == LEAF) fits = length == 66;
        else if (kind == ROOTS) fits = length >= ROOTS_BYTES && length == ROOTS_BYTES + 2 * rootsOf(question);
        if (!fits) revert IDisputes.QuestionInvalid();
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
        if (kind == TRACE) return question.length == TRACE_BYTES ? 100_000 : 120_000;
        if (kind == TRANSCRIPT) return 65_000 + 8 * 60 * number(question, question.length - 4, 4);
        if (kind == WRITER) return 65_000;
        if (kind == NODES) return question.length == NODES_BYTES ? 80_000 : 115_000;
        if (kind == OP) return (question.length == OP_BYTES ? 85_000 : 125_000) + 32 * 60 * number(question, 18, 1);
        if (kind == LEAF) return 85_000;
        return 60_000 + (32 * 60 + 2 * 60 + 500) * rootsOf(question);
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

    /// Reverts unless it is an answer to the question, whatever that says of a claim. Of a word: the hash of
    /// what was said, else 0.
    function mustAnswer(bytes calldata question, uint8 kind, bytes calldata answer) internal pure returns (bytes32) {
        if (kind == TRANSCRIPT || kind == WRITER) {
            must(answer.length == (kind == WRITER ? 4 : 8 * number(question, question.length - 4, 4)));
            return keccak256(answer);
        }
        if (kind == TRACE) {
            uint256 count = number(question, 10, 8);
            return keccak256(abi.encode(rootUnder(Under(false, heightOf(count), 0, count), question[TRACE_BYTES:], answer)));
        }
        if (kind == NODES) {
            Under memory under = Under(
                uint8(question[2]) == TENSOR_TREE, number(question, 19, 1), number(question, 20, 8), number(question, 28, 8)
            );
            must(rootUnder(under, question[NODES_BYTES:], answer) == hashAt(question, 36));
        } else if (kind == OP) {
            must(traceLeafOf(question, answer) == hashAt(question, 27));
        } else if (kind == LEAF) {
            mustBeLeaf(answer, hashAt(question, 34));
        } else {
            must(kind == ROOTS && areRoots(question, answer));
        }
        return 0;
    }

    function must(bool isSo) private pure {
        if (!isSo) revert IDisputes.AnswerInvalid();
    }

    function mustBeLeaf(bytes calldata leaf, bytes32 hash) private pure {
        must(leaf.length == LEAF_BYTES && TaggedTree.leafHash(leaf) == hash);
    }

    /// A node of a tree over so many leaves.
    struct Under {
        bool isTensor;
        uint256 height;
        uint256 index;
        uint256 count;
    }

    /// What the nodes fold to that the answer begins with. By a hint it goes on with what lies under one of
    /// them.
    function rootUnder(Under memory under, bytes calldata hint, bytes calldata answer) private pure returns (bytes32) {
        uint256 size = 32 * nodesUnder(under.height, under.index, under.count);
        must(answer.length >= size && (hint.length > 0 || answer.length == size));
        if (hint.length > 0) mustGoOn(under, hint, answer[:size], answer[size:]);
        return folded(under, answer[:size]);
    }

    function folded(Under memory under, bytes calldata nodes) private pure returns (bytes32) {
        return under.isTensor ? TaggedTree.fold(nodes) : KeccakTree.fold(nodes);
    }

    /// Under the first node that is not as the hint has it, or the last: the nodes below it; of a tensor's
    /// leaf its bytes; of others' none.
    function mustGoOn(Under memory under, bytes calldata hint, bytes calldata nodes, bytes calldata more) private pure {
        uint256 which = firstOther(hint, nodes);
        uint256 down = under.height < DOWN ? under.height : DOWN;
        if (under.height > down) {
            Under memory next = Under(under.isTensor, under.height - down, (under.index << down) + which, under.count);
            must(more.length == 32 * nodesUnder(next.height, next.index, next.count));
            must(folded(next, more) == hashAt(nodes, 32 * which));
        } else if (under.isTensor) {
            mustBeLeaf(more, hashAt(nodes, 32 * which));
        } else {
            must(more.length == 0);
        }
    }

    function firstOther(bytes calldata hint, bytes calldata nodes) private pure returns (uint256 i) {
        assembly ("memory-safe") {
            let last := sub(shr(5, nodes.length), 1)
            let shift := shl(3, byte(0, calldataload(hint.offset)))
            for { let at_ := add(hint.offset, 1) } lt(i, last) { i := add(i, 1) } {
                let own := shr(240, calldataload(add(at_, shl(1, i))))
                if xor(own, shr(240, shl(shift, calldataload(add(nodes.offset, shl(5, i)))))) { break }
            }
        }
    }

    /// Roots of the operands, then nodes of the output's tree: with its root they make the trace leaf.
    function traceLeafOf(bytes calldata question, bytes calldata answer) private pure returns (bytes32) {
        uint256 inputs = 32 * number(question, 18, 1);
        uint256 leaves = number(question, 19, 8);
        must(answer.length >= inputs);
        bytes32 output = rootUnder(Under(true, heightOf(leaves), 0, leaves), question[OP_BYTES:], answer[inputs:]);
        return keccak256(bytes.concat(hex"00", question[10:18], answer[:inputs], output));
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
