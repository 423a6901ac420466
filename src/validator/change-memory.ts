// Changes what is remembered of a provider between probes: reads, decides and writes in its turn, so that two
// changes at once lose nothing. Between processes the lease on a provider does the same for probes; what else
// is written (suspicion, changed claims, ends of rentals) is rare and small.
import type { ProviderMemory } from "../protocol/network/provider-memory.ts";
import type { RememberedProvider } from "../store/providers.ts";
import type { ValidatorContext } from "./validator-context.ts";

/** `change` gives what is remembered from now on; null: nothing changes. */
export async function changeMemory(
	{ store, mutex }: Pick<ValidatorContext, "store" | "mutex">,
	providerId: string,
	change: (provider: RememberedProvider) => ProviderMemory | null,
): Promise<void> {
	await mutex.run(providerId, async () => {
		const provider = await store.providers.recall(providerId);
		const memory = provider === null ? null : change(provider);
		if (memory !== null) await store.providers.remember(providerId, memory);
	});
}
