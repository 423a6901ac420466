// A job of the sixth method from its quote to its payment, and what people are shown of it: prints one line
// of JSON. On paper with cheaters too: whoever lies in the beginning is convicted, later it is not. Run with
// add-method.ts loaded before it; asserts nothing (sixth-method.test.ts does).
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../../../src/cli/run-command.ts";
import { publishedParams } from "../../../src/market/params.ts";
import type { JobMethod } from "../../../src/protocol/network/job.ts";
import { MethodChoice } from "../../../web/jobs/new/method-choice.tsx";
import { storyOf } from "../../../web/jobs/view/story.ts";
import { openStage } from "../job-stage.test-kit.ts";
import { honestly, statesOf } from "../paper-machine.ts";
import { PaperJob } from "../paper-market.ts";

const METHOD = { name: "prefix", count: 2 } as unknown as JobMethod;
const JOB = {
	...{ workload: "simulate", kind: "life", size: [16, 16], initial: { density: 0.4 }, steps: 8, frames: 2 },
	...{ method: "prefix:2", mostPrice: 5, seed: `0x${"07".repeat(32)}` },
};

/** A page without a browser: the words in its tree, in their order. */
function textOf(node: unknown): string {
	if (typeof node === "string" || typeof node === "number") return String(node);
	if (Array.isArray(node)) return node.map(textOf).join("");
	if (typeof node !== "object" || node === null) return "";
	const { type, props } = node as { type: unknown; props: { readonly children?: unknown } };
	return typeof type === "function" ? textOf(type(props)) : ` ${textOf(props.children)}`;
}

/** One false segment, where one of three of the six hosts has the part. */
const lieAt = (at: number) => ({
	...{ method: METHOD, hosts: 3 },
	run: (task: Parameters<typeof statesOf>[0]) => ({
		states: statesOf(task, (before, segment) =>
			segment === task.first + at ? before.at(-1)! ^ 1 : honestly(task)(before, segment),
		),
		...{ saved: 0, isTry: true },
	}),
});
const played = (at: number | null) =>
	Array.from({ length: 20 }, (_, n) => {
		const cheat = at === null ? { method: METHOD, hosts: 0 } : lieAt(at);
		const { tried, convicted, falsePaid, wronged } = new PaperJob(cheat, 7, n).play();
		return { tried, convicted, falsePaid, wronged: wronged.length };
	});

const scratch = mkdtempSync(join(tmpdir(), "assay-sixth-method-"));
const stage = await openStage({ hasChain: true });
try {
	writeFileSync(join(scratch, "life.json"), JSON.stringify(JOB));
	const assay = async (...args: string[]) => {
		const said = { out: "", err: "" };
		const stream = (name: "out" | "err") =>
			({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
		const env = { ...process.env, ASSAY_HOME: scratch, XDG_CONFIG_HOME: scratch, NO_COLOR: "1" };
		const interrupted = new AbortController().signal;
		const io = { out: stream("out"), err: stream("err"), env, cwd: scratch, interrupted };
		const network = ["--api", stage.validator.url, "--data", stage.data.path];
		const code = await runCommand(["job", ...args, ...(args.includes("--help") ? [] : network)], io);
		return { code, ...said };
	};
	const help = await assay("--help");
	const wrong = await assay("quote", "life.json", "--method", "prefix:10");
	const { METHOD_NAMES } = await import("../../../src/protocol/network/job.ts");
	for (const n of [1, 2, 3]) await stage.worker(n, { methods: METHOD_NAMES });
	const quote = await assay("quote", "life.json");
	const submit = await assay("submit", "life.json");
	const list = await assay("list");
	const [row] = JSON.parse((await assay("list", "--json")).out).rows;
	const status = await assay("status", row.id);
	const job = JSON.parse((await assay("status", row.id, "--json")).out);
	const draws = await assay("audit", row.id);
	const [hosts, published] = await Promise.all([
		stage.validator.client.listJobHosts({}),
		stage.validator.client.getParams(),
	]);
	const { timeOfInt8 } = await import("../../../src/work/cost/work-time.ts");
	const time = { init: timeOfInt8(1e6), segment: timeOfInt8(1e6) };
	const page = textOf(
		MethodChoice({
			job: {
				spec: job.spec,
				order: {},
				work: { ops: 1e6, time, peakBytes: 1e6, stateBytes: 1, givenBytes: 1 },
			} as never,
			...{ hosts: hosts.rows, params: publishedParams(published.params), method: METHOD, isLocked: false },
			onChoose: () => {},
		}),
	);
	const paper = { honest: played(null), early: played(1), late: played(150) };
	const story = storyOf(job, { lines: [], spans: [] } as never).text;
	process.stdout.write(
		`${JSON.stringify({ help, wrong, quote, submit, list, status, job, draws, page, story, paper })}\n`,
	);
} finally {
	await stage.close();
	rmSync(scratch, { recursive: true, force: true });
}
