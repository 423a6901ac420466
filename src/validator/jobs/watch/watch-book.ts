// What a watcher remembers over restarts, one JSON object a line: claims that it is done with, and the gas
// that it paid. What to do next about any other claim follows from the chain and from running it again; so a
// line that was lost costs time and nothing else.
import { appendFile, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder } from "../../../platform/durable-file.ts";
import { hex, int, object, oneOf, type Typed } from "../../../protocol/bytes/shape.ts";

const VERDICTS = ["right", "unsteady"] as const;
type Verdict = (typeof VERDICTS)[number];
const ENDS = ["proven", "over"] as const;
type End = (typeof ENDS)[number];

const verdictLine = object({ claim: hex(32), verdict: oneOf(...VERDICTS), atMs: int() });
/** One that is false, whoever claims it; `attempt` stands no more. */
const endLine = object({ claim: hex(32), verdict: oneOf(...ENDS), attempt: int(), atMs: int() });
const gasLine = object({ gas: int(), atMs: int() });

const DAY_MS = 86_400_000;

export type WatchBook = Awaited<ReturnType<typeof openWatchBook>>;

export async function openWatchBook(path: string, nowMs: () => number) {
	await makeFolder(dirname(path));
	const verdicts = new Map<string, Verdict>();
	const ends = new Map<string, number>();
	let gas: Typed<typeof gasLine>[] = [];
	const text = await readFile(path, "utf8").catch(() => "");
	// A line that is torn or strange is left out: its claim is looked at again.
	for (const line of text.split("\n")) {
		const value = parsed(line);
		if (verdictLine(value, "") === null) {
			const { claim, verdict } = value as Typed<typeof verdictLine>;
			verdicts.set(claim, verdict);
		} else if (endLine(value, "") === null) {
			const { claim, attempt } = value as Typed<typeof endLine>;
			ends.set(claim, attempt);
		} else if (gasLine(value, "") === null) gas.push(value as Typed<typeof gasLine>);
	}
	// What a crash tore off stays a line of its own.
	if (text !== "" && !text.endsWith("\n")) await appendFile(path, "\n");
	const append = (line: object) => appendFile(path, `${JSON.stringify(line)}\n`, { mode: 0o600 });
	return {
		verdictOf: (claim: string): Verdict | null => verdicts.get(claim) ?? null,
		/** The last attempt on the chain that ended with this false claim; null: none did. */
		endOf: (claim: string): number | null => ends.get(claim) ?? null,
		async end(claim: string, attempt: number, verdict: End): Promise<void> {
			ends.set(claim, attempt);
			await append({ claim, verdict, attempt, atMs: nowMs() });
		},
		async keep(claim: string, verdict: Verdict): Promise<void> {
			verdicts.set(claim, verdict);
			await append({ claim, verdict, atMs: nowMs() });
		},
		/** Of the last 24 hours. */
		gasSpent(): number {
			gas = gas.filter(({ atMs }) => atMs > nowMs() - DAY_MS);
			return gas.reduce((sum, one) => sum + one.gas, 0);
		},
		async spendGas(amount: number): Promise<void> {
			gas.push({ gas: amount, atMs: nowMs() });
			await append({ gas: amount, atMs: nowMs() });
		},
	};
}

function parsed(line: string): unknown {
	try {
		return JSON.parse(line);
	} catch {
		return null;
	}
}
