// One fraud file of every kind, for tests: made by the real search against a toy run of the mixed sample
// whose session cheats, or whose answers are forged (src/validator/jobs/forged-answers.test-kit.ts).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContractAddresses } from "../../../chain/contracts/contracts.ts";
import { signAnswer } from "../../../chain/contracts/disputes.ts";
import { accountOf } from "../../../chain/sending/sign.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { TOY_SAMPLES, toyOpener, toyRun } from "../../../provider/jobs/toy-run.test-kit.ts";
import { readRunFolder } from "../../../store/runs/run-folder.ts";
import { forgedAnswers, forgedTrace } from "../../../validator/jobs/forged-answers.test-kit.ts";
import { answersOf, openRun, replayOf } from "../../../validator/jobs/open-run.ts";
import { readElement } from "../../../work/operators/tensor-type.ts";
import type { MapOp } from "../../../work/program/shapes.ts";
import { sectionsOf } from "../../../work/trace/layout.ts";
import { leafOf, tensorTree } from "../../../work/trace/tensor-tree.ts";
import type { Answers } from "../answers.ts";
import { narrow } from "../next-question.ts";
import { decodeFraudFile, makeFraudFile, signFraudFile } from "./fraud-file.ts";
import { answersOfFile } from "./fraud-proof.ts";

const SEGMENT = 2;
const DISPUTES: Hex = `0x${"d1".repeat(20)}`;
const ACCUSED = accountOf(`0x${"ac".repeat(32)}`);

/** The same file with signatures of the accused under every answer that it rests on. */
export async function signedSample(file: Uint8Array): Promise<Uint8Array> {
	const decoded = decodeFraudFile(file);
	if (!decoded.ok) throw new Error(decoded.detail);
	const { accused, claim } = decoded.evidence.envelope.body;
	const contracts = { addresses: { chainId: Number(claim.chainId), disputes: DISPUTES } as ContractAddresses };
	const signatures: string[] = [];
	for (const answer of answersOfFile(file)!)
		signatures.push((await signAnswer(ACCUSED, contracts, { claim: `0x${accused}`, ...answer })).slice(2));
	const account = ACCUSED.address.slice(2).toLowerCase();
	return signFraudFile(file, { disputes: DISPUTES.slice(2), account, signatures })!;
}

/** Two answers to one question about a sample's claim. */
export function twoWordsSample(file: Uint8Array): Promise<Uint8Array> {
	const decoded = decodeFraudFile(file);
	if (!decoded.ok) throw new Error(decoded.detail);
	const { format: _, version: __, ...body } = decoded.evidence.envelope.body;
	const fault = { kind: "words", question: "0a".repeat(32), answers: ["01".repeat(32), "02".repeat(32)] } as const;
	return signedSample(makeFraudFile({ ...body, segment: body.claim.first, trace: null, fault, signed: null }, []));
}

