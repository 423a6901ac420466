// The provider: the agent on a host with devices. It claims what its engine says, serves the validators it was told to, lends each of them an
// engine within limits, one at a time, and keeps rentals. It does nothing that no proven and trusted validator asked for.
// The wiring only: dialling is serve-validator.ts, the wire src/engine/agent/, limits guard-engine.ts, rentals rental/. Page: docs/network.md §2.
import { mkdir } from "node:fs/promises";
import type { AgentBounds } from "../engine/agent/agent-bounds.ts";
import type { AgentHandlers, AgentOffer, EngineLimits, ValidatorConnection } from "../engine/agent/agent-connection.ts";
import { dialAgent } from "../engine/agent/dial-agent.ts";
import { createEngineClient } from "../engine/client/create-engine-client.ts";
import { within } from "../engine/links/child-link.ts";
import { createLocalLink } from "../engine/links/create-local-link.ts";
import type { Link } from "../engine/links/link.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { readU32 } from "../protocol/bytes/bytes.ts";
import type { HostClaim } from "../protocol/probe/evidence.ts";
import type { Signer } from "../protocol/probe/signer.ts";
import { openGuardedEngine } from "./guard-engine.ts";
import { hostTraces, startHostWatch } from "./host-watch.ts";
import type { ProviderEvent } from "./provider-event.ts";
import { createRentalKeeper, type RentalKeeper } from "./rental/create-rental-keeper.ts";
import type { EnvironmentMaker } from "./rental/environment.ts";
import { bookPath } from "./rental/rental-book.ts";
import { RETRY, type Retry, serveValidator } from "./serve-validator.ts";
import { createReceiptSigner } from "./sign-receipts.ts";
import { createValidatorPins } from "./validator-pins.ts";

export interface ProviderOptions {
	readonly signer: Signer;
	/** As parseValidatorUrl gave them. */
	readonly validators: readonly string[];
	/** Keys to serve; empty: the first one seen at each URL. */
	readonly trust: readonly string[];
	/** Pins, the book of rentals, the account on the chain; made when it is not there. */
	readonly dataFolder: string;
	readonly name: string;
	readonly pricePerHourMicros: number;
	readonly engine: { readonly command: string; readonly args: readonly string[] };
	readonly env: Readonly<Record<string, string | undefined>>;
	/** The most that a validator may ask for. */
	readonly limits: EngineLimits;
	/** Null: nothing to rent, and no rental of before to look after. */
	readonly rental: null | {
		/** False: no new rentals, only what the book still has. */
		readonly isOffered: boolean;
		readonly sshHost: string;
		readonly maxMs: number;
		/** Called once the claim is known, which says what can be rented. */
		readonly makeEnvironments: (gpus: () => readonly string[]) => Promise<EnvironmentMaker>;
	};
	readonly clockUs: () => number;
	readonly nowMs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	readonly onEvent: (event: ProviderEvent) => void;
	readonly bounds?: Partial<AgentBounds>;
	readonly retry?: Partial<Retry>;
	readonly watch?: { readonly everyMs?: number; readonly askEveryMs?: number };
}

export interface Provider {
	readonly key: string;
	readonly claim: HostClaim;
	readonly offer: AgentOffer;
	/** URLs and keys of the validators that are connected now. */
	readonly connections: readonly { readonly url: string; readonly validatorKey: string }[];
	readonly rentals: RentalKeeper["rentals"];
	/** Looks for changes of the host now. */
	look(): Promise<void>;
	/**
	 * Takes no new work, lets a probe that is under way finish for up to `drainMs` (default 0; cut off after its commitment, it would look
	 * like a cheat), then ends connections and engines. Rentals go on until their time, unless they are to be ended.
	 */
	stop(o?: { readonly endRentals?: boolean; readonly drainMs?: number }): Promise<void>;
}

const READY_MS = 20_000;
/** The first HELLO wakes every card and driver. */
const HELLO_MS = 120_000;

