// A validator and a host that lie together against the public file of a roll call, each attack as the program
// that would do it, on a real chain with the real contracts. Every one is refused with its code, or worth no
// more than its makers' word. docs/roll-call.md §5.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { httpRpc } from "../src/chain/node/http-rpc.ts";
import { bytesToHex, hexToBytes } from "../src/protocol/bytes/bytes.ts";
import { keccakTree } from "../src/protocol/hash/keccak-tree.ts";
import { createSigner } from "../src/protocol/probe/signer.ts";
import { rollAnswerHash, rollLeaf, rollPlaces } from "../src/protocol/roll-call/roll-call.ts";
import { decodeRollCallFile, makeRollCallFile, type StatedBlock } from "../src/protocol/roll-call/roll-file.ts";
import type { RollVerdict } from "../src/protocol/roll-call/roll-verdict.ts";
import type { RollExpectations } from "../src/verify/roll-call/chain-facts.ts";
import { readChainFacts } from "../src/verify/roll-call/read-chain-facts.ts";
import {
	ACCOUNT,
	answerCall,
	fileOf,
	HOST,
	label,
	openAll,
	SPEC,
	type SpoilRound,
	type ToyOptions,
	work,
} from "../src/verify/roll-call/toy-roll-call.test-kit.ts";
import { verifyRollCall } from "../src/verify/roll-call/verify-roll-call.ts";
import { openRollChain, type RollChain, VALIDATOR_ADDRESS } from "./roll-call-chain.test-kit.ts";

let chain: RollChain;
before(async () => {
	chain = await openRollChain(424_242);
});
after(() => chain.close());

/** What a stranger with a node's URL says. */
async function judged(file: Uint8Array, expect: RollExpectations = {}, on = chain): Promise<RollVerdict> {
	const decoded = decodeRollCallFile(file);
	assert.ok(decoded.ok);
	return verifyRollCall(file, await readChainFacts(httpRpc(on.url), decoded.evidence.envelope.body), expect);
}

async function refused(file: Uint8Array, code: string): Promise<void> {
	const verdict = await judged(file);
	assert.equal(verdict.status === "invalid" ? verdict.code : verdict.status, code, JSON.stringify(verdict));
}

const betaOf = ({ hash }: StatedBlock) => hexToBytes(hash, 32)!;
const answerTo = (called: StatedBlock, options?: ToyOptions) =>
	answerCall(chain.chain, called.number, betaOf(called), options);
type Answered = ReturnType<typeof answerTo>;

const stated = (called: StatedBlock, drawn: StatedBlock, committed: StatedBlock) => ({
	chain: chain.chain,
	beacon: { kind: "block", called, drawn } as const,
	committed,
	validator: VALIDATOR_ADDRESS,
});
const fileAt = (answered: Answered, called: StatedBlock, drawn: StatedBlock, committed: StatedBlock): Uint8Array =>
	fileOf(answered, stated(called, drawn, committed)).file;

/** Only every other leaf is computed, the rest is left as it is: half of the work. */
const halfTheWork: SpoilRound = (bytes, round) => {
	if (round >= 0)
		for (let leaf = 0; leaf < bytes.length / 1024; leaf += 2) bytes.fill(0, 1024 * leaf, 1024 * (leaf + 1));
};

test("an honest answer is public, so that what follows fails for its lie alone", async () => {
	const called = await chain.nextCall();
	const answered = answerTo(called);
	const committed = await chain.commit(called.number, answered.tree);
	const drawn = await chain.drawOf(called);
	const verdict = await judged(fileAt(answered, called, drawn, committed));
	assert.ok(verdict.status === "valid" && verdict.strength === "public", JSON.stringify(verdict));
});

