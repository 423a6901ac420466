// The roll calls that count for a provider's presence: those that the store has, and before them what was
// remembered when it was last rented through the escrow. The store forgets calls after a day; a rental may
// last longer, and presence stands still meanwhile. Page: docs/scores.md.
import type { RememberedProvider } from "../../store/providers.ts";
import { changeMemory } from "../change-memory.ts";
import type { ValidatorContext } from "../validator-context.ts";

interface CountedCall {
	readonly calledAtMs: number;
	readonly answered: boolean;
	/** It answers no calls, as its owner wants: not answered. */
	readonly isUncalled?: boolean;
}

/** Who has no agent cannot be called, and without a chain nobody is. */
export const isCalled = ({ config }: Pick<ValidatorContext, "config">, { link }: RememberedProvider): boolean =>
	config.chain !== null && config.rollCalls.isOn && link === "agent";

/** The newest first. */
export async function countedCalls(
	{ store, config }: Pick<ValidatorContext, "store" | "config">,
	{ id, memory }: RememberedProvider,
): Promise<readonly CountedCall[]> {
	const { rollCallWindow } = config.params;
	const before = memory.callsBeforeRental;
	const since = await store.rollCalls.counted(id, rollCallWindow, before?.newestAtMs);
	return [
		...since.map(({ state, calledAtMs }) => ({
			...{ calledAtMs, answered: state === "answered", isUncalled: state === "uncalled" },
		})),
		...(before?.answered ?? []).map((answered) => ({ calledAtMs: before!.newestAtMs, answered })),
	].slice(0, rollCallWindow);
}

/** A provider is rented through the escrow from now on: remembers what counts so far. */
export async function keepCalls(
	context: Pick<ValidatorContext, "store" | "config" | "mutex">,
	providerId: string,
): Promise<void> {
	const provider = await context.store.providers.recall(providerId);
	if (provider === null || !isCalled(context, provider)) return;
	const calls = await countedCalls(context, provider);
	if (calls.length === 0) return;
	const callsBeforeRental = { newestAtMs: calls[0]!.calledAtMs, answered: calls.map(({ answered }) => answered) };
	await changeMemory(context, providerId, ({ memory }) => ({ ...memory, callsBeforeRental }));
}
