// `assay provide --validator URL`: offers this host's devices to validators, and to customers if its owner wants. Runs until it is stopped.
// Not here: what a validator may do (src/provider/), what goes over the wire (src/engine/agent/). Page for owners: docs/provider.md.
import { randomBytes } from "node:crypto";
import { hostname, totalmem } from "node:os";
import { join } from "node:path";
import { parseValidatorUrl } from "../../engine/agent/dial-agent.ts";
import { findEngine, hostPlatform } from "../../engine/builds.ts";
import { loadKeyFile } from "../../platform/key-file.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { isSafeText } from "../../protocol/bytes/safe-text.ts";
import { createProvider, type Provider, type ProviderOptions } from "../../provider/create-provider.ts";
import type { ProviderEvent } from "../../provider/provider-event.ts";
import { findEnvironments } from "../../provider/rental/find-environments.ts";
import { bookPath, readBook } from "../../provider/rental/rental-book.ts";
import type { CliIo, Command } from "../command.ts";
import { defaultProviderDir, makeDataDir } from "../data-folder.ts";
import { numberOption, parseOptions, usageError } from "../parse-options.ts";

/** A full probe of a large host takes some 12 s. */
const DRAIN_MS = 60_000;
const MICROS = 1_000_000;
const HOST = /^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$/;
const IMAGE = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}$/;

