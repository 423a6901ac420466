// Figures of a trial network's hosts, written by hand as probes of this machine proved them on a quiet day: a
// machine with other work proves its memory seldom, and here hosts only have to be drawn. What they compute
// they compute for real.
import { setTimeout as sleep } from "node:timers/promises";
import { openStore, serverFolder } from "../../src/store/open-store.ts";
import { ensureEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { urlOf } from "../../src/store/postgres/servers.test-kit.ts";
import { figure, finishOf, gpu, probeByHand } from "../../src/store/sample-rows.test-kit.ts";
import type { TrialNetwork } from "../jobs/trial-network.ts";

const FIGURES = [
	figure(0, "memory.resident", 220 << 20, "B"),
	figure(0, "gemm.int8", 65_000_000_000),
	figure(0, "memory.bandwidth", 8_000_000_000, "B/s"),
	figure(0, "fma.int32", 44_000_000_000),
];
const LOOK_EVERY_MS = 5000;
const AGAIN_MS = 6 * 3_600_000;

/** Until so many may be drawn; false where they do not come. */
export async function proveHosts(network: TrialNetwork, count: number, withinMs: number): Promise<boolean> {
	const databaseUrl = urlOf(await ensureEmbeddedServer({ folder: serverFolder(network.dataDir) }));
	const store = await openStore({ dataDir: network.dataDir, databaseUrl, keepServer: true });
	const untilMs = performance.now() + withinMs;
	try {
		while (performance.now() < untilMs) {
			if (((await network.hosts()) ?? 0) >= count) return true;
			const { rows } = await network.client.listProviders({ query: { limit: 16 } });
			for (const { id, lastValidAtMs } of rows) {
				if (lastValidAtMs === null) continue;
				const nowMs = Date.now();
				const devices = [
					gpu(0, { kind: "cpu", claimedName: "this machine", uuid: "", profile: null, identity: "unjudged" }),
				];
				// Not probed again before the end.
				const provider = { ...finishOf(id).provider, nextProbeAtMs: nowMs + AGAIN_MS };
				const over = { startedAtMs: nowMs - 1000, finishedAtMs: nowMs, figures: FIGURES, devices, provider };
				// While it is probed its lease is the validator's.
				await probeByHand(store, id, `proof of ${id} at ${nowMs}`, over).catch((error) => {
					console.error(`${id} is not proven now: ${error}`);
				});
			}
			await sleep(LOOK_EVERY_MS);
		}
		return false;
	} finally {
		await store.close();
	}
}
