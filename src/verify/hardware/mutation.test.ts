// Random mutations of honest evidence (10⁵ and more in the deep tier): never an exception, never valid, never
// the last-resort guard. Raw ones change the file's bytes. Structured ones change a value, a record or the
// order of a list, and are packed, hashed and signed anew with the verifier's own key, so that the checks
// behind the signature must catch them. Left out of the structured ones are the fields that the tamper list
// calls free, and times: they are the verifier's own word, and a changed one inside its bounds is another
// honest file. These are mutated too, but keep the old signature or get a stranger's.
import assert from "node:assert/strict";
import { createPrivateKey, sign as nodeSign } from "node:crypto";
import { test } from "node:test";
import { scaled } from "../../../tests/fuzz.test-kit.ts";
import { bytesToHex, concatBytes, equalBytes } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { type Envelope, type EvidenceBody, envelopeShape } from "../../protocol/probe/evidence.ts";
import { signedHash, writeFile } from "../../protocol/probe/evidence-codec.ts";
import { deriveFigures } from "./derive-figures.ts";
import { answerStages, partsOf, STAGES, STRANGER, sign, VERIFIER } from "./honest-evidence.test-kit.ts";
import { type Expectations, verifyEvidence } from "./verify.ts";

const RAW = scaled(8000);
const STRUCTURED = scaled(1000);

/** For raw bytes a smaller file does as well, and is read sooner. */
const SMALL_FILE = sign(answerStages(STAGES.slice(0, 2)));
const FILE = sign(answerStages(STAGES));
const { envelope: ENVELOPE, attachments: ATTACHMENTS } = partsOf(FILE);
const { probe } = ENVELOPE.body;
const EXPECT: Expectations = { signers: [VERIFIER.key], probeId: probe.id, target: probe.target };

/** Whole numbers below a bound; the same ones in every run, so that a failure can be met again. */
function createRandom(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
	};
}

const seen = new Map<string, number>();

function mustBeRefused(file: Uint8Array, what: string): void {
	const verdict = verifyEvidence(file, EXPECT);
	// If the verifier itself says that the connection ended before the last opening, nothing is proven (N15).
	if (what.endsWith("complete → cut") && verdict.status === "inconclusive") {
		assert.equal(verdict.code, "OPENING_CUT", what);
		return;
	}
	assert.equal(verdict.status, "invalid", what);
	if (verdict.status !== "invalid") return;
	assert.notEqual(verdict.code, "INTERNAL", `${what}: ${verdict.detail}`);
	assert.notEqual(verdict.where, "", what);
	seen.set(verdict.code, (seen.get(verdict.code) ?? 0) + 1);
}

function mutateBytes(bytes: Uint8Array, random: (below: number) => number): Uint8Array {
	const at = random(bytes.length);
	const copy = bytes.slice();
	switch (random(7)) {
		case 0:
			copy[at]! ^= 1 << random(8);
			return copy;
		case 1:
			copy[at] = random(256);
			return copy;
		case 2:
			return copy.subarray(0, at);
		case 3:
			return concatBytes(copy.subarray(0, at), Uint8Array.of(random(256)), copy.subarray(at));
		case 4: {
			const end = Math.min(bytes.length, at + 1 + random(64));
			return concatBytes(copy.subarray(0, at), copy.subarray(end));
		}
		case 5: {
			const other = random(bytes.length);
			[copy[at], copy[other]] = [copy[other]!, copy[at]!];
			return copy;
		}
		default: {
			const length = 1 + random(64);
			copy.copyWithin(random(bytes.length), at, Math.min(bytes.length, at + length));
			return copy;
		}
	}
}

test(`${RAW} raw mutations`, () => {
	assert.equal(verifyEvidence(SMALL_FILE, EXPECT).status, "valid");
	const random = createRandom(1);
	for (let i = 0; i < RAW; ) {
		const file = mutateBytes(SMALL_FILE, random);
		if (equalBytes(file, SMALL_FILE)) continue;
		i += 1;
		mustBeRefused(file, `raw mutation ${i}`);
	}
	for (const code of ["ATTACHMENT_HASH", "SIGNATURE_WRONG", "ENVELOPE_SPELLING", "FILE_TRUNCATED", "FILE_SURPLUS"])
		assert.ok(seen.has(code), `no mutation ended in ${code}`);
});

// biome-ignore lint/suspicious/noExplicitAny: mutations write into what is read-only to everybody else
type Loose = any;

/** Node's Ed25519 is quick and gives the same signatures; the check uses the verifier's own code. */
const KEY = createPrivateKey({
	key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), new Uint8Array(32).fill(11)]),
	format: "der",
	type: "pkcs8",
});

function pack(
	envelope: Envelope,
	attachments: readonly Uint8Array[],
	signature: "own" | "old" | "stranger",
): Uint8Array {
	const entries = attachments.map((bytes) => ({ bytes: bytes.length, sha256: bytesToHex(sha256Of(bytes)) }));
	const hash = signedHash(entries, envelope.body);
	const signed =
		signature === "old"
			? envelope.signature
			: signature === "own"
				? { key: VERIFIER.key, value: nodeSign(null, hash, KEY).toString("hex") }
				: { key: STRANGER.key, value: bytesToHex(STRANGER.sign(hash)) };
	return writeFile({ attachments: entries, body: envelope.body, signature: signed }, attachments);
}

interface Spot {
	readonly holder: Loose;
	readonly key: string | number;
	readonly path: string;
}

