// Routes of the chain: where it is, its epochs, weights, transactions, accounts. A validator without a chain
// loads nothing of it and says so.
import type { Handlers } from "../../../api/routes.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { ChainHome } from "../../settlement/home.ts";
import type { ValidatorContext } from "../../validator-context.ts";
import { mayHaveTrialAccount, trialAccountHandlers } from "./trial-accounts.ts";

export function chainHandlers({ env, store }: Pick<ValidatorContext, "env" | "store">, home: ChainHome | null) {
	async function open(chain: ChainHome) {
		const [{ createChainViews }, { ChainAccounts }] = await Promise.all([
			import("./views.ts"),
			import("./accounts.ts"),
		]);
		const views = await createChainViews(chain, env);
		return { views, accounts: new ChainAccounts(chain, views, store, env) };
	}
	let opened: ReturnType<typeof open> | null = null;
	function must(): ReturnType<typeof open> {
		if (home === null) throw new AssayError("CHAIN_NONE", "this validator has no chain");
		if (opened === null) {
			opened = open(home);
			opened.catch(() => {
				opened = null;
			});
		}
		return opened;
	}

	return {
		async getChain({ address }) {
			if (home === null) return { chain: null };
			const chain = await (await must()).views.chain();
			return { chain: { ...chain, trialAccounts: mayHaveTrialAccount(home, address) } };
		},
		...trialAccountHandlers(home),
		async listChainEpochs({ query: { limit, cursor } }) {
			const { views } = await must();
			const rows = await views.epochs({ limit: limit + 1, before: numberOf(cursor) });
			const shown = rows.slice(0, limit);
			return { rows: shown, cursor: rows.length > limit ? String(shown.at(-1)!.number) : null };
		},
		async getChainEpoch({ params: { number } }) {
			return (await must()).views.epoch(number);
		},
		async listChainWeights({ params: { number }, query: { limit, cursor } }) {
			const { views, accounts } = await must();
			const past = await views.past(number);
			const { validators, rows } = await views.leaves.of(number, past);
			const claimedOf = views.claimedIn(number);
			const from = numberOf(cursor) ?? 0;
			const wanted = rows.slice(from, from + limit);
			const providers = await accounts.providersOf(wanted.map(({ account }) => account));
			const shown = await store.devices.attestationsOf([...providers.values()].map(({ id }) => id));
			const attested = new Map(shown.map(({ id, attestation }) => [id, attestation]));
			return {
				validators,
				rows: wanted.map(({ earned, total, ...row }) => ({
					...row,
					isValidator: accounts.isValidator(row.account),
					providerId: providers.get(row.account)?.id ?? null,
					name: providers.get(row.account)?.name ?? null,
					attestation: attested.get(providers.get(row.account)?.id ?? "") ?? null,
					earned: earned === null ? null : String(earned),
					total: total === null ? null : String(total),
					claimed: String(claimedOf(row.account)),
				})),
				cursor: from + limit < rows.length ? String(from + limit) : null,
			};
		},
		async listChainTransactions({ params: { number }, query: { limit, cursor } }) {
			const { views } = await must();
			const from = numberOf(cursor) ?? 0;
			const { rows, more } = await views.transactions(number, from, limit);
			return { rows, cursor: more ? String(from + limit) : null };
		},
		async getChainAccount({ params: { account } }) {
			return (await must()).accounts.view(account as Hex, null);
		},
		async getProviderChain({ params: { id } }) {
			const { views, accounts } = await must();
			if ((await store.providers.get(id)) === null)
				throw new AssayError("PROVIDER_UNKNOWN", `there is no provider ${id}`);
			await views.reader.head();
			const account = accounts.ofProvider(id);
			return { account: account === null ? null : await accounts.view(account, id) };
		},
	} satisfies Partial<Handlers>;
}

/** Our cursors are numbers: where a page begins. */
function numberOf(cursor: string | undefined): number | null {
	if (cursor === undefined) return null;
	if (!/^\d{1,10}$/.test(cursor)) throw new AssayError("CURSOR_BAD", "this is not a cursor of this list");
	return Number(cursor);
}