test("made-up blocks: all work done at leisure between two hashes of one's own", async () => {
	const invent = (number: number): StatedBlock => ({
		number,
		hash: label(`invented ${number}`),
		atS: 1_800_000_000 + number,
	});
	const [called, committed, drawn] = [invent(1), invent(2), invent(100)];
	await refused(fileAt(answerTo(called), called, drawn, committed), "CALL_BLOCK_OTHER");
	// Real numbers and times with hashes of one's own.
	const real = await chain.nextCall();
	const own = { ...real, hash: label("own") };
	await refused(fileAt(answerTo(own), own, await chain.nextBlock(), committed), "CALL_TIMES");
	const later = await chain.nextBlock();
	await refused(fileAt(answerTo(own), own, await chain.drawOf(real), later), "CALL_BLOCK_OTHER");
});

test("an answer computed in advance: its seeds are not those of the block that called", async () => {
	const guessed = answerCall(chain.chain, 0, hexToBytes(label("guessed"), 32)!);
	const called = await chain.nextCall();
	const committed = await chain.commit(called.number, guessed.tree);
	const drawn = await chain.drawOf(called);
	await refused(fileAt(guessed, called, drawn, committed), "CALL_DEVICE_OTHER");
	await refused(fileAt(guessed, { ...called, hash: label("guessed") }, drawn, committed), "CALL_BLOCK_OTHER");
});

test("committed once the places are known, with only those places right", async () => {
	const called = await chain.nextCall();
	const drawn = await chain.drawOf(called);
	const places = rollPlaces(betaOf(drawn), HOST.key, SPEC);
	const opened = new Set([...places.products, ...places.kept].map(({ round, index }) => `${round}/${index}`));
	const onlyOpened: SpoilRound = (bytes, round) => {
		for (let leaf = 0; round >= 0 && leaf < bytes.length / 1024; leaf++)
			if (!opened.has(`${round}/${leaf}`)) bytes.fill(0, 1024 * leaf, 1024 * (leaf + 1));
	};
	const answered = answerTo(called, { spoil: onlyOpened });
	// Were it believed, nearly nothing of the work would have been done.
	assert.equal(
		verifyRollCall(
			fileAt(answered, called, drawn, { ...called, number: called.number + 1, atS: called.atS + 12 }),
			null,
		).status,
		"valid",
	);
	const late = await chain.commit(called.number, answered.tree);
	await refused(fileAt(answered, called, drawn, late), "CALL_COMMITTED_LATE");
	// A block in time, in which there is no such commitment.
	const inTime = await chain.blockAt(drawn.number - 1);
	await refused(fileAt(answered, called, drawn, inTime), "CALL_UNCOMMITTED");
	// A draw that comes after it, instead of the one that the rule names.
	await refused(fileAt(answered, called, await chain.nextBlock(), late), "CALL_DRAW_OTHER");
});

test("a block of one's choice: the contract takes no commitment for one that calls nobody, and no file may name it", async () => {
	const quiet = await chain.nextQuiet();
	const answered = answerTo(quiet);
	await assert.rejects(chain.commit(quiet.number, answered.tree), /NoCall/);
	const committed = await chain.nextBlock();
	await refused(fileAt(answered, quiet, await chain.drawOf(quiet), committed), "CALL_NONE");
});

test("a draw of one's choice: only the first block past the window counts", async () => {
	const called = await chain.nextCall();
	const answered = answerTo(called, { spoil: halfTheWork });
	const committed = await chain.commit(called.number, answered.tree);
	await chain.drawOf(called);
	for (let i = 0; i < 3; i++)
		await refused(fileAt(answered, called, await chain.nextBlock(), committed), "CALL_DRAW_OTHER");
});

