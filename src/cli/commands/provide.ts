// `assay provide --validator URL`: offers this host's devices to validators, and to customers if its owner
// wants. Runs until stopped. Not here: what a validator may do (src/provider/), what goes over the wire
// (src/engine/agent/). Page for owners: docs/provider.md.
import { existsSync } from "node:fs";
import { homedir, hostname, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { parseValidatorUrl } from "../../engine/agent/dial-agent.ts";
import { hostPlatform, packageRoot } from "../../engine/builds.ts";
import { untilAborted } from "../../platform/abortable.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { isSafeText } from "../../protocol/bytes/safe-text.ts";
import { codes } from "../../protocol/codes.ts";
import { loadProviderAccount } from "../../provider/chain-account.ts";
import { createProvider, type Provider, type ProviderOptions } from "../../provider/create-provider.ts";
import type { ProviderEvent } from "../../provider/provider-event.ts";
import { findEnvironments } from "../../provider/rental/find-environments.ts";
import { bookPath, readBook } from "../../provider/rental/rental-book.ts";
import { unsupportedText } from "../../verify/hardware/identify/other-vendors.ts";
import { type CliIo, command } from "../command.ts";
import { defaultProviderDir, loadProviderKey, makeDataDir } from "../data-folder.ts";
import { engineOf } from "../open-target.ts";
import { choice, flag, group, hexKey, list, number, text, usageError, type Values, whole } from "../options.ts";
import { alertOption, alertSettings } from "../owner/alert-options.ts";
import { earningsLine, followEarnings } from "../owner/follow-earnings.ts";
import { createOwnerAlerts } from "../owner/owner-alerts.ts";
import { argsOf, installUnit, unitText } from "../owner/systemd-unit.ts";
import { plural } from "../print/table.ts";
import { jobOptions, providerJobs } from "../provide-jobs.ts";

/** A full probe of a large host takes some 12 s. */
const DRAIN_MS = 60_000;
const MICROS = 1_000_000;
const HOST = /^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$/;

const time = (ms: number) => new Date(ms).toISOString().replace("T", " ").slice(0, 19);
const short = (key: string) => `${key.slice(0, 8)}…`;
const span = (ms: number) => (ms < 1000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`);

export function eventLine(event: ProviderEvent): string | null {
	switch (event.kind) {
		case "dialling":
			return null;
		case "connected":
			return `connected to ${event.url}, validator ${event.validatorKey}`;
		case "lost":
			return `lost ${event.url}: ${event.end.detail} [${event.end.code}]; trying again in ${span(event.retryMs)}`;
		case "unreached":
			return `${event.detail} [${event.code}]; trying again in ${span(event.retryMs)}\n  ${event.hint}`;
		case "opened":
			return `probe ${event.probe} by ${short(event.validatorKey)} begins`;
		case "closed":
			return `probe ${event.probe} is over${event.killed === null ? "" : `: the engine was killed, ${event.killed}`}`;
		case "judged":
			return judgedLine(event);
		case "refused":
			return `refused ${short(event.validatorKey)}: ${event.detail} [${event.code}]`;
		case "changed":
			return "this host has changed; validators are notified";
		case "rented":
			return `rental ${event.rental} begins: user ${event.user}, until ${time(event.untilMs)} UTC`;
		case "extended":
			return `rental ${event.rental} is extended until ${time(event.untilMs)} UTC`;
		case "unrented":
			return `rental ${event.rental} is over (${event.why}); its environment was removed`;
		case "called":
			return `roll call ${event.call} answered by ${plural(event.devices, "device")} in ${span(event.ms)}`;
		case "demanded":
			return `an opening of roll call ${event.call} was demanded of device ${event.device}, and given`;
		case "job":
			return jobLine(event);
		case "trouble":
			return `trouble: ${event.detail} [${event.code}]`;
	}
}

/** With what takes something from this host. */
function judgedLine({ probe, validatorKey, status, code, findings }: ProviderEvent & { readonly kind: "judged" }) {
	const losses = findings.filter((one) => one.code === "DEVICE_ELSEWHERE");
	const told = losses.map((one) => `\n  ${one.detail} [${one.code}]\n  ${codes.DEVICE_ELSEWHERE.hint}`);
	return `probe ${probe} by ${short(validatorKey)}: ${status}${code === null ? "" : ` [${code}]`}${told.join("")}`;
}

function jobLine({ job, part, audit, device, state, detail }: ProviderEvent & { readonly kind: "job" }): string {
	const what = `${audit === null ? "part" : "audit of part"} ${part} of job ${short(job)} on device ${device}`;
	return `${what}: ${state}${detail === "" ? "" : `, ${detail}`}`;
}

const options = {
	validator: list("URL", "wss://host[:port] or ws://…"),
	trust: list(
		"KEY",
		"serve only validators with this key; without it the first key seen at each URL is stored, and a changed key is refused",
		hexKey,
	),
	name: text("NAME", "how this host is listed (default: its host name)"),
	price: number("AMOUNT", "price of an hour of the whole host", [0, 1e9], 0),
	"max-minutes": whole("N", "longest time that a validator may keep an engine", [1, 1440], 30),
	"max-memory": number("GB", "host memory that an engine may use (default: all of it)", [0.1, 1e6]),
	"disk-writes-per-day": number(
		"GB",
		"what engines may write to the disk in 24 hours, of all validators together",
		[0, 1e6],
		200,
	),
	rentable: flag("offer this host for rent: each rental gets a container or a system user (docs/provider.md)"),
	"ssh-host": text("HOST", "name or address at which customers reach this host; needed with --rentable"),
	"ssh-port": whole("PORT", "port of the rentals' own SSH server", [1, 65535], 2222),
	"ssh-listen": text("ADDR", "address that it listens on (default: all)", {
		shape: { pattern: HOST, is: "an address" },
	}),
	rental: choice(
		"KIND",
		["container", "user", "auto"],
		"container, user, or auto: a container where docker or podman answers",
		"auto",
	),
	image: text("IMAGE", "image of the containers", {
		shape: { pattern: /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}$/, is: "the name of an image" },
		fallback: "debian:stable",
	}),
	"max-days": number("N", "longest rental", [0.01, 366], 31),
	"rental-memory": number("GB", "memory that a renter may use (default: nine tenths of it)", [0.1, 1e6]),
	"rental-disk": number("GB", "disk that a renter may use (default: four fifths of what is free)", [0.1, 1e6]),
	"end-rentals": flag("end all rentals on this host and exit"),
	install: flag("write a systemd unit that runs this command at every start of the machine, and exit"),
	"no-roll-calls": flag(
		"answer no roll calls: for a second provider on one machine, which cannot answer twice; it has no score",
	),
	...jobOptions,
	...group("the chain that answers to roll calls stand for", {
		rpc: text(
			"URL",
			"node of the network's chain: roll calls are checked there, and this host's stake stands for its answers (or ASSAY_RPC)",
			{ env: "ASSAY_RPC" },
		),
		contracts: text(
			"FILE",
			"addresses of the contracts there: a file, or a validator's URL with /chain/contracts.json",
		),
	}),
	alert: alertOption,
	data: text("DIR", "the provider's key, pinned validators and rentals (default: provider in ASSAY_HOME)"),
	engine: text("FILE", "run this engine instead of our own build"),
	"engine-arg": list("ARG", "argument for the engine"),
	json: flag("print one event a line as JSON"),
};

async function rentalOptions(
	values: Values<typeof options>,
	folder: string,
	key: string,
): Promise<ProviderOptions["rental"]> {
	// Rentals of an earlier run are looked after in any case, with their own kind and port.
	const [before] = await readBook(bookPath(folder));
	const isOffered = values.rentable && !values["end-rentals"];
	if (!isOffered && before === undefined) return null;
	const sshHost = values["ssh-host"] ?? (isOffered ? undefined : hostname());
	if (sshHost === undefined || !HOST.test(sshHost))
		throw usageError("--rentable needs --ssh-host with a name or address that customers can reach");
	const sshPort = before?.port ?? values["ssh-port"];
	const sshListen = values["ssh-listen"] === undefined ? [] : [values["ssh-listen"]];
	const [want, containerImage] = [before?.kind ?? values.rental, values.image];
	const [memoryBytes, diskBytes] = [values["rental-memory"], values["rental-disk"]].map(
		(gb) => gb && Math.floor(gb * 1e9),
	);
	return {
		isOffered,
		sshHost,
		maxMs: values["max-days"] * 24 * 3_600_000,
		makeEnvironments: (gpus) =>
			findEnvironments({
				...{ want, dataFolder: folder, sshPort, sshListen, containerImage, providerKey: key, gpus },
				...{ memoryBytes, diskBytes },
			}),
	};
}

export const provideCommand = command({
	name: "provide",
	about: `Connects to the validator, proves that it holds this host's key, and lets the validator probe this host's devices at any
time. Runs until stopped.

Ctrl-C or SIGTERM stops it in order. Rentals continue until their end, which comes by itself; the next assay provide looks after them.`,
	needs: "--validator URL",
	options,
	exits: {
		0: "stopped",
		69: "engine or SSH server missing",
		74: "data folder not writable",
		77: "key unusable",
	},
	async check(values) {
		values.validator?.forEach(parseValidatorUrl);
	},
	async run(values, io) {
		if (values.install) return install(values, io);
		let onCounted = () => {};
		const provider = await startProvider(values, io, () => onCounted());
		if (values["end-rentals"]) {
			const count = provider.rentals.length;
			await provider.stop({ endRentals: true });
			io.err.write(`${plural(count, "rental")} ended\n`);
			return 0;
		}
		if (values.json) io.out.write(`${JSON.stringify({ atMs: Date.now(), ...started(provider) })}\n`);
		io.err.write(startedText(provider));
		const following = await followEarnings(provider.key, (values.validator ?? []).map(parseValidatorUrl), (news) => {
			if (values.json) io.out.write(`${JSON.stringify({ atMs: Date.now(), ...news })}\n`);
			io.err.write(`${time(Date.now())}  ${earningsLine(news)}\n`);
		});
		onCounted = following.soon;
		await untilAborted(io.interrupted);
		await following.stop();
		io.err.write("stopping; a running probe may finish, Ctrl-C again stops at once\n");
		await provider.stop({ drainMs: DRAIN_MS });
		for (const { rental: id, untilMs } of provider.rentals)
			io.err.write(
				`  rental ${id} continues until ${time(untilMs)} UTC and ends by itself; the next assay provide deletes what is left of it, --end-rentals ends it now\n`,
			);
		return 0;
	},
});

/** As it was given, by this Node and this program. */
async function install(values: Values<typeof options>, io: CliIo): Promise<number> {
	if (values.validator === undefined) throw usageError("--validator is missing");
	values.validator.forEach(parseValidatorUrl);
	const folder = resolve(io.cwd, values.data ?? defaultProviderDir(io.env));
	await makeDataDir(folder);
	const program = [process.execPath, join(packageRoot(), "bin/assay.mjs"), "provide"];
	// What the config file says stays there, so that a change of it counts at the next start.
	const args = argsOf(options, { ...values, data: folder }, [
		"install",
		...(io.config?.names ?? []).filter((one) => one !== "data"),
	]);
	const isRoot = process.getuid?.() === 0;
	const env = { ...io.env, ASSAY_CONFIG: io.config?.path };
	const unit = unitText([...program, ...args], { isRoot, folder, env });
	const { path, next } = installUnit(unit, { isRoot, home: io.env.HOME ?? homedir() });
	io.out.write(`${path} written. Next:\n${next.map((line) => `  ${line}\n`).join("")}`);
	return 0;
}

/** `onCounted`: something happened that a score is made of. */
async function startProvider(values: Values<typeof options>, io: CliIo, onCounted: () => void): Promise<Provider> {
	const validators = [...new Set((values.validator ?? []).map(parseValidatorUrl))];
	if (validators.length === 0 && !values["end-rentals"]) throw usageError("--validator is missing");
	const name = values.name ?? hostname();
	if (name.length > 64 || !isSafeText(name)) throw usageError("--name takes at most 64 plain characters");
	if (values.engine !== undefined && !existsSync(resolve(io.cwd, values.engine)))
		throw new AssayError("ENGINE_MISSING", `there is no engine ${values.engine}`, {
			hint: "Leave --engine out to use our own build.",
		});
	const folder = values.data ?? defaultProviderDir(io.env);
	await makeDataDir(folder);
	const signer = await loadProviderKey(folder);
	const rental = await rentalOptions(values, folder, signer.key);
	const engine = {
		command: values.engine ?? (await engineOf(hostPlatform(), io)).path,
		args: values["engine-arg"] ?? [],
	};
	const { clockUs, nowMs, randomBytes } = realEnvironment();
	const chain = await chainOf(values, io, folder);
	const pricePerHourMicros = Math.round(values.price * MICROS);
	const memoryBytes = Math.floor((values["max-memory"] ?? totalmem() / 1e9) * 1e9);
	const alerts = createOwnerAlerts({
		...alertSettings(values.alert, io),
		...{ provider: signer.key, name, nowMs },
		onTrouble: (text) => io.err.write(`${time(Date.now())}  ${text}\n`),
	});
	io.interrupted.addEventListener("abort", () => void alerts.stop(), { once: true });
	const onEvent = (event: ProviderEvent) => {
		if (!io.interrupted.aborted) alerts.see(event);
		if (values.json) io.out.write(`${JSON.stringify({ atMs: Date.now(), ...event })}\n`);
		if (event.kind === "judged" || event.kind === "called") onCounted();
		const line = eventLine(event);
		if (line !== null) io.err.write(`${time(Date.now())}  ${line}\n`);
	};
	return createProvider({
		chain: chain && (await openRollChain(chain)),
		jobs: providerJobs(values, io, { folder, signer, engine, pricePerHourMicros, memoryBytes, chain, onEvent }),
		signer,
		validators: values["end-rentals"] ? [] : validators,
		trust: values.trust ?? [],
		dataFolder: folder,
		name,
		pricePerHourMicros,
		engine,
		env: io.env,
		limits: { minutes: values["max-minutes"], memoryBytes },
		diskBytesPerDay: Math.floor(values["disk-writes-per-day"] * 1e9),
		rental,
		...(values["no-roll-calls"] && { rollCalls: { isOff: true } }),
		clockUs,
		nowMs,
		randomBytes,
		onEvent,
	});
}

/**
 * Null: no chain is named. Then nothing of it is loaded, no stake stands for this host's answers, and no bond
 * for its work.
 */
async function chainOf(values: Values<typeof options>, io: CliIo, folder: string) {
	const url = values.rpc ?? io.env.ASSAY_RPC ?? "";
	const kept = join(folder, "contracts.json");
	// ASSAY_RPC may be meant for other commands.
	const isMeant = values.rpc !== undefined || values.contracts !== undefined || existsSync(kept);
	if (url === "" || !isMeant) return null;
	const { openContracts } = await import("../chain/chain-connection.ts");
	const contracts = await openContracts(url, values, io, [kept], 1);
	return { contracts, url, account: await loadProviderAccount(folder, realEnvironment().randomBytes) };
}

async function openRollChain({ contracts, account }: NonNullable<Awaited<ReturnType<typeof chainOf>>>) {
	const roll = await import("../../provider/roll-call/open-roll-chain.ts");
	return roll.openRollChain(contracts, account);
}

function started(provider: Provider) {
	const { key, claim, offer } = provider;
	return {
		kind: "started",
		key,
		offer,
		devices: claim.devices.map(({ kind, name, uuid }) => ({ kind, name, uuid })),
		unsupported: claim.unsupported ?? [],
	};
}

function startedText({ key, claim, offer }: Provider): string {
	const rent =
		offer.ssh === null
			? "not for rent"
			: `for rent at ${offer.pricePerHourMicros / MICROS} an hour, ssh on port ${offer.ssh.port}`;
	return `${[
		`provider ${key}`,
		...claim.devices.map(({ kind, name }) => `  ${kind}  ${name}`),
		...(claim.unsupported ?? []).map((card) => `  ${unsupportedText(card)} [GPU_UNSUPPORTED]`),
		`  ${rent}`,
		`  ${offer.jobs === null ? "takes no jobs" : "takes jobs"}`,
		claim.driver === null ? `  no GPU driver: ${claim.why}` : `  driver ${claim.driver.version}`,
	].join("\n")}\n`;
}
