// How engines of providers that cheat differ from honest ones: what an op gives, what is read, which program
// or seed is run, which states are listed. Who uses them: job-cheats.ts.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Cheat, Distort } from "../../src/engine/client/toy-work-session.test-kit.ts";
import type { WorkSession } from "../../src/engine/client/work-session.ts";
import type { JobEngine, StartJobEngine } from "../../src/provider/jobs/job-engine.ts";
import { toyOpener } from "../../src/provider/jobs/toy-run.test-kit.ts";
import { MLP, mlpSample } from "../../src/work/builder/samples.test-kit.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { claimText, readClaim } from "../../src/work/runs/claim-file.ts";
import { segmentTree } from "../../src/work/trace/commitments.ts";

type At = Parameters<StartJobEngine>[0];
type Lie = (honest: JobEngine, at: At) => JobEngine;
const isAudit = ({ storePath }: At): boolean => /-audit\d+\/store$/.test(storePath);

/** Lies in what ops give, and stands by it in all that it says. */
export const lying =
	(cheat: Cheat | Distort, inAudits = false): Lie =>
	(honest, at) =>
		isAudit(at) !== inAudits ? honest : { ...honest, open: toyOpener(at.storePath, cheat) };

/** What an op adds to the state it writes is left out: the state stays as it was. */
const keepsState: Distort = (_, { op, inputs, output }) => {
	const own = op.operands.findIndex(({ source, index }) => source === "state" && index === op.target);
	if (own >= 0) (output as Int32Array).set(inputs[own] as Int32Array);
};

/** The last step of each segment changes nothing. */
export const skipSteps: Distort = (segment, run) => {
	if (segment > 0 && run.step === 1) keepsState(segment, run);
};
const LAST_OP = mlpSample().program.step.length - 1;
/** The second weights are those of the start, for ever. */
export const staleWeights: Distort = (segment, run) => {
	if (segment > 0 && run.number === LAST_OP) keepsState(segment, run);
};
/** Half of the rows, twice. */
export const smallerBatch: Distort = (segment, { number, output }) => {
	if (segment > 0 && number <= 1) output.copyWithin(output.length / 2, 0, output.length / 2);
};
/** Only the last segment of a job of so many, or of twice as many. */
export const lastOf =
	(segments: number): Distort =>
	(segment, run) => {
		if (segment % segments === segments - 1) smallerBatch(segment, run);
	};
/** Products of few bits: what is left out must be more than the program itself rounds away. */
export const cheaperModel: Distort = (_, { op, output }) => {
	if (op.operator !== "matmul") return;
	if (output instanceof BigInt64Array)
		for (const [i, value] of output.entries()) output[i] = value - (value % 2n ** 14n);
	else for (const [i, value] of output.entries()) output[i] = value - (value % 2 ** 14);
};
/** Every segment is another, the first too. */
export const spoiled: Distort = (segment, run) => {
	if (segment > 0) smallerBatch(segment, run);
	else run.output.copyWithin(run.output.length / 2, 0, run.output.length / 2);
};

/** Every session is another's. */
const otherSession =
	(change: (session: WorkSession) => WorkSession): Lie =>
	(honest, at) =>
		isAudit(at) ? honest : { ...honest, open: async (work) => change(await honest.open(work)) };

/** The list of states is another than what was run, from the end of the run on. */
export const otherStates =
	(change: (states: Uint8Array[]) => void): Lie =>
	(honest, at) => {
		if (isAudit(at)) return honest;
		const folder = dirname(at.storePath);
		const [claimPath, statesPath] = [join(folder, "claim.json"), join(folder, "states.bin")];
		return {
			...honest,
			async close() {
				await honest.close();
				let run: ReturnType<typeof readClaim>;
				try {
					run = readClaim(readFileSync(claimPath), readFileSync(statesPath));
				} catch {
					return; // Not run to its end, or changed before.
				}
				const states = run.states.map((state) => Uint8Array.from(state));
				change(states);
				const claim = { ...run.claim, segmentRoot: segmentTree(states).root };
				writeFileSync(statesPath, Buffer.concat(states));
				writeFileSync(claimPath, claimText(claim, run.seed));
			},
		};
	};

const never = (signal?: AbortSignal): Promise<never> =>
	new Promise((_, reject) => {
		if (signal?.aborted) reject(signal.reason);
		signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
	});

/** Runs nothing, for as long as it is let. */
export const idle: Lie = otherSession((session) => proxy(session, { run: ({ signal }) => never(signal) }));

/** Methods of classes stay bound to their own. */
function proxy<T extends object>(of: T, over: Partial<T>): T {
	return new Proxy(of, {
		get(target, name) {
			const changed = over[name as keyof T];
			if (changed !== undefined) return changed;
			const value = target[name as keyof T];
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
}

export const flipped = (bytes: Uint8Array): Uint8Array => bytes.map((byte, i) => (i === 0 ? byte ^ 1 : byte));

/** Runs and answers with another seed than the job's. */
export const otherSeed: Lie = (honest, at) => ({
	...honest,
	async open(work) {
		if (isAudit(at)) return honest.open(work);
		const session = await honest.open({ ...work, seed: flipped(work.seed) });
		return proxy(session, { seed: (seed) => session.seed(flipped(seed)) });
	},
});

/** Runs and answers with another program, of the same tensors and ops. */
export const otherProgram: Lie = (honest, at) =>
	isAudit(at)
		? honest
		: { ...honest, open: (work) => honest.open({ ...work, program: encodeProgram(mlpSample(11).program) }) };

/** Every number of the first input is another: each segment reads some of them. */
export const otherData: Lie = otherSession((session) =>
	proxy(session, {
		async load(tensor, root) {
			await session.load(tensor, root);
			if (tensor !== 0) return;
			const right = await session.fetch(0, 0, MLP.rows * MLP.inputs);
			await session.write(
				0,
				right.map((byte) => (byte === 0 ? 1 : 0)),
			);
		},
	}),
);
