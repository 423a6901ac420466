// The host's one engine, lent to one user at a time: to a validator, within limits, or to this provider
// itself, which asks it what the host has. Not here: how limits are enforced (guard-engine.ts), whose turn it
// is (engine-turns.ts), what may be written in a day (disk-budget.ts), who may ask at all (the agent link).
import type { EngineLimits } from "../engine/agent/agent-calls.ts";
import type { AgentHandlers } from "../engine/agent/dial-agent.ts";
import { createEngineClient, type EngineClient } from "../engine/client/create-engine-client.ts";
import { createLocalLink } from "../engine/links/create-local-link.ts";
import type { Link } from "../engine/links/link.ts";
import { isInTime } from "../platform/abortable.ts";
import { AssayError } from "../protocol/assay-error.ts";
import type { HostClaim } from "../protocol/probe/evidence.ts";
import type { DiskBudget } from "./disk-budget.ts";
import { EngineTurns, type TurnRules } from "./engine-turns.ts";
import { type GuardedLink, openGuardedEngine } from "./guard-engine.ts";
import { errorToEvent, type ProviderEvent } from "./provider-event.ts";

export interface EngineLenderOptions {
	readonly engine: { readonly command: string; readonly args: readonly string[] };
	readonly env: Readonly<Record<string, string | undefined>>;
	/** The most that a validator may ask for. */
	readonly limits: EngineLimits;
	/** Null: no limit. */
	readonly disk: DiskBudget | null;
	/** For tests: see engine-turns.ts. */
	readonly turns?: TurnRules;
	readonly clockUs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	readonly onEvent: (event: ProviderEvent) => void;
}

const READY_MS = 20_000;
/** The first HELLO wakes every card and driver. */
const HELLO_MS = 120_000;
/** Not a validator's key: this provider itself, which has used nothing. */
const OWN = "";
/** A killed engine is gone in a moment. */
const YIELD_MS = 2000;
/** An engine whose link is closed gets 2 s to end by itself, 2 s after SIGTERM, then SIGKILL. */
const END_MS = 10_000;

export class EngineLender {
	private readonly options: EngineLenderOptions;
	private readonly isRented: () => boolean;
	private isLent = false;
	/** Parts of jobs and their answers that hold the engine now. */
	private holds = 0;
	private isStopping = false;
	private readonly turns: EngineTurns;
	/** The engine that a validator has now. */
	private lent: GuardedLink | null = null;
	/** Settles when the engine of now is gone. */
	private gone: Promise<unknown> = Promise.resolve();

	constructor(options: EngineLenderOptions, isRented: () => boolean) {
		this.options = options;
		this.isRented = isRented;
		this.turns = new EngineTurns(() => options.clockUs() / 1000, options.turns);
	}

	get isBusy(): boolean {
		return this.isLent;
	}

	/** Throws AssayError: PROVIDER_STOPPING, _LIMIT, _RENTED, _BUSY, or ENGINE_NOT_STARTED. */
	async lend({ validatorKey, probe, limits }: Parameters<AgentHandlers["open"]>[0]): Promise<Link> {
		const { engine, env, disk, onEvent } = this.options;
		this.checkAllowed(limits);
		const isNext = this.turns.ask(validatorKey);
		if (this.turns.mustYieldTo(validatorKey)) this.lent?.kill("its share was used up and another validator waits");
		if (this.isLent || !isNext) throw busy();
		this.isLent = true;
		this.turns.begin(validatorKey);
		let killed: string | null = null;
		const onKilled = (why: string) => {
			killed = why;
		};
		try {
			// Validators probe; they run no programs here, whatever the owner's own options say.
			const own = [...engine.args, "--no-work"];
			const mostBytes = disk?.leftFor(validatorKey) ?? 0;
			const args = disk ? [...own, "--disk-writes", String(mostBytes)] : own;
			const link = await openGuardedEngine({ ...engine, args, env, limits, onKilled });
			this.lent = link;
			onEvent({ kind: "opened", validatorKey, probe, limits });
			this.gone = link.written.then(async (bytes) => {
				// Before the next one is told what is left. More than it was allowed the engine did not write: what
				// the kernel counts beyond is nobody's share.
				await disk
					?.spend(validatorKey, Math.min(bytes, mostBytes))
					.catch((error) => onEvent({ kind: "trouble", ...errorToEvent(error, "FILE_UNWRITABLE") }));
				this.free();
				onEvent({ kind: "closed", validatorKey, probe, killed });
			});
			return link;
		} catch (error) {
			this.free();
			throw error;
		}
	}