test("many answers of one device in one tree: they are all opened at the same places, so one is as good as all", async () => {
	const called = await chain.nextCall();
	const host = { key: HOST.key, account: ACCOUNT };
	// Half of the work once; the variants differ in one byte of the last round, which costs nothing.
	const variants = Array.from({ length: 16 }, (_, i) =>
		work(betaOf(called), host, SPEC, (bytes, round) => {
			halfTheWork(bytes, round);
			if (round === SPEC.rounds - 1) bytes[0] = i;
		}),
	);
	const leaves = variants.map(({ end, last }) => rollLeaf(host, { ...SPEC, end, last }));
	assert.equal(new Set(leaves.map(bytesToHex)).size, variants.length);
	const tree = keccakTree(leaves);
	const committed = await chain.commit(called.number, { root: bytesToHex(tree.root), count: tree.count });
	const drawn = await chain.drawOf(called);
	const { host: signed } = answerTo(called);
	const codes = await Promise.all(
		variants.map(async (worked, index) => {
			const openings = openAll(worked, betaOf(drawn), HOST.key);
			assert.deepEqual(
				openings.products.map(({ round, index: leaf }) => `${round}/${leaf}`),
				rollPlaces(betaOf(drawn), HOST.key, SPEC).products.map(({ round, index: leaf }) => `${round}/${leaf}`),
			);
			const own = {
				...stated(called, drawn, committed),
				call: called.number,
				tree: { index, count: tree.count, root: bytesToHex(tree.root), path: tree.path(index).map(bytesToHex) },
				host: signAgain(signed, leaves[index]!, called.number, betaOf(called)),
				answer: { ...SPEC, last: worked.last },
			};
			const verdict = await judged(makeRollCallFile(own, worked.roots, openings));
			return verdict.status === "invalid" ? verdict.code : "valid";
		}),
	);
	assert.deepEqual([...new Set(codes)], ["ELEMENT_WRONG"]);
});

test("a second tree for the same call: the contract keeps the first", async () => {
	const called = await chain.nextCall();
	await chain.commit(called.number, answerTo(called, { spoil: halfTheWork }).tree);
	await assert.rejects(chain.commit(called.number, answerTo(called).tree), /AlreadyCommitted/);
});

test("one answer for two keys, or two devices: each has seeds of its own", async () => {
	const called = await chain.nextCall();
	const answered = answerTo(called);
	const committed = await chain.commit(called.number, answered.tree);
	const drawn = await chain.drawOf(called);
	const { stated: own, roots, openings } = fileOf(answered, stated(called, drawn, committed));
	const other = createSigner(new Uint8Array(32).fill(77));
	const asOther = { ...own, host: { ...own.host, key: other.key } };
	await refused(makeRollCallFile(asOther, roots, openings), "CALL_DEVICE_OTHER");
	const asSecond = { ...own, answer: { ...own.answer, device: 1 } };
	await refused(makeRollCallFile(asSecond, roots, openings), "CALL_DEVICE_OTHER");
});

test("withheld: without its openings an answer shows nothing", async () => {
	const called = await chain.nextCall();
	const answered = answerTo(called, { spoil: halfTheWork });
	const committed = await chain.commit(called.number, answered.tree);
	const drawn = await chain.drawOf(called);
	const { stated: own, roots, openings } = fileOf(answered, stated(called, drawn, committed));
	const some = { ...openings, products: openings.products.slice(1) };
	await refused(makeRollCallFile(own, roots, some), "OPENINGS_MISSING");
	await refused(makeRollCallFile(own, roots, { products: [], digests: [], kept: [] }), "OPENINGS_MISSING");
});

test("a contract of one's own with another window: worth its maker's word, unless the reader names it", async () => {
	const own = await openRollChain(424_243, 36);
	try {
		const called = await own.nextCall();
		const answered = answerCall(own.chain, called.number, betaOf(called));
		const committed = await own.commit(called.number, answered.tree);
		const drawn = await own.drawOf(called);
		const file = fileOf(answered, { ...stated(called, drawn, committed), chain: own.chain }).file;
		const verdict = await judged(file, {}, own);
		assert.ok(verdict.status === "valid");
		assert.deepEqual([verdict.strength, verdict.findings[0]?.code], ["private", "WINDOW_UNUSUAL"]);
		const named = await judged(file, { contract: own.chain.contract }, own);
		assert.ok(named.status === "valid" && named.strength === "public");
	} finally {
		await own.close();
	}
});

function signAgain(signed: Answered["host"], leaf: Uint8Array, call: number, beta0: Uint8Array): Answered["host"] {
	const hash = rollAnswerHash({ chainId: chain.chain.id, contract: chain.chain.contract, call }, beta0, [leaf]);
	return { ...signed, leaves: [bytesToHex(leaf)], signature: bytesToHex(HOST.sign(hash)) };
}
