// What a prover gains by a state that the job's worker gives it (docs/zk.md §12): the last segment of a long
// job proven from the start, and from the state before it. On this machine's first GPU, else on its CPU, over
// powers of a known τ.
//   node bench/zk/checkpoints.ts [segments, 128 unless told]     prints JSON
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createEngineClient } from "../../src/engine/client/create-engine-client.ts";
import { proofOpener } from "../../src/engine/client/proof-opener.ts";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import type { ClaimedStates } from "../../src/provider/proofs/claimed-states.ts";
import { proveStated } from "../../src/provider/proofs/prove-segment.ts";
import { rerunStates } from "../../src/provider/proofs/rerun-states.ts";
import { DEV_POWERS } from "../../src/verify/zk/srs.ts";
import { exactMlpProgram } from "../../src/work/models/exact-mlp.ts";
import { elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { compilePlan, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { enteringOf } from "../../src/work/plan/entering.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";
import { digitPictures, SIDE } from "./digit-pictures.ts";

const SIZES = [SIDE * SIDE, 128, 128, 10];
const [ROWS, BATCH, K, SHIFT, CHUNK_BITS] = [1024, 32, 8, 11, 18];
const BRIGHTEST = 0.25;
const SEED = new Uint8Array(32).fill(7);
const segments = Number(process.argv[2] ?? 128);
const folder = mkdtempSync(join(tmpdir(), "assay-checkpoints-"));

const { pixels, labels } = digitPictures(0, ROWS);
const data = {
	features: Int16Array.from(pixels, (one) => Math.round((one * BRIGHTEST * 2048) / 255)),
	labels: Int16Array.from(labels),
};
const sizes = { batch: BATCH, steps: K * segments, k: K, seed: SEED, order: "cube" as const };
const { program, given } = exactMlpProgram(SIZES, sizes, SHIFT, data, 64);
const plan = compilePlan(program, CHUNK_BITS) as ZkPlan;
if ("code" in plan) throw new Error(JSON.stringify(plan));

const { clockUs, randomBytes } = realEnvironment();
const { path: command } = await findEngine(hostPlatform());
const link = await createLocalLink({ command, args: ["--no-disk", "--work"], env: process.env });
const client = await createEngineClient(link, { clockUs, readyDeadlineMs: 60_000, randomBytes });
const { devices } = await client.hello({ deadlineMs: 60_000 });
const device = Math.max(
	0,
	devices.findIndex(({ kind }) => kind === "gpu"),
);
const engine = { open: client.openWork.bind(client), openProof: proofOpener(client), device };
const work = {
	...{ program, plan, seed: SEED },
	given: async (tensor: number) => elementsToBytes(given[program.tensors[tensor]!.name]!),
};

/** Of the last segment, with everything that a prover does for it. */
async function proven(name: string, claimed: ClaimedStates | null) {
	const states = rerunStates(work, engine, join(folder, name), claimed);
	const started = performance.now();
	const weights = (await states.weightsBefore(segments)).map(elementsToBytes);
	const roots = { features: bytesToHex(tensorRoot(data.features)), labels: bytesToHex(tensorRoot(data.labels)) };
	const [stateBefore, stateAfter] = [await states.stateBefore(segments), await states.stateBefore(segments + 1)];
	const ranMs = performance.now() - started;
	const made = await proveStated(
		{
			...{ plan, seed: SEED, segment: segments, chainId: 0n, job: 0n },
			roots: { ...roots, stateBefore, stateAfter },
			given: {
				entering: elementsToBytes(enteringOf(plan, data.features)),
				labels: elementsToBytes(Int32Array.from(data.labels)),
				weights,
			},
		},
		{ open: engine.openProof, device, powers: DEV_POWERS },
	);
	const allMs = performance.now() - started;
	await states.close();
	const told = { segmentsRun: states.ran(), runMs: Math.round(ranMs), allMs: Math.round(allMs) };
	return { told, hash: stateBefore, weights, proof: bytesToHex(made!.proof) };
}

try {
	const fromStart = await proven("start", null);
	const claimed: ClaimedStates = {
		nearest: (segment) => Math.min(segment, segments),
		before: async () => ({ hash: fromStart.hash, state: fromStart.weights }),
	};
	const fromState = await proven("state", claimed);
	if (fromState.proof !== fromStart.proof) throw new Error("the proofs differ");
	const stateBytes = fromStart.weights.reduce((sum, one) => sum + one.length, 0);
	const about = { device: devices[device]!.name, sizes: SIZES, batch: BATCH, stepsASegment: K, segments, stateBytes };
	process.stdout.write(`${JSON.stringify({ ...about, fromStart: fromStart.told, fromState: fromState.told })}\n`);
} finally {
	rmSync(folder, { recursive: true, force: true });
	await client.close();
}
