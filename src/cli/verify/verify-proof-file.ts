// `assay verify PROOF`: a proof of a segment of training, docs/zk.md, and whether bytes at hand are those
// that it is about; and `assay verify FOLDER`, all segments of a run one after the other. Not here: the check
// itself (src/verify/zk/).
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import { bindByEngine, type HeldFiles } from "../../provider/proofs/bind-by-engine.ts";
import { type ByteFault, bindBytes } from "../../verify/zk/bind-bytes.ts";
import { type OpenedProof, openProofFile, type ProofVerdict, proofVerdict } from "../../verify/zk/proof-file.ts";
import { gapBetween } from "../../verify/zk/statement.ts";
import { bytesOf, bytesToElements, elementCount } from "../../work/operators/tensor-type.ts";
import type { Program, Tensor } from "../../work/program/shapes.ts";
import type { CliIo } from "../command.ts";
import { readEvidence, readInput } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { startJobEngine } from "../job-engine.ts";
import { formatDuration } from "../print/format.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";

export interface ProofOptions {
	readonly data?: string | undefined;
	readonly initial?: string | undefined;
	readonly result?: string | undefined;
	readonly dev: boolean;
	readonly json: boolean;
}

const MOST_BYTES = 2 ** 31;
/** More than this an engine compares, where there is one: it takes a fiftieth of the time. */
const FEW_BYTES = 2 ** 23;
const HINT =
	"Give the tensors' elements, little-endian, one tensor after the other in the program's order; docs/zk.md §6.";

/** The bytes of these tensors, from one file. */
function tensorsOf(path: string, tensors: readonly Tensor[]): Uint8Array[] {
	const bytes = readInput(path, MOST_BYTES, HINT);
	const sizes = tensors.map(({ type, dims }) => elementCount(dims) * bytesOf(type));
	const total = sizes.reduce((sum, one) => sum + one, 0);
	if (bytes.length !== total)
		throw new AssayError("TENSOR_SIZE", `${path} has ${bytes.length} bytes; the tensors have ${total}`, { hint: HINT });
	let at = 0;
	return sizes.map((size) => {
		at += size;
		return bytes.slice(at - size, at);
	});
}

const inputsOf = ({ tensors }: Program) =>
	["features", "labels"].map((name) => tensors.find((one) => one.name === name)!);
const statesOf = ({ tensors }: Program) => tensors.filter(({ kind }) => kind === "state");

function heldFiles(program: Program, { data, initial, result }: ProofOptions): HeldFiles {
	const [features, labels] = data === undefined ? [] : tensorsOf(data, inputsOf(program));
	return {
		...(features !== undefined && labels !== undefined && { data: [features, labels] }),
		...(initial !== undefined && { before: tensorsOf(initial, statesOf(program)) }),
		...(result !== undefined && { after: tensorsOf(result, statesOf(program)) }),
	};
}

async function faultOf(opened: OpenedProof, held: HeldFiles, io: CliIo): Promise<ByteFault | null> {
	const { program, plan, statement, claims } = opened;
	const { data, before, after } = held;
	const size = [...(data ?? []), ...(before ?? []), ...(after ?? [])].reduce((sum, { length }) => sum + length, 0);
	if (size > FEW_BYTES) {
		const engine = await startJobEngine({ device: undefined, engine: undefined }, io, null).catch(() => null);
		if (engine !== null)
			try {
				return await bindByEngine(opened, held, engine);
			} finally {
				await engine.close();
			}
	}
	const elements = (tensors: readonly Tensor[], all: readonly Uint8Array[]) =>
		all.map((bytes, i) => bytesToElements(bytes, tensors[i]!.type, elementCount(tensors[i]!.dims))!);
	const [features, labels] = data === undefined ? [] : elements(inputsOf(program), data);
	return bindBytes(program, plan, statement, claims, {
		...(features !== undefined && labels !== undefined && { data: { features, labels } }),
		...(before !== undefined && { before: elements(statesOf(program), before) }),
		...(after !== undefined && { after: elements(statesOf(program), after) }),
	});
}

function proofLines(verdict: ProofVerdict, paint: Paint): string[] {
	if (verdict.status === "invalid") {
		const { meaning, hint } = codes[verdict.code];
		const head = `${paint.bad(paint.strong("INVALID"))}  ${verdict.code}`;
		return [head, `  ${verdict.detail}`, `  ${meaning}`, paint.dim(`  ${hint}`)];
	}
	const { statement, bound, isDev } = verdict;
	const names = { data: "--data", before: "--initial", after: "--result" } as const;
	const missing = (["data", "before", "after"] as const).filter((one) => !bound.includes(one));
	const last = statement.firstStep + statement.steps - 1;
	return [
		`${paint.good(paint.strong("VALID"))}  steps ${statement.firstStep} to ${last} of the program, for these commitments`,
		`  program  ${statement.program}`,
		`  state    ${statement.stateBefore} before`,
		`           ${statement.stateAfter} after`,
		...(missing.length === 0
			? ["  bytes    data and weights at hand are those of the proof"]
			: [
					`  ${paint.unsure("note")}  not compared with bytes: whose commitments these are is not shown without ${missing.map((one) => names[one]).join(", ")}`,
				]),
		...(isDev
			? [`  ${paint.unsure("note")}  SRS_DEV: over powers of a known τ; anybody can prove anything over them`]
			: []),
	];
}

