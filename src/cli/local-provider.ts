// The provider of `assay up`: an `assay provide` of its own, as on any other host, that dials this machine's validator. It ends when `up` does, even
// one that was killed: the channel between the two is closed then (main.ts). Not here: what a provider does.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { AssayError } from "../protocol/assay-error.ts";
import type { ProviderEvent } from "../provider/provider-event.ts";
import { SSHD } from "../provider/rental/rental-sshd.ts";
import type { Surroundings } from "./command.ts";

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
	readonly env: Surroundings["env"];
	readonly onEvent: (event: ProviderEvent | { readonly kind: "started"; readonly key: string }) => void;
	/** It ended without being asked to; `said` is the end of its standard error. */
	readonly onEnd: (said: string) => void;
}

const FIRST_SSH_PORT = 2222;
/** An orderly end lets an environment be taken down first. */
const STOP_MS = 90_000;

export async function startLocalProvider(o: LocalProviderOptions): Promise<LocalProvider> {
	// A system user for each rental needs root, and all of it OpenSSH's server.
	const rentable = process.getuid?.() === 0 && existsSync(SSHD);
	const args = ["provide", "--json", "--validator", o.validator, "--trust", o.key, "--data", o.dataFolder];
	if (o.name !== undefined) args.push("--name", o.name);
	if (o.pricePerHour !== undefined) args.push("--price", o.pricePerHour);
	// Only this machine is told of it, so only from this machine it is reached.
	if (rentable)
		args.push(
			"--rentable",
			"--ssh-host",
			"127.0.0.1",
			"--ssh-listen",
			"127.0.0.1",
			"--ssh-port",
			String(await freePort("127.0.0.1", FIRST_SSH_PORT)),
		);
	const child = spawn(process.execPath, [process.argv[1]!, ...args], {
		env: o.env as NodeJS.ProcessEnv,
		// A session of its own: Ctrl-C is for `up`, which then ends it in order.
		detached: true,
		stdio: ["ignore", "pipe", "pipe", "ipc"],
	});
	let said = "";
	let stopping = false;
	child.stderr!.on("data", (chunk) => {
		said = (said + chunk).slice(-2000);
	});
	createInterface({ input: child.stdout! }).on("line", (line) => {
		const event = parseEvent(line);
		if (event !== null) o.onEvent(event);
	});
	const ended = new Promise<void>((resolve) => {
		child.once("error", (error) => {
			said += error.message;
			resolve();
		});
		child.once("close", () => resolve());
	});
	void ended.then(() => {
		if (!stopping) o.onEnd(said.trim());
	});
	return {
		rentable,
		async stop() {
			stopping = true;
			await endChild(child, ended);
		},
	};
}

async function endChild(child: ChildProcess, ended: Promise<void>): Promise<void> {
	child.kill("SIGTERM");
	const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
	await ended;
	clearTimeout(timer);
}

function parseEvent(line: string): ProviderEvent | null {
	try {
		const event = JSON.parse(line);
		return typeof event?.kind === "string" ? event : null;
	} catch {
		return null;
	}
}

/** The first free port from `first` on. Another program may still take it in between: then listening says so. */
export async function freePort(host: string, first: number): Promise<number> {
	for (let port = first; port < first + 100; port++) if (await isFree(host, port)) return port;
	throw new AssayError("LISTEN_FAILED", `no port from ${first} to ${first + 99} is free on ${host}`, {
		hint: "Name one with --port.",
	});
}

function isFree(host: string, port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const server = createServer();
		server.once("error", () => resolve(false));
		server.listen(port, host, () => server.close(() => resolve(true)));
	});
}
