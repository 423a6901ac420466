// The engine's prover on this machine's CPU, asked for what the reference prover (vectors/naive-segment.ts)
// proves.
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createEngineClient, type EngineClient } from "../../src/engine/client/create-engine-client.ts";
import { GIVEN, type OpenProveSession, type ProveSession } from "../../src/engine/client/open-prove-session.ts";
import { refusalToError } from "../../src/engine/client/open-work-session.ts";
import type { OpenWrapSession } from "../../src/engine/client/open-wrap-session.ts";
import type { OpenWorkSession } from "../../src/engine/client/work-session.ts";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import { ERROR_CODE } from "../../src/engine/wire/frame-table.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { encodePlan } from "../../src/work/plan/encode-plan.ts";
import type { Start } from "../../vectors/naive-plan.ts";

export interface Prover {
	readonly open: OpenProveSession;
	readonly hello: EngineClient["hello"];
	readonly openWork: OpenWorkSession;
	readonly openWrap: OpenWrapSession;
	close(): Promise<void>;
}

export async function startProver(): Promise<Prover> {
	const { clockUs, randomBytes } = realEnvironment();
	const { path: command } = await findEngine(hostPlatform());
	const link = await createLocalLink({ command, args: ["--no-disk", "--work"], env: process.env });
	const engine = await createEngineClient(link, { clockUs, readyDeadlineMs: 600_000, randomBytes });
	const { devices } = await engine.hello({ deadlineMs: 600_000 });
	const device = devices.findIndex(({ kind }) => kind === "cpu");
	return {
		open: (proof) => engine.openProof({ ...proof, device }),
		hello: (asked) => engine.hello(asked),
		openWork: (work) => engine.openWork({ ...work, device }),
		openWrap: (wrap) => engine.openWrap({ ...wrap, device }),
		close: () => engine.close(),
	};
}

/**
 * The same engine with a card before its CPU, which refuses plans with convolutions or softmax as cards do
 * (engine/test/proofs_equal_cuda.cpp). `asked`: the kinds of devices that were asked, in turn.
 */
export function behindCard({ open, hello }: Prover): {
	readonly asked: string[];
	readonly engine: Pick<EngineClient, "openProof" | "hello">;
} {
	const asked: string[] = [];
	const withCard: EngineClient["hello"] = async (options) => {
		const told = await hello(options);
		const cpu = told.devices.find(({ kind }) => kind === "cpu")!;
		return { ...told, devices: [{ ...cpu, kind: "gpu" }, cpu] };
	};
	const openProof: OpenProveSession = async (proof) => {
		asked.push(proof.device === 0 ? "gpu" : "cpu");
		const isWide = proof.plan[0] === 2;
		if (proof.device === 0 && isWide) {
			const engineError = {
				code: ERROR_CODE.unsupported,
				message: "this device proves no convolutions and no softmax",
			};
			throw refusalToError({ end: "refused", code: null, detail: "", engineError });
		}
		return open(proof);
	};
	return { asked, engine: { hello: withCard, openProof } };
}

export const littleEndian = (list: readonly number[], type: "i16" | "i32" | "i64"): Uint8Array => {
	const numbers =
		type === "i16" ? Int16Array.from(list) : type === "i32" ? Int32Array.from(list) : BigInt64Array.from(list, BigInt);
	return new Uint8Array(numbers.buffer);
};

export async function giveData(session: ProveSession, { features, labels }: Start): Promise<void> {
	await session.give(GIVEN.features, littleEndian(features.flat().map(Number), "i16"));
	await session.give(GIVEN.labels, littleEndian(labels, "i32"));
}

export async function giveWeights(session: ProveSession, plan: ZkPlan, { weights }: Start): Promise<void> {
	for (const [l, one] of weights.entries())
		await session.give(GIVEN.weights + l, littleEndian(one.flat().map(Number), `i${plan.weightBits}`));
}

/**
 * Points of the statement's groups one after the other, and the proof for a statement. Over powers of a known
 * τ.
 */
export async function engineProof(
	open: OpenProveSession,
	plan: ZkPlan,
	start: Start,
	statement: string,
): Promise<{ readonly points: Uint8Array; readonly proof: Uint8Array }> {
	const session = await open({ device: 0, plan: encodePlan(plan, true) });
	try {
		await giveData(session, start);
		await giveWeights(session, plan, start);
		const points = await session.commit(start);
		const proof = await session.prove({ statement: hexToBytes(statement)! });
		return { points: points!, proof: proof! };
	} finally {
		await session.release();
	}
}
