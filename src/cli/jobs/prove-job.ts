// `assay job prove FOLDER`: segments of a finished training run, proven so that nobody need run them again.
// docs/zk.md §7. Not here: the proof itself (src/provider/proofs/).
import { mkdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, equalBytes } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import { type ProvenSegment, proveSegment } from "../../provider/proofs/prove-segment.ts";
import { openProvingKey, type ProvingKeyFile } from "../../provider/proofs/runs/proving-key.ts";
import { readRunFolder } from "../../store/runs/run-folder.ts";
import { type OpenedRun, openRun, replayOf } from "../../validator/jobs/open-run.ts";
import { MOST_SEGMENTS } from "../../verify/zk/run/run-file.ts";
import { DEV_ID, DEV_POWERS, ignitionPowers, type ProverPowers, powersName } from "../../verify/zk/srs.ts";
import { gapBetween } from "../../verify/zk/statement.ts";
import { bytesToElements, type Elements, elementCount, elementsToBytes } from "../../work/operators/tensor-type.ts";
import { compilePlan, type ZkPlan } from "../../work/plan/compile-plan.ts";
import type { Tensor } from "../../work/program/shapes.ts";
import { stateHashOf } from "../../work/trace/commitments.ts";
import type { CliIo } from "../command.ts";
import { readInput, writeNamedFile } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { type engineOptions, startJobEngine } from "../job-engine.ts";
import { usageError, type Values } from "../options.ts";
import { formatDuration } from "../print/format.ts";
import { printResult } from "../print/print-result.ts";
import { createStatusLine } from "../print/status-line.ts";
import { TEST_NOTE } from "../verify/proof-lines.ts";
import { wrapSegments } from "./wrap-segments.ts";

export interface ProveValues extends Values<typeof engineOptions> {
	readonly segments: string | undefined;
	readonly wrap: string | undefined;
	readonly powers: string | undefined;
	readonly out: string | undefined;
	readonly json: boolean;
}

/**
 * As many powers as the file of Ignition has ids for: 2^14. Of test parameters there are any number; a large
 * program gets so many that some hundred commitments are enough.
 */
const MOST_CHUNK_BITS = 14;
const MOST_DEV_CHUNK_BITS = 22;
const CHUNKS_LOG2 = 8;
const MOST_POWERS = 2 ** 28;
const POWERS_HINT =
	"Give --powers FILE with Ignition's powers (docs/zk.md §1 names the file and its SHA-256), or --powers dev for test parameters (not secure), to try it.";

interface Proven extends ProvenSegment {
	readonly segment: number;
	readonly path: string;
	readonly tookUs: number;
}

function planFor({ program }: OpenedRun, isDev: boolean): ZkPlan {
	const refused = (message: string) => codedError("PROGRAM_UNPROVABLE", message);
	const whole = compilePlan(program);
	if ("code" in whole) throw refused(whole.message);
	const wanted = 2 * Math.ceil((whole.bits - CHUNKS_LOG2) / 2);
	const most = isDev ? Math.min(MOST_DEV_CHUNK_BITS, Math.max(MOST_CHUNK_BITS, wanted)) : MOST_CHUNK_BITS;
	const plan = compilePlan(program, Math.min(whole.chunkBits, most));
	if ("code" in plan) throw refused(plan.message);
	return plan;
}

function powersFor(asked: string | undefined, { chunkBits }: ZkPlan, io: CliIo): ProverPowers {
	if (asked === undefined) throw usageError(`it needs powers of tau. ${POWERS_HINT}`);
	if (asked === "dev") return DEV_POWERS;
	const found = ignitionPowers(readInput(resolve(io.cwd, asked), MOST_POWERS, POWERS_HINT), 2 ** chunkBits);
	if ("code" in found) throw codedError(found.code, found.detail);
	return found;
}

