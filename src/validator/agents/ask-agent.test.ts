// Questions to an agent whose link another process holds, over events that hold 4 KiB: long questions and
// answers arrive whole.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { type AgentAsker, createAgentAsker } from "./ask-agent.ts";

type Told = Parameters<ValidatorContext["hub"]["tell"]>[0];
const PROVIDER = "ab".repeat(32);
const ABOUT = { job: "cd".repeat(32), part: 0, attempt: 1 };
const LONGEST = "f".repeat(40_000);

/** Two processes with one bus of events; the second holds the link. `drop`: events that are lost. */
function twoProcesses(answer: (question: string) => Promise<string>, drop: (told: Told) => boolean = () => false) {
	let holder: string | null = "two";
	const listeners = new Set<(event: never) => void>();
	const alarms = new Map<() => void, number>();
	const hub = {
		tell(told: Told) {
			assert.ok(JSON.stringify(told).length < 3800, "an event of the store is small");
			if (!drop(told)) queueMicrotask(() => listeners.forEach((listen) => void listen(told as never)));
		},
		listen(listener: (event: never) => void) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
	};
	const asker = (process: string, agents: Map<string, unknown>): AgentAsker =>
		createAgentAsker({
			...{ hub, agents },
			env: {
				randomBytes: (count: number) => new Uint8Array(count).fill(7),
				after: (ms: number, act: () => void) => {
					alarms.set(act, ms);
					return () => void alarms.delete(act);
				},
			},
			store: { process, connections: { holder: async () => holder } },
		} as unknown as ValidatorContext);
	const agent = {
		isClosed: false,
		ask: async (_: string, { question }: { question: string }) => ({ answer: await answer(question), signature: null }),
	};
	const ours = new Map<string, unknown>();
	const one = asker("one", ours);
	asker("two", new Map([[PROVIDER, agent]]));
	return {
		...{ one, alarms },
		dialsInHere() {
			ours.set(PROVIDER, agent);
			hub.tell({ kind: "provider.connected", subject: PROVIDER, providerId: PROVIDER, detail: {} });
		},
		/** The other process dies; the time of all that waits for no longer than so long has come. */
		async dies(ms: number) {
			holder = null;
			for (const [act, at] of alarms) if (at <= ms) act();
		},
	};
}

test("a question and its answer arrive whole, however long", async () => {
	const asked: string[] = [];
	const { one } = twoProcesses(async (question) => {
		asked.push(question);
		return LONGEST;
	});
	const question = "ü".repeat(4000);
	const said = await one.ask(PROVIDER, "ask", { ...ABOUT, question });
	assert.deepEqual([said.answer === LONGEST, asked.length, asked[0] === question], [true, 1, true]);
});

test("a refusal keeps its code, and a piece that is lost is no answer", async () => {
	const refusing = twoProcesses(async () => {
		throw new AssayError("PROVIDER_BUSY", "later");
	});
	const coded = (code: string) => (error: Error & { code?: string }) => error.code === code;
	await assert.rejects(refusing.one.ask(PROVIDER, "ask", { ...ABOUT, question: "q" }), coded("PROVIDER_BUSY"));
	let told = 0;
	const losing = twoProcesses(
		async () => LONGEST,
		({ kind }) => kind === "internal.answer" && ++told === 3,
	);
	const asking = losing.one.ask(PROVIDER, "ask", { ...ABOUT, question: "q" });
	const silent = assert.rejects(asking, coded("AGENT_SILENT"));
	while (told < 4) await new Promise((resolve) => setImmediate(resolve));
	for (const alarm of losing.alarms.keys()) alarm();
	await silent;
});

test("a wait for another process ends with that process, when the agent dials in here, and soon for a nudge", async () => {
	const never = () => new Promise<string>(() => {});
	const coded = (code: string) => (error: Error & { code?: string }) => error.code === code;
	const begun = async (name: "ask" | "job") => {
		const processes = twoProcesses(never);
		const asking = processes.one.ask(PROVIDER, name, { ...ABOUT, question: "q", audit: null } as never);
		while (processes.alarms.size < 2) await new Promise((resolve) => setImmediate(resolve));
		return { ...processes, asking };
	};
	const dead = await begun("ask");
	await dead.dies(10_000);
	await assert.rejects(dead.asking, coded("AGENT_CLOSED"));
	assert.equal(dead.alarms.size, 0);
	const moved = await begun("ask");
	moved.dialsInHere();
	await assert.rejects(moved.asking, coded("AGENT_CLOSED"));
	const nudged = await begun("job");
	assert.ok(Math.max(...nudged.alarms.values()) <= 10_000, "a nudge waits for seconds");
	const asked = await begun("ask");
	assert.ok(Math.max(...asked.alarms.values()) > 300_000, "an image may be pulled");
});
