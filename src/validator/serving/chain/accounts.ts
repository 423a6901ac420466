// An account of the chain as the API shows it, and which account belongs to which provider. From events, and one question to the Registry for accounts that events name:
// whoever asks for accounts that nobody has costs the node nothing. Page: docs/chain.md §10, "Whom a leaf names".
import type { ChainAccountView } from "../../../api/types.ts";
import { ROLES, readAccount } from "../../../chain/contracts/registry.ts";
import type { HistoryEvent } from "../../../chain/history/chain-history.ts";
import type { Environment } from "../../../platform/environment.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { Store } from "../../../store/store.ts";
import type { ChainHome } from "../../settlement/home.ts";
import type { ChainViews } from "./views.ts";

export interface ChainAccounts {
	/** The account that is paid for a provider; null where it has none. */
	ofProvider(providerId: string): Hex | null;
	/** Providers of these accounts and what they call themselves, as far as they are known by now. */
	providersOf(
		accounts: readonly Hex[],
	): Promise<ReadonlyMap<Hex, { readonly id: string; readonly name: string | null }>>;
	view(account: Hex, providerId: string | null): Promise<ChainAccountView>;
}

const SHOWN_CLAIMS = 50;
const MAX_KNOWN = 100_000;
const AT_ONCE = 16;
const LEARN_WITHIN_MS = 300;
const LEARN_EVERY_US = 30_000_000;
const LEARN_NEW_US = 2_000_000;
const roleOf = (role: number) =>
	role === ROLES.provider
		? ("provider" as const)
		: role === ROLES.validator
			? ("validator" as const)
			: ("none" as const);

export function createChainAccounts(
	home: ChainHome,
	views: ChainViews,
	store: Pick<Store, "providers">,
	env: Pick<Environment, "nowMs" | "ratesClockUs" | "after">,
): ChainAccounts {
	const { reader } = views;
	/** Deriving a kept account is a multiplication on a curve; the other way round there is none but to have done it. */
	const keptBy = new Map<string, Hex>();
	const providerOf = new Map<Hex, string>();
	const names = new Map<string, string>();

	function know(account: Hex, providerId: string): void {
		if (providerOf.size < MAX_KNOWN) providerOf.set(account, providerId);
	}

	function ofProvider(providerId: string): Hex | null {
		const own = reader.history().accountOfKey(providerId);
		if (own !== null) return own;
		let kept = keptBy.get(providerId);
		if (kept === undefined && home.keptAccountOf !== null) {
			kept = home.keptAccountOf(providerId).address.toLowerCase() as Hex;
			if (keptBy.size < MAX_KNOWN) keptBy.set(providerId, kept);
			know(kept, providerId);
		}
		return kept ?? null;
	}

	/** Every provider's account once, a few at a time: a thousand derivations in one go would keep everybody else waiting for half a second. */
	async function learn(): Promise<void> {
		let cursor: string | null = null;
		do {
			const page: Awaited<ReturnType<typeof store.providers.list>> = await store.providers.list({ limit: 500, cursor });
			for (const [i, { id, name }] of page.rows.entries()) {
				if (names.size < MAX_KNOWN) names.set(id, name);
				if (keptBy.has(id)) continue;
				if (i % AT_ONCE === AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
				ofProvider(id);
			}
			cursor = page.cursor;
		} while (cursor !== null);
	}
	let learning: { readonly atUs: number; readonly done: Promise<void> } | null = null;
	function learned(everyUs: number): Promise<void> {
		const nowUs = env.ratesClockUs();
		if (learning === null || nowUs - learning.atUs > everyUs) learning = { atUs: nowUs, done: learn().catch(() => {}) };
		const late = new Promise<void>((resolve) => env.after(LEARN_WITHIN_MS, resolve));
		return Promise.race([learning.done, late]);
	}

	const known = (account: Hex): string | null =>
		providerOf.get(account) ?? reader.history().keyOfAccount(account) ?? null;

	return {
		ofProvider,
		async providersOf(accounts) {
			const isAnyNew = accounts.some((account) => known(account) === null);
			await learned(isAnyNew ? LEARN_NEW_US : LEARN_EVERY_US);
			return new Map(
				accounts.flatMap((account) => {
					const id = known(account);
					return id === null ? [] : [[account, { id, name: names.get(id) ?? null }] as const];
				}),
			);
		},
		async view(account, providerId) {
			await reader.head();
			const events = reader.history().account(account);
			const isRegistered = events.some(({ name }) => name === "Registered");
			const state = isRegistered
				? await reader.atHead(`account ${account}`, () => readAccount(reader.contracts, account))
				: { role: ROLES.none, stake: 0n, unbonding: 0n, unlockAt: 0 };
			const { claimed, collected } = reader.history().rewardsOf(account);
			const claimable = await views.claimable(account);
			const id = providerId ?? (state.role === ROLES.validator ? null : known(account));
			const slashed = events.reduce(
				(sum, { name, args }) => (name === "Slashed" ? sum + (args.amount as bigint) : sum),
				0n,
			);
			return {
				account,
				providerId: id,
				isKept: id !== null && reader.history().accountOfKey(id) === null && ofProvider(id) === account,
				role: roleOf(state.role),
				stake: String(state.stake),
				unbonding: String(state.unbonding),
				unlockAtMs: state.unlockAt === 0 ? null : state.unlockAt * 1000,
				slashed: String(slashed),
				claimed: String(claimed),
				owed: String(claimed > collected ? claimed - collected : 0n),
				claimable: String(claimable.reduce((sum, { amount }) => sum + amount, 0n)),
				claimableEpochs: claimable.map(({ epoch }) => epoch),
				claims: events
					.filter(({ name }) => name === "Claimed")
					.slice(-SHOWN_CLAIMS)
					.toReversed()
					.map(({ args, hash, block }) => ({
						epoch: Number(args.epoch),
						amount: String(args.amount),
						at: { hash, block },
					})),
				devices: devicesOf(events, env.nowMs()),
			};
		},
	};
}

/** Bound by this account and neither released nor run out. Another provider can bind one only after that. */
function devicesOf(events: readonly HistoryEvent[], nowMs: number): ChainAccountView["devices"] {
	const bound = new Map<string, ChainAccountView["devices"][number]>();
	for (const { name, args, hash, block } of events) {
		const device = args.device as string;
		if (name === "DeviceReleased") bound.delete(device);
		if (name !== "DeviceBound") continue;
		bound.set(device, {
			device,
			validator: args.validator as string,
			evidenceSha256: args.evidenceSha256 as string,
			untilMs: Number(args.until) * 1000,
			at: { hash, block },
		});
	}
	return [...bound.values()].filter(({ untilMs }) => untilMs > nowMs);
}