/** "2", "1-8", "1,4-5"; all of them without. Segment 0 is the program's start, which has no steps. */
function segmentsAsked(asked: string | undefined, last: number): readonly number[] {
	if (last < 1) throw usageError("the run has no segment with steps");
	const parts = (asked ?? `1-${last}`).split(",").map((part) => /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part));
	const segments = parts.flatMap((found) => {
		const [from, to] = [Number(found?.[1]), Number(found?.[2] ?? found?.[1])];
		if (found === null || from < 1 || to < from || to > last)
			throw usageError(`--segments takes numbers and ranges from 1 to ${last}, as 1-4 or 1,3; not '${asked}'`);
		return Array.from({ length: to - from + 1 }, (_, i) => from + i);
	});
	return [...new Set(segments)].toSorted((a, b) => a - b);
}

const elements = ({ type, dims }: Tensor, bytes: Uint8Array): Elements =>
	bytesToElements(bytes, type, elementCount(dims))!;

/** The inputs `features` and `labels`, from the run's store. */
async function dataOf({ program, inputRoots, readBlob }: OpenedRun): Promise<Record<"features" | "labels", Elements>> {
	const inputs = program.tensors.filter(({ kind }) => kind === "input");
	const read = async (name: string): Promise<Elements> => {
		const at = inputs.findIndex((one) => one.name === name);
		const root = at < 0 ? null : bytesToHex(inputRoots[at]!);
		const bytes = root === null ? null : await readBlob(root);
		if (bytes === null) throw codedError("BLOB_MISSING", `the run's store has no ${name}`);
		return elements(inputs[at]!, bytes);
	};
	return { features: await read("features"), labels: await read("labels") };
}

/** State before a segment, run again from the last kept one; it must be what the run claims. */
async function stateBefore(run: OpenedRun, replay: ReturnType<typeof replayOf>, segment: number) {
	const { roots, bytes } = await replay.stateBytes(segment);
	if (!equalBytes(stateHashOf(run.program, segment, roots.state, roots.results), run.states[segment]!))
		throw codedError("CHECKPOINT_OTHER", `the state before segment ${segment} is not the one that the run claims`);
	const states = run.program.tensors.filter(({ kind }) => kind === "state");
	return { bytes, weights: states.map((tensor, i) => elements(tensor, bytes[i]!)) };
}

export async function proveJob(values: ProveValues, io: CliIo, path: string): Promise<number> {
	const run = await openRun(readRunFolder(resolve(io.cwd, path)));
	if (run.isFetched)
		throw new AssayError("RUN_INCOMPLETE", `${path} is a fetched result: its inputs and states are not in the folder`, {
			hint: "Run its job.json here with `assay job run`, and prove that run: it has the same states.",
		});
	const plan = planFor(run, values.powers === "dev");
	const segments = segmentsAsked(values.segments, run.claim.segments - 1);
	const powers = powersFor(values.powers, plan, io);
	const key = values.wrap === undefined ? null : wrapKeyOf(values.wrap, segments, io);
	const out = resolve(io.cwd, values.out ?? `${basename(resolve(io.cwd, path)).replace(/\.run$/, "")}.proofs`);
	makeOut(out);
	const write = (name: string, ...parts: readonly Uint8Array[]): string => {
		writeNamedFile(join(out, name), concatBytes(...parts), "--out FOLDER");
		return join(out, name);
	};
	const { features, labels } = await dataOf(run);
	write("data.bin", elementsToBytes(features), elementsToBytes(labels));
	const engine = await startJobEngine(values, io, run.storePath);
	const line = createStatusLine(io.err);
	const replay = replayOf(run, engine.open, engine.device);
	const proven: Proven[] = [];
	const { clockUs } = realEnvironment();
	try {
		if (key !== null) {
			const weights = (segment: number) => stateBefore(run, replay, segment);
			const job = { run, plan, segments, powers, key, features, labels, weights, write, out };
			return await wrapSegments(job, engine, line, values, io);
		}
		let before = await stateBefore(run, replay, segments[0]!);
		for (const [i, segment] of segments.entries()) {
			const started = clockUs();
			if (i > 0 && segments[i - 1] !== segment - 1) before = await stateBefore(run, replay, segment);
			const after = await stateBefore(run, replay, segment + 1);
			const made = await proveSegment(
				{
					...{ program: run.program, plan, seed: run.seed, segment, features, labels },
					...{ chainId: run.claim.chainId, job: run.claim.job, before: before.weights, after: after.weights },
				},
				{
					...{ open: engine.openProof, openWork: engine.open, device: engine.device, powers, signal: io.interrupted },
					onProgress: (done, total) =>
						line.update(`  segment ${segment} (${i + 1} of ${segments.length}): ${done} of ${total} parts`),
				},
			);
			if (made === null) return exitCodes.interrupted.code;
			checkChain(proven.at(-1), made, segment);
			write(`state-${segment}.bin`, ...before.bytes);
			write(`state-${segment + 1}.bin`, ...after.bytes);
			const file = write(`segment-${segment}.proof`, made.file);
			proven.push({ ...made, segment, path: file, tookUs: clockUs() - started });
			before = after;
		}
	} finally {
		line.clear();
		await replay.close();
		await engine.close();
	}
	return tell(proven, { out, plan }, values, io);
}

