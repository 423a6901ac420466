// Watches open rentals: ends those whose time is over, asks active ones for their health. What is open is
// read from the store each round, so this goes on after any restart; one process watches at a time (a lease).
import { expire, isExpired, onHealth, release } from "../../market/rentals/rental-rules.ts";
import { repeat } from "../../platform/repeat.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Rental } from "../../protocol/network/rental.ts";
import { failure, SLOW_TURN_MS } from "../validator-context.ts";
import { askUntilFree, carryOut, type RentalContext } from "./carry-out-rental.ts";

const LEASE = "rentals";
const WATCH_EVERY_MS = 1000;

export function startRentalWatch(context: RentalContext): { stop(): Promise<void> } {
	const { store, env } = context;
	/** When each open rental was last asked for its health; null while it is being asked. */
	const asked = new Map<string, number | null>();
	const watching = repeat(
		{
			...{ everyMs: WATCH_EVERY_MS, after: env.after, onError: failure(context, "rentals") },
			turns: context.watchdog.watch(LEASE, SLOW_TURN_MS),
		},
		async () => {
			if (!(await store.leases.acquire(LEASE))) return;
			const open = await store.rentals.open();
			const ids = new Set(open.map(({ id }) => id));
			for (const id of asked.keys()) if (!ids.has(id)) asked.delete(id);
			for (const rental of open) await watch(context, rental, asked);
		},
	);
	return {
		async stop() {
			await watching.stop();
			await store.leases.release(LEASE).catch(() => {});
		},
	};
}

async function watch(context: RentalContext, rental: Rental, asked: Map<string, number | null>): Promise<void> {
	const { env, config, signer } = context;
	const { id, state, untilMs, lastHealthyAtMs } = rental;
	const nowMs = env.nowMs();
	if (isExpired(rental, nowMs, config.params)) {
		const expired = expire(rental, nowMs, config.params);
		// An extension at this very moment makes `untilMs` another: then it is not over.
		await carryOut(context, rental, expired, { actor: signer.key, ifUntilMs: untilMs });
		return;
	}
	const askedAtMs = asked.has(id) ? asked.get(id)! : (lastHealthyAtMs ?? 0);
	if (state !== "active" || askedAtMs === null || nowMs - askedAtMs < config.params.healthEveryMs) return;
	asked.set(id, null);
	// Not awaited: a provider that never answers must not keep the others' rentals from being watched.
	void checkHealth(context, rental)
		.catch(failure(context, "rentals"))
		.finally(() => asked.set(id, nowMs));
}

async function checkHealth(context: RentalContext, rental: Rental): Promise<void> {
	const { store, env, config, signer, paid } = context;
	const { id, providerId, escrow } = rental;
	// Whoever closes the deposit has given the machine back: nobody pays for it any more.
	if (escrow !== null && paid !== null && !(await paid.runsAt(escrow, env.nowMs()))) {
		await carryOut(context, rental, release(rental, env.nowMs(), config.params), { actor: signer.key });
		return;
	}
	let isHealthy = false;
	try {
		isHealthy = (await askUntilFree(context, providerId, "check", { rental: id })).healthy;
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
	}
	const now = await store.rentals.get(id);
	if (now?.state !== "active") return;
	const checked = onHealth(now, isHealthy, env.nowMs(), config.params);
	await carryOut(context, now, checked, { actor: signer.key, ifUntilMs: now.untilMs });
}
