// The public file of a roll call: honest ones are valid with the strength they have, every change of any
// field is caught by its code, and so is every cheat of host and validator that the rules name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { scaled } from "../../../tests/fuzz.test-kit.ts";
import { bytesToHex, concatBytes, equalBytes } from "../../protocol/bytes/bytes.ts";
import { keccakTree } from "../../protocol/hash/keccak-tree.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { encodeContainer, entriesOf } from "../../protocol/probe/container.ts";
import { signedRound, TOY_DRAND } from "../../protocol/roll-call/drand.test-kit.ts";
import { QUICKNET } from "../../protocol/roll-call/drand.ts";
import { isRollCall, rollAnswerHash, rollOps } from "../../protocol/roll-call/roll-call.ts";
import { decodeRollCallFile, makeRollCallFile, rollRandomness } from "../../protocol/roll-call/roll-file.ts";
import { answerStages, STAGES, sign } from "../hardware/honest-evidence.test-kit.ts";
import { fieldsOf } from "../hardware/tamper-list.test-kit.ts";
import type { ChainFacts, RollExpectations } from "./chain-facts.ts";
import { ROLL_TAMPER_LIST } from "./roll-tamper-list.test-kit.ts";
import {
	BEACON,
	block,
	CALLED,
	CHAIN,
	COMMITTED,
	DRAND_BEACON,
	DRAND_COMMITTED,
	DRAWN,
	EVERY,
	HOST,
	label,
	NO_CALL,
	SPEC,
	type ToyCall,
	toyCall,
	toyFacts,
} from "./toy-roll-call.test-kit.ts";
import { verifyRollCall } from "./verify-roll-call.ts";

const CALL = toyCall();
const FACTS = toyFacts(CALL);

function codeOf(file: Uint8Array, facts: ChainFacts | null = FACTS, expect?: RollExpectations): string {
	const verdict = verifyRollCall(file, facts, expect);
	return verdict.status === "valid" ? "valid" : verdict.code;
}

function decoded(file: Uint8Array = CALL.file) {
	const result = decodeRollCallFile(file);
	assert.ok(result.ok);
	return result.evidence;
}

/** The honest file with its body changed. */
function restated(change: (stated: ToyCall["stated"]) => object): Uint8Array {
	return makeRollCallFile({ ...CALL.stated, ...change(CALL.stated) }, CALL.roots, CALL.openings);
}

test("an honest file against its chain is public, and its figures are lower bounds by the chain's own clock", () => {
	const verdict = verifyRollCall(CALL.file, FACTS);
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	assert.equal(verdict.strength, "public");
	assert.deepEqual(verdict.findings, []);
	assert.equal(verdict.host, HOST.key);
	const seconds = COMMITTED.atS - CALLED.atS;
	assert.deepEqual(
		verdict.figures.map(({ name, value, unit }) => [name, value, unit]),
		[
			["gemm.int8.least", Number(rollOps(SPEC)) / seconds, "op/s"],
			["memory.held", 2 * SPEC.m * SPEC.n * SPEC.keep, "B"],
		],
	);
	assert.equal(verdict.confidence[0]!.samples, 8);
});

test("without a node, on an embedded chain, or with a contract of anybody's window, it is private and says why", () => {
	const alone = verifyRollCall(CALL.file, null);
	assert.ok(alone.status === "valid");
	assert.deepEqual([alone.strength, alone.findings.map(({ code }) => code)], ["private", ["CHAIN_UNASKED"]]);
	const home = toyCall({ chain: { ...CHAIN, id: 0x4000_0001 } });
	const embedded = verifyRollCall(home.file, toyFacts(home));
	assert.ok(embedded.status === "valid");
	assert.deepEqual([embedded.strength, embedded.findings.map(({ code }) => code)], ["private", ["CHAIN_EMBEDDED"]]);
	// The same blocks past a window of 59 s.
	const unusual = { ...FACTS, windowS: 59 };
	const other = verifyRollCall(CALL.file, unusual);
	assert.ok(other.status === "valid");
	assert.deepEqual([other.strength, other.findings.map(({ code }) => code)], ["private", ["WINDOW_UNUSUAL"]]);
	const named = verifyRollCall(CALL.file, unusual, { contract: CHAIN.contract });
	assert.ok(named.status === "valid" && named.strength === "public");
});

test("more rounds than are kept: the pass is over the newest", () => {
	const call = toyCall({ spec: { ...SPEC, rounds: 4, keep: 2 } });
	assert.equal(codeOf(call.file, toyFacts(call)), "valid");
});

