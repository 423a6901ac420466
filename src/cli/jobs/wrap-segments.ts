// `assay job prove FOLDER --wrap KEY`: segments of a finished training run as one wrapped proof, docs/zk.md
// §13. Not here: the proof itself (src/provider/proofs/runs/).
import { join } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import { proveRun } from "../../provider/proofs/runs/prove-run.ts";
import type { ProvingKeyFile } from "../../provider/proofs/runs/proving-key.ts";
import { openWrapper } from "../../provider/proofs/runs/wrap-run.ts";
import type { OpenedRun } from "../../validator/jobs/open-run.ts";
import { encodeRunFile, openRunFile } from "../../verify/zk/run/run-file.ts";
import { wrapKeyHash } from "../../verify/zk/run/wrap-key.ts";
import type { ProverPowers } from "../../verify/zk/srs.ts";
import { type Elements, elementsToBytes } from "../../work/operators/tensor-type.ts";
import { planHash, type ZkPlan } from "../../work/plan/compile-plan.ts";
import { enteringOf } from "../../work/plan/entering.ts";
import { tensorRoot } from "../../work/trace/tensor-tree.ts";
import type { CliIo } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import type { JobEngine } from "../job-engine.ts";
import { formatDuration } from "../print/format.ts";
import { printResult } from "../print/print-result.ts";
import type { createStatusLine } from "../print/status-line.ts";
import { TEST_NOTE } from "../verify/proof-lines.ts";

export interface SegmentsToWrap {
	readonly run: OpenedRun;
	readonly plan: ZkPlan;
	/** One after the other. */
	readonly segments: readonly number[];
	readonly powers: ProverPowers;
	readonly key: ProvingKeyFile;
	readonly features: Elements;
	readonly labels: Elements;
	/** The state before a segment. */
	weights(segment: number): Promise<{ readonly bytes: readonly Uint8Array[] }>;
	/** Into the folder of proofs; the file's path. */
	write(name: string, ...parts: readonly Uint8Array[]): string;
	readonly out: string;
}

/** Null: it was stopped. */
async function wrappedFile(
	of: SegmentsToWrap,
	engine: JobEngine,
	line: ReturnType<typeof createStatusLine>,
	io: CliIo,
) {
	const { run, plan, segments, features, labels } = of;
	const { randomBytes } = realEnvironment();
	const signal = io.interrupted;
	const by = { device: engine.device, openWrap: engine.openWrap, randomBytes, signal };
	const fixed = {
		entering: elementsToBytes(enteringOf(plan, features)),
		labels: elementsToBytes(Int32Array.from(labels, Number)),
	};
	const data = { features: bytesToHex(tensorRoot(features)), labels: bytesToHex(tensorRoot(labels)) };
	const state = (segment: number) => bytesToHex(run.states[segment]!);
	const { chainId, job } = run.claim;
	const proven = await proveRun(
		segments.map((segment) => ({
			...{ plan, seed: run.seed, segment, chainId, job },
			roots: { ...data, stateBefore: state(segment), stateAfter: state(segment + 1) },
			given: async () => ({ ...fixed, weights: (await of.weights(segment)).bytes }),
		})),
		{
			...{ open: engine.openProof, device: engine.device, powers: of.powers, randomBytes, signal },
			onProgress: (segment, done, total) => line.update(`  segment ${segment}: ${done} of ${total} parts`),
		},
	);
	if (proven === null) return null;
	line.update("  wrapping all of them");
	const wrapper = await openWrapper(plan, segments.length, of.key, by);
	try {
		const wrapped = (await wrapper?.wrap(proven)) ?? null;
		if (wrapped === null) return null;
		const key = { plan: bytesToHex(planHash(plan)), segments: segments.length, words: wrapped.key };
		return { file: encodeRunFile(run.program, plan.chunkBits, wrapped), key: wrapKeyHash(key) };
	} finally {
		await wrapper?.close();
	}
}

export async function wrapSegments(
	of: SegmentsToWrap,
	engine: JobEngine,
	line: ReturnType<typeof createStatusLine>,
	values: { readonly json: boolean },
	io: CliIo,
): Promise<number> {
	const [first, last] = [of.segments[0]!, of.segments.at(-1)!];
	const { clockUs } = realEnvironment();
	const made = await wrappedFile(of, engine, line, io);
	if (made === null) return exitCodes.interrupted.code;
	line.clear();
	const { file, key } = made;
	const verdict = openRunFile(file, { isDevAllowed: true, key });
	if (verdict.status !== "valid")
		throw codedError(verdict.code, `the engine's own proof is refused: ${verdict.detail}`);
	of.write(`state-${first}.bin`, ...(await of.weights(first)).bytes);
	of.write(`state-${last + 1}.bin`, ...(await of.weights(last + 1)).bytes);
	const path = of.write(`run-${first}-${last}.proof`, file);
	const tookUs = clockUs();
	const { isDev, powers } = verdict;
	const many = first === last ? `segment ${first}, wrapped,` : `segments ${first} to ${last} as one`;
	const json = { folder: of.out, path, first, last, key, isDev, powers, bytes: file.length, tookUs };
	printResult(values, io, json, (paint) =>
		[
			`${paint.good(paint.strong("PROVEN"))}  ${many} in ${formatDuration(tookUs)}, ${formatBytes(file.length)} with the program`,
			`  file    ${path}`,
			`  powers  ${powers}`,
			`  key     ${key}`,
			...(isDev ? [`  ${paint.unsure("note")}  ${TEST_NOTE}`] : []),
			paint.dim(`  anyone checks it: assay verify ${join(path)} --wrap-key ${isDev ? `${key} --dev` : "KEY"}`),
			...(isDev
				? []
				: [paint.dim("  KEY: from those who held the key's ceremony; nobody should take it from its prover")]),
			"",
		].join("\n"),
	);
	return exitCodes.valid.code;
}
