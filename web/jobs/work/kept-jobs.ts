// Job files that were made in this browser, with the files that were dropped for them: the draft, so that an
// upload goes on after a reload, and each job that was handed in, so that its page can make pictures and
// files of what comes back. In this browser's own database; nothing here is a secret or is sent anywhere.
import type { JobMethod } from "../../../src/protocol/network/job.ts";
import type { JobOffer } from "../../../src/protocol/network/job-offer.ts";
import type { JobSpec } from "../../../src/protocol/network/job-spec.ts";
import type { Draft } from "../new/use-built.ts";

export interface KeptJob extends Draft {
	/** The job's number, or "draft". */
	readonly id: string;
	readonly method: JobMethod;
	readonly savedAtMs: number;
	/** Of a draft: an upload was begun, and was it stopped by hand. */
	readonly upload: "none" | "running" | "paused";
	readonly tokensAStep: number | null;
	/** An offer that was accepted and that the validator may not have yet: money may be in it. */
	readonly pending: PendingOffer | null;
}

export interface PendingOffer {
	readonly spec: JobSpec;
	readonly offer: JobOffer;
}

const [NAME, STORE] = ["assay-jobs", "jobs"];
const MOST_KEPT = 100;

function open(): Promise<IDBDatabase> {
	return new Promise((resolve, reject) => {
		const request = indexedDB.open(NAME, 1);
		request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id" });
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error);
	});
}

async function inStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
	const database = await open();
	try {
		return await new Promise((resolve, reject) => {
			const transaction = database.transaction(STORE, mode);
			const request = act(transaction.objectStore(STORE));
			transaction.oncomplete = () => resolve(request.result);
			transaction.onerror = () => reject(transaction.error);
			transaction.onabort = () => reject(transaction.error);
		});
	} finally {
		database.close();
	}
}

/** Null: it is not here, or this browser keeps nothing. */
export const loadKept = (id: string): Promise<KeptJob | null> =>
	inStore<KeptJob | undefined>("readonly", (store) => store.get(id)).then(
		(found) => found ?? null,
		() => null,
	);

/** False: there is no room, or this browser keeps nothing; then a reload begins anew. */
export async function keepJob(job: KeptJob): Promise<boolean> {
	try {
		await inStore("readwrite", (store) => store.put(job));
		await dropOldest();
		return true;
	} catch {
		return false;
	}
}

export const forgetJob = (id: string): Promise<void> =>
	inStore("readwrite", (store) => store.delete(id)).then(
		() => {},
		() => {},
	);

/** Jobs whose offers were accepted here, and that were not seen to be handed in. */
export const pendingJobs = (): Promise<readonly (KeptJob & { readonly pending: PendingOffer })[]> =>
	inStore<KeptJob[]>("readonly", (store) => store.getAll()).then(
		(all) => all.flatMap((job) => (job.pending ? [{ ...job, pending: job.pending }] : [])),
		() => [],
	);

async function dropOldest(): Promise<void> {
	const keys = await inStore("readonly", (store) => store.getAllKeys());
	if (keys.length <= MOST_KEPT) return;
	const all = await inStore<KeptJob[]>("readonly", (store) => store.getAll());
	const old = all.filter(({ id, pending }) => id !== "draft" && !pending).sort((a, b) => a.savedAtMs - b.savedAtMs);
	for (const { id } of old.slice(0, keys.length - MOST_KEPT)) await forgetJob(id);
}
