// What `assay up --liar` adds: the file of every fraud lies where its line says, told once whoever found it;
// and no honest provider comes before the liar is convicted. How the liar is convicted:
// tests/jobs/watch.test.ts.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { AssayError } from "../../protocol/assay-error.ts";
import type { WatchEvent } from "../../validator/jobs/watch/watcher.ts";
import { startWorkers } from "./offer-machine.ts";
import { followFrauds } from "./up-frauds.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-frauds-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const settle = () => new Promise((resolve) => setImmediate(resolve));

function open(name: string, hashes: readonly string[]) {
	const lines: string[] = [];
	const { promise: looked, resolve } = Promise.withResolvers<void>();
	const client = {
		listFrauds: async () => {
			resolve();
			return { rows: hashes.map((hash) => ({ hash, claim: `claim-${hash}` })) };
		},
		getFraud: async ({ params: { hash } }: { params: { hash: string } }) => Buffer.from(hash),
	};
	const report = { line: (text: string) => lines.push(text) };
	const folder = join(scratch, name);
	const frauds = followFrauds({ client: client as never, dataDir: folder, url: "http://127.0.0.1:9", report });
	const path = (hash: string) => join(folder, "watch", "frauds", `${hash}.fraud`);
	const linesOf = (hash: string) => [
		`fraud     a file of ${hash.length} bytes proves the lie. See what was said and what is right:`,
		`            npx assay verify ${path(hash)}`,
		`          or in the browser: http://127.0.0.1:9/disputes/claim-${hash}`,
	];
	return { lines, looked, frauds, path, linesOf };
}

const event = (state: WatchEvent["state"], detail: string, claim = "") => ({ state, detail, claim }) as WatchEvent;

test("what the validator's audit found is laid beside the watcher's files and told once; somebody is convicted", async () => {
	const { lines, frauds, path, linesOf } = open("audit", ["aa", "bb"]);
	await frauds.convicted;
	await frauds.stop();
	assert.deepEqual(lines, ["aa", "bb"].flatMap(linesOf));
	assert.equal(readFileSync(path("bb"), "utf8"), "bb");
	// The watcher comes to the same file a moment later.
	frauds.seen(event("false", `segment 4; ${path("aa")}`));
	assert.equal(lines.length, 6);
});

test("what the watcher found is told when it is found; convicted is somebody when the chain has it", async () => {
	const { lines, looked, frauds, path, linesOf } = open("watcher", []);
	await looked;
	let isConvicted = false;
	void frauds.convicted.then(() => {
		isConvicted = true;
	});
	frauds.seen(event("checking", "segments 0 to 5"));
	mkdirSync(dirname(path("cc")), { recursive: true });
	writeFileSync(path("cc"), "cc");
	frauds.seen(event("false", `segment 4; ${path("cc")}`, "claim-cc"));
	await settle();
	assert.deepEqual([isConvicted, lines], [false, linesOf("cc")]);
	frauds.seen(event("proven", "convicted"));
	await frauds.convicted;
	await frauds.stop();
});

test("no further provider is started before the liar is convicted, and none when all of it stops first", async () => {
	const lines: string[] = [];
	const report = { line: (text: string) => lines.push(text), show: async () => {}, end() {}, further() {} };
	const network = {
		...{
			values: {},
			io: { env: {} },
			dataDir: scratch,
			url: "http://127.0.0.1:9",
			running: { key: "00", chain: null },
		},
		...{ isEmbedded: false, providers: 2, say: () => {}, paint: { unsure: (text: string) => text } },
	};
	let asked = 0;
	const heard = Promise.withResolvers<void>();
	const client = {
		listProviders: async () => {
			asked += 1;
			heard.resolve();
			throw new AssayError("API_UNREACHABLE", "gone");
		},
	};
	const { promise: convicted, resolve: convict } = Promise.withResolvers<void>();
	const start = () => startWorkers(network as never, client as never, report, convicted);
	await start()();
	assert.equal(asked, 0);
	const stop = start();
	await settle();
	assert.equal(asked, 0);
	convict();
	await heard.promise;
	await stop();
	assert.deepEqual([asked, lines], [1, ["provider  no further one is started: gone [API_UNREACHABLE]"]]);
});