const time = (ms: number) => new Date(ms).toISOString().replace("T", " ").slice(0, 19);
const short = (key: string) => `${key.slice(0, 8)}…`;
const pause = (ms: number) => (ms < 1000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`);

export function eventLine(event: ProviderEvent): string | null {
	switch (event.kind) {
		case "dialling":
			return null;
		case "connected":
			return `connected to ${event.url}, validator ${event.validatorKey}`;
		case "lost":
			return `lost ${event.url}: ${event.end.detail} [${event.end.code}]; again in ${pause(event.retryMs)}`;
		case "unreached":
			return `${event.detail} [${event.code}]; again in ${pause(event.retryMs)}\n  ${event.hint}`;
		case "opened":
			return `probe ${event.probe} by ${short(event.validatorKey)} begins`;
		case "closed":
			return `probe ${event.probe} is over${event.killed === null ? "" : `: the engine was ended, ${event.killed}`}`;
		case "refused":
			return `refused ${short(event.validatorKey)}: ${event.detail} [${event.code}]`;
		case "changed":
			return "this host has changed; validators are told";
		case "rented":
			return `rental ${event.rental} begins: user ${event.user}, until ${time(event.untilMs)} UTC`;
		case "extended":
			return `rental ${event.rental} goes on until ${time(event.untilMs)} UTC`;
		case "unrented":
			return `rental ${event.rental} is over (${event.why}); its environment is gone`;
		case "trouble":
			return `trouble: ${event.detail} [${event.code}]`;
	}
}

const help = `usage: assay provide --validator URL [OPTIONS]

Dials the validator, proves this host's key, and lets it probe this host's devices whenever it asks. Runs until stopped.

  --validator URL     wss://host[:port] or ws://…; may be given more than once
  --trust KEY         serve only validators with this key (64 hex digits); may be given more than once. Without it the first
                      key seen at each URL is kept, and refused when it changes
  --name NAME         how this host is listed (default: its host name)
  --price AMOUNT      asked for an hour of the whole host (default 0)
  --max-minutes N     the longest that a validator may keep an engine (default 30)
  --max-memory GB     the most host memory that an engine may take (default: all of it)
  --rentable          customers may rent this host: makes a container or a system user for each rental (docs/provider.md)
  --ssh-host HOST     the name or address at which customers reach this host; needed with --rentable
  --ssh-port PORT     for an SSH server of its own (default 2222)
  --ssh-listen ADDR   the address that it listens on (default: all)
  --rental KIND       container, user, or auto (default): a container where docker or podman answers
  --image IMAGE       of containers (default debian:stable)
  --max-days N        the longest rental (default 31)
  --end-rentals       end all rentals on this host and exit
  --data DIR          the provider's key, pinned validators, rentals (default: provider under ASSAY_HOME)
  --engine FILE       run this engine instead of our own build
  --engine-arg ARG    passed to the engine; may be given more than once
  --json              one event a line as JSON on standard output

Ctrl-C or SIGTERM stops it in order. Rentals go on until their end; a provider that starts again takes care of them.

exit codes: stopped 0, usage 64, engine or SSH server missing 69, data folder not writable 74, key unusable 77`;

const optionShapes = {
	validator: { type: "string", multiple: true },
	trust: { type: "string", multiple: true },
	name: { type: "string" },
	price: { type: "string" },
	"max-minutes": { type: "string" },
	"max-memory": { type: "string" },
	rentable: { type: "boolean", default: false },
	"ssh-host": { type: "string" },
	"ssh-port": { type: "string" },
	"ssh-listen": { type: "string" },
	rental: { type: "string" },
	image: { type: "string" },
	"max-days": { type: "string" },
	"end-rentals": { type: "boolean", default: false },
	data: { type: "string" },
	engine: { type: "string" },
	"engine-arg": { type: "string", multiple: true },
	json: { type: "boolean", default: false },
} as const;

type Values = ReturnType<typeof parseOptions<typeof optionShapes>>["values"];

function number(values: Values, name: keyof Values & string, fallback: number, min: number, max: number): number {
	const text = values[name] as string | undefined;
	return text === undefined ? fallback : numberOption("provide", name, text, min, max);
}

function trustedKeys(values: Values): readonly string[] {
	for (const key of values.trust ?? [])
		if (hexToBytes(key, 32) === null)
			throw usageError(`--trust takes a key of 64 lower-case hex digits, not '${key}'`, "provide");
	return values.trust ?? [];
}

async function rentalOptions(values: Values, folder: string, key: string): Promise<ProviderOptions["rental"]> {
	// Rentals of before are looked after in any case, as what they are and where they are.
	const [before] = await readBook(bookPath(folder));
	const isOffered = values.rentable && !values["end-rentals"];
	if (!isOffered && before === undefined) return null;
	const sshHost = values["ssh-host"] ?? (isOffered ? undefined : hostname());
	if (sshHost === undefined || !HOST.test(sshHost))
		throw usageError("--rentable needs --ssh-host with a name or address that customers can reach", "provide");
	const asked = values.rental ?? "auto";
	if (asked !== "auto" && asked !== "container" && asked !== "user")
		throw usageError(`--rental takes container, user or auto, not '${asked}'`, "provide");
	const containerImage = values.image ?? "debian:stable";
	if (!IMAGE.test(containerImage))
		throw usageError(`--image takes the name of an image, not '${containerImage}'`, "provide");
	const sshPort = before?.port ?? Math.floor(number(values, "ssh-port", 2222, 1, 65535));
	const sshListen = values["ssh-listen"] === undefined ? [] : [values["ssh-listen"]];
	if (sshListen.some((address) => !HOST.test(address))) throw usageError("--ssh-listen takes an address", "provide");
	const want = before?.kind ?? asked;
	return {
		isOffered,
		sshHost,
		maxMs: number(values, "max-days", 31, 0.01, 366) * 24 * 3_600_000,
		makeEnvironments: (gpus) =>
			findEnvironments({ want, dataFolder: folder, sshPort, sshListen, containerImage, providerKey: key, gpus }),
	};
}

export const provideCommand: Command = {
	name: "provide",
	summary: "offers this host's devices to validators",
	help,
	async run(args, io) {
		const { values } = parseOptions("provide", args, optionShapes, { min: 0, max: 0 });
		const validators = [...new Set((values.validator ?? []).map(parseValidatorUrl))];
		if (validators.length === 0 && !values["end-rentals"]) throw usageError("--validator is missing", "provide");
		const trust = trustedKeys(values);
		const pricePerHourMicros = Math.round(number(values, "price", 0, 0, 1e9) * MICROS);
		const name = values.name ?? hostname();
		if (name.length > 64 || !isSafeText(name)) throw usageError("--name takes at most 64 plain characters", "provide");
		const limits = {
			minutes: Math.floor(number(values, "max-minutes", 30, 1, 1440)),
			memoryBytes: Math.floor(number(values, "max-memory", totalmem() / 1e9, 0.1, 1e6) * 1e9),
		};
		const folder = values.data ?? defaultProviderDir(io.env);
		await makeDataDir(folder, 0o700);
		const signer = await loadKeyFile({
			path: join(folder, "provider.key"),
			name: "the provider's key",
			elsewhere: "Name with --data",
			randomBytes: (n) => randomBytes(n),
		});
		const rental = await rentalOptions(values, folder, signer.key);
		const command = values.engine ?? (await ourEngine(io));
		const tell = (event: ProviderEvent) => {
			if (values.json) io.out.write(`${JSON.stringify({ atMs: Date.now(), ...event })}\n`);
			const line = eventLine(event);
			if (line !== null) io.err.write(`${time(Date.now())}  ${line}\n`);
		};
		const begun = process.hrtime.bigint();
		const provider = await createProvider({
			signer,
			validators: values["end-rentals"] ? [] : validators,
			trust,
			dataFolder: folder,
			name,
			pricePerHourMicros,
			engine: { command, args: values["engine-arg"] ?? [] },
			env: io.env,
			limits,
			rental,
			clockUs: () => Number((process.hrtime.bigint() - begun) / 1000n),
			nowMs: () => Date.now(),
			randomBytes: (n) => randomBytes(n),
			onEvent: tell,
		});
		if (values["end-rentals"]) {
			const count = provider.rentals.length;
			await provider.stop({ endRentals: true });
			io.err.write(`${count} rentals ended\n`);
			return 0;
		}
		if (values.json) io.out.write(`${JSON.stringify({ atMs: Date.now(), ...started(provider) })}\n`);
		io.err.write(startedText(provider));
		await untilAborted(io.interrupted);
		io.err.write("stopping; a probe that is under way may finish, Ctrl-C again stops at once\n");
		await provider.stop({ drainMs: DRAIN_MS });
		for (const { rental: id, untilMs } of provider.rentals)
			io.err.write(
				`  rental ${id} goes on until ${time(untilMs)} UTC: start again before, or run assay provide --end-rentals\n`,
			);
		return 0;
	},
};

async function ourEngine(io: CliIo): Promise<string> {
	const build = await findEngine(hostPlatform(), {
		onBuild: (p) => io.err.write(`  building the engine for ${p}, once; this takes a minute or two\n`),
	});
	return build.path;
}

function started(provider: Provider) {
	const { key, claim, offer } = provider;
	return { kind: "started", key, offer, devices: claim.devices.map(({ kind, name, uuid }) => ({ kind, name, uuid })) };
}

function startedText({ key, claim, offer }: Provider): string {
	const rent =
		offer.ssh === null
			? "not for rent"
			: `for rent at ${offer.pricePerHourMicros / MICROS} an hour, ssh on port ${offer.ssh.port}`;
	return `${[
		`provider ${key}`,
		...claim.devices.map(({ kind, name }) => `  ${kind}  ${name}`),
		`  ${rent}`,
		claim.driver === null ? `  no GPU driver: ${claim.why}` : `  driver ${claim.driver.version}`,
	].join("\n")}\n`;
}

function untilAborted(signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener("abort", () => resolve(), { once: true });
	});
}