export async function verifyTrainingProof(
	file: Uint8Array,
	path: string,
	values: ProofOptions,
	io: CliIo,
): Promise<number> {
	const { clockUs } = realEnvironment();
	const opened = openProofFile(file, { isDevAllowed: values.dev });
	const held = opened.status === "valid" ? heldFiles(opened.program, values) : {};
	const verdict: ProofVerdict =
		opened.status === "valid" ? proofVerdict(opened, await faultOf(opened, held, io), held) : opened;
	const tookUs = clockUs();
	const shown = verdict.status === "valid" ? { ...verdict, plan: undefined } : verdict;
	printResult(values, io, { ...shown, file: path, fileBytes: file.length, verifyUs: tookUs }, (paint) => {
		const took = paint.dim(`  ${path}: ${file.length} bytes checked in ${formatDuration(tookUs)}`);
		return [...proofLines(verdict, paint), "", took, ""].join("\n");
	});
	return exitCodes[verdict.status].code;
}

/** `segment-N.proof` of a folder, as `assay job prove` writes them, by number. */
function segmentFiles(folder: string): string[] {
	const numbers = readdirSync(folder).flatMap(
		(name) => /^segment-([1-9][0-9]{0,8})\.proof$/.exec(name)?.slice(1, 2) ?? [],
	);
	if (numbers.length === 0)
		throw new AssayError("FILE_UNREADABLE", `cannot read ${folder}: it is a folder without segment-N.proof`, {
			hint: "Give a file, or the folder that `assay job prove` wrote.",
		});
	return numbers
		.map(Number)
		.toSorted((a, b) => a - b)
		.map((number) => join(folder, `segment-${number}.proof`));
}

type Refusal = Extract<ProofVerdict, { status: "invalid" }>;

/**
 * All segments, each where the one before it ended; null with the first and the last of them: nothing is
 * wrong.
 */
function chainOf(
	files: readonly string[],
	isDevAllowed: boolean,
): Refusal | readonly [first: OpenedProof, last: OpenedProof] {
	let [first, last]: [OpenedProof | null, OpenedProof | null] = [null, null];
	for (const path of files) {
		const opened = openProofFile(readEvidence(path), { isDevAllowed });
		if (opened.status === "invalid") return { ...opened, detail: `${path}: ${opened.detail}` };
		const gap = last === null ? null : gapBetween(last.statement, opened.statement);
		if (gap !== null) return { status: "invalid", code: gap.code, detail: `${path}: ${gap.detail}` };
		first ??= opened;
		last = opened;
	}
	return [first!, last!];
}

/**
 * The data of all segments is that of the first, and what is between them was compared already: three
 * comparisons are enough for any number of segments.
 */
export async function verifyTrainingRun(folder: string, values: ProofOptions, io: CliIo): Promise<number> {
	const { clockUs } = realEnvironment();
	const files = segmentFiles(folder);
	const chain = chainOf(files, values.dev);
	const { data, initial, result, ...rest } = values;
	let verdict: ProofVerdict;
	if ("status" in chain) verdict = chain;
	else {
		const [first, last] = chain;
		const [start, end] = [
			heldFiles(first.program, { ...rest, data, initial }),
			heldFiles(last.program, { ...rest, result }),
		];
		const fault = (await faultOf(first, start, io)) ?? (await faultOf(last, end, io));
		const { firstStep, stateBefore } = first.statement;
		const { stateAfter, pointsAfter } = last.statement;
		const steps = last.statement.firstStep + last.statement.steps - firstStep;
		const statement = { ...first.statement, steps, stateBefore, stateAfter, pointsAfter };
		verdict = proofVerdict({ ...first, statement }, fault, { ...start, ...end });
	}
	const tookUs = clockUs();
	const shown = verdict.status === "valid" ? { ...verdict, plan: undefined } : verdict;
	printResult(values, io, { ...shown, folder, segments: files.length, verifyUs: tookUs }, (paint) => {
		const took = paint.dim(`  ${folder}: ${files.length} segments checked in ${formatDuration(tookUs)}`);
		return [...proofLines(verdict, paint), "", took, ""].join("\n");
	});
	return exitCodes[verdict.status].code;
}
