// The provider: the agent on a host with devices. It claims what its engine says, serves the validators it
// was told to, lends each of them its engine within limits, one at a time, and keeps rentals. It does nothing
// that no proven and trusted validator asked for. The wiring only: dialling is serve-validator.ts, the wire
// src/engine/agent/, the engine lend-engine.ts, rentals rental/. Page: docs/agent-link.md.
import { join } from "node:path";
import type { AgentBounds } from "../engine/agent/agent-bounds.ts";
import type { AgentOffer } from "../engine/agent/agent-messages.ts";
import type { AgentHandlers, ValidatorConnection } from "../engine/agent/dial-agent.ts";
import { dialAgent } from "../engine/agent/dial-agent.ts";
import { realAfter } from "../platform/abortable.ts";
import { makeFolder } from "../platform/durable-file.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { readU32 } from "../protocol/bytes/bytes.ts";
import type { HostClaim } from "../protocol/probe/evidence.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import { openDiskBudget } from "./disk-budget.ts";
import { hostTraces, startHostWatch } from "./host-watch.ts";
import type { HostJobs, HostJobsOptions } from "./jobs/host-jobs.ts";
import { EngineLender, type EngineLenderOptions } from "./lend-engine.ts";
import { errorToEvent } from "./provider-event.ts";
import type { EnvironmentMaker } from "./rental/environment.ts";
import { type HostRentals, openHostRentals } from "./rental/host-rentals.ts";
import { type BookEntry, bookPath } from "./rental/rental-book.ts";
import { type CallAnswerer, createCallAnswerer } from "./roll-call/answer-calls.ts";
import { startDemandWatch } from "./roll-call/answer-demands.ts";
import { openCallBook } from "./roll-call/call-book.ts";
import type { RollChain } from "./roll-call/roll-chain.ts";
import { RETRY, type Retry, serveValidator } from "./serve-validator.ts";
import { createReceiptSigner } from "./sign-receipts.ts";
import { loadValidatorPins } from "./validator-pins.ts";

export interface ProviderOptions extends Omit<EngineLenderOptions, "disk"> {
	readonly signer: Signer;
	/** As parseValidatorUrl gave them. */
	readonly validators: readonly string[];
	/** Keys to serve; empty: the first one seen at each URL. */
	readonly trust: readonly string[];
	/** Pins, the book of rentals, the account on the chain; made when it is not there. */
	readonly dataFolder: string;
	readonly name: string;
	readonly pricePerHourMicros: number;
	/** What engines may write to the disk in a day, of all validators together. Null: no limit. */
	readonly diskBytesPerDay: number | null;
	/** Null: nothing to rent, and no earlier rental to look after. */
	readonly rental: null | {
		/** False: no new rentals, only what the book still has. */
		readonly isOffered: boolean;
		readonly sshHost: string;
		readonly maxMs: number;
		/** Called once the claim is known, which says what can be rented. */
		readonly makeEnvironments: (gpus: () => readonly string[]) => Promise<EnvironmentMaker>;
	};
	/** Null: it takes no jobs. Called once the claim is known, which says which devices there are. */
	readonly jobs?: ((host: JobsHost) => Promise<HostJobs>) | null;
	/** Null: it follows no chain, and believes a validator's word on which block calls. */
	readonly chain?: RollChain | null;
	readonly nowMs: () => number;
	readonly bounds?: Partial<AgentBounds>;
	readonly retry?: Partial<Retry>;
	/** `isOff`: it answers none. The rest is for tests: see roll-call/answer-calls.ts. */
	readonly rollCalls?: { readonly isOff?: boolean; readonly leastBetweenMs?: number };
	readonly demands?: { readonly everyMs?: number };
	readonly watch?: { readonly everyMs?: number; readonly askEveryMs?: number };
}

/** What jobs get of the provider. */
interface JobsHost {
	readonly claim: HostClaim;
	/** The engine, so that nobody else is lent one meanwhile. */
	readonly hold: HostJobsOptions["hold"];
}

export interface Provider {
	readonly key: string;
	readonly claim: HostClaim;
	readonly offer: AgentOffer;
	/** URLs and keys of the validators that are connected now. */
	readonly connections: readonly { readonly url: string; readonly validatorKey: string }[];
	readonly rentals: readonly BookEntry[];
	/** Looks for changes of the host now. */
	look(): Promise<void>;
	/**
	 * Takes no new work, lets a probe that is under way finish for up to `drainMs` (default 0; cut off after
	 * its commitment, it would look like a cheat), then ends connections and engines. Rentals go on until their
	 * time, unless they are to be ended.
	 */
	stop(how?: { readonly endRentals?: boolean; readonly drainMs?: number }): Promise<void>;
}

