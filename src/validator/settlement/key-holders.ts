// Whose are these device keys, by the chain? Providers bind them there by the statements of validators
// (device-bindings.ts), so that one key counts for one provider also where validators share no database. What
// a validator's own database says of them is store/devices.ts; docs/attestation.md.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { ROLES, readAccount, readDevice } from "../../chain/contracts/registry.ts";
import { isInTime } from "../../platform/abortable.ts";
import type { Environment } from "../../platform/environment.ts";
import { DEVICE_KEY_SCHEMA } from "../../protocol/chain/device-commitment.ts";
import { type ChainKeys, NO_CHAIN_KEYS } from "../../store/devices.ts";
import { failure, type KeyHolders, type ValidatorContext } from "../validator-context.ts";

/** A probe that waits to be counted is not kept by a slow node; the next one asks again. */
const WITHIN_MS = 5000;

/** A node that does not answer says nothing of anybody. */
export function createKeyHolders(
	contracts: Contracts,
	context: Pick<ValidatorContext, "log" | "metrics"> & { readonly env: Pick<Environment, "after"> },
): KeyHolders {
	const told = failure(context, "device keys");
	return async (providerId, keys) => {
		if (keys.length === 0) return NO_CHAIN_KEYS;
		const asked = holdersOf(contracts, keys);
		try {
			if (!(await isInTime(asked, WITHIN_MS, context.env.after))) {
				asked.catch(() => {});
				return NO_CHAIN_KEYS;
			}
		} catch (error) {
			told(error);
			return NO_CHAIN_KEYS;
		}
		const held = await asked;
		return {
			own: held.filter((one) => one.providerId === providerId).map(({ key }) => key),
			elsewhere: held.filter((one) => one.providerId !== providerId),
		};
	};
}

/**
 * By the provider's key that the holder's account names: an account names one, so a key counts for one.
 * Accounts that left hold nothing.
 */
async function holdersOf(contracts: Contracts, keys: readonly string[]): Promise<ChainKeys["elsewhere"]> {
	const found = await Promise.all(
		[...new Set(keys)].map(async (key) => {
			const { provider } = await readDevice(contracts, `0x${key}`, DEVICE_KEY_SCHEMA);
			if (provider === null) return [];
			const { role, signingKey } = await readAccount(contracts, provider);
			const providerId = signingKey.slice(2).toLowerCase();
			return role === ROLES.provider && /^[0-9a-f]{64}$/.test(providerId) ? [{ key, providerId }] : [];
		}),
	);
	return found.flat();
}
