// The provider of `assay up`: an `assay provide` of its own, as on any other host, that dials this machine's
// validator. When it ends it is started again (keep-running.ts). It ends when `up` does, even one that was
// killed: the channel between the two is closed then (main.ts). Not here: what a provider does.
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { realAfter } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ProviderEvent } from "../../provider/provider-event.ts";
import { SSHD } from "../../provider/rental/rental-sshd.ts";
import type { CliIo } from "../command.ts";
import { keepRunning, type RunningProgram } from "./keep-running.ts";

export interface LocalProvider {
	/** Resolves when its process is gone. Rentals go on until their end. */
	stop(): Promise<void>;
	readonly rentable: boolean;
}

export interface LocalProviderOptions {
	/** ws://HOST:PORT of the validator. */
	readonly validator: string;
	readonly key: string;
	readonly dataFolder: string;
	readonly name: string | undefined;
	readonly pricePerHour: string | undefined;
	/** GB; undefined: the default of `assay provide`. */
	readonly diskWritesPerDay: string | undefined;
	readonly env: CliIo["env"];
	/** The chain that its answers to roll calls stand for; null: none. */
	readonly chain: { readonly rpc: string; readonly contracts: string } | null;
	/** Instead of our own build. */
	readonly engine?: { readonly command: string; readonly args: readonly string[] };
	/** Offer it for rent, where that is possible. */
	readonly rentable: boolean;
	/** Tokens from which bonds of jobs are taken, and the least for an hour of work; null: it takes no jobs. */
	readonly jobs: { readonly deposit: number; readonly pricePerHour: number } | null;
	/** False: a further provider of the same machine, which cannot answer a roll call twice. */
	readonly rollCalls: boolean;
	readonly onEvent: (event: ProviderEvent) => void;
	/** It ended without being asked to, and is started again; `said` is the end of its standard error. */
	readonly onEnd: (said: string, againMs: number) => void;
}

const FIRST_SSH_PORT = 2222;
const SSH_PORTS = 1000;
/** Time to take down a rental's environment. */
const STOP_MS = 90_000;
/**
 * One that runs says at once that it stops, also on a busy machine; one that says nothing is frozen, and is
 * not waited for.
 */
const SILENT_MS = 15_000;

export async function startLocalProvider(options: LocalProviderOptions): Promise<LocalProvider> {
	// A system user for each rental needs root, and all of it OpenSSH's server.
	let rentable = options.rentable && process.getuid?.() === 0 && existsSync(SSHD);
	const start = async () => startChild(options, rentable ? await rentalArguments(options.dataFolder) : []);
	let first = await start();
	if (rentable && !first.hasStarted() && /\[RENTAL_UNAVAILABLE\]/.test(await first.ended)) {
		rentable = false;
		first = await start();
	}
	const { onEnd } = options;
	const { stop } = keepRunning({ first, start, onEnd, clockMs: () => performance.now(), after: realAfter });
	return { rentable, stop };
}

/**
 * Only this machine knows of it, so it listens on loopback only. The port is taken when somebody rents: until
 * then another network on this machine finds it free as well, so each data folder begins to look at another
 * one.
 */
async function rentalArguments(dataFolder: string): Promise<string[]> {
	const apart = createHash("sha256").update(resolve(dataFolder)).digest().readUInt16LE(0) % SSH_PORTS;
	const port = String(await freePort("127.0.0.1", FIRST_SSH_PORT + apart));
	return ["--rentable", "--ssh-host", "127.0.0.1", "--ssh-listen", "127.0.0.1", "--ssh-port", port];
}

interface StartedChild extends RunningProgram {
	/** False: it has ended before that, or has still to. */
	hasStarted(): boolean;
}

/** Resolves when the provider runs or is gone. */
async function startChild(options: LocalProviderOptions, more: readonly string[]): Promise<StartedChild> {
	const args = [
		"provide",
		"--json",
		"--validator",
		options.validator,
		"--trust",
		options.key,
		"--data",
		options.dataFolder,
		...more,
	];
	const { jobs } = options;
	if (jobs !== null)
		args.push("--jobs", "--job-deposit", String(jobs.deposit), "--job-price", String(jobs.pricePerHour));
	if (!options.rollCalls) args.push("--no-roll-calls");
	if (options.engine !== undefined)
		args.push("--engine", options.engine.command, ...options.engine.args.flatMap((one) => ["--engine-arg", one]));
	if (options.chain !== null) args.push("--contracts", options.chain.contracts);
	if (options.name !== undefined) args.push("--name", options.name);
	if (options.pricePerHour !== undefined) args.push("--price", options.pricePerHour);
	if (options.diskWritesPerDay !== undefined) args.push("--disk-writes-per-day", options.diskWritesPerDay);
	const child = spawn(process.execPath, [process.argv[1]!, ...args], {
		// Not as an argument: the address has the secret of the chain's owner.
		// Nor does a file with options for this machine's own provider count for those of `up`.
		env: {
			...options.env,
			ASSAY_CONFIG: "",
			...(options.chain && { ASSAY_RPC: options.chain.rpc }),
		} as NodeJS.ProcessEnv,
		// A session of its own: Ctrl-C goes to `up`, which then stops it in order.
		detached: true,
		stdio: ["ignore", "pipe", "pipe", "ipc"],
	});
	let said = "";
	let isRunning = false;
	child.stderr!.on("data", (chunk) => {
		said = (said + chunk).slice(-2000);
	});
	const { promise: started, resolve: hasStarted } = Promise.withResolvers<void>();
	createInterface({ input: child.stdout! }).on("line", (line) => {
		const event = parseEvent(line);
		if (event?.kind === "started") {
			isRunning = true;
			hasStarted();
		} else if (event !== null) options.onEvent(event as ProviderEvent);
	});
	const ended = new Promise<string>((resolve) => {
		child.once("error", (error) => resolve(`${said}${error.message}`.trim()));
		child.once("close", () => resolve(said.trim()));
	});
	await Promise.race([started, ended]);
	return { ended, hasStarted: () => isRunning, stop: () => endChild(child, ended) };
}

async function endChild(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
	const kill = () => child.kill("SIGKILL");
	const silent = setTimeout(kill, SILENT_MS);
	child.stderr!.once("data", () => clearTimeout(silent));
	child.kill("SIGTERM");
	const late = setTimeout(kill, STOP_MS);
	await ended;
	for (const timer of [silent, late]) clearTimeout(timer);
}

function parseEvent(line: string): { readonly kind: string } | null {
	try {
		const event = JSON.parse(line);
		return typeof event?.kind === "string" ? event : null;
	} catch {
		return null;
	}
}

/**
 * The first free port from `first` on. Another program may still take it in between: then listening says so.
 */
async function freePort(host: string, first: number): Promise<number> {
	for (let port = first; port < first + 100; port++) if (await isFree(host, port)) return port;
	throw new AssayError("LISTEN_FAILED", `no port from ${first} to ${first + 99} is free on ${host}`, {
		hint: "It is for SSH of rentals: --no-rent does without.",
	});
}

function isFree(host: string, port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const server = createServer();
		server.once("error", () => resolve(false));
		server.listen(port, host, () => server.close(() => resolve(true)));
	});
}
