// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {IDisputes} from "./IDisputes.sol";

/// The state machine of games: opened → (asked → answered)… → closed; what holds a claim, until when; who gets deposits. No callers, no
/// coins, no events, and nothing of what a question means: Disputes has those. src/verify/optimistic/game-book.ts is its twin.
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

    function open(State storage state, IDisputes.Params memory params, bytes32 book, address accuser)
        internal
        returns (uint40 until)
    {
        IDisputes.Game storage game = state.games[book][accuser].game;
        if (game.opened != 0) revert IDisputes.GameState();
        (game.opened, game.since) = (uint40(block.timestamp), uint40(block.timestamp));
        until = uint40(block.timestamp + params.gameSeconds);
        IDisputes.Book storage all = state.books[book];
        (all.open, all.games, all.heldUntil) = (all.open + 1, all.games + 1, until);
    }

    /// The accuser's next question. Only one slot is written: an honest accuser pays for this some ten times.
    function ask(
        State storage state,
        IDisputes.Params memory params,
        bytes32 book,
        address accuser,
        bytes32 question,
        bool isTrace
    ) internal returns (uint40) {
        Entry storage entry = state.games[book][accuser];
        IDisputes.Game memory game = entry.game;
        if (game.opened == 0) revert IDisputes.GameUnknown();
        uint8 asks = entry.asking.asks;
        if (asks != game.answers) revert IDisputes.QuestionState();
        // What is deposited after its deposits were paid would be nobody's.
        if (game.isClosed || game.isPaid || asks == MOST_QUESTIONS || isOver(params, game)) revert IDisputes.GameState();
        uint256 extra = state.books[book].games / FLOOD;
        uint256 left = (params.extraSeconds - game.extra) / params.questionSeconds;
        if (extra > left) extra = left;
        uint256 time = isTrace ? params.traceSeconds : params.questionSeconds;
        uint256 deadline = block.timestamp + time + extra * params.questionSeconds - game.opened;
        // Whoever is silent to the last question is convicted before the game lets go of the claim.
        if (deadline + params.questionSeconds > params.gameSeconds) revert IDisputes.GameState();
        entry.asking = IDisputes.Asking(bytes27(question), asks + 1, uint8(extra), uint24(deadline));
        return uint40(game.opened + deadline);
    }

    /// Its question was answered in time.
    function answer(
        State storage state,
        IDisputes.Params memory params,
        bytes32 book,
        address accuser,
        bytes32 question,
        uint256 deposit
    ) internal {
        Entry storage entry = state.games[book][accuser];
        (IDisputes.Game memory game, IDisputes.Asking memory asking) = (entry.game, entry.asking);
        uint256 deadline = openUntil(game, asking, question);
        if (block.timestamp > deadline) revert IDisputes.WrongTime(deadline);
        game.answers++;
        game.since = uint40(block.timestamp);
        game.extra += uint32(asking.extra * params.questionSeconds);
        game.deposits += uint96(deposit);
        entry.game = game;
    }

    /// The question is open, and its time is over.
    function mustBeSilent(State storage state, bytes32 book, address accuser, bytes32 question) internal view {
        Entry storage entry = state.games[book][accuser];
        uint256 deadline = openUntil(entry.game, entry.asking, question);
        if (block.timestamp <= deadline) revert IDisputes.WrongTime(deadline);
    }

    function openUntil(IDisputes.Game memory game, IDisputes.Asking memory asking, bytes32 question)
        private
        pure
        returns (uint256)
    {
        if (asking.asks == game.answers || asking.question != bytes27(question)) revert IDisputes.QuestionState();
        return uint256(game.opened) + asking.deadline;
    }

    /// Nothing more can come: the accuser did not go on, or there is no time left. While a question is open it may still go on, and
    /// after its time `timeout` may come as late as a next question might.
    function close(State storage state, IDisputes.Params memory params, bytes32 book, address accuser) internal {
        Entry storage entry = state.games[book][accuser];
        IDisputes.Game memory game = entry.game;
        if (game.opened == 0) revert IDisputes.GameUnknown();
        if (entry.asking.asks != game.answers) game.since = uint40(uint256(game.opened) + entry.asking.deadline);
        if (game.isClosed || !isOver(params, game)) revert IDisputes.GameState();
        entry.game.isClosed = true;
        state.books[book].open--;
    }

    function isOver(IDisputes.Params memory params, IDisputes.Game memory game) private view returns (bool) {
        return block.timestamp > uint256(game.since) + params.replySeconds
            || block.timestamp > uint256(game.opened) + params.gameSeconds;
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
        (IDisputes.Game memory game, IDisputes.Asking memory asking) = (entry.game, entry.asking);
        if (game.opened == 0) revert IDisputes.GameUnknown();
        if (game.isPaid) revert IDisputes.GameState();
        amount = game.deposits;
        if (asking.asks != game.answers) {
            if (asking.question != bytes27(question)) revert IDisputes.QuestionState();
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
