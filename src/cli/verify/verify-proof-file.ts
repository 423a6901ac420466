// `assay verify PROOF`: a proof of a segment of training, docs/zk.md, and whether bytes at hand are those
// that it is about; and `assay verify FOLDER`, all segments of a run one after the other. Not here: the check
// itself (src/verify/zk/).
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { equalBytes } from "../../protocol/bytes/bytes.ts";
import { bindByEngine, type HeldFiles } from "../../provider/proofs/bind-by-engine.ts";
import { type ByteFault, bindBytes } from "../../verify/zk/bind-bytes.ts";
import { firstWeights, OTHER_START } from "../../verify/zk/first-weights.ts";
import { type OpenedProof, openProofFile, type ProofVerdict, proofVerdict } from "../../verify/zk/proof-file.ts";
import { inconclusive, invalid, type Refused } from "../../verify/zk/refused.ts";
import { gapBetween, type SegmentStatement } from "../../verify/zk/statement.ts";
import { bytesOf, bytesToElements, elementCount, elementsToBytes } from "../../work/operators/tensor-type.ts";
import type { Program, Tensor } from "../../work/program/shapes.ts";
import type { CliIo } from "../command.ts";
import { readEvidence, readInput } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { startJobEngine } from "../job-engine.ts";
import { formatDuration } from "../print/format.ts";
import { printResult } from "../print/print-result.ts";
import { coverOf, jobsOf, proofLines } from "./proof-lines.ts";

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

/** Segments that follow each other. */
interface Chain {
	readonly first: OpenedProof;
	readonly last: OpenedProof;
	readonly statements: readonly SegmentStatement[];
}

/** With more weights than that the first ones are not computed here. */
const MAX_FIRST_WEIGHTS = 2 ** 24;

const areSame = (some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean =>
	some.every((one, i) => equalBytes(one, others[i]!));

/**
 * Bytes, and what the program makes of its seed, against segments that follow each other. The data of all of
 * them is that of the first, and what is between them was compared already: three comparisons are enough for
 * any number of segments.
 */
async function boundVerdict(
	{ first, last }: Chain,
	{ data, initial, result, ...rest }: ProofOptions,
	io: CliIo,
): Promise<ProofVerdict> {
	const isOne = first === last;
	const own = firstWeights(first, MAX_FIRST_WEIGHTS)?.map(elementsToBytes);
	const given = heldFiles(first.program, { ...rest, data, initial });
	const end = heldFiles(last.program, { ...rest, result });
	const start = { ...given, ...(own !== undefined && { before: own }) };
	let fault = await faultOf(first, isOne ? { ...start, ...end } : start, io);
	if (fault?.code === "PROOF_INITIAL" && own !== undefined) fault = OTHER_START;
	if (fault === null && !isOne) fault = await faultOf(last, end, io);
	if (fault === null && own !== undefined && given.before !== undefined && !areSame(own, given.before))
		fault = { code: "PROOF_INITIAL", detail: "the program makes other first weights, which are those of the proof" };
	const { firstStep, stateBefore } = first.statement;
	const { stateAfter, pointsAfter } = last.statement;
	const steps = last.statement.firstStep + last.statement.steps - firstStep;
	const statement = { ...first.statement, steps, stateBefore, stateAfter, pointsAfter };
	return proofVerdict({ ...first, statement }, fault, { ...start, ...end }, own !== undefined);
}

/** Prints the verdict. */
function tell(
	verdict: ProofVerdict,
	statements: readonly SegmentStatement[],
	{ json, what, clockUs }: { readonly json: object; readonly what: string; readonly clockUs: () => number },
	values: ProofOptions,
	io: CliIo,
): number {
	const verifyUs = clockUs();
	const jobs = jobsOf(statements);
	const shown = verdict.status === "valid" ? { ...verdict, plan: undefined, jobs, ...coverOf(verdict) } : verdict;
	printResult(values, io, { ...shown, ...json, verifyUs }, (paint) => {
		const took = paint.dim(`  ${what} checked in ${formatDuration(verifyUs)}`);
		return [...proofLines(verdict, jobs, paint), "", took, ""].join("\n");
	});
	return exitCodes[verdict.status].code;
}

export async function verifyTrainingProof(
	file: Uint8Array,
	path: string,
	values: ProofOptions,
	io: CliIo,
): Promise<number> {
	const { clockUs } = realEnvironment();
	const opened = openProofFile(file, { isDevAllowed: values.dev });
	const told = { clockUs, json: { file: path, fileBytes: file.length }, what: `${path}: ${file.length} bytes` };
	if (opened.status !== "valid") return tell(opened, [], told, values, io);
	const chain = { first: opened, last: opened, statements: [opened.statement] };
	return tell(await boundVerdict(chain, values, io), chain.statements, told, values, io);
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

/** All segments, each where the one before it ended. */
function chainOf(files: readonly string[], isDevAllowed: boolean): Refused | Chain {
	let chain: Chain | null = null;
	for (const path of files) {
		const opened = openProofFile(readEvidence(path), { isDevAllowed });
		if (opened.status !== "valid") return { ...opened, detail: `${path}: ${opened.detail}` };
		const gap: ReturnType<typeof gapBetween> = chain && gapBetween(chain.last.statement, opened.statement);
		if (gap !== null) return (gap.code === "PROOF_GAP" ? inconclusive : invalid)(gap.code, `${path}: ${gap.detail}`);
		const { first, statements }: Chain = chain ?? { first: opened, last: opened, statements: [] };
		chain = { first, last: opened, statements: [...statements, opened.statement] };
	}
	return chain!;
}

export async function verifyTrainingRun(folder: string, values: ProofOptions, io: CliIo): Promise<number> {
	const { clockUs } = realEnvironment();
	const files = segmentFiles(folder);
	const chain = chainOf(files, values.dev);
	const told = { clockUs, json: { folder, segments: files.length }, what: `${folder}: ${files.length} segments` };
	const upTo = { ...told, what: `${told.what}, up to the first that fails,` };
	if ("status" in chain) return tell(chain, [], upTo, values, io);
	return tell(await boundVerdict(chain, values, io), chain.statements, told, values, io);
}
