// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IDisputes} from "./IDisputes.sol";

/// The state machine of games: opened → (asked → answered)… → closed; what holds a claim, until when; who
/// gets deposits. No callers, no coins, no events, and nothing of what a question means: Disputes has those.
/// src/verify/optimistic/game-book.ts is its twin.
library GameBook {
    /// Of one accuser against one book.
    struct Entry {
        IDisputes.Game game;
        IDisputes.Asking asking;
    }

    struct State {
        mapping(bytes32 book => IDisputes.Book) books;
        mapping(bytes32 book => mapping(address accuser => Entry)) games;
        // INVARIANT: written once. A word stands for ever.
        mapping(bytes32 book => mapping(bytes32 question => bytes32 said)) words;
        mapping(bytes32 book => mapping(uint64 segment => bool)) cleared;
    }

    /// An honest accuser needs fifteen.
    uint256 private constant MOST_QUESTIONS = 64;
    /// So many games on a claim give each answer one more `questionSeconds`.
    uint256 private constant FLOOD = 16;

    // Games, askings and parameters are one word each, as storage has them: the first field in the lowest
    // bits. Whoever is right pays for every move, and the compiler takes a struct apart, and puts it together
    // again, for a thousand gas.

    /// IDisputes.Params as a word.
    function clocksOf(IDisputes.Params memory params) internal pure returns (uint256) {
        return uint256(params.questionSeconds) | uint256(params.traceSeconds) << 32 | uint256(params.replySeconds) << 64
            | uint256(params.extraSeconds) << 96 | uint256(params.gameSeconds) << 128 | uint256(params.gasPrice) << 160;
    }

    function paramsOf(uint256 clocks) internal pure returns (IDisputes.Params memory) {
        return IDisputes.Params(
            uint32(clocks),
            uint32(clocks >> 32),
            uint32(clocks >> 64),
            uint32(clocks >> 96),
            uint32(clocks >> 128),
            uint96(clocks >> 160)
        );
    }

    function wordsOf(Entry storage entry) private view returns (uint256 game, uint256 asking) {
        assembly ("memory-safe") {
            game := sload(entry.slot)
            asking := sload(add(entry.slot, 1))
        }
    }

    /// Of a game: opened 40 ‖ since 40 ‖ answers 8 ‖ extra 32 ‖ deposits 96 ‖ closed 8 ‖ paid 8.
    function openedOf(uint256 game) private pure returns (uint256) {
        return uint40(game);
    }

    function sinceOf(uint256 game) private pure returns (uint256) {
        return uint40(game >> 40);
    }

    /// Of an asking: mark of the question 216 ‖ asks 8 ‖ extra 8 ‖ deadline 24.
    function isAsked(uint256 game, uint256 asking) private pure returns (bool) {
        return uint8(asking >> 216) != uint8(game >> 80);
    }

    function deadlineOf(uint256 game, uint256 asking) private pure returns (uint256) {
        unchecked {
            return openedOf(game) + (asking >> 232);
        }
    }

    /// What is kept of a question: 216 bits. Two questions of one mark would convict whoever ignores the one
    /// by the other's name; to look for them takes 2¹⁰⁸ hashes, and cannot begin before the attempt was
    /// assigned: the mark is this game's alone.
    function markOf(bytes32 book, address accuser, bytes32 question) private pure returns (uint256 mark) {
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, book)
            mstore(add(free, 0x20), accuser)
            mstore(add(free, 0x40), question)
            mark := shr(40, keccak256(free, 0x60))
        }
    }

    function open(State storage state, uint256 clocks, bytes32 book, address accuser) internal returns (uint40 until) {
        Entry storage entry = state.games[book][accuser];
        (uint256 game,) = wordsOf(entry);
        if (game != 0) revert IDisputes.GameState();
        game = block.timestamp | block.timestamp << 40;
        assembly ("memory-safe") {
            sstore(entry.slot, game)
        }
        until = uint40(block.timestamp + uint32(clocks >> 128));
        IDisputes.Book memory all = state.books[book];
        state.books[book] = IDisputes.Book(all.open + 1, all.games + 1, until);
    }

    /// The accuser's next question. Only one slot is written: an honest accuser pays for this some ten times.
    function ask(State storage state, uint256 clocks, bytes32 book, address accuser, bytes32 question, bool isTrace)
        internal
        returns (uint40)
    {
        Entry storage entry = state.games[book][accuser];
        (uint256 game, uint256 asking) = wordsOf(entry);
        if (game == 0) revert IDisputes.GameUnknown();
        if (isAsked(game, asking)) revert IDisputes.QuestionState();
        uint256 asks = uint8(asking >> 216);
        // What is deposited after its deposits were paid would be nobody's: neither closed nor paid.
        if (game >> 216 != 0 || asks == MOST_QUESTIONS || isOver(clocks, game, sinceOf(game))) revert IDisputes.GameState();
        (uint256 extra, uint256 deadline) = timeFor(clocks, game, state.books[book].games, isTrace);
        asking = markOf(book, accuser, question) | (asks + 1) << 216 | uint256(uint8(extra)) << 224 | deadline << 232;
        assembly ("memory-safe") {
            sstore(add(entry.slot, 1), asking)
        }
        return uint40(deadlineOf(game, asking));
    }

    /// For an answer to what is asked now: extra time, in units, and the last moment, in seconds after the
    /// game was opened.
    function timeFor(uint256 clocks, uint256 game, uint256 games, bool isTrace) private view returns (uint256 extra, uint256 deadline) {
        unchecked {
            uint256 each = uint32(clocks);
            // No game had more than it may have.
            uint256 left = (uint32(clocks >> 96) - uint32(game >> 88)) / each;
            extra = games / FLOOD;
            if (extra > left) extra = left;
            deadline = block.timestamp + (isTrace ? uint32(clocks >> 32) : each) + extra * each - openedOf(game);
            // Whoever is silent to the last question is convicted before the game lets go of the claim.
            if (deadline + each > uint32(clocks >> 128)) revert IDisputes.GameState();
        }
    }

    /// Its question was answered in time.
    function answer(State storage state, uint256 clocks, bytes32 book, address accuser, bytes32 question, uint256 deposit) internal {
        Entry storage entry = state.games[book][accuser];
        (uint256 game, uint256 asking) = wordsOf(entry);
        uint256 deadline = openUntil(game, asking, markOf(book, accuser, question));
        if (block.timestamp > deadline) revert IDisputes.WrongTime(deadline);
        // Checked: the sum of deposits must not reach what lies above it.
        uint256 deposits = uint96(game >> 120) + uint96(deposit);
        unchecked {
            uint256 answers = uint8(game >> 80) + 1;
            uint256 extra = uint32(game >> 88) + uint8(asking >> 224) * uint32(clocks);
            game = openedOf(game) | block.timestamp << 40 | answers << 80 | extra << 88 | deposits << 120 | game >> 216 << 216;
        }
        assembly ("memory-safe") {
            sstore(entry.slot, game)
        }
    }

    /// The question is open, and its time is over.
    function mustBeSilent(State storage state, bytes32 book, address accuser, bytes32 question) internal view {
        (uint256 game, uint256 asking) = wordsOf(state.games[book][accuser]);
        uint256 deadline = openUntil(game, asking, markOf(book, accuser, question));
        if (block.timestamp <= deadline) revert IDisputes.WrongTime(deadline);
    }

    function openUntil(uint256 game, uint256 asking, uint256 mark) private pure returns (uint256) {
        if (!isAsked(game, asking) || uint216(asking) != mark) revert IDisputes.QuestionState();
        return deadlineOf(game, asking);
    }

    /// Nothing more can come: the accuser did not go on, or there is no time left. While a question is open
    /// it may still go on, and after its time `timeout` may come as late as a next question might.
    function close(State storage state, uint256 clocks, bytes32 book, address accuser) internal {
        Entry storage entry = state.games[book][accuser];
        (uint256 game, uint256 asking) = wordsOf(entry);
        if (game == 0) revert IDisputes.GameUnknown();
        uint256 since = isAsked(game, asking) ? deadlineOf(game, asking) : sinceOf(game);
        if (entry.game.isClosed || !isOver(clocks, game, since)) revert IDisputes.GameState();
        entry.game.isClosed = true;
        state.books[book].open--;
    }

    function isOver(uint256 clocks, uint256 game, uint256 since) private view returns (bool) {
        unchecked {
            return block.timestamp > since + uint32(clocks >> 64)
                || block.timestamp > openedOf(game) + uint32(clocks >> 128);
        }
    }

    function isHeld(State storage state, bytes32 book) internal view returns (bool) {
        IDisputes.Book memory all = state.books[book];
        return all.open > 0 && block.timestamp <= all.heldUntil;
    }

    /// All deposits of a game, once; `deposit` is that of `question`, if it is open.
    function pay(State storage state, bytes32 book, address accuser, bytes32 question, uint256 deposit)
        internal
        returns (uint256 amount)
    {
        Entry storage entry = state.games[book][accuser];
        (uint256 game, uint256 asking) = wordsOf(entry);
        if (game == 0) revert IDisputes.GameUnknown();
        if (entry.game.isPaid) revert IDisputes.GameState();
        amount = uint96(game >> 120);
        if (isAsked(game, asking)) {
            if (uint216(asking) != markOf(book, accuser, question)) revert IDisputes.QuestionState();
            amount += deposit;
        }
        entry.game.isPaid = true;
    }

    /// Keeps a word. Whoever was asked for it twice says it twice.
    function say(State storage state, bytes32 book, bytes32 question, bytes32 said) internal {
        bytes32 before = state.words[book][question];
        if (before == 0) state.words[book][question] = said;
        else if (before != said) revert IDisputes.AnswerInvalid();
    }
}
