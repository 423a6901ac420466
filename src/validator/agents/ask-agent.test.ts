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
	const listeners = new Set<(event: never) => void>();
	const alarms: (() => void)[] = [];
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
				after: (_: number, act: () => void) => {
					alarms.push(act);
					return () => {};
				},
			},
			store: { process, providers: { get: async () => ({ connectedTo: "two" }) } },
		} as unknown as ValidatorContext);
	const agent = {
		isClosed: false,
		ask: async (_: string, { question }: { question: string }) => ({ answer: await answer(question), signature: null }),
	};
	const one = asker("one", new Map());
	asker("two", new Map([[PROVIDER, agent]]));
	return { one, alarms };
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
	for (const alarm of losing.alarms) alarm();
	await silent;
});
