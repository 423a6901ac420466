// A validator process as the tests need one: takes, probes (a file instead of a host), recovers, until it is
// killed. Run as a program with its options as JSON. It prints READY and its name, OVERLAP when it meets
// another live process at the same provider, and BROKEN when it could not bring a probe to its end.
import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Store, StoreOptions } from "../open-store.ts";
import { openStore } from "../open-store.ts";
import type { FinishProbe } from "../probe-finish.ts";
import { finishOf } from "../sample-rows.test-kit.ts";
import type { DueProbe } from "./due-probes.ts";

export interface BusyOptions {
	readonly store: StoreOptions;
	/** Where it marks whom it is probing. */
	readonly busyDir: string;
	readonly probeMs: number;
	/** After a counted probe the provider is due again this much later than it was. */
	readonly nextProbeAtMs: number;
	readonly nowMs: number;
}

function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}

/**
 * The mark of a live process here means that two probe one host at once. It is made beside and put into place
 * whole: who is killed meanwhile leaves no mark without a process in it.
 */
function enter(file: string, providerId: string): void {
	const draft = `${file}-${process.pid}`;
	writeFileSync(draft, String(process.pid));
	try {
		linkSync(draft, file);
		rmSync(draft);
	} catch {
		const other = Number(readFileSync(file, "utf8"));
		if (isAlive(other)) console.log(`OVERLAP ${providerId} ${other} ${process.pid}`);
		renameSync(draft, file);
	}
}

/** Its own mark only: after a take-over the file is the other's. */
function leave(file: string): void {
	if (readFileSync(file, "utf8") === String(process.pid)) rmSync(file);
}

async function probe(store: Store, o: BusyOptions, due: DueProbe): Promise<void> {
	const file = join(o.busyDir, due.providerId);
	const id = randomBytes(16).toString("hex");
	let evidence: FinishProbe["evidence"] = null;
	enter(file, due.providerId);
	try {
		await store.probes.begin({
			id,
			providerId: due.providerId,
			validator: "v",
			startedAtMs: Date.now(),
		});
		await sleep(o.probeMs, undefined, { signal: due.signal });
		evidence = await store.evidence.put(id, Buffer.from(`evidence of ${id}`));
	} finally {
		leave(file);
	}
	const provider = { ...finishOf(id).provider, nextProbeAtMs: o.nextProbeAtMs };
	await store.probes.finish(finishOf(id, { evidence, provider, finishedAtMs: Date.now() }));
}

/** What dead ones left: their evidence is there, so it counts. */
export async function recover(store: Store, nextProbeAtMs: number): Promise<void> {
	for (const { probeId, evidenceSha256, probe: row } of (await store.probes.recover({ nowMs: Date.now() })).pending) {
		if (row === null) continue;
		const bytes = await store.evidence.get(evidenceSha256);
		const provider = { ...finishOf(probeId).provider, nextProbeAtMs };
		await store.probes.finish(
			finishOf(probeId, {
				evidence: { sha256: evidenceSha256, bytes: bytes.length },
				provider,
				finishedAtMs: Date.now(),
			}),
		);
	}
}

if (process.argv[1] === import.meta.filename) {
	const o = JSON.parse(process.argv[2]!) as BusyOptions;
	const store = await openStore(o.store);
	const worker = store.dueProbes.take({ concurrency: 4, retryMs: 0, nowMs: () => o.nowMs }, async (due) => {
		await probe(store, o, due).catch((error: unknown) => {
			console.log(`BROKEN ${due.providerId} ${error}`);
			throw error;
		});
	});
	console.log(`READY ${store.process}`);
	process.once("SIGTERM", () => void store.close().then(() => process.exit(0)));
	for (let turn = 0; ; turn++) {
		// It looks by itself after every end; this is for what comes while it has nothing to do.
		worker.wake();
		if (turn % 2 === 0) await recover(store, o.nextProbeAtMs).catch(() => {});
		await sleep(250);
	}
}
