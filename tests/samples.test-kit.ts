// The samples' claims: what a job file of samples/ ends with on a session. Started as a program it writes
// samples/claims.json anew from this machine's CPU, keeping the lengths that stand there (`steps`; null: too
// large for a CPU).
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { workloadOf } from "../src/cli/run-job-file.ts";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient } from "../src/engine/client/create-engine-client.ts";
import type { OpenWorkSession } from "../src/engine/client/work-session.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../src/platform/environment.ts";
import { bytesToHex } from "../src/protocol/bytes/bytes.ts";
import { elementsToBytes } from "../src/work/operators/tensor-type.ts";
import { encodeProgram } from "../src/work/program/encode.ts";
import { programRoot } from "../src/work/program/open-program.ts";
import { NO_JOB } from "../src/work/runs/claim-file.ts";
import {
	claimHash,
	firstState,
	inputsHashOf,
	resultRootOf,
	segmentTree,
	stateHashOf,
} from "../src/work/trace/commitments.ts";
import { withLength } from "../src/work/workloads/read-job.ts";
import type { Workload } from "../src/work/workloads/workload.ts";

const SAMPLES = join(import.meta.dirname, "../samples");
const CLAIMS = join(SAMPLES, "claims.json");

/** By job file. Null: too large to run here. `steps`: run so long instead of the job's own length. */
type Claims = Readonly<Record<string, { readonly steps?: number; readonly claim: string } | null>>;

export const sampleClaims = (): Claims => JSON.parse(readFileSync(CLAIMS, "utf8"));
export const sampleNames = (): string[] =>
	readdirSync(SAMPLES)
		.filter((name) => name.endsWith(".json") && name !== "claims.json")
		.sort();

export function sampleWorkload(name: string, steps: number | undefined): Promise<Workload> {
	const json: unknown = JSON.parse(readFileSync(join(SAMPLES, name), "utf8"));
	return workloadOf(join(SAMPLES, name), steps === undefined ? json : withLength(json, steps));
}

/** Runs it whole, or its first segments only; nothing is kept. */
export async function runOn(
	open: OpenWorkSession,
	{ program, seed, given, segments: all }: Workload,
	segments = all,
): Promise<{ readonly claim: string; readonly peakBytes: number }> {
	const session = await open({ device: 0, program: encodeProgram(program), seed });
	try {
		const inputs: Uint8Array[] = [];
		for (const [i, { kind, name }] of program.tensors.entries()) {
			if (kind !== "constant" && kind !== "input") continue;
			await session.write(i, elementsToBytes(given[name]!));
			if (kind === "input") inputs.push(await session.root(i));
		}
		const states = [firstState(program)];
		let results: readonly Uint8Array[] = [];
		await session.run({
			first: 0,
			count: segments + 1,
			onSegment: ({ segment, stateRoots, resultRoots }) => {
				states.push(stateHashOf(program, segment + 1, stateRoots, resultRoots));
				results = resultRoots;
			},
		});
		const roots = { program: programRoot(program), inputs: inputsHashOf(program, seed, inputs) };
		const ends = { segmentRoot: segmentTree(states).root, resultRoot: resultRootOf(program, results) };
		const claim = claimHash({ ...NO_JOB, ...roots, ...ends, first: 0, segments: segments + 1 });
		return { claim: bytesToHex(claim), peakBytes: session.plan.peakBytes };
	} finally {
		await session.release();
	}
}

/** Sessions on this machine's CPU. */
export async function cpuEngine(
	storePath?: string,
): Promise<{ readonly open: OpenWorkSession; close(): Promise<void> }> {
	const { clockUs, randomBytes } = realEnvironment();
	const { path: command } = await findEngine(hostPlatform());
	const args = ["--no-disk", ...(storePath === undefined ? ["--work"] : ["--store", storePath])];
	const link = await createLocalLink({ command, args, env: process.env });
	const engine = await createEngineClient(link, { clockUs, readyDeadlineMs: 600_000, randomBytes });
	const { devices } = await engine.hello({ deadlineMs: 600_000 });
	const device = devices.findIndex(({ kind }) => kind === "cpu");
	return { open: (work) => engine.openWork({ ...work, device }), close: () => engine.close() };
}

async function writeClaims(): Promise<void> {
	const known = sampleClaims();
	const { open, close } = await cpuEngine();
	const claims: Record<string, Claims[string]> = {};
	for (const name of sampleNames()) {
		const { steps } = known[name] ?? {};
		claims[name] = null;
		if (known[name] === null) continue;
		const started = performance.now();
		const { claim } = await runOn(open, await sampleWorkload(name, steps));
		claims[name] = { ...(steps !== undefined && { steps }), claim };
		console.log(`${name} ${claim} ${Math.round(performance.now() - started)} ms`);
	}
	await close();
	writeFileSync(CLAIMS, `${JSON.stringify(claims, null, "\t")}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await writeClaims();
