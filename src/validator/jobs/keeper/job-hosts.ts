// The hosts that may be drawn, as the rules see them: figures of their last valid probe, what their owners
// allow, what their work so far says of them, and what they can lock. Nothing that a host says of itself
// makes it fitter; what its owner says may keep it out. docs/jobs.md §10.
import { isJobConsent } from "../../../chain/contracts/job-account.ts";
import type { JobsOffer } from "../../../engine/agent/agent-messages.ts";
import type { JobHost } from "../../../market/jobs/fitting-hosts.ts";
import type { AbsentHost } from "../../../market/jobs/miss-text.ts";
import { type ProvenDevice, provenDevices, WORK_FIGURES } from "../../../market/jobs/proven-devices.ts";
import { drawWeightPpm, type Reputation, reputationOf } from "../../../market/jobs/reputation.ts";
import { BoundedMap } from "../../../platform/bounded-map.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { JobTaker } from "../../../store/connections.ts";
import { UNKNOWN_DEVICE } from "../../../store/jobs/job-rows.ts";
import type { ProviderQuery } from "../../../store/provider-query.ts";
import type { Provider } from "../../../store/providers.ts";
import type { ValidatorContext } from "../../validator-context.ts";
import type { JobChain } from "./job-chain.ts";
import { NOT_SIGNED, type SignedLevel, signedLevel } from "./signed-level.ts";

/** A device of a host, with what the rules do not ask for. */
export interface KnownHost extends Omit<JobHost, keyof SignedLevel>, SignedLevel {
	/** Sends assign and claim, holds the deposit; null: works without a chain only. */
	readonly account: Hex | null;
	readonly reputation: Reputation;
	readonly weightPpm: number;
	/** What it can lock once nothing of it is locked. */
	readonly depositMicros: number;
	readonly mostWorkMs: number;
	readonly methods: JobsOffer["methods"];
}

type Means = Pick<ValidatorContext, "store" | "env" | "config"> & { readonly jobChain: JobChain | null };

const PAGE = 500;
/** Deposits are read again after that; whoever is free is asked each time. */
const REMEMBERED_MS = 10_000;
/** Figures and reputations are read again when there are new ones, and after that in any case. */
const LONG_REMEMBERED_MS = 600_000;
const MOST_REMEMBERED = 100_000;
/** Hosts are looked at again after that, or after so long for each. */
const SEEN_MS = 1000;
const MS_A_HOST = 2;
/** Within that after a start hosts dial in again, one by one. */
const GATHER_MS = 15_000;
/** Somebody is always away: of so many, one. */
const ONE_AWAY_OF = 4;

const plainAddress = (address: string): string => address.replace(/^::ffff:/i, "");

export function isLoopback(address: string): boolean {
	const plain = plainAddress(address);
	return plain === "::1" || plain.startsWith("127.");
}

/** /24 of IPv4, /48 of IPv6. Loopback may count apart: several hosts of one trial machine. */
function networkOf(address: string, provider: string, isLoopbackApart: boolean): string {
	const plain = plainAddress(address);
	if (isLoopbackApart && isLoopback(address)) return provider;
	if (!plain.includes(":")) return plain.split(".").slice(0, 3).join(".");
	const [head = "", tail] = plain.split("%")[0]!.split("::");
	const first = head === "" ? [] : head.split(":");
	const last = tail === undefined || tail === "" ? [] : tail.split(":");
	const groups = [...first, ...Array<string>(Math.max(0, 8 - first.length - last.length)).fill("0"), ...last];
	return groups
		.slice(0, 3)
		.map((group) => Number.parseInt(group, 16).toString(16))
		.join(":");
}

export type JobHosts = ReturnType<typeof createJobHosts>;

/** By the store's `devicesAtWork`. A host that works where nobody knows has no device free. */
export function isAtWork(atWork: ReadonlyMap<string, ReadonlySet<number>>, provider: string, device: number): boolean {
	const devices = atWork.get(provider);
	return devices !== undefined && (devices.has(device) || devices.has(UNKNOWN_DEVICE));
}

