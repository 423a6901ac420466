// What a thread of ours sees of this process.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { enableCompileCache, getCompileCacheDir } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startThread } from "./thread-file.ts";

const PROGRAM = `
	import { getCompileCacheDir } from "node:module";
	import { parentPort, workerData } from "node:worker_threads";
	parentPort.postMessage({ names: Object.keys(process.env), cache: getCompileCacheDir(), workerData });
`;

test("a thread sees nothing of the environment but where Node keeps what it compiled, and keeps it there", async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "assay-thread-"));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	// Where this process keeps some already, it goes on there.
	enableCompileCache(folder);
	const program = new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`);
	const worker = startThread(program, { workerData: 7 });
	const [said] = await once(worker, "message");
	assert.deepEqual(said, { names: ["NODE_COMPILE_CACHE"], cache: getCompileCacheDir(), workerData: 7 });
	await worker.terminate();
});