/** Reads the claim, takes care of rentals of before, starts dialling. Throws AssayError when the engine or the data folder are of no use. */
export async function createProvider(o: ProviderOptions): Promise<Provider> {
	await mkdir(o.dataFolder, { recursive: true, mode: 0o700 });
	const pins = await createValidatorPins(o.dataFolder, o.trust);
	const traces = await hostTraces(o.engine.command).catch(() => "");
	let claim = await readClaim(o);
	/** The validator that has the engine, or ourselves. */
	let engineHolder: string | null = null;
	const connections = new Set<ValidatorConnection>();
	const stopping = new AbortController();
	let isStopping = false;
	/** Settles when the engine of now is gone. */
	let engineGone: Promise<unknown> = Promise.resolve();

	const gpus = () => claim.devices.filter(({ kind }) => kind === "gpu").map(({ uuid }) => uuid);
	const keeper = o.rental ? await startKeeper(o.rental) : null;
	const isOffered = keeper !== null && o.rental!.isOffered;
	const offer: AgentOffer = {
		name: o.name,
		pricePerHourMicros: o.pricePerHourMicros,
		rentable: isOffered,
		ssh: isOffered ? { host: o.rental!.sshHost, port: keeper.port } : null,
	};

	async function startKeeper(rental: NonNullable<ProviderOptions["rental"]>) {
		const maker = await rental.makeEnvironments(gpus);
		const book = await createRentalKeeper({
			maker,
			bookPath: bookPath(o.dataFolder),
			sshHost: rental.sshHost,
			devices: gpus,
			maxMs: rental.maxMs,
			isBusy: () => engineHolder !== null,
			nowMs: o.nowMs,
			randomBytes: o.randomBytes,
			onEvent: o.onEvent,
		});
		return { book, port: maker.port };
	}

	function checkFree(limits: EngineLimits): void {
		if (isStopping) throw new AssayError("PROVIDER_STOPPING", "this provider is being stopped");
		if (limits.memoryBytes > o.limits.memoryBytes || limits.minutes > o.limits.minutes)
			throw new AssayError(
				"PROVIDER_LIMIT",
				`at most ${o.limits.memoryBytes} bytes of memory and ${o.limits.minutes} min are allowed here`,
			);
		if (keeper && keeper.book.rentals.length > 0) throw new AssayError("PROVIDER_RENTED", "this provider is rented");
		if (engineHolder !== null) throw new AssayError("PROVIDER_BUSY", "this provider's engine is in use");
	}

	const receipts = createReceiptSigner({ dataFolder: o.dataFolder, randomBytes: o.randomBytes });
	const trouble = (error: unknown, otherwise: string) =>
		o.onEvent({
			kind: "trouble",
			code: error instanceof AssayError ? error.code : otherwise,
			detail: error instanceof Error ? error.message : String(error),
		});

	async function openEngine(asked: Parameters<AgentHandlers["open"]>[0]): Promise<Link> {
		const { validatorKey, probe, limits } = asked;
		checkFree(limits);
		engineHolder = validatorKey;
		// The probe goes on without receipts; its owner must know why they are missing.
		if (asked.receipts) void receipts.prepare().catch((error) => trouble(error, "KEY_UNUSABLE"));
		let killed: string | null = null;
		try {
			const link = await openGuardedEngine({
				...o.engine,
				env: o.env,
				limits,
				onKilled: (why) => {
					killed = why;
				},
			});
			o.onEvent({ kind: "opened", validatorKey, probe, limits });
			engineGone = link.closed.then(() => {
				engineHolder = null;
				o.onEvent({ kind: "closed", validatorKey, probe, killed });
			});
			return link;
		} catch (error) {
			engineHolder = null;
			throw error;
		}
	}

	const rentalsOf = (): RentalKeeper => {
		if (!keeper) throw new AssayError("RENTAL_UNAVAILABLE", "this provider's devices are not for rent");
		return keeper.book;
	};

	/** Refusals are told to the owner as well: a validator that keeps asking for too much is worth knowing. */
	function told<A extends { validatorKey: string }, R>(run: (asked: A) => Promise<R>): (asked: A) => Promise<R> {
		return async (asked) => {
			try {
				return await run(asked);
			} catch (error) {
				const code = error instanceof AssayError ? error.code : "AGENT_REFUSED";
				const detail = error instanceof Error ? error.message : String(error);
				o.onEvent({ kind: "refused", validatorKey: asked.validatorKey, code, detail });
				throw error;
			}
		};
	}

	const handlers: AgentHandlers = {
		open: told(openEngine),
		rent: told(async (asked) => {
			if (!isOffered) throw new AssayError("RENTAL_UNAVAILABLE", "this provider's devices are not for rent");
			return rentalsOf().rent(asked);
		}),
		extend: told(async (asked) => rentalsOf().extend(asked)),
		unrent: told(async (asked) => rentalsOf().unrent(asked)),
		checkRental: told(async (asked) => rentalsOf().checkRental(asked)),
		signReceipts: receipts.sign,
	};

	const watch = startHostWatch(
		{
			...o.watch,
			enginePath: o.engine.command,
			readClaim: async () => {
				engineHolder = o.signer.key;
				return readClaim(o).finally(() => {
					engineHolder = null;
				});
			},
			isBusy: () => engineHolder !== null || (keeper !== null && keeper.book.rentals.length > 0),
			onChanged(changed) {
				claim = changed;
				o.onEvent({ kind: "changed", claim });
				for (const connection of connections) connection.sendChanged(claim);
			},
			onError: (error) => trouble(error, "ENGINE_NOT_STARTED"),
			nowMs: o.nowMs,
		},
		{ claim, traces },
	);

	const serving = o.validators.map((url) =>
		serveValidator({
			url,
			retry: { ...RETRY, ...o.retry },
			random: () => readU32(o.randomBytes(4), 0) / 2 ** 32,
			nowMs: o.nowMs,
			signal: stopping.signal,
			onEvent: o.onEvent,
			dial: (signal) =>
				dialAgent({
					url,
					signer: o.signer,
					trust: (key) => pins.trust(url, key),
					claim: () => claim,
					offer,
					handlers,
					clockUs: o.clockUs,
					randomBytes: o.randomBytes,
					signal,
					...(o.bounds === undefined ? {} : { bounds: o.bounds }),
				}),
			onConnection(connection) {
				connections.add(connection);
				void connection.closed.then(() => connections.delete(connection));
			},
		}),
	);

	return {
		key: o.signer.key,
		get claim() {
			return claim;
		},
		offer,
		get connections() {
			return [...connections].map(({ url, validatorKey }) => ({ url, validatorKey }));
		},
		get rentals() {
			return keeper?.book.rentals ?? [];
		},
		look: watch.look,
		async stop({ endRentals = false, drainMs = 0 } = {}) {
			isStopping = true;
			watch.stop();
			await within(engineGone, drainMs);
			stopping.abort();
			await Promise.all([...connections].map((connection) => connection.close()));
			await Promise.all(serving);
			if (endRentals) await keeper?.book.endAll();
			await keeper?.book.stop();
		},
	};
}

/** What `assay devices` prints. Throws AssayError. */
async function readClaim(o: ProviderOptions): Promise<HostClaim> {
	const link = await createLocalLink({ command: o.engine.command, args: o.engine.args, env: o.env });
	try {
		const client = await createEngineClient(link, {
			clockUs: o.clockUs,
			readyDeadlineMs: READY_MS,
			randomBytes: o.randomBytes,
		});
		try {
			return await client.hello({ deadlineMs: HELLO_MS });
		} finally {
			await client.close();
		}
	} finally {
		await link.close();
	}
}