/** What is read of a host, remembered for some seconds: proven figures, deposits, consents. */
function createHostFacts({ store, env, config, jobChain }: Means) {
	const facts = new BoundedMap<string, Remembered<readonly ProvenDevice[]>>(MOST_REMEMBERED);
	const levels = new BoundedMap<string, Remembered<SignedLevel>>(MOST_REMEMBERED);
	const reputations = new BoundedMap<string, Remembered<Reputation>>(MOST_REMEMBERED);
	const bonds = new BoundedMap<Hex, Bond & { readonly atMs: number }>(MOST_REMEMBERED);
	const consents = new BoundedMap<string, boolean>(MOST_REMEMBERED);

	/** Those whose mark is another than the one that is known. */
	function changed<T>(known: ReadonlyMap<string, Remembered<T>>, marks: ReadonlyMap<string, number>): string[] {
		const sinceMs = env.nowMs() - LONG_REMEMBERED_MS;
		return [...marks].flatMap(([id, mark]) => {
			const one = known.get(id);
			return one !== undefined && one.mark === mark && one.atMs > sinceMs ? [] : [id];
		});
	}

	/** `marks`: when each was last found valid. */
	async function readProven(marks: ReadonlyMap<string, number>): Promise<void> {
		const ids = changed(facts, marks);
		if (ids.length === 0) return;
		const [figures, devices, signed] = await Promise.all([
			store.providers.figuresOf(ids, [...WORK_FIGURES]),
			store.devices.kindsOf(ids),
			store.devices.attestationsOf(ids),
		]);
		const [figuresOf, devicesOf] = [groupsOf(figures, byProvider), groupsOf(devices, byProvider)];
		const signedOf = new Map(signed.map(({ id, attestation }) => [id, attestation]));
		for (const id of ids) {
			const of = { mark: marks.get(id)!, atMs: env.nowMs() };
			facts.set(id, { ...of, found: provenDevices(figuresOf.get(id) ?? [], devicesOf.get(id) ?? []) });
			levels.set(id, { ...of, found: signedLevel(signedOf.get(id) ?? null, config.jobs.takesSimulated) });
		}
	}

	async function readReputations(providers: readonly string[]): Promise<void> {
		const newest = await store.jobs.lastOutcomes(providers);
		const marks = new Map(providers.map((id) => [id, newest.get(id) ?? 0]));
		const ids = changed(reputations, marks);
		if (ids.length === 0) return;
		const rows = groupsOf(await store.jobs.partsOf(ids), ({ provider }) => provider);
		for (const id of ids) {
			const found = reputationOf(rows.get(id) ?? [], env.nowMs(), config.params);
			reputations.set(id, { mark: marks.get(id)!, atMs: env.nowMs(), found });
		}
	}

	/** `isFresh`: what was remembered does not count. */
	async function bondOf(account: Hex | null, { isFresh = false } = {}): Promise<Bond> {
		if (jobChain === null) return { freeMicros: Number.MAX_SAFE_INTEGER, wholeMicros: Number.MAX_SAFE_INTEGER };
		if (account === null) return { freeMicros: 0, wholeMicros: 0 };
		const known = bonds.get(account);
		if (!isFresh && known !== undefined && env.nowMs() - known.atMs < REMEMBERED_MS) return known;
		const bond = { ...(await jobChain.bondOf(account)), atMs: env.nowMs() };
		bonds.set(account, bond);
		return bond;
	}

	/** ATTACK: whoever could name another's account would keep that one out of the draw. */
	async function accountOf(provider: string, { account, consent }: JobsOffer): Promise<Hex | null> {
		if (account === null || consent === null) return null;
		const name = `${provider} ${account} ${consent}`;
		const known = consents.get(name) ?? (await isJobConsent(provider, account, consent));
		consents.set(name, known);
		return known ? `0x${account}` : null;
	}

	return {
		...{ readProven, readReputations, bondOf, accountOf },
		/** Once they were read. */
		provenOf: (id: string): readonly ProvenDevice[] => facts.get(id)?.found ?? [],
		signedBy: (id: string): SignedLevel => levels.get(id)?.found ?? NOT_SIGNED,
		reputationOf: (id: string): Reputation | undefined => reputations.get(id)?.found,
	};
}

