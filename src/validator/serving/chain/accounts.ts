// An account of the chain as the API shows it, and which account belongs to which provider. From events, and
// one question to the Registry for accounts that events name: whoever asks for accounts that nobody has costs
// the node nothing. Page: docs/epochs.md §4, "Whom a leaf names".
import type { ChainAccountView } from "../../../api/types.ts";
import { ROLES, readAccount } from "../../../chain/contracts/registry.ts";
import type { ChainHistory, HistoryEvent } from "../../../chain/history/chain-history.ts";
import { isInTime } from "../../../platform/abortable.ts";
import type { Environment } from "../../../platform/environment.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { Store } from "../../../store/open-store.ts";
import type { ChainHome } from "../../settlement/home.ts";
import type { ChainViews } from "./views.ts";

const SHOWN_CLAIMS = 50;
const MAX_KNOWN = 100_000;
const AT_ONCE = 16;
const LEARN_WITHIN_MS = 300;
const LEARN_EVERY_US = 30_000_000;
const LEARN_NEW_US = 2_000_000;

export class ChainAccounts {
	private readonly home: ChainHome;
	private readonly views: ChainViews;
	private readonly store: Pick<Store, "providers">;
	private readonly env: Pick<Environment, "nowMs" | "ratesClockUs" | "after">;
	/** Deriving a kept account is a curve multiplication, and finding its provider means deriving all. */
	private readonly keptBy = new Map<string, Hex>();
	private readonly providerOf = new Map<Hex, string>();
	private readonly names = new Map<string, string>();
	private learning: { readonly atUs: number; readonly done: Promise<void> } | null = null;

	constructor(
		home: ChainHome,
		views: ChainViews,
		store: Pick<Store, "providers">,
		env: Pick<Environment, "nowMs" | "ratesClockUs" | "after">,
	) {
		this.home = home;
		this.views = views;
		this.store = store;
		this.env = env;
	}

	/** The account that is paid for a provider; null where it has none. */
	ofProvider(providerId: string): Hex | null {
		const own = this.history().accountOfKey(providerId);
		if (own !== null) return own;
		let kept = this.keptBy.get(providerId);
		if (kept === undefined && this.home.keptAccountOf !== null) {
			kept = this.home.keptAccountOf(providerId).address.toLowerCase() as Hex;
			if (this.keptBy.size < MAX_KNOWN) this.keptBy.set(providerId, kept);
			if (this.providerOf.size < MAX_KNOWN) this.providerOf.set(kept, providerId);
		}
		return kept ?? null;
	}

	/** Providers of these accounts and what they call themselves, as far as they are known by now. */
	async providersOf(
		accounts: readonly Hex[],
	): Promise<ReadonlyMap<Hex, { readonly id: string; readonly name: string | null }>> {
		const isAnyNew = accounts.some((account) => this.idOf(account) === null);
		await this.learned(isAnyNew ? LEARN_NEW_US : LEARN_EVERY_US);
		return new Map(
			accounts.flatMap((account) => {
				const id = this.idOf(account);
				return id === null ? [] : [[account, { id, name: this.names.get(id) ?? null }] as const];
			}),
		);
	}

	isValidator(account: Hex): boolean {
		return this.history().isValidator(account);
	}

	async view(account: Hex, providerId: string | null): Promise<ChainAccountView> {
		const { reader } = this.views;
		await reader.head();
		const events = this.history().account(account);
		const isRegistered = events.some(({ name }) => name === "Registered");
		const state = isRegistered
			? await reader.atHead(`account ${account}`, () => readAccount(reader.contracts, account))
			: { role: ROLES.none, stake: 0n, unbonding: 0n, locked: 0n, unlockAt: 0, signer: account, payout: account };
		const claims = this.history().claims(account);
		const claimed = this.history().claimedOf(account);
		const { finalEpoch, final, posted } = await this.views.earnedBy(account);
		const id = providerId ?? this.idOf(account);
		const slashed = events.filter(({ name }) => name === "Slashed").map(({ args }) => args.amount as bigint);
		return {
			account,
			signer: state.signer.toLowerCase(),
			payout: state.payout.toLowerCase(),
			providerId: id,
			isKept: id !== null && this.history().accountOfKey(id) === null && this.ofProvider(id) === account,
			role: ROLE_NAMES[state.role] ?? "none",
			stake: String(state.stake),
			unbonding: String(state.unbonding),
			locked: String(state.locked),
			unlockAtMs: state.unlockAt === 0 ? null : state.unlockAt * 1000,
			slashed: String(sumOf(slashed)),
			earned: final === null ? null : String(final),
			pending: String(less(posted ?? 0n, final ?? posted ?? 0n)),
			claimed: String(claimed),
			claimable: String(less(final ?? 0n, claimed)),
			finalEpoch,
			claims: claimsOf(claims),
			devices: devicesOf(events, this.env.nowMs()),
		};
	}

	private history(): ChainHistory {
		return this.views.reader.history();
	}

	private idOf(account: Hex): string | null {
		if (this.isValidator(account)) return null;
		return this.providerOf.get(account) ?? this.history().keyOfAccount(account);
	}

	/** Waits a moment for every provider's account to be learned, if that was not done lately. */
	private async learned(everyUs: number): Promise<void> {
		const nowUs = this.env.ratesClockUs();
		if (this.learning === null || nowUs - this.learning.atUs > everyUs)
			this.learning = { atUs: nowUs, done: this.learn().catch(() => {}) };
		await isInTime(this.learning.done, LEARN_WITHIN_MS, this.env.after);
	}

	/** A few at a time: a thousand derivations at once would hold up every other request for half a second. */
	private async learn(): Promise<void> {
		let cursor: string | null = null;
		do {
			const page: Awaited<ReturnType<Store["providers"]["list"]>> = await this.store.providers.list({
				limit: 500,
				cursor,
			});
			for (const [i, { id, name }] of page.rows.entries()) {
				if (this.names.size < MAX_KNOWN) this.names.set(id, name);
				if (this.keptBy.has(id)) continue;
				if (i % AT_ONCE === AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
				this.ofProvider(id);
			}
			cursor = page.cursor;
		} while (cursor !== null);
	}
}

const ROLE_NAMES: Readonly<Record<number, ChainAccountView["role"]>> = {
	[ROLES.provider]: "provider",
	[ROLES.validator]: "validator",
};

const sumOf = (amounts: readonly bigint[]): bigint => amounts.reduce((sum, amount) => sum + amount, 0n);

/** Never below 0. */
const less = (a: bigint, b: bigint): bigint => (a > b ? a - b : 0n);

const claimsOf = (claims: readonly HistoryEvent[]): ChainAccountView["claims"] =>
	claims
		.slice(-SHOWN_CLAIMS)
		.toReversed()
		.map(({ args, hash, block }) => ({
			to: args.to as Hex,
			amount: String(args.amount),
			total: String(args.total),
			at: { hash, block },
		}));

/** Bound by this account and neither released nor run out. Another provider can bind one only after that. */
function devicesOf(events: readonly HistoryEvent[], nowMs: number): ChainAccountView["devices"] {
	const bound = new Map<string, ChainAccountView["devices"][number]>();
	for (const { name, args, hash, block } of events) {
		const device = args.device as string;
		if (name === "DeviceReleased" || name === "DeviceRevoked") bound.delete(device);
		if (name !== "DeviceBound") continue;
		bound.set(device, {
			device,
			evidenceSha256: args.evidenceSha256 as string,
			untilMs: Number(args.until) * 1000,
			at: { hash, block },
		});
	}
	return [...bound.values()].filter(({ untilMs }) => untilMs > nowMs);
}
