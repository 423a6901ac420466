// What a thread of ours sees of this process.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { startThread } from "./thread-file.ts";

const PROGRAM = `
	import { getCompileCacheDir } from "node:module";
	import { parentPort, workerData } from "node:worker_threads";
	parentPort.postMessage({ names: Object.keys(process.env), cache: getCompileCacheDir(), workerData });
`;

async function seenBy(program: URL): Promise<{ names: string[]; cache?: string; workerData: number }> {
	const worker = startThread(program, { workerData: 7 });
	const [said] = await once(worker, "message");
	await worker.terminate();
	return said;
}

test("a thread sees nothing of the environment but where Node keeps what it compiled, and keeps it there", async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "assay-thread-"));
	const before = process.env.NODE_COMPILE_CACHE;
	t.after(() => {
		if (before === undefined) delete process.env.NODE_COMPILE_CACHE;
		else process.env.NODE_COMPILE_CACHE = before;
		rmSync(folder, { recursive: true, force: true });
	});
	const program = new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`);
	process.env.NODE_COMPILE_CACHE = folder;
	const { cache, ...said } = await seenBy(program);
	assert.deepEqual(said, { names: ["NODE_COMPILE_CACHE"], workerData: 7 });
	assert.equal(cache && dirname(cache), folder);
	delete process.env.NODE_COMPILE_CACHE;
	assert.deepEqual(await seenBy(program), { names: [], cache: undefined, workerData: 7 });
});
