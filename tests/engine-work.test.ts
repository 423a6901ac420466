// Exact programs on the real engine, over its frames: the suite of all sessions, hostile requests, its store and its sandbox.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient, type EngineClient } from "../src/engine/client/create-engine-client.ts";
import { workSessionSuite } from "../src/engine/client/work-session-suite.test-kit.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";

async function startEngine(...args: readonly string[]): Promise<EngineClient> {
	const { path } = await findEngine(hostPlatform());
	const link = await createLocalLink({
		command: path,
		args: ["--no-disk", "--threads", "2", ...args],
		env: process.env,
	});
	return createEngineClient(link, {
		clockUs: () => performance.now() * 1000,
		readyDeadlineMs: 20_000,
		randomBytes: (size) => new Uint8Array(randomBytes(size)),
	});
}

const cpuOf = async (engine: EngineClient): Promise<number> =>
	(await engine.hello({ deadlineMs: 20_000 })).devices.findIndex(({ kind }) => kind === "cpu");

workSessionSuite("engine", async () => {
	const store = mkdtempSync(join(tmpdir(), "assay-store-"));
	const engine = await startEngine("--store", store);
	const device = await cpuOf(engine);
	return {
		open: (work) => engine.openWork({ ...work, device }),
		async close() {
			await engine.close();
			rmSync(store, { recursive: true });
		},
	};
});