test("every field of the file is in the tamper list", () => {
	const named = new Set(ROLL_TAMPER_LIST.map(({ field }) => field));
	assert.deepEqual(
		[...fieldsOf(decoded().envelope)].filter((field) => !named.has(field)),
		[],
	);
});

test("every change is caught by its code, with a node and without", () => {
	const wrong: string[] = [];
	const { envelope, attachments } = decoded();
	for (const { field, change, code, alone } of ROLL_TAMPER_LIST) {
		const copy = structuredClone(envelope);
		change(copy);
		const file = encodeContainer(copy, attachments);
		const found = [codeOf(file), codeOf(file, null)];
		if (found[0] !== code || found[1] !== alone) wrong.push(`${field}: ${found}, not ${[code, alone]}`);
	}
	assert.deepEqual(wrong, []);
});

test("the records: roots, opened leaves, digests, kept leaves", () => {
	const changed = (change: (copy: { roots: Uint8Array[]; openings: ToyCall["openings"] }) => void) => {
		const copy = { roots: CALL.roots.map((root) => root.slice()), openings: structuredClone(CALL.openings) };
		change(copy);
		return codeOf(makeRollCallFile(CALL.stated, copy.roots, copy.openings));
	};
	// biome-ignore lint/suspicious/noExplicitAny: writes into what is read-only to everybody else
	const loose = (value: unknown): any => value;
	assert.equal(
		changed(() => {}),
		"valid",
	);
	assert.equal(
		changed(({ roots }) => roots[0]!.reverse()),
		"CALL_DEVICE_OTHER",
	);
	assert.equal(
		changed(({ roots }) => void roots.pop()),
		"ROOTS_MISSING",
	);
	for (const kind of ["products", "digests", "kept"] as const) {
		assert.equal(
			changed(({ openings }) => loose(openings)[kind].pop()),
			"OPENINGS_MISSING",
		);
		assert.equal(
			changed(({ openings }) => loose(openings)[kind].push(openings[kind][0])),
			"OPENINGS_SURPLUS",
		);
		assert.equal(
			changed(({ openings }) => (loose(openings)[kind][0].leaf[9] ^= 16)),
			"ROOT_MISMATCH",
		);
		assert.equal(
			changed(({ openings }) => loose(openings)[kind][0].path.pop()),
			"PATH_LENGTH",
		);
		assert.equal(
			changed(({ openings }) => (loose(openings)[kind][0].round = 77)),
			"OPENING_PLACE",
		);
		assert.equal(
			changed(({ openings }) => (loose(openings)[kind][0].leaf = new Uint8Array(9))),
			"LEAF_LENGTH",
		);
	}
	const { envelope, attachments } = decoded();
	const repacked = (list: readonly Uint8Array[]) =>
		codeOf(encodeContainer({ ...envelope, attachments: entriesOf(list) }, list));
	assert.equal(repacked(attachments.slice(0, 3)), "ATTACHMENT_ORDER");
	assert.equal(repacked([...attachments, new Uint8Array(0)]), "ENVELOPE_SHAPE");
	assert.equal(repacked([attachments[0]!, attachments[1]!.subarray(1), ...attachments.slice(2)]), "RECORD_MALFORMED");
});

test("a host that commits to what it did not compute is caught in the bytes", () => {
	const spoiled = (spoil: (bytes: Uint8Array, round: number) => void) => {
		const call = toyCall({ spoil });
		return codeOf(call.file, toyFacts(call));
	};
	const flip = (bytes: Uint8Array) => bytes.set(bytes.map((byte) => byte ^ 1));
	assert.equal(
		spoiled((bytes, round) => round >= 0 && flip(bytes)),
		"ELEMENT_WRONG",
	);
	assert.equal(
		spoiled((bytes, round) => round === -1 && flip(bytes)),
		"DIGEST_WRONG",
	);
});

test("a block that is no roll call, a draw from another block, a block before the call", () => {
	const asked = (call: ToyCall, changes: Partial<ChainFacts> = {}) => codeOf(call.file, toyFacts(call, changes));
	const quiet = toyCall({ beacon: { kind: "block", called: NO_CALL, drawn: DRAWN } });
	assert.equal(asked(quiet, { windowS: DRAWN.atS - NO_CALL.atS }), "CALL_NONE");
	const later = toyCall({ beacon: { kind: "block", called: CALLED, drawn: block(DRAWN.number + 1) } });
	assert.equal(asked(later), "CALL_DRAW_OTHER", "the second block past the window");
	const sooner = toyCall({ beacon: { kind: "block", called: CALLED, drawn: block(DRAWN.number - 1) } });
	assert.equal(asked(sooner), "CALL_DRAW_OTHER", "a block inside the window");
	const withoutBefore = new Map([...FACTS.blocks].filter(([number]) => number !== DRAWN.number - 1));
	assert.equal(asked(CALL, { blocks: withoutBefore }), "CALL_BLOCK_OTHER", "the node does not know the block before");
	const withoutCommitted = new Map([...FACTS.blocks].filter(([number]) => number !== COMMITTED.number));
	assert.equal(asked(CALL, { blocks: withoutCommitted }), "CALL_BLOCK_OTHER");
	assert.equal(asked(CALL, { beacon: "drand" }), "CALL_BEACON_UNKNOWN");
	assert.equal(asked(CALL, { every: 0 }), "CALL_UNCOMMITTED", "no contract there");
});