/** One after the other: a wrapped run has no gaps. Throws KEY_FILE. */
function wrapKeyOf(name: string, segments: readonly number[], io: CliIo): ProvingKeyFile {
	if (segments.at(-1)! - segments[0]! + 1 !== segments.length || segments.length > MOST_SEGMENTS)
		throw usageError(`--wrap takes up to ${MOST_SEGMENTS} segments that follow each other, as 1-8`);
	return openProvingKey(name === "dev" ? name : resolve(io.cwd, name));
}

function makeOut(out: string): void {
	try {
		mkdirSync(out, { recursive: true });
	} catch (cause) {
		throw new AssayError("FILE_UNWRITABLE", `cannot make ${out}: ${(cause as Error).message}`, {
			hint: "Choose another folder with --out FOLDER.",
			cause,
		});
	}
}

/** Neighbours must follow each other: whoever has the proofs checks it too. */
function checkChain(last: Proven | undefined, made: ProvenSegment, segment: number): void {
	const gap = last?.segment === segment - 1 ? gapBetween(last.statement, made.statement) : null;
	if (gap !== null) throw codedError(gap.code, gap.detail);
}

function tell(
	proven: readonly Proven[],
	{ out, plan }: { readonly out: string; readonly plan: ZkPlan },
	values: ProveValues,
	io: CliIo,
): number {
	const [first] = proven as readonly [Proven, ...Proven[]];
	const { srs } = first.statement;
	const isDev = srs === DEV_ID;
	const bytes = statSync(first.path).size;
	const tookUs = proven.reduce((sum, one) => sum + one.tookUs, 0);
	const json = {
		...{ folder: out, isDev, powers: powersName(srs), chunkBits: plan.chunkBits, tookUs },
		proofs: proven.map(({ segment, path, statement }) => ({ segment, path, statement })),
	};
	printResult(values, io, json, (paint) =>
		[
			`${paint.good(paint.strong("PROVEN"))}  ${proven.length === 1 ? `segment ${first.segment}` : `${proven.length} segments`} in ${formatDuration(tookUs)}, ${formatBytes(bytes)} each with the program`,
			`  folder  ${out}`,
			`  powers  ${powersName(srs)}`,
			...(isDev ? [`  ${paint.unsure("note")}  ${TEST_NOTE}`] : []),
			paint.dim(
				`  anyone checks it: assay verify ${first.path} --data ${join(out, "data.bin")} --initial ${join(out, `state-${first.segment}.bin`)} --result ${join(out, `state-${first.segment + 1}.bin`)}${isDev ? " --dev" : ""}`,
			),
			"",
		].join("\n"),
	);
	return exitCodes.valid.code;
}
