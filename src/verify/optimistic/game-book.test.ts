// The model check of docs/disputes.md: every order of moves, waits and silences of a claimant and two
// accusers over a tree of arity 2, by the twin of the chain's book. An honest claimant is never convicted; an
// honest accuser of a false claim is never beaten; coins are conserved; the delay is bounded.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep } from "../../../tests/fuzz.test-kit.ts";
import {
	answerGame,
	askGame,
	closeGame,
	EMPTY_BOOK,
	type Game,
	type GameBook,
	type GameParams,
	isAsked,
	isHeld,
	isSilent,
	type Moved,
	openGame,
	payGame,
} from "./game-book.ts";

const DEPOSIT = 1;
const ACCUSERS = ["a", "b"] as const;
/** Moments in which a claim can be accused. */
const WINDOW = 1;

/**
 * One moment to answer, one to ask again: a game of `depth` levels, its trace and its last word just fits.
 */
const paramsOf = (depth: number): GameParams => ({
	...{ questionSeconds: 1, traceSeconds: 1, replySeconds: 1, extraSeconds: 1, gameSeconds: 2 * (depth + 2) },
});

interface World {
	readonly now: number;
	readonly claim: "open" | "paid" | "dead";
	readonly book: GameBook;
	/** Levels that the honest accuser has gone down with the false child in sight. */
	readonly level: number;
	/** Coins that the contract holds, and those that each got back. */
	readonly held: number;
	readonly provider: number;
	readonly accusers: number;
}

/** Who is honest. The other accuser, and a liar, do whatever they like. */
interface Setting {
	readonly isProviderHonest: boolean;
	readonly isAccuserHonest: boolean;
	readonly depth: number;
	readonly params: GameParams;
}

const START: World = { now: 0, claim: "open", book: EMPTY_BOOK, level: 0, held: 0, provider: 0, accusers: 0 };
const isMoved = (moved: Moved): moved is GameBook => typeof moved !== "string";
/**
 * A question is one about this claim ("true …"), or not: then nobody can answer it, and no silence convicts.
 */
const isTrueQuestion = ({ question }: Game): boolean => question.startsWith("true");

function* asks(world: World, { params, depth }: Setting, accuser: string, question: string): Generator<World> {
	const isFirst = !world.book.games.has(accuser);
	// More than a game has levels lead nowhere new.
	if ((world.book.games.get(accuser)?.asks ?? 0) > depth) return;
	if (world.claim !== "open" || (isFirst && world.now > WINDOW)) return;
	const opened = isFirst ? openGame(params, world.book, accuser, world.now) : world.book;
	const asked = isMoved(opened) ? askGame(params, opened, accuser, question, false, world.now) : opened;
	if (isMoved(asked)) yield { ...world, book: asked, held: world.held + DEPOSIT };
}

/** What the honest accuser does now; null: nothing. It is the first one; the claim is false. */
function honestMove(world: World, setting: Setting): World | null {
	const game = world.book.games.get("a");
	if (world.claim !== "open") return null;
	if (world.level > setting.depth) return { ...world, claim: "dead" };
	if (game !== undefined && isSilent(world.book, "a", game.question, world.now)) return { ...world, claim: "dead" };
	if (game === undefined || isAsked(game)) return null;
	return asks(world, setting, "a", `true ${world.level}`).next().value ?? null;
}

function* answers(world: World, { params, isAccuserHonest }: Setting): Generator<World> {
	if (world.claim !== "open") return;
	for (const [accuser, game] of world.book.games) {
		if (!isAsked(game) || !isTrueQuestion(game)) continue;
		const book = answerGame(params, world.book, accuser, game.question, DEPOSIT, world.now);
		if (!isMoved(book)) continue;
		// Whichever child a liar makes the false one, the accuser sees it.
		yield { ...world, book, level: world.level + (isAccuserHonest && accuser === "a" ? 1 : 0) };
	}
}

/** What anyone may do. */
function* anyone(world: World, { params }: Setting): Generator<World> {
	for (const [accuser, game] of world.book.games) {
		if (world.claim === "open" && isTrueQuestion(game) && isSilent(world.book, accuser, game.question, world.now))
			yield { ...world, claim: "dead" };
		const closed = closeGame(params, world.book, accuser, world.now);
		if (isMoved(closed) && world.claim === "open") yield { ...world, book: closed };
		if (world.claim === "open") continue;
		const paid = payGame(world.book, accuser, world.book.games.get(accuser)?.question ?? "", DEPOSIT);
		if (typeof paid === "string") continue;
		const { book, amount } = paid;
		const to = world.claim === "paid" ? { provider: world.provider + amount } : { accusers: world.accusers + amount };
		yield { ...world, book, held: world.held - amount, ...to };
	}
	if (world.claim === "open" && world.now > WINDOW && !isHeld(world.book, world.now)) yield { ...world, claim: "paid" };
}

/** Whether time may go on: who is honest is never late. */
function mayWait(world: World, setting: Setting): boolean {
	// By then anyone can have it paid.
	if (world.claim !== "open" || world.now > WINDOW + setting.params.gameSeconds + 1) return false;
	const { isProviderHonest, isAccuserHonest } = setting;
	if (isAccuserHonest && (honestMove(world, setting) !== null || (!world.book.games.has("a") && world.now >= WINDOW)))
		return false;
	if (!isProviderHonest) return true;
	return ![...world.book.games.values()].some(
		(game) => isAsked(game) && isTrueQuestion(game) && world.now >= game.deadline,
	);
}