/** Of a deposit: what is not locked, and all but what leaves. */
interface Bond {
	readonly freeMicros: number;
	readonly wholeMicros: number;
}

/** `mark`: what it was read for; another one says that there is something new. */
interface Remembered<T> {
	readonly mark: number;
	readonly atMs: number;
	readonly found: T;
}

/** As `groupBy` of newer Nodes does; Node 20 has none. */
function groupsOf<Row>(rows: readonly Row[], providerOf: (row: Row) => string): ReadonlyMap<string, readonly Row[]> {
	const groups = new Map<string, Row[]>();
	for (const row of rows) {
		const group = groups.get(providerOf(row));
		if (group === undefined) groups.set(providerOf(row), [row]);
		else group.push(row);
	}
	return groups;
}
const byProvider = ({ providerId }: { readonly providerId: string }): string => providerId;

const provenHosts = ({ env, config }: Means, connected: boolean): ProviderQuery => ({
	...({ state: "active", link: "agent", connected, lastVerdict: "valid" } as const),
	provenSinceMs: Math.max(0, env.nowMs() - config.params.maxAgeMs),
});

/**
 * Whether hosts are still to dial in again after a restart. A list binds: one of the first few that came
 * would make every part wait for those, among thousands that are free.
 */
function gathering(means: Means): () => Promise<boolean> {
	const { store, env } = means;
	const startedMs = env.nowMs();
	const count = async (connected: boolean) =>
		(await store.providers.list({ ...provenHosts(means, connected), limit: PAGE })).rows.length;
	let isOver = false;
	let last = { atMs: 0, found: Promise.resolve(true) };
	return async () => {
		const nowMs = env.nowMs();
		if (isOver || nowMs - startedMs >= GATHER_MS) return false;
		if (nowMs - last.atMs >= SEEN_MS) {
			const found = count(false).then(async (away) => ONE_AWAY_OF * away > (await count(true)));
			last = { atMs: nowMs, found };
		}
		isOver = !(await last.found);
		return !isOver;
	};
}

/** Those that are there and take jobs, drawn or not, as far as a page goes. */
async function takersOf({ store }: Pick<Means, "store">): Promise<readonly AbsentHost[]> {
	const query = { state: "active", link: "agent", connected: true, limit: PAGE } as const;
	const { rows } = await store.providers.list(query);
	const taking = await store.connections.jobTakers(rows.map(({ id }) => id));
	const there = rows.filter(({ id }) => taking.has(id));
	const figures = await store.providers.figuresOf(
		there.map(({ id }) => id),
		[...WORK_FIGURES],
	);
	return there.map(({ id, lastVerdict }) => {
		const own = figures.filter(({ providerId }) => providerId === id);
		return { provider: id, lastVerdict, proven: new Set(own.map(({ name }) => name)) };
	});
}

