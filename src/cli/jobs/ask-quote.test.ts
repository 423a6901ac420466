// When a customer of a network that has just started waits for its hosts, and when it is refused at once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import type { UpFile } from "../up/up-file.ts";
import { askQuote, type QuoteBody } from "./ask-quote.ts";

const START_MS = 1000;
const UP = {
	...{ pid: 1, startTicks: "1", url: "http://127.0.0.1:9", key: "k", startedAtMs: START_MS },
	...{ dataDir: "/data/of it", providers: 3, isLiar: false },
} as const satisfies UpFile;

/** `ready`: hosts that may be drawn, at one question after the other; from the last one on it is quoted. */
function open(up: UpFile | null, ready: readonly number[], method: object, { nowMs = START_MS, connected = 1 } = {}) {
	let asked = 0;
	let said = "";
	const api = {
		quoteJob: async () => {
			if (asked === ready.length) return { hosts: 3 };
			throw new AssayError("JOB_NO_PROVIDER", "nobody fits");
		},
		listJobHosts: async () => ({ rows: Array.from({ length: ready[asked++]! }, () => ({})) }),
		network: async () => ({ providers: { connected } }),
	};
	const io = { err: { write: (text: string) => (said += text) }, interrupted: new AbortController().signal };
	const by = { io: { ...io, cwd: "/elsewhere", env: {} } as never, up, nowMs: () => nowMs, everyMs: 1 };
	const asking = askQuote({ spec: { method } } as QuoteBody, api as never, by);
	return { asking, asked: () => asked, said: () => said };
}

const two = { name: "redundant", count: 2 };
const one = { name: "optimistic", count: 0 };

test("hosts that are still being proven are waited for, and said so once", async () => {
	const { asking, said } = open(UP, [0, 1, 2], two);
	assert.deepEqual(await asking, { hosts: 3 });
	assert.equal(said(), "  no host fits yet: this network has just started, and 0 of its 3 hosts are proven\n");
	const alone = open({ ...UP, providers: 1 }, [0], one);
	await alone.asking;
	assert.match(alone.said(), /its host is not proven yet/);
});

test("a job that no host can come for is refused at once", async () => {
	const refused = { code: "JOB_NO_PROVIDER", message: "nobody fits" };
	// All are there; more are wanted than there will be; it has started long ago; it is not on this machine.
	await assert.rejects(open(UP, [3, 3], two).asking, refused);
	await assert.rejects(open(UP, [0, 0], { name: "redundant", count: 5 }).asking, refused);
	await assert.rejects(open(UP, [0, 0], one, { nowMs: START_MS + 300_001 }).asking, refused);
	await assert.rejects(open(null, [0, 0], one).asking, refused);
	// Hosts of others are there, and may be on their way as well.
	await open(UP, [0], { name: "redundant", count: 5 }, { connected: 6 }).asking;
});

test("beside a liar that is still to be convicted the reason is told at once, with what to hand in first", async () => {
	const liar = { ...UP, providers: 1, isLiar: true };
	const { asking, asked } = open(liar, [1, 1], two);
	await assert.rejects(asking, (error: AssayError) => {
		assert.equal(error.code, "JOB_NO_PROVIDER");
		assert.match(error.message, /^nobody fits; this network was started with --liar: its one host lies/);
		assert.match(
			error.hint,
			/assay job submit \S*samples\/mlp-exact\.json --method optimistic --yes --data '\/data\/of it'$/,
		);
		return true;
	});
	assert.equal(asked(), 1);
	// What it can be convicted by waits until it is proven.
	await open(liar, [0], one).asking;
});
