// Forty files and more that people may hand to a verifier: real ones of a GPU, toys of every kind, signed
// lies, cut and changed ones, what says nothing either way, and what is no evidence at all. What each must
// end in is not written here: told-alike.test-kit.ts compares what is said of them.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { utf8ToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { EvidenceBody, TrainSpec } from "../../src/protocol/probe/evidence.ts";
import { type AnsweredChallenge, encodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import {
	answerStages,
	countersigned,
	NONCES,
	partsOf,
	SECRET,
	STAGES,
	sign,
	VERIFIER,
} from "../../src/verify/hardware/honest-evidence.test-kit.ts";
import { ANSWERED, spoiled, writable } from "../../src/verify/hardware/spoiled-evidence.test-kit.ts";
import { RECORD_TAMPER_LIST, TAMPER_LIST } from "../../src/verify/hardware/tamper-list.test-kit.ts";
import { tamperedFrauds } from "../../src/verify/optimistic/fraud/fraud-tampers.test-kit.ts";
import { CHEATS } from "../toy/cheats.ts";
import { probeToy } from "../toy/probe-toy.ts";
import { h200AsTwo, partOfH200 } from "./changed-h200.test-kit.ts";

export interface SomeFile {
	readonly name: string;
	readonly bytes: Uint8Array;
}

const root = resolve(import.meta.dirname, "../..");
const read = (path: string): Uint8Array => new Uint8Array(readFileSync(join(root, path)));
const file = (name: string, bytes: Uint8Array): SomeFile => ({ name: `${name}.assay`, bytes });

const REAL = ["h200", "h200-roll-call"];
const TRAIN: TrainSpec = {
	...{ kind: "train", device: 1, layers: 1, width: 16, heads: 2, context: 8, batch: 2 },
	...{ rounds: 4, draws: 2, samples: 1 },
};

function flipped(bytes: Uint8Array, at: number): Uint8Array {
	const changed = bytes.slice();
	changed[at < 0 ? bytes.length + at : at]! ^= 1;
	return changed;
}

/** Names that the figures leave possible, that they do not, and that are markup; signed anew. */
function renamed(): SomeFile[] {
	const named = (of: Uint8Array, name: string): Uint8Array => {
		const { envelope, attachments } = partsOf(of);
		const { claim } = envelope.body;
		const devices = claim.devices.map((one) => (one.kind === "gpu" ? { ...one, name } : one));
		return encodeEvidence({ ...envelope.body, claim: { ...claim, devices } }, attachments, VERIFIER);
	};
	const h200 = partOfH200();
	const names = ["NVIDIA H200 NVL", "NVIDIA H100 80GB HBM3", "NVIDIA L4", "NVIDIA B200"];
	const files = names.map((name, i) => file(`named-${i}`, named(h200, name)));
	return [...files, file("markup", named(sign(ANSWERED), '<img src=x onerror="window.hit=1">'))];
}

/** A lying verifier's files: one of each code, and of what only a signature protects. */
function tampered(): SomeFile[] {
	const seen = new Set<string>();
	const fresh = (code = "free") => seen.size < 20 && !seen.has(code) && seen.add(code).size > 0;
	// The toys here have no beacon.
	const usable = TAMPER_LIST.filter(({ field, refigure, form }) => !refigure && !form && !field.includes("beacon"));
	const envelopes = usable
		.filter(({ code }) => fresh(code))
		.map(({ change }, i) => {
			const { envelope, attachments } = structuredClone(partsOf(sign(ANSWERED)));
			change(envelope);
			return file(`tampered-${i}`, encodeEvidence(envelope.body, attachments, VERIFIER));
		});
	const records = RECORD_TAMPER_LIST.filter(({ code }) => fresh(code)).map(({ change }, i) =>
		file(`records-${i}`, sign(spoiled(change))),
	);
	return [...envelopes, ...records];
}

/** Where a provider fell silent, said no, hung up, or gave no word. */
function unfinished(): SomeFile[] {
	const last = ANSWERED.length - 1;
	const without = (index: number, end: AnsweredChallenge["end"]) => (all: AnsweredChallenge[]) => {
		all.length = index + 1;
		Object.assign(writable(all[index]), { end, opens: [], ...(end === "refused" ? { roots: [] } : {}) });
	};
	const cut = (all: AnsweredChallenge[]) => {
		writable(all[last]).opens[1] = { ...all[last]!.opens[1]!, end: "cut", records: [] };
	};
	const answered = answerStages(STAGES, null, SECRET, () => {}, NONCES);
	const { countersign, link } = countersigned(answered);
	const fewer = { ...countersign!, stages: countersign!.stages.slice(0, -1) };
	const wordless = answered.map((one, i) => (i === last ? { ...one, opens: [] } : one));
	return [
		...(["refused", "silent", "garbage", "cut"] as const).map((end) => file(end, sign(spoiled(without(5, end))))),
		file("cut-chase", sign(spoiled(cut))),
		file("wordless", sign(wordless, { countersign: fewer, link } as Partial<EvidenceBody>)),
	];
}

async function cheated(): Promise<SomeFile[]> {
	const gemm = { kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, keep: 2, samples: 16 } as const;
	const stages = [[{ ...gemm, rounds: 2 }]];
	const names = Object.keys(CHEATS).filter((name) => ["smaller-k", "repeated-round"].includes(name));
	return Promise.all(
		names.map(async (cheat) => file(cheat, (await probeToy({ cheat, gpus: 1, cpus: 0, stages })).evidence!)),
	);
}

/** `frauds`: fraud files by their names. */
export async function evidenceFiles(frauds: ReadonlyMap<string, Uint8Array>): Promise<readonly SomeFile[]> {
	const [h200, toy] = [read("vectors/h200.assay"), sign(ANSWERED)];
	const nonced = answerStages(STAGES, null, SECRET, () => {}, NONCES);
	const fraud = frauds.get("element chunk")!;
	const proof = read("vectors/mlp-segment.proof");
	const receipt = { seal: "00".repeat(260), imageId: "00".repeat(32), journal: "" };
	return [
		...REAL.map((name) => file(name, read(`vectors/${name}.assay`))),
		file("part", partOfH200()),
		file("as-two", h200AsTwo()),
		file("four-cpus", read("vectors/devices/four-cpus.assay")),
		file("toy", toy),
		file("countersigned", sign(nonced, countersigned(nonced))),
		file("trained", sign(answerStages([[TRAIN]]))),
		file("one-gemm", sign(answerStages([[STAGES[0]![0]!]]))),
		file("no-gpu", sign(answerStages([[STAGES[0]![1]!]]))),
		...renamed(),
		...tampered(),
		...unfinished(),
		...(await cheated()),
		file("flipped", flipped(h200, -100)),
		file("flipped-head", flipped(h200, 90)),
		file("cut-short", toy.subarray(0, 1000)),
		file("cut-in-half", h200.subarray(0, h200.length >> 1)),
		file("longer", Buffer.concat([toy, Buffer.from([0])])),
		file("roll-call-flipped", flipped(read("vectors/h200-roll-call.assay"), -100)),
		file("empty", new Uint8Array(0)),
		{ name: "read-me.md", bytes: read("README.md") },
		{ name: "<img src=x>.json", bytes: utf8ToBytes('{"a": 1}') },
		{ name: "claim.fraud", bytes: fraud },
		{ name: "changed.fraud", bytes: [...tamperedFrauds(fraud)][0]!.file },
		{ name: "segment-1.proof", bytes: proof },
		{ name: "changed.proof", bytes: flipped(proof, -1) },
		{ name: "receipt.json", bytes: utf8ToBytes(JSON.stringify(receipt)) },
	];
}
