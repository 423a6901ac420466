// Works off what falls due, at most so many at once, each under its lease. What is due and how it is taken
// and given back is the source's (due-probes.ts); here only: how many, since when, and who is told to stop.
//
// There is no queue beside the rows. Being due is a date in a row, being worked on is a lease, and a source
// takes both in one statement: a process that is killed at any moment leaves a row that is due, or a lease
// that expires.
//
// Why not pg-boss, which was here: a due date moves with every request, rental, pause and changed claim, so
// its jobs could only copy the rows and be called back; its own heartbeats and retries would be a second
// lease and a second schedule; work that only the process with the agent's connection can do needs a queue
// for each process; and several probes that start together or not at all are one transaction over the rows,
// which no queue offers.
import { AssayError } from "../../protocol/assay-error.ts";
import type { StoreContext } from "../context.ts";
import type { Leases } from "./leases.ts";

export interface Source<Item> {
	/** Takes up to `limit` items with their leases, in one statement; none whose lease is among `running`. */
	take(limit: number, running: readonly string[]): Promise<readonly Item[]>;
	leaseOf(item: Item): string;
	/** After the handler, however it ended: gives the lease back; what was not done is due again. */
	giveBack(item: Item, isStopping: boolean): Promise<void>;
}

export interface Worker {
	readonly running: () => number;
	/**
	 * Looks for due items. It does so by itself at the start and after every end; falling due makes no sound.
	 */
	wake(): void;
	/** Takes nothing more, aborts what runs and waits for it. */
	stop(): Promise<void>;
}

interface Running {
	readonly abort: AbortController;
	readonly done: Promise<void>;
}

export function createWorker<Item>(
	{ onWarning }: Pick<StoreContext, "onWarning">,
	leases: Leases,
	source: Source<Item>,
	concurrency: number,
	handler: (item: Item, signal: AbortSignal) => Promise<void>,
): Worker {
	const running = new Map<string, Running>();
	let stopping = false;
	let woken = false;
	let pumping: Promise<void> | null = null;

	const stopListening = leases.store.onLost((name) => {
		running.get(name)?.abort.abort(new AssayError("STORE_LEASE_LOST", `the lease on ${name} was lost`));
	});

	async function run(item: Item, signal: AbortSignal): Promise<void> {
		const name = source.leaseOf(item);
		try {
			// Taken while the store closes: given back at once.
			if (!stopping) await handler(item, signal);
		} catch (cause) {
			onWarning(`${name} failed: ${cause instanceof Error ? cause.message : String(cause)}`);
		}
		leases.drop(name);
		// If this fails the lease expires by itself and the rest is taken over.
		await source.giveBack(item, stopping).catch((cause: Error) => {
			onWarning(`${name}: its end could not be written: ${cause.message}`);
		});
		running.delete(name);
		wake();
	}

	async function pump(): Promise<void> {
		while (!stopping && running.size < concurrency) {
			woken = false;
			const free = concurrency - running.size;
			const sentAt = performance.now();
			const items = await source.take(free, [...running.keys()]);
			for (const item of items) {
				const name = source.leaseOf(item);
				leases.keep(name, sentAt);
				const abort = new AbortController();
				running.set(name, { abort, done: run(item, abort.signal) });
			}
			if (items.length < free && !woken) return;
		}
	}

	function wake(): void {
		woken = true;
		if (stopping || pumping) return;
		pumping = pump()
			.catch((cause: Error) => onWarning(`nothing could be taken: ${cause.message}`))
			.finally(() => {
				pumping = null;
				// Woken between the last look and now.
				if (woken && running.size < concurrency) wake();
			});
	}

	wake();
	return {
		running: () => running.size,
		wake,
		async stop() {
			stopping = true;
			for (const { abort } of running.values())
				abort.abort(new AssayError("STORE_LEASE_LOST", "the store is closing and gives its leases back"));
			await pumping;
			await Promise.all([...running.values()].map(({ done }) => done));
			stopListening();
		},
	};
}
