// What a validator keeps of others' statements: only what is signed by who has a seat, and of one signer so
// much.
import assert from "node:assert/strict";
import { test } from "node:test";
import { signWeights } from "../../chain/contracts/scoreboard.ts";
import { accountOf } from "../../chain/sending/sign.ts";
import { createScoreReport, readScoreReport } from "../../market/epochs/score-report.ts";
import { NO_BASE, type Seat, type Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { encodeStatements, MAX_STATEMENTS_BYTES, parseStatements } from "../../protocol/chain/statements-file.ts";
import { HeldEpoch } from "./held-epoch.ts";

const addresses = { chainId: 7373, scoreboard: `0x${"5c".repeat(20)}` } as const;
const keys = Array.from({ length: 7 }, (_, n) => accountOf(`0x${`1${n}`.repeat(32)}`));
const nameOf = (n: number) => keys[n]!.address.toLowerCase() as Hex;
const seats: readonly Seat[] = keys.slice(0, 6).map((_, n) => ({
	validator: nameOf(n),
	signer: nameOf(n),
	stake: 10n,
	root: `0x${n.toString(16).padStart(64, "0")}`,
}));
const weightsOf = (set: bigint, paid = 0n): Weights => ({
	epoch: 4n,
	base: NO_BASE,
	set,
	count: 1,
	totalWeight: 1n,
	paid,
	root: `0x${"77".repeat(32)}`,
});
const signed = async (weights: Weights, ...who: number[]) => ({
	weights,
	signatures: await Promise.all(
		who.map(async (n) => ({ signer: nameOf(n), signature: await signWeights(keys[n]!, addresses as never, weights) })),
	),
});
const create = () => new HeldEpoch(4, addresses);

test("signatures of seats are kept, once; strangers' are not; a wrong one is the messenger's fault", async () => {
	const held = create();
	const one = await signed(weightsOf(7n), 0, 1, 6);
	assert.equal(held.learn(one, seats, nameOf(1)), true);
	assert.equal(held.learn(one, seats, nameOf(2)), false, "nothing new");
	const [known] = [...held.statements.values()];
	assert.deepEqual([held.signersOf(known!), [...known!.sources]], [3n, [nameOf(1), nameOf(2)]]);
	const { signatures } = await signed(weightsOf(5n), 2);
	assert.throws(() => held.learn({ weights: weightsOf(7n), signatures }, seats, null), RangeError);
	assert.throws(() => held.learn({ ...one, weights: { ...one.weights, epoch: 5n } }, seats, null), /another epoch/);
	assert.equal(held.statements.size, 1);
	const stranger = create();
	stranger.learn(await signed(weightsOf(7n), 6), seats, null);
	assert.equal(stranger.statements.size, 0);
});

test("ATTACK: of one signer eight statements are kept, those of the largest sets; others' stay", async () => {
	const held = create();
	held.learn(await signed(weightsOf(1n), 1), seats, null);
	for (let n = 0; n < 12; n++) held.learn(await signed(weightsOf(1n, BigInt(n)), 0), seats, null);
	const ofFirst = () => [...held.statements.values()].filter(({ signatures }) => signatures.has(0));
	assert.equal(ofFirst().length, 8);
	held.learn(await signed(weightsOf(63n), 0), seats, null);
	assert.equal(ofFirst().length, 8);
	assert.ok(
		ofFirst().some(({ weights }) => weights.set === 63n),
		"a larger set takes the place of a small one",
	);
	assert.ok([...held.statements.values()].some(({ signatures }) => signatures.has(1)));
});

test("the public file: what stands and our own first, eight at most, and what is read is what was written", async () => {
	const held = create();
	for (let n = 1; n <= 10; n++) held.learn(await signed(weightsOf(BigInt(n)), 2, 3), seats, null);
	held.learn(await signed(weightsOf(21n), 5), seats, null);
	const file = held.toFile(seats, 5, null);
	assert.equal(file.length, 8);
	assert.equal(file[0]!.weights.set, 21n);
	const bytes = Buffer.from(encodeStatements(file));
	assert.ok(bytes.length <= MAX_STATEMENTS_BYTES);
	assert.deepEqual(parseStatements(bytes), file);
	const other = create();
	for (const one of parseStatements(bytes)!) other.learn(one, seats, null);
	assert.equal(other.statements.size, 8);
});

test("hostile bytes are no statements", async () => {
	const good = JSON.parse(encodeStatements([await signed(weightsOf(7n), 0)]));
	const parse = (change: (file: typeof good) => void) => {
		const file = structuredClone(good);
		change(file);
		return parseStatements(Buffer.from(JSON.stringify(file)));
	};
	assert.notEqual(
		parse(() => {}),
		null,
	);
	for (const change of [
		(file: typeof good) => (file.version = 2),
		(file: typeof good) => (file.statements = {}),
		(file: typeof good) => (file.statements = Array.from({ length: 9 }, () => file.statements[0])),
		(file: typeof good) => (file.statements[0].weights[2] = String(2n ** 64n)),
		(file: typeof good) => (file.statements[0].weights[2] = "-1"),
		(file: typeof good) => (file.statements[0].weights[3] = "01"),
		(file: typeof good) => file.statements[0].weights.push("1"),
		(file: typeof good) => (file.statements[0].weights[6] = "0x12"),
		(file: typeof good) => (file.statements[0].signatures[0][1] = "0x12"),
		(file: typeof good) =>
			(file.statements[0].signatures = Array.from({ length: 65 }, () => file.statements[0].signatures[0])),
		(file: typeof good) => (file.statements[0] = null),
	])
		assert.equal(parse(change), null, String(change));
	assert.equal(parseStatements(Buffer.from("[")), null);
	assert.equal(parseStatements(Buffer.from("null")), null);
	assert.equal(parseStatements(new Uint8Array(MAX_STATEMENTS_BYTES + 1)), null);
});

test("a malformed report is held as such", () => {
	const held = create();
	const leaf = { provider: `0x${"01".repeat(20)}`, scorePpm: 5, evidenceSha256: NO_BASE } as const;
	const good = createScoreReport([leaf]);
	const bad = readScoreReport([leaf, leaf]);
	held.hold(good);
	held.hold(bad);
	assert.deepEqual([held.states.get(good.reportRoot), held.states.get(bad.reportRoot)], ["held", "malformed"]);
});