function* movesOf(world: World, setting: Setting): Generator<World> {
	for (const accuser of ACCUSERS) {
		if (setting.isAccuserHonest && accuser === "a") {
			const move = honestMove(world, setting);
			if (move !== null) yield move;
			if (!world.book.games.has("a")) yield* asks(world, setting, "a", "true 0");
			continue;
		}
		yield* asks(world, setting, accuser, "true");
		yield* asks(world, setting, accuser, "false");
	}
	yield* answers(world, setting);
	yield* anyone(world, setting);
	if (mayWait(world, setting)) yield { ...world, now: world.now + 1 };
}

/**
 * All that the future depends on; coins follow from it. Two accusers who do as they like are interchangeable.
 */
function nameOf(world: World, { isAccuserHonest }: Setting): string {
	const { now, claim, book, level } = world;
	const games = ACCUSERS.map((accuser) => {
		const game = book.games.get(accuser);
		if (game === undefined) return "-";
		const { opened, since, asks: asked, answers: told, isClosed, isPaid, question, deadline } = game;
		const asking = asked > told ? `${question} ${deadline}` : "";
		return [opened, since, asked, told, isClosed, isPaid, asking].join();
	});
	if (!isAccuserHonest) games.sort();
	return [now, claim, level, book.open, book.heldUntil, ...games].join("|");
}

function search(setting: Setting, check: (world: World) => void): { worlds: number; ends: Set<string> } {
	const seen = new Set([nameOf(START, setting)]);
	const ends = new Set<string>();
	const todo = [START];
	for (let world = todo.pop(); world !== undefined; world = todo.pop()) {
		check(world);
		let moves = 0;
		for (const next of movesOf(world, setting)) {
			moves += 1;
			const name = nameOf(next, setting);
			if (!seen.has(name)) {
				seen.add(name);
				todo.push(next);
			}
		}
		if (moves === 0) {
			ends.add(world.claim);
			assert.equal(world.held, 0, `coins stay behind: ${nameOf(world, setting)}`);
			assert.notEqual(world.claim, "open", `nobody can move: ${nameOf(world, setting)}`);
		}
	}
	return { worlds: seen.size, ends };
}

function mustHold(world: World, { params }: Setting): void {
	const asked = [...world.book.games.values()].reduce((sum, game) => sum + game.asks * DEPOSIT, 0);
	assert.equal(world.held + world.provider + world.accusers, asked, "coins are conserved");
	const open = [...world.book.games.values()].filter(({ isClosed }) => !isClosed).length;
	assert.equal(world.book.open, open, "the book counts its games");
	if (world.claim === "open" && world.now > WINDOW + params.gameSeconds)
		assert.ok(!isHeld(world.book, world.now), "the delay is bounded");
	if (world.claim === "paid") assert.equal(world.accusers, 0, "who accused a paid claim gets nothing back");
}

const DEPTHS = isDeep ? [1, 2, 3, 4] : [1];

test("an honest claimant is never convicted, whatever two accusers do, however late it answers", () => {
	for (const depth of DEPTHS) {
		const setting = { isProviderHonest: true, isAccuserHonest: false, depth, params: paramsOf(depth) };
		const { worlds, ends } = search(setting, (world) => {
			mustHold(world, setting);
			assert.notEqual(world.claim, "dead");
		});
		assert.deepEqual([...ends], ["paid"]);
		if (isDeep) console.log(`honest claimant, depth ${depth}: ${worlds} worlds`);
	}
});

test("an honest accuser of a false claim is never beaten, whatever the claimant and a second accuser do", () => {
	for (const depth of isDeep ? [1, 2, 3, 4] : [1, 2, 3]) {
		const setting = { isProviderHonest: false, isAccuserHonest: true, depth, params: paramsOf(depth) };
		const { worlds, ends } = search(setting, (world) => {
			mustHold(world, setting);
			assert.notEqual(world.claim, "paid");
		});
		assert.deepEqual([...ends], ["dead"]);
		if (isDeep) console.log(`honest accuser, depth ${depth}: ${worlds} worlds`);
	}
});

test("the model check can fail: with a game too short for its levels the liar is paid", () => {
	const short = { ...paramsOf(2), gameSeconds: 3 };
	const setting = { isProviderHonest: false, isAccuserHonest: true, depth: 2, params: short };
	assert.ok(search(setting, () => {}).ends.has("paid"));
});

test("a question whose silence could not be told before the game lets go of the claim is not taken", () => {
	const params = paramsOf(1);
	const book = openGame(params, EMPTY_BOOK, "a", 0);
	assert.ok(isMoved(book));
	const patient = { ...params, replySeconds: 9 };
	const last = params.gameSeconds - 2 * params.questionSeconds;
	assert.ok(isMoved(askGame(patient, book, "a", "true", false, last)));
	assert.equal(askGame(patient, book, "a", "true", false, last + 1), "GameState");
});
