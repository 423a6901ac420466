// Who a token or a key is, for the API: tokens and nonces lie in the store, roles of keys follow from what
// the key is known as.
import type { AuthSource } from "../../api/server/server-options.ts";
import { mayJoin } from "../agents/agent-pool.ts";
import type { ValidatorContext } from "../validator-context.ts";

type KeyRole = Awaited<ReturnType<AuthSource["rolesOfKey"]>>[number];

export function createAuthSource({ store, env, config, signer }: ValidatorContext): AuthSource {
	return {
		async findToken(secret) {
			const token = await store.tokens.find(secret, { nowMs: env.nowMs() });
			return token === null ? null : { id: token.id, role: token.role, key: token.subject };
		},
		async rolesOfKey(key) {
			// Whoever holds the validator's own key owns the validator.
			if (key === signer.key) return ["admin", "validator"];
			const roles: KeyRole[] = [];
			if (mayJoin(config.join, key) || (await store.providers.get(key)) !== null) roles.push("provider");
			if (config.openCustomers) roles.push("customer");
			return roles;
		},
		takeNonce: (key, nonce, expiresAtMs) => store.nonces.use({ key, nonce, expiresAtMs }),
	};
}
