// Carries out one step of a rental that market decided: guarded by the store, told to whoever listens, and at
// the end of a rental everything that follows from it. Not here: which step (market/rentals/rental-rules.ts),
// customers' wishes (rentals.ts), the passing of time (watch-rentals.ts).
import type { CallReply, CallRequest, PlainCall } from "../../engine/agent/agent-calls.ts";
import type { Rental } from "../../protocol/network/rental.ts";
import type { RentalChange } from "../../store/rentals.ts";
import type { AgentAsker } from "../agents/ask-agent.ts";
import { untilFree } from "../agents/until-free.ts";
import { changeMemory } from "../change-memory.ts";
import type { ScoreKeeper } from "../scoring/score-keeper.ts";
import { failure, type ValidatorContext } from "../validator-context.ts";
import type { PaidRentals } from "./paid-rentals.ts";

export interface RentalContext extends ValidatorContext {
	readonly asker: AgentAsker;
	readonly scores: ScoreKeeper;
	/** Null without a chain. */
	readonly paid: PaidRentals | null;
	/** A provider has come free: it is due at once. */
	readonly onFree: () => void;
}

/** Below the 30 s for which a client waits. */
const BUSY_PATIENCE_MS = 20_000;
const BUSY_EVERY_MS = 500;

/**
 * A probe or a roll call has the host's engine for seconds, and of one rental one question is asked at a
 * time: nobody is sent away, found sick or kept for that.
 */
export function askUntilFree<N extends PlainCall>(
	{ asker, env }: Pick<RentalContext, "asker" | "env">,
	providerId: string,
	name: N,
	request: CallRequest<N>,
): Promise<CallReply<N>> {
	const patience = { env, patienceMs: BUSY_PATIENCE_MS, everyMs: BUSY_EVERY_MS };
	return untilFree(() => asker.ask(providerId, name, request), patience);
}

type More = Pick<RentalChange, "actor" | "access" | "ifUntilMs">;

/** Null: somebody else was quicker. */
export async function carryOut(
	context: RentalContext,
	before: Rental,
	after: Rental,
	more: More,
): Promise<Rental | null> {
	const { store, env, metrics } = context;
	const { state, untilMs, endReason, chargedMicros, refundMicros, misses, lastHealthyAtMs, detail } = after;
	const isOther = before.state !== state;
	const changed = await store.rentals.change({
		id: before.id,
		from: before.state,
		to: state,
		atMs: after.endedAtMs ?? (isOther ? after.startedAtMs : null) ?? env.nowMs(),
		...(untilMs !== before.untilMs && { untilMs }),
		...(endReason !== null && { endReason }),
		...(chargedMicros !== null && { chargedMicros }),
		...(refundMicros !== null && { refundMicros }),
		...(misses !== before.misses && { misses }),
		...(lastHealthyAtMs !== null && lastHealthyAtMs !== before.lastHealthyAtMs && { lastHealthyAtMs }),
		...(detail !== null && { detail }),
		...more,
	});
	if (changed === null) return null;
	if (isOther) metrics.rentals.inc({ to: changed.endReason ?? changed.state });
	if (isOther || before.untilMs !== changed.untilMs) tellRental(context, changed);
	if (state === "ended" || state === "refused") await afterEnd(context, changed);
	return changed;
}

/** Public: neither the customer nor the access. */
export function tellRental({ hub }: ValidatorContext, { id, providerId, state, endReason }: Rental): void {
	hub.tell({ kind: "rental.changed", subject: id, providerId, detail: { state, endReason } });
}

async function afterEnd(context: RentalContext, rental: Rental): Promise<void> {
	const { id, providerId, reservedAtMs, endedAtMs, escrow } = rental;
	const { env, log, scores, onFree } = context;
	// First of all, so that the probe that is due now finds it under way and waits. The provider ends the
	// rental by itself at its time; asking only makes it sooner. Not waited for: it may never answer.
	void askUntilFree(context, providerId, "unrent", { rental: id }).catch((error) => {
		log.info({ rental: id, err: error }, "the provider could not be told of the end of a rental");
	});
	// Time in which nobody could probe it does not age its proof, if it was paid for: else whoever rents from
	// himself would never be probed.
	await changeMemory(context, providerId, ({ memory }) => {
		if (memory.proof === null || escrow === null) return null;
		const rentedMs = Math.max(0, (endedAtMs ?? env.nowMs()) - Math.max(reservedAtMs, memory.proof.provenAtMs));
		const proof = { ...memory.proof, rentedMs: memory.proof.rentedMs + rentedMs };
		return { ...memory, why: "rental-ended", proof };
	});
	await scores.score(providerId).catch(failure(context, "score"));
	onFree();
}