/** Reads the claim, takes over earlier rentals, dials. Throws AssayError: engine or data folder unusable. */
export async function createProvider(options: ProviderOptions): Promise<Provider> {
	const { dataFolder, engine, signer, onEvent, nowMs, randomBytes } = options;
	await makeFolder(dataFolder);
	const trust = await loadValidatorPins(dataFolder, options.trust);
	const traces = await hostTraces(engine.command).catch(() => "");
	let rentals: HostRentals | null = null;
	const isRented = () => rentals !== null && rentals.rentals.length > 0;
	const lender = new EngineLender({ ...options, disk: await diskBudgetOf(options) }, isRented);
	let claim = await lender.readClaim();
	const connections = new Set<ValidatorConnection>();
	const stopping = new AbortController();

	const gpus = () => claim.devices.filter(({ kind }) => kind === "gpu").map(({ uuid }) => uuid);
	const maker = (await options.rental?.makeEnvironments(gpus)) ?? null;
	if (options.rental !== null && maker !== null) {
		const { sshHost, maxMs, isOffered } = options.rental;
		if (isOffered) tellUnguarded(maker, onEvent);
		rentals = await openHostRentals({
			...{ maker, sshHost, maxMs, nowMs, randomBytes, onEvent },
			bookPath: bookPath(dataFolder),
			devices: gpus,
			isBusy: () => lender.isBusy,
		});
	}
	const jobs = (await options.jobs?.({ claim, hold: (how) => lender.hold(how) })) ?? null;
	const offer = offerOf(options, maker, jobs);
	const chain = options.chain ?? null;
	const book = openCallBook(join(dataFolder, "roll-calls"), nowMs);
	const calls = createCallAnswerer({
		...{ signer, lender, nowMs, onEvent, ...options.rollCalls, claim: () => claim, chain, book },
		memoryBytes: options.limits.memoryBytes,
	});
	const demands =
		chain &&
		startDemandWatch({
			...{ key: signer.key, chain, book, lender, onEvent, after: realAfter, ...options.demands, claim: () => claim },
		});
	const handlers = providerHandlers(options, { lender, rentals, calls, isOffered: offer.rentable });

	const watch = startHostWatch(
		{
			...options.watch,
			enginePath: engine.command,
			readClaim: () => lender.readClaim(),
			isBusy: () => lender.isBusy || isRented(),
			onChanged(changed) {
				claim = changed;
				onEvent({ kind: "changed", claim });
				for (const connection of connections) connection.sendChanged(claim);
			},
			onError: (error) => onEvent({ kind: "trouble", ...errorToEvent(error, "ENGINE_NOT_STARTED") }),
			nowMs,
		},
		{ claim, traces },
	);

	const serving = serveAll(options, {
		...{ offer, handlers, jobs, connections, trust, signal: stopping.signal, claim: () => claim },
	});

	return {
		key: signer.key,
		get claim() {
			return claim;
		},
		offer,
		get connections() {
			return [...connections].map(({ url, validatorKey }) => ({ url, validatorKey }));
		},
		get rentals() {
			return rentals?.rentals ?? [];
		},
		look: watch.look,
		async stop({ endRentals = false, drainMs = 0 } = {}) {
			watch.stop();
			await jobs?.stop();
			await demands?.stop();
			await lender.stop(drainMs);
			stopping.abort();
			await Promise.all([...connections].map((connection) => connection.close()));
			await Promise.all(serving);
			await lender.ended();
			if (endRentals) await rentals?.endAll();
			await rentals?.stop();
		},
	};
}

/** Dials every validator, and stays; what each may ask depends on where it is, for jobs are fetched there. */
function serveAll(
	{ validators, signer, clockUs, nowMs, randomBytes, onEvent, retry, bounds }: ProviderOptions,
	host: {
		readonly offer: AgentOffer;
		readonly handlers: AgentHandlers;
		readonly jobs: HostJobs | null;
		readonly connections: Set<ValidatorConnection>;
		readonly trust: Awaited<ReturnType<typeof loadValidatorPins>>;
		readonly signal: AbortSignal;
		readonly claim: () => HostClaim;
	},
): Promise<void>[] {
	const { offer, connections, trust, claim } = host;
	return validators.map((url) =>
		serveValidator({
			...{ url, nowMs, onEvent, signal: host.signal },
			retry: { ...RETRY, ...retry },
			random: () => readU32(randomBytes(4), 0) / 2 ** 32,
			dial: (signal) =>
				dialAgent({
					...{ url, signer, offer, signal, randomBytes, clockUs, claim },
					handlers: { ...host.handlers, ...told(onEvent, host.jobs?.handlers(url) ?? NO_JOBS) },
					trust: (key) => trust(url, key),
					...(bounds && { bounds }),
				}),
			onConnection(connection) {
				connections.add(connection);
				void connection.closed.then(() => connections.delete(connection));
			},
		}),
	);
}

