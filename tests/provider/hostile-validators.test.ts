// A real provider with its real engine before two validators, one of them hostile. Audit N5: it held the
// engine, one time after the other, and the honest one saw a host that is never there; its copies wore the
// disk out.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { AgentConnection } from "../../src/engine/agent/accept-agent.ts";
import { clockUs, makeSigner, random, startDoor } from "../../src/engine/agent/agent.test-kit.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createEngineClient, type EngineClient } from "../../src/engine/client/create-engine-client.ts";
import { ERROR_CODE } from "../../src/engine/wire/frame-table.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { createProvider, type ProviderOptions } from "../../src/provider/create-provider.ts";
import type { ProviderEvent } from "../../src/provider/provider-event.ts";
import { untilFree } from "../../src/validator/agents/until-free.ts";

const LIMITS = { memoryBytes: 8e9, minutes: 10 };
const PROBE = { probe: "0f".repeat(16), limits: LIMITS };
/** Of the two validators, also after a restart: a provider remembers whom it met at an address. */
const KEYS = [makeSigner(), makeSigner()];
let folder = "";
let engine = "";
before(async () => {
	folder = mkdtempSync(join(tmpdir(), "assay-hostile-"));
	engine = (await findEngine(hostPlatform())).path;
});
after(() => rmSync(folder, { recursive: true }));

async function beforeTwo(
	name: string,
	more: Partial<ProviderOptions>,
	run: (hostile: AgentConnection, honest: AgentConnection, events: readonly ProviderEvent[]) => Promise<void>,
): Promise<void> {
	const doors = [await startDoor({ signer: KEYS[0]! }), await startDoor({ signer: KEYS[1]! })] as const;
	const events: ProviderEvent[] = [];
	const opening = createProvider({
		signer: makeSigner(),
		validators: doors.map(({ url }) => url),
		trust: [],
		dataFolder: join(folder, name),
		name,
		pricePerHourMicros: 0,
		engine: { command: engine, args: ["--threads", "2"] },
		env: process.env,
		limits: LIMITS,
		diskBytesPerDay: null,
		rental: null,
		clockUs,
		nowMs: () => Date.now(),
		randomBytes: random,
		onEvent: (event) => events.push(event),
		...more,
	});
	try {
		await opening;
		await run(await doors[0].next(), await doors[1].next(), events);
	} finally {
		await opening.then(
			(provider) => provider.stop(),
			() => {},
		);
		for (const door of doors) await door.stop();
	}
}

async function openEngine(far: AgentConnection) {
	return createEngineClient(await far.openLink(PROBE), { clockUs, readyDeadlineMs: 600_000, randomBytes: random });
}

/**
 * Between two questions for the engine. An end that says more than 50 things a second is cut off for
 * flooding, and each question is several.
 */
const AGAIN_MS = 200;

/** As a validator's probe does. */
const openWhenFree = (far: AgentConnection) =>
	untilFree(() => openEngine(far), { env: realEnvironment(), patienceMs: 600_000, everyMs: AGAIN_MS });

test("N5: a validator that holds the engine again and again does not keep an honest one's probes out", async () => {
	// Far more than the honest one uses in all, also on a busy machine.
	const turns = { protectedMs: 10_000, placeMs: 90_000, halfLifeMs: 3_600_000 };
	await beforeTwo("held", { turns }, async (hostile, honest, events) => {
		let isOver = false;
		let holds = 0;
		const holding = (async () => {
			while (!isOver) {
				let client: EngineClient | null = null;
				try {
					client = await openEngine(hostile);
					holds += 1;
					// Until it is taken away: it never closes by itself.
					while (!isOver) {
						await client.ping({ deadlineMs: 600_000 });
						await pause(5);
					}
				} catch (error) {
					if (!(error instanceof AssayError)) throw error;
					await pause(AGAIN_MS);
				} finally {
					// Also after a ping that came too late on a busy machine: an engine left open would be nobody's.
					await client?.close();
				}
			}
		})();
		try {
			for (let probe = 0; probe < 3; probe++) {
				const [before, untilMs] = [holds, Date.now() + 300_000];
				while (holds === before && holds < probe + 1) {
					assert.ok(
						Date.now() < untilMs,
						`the hostile one had the engine ${holds} times, and not again for five minutes`,
					);
					await pause(5);
				}
				const client = await openWhenFree(honest);
				assert.ok((await client.ping({ deadlineMs: 600_000 })) > 0);
				await client.close();
			}
		} finally {
			isOver = true;
			await holding;
		}
		assert.ok(holds >= 3, "it had the engine each time before");
		const taken = events.filter((event) => event.kind === "closed" && event.killed?.includes("share was used up"));
		assert.ok(taken.length >= 3);
		assert.equal(
			new Set(taken.map((event) => event.kind === "closed" && event.validatorKey)).size,
			1,
			"the hostile one alone",
		);
	});
});

/** Copies a round of 1 MiB to the disk until the engine refuses; gives the bytes that were written. */
async function wear(far: AgentConnection): Promise<number> {
	const client = await openWhenFree(far);
	try {
		const claim = await client.hello({ deadlineMs: 600_000 });
		const [cpu, disk] = (["cpu", "disk"] as const).map((kind) => claim.devices.findIndex((one) => one.kind === kind));
		const within = { deadlineMs: 600_000 };
		const seed = new Uint8Array(32);
		const gemm = {
			session: 1,
			device: cpu!,
			precision: "int8",
			m: 1024,
			n: 512,
			k: 128,
			rounds: 1,
			keep: 1,
			seed,
		} as const;
		assert.equal((await client.gemm(gemm, within)).end, "complete");
		for (let copies = 0; ; copies++) {
			const copied = await client.copy({ session: 1, device: disk!, newest: 0, nonce: seed }, within);
			if (copied.end === "complete" && copies < 100) continue;
			assert.equal(copied.engineError?.code, ERROR_CODE.no_memory, copied.detail);
			return copies * 2 * gemm.m * gemm.n;
		}
	} finally {
		await client.close();
	}
}

test("N5: a validator wears the disk by its share of a day and no more, over channels and restarts; another's is its own", async () => {
	const MiB = 2 ** 20;
	await beforeTwo("worn", { diskBytesPerDay: 40 * MiB }, async (hostile, honest) => {
		let written = 0;
		for (let channel = 0; channel < 3; channel++) written += await wear(hostile);
		assert.equal(written, 20 * MiB);
		assert.equal(await wear(honest), 20 * MiB, "the honest one's probes have what they need");
	});
	await beforeTwo("worn", { diskBytesPerDay: 40 * MiB }, async (hostile) => assert.equal(await wear(hostile), 0));
});