test("a commitment to another tree, of another call, by somebody else, or none at all", () => {
	const [own, other] = FACTS.commitments as [ChainFacts["commitments"][0], ChainFacts["commitments"][0]];
	for (const commitments of [
		[],
		[other],
		[{ ...own, root: label("x") }],
		[{ ...own, count: own.count + 1 }],
		[{ ...own, call: 1 }],
		[{ ...own, validator: other.validator }],
	])
		assert.equal(codeOf(CALL.file, { ...FACTS, commitments }), "CALL_UNCOMMITTED");
	assert.equal(codeOf(CALL.file, { ...FACTS, commitments: [{ ...own, root: label("x") }, own] }), "valid");
});

test("the host's signature is on all of its leaves, this call, this chain and this contract", () => {
	const { beta0 } = rollRandomness(BEACON);
	const leaves = CALL.stated.host.leaves.map((leaf) => Uint8Array.from(Buffer.from(leaf, "hex")));
	const id = { chainId: CHAIN.id, contract: CHAIN.contract, call: CALL.stated.call };
	const signed = (hash: Uint8Array) =>
		codeOf(restated(({ host }) => ({ host: { ...host, signature: bytesToHex(HOST.sign(hash)) } })));
	assert.equal(signed(rollAnswerHash(id, beta0, leaves)), "valid");
	for (const hash of [
		rollAnswerHash({ ...id, call: id.call + 1 }, beta0, leaves),
		rollAnswerHash({ ...id, chainId: 1 }, beta0, leaves),
		rollAnswerHash({ ...id, contract: `0x${"00".repeat(20)}` }, beta0, leaves),
		rollAnswerHash(id, new Uint8Array(32), leaves),
		rollAnswerHash(id, beta0, leaves.slice(0, 1)),
		rollAnswerHash(id, beta0, [...leaves].reverse()),
	])
		assert.equal(signed(hash), "CALL_HOST_SIGNATURE");
	const twice = [CALL.stated.host.leaves[0]!, CALL.stated.host.leaves[0]!];
	assert.equal(codeOf(restated(({ host }) => ({ host: { ...host, leaves: twice } }))), "CALL_DEVICE_OTHER");
	// A key of small order is everybody's.
	const weak = { key: `01${"00".repeat(31)}`, sign: () => new Uint8Array(64) };
	const call = toyCall({ signer: weak });
	assert.equal(codeOf(call.file, toyFacts(call)), "CALL_HOST_SIGNATURE");
});

test("what the asker expects", () => {
	const { contract } = CHAIN;
	assert.equal(codeOf(CALL.file, FACTS, { contract, host: HOST.key, notBeforeS: CALLED.atS }), "valid");
	assert.equal(codeOf(CALL.file, FACTS, { contract: `0x${"00".repeat(20)}` }), "CALL_UNEXPECTED");
	assert.equal(codeOf(CALL.file, FACTS, { host: "00".repeat(32) }), "CALL_UNEXPECTED");
	assert.equal(codeOf(CALL.file, FACTS, { notBeforeS: CALLED.atS + 1 }), "CALL_UNEXPECTED");
});

test("a probe's file is not public", () => {
	assert.equal(codeOf(sign(answerStages(STAGES.slice(0, 1))), null), "NOT_PUBLIC");
});

test("a tree of one answer has no path", () => {
	const { leaves } = CALL.stated.host;
	const tree = keccakTree([Uint8Array.from(Buffer.from(leaves[0]!, "hex"))]);
	const stated = { index: 0, count: 1, root: bytesToHex(tree.root), path: [] };
	const commitments = [{ ...FACTS.commitments[0]!, root: stated.root, count: 1 }];
	assert.equal(
		codeOf(
			restated(() => ({ tree: stated })),
			{ ...FACTS, commitments },
		),
		"valid",
	);
});

