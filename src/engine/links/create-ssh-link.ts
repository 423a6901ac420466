// A link to an engine on another host, over the system's ssh: log in, ask what the host is, bring our engine
// there unless it lies there already, compare hashes, run it. The hash is a courtesy check that catches
// accidents; the host may lie about it, and no proof relies on it. Every answer of the host is untrusted:
// bounded, with a deadline, read by a strict pattern, never put into a command.
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { cardsSaid, type EngineBuild, type Platform, unameToPlatform } from "../builds.ts";
import { measureHandshakeUs } from "../client/measure-handshake.ts";
import { createChildLink } from "./child-link.ts";
import { pinnedHostKey } from "./known-hosts.ts";
import type { Link } from "./link.ts";
import { targetToText } from "./parse-target.ts";
import { CARDS, hashCommand, runCommand, uploadCommand } from "./remote-scripts.ts";
import { skipGreeting } from "./skip-greeting.ts";
import { openSshConnection, resolveTarget, type SshConnection } from "./ssh-connection.ts";
import { remoteGarbage } from "./ssh-failure.ts";
import { hostKeyAlias, type SshLinkOptions } from "./ssh-options.ts";

export type { SshLinkOptions, SshStep } from "./ssh-options.ts";

const DEFAULT_CONNECT_TIMEOUT_MS = 20_000;
const DEFAULT_STEP_TIMEOUT_MS = 30_000;
const HANDSHAKE_TIMEOUT_MS = 3000;
/** The slowest line worth waiting for, for the upload's deadline: 10 MB then take some five minutes. */
const MIN_UPLOAD_BYTES_PER_MS = 32;
const HEX_64 = /^[0-9a-f]{64}$/;

/** Gives the engine for a platform; asks for the host's cards where that makes a difference (builds.ts). */
export type EngineFor = (platform: Platform, cards?: () => Promise<readonly string[]>) => Promise<EngineBuild>;

/** Throws AssayError; nothing is left running. */
export async function createSshLink(options: SshLinkOptions, engineFor: EngineFor): Promise<Link> {
	await checkFiles(options);
	options.onStep?.("connect");
	const resolved = await resolveTarget(options);
	const handshakeUs = resolved.direct
		? await measureHandshakeUs(resolved.host, resolved.port, HANDSHAKE_TIMEOUT_MS, options.clockUs)
		: null;
	options.signal?.throwIfAborted();
	const connection = await openSshConnection(options, options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS);
	const stop = () => void connection.close();
	options.signal?.addEventListener("abort", stop, { once: true });
	try {
		const platform = unameToPlatform(connection.system, connection.machine);
		if (!platform) {
			throw new AssayError(
				"PLATFORM_UNSUPPORTED",
				`${targetToText(options.target)} is ${connection.system} ${connection.machine}: there is no engine for it`,
				{
					hint: "Engines exist for Linux on x86-64 and on arm64.",
				},
			);
		}
		const build = await engineFor(platform, async () => {
			const timeoutMs = options.stepTimeoutMs ?? DEFAULT_STEP_TIMEOUT_MS;
			return cardsSaid(await connection.ask(CARDS, { doing: "asking for its cards", timeoutMs }));
		});
		await bringEngine(options, connection, build);
		options.onStep?.("start");
		const hostKey = await pinnedHostKey(options.knownHostsFile, hostKeyAlias(options.target));
		const child = await connection.start(runCommand(build.sha256, options.engineArgs ?? []));
		const greeting = await skipGreeting(child.stdout, options.stepTimeoutMs ?? DEFAULT_STEP_TIMEOUT_MS);
		if (greeting !== "")
			options.onNote?.(`${targetToText(options.target)} printed text before the engine began: ${greeting}`);
		return createChildLink(child, {
			kind: "ssh",
			engineSha256: build.sha256,
			hostKey,
			handshakeUs,
			onClosed: connection.close,
		});
	} catch (error) {
		await connection.close();
		options.signal?.throwIfAborted();
		throw error;
	} finally {
		options.signal?.removeEventListener("abort", stop);
	}
}

async function checkFiles(options: SshLinkOptions): Promise<void> {
	await mkdir(dirname(options.knownHostsFile), { recursive: true, mode: 0o700 });
	if (options.identityFile === undefined) return;
	// ssh only warns about a key that is not there, and then fails to log in for a reason that is hard to
	// guess.
	const file = await stat(options.identityFile).catch(() => null);
	if (!file?.isFile()) {
		throw new AssayError("AUTH_FAILED", `there is no identity file ${options.identityFile}`, {
			hint: "Name the private key's file.",
		});
	}
}

/** Leaves the engine on the host, named by its hash. Uploads only when it is not there as it should be. */
async function bringEngine(options: SshLinkOptions, connection: SshConnection, build: EngineBuild): Promise<void> {
	const timeoutMs = options.stepTimeoutMs ?? DEFAULT_STEP_TIMEOUT_MS;
	options.onStep?.("hash");
	const found = await connection.ask(hashCommand(build.sha256), { doing: "hashing the engine", timeoutMs });
	if (found === build.sha256) return;
	if (found === "none") throw noHash(options);
	if (found !== "absent" && !HEX_64.test(found))
		throw remoteGarbage(options, "hashing the engine", "that is no SHA-256");
	options.onStep?.("upload");
	const uploaded = await connection.ask(uploadCommand(build.sha256), {
		doing: "uploading the engine",
		timeoutMs: timeoutMs + build.bytes / MIN_UPLOAD_BYTES_PER_MS,
		stdinFile: build.path,
	});
	if (uploaded === build.sha256) return;
	if (uploaded === "none") throw noHash(options);
	if (!HEX_64.test(uploaded)) throw remoteGarbage(options, "hashing the engine", "that is no SHA-256");
	throw new AssayError(
		"ENGINE_HASH_MISMATCH",
		`${targetToText(options.target)} hashes the uploaded engine to something else`,
		{
			hint: "Its disk may be full or broken, or something there changes programs; the host cannot be probed like this.",
		},
	);
}

function noHash(options: SshLinkOptions): AssayError {
	return new AssayError("REMOTE_HASH_MISSING", `${targetToText(options.target)} has no program to compute a SHA-256`, {
		hint: "Install coreutils (sha256sum), perl (shasum) or openssl on the host.",
	});
}
