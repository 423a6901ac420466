// The book of games on a chain, docs/chain.md §12, as pure functions: opened → (asked → answered)… → closed;
// what holds a claim, until when; who gets deposits. The twin of contracts/src/disputes/GameBook.sol, move by
// move; the model check searches it. Times are seconds. Nothing of what a question means.

export interface GameParams {
	/** To answer; to answer with a trace. */
	readonly questionSeconds: number;
	readonly traceSeconds: number;
	/** From an answer to the next question: later the game is over. */
	readonly replySeconds: number;
	/** What a flood may add to the answers of one game. */
	readonly extraSeconds: number;
	/** A game's end, whoever moved how often. */
	readonly gameSeconds: number;
}

export interface Game {
	readonly opened: number;
	/** When it last was the accuser's turn. */
	readonly since: number;
	readonly asks: number;
	readonly answers: number;
	/** Extra time that its answers had. */
	readonly extra: number;
	/** Of all questions that were answered. */
	readonly deposits: number;
	readonly isClosed: boolean;
	readonly isPaid: boolean;
	/** The last question: its name, its last moment, its extra time in units of `questionSeconds`. */
	readonly question: string;
	readonly deadline: number;
	readonly askedExtra: number;
}

export interface GameBook {
	/** Games that are not closed, and all that were opened. */
	readonly open: number;
	readonly count: number;
	/** No payment until then, unless all games are closed. */
	readonly heldUntil: number;
	readonly games: ReadonlyMap<string, Game>;
}

export const EMPTY_BOOK: GameBook = { open: 0, count: 0, heldUntil: 0, games: new Map() };

/** Why a move is none, by the names of the contract's errors. */
export type GameRefusal = "GameUnknown" | "GameState" | "QuestionState" | "WrongTime";
export type Moved = GameBook | GameRefusal;

/** An honest accuser needs fifteen. */
const MOST_QUESTIONS = 64;
/** So many games on a claim give each answer one more `questionSeconds`. */
const FLOOD = 16;

const withGame = (book: GameBook, accuser: string, game: Game): GameBook => ({
	...book,
	games: new Map(book.games).set(accuser, game),
});

const isOver = ({ replySeconds, gameSeconds }: GameParams, { since, opened }: Game, now: number): boolean =>
	now > since + replySeconds || now > opened + gameSeconds;

export const isAsked = ({ asks, answers }: Game): boolean => asks !== answers;

export function openGame({ gameSeconds }: GameParams, book: GameBook, accuser: string, now: number): Moved {
	if (book.games.has(accuser)) return "GameState";
	const none = { asks: 0, answers: 0, extra: 0, deposits: 0, question: "", deadline: 0, askedExtra: 0 };
	const game = { ...none, opened: now, since: now, isClosed: false, isPaid: false };
	const opened = withGame(book, accuser, game);
	return { ...opened, open: book.open + 1, count: book.count + 1, heldUntil: now + gameSeconds };
}

export function askGame(
	params: GameParams,
	book: GameBook,
	accuser: string,
	question: string,
	isTrace: boolean,
	now: number,
): Moved {
	const game = book.games.get(accuser);
	if (game === undefined) return "GameUnknown";
	if (isAsked(game)) return "QuestionState";
	// What is deposited after its deposits were paid would be nobody's.
	if (game.isClosed || game.isPaid || game.asks === MOST_QUESTIONS || isOver(params, game, now)) return "GameState";
	const left = Math.floor((params.extraSeconds - game.extra) / params.questionSeconds);
	const askedExtra = Math.min(Math.floor(book.count / FLOOD), left);
	const time = isTrace ? params.traceSeconds : params.questionSeconds;
	const deadline = now + time + askedExtra * params.questionSeconds;
	// Whoever is silent to the last question is convicted before the game lets go of the claim.
	if (deadline - game.opened + params.questionSeconds > params.gameSeconds) return "GameState";
	return withGame(book, accuser, { ...game, question, asks: game.asks + 1, askedExtra, deadline });
}

export function answerGame(
	params: GameParams,
	book: GameBook,
	accuser: string,
	question: string,
	deposit: number,
	now: number,
): Moved {
	const game = book.games.get(accuser);
	if (game === undefined || !isAsked(game) || game.question !== question) return "QuestionState";
	if (now > game.deadline) return "WrongTime";
	const extra = game.extra + game.askedExtra * params.questionSeconds;
	const answered = { ...game, answers: game.answers + 1, since: now, extra, deposits: game.deposits + deposit };
	return withGame(book, accuser, answered);
}

/** The question is open, and its time is over. */
export function isSilent(book: GameBook, accuser: string, question: string, now: number): boolean {
	const game = book.games.get(accuser);
	return game !== undefined && isAsked(game) && game.question === question && now > game.deadline;
}

/** Nothing more can come: the accuser did not go on, or there is no time left. */
export function closeGame(params: GameParams, book: GameBook, accuser: string, now: number): Moved {
	const game = book.games.get(accuser);
	if (game === undefined) return "GameUnknown";
	// While a question is open it may still go on, and after its time a timeout may come as late as a next
	// question might.
	const since = isAsked(game) ? game.deadline : game.since;
	if (game.isClosed || !isOver(params, { ...game, since }, now)) return "GameState";
	return { ...withGame(book, accuser, { ...game, isClosed: true }), open: book.open - 1 };
}

/** The escrow does not pay the claim. */
export const isHeld = ({ open, heldUntil }: GameBook, now: number): boolean => open > 0 && now <= heldUntil;

/** All deposits of a game, once; `deposit` is that of `question`, if it is open. */
export function payGame(
	book: GameBook,
	accuser: string,
	question: string,
	deposit: number,
): { readonly book: GameBook; readonly amount: number } | GameRefusal {
	const game = book.games.get(accuser);
	if (game === undefined) return "GameUnknown";
	if (game.isPaid) return "GameState";
	if (isAsked(game) && game.question !== question) return "QuestionState";
	const amount = game.deposits + (isAsked(game) ? deposit : 0);
	return { book: withGame(book, accuser, { ...game, isPaid: true }), amount };
}