/** Before anybody rents it. */
function tellUnguarded({ guards }: EnvironmentMaker, onEvent: ProviderOptions["onEvent"]): void {
	for (const [guard, why] of Object.entries(guards)) {
		if (why === null) continue;
		const detail = `nothing guards this host's ${guard} from renters: ${why}`;
		onEvent({ kind: "trouble", code: "RENTAL_UNGUARDED", detail });
	}
}

async function diskBudgetOf({ dataFolder, diskBytesPerDay: bytesPerDay, validators, nowMs }: ProviderOptions) {
	if (bytesPerDay === null) return null;
	const path = join(dataFolder, "disk-writes.json");
	return openDiskBudget({ path, bytesPerDay, validators: validators.length, nowMs });
}

function offerOf(
	{ name, pricePerHourMicros, rental }: ProviderOptions,
	maker: EnvironmentMaker | null,
	jobs: HostJobs | null,
): AgentOffer {
	const ssh = rental?.isOffered && maker !== null ? { host: rental.sshHost, port: maker.port } : null;
	return { name, pricePerHourMicros, rentable: ssh !== null, ssh, jobs: jobs?.offer ?? null };
}

/** What validators may ask of this host. */
function providerHandlers(
	{ dataFolder, randomBytes, onEvent, rollCalls }: ProviderOptions,
	host: {
		readonly lender: EngineLender;
		readonly rentals: HostRentals | null;
		readonly calls: CallAnswerer;
		readonly isOffered: boolean;
	},
): AgentHandlers {
	const receipts = createReceiptSigner({ dataFolder, randomBytes });
	const rentals = (): HostRentals => {
		if (host.rentals === null) throw notForRent();
		return host.rentals;
	};
	const handlers: Omit<AgentHandlers, "signReceipts"> = {
		open: async (asked) => {
			const link = await host.lender.lend(asked);
			// The probe goes on without receipts; the owner must know why they are missing.
			if (asked.receipts)
				receipts.prepare().catch((error) => onEvent({ kind: "trouble", ...errorToEvent(error, "KEY_UNUSABLE") }));
			return link;
		},
		rent: async (asked) => {
			if (!host.isOffered) throw notForRent();
			return rentals().rent(asked);
		},
		extend: async (asked) => rentals().extend(asked),
		unrent: async (asked) => rentals().unrent(asked),
		check: async (asked) => rentals().check(asked),
		call: async (asked) => {
			if (rollCalls?.isOff) throw new AssayError("ROLL_CALL_OFF", "this provider answers no roll calls");
			return host.calls.answer(asked);
		},
	};
	return {
		...told(onEvent, handlers),
		signReceipts: receipts.sign,
		verdict: ({ type: _, ...said }) => onEvent({ kind: "judged", ...said }),
	};
}

type Handler = (asked: { readonly validatorKey: string }) => Promise<unknown>;

/** Refusals are told to the owner as well: a validator that keeps asking for too much is worth knowing. */
function told<H extends object>(onEvent: ProviderOptions["onEvent"], handlers: H): H {
	const all = Object.entries(handlers as Record<string, Handler>).map(([name, run]) => [
		name,
		async (asked: { readonly validatorKey: string }) => {
			try {
				return await run(asked);
			} catch (error) {
				onEvent({ kind: "refused", validatorKey: asked.validatorKey, ...errorToEvent(error, "AGENT_REFUSED") });
				throw error;
			}
		},
	]);
	return Object.fromEntries(all) as H;
}

async function noJobs(): Promise<never> {
	throw new AssayError("JOB_DECLINED", "this provider takes no jobs");
}
const NO_JOBS = { job: noJobs, ask: noJobs, stop: noJobs };

function notForRent(): AssayError {
	return new AssayError("RENTAL_UNAVAILABLE", "this provider's devices are not for rent");
}