/** By name, "element chunk", "wire state" and so on. */
export async function fraudSamples(): Promise<Map<string, Uint8Array>> {
	const scratch = mkdtempSync(join(tmpdir(), "assay-fraud-"));
	try {
		return await made(scratch);
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

async function made(scratch: string): Promise<Map<string, Uint8Array>> {
	const sample = TOY_SAMPLES.mixed!();
	const { program } = sample;
	const files = new Map<string, Uint8Array>();
	let folders = 0;
	const side = async (cheat?: { segment: number; step: number; op: number; element: number }) => {
		const path = join(scratch, `run${folders++}`);
		await toyRun(path, { sample, segments: 3, ...(cheat && { cheat }) });
		const folder = readRunFolder(path);
		const run = await openRun(folder);
		return { run, answers: answersOf(run, replayOf(run, toyOpener(folder.storePath, cheat), 0), "journal") };
	};
	const honest = await side();
	const accuse = async (
		name: string,
		cheat: { step: number; op: number; element: number },
		lie?: (said: Answers) => Partial<Answers>,
	) => {
		const liar = await side({ segment: SEGMENT, ...cheat });
		const accused = { ...liar.answers, ...lie?.(liar.answers) };
		const file = await narrow(liar.run, honest.answers, accused, SEGMENT);
		if (file === null) throw new Error(`${name}: nothing was found`);
		files.set(name, file);
	};
	const opOf = (operator: string, where: (op: (typeof program.step)[number]) => boolean = () => true) =>
		program.step.findIndex((op) => op.operator === operator && where(op));
	const walk = opOf("map", (op) => op.operator === "map" && op.code.turns > 0);
	const plain = opOf("map", (op) => op.operator === "map" && op.code.turns === 0);
	/**
	 * Says the value that its output has, and so many numbers more that are false: place and depth of the path.
	 */
	const saying =
		(...lies: readonly { readonly at: number; readonly depth: number }[]) =>
		(said: Answers): Partial<Answers> => ({
			transcript: async (place, element, path) => {
				const words = [...(await said.transcript(place, element, path))];
				const { type } = program.step[place.op]!.output;
				const { leaf, at } = leafOf(element, type);
				if (path.length === 0) words[0] = readElement((await said.leaf(place, "output", leaf)).bytes, type, at);
				for (const lie of lies) if (lie.depth === path.length) words[(lie.at + words.length) % words.length]! ^= 1n;
				return words;
			},
		});
	await accuse("element chunk", { step: 1, op: opOf("matmul"), element: 3 }, saying());
	await accuse("element chunk of one row", { step: 0, op: opOf("reduce"), element: 2 }, saying());
	await accuse("element chunk of a scattered sum", { step: 0, op: opOf("scatter_add"), element: 1 }, saying());
	await accuse("element value", { step: 1, op: plain, element: 2 });
	await accuse("element end", { step: 1, op: plain, element: 2 }, saying());
	await accuse("element load before", { step: 1, op: plain, element: 2 }, saying({ at: 1, depth: 0 }));
	await accuse("element instruction after", { step: 1, op: walk, element: 7 }, saying({ at: -1, depth: 0 }));
	// Of the turns the first mark is false; then what the one turn says, or nothing.
	const walking = program.step[walk] as MapOp;
	const first = walking.code.before.length;
	const mark = { at: 1 + first, depth: 0 };
	const { bodyFrom } = sectionsOf(walking);
	await accuse("element turn", { step: 1, op: walk, element: 7 }, saying(mark));
	for (const [name, at] of [
		["start", first],
		["instruction body", bodyFrom],
		["load body", bodyFrom + walking.code.body.findLastIndex(({ op }) => op === "load")],
		["instruction before, of a turn", 0],
	] as const)
		await accuse(`element ${name}`, { step: 1, op: walk, element: 7 }, saying(mark, { at, depth: 2 }));
	files.set("element filling", await filled());
	const wanted = new Map([
		["wire op", "step 0, op 9 reads op"],
		["wire writer", "step 1, op 7 reads scratch"],
		["wire constant", "reads constant"],
		["wire input", "reads input"],
		["wire state", "step 0, op 8 reads state"],
		["wire state without a writer", "step 1, op 8 reads state"],
		["wire zero", "step 0, op 7 reads scratch"],
		["end op", "kept after the segment"],
		["end without a writer", "noise after the segment"],
		["start", "a state before the first segment"],
		["result", "another result"],
	]);
	const forged = forgedAnswers(honest.run, honest.answers);
	for (const [name, words] of wanted) {
		const found = forged.find(([what]) => what.includes(words));
		if (found === undefined) throw new Error(`${name}: ${forged.map(([what]) => what).join("; ")}`);
		files.set(name, (await narrow(honest.run, honest.answers, await found[1]()))!);
	}
	return files;

	/** A leaf whose last byte, after the tensor's end, is not zero. */
	async function filled(): Promise<Uint8Array> {
		const op = opOf("reduce");
		const place = { segment: SEGMENT, step: 0, op };
		const { bytes } = await honest.answers.leaf(place, "output", 0);
		const leaf = bytes.map((byte, i) => (i === 1023 ? 1 : byte));
		const { root } = tensorTree(new Int8Array(leaf));
		const forgedLeaf = forgedTrace(honest.run, honest.answers, (one) =>
			one.step === 0 && one.op === op ? { ...one, output: root } : one,
		);
		const accused = { ...(await forgedLeaf), leaf: async () => ({ bytes: leaf, path: [] }) };
		return (await narrow(honest.run, honest.answers, accused))!;
	}
}