export function createJobHosts(means: Means) {
	const { store, env, config } = means;
	const facts = createHostFacts(means);

	/** Each of its devices that works and proved its speed. */
	async function devicesOf({ id, rentalId, reliabilityPpm }: Provider, taker: JobTaker): Promise<readonly KnownHost[]> {
		// As the agent link's codec read it, here or at another process.
		const jobs = taker.offer as unknown as JobsOffer;
		const reputation = facts.reputationOf(id);
		const proven = facts.provenOf(id).filter(({ device }) => jobs.devices.includes(device));
		if (proven.length === 0 || reputation === undefined || reputation.isBarred) return [];
		const account = await facts.accountOf(id, jobs);
		const { freeMicros, wholeMicros } = await facts.bondOf(account);
		const host = {
			...{ provider: id, account, owner: account ?? id, reliabilityPpm, reputation },
			network: networkOf(taker.address, id, config.jobs.isLoopbackApart),
			isFree: rentalId === null,
			pricePerHourMicros: jobs.pricePerHourMicros,
			freeBondMicros: Math.min(freeMicros, jobs.mostBondMicros),
			depositMicros: Math.min(wholeMicros, jobs.mostBondMicros),
			...facts.signedBy(id),
			weightPpm: drawWeightPpm(reputation, config.params),
			...{ mostWorkMs: jobs.minutes * 60_000, methods: jobs.methods },
		};
		return proven.map((one) => ({
			...{ ...host, ...one, memoryBytes: Math.min(one.memoryBytes, jobs.memoryBytes), isAtWork: false },
		}));
	}

	async function look(): Promise<readonly KnownHost[]> {
		const filter = provenHosts(means, true);
		const hosts: KnownHost[] = [];
		const disputed = new Set(await store.jobs.disputedProviders());
		let cursor: string | undefined;
		do {
			const page = await store.providers.list({ ...filter, limit: PAGE, ...(cursor && { cursor }) });
			const takers = await store.connections.jobTakers(page.rows.map(({ id }) => id));
			const taking = page.rows.filter(({ id }) => takers.has(id) && !disputed.has(id));
			await facts.readProven(new Map(taking.map(({ id, lastValidAtMs }) => [id, lastValidAtMs ?? 0])));
			await facts.readReputations(taking.map(({ id }) => id));
			for (const provider of taking) hosts.push(...(await devicesOf(provider, takers.get(provider.id)!)));
			cursor = page.cursor ?? undefined;
		} while (cursor !== undefined);
		return hosts.sort((a, b) => (a.provider === b.provider ? 0 : a.provider < b.provider ? -1 : 1));
	}

	let seen: { readonly atMs: number; readonly hosts: Promise<readonly KnownHost[]> } | null = null;
	let restMs = SEEN_MS;
	/** As they were a moment ago, but for who is at work. */
	function recent(): Promise<readonly KnownHost[]> {
		const nowMs = env.nowMs();
		if (seen === null || nowMs - seen.atMs >= restMs) {
			const hosts = look();
			seen = { atMs: nowMs, hosts };
			hosts.then(
				({ length }) => {
					restMs = Math.max(SEEN_MS, MS_A_HOST * length);
					// Nobody is quickly looked for: the first that comes is seen at once.
					if (length === 0) seen = null;
				},
				() => {
					seen = null;
				},
			);
		}
		return seen.hosts;
	}

	/** As they were a moment ago; which of their devices are at work is asked each time. */
	async function all(): Promise<readonly KnownHost[]> {
		const hosts = await recent();
		const atWork = await store.jobs.devicesAtWork();
		return hosts.map((host) => ({ ...host, isAtWork: isAtWork(atWork, host.provider, host.device) }));
	}

	return {
		/** Every device; free is what is neither rented nor at work. */
		all: async (): Promise<readonly KnownHost[]> =>
			(await all()).map((host) => ({ ...host, isFree: host.isFree && !host.isAtWork })),
		/** The same, where those at work come free some time: free is what is not rented. */
		known: all,
		/**
		 * Whether an account can lock one more bond now. What it was given a moment ago is not locked yet, and
		 * counts.
		 */
		async canLock(provider: string, account: Hex | null, bondMicros: number): Promise<boolean> {
			if (means.jobChain === null) return true;
			const { freeMicros } = await facts.bondOf(account, { isFresh: true });
			return freeMicros >= bondMicros + (await store.jobs.promisedMicros(provider));
		},
		takers: () => takersOf(means),
		/** Names of all, at work or not. */
		there: async (): Promise<ReadonlySet<string>> => new Set((await recent()).map(({ provider }) => provider)),
		areGathering: gathering(means),
	};
}