	private free(): void {
		this.lent = null;
		this.isLent = false;
		this.turns.end();
	}

	/** What `assay devices` prints. To be called when the engine is free. Throws AssayError. */
	async readClaim(): Promise<HostClaim> {
		const { engine, env, clockUs, randomBytes } = this.options;
		this.isLent = true;
		try {
			const link = await createLocalLink({ ...engine, env });
			// It closes the link itself when no engine answers.
			const client = await createEngineClient(link, { clockUs, readyDeadlineMs: READY_MS, randomBytes });
			return await client.hello({ deadlineMs: HELLO_MS }).finally(() => client.close());
		} finally {
			this.isLent = false;
		}
	}

	/**
	 * For work of this provider's own: a roll call, or a demanded opening, which waits for no rental. Throws as
	 * `lend` does.
	 */
	async work<T>(act: (client: EngineClient) => Promise<T>, { evenIfRented = false } = {}): Promise<T> {
		const { engine, env, limits, clockUs, randomBytes } = this.options;
		this.checkAllowed(limits, evenIfRented);
		await this.makeWay();
		if (this.isLent) throw busy();
		this.isLent = true;
		const { promise, resolve } = Promise.withResolvers<void>();
		this.gone = promise;
		try {
			const link = await openGuardedEngine({ ...engine, env, limits, onKilled: () => {} });
			const client = await createEngineClient(link, { clockUs, readyDeadlineMs: READY_MS, randomBytes });
			return await act(client).finally(() => client.close());
		} finally {
			this.isLent = false;
			resolve();
		}
	}

	/**
	 * For a part of a job, which starts its own engines: as long as somebody holds it, nobody is lent one.
	 * Whoever works or answers for work shares it. Gives back how to let go. Throws PROVIDER_STOPPING, _RENTED,
	 * _BUSY.
	 */
	async hold({ evenIfRented = false } = {}): Promise<() => void> {
		if (this.holds === 0) {
			this.checkAllowed(this.options.limits, evenIfRented);
			await this.makeWay();
			if (this.isLent && this.holds === 0) throw busy();
		}
		this.isLent = true;
		this.holds += 1;
		let isHeld = true;
		return () => {
			if (!isHeld) return;
			isHeld = false;
			this.holds -= 1;
			if (this.holds === 0) this.isLent = false;
		};
	}

	/** Lends no more, and waits up to `drainMs` for the engine that is lent now. */
	async stop(drainMs: number): Promise<void> {
		this.isStopping = true;
		await isInTime(this.gone, drainMs);
	}

	/**
	 * Resolves when no engine is left and what the last one wrote is in the book; a restart right after must
	 * find it there.
	 */
	async ended(): Promise<void> {
		await isInTime(this.gone, END_MS);
	}

	/** A validator that keeps the engine all the time must not keep this host from its roll calls. */
	private async makeWay(): Promise<void> {
		if (this.lent === null || !this.turns.mustYieldTo(OWN)) return;
		this.lent.kill("its share was used up and this host has work of its own");
		await isInTime(this.gone, YIELD_MS);
	}

	private checkAllowed(wanted: EngineLimits, evenIfRented = false): void {
		const { limits } = this.options;
		if (this.isStopping) throw new AssayError("PROVIDER_STOPPING", "this provider is being stopped");
		if (wanted.memoryBytes > limits.memoryBytes || wanted.minutes > limits.minutes)
			throw new AssayError(
				"PROVIDER_LIMIT",
				`at most ${limits.memoryBytes} bytes of memory and ${limits.minutes} min are allowed here`,
			);
		if (this.isRented() && !evenIfRented) throw new AssayError("PROVIDER_RENTED", "this provider is rented");
	}
}

function busy(): AssayError {
	return new AssayError("PROVIDER_BUSY", "this provider's engine is in use, or another validator's turn comes first");
}