function spotsOf(value: Loose, path: string): Spot[] {
	return Object.keys(value).flatMap((key) => {
		const here = { holder: value, key, path: `${path}.${key}` };
		return typeof value[key] === "object" && value[key] !== null ? spotsOf(value[key], here.path) : [here];
	});
}

/** The verifier's own word, see above. */
const FREE = /^body\.(claim|link|probe|readings)\.|AtUs$/;

function otherValue(value: Loose, random: (below: number) => number): Loose {
	if (typeof value === "number") {
		const near = value + [1, -1, 2, -2, 128, -128, 512, 1000][random(8)]!;
		return [near, random(2 ** 32), 0, value * 2, Number.MAX_SAFE_INTEGER][random(5)]!;
	}
	if (typeof value === "boolean") return !value;
	if (value === null) return 0;
	const words = [
		"complete",
		"stopped",
		"refused",
		"silent",
		"cut",
		"garbage",
		"leaves",
		"digests",
		"fp16",
		"int8",
		"fp64",
		"gemm",
		"copy",
		"",
	];
	if (random(2) === 0) return words[random(words.length)];
	const at = random(value.length + 1);
	return value.slice(0, at) + "0123456789abcdef"[random(16)] + value.slice(at + 1);
}

/** Changes one value of the body and says which signature the file gets, and what was changed. */
function mutateValue(envelope: Loose, random: (below: number) => number): ["own" | "old" | "stranger", string] {
	const spots = spotsOf(envelope.body, "body");
	const { holder, key, path } = spots[random(spots.length)]!;
	const before = holder[key];
	holder[key] = otherValue(before, random);
	const signature = FREE.test(path) ? (random(2) === 0 ? "old" : "stranger") : "own";
	return [signature, `${path}: ${before} → ${holder[key]}`];
}

/** Drops, doubles or swaps items of a list of the body. */
function mutateList(envelope: Loose, random: (below: number) => number): string {
	const { body } = envelope;
	const lists = [body.challenges, body.figures, ...body.challenges.map(({ opens }: Loose) => opens)];
	const list = lists[random(lists.length)];
	const [at, other] = [random(list.length), random(list.length)];
	const kind = random(3);
	if (kind === 0) list.splice(at, 1);
	else if (kind === 1) list.splice(other, 0, structuredClone(list[at]));
	else [list[at], list[other]] = [list[other], list[at]];
	return `${["drop", "double", "swap"][kind]} ${at}, ${other} of list ${lists.indexOf(list)}`;
}

/** Root records hold times, which are the verifier's word: bytes 4 … 11 of each are left alone. */
function mutateAttachment(
	attachments: Uint8Array[],
	isRoots: (i: number) => boolean,
	random: (below: number) => number,
): string {
	const i = random(attachments.length);
	const kind = random(4);
	if (kind === 0) {
		const other = random(attachments.length);
		[attachments[i], attachments[other]] = [attachments[other]!, attachments[i]!];
		return `attachments ${i} and ${other} swapped`;
	}
	let changed = mutateBytes(attachments[i]!, random);
	if (isRoots(i) && changed.length === attachments[i]!.length)
		changed = changed.map((byte, at) => (at % 44 >= 4 && at % 44 < 12 ? attachments[i]![at]! : byte));
	attachments[i] = changed;
	return `bytes of attachment ${i}`;
}

test("the honest file opens a late round of every challenge", () => {
	// A root after which nothing is opened is caught by no check: that is what sampling means. So the kit has
	// none.
	for (const { roots, opens } of answerStages(STAGES))
		assert.ok(Math.max(...opens[0]!.records.map(({ round }) => round)) >= roots.length - 2);
});

/** A chase without a hop has no figures: then they stay, and the check of its spec must catch it. */
function refigured(body: EvidenceBody, attachments: readonly Uint8Array[]): EvidenceBody["figures"] {
	try {
		return deriveFigures(body, attachments);
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		return body.figures;
	}
}

test(`${STRUCTURED} structured mutations, packed, hashed and signed anew`, () => {
	const random = createRandom(3);
	const rootsAt = new Set(ENVELOPE.body.challenges.map(({ roots }) => roots));
	seen.clear();
	for (let i = 0; i < STRUCTURED; ) {
		const envelope = structuredClone(ENVELOPE) as Loose;
		const attachments = [...ATTACHMENTS];
		let signature: "own" | "old" | "stranger" = "own";
		let what = "";
		const kind = random(4);
		if (kind <= 1) [signature, what] = mutateValue(envelope, random);
		else if (kind === 2) what = mutateList(envelope, random);
		else what = mutateAttachment(attachments, (at) => rootsAt.has(at), random);
		// Half of them with figures that fit the change, so that the figures are not what gives it away.
		if (random(2) === 0 && envelopeShape(envelope, "") === null)
			envelope.body.figures = refigured(envelope.body, attachments);
		const file = pack(envelope, attachments, signature);
		if (equalBytes(file, FILE)) continue;
		i += 1;
		mustBeRefused(file, `structured mutation ${i}: ${what}`);
	}
	// The rarest takes some hundreds of cases.
	const rare = STRUCTURED < 1000 ? [] : ["LANE_WRONG"];
	for (const code of [
		"ROOT_MISMATCH",
		"OPENING_PLACE",
		"FIGURES_MISMATCH",
		"ELEMENT_WRONG",
		"SIGNATURE_WRONG",
		...rare,
	])
		assert.ok(seen.has(code), `no mutation ended in ${code}`);
});