test("drand in place of blocks: valid by its timetable, and every change of it is caught", () => {
	const drand = [TOY_DRAND];
	const call = toyCall({ beacon: DRAND_BEACON, committed: DRAND_COMMITTED });
	const facts = toyFacts(call);
	const verdict = verifyRollCall(call.file, facts, { drand });
	assert.ok(verdict.status === "valid" && verdict.strength === "public", JSON.stringify(verdict));
	assert.equal(codeOf(call.file, null, { drand }), "valid");
	assert.equal(codeOf(call.file, facts), "CALL_BEACON_UNKNOWN", "a network that nobody accepted");
	assert.equal(codeOf(call.file, { ...facts, beacon: "block" }, { drand }), "CALL_BEACON_UNKNOWN");
	const changed = (change: object, committed = call.stated.committed) =>
		codeOf(
			makeRollCallFile(
				{ ...call.stated, beacon: { ...DRAND_BEACON, ...change } as typeof DRAND_BEACON, committed },
				call.roots,
				call.openings,
			),
			facts,
			{ drand },
		);
	assert.ok(DRAND_BEACON.kind === "drand");
	const { called, drawn } = DRAND_BEACON;
	assert.equal(changed({}), "valid");
	for (const change of [{ publicKey: QUICKNET.publicKey }, { genesisS: TOY_DRAND.genesisS + 3 }, { periodS: 4 }])
		assert.match(changed(change), /^CALL_(BEACON_UNKNOWN|DRAW_OTHER|TIMES)$/);
	assert.equal(changed({ scheme: "pedersen-bls-chained" }), "ENVELOPE_SHAPE");
	assert.equal(changed({ called: { ...called, round: called.round + 1 } }), "CALL_BLOCK_OTHER");
	assert.equal(changed({ drawn: { ...drawn, round: drawn.round + 1 } }), "CALL_DRAW_OTHER");
	assert.equal(changed({ drawn: { ...drawn, signature: called.signature } }), "CALL_BEACON_WRONG");
	const pretended = { ...called, signature: signedRound(called.round + 1).signature };
	assert.match(changed({ called: pretended }), /^CALL_(NONE|BEACON_WRONG)$/);
	// Round by round: a draw that comes before the commitment, and one too many.
	const soon = signedRound(called.round + 2);
	assert.equal(changed({ drawn: soon }), "CALL_COMMITTED_LATE");
	assert.equal(changed({ drawn: signedRound(drawn.round + 1) }), "CALL_DRAW_OTHER");
	assert.equal(changed({}, block(CALLED.number)), "CALL_TIMES");
	const quiet = [1, 2, 3, 4, 5, 6, 7, 8].map((by) => signedRound(called.round - by));
	const noCall = quiet.find(({ signature }) => !isRollCall(sha256Of(Buffer.from(signature, "hex")), EVERY))!;
	const other = toyCall({
		beacon: { ...DRAND_BEACON, called: noCall, drawn: signedRound(noCall.round + 20) },
		committed: DRAND_COMMITTED,
	});
	assert.equal(codeOf(other.file, toyFacts(other), { drand }), "CALL_NONE");
});

const MUTATIONS = scaled(3000);

/** Whole numbers below a bound, the same ones in every run. */
function createRandom(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}

test(`${MUTATIONS} mutations of the file's bytes, half of them hashed anew: never valid, never an exception`, () => {
	const random = createRandom(5);
	const { envelope, attachments } = decoded();
	const seen = new Set<string>();
	const mutate = (bytes: Uint8Array): Uint8Array => {
		const copy = bytes.slice();
		const [place, kind] = [random(bytes.length), random(4)];
		if (kind === 0) copy[place]! ^= 1 << random(8);
		else if (kind === 1) return copy.subarray(0, place);
		else if (kind === 2) return concatBytes(copy.subarray(0, place), Uint8Array.of(random(256)), copy.subarray(place));
		else copy.copyWithin(random(bytes.length), place, place + 1 + random(64));
		return copy;
	};
	for (let i = 0; i < MUTATIONS; ) {
		let file: Uint8Array;
		if (random(2) === 0) file = mutate(CALL.file);
		else {
			const list = [...attachments];
			const which = random(list.length);
			list[which] = mutate(list[which]!);
			file = encodeContainer({ ...envelope, attachments: entriesOf(list) }, list);
		}
		if (equalBytes(file, CALL.file)) continue;
		i += 1;
		const code = codeOf(file);
		seen.add(code);
		assert.ok(code !== "valid" && code !== "INTERNAL", `mutation ${i}: ${code}`);
	}
	for (const code of ["CALL_DEVICE_OTHER", "ROOT_MISMATCH", "RECORD_MALFORMED", "ATTACHMENT_HASH", "ENVELOPE_SPELLING"])
		assert.ok(seen.has(code), `no mutation ended in ${code}`);
});
