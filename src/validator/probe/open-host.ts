// From a target to a link: starts the engine here, or logs in and brings it there. Whoever probes uses it:
// the command line and the library. Not here: how a target is typed on a command line, and who is asked for a
// password.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { findEngine, hostPlatform } from "../../engine/builds.ts";
import { createLocalLink } from "../../engine/links/create-local-link.ts";
import { createSshLink, type EngineFor } from "../../engine/links/create-ssh-link.ts";
import type { Link } from "../../engine/links/link.ts";
import type { Target } from "../../engine/links/parse-target.ts";
import type { SshLinkOptions } from "../../engine/links/ssh-options.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { signerPath } from "./signer.ts";

/** Without a private key for ssh its own configuration and agent decide. */
export interface HostAccess
	extends Pick<SshLinkOptions, "env" | "identityFile" | "password" | "connectTimeoutMs">,
		Pick<SshLinkOptions, "engineArgs" | "onNote" | "signal"> {
	/** Instead of our own build, on this machine. */
	readonly engineFile?: string | undefined;
	/** Where the engine for a platform comes from. */
	readonly engineFor?: EngineFor;
}

const findEngineFor: EngineFor = (platform, cards) => findEngine(platform, { ...(cards && { cards }) });

/** Throws AssayError; nothing is left running. */
export async function openHost(target: Target, access: HostAccess): Promise<Link> {
	const { env, engineArgs = [], engineFor = findEngineFor } = access;
	if (target.kind === "local") {
		if (access.engineFile !== undefined && !existsSync(access.engineFile))
			throw new AssayError("ENGINE_MISSING", `there is no engine ${access.engineFile}`, {
				hint: "Leave --engine out to use our own build.",
			});
		const command = access.engineFile ?? (await engineFor(hostPlatform())).path;
		return createLocalLink({ command, args: engineArgs, env });
	}
	return createSshLink(
		{
			target,
			knownHostsFile: join(dirname(signerPath(env)), "known_hosts"),
			clockUs: realEnvironment().clockUs,
			env,
			identityFile: access.identityFile,
			password: access.password || undefined,
			connectTimeoutMs: access.connectTimeoutMs,
			engineArgs,
			onNote: access.onNote,
			signal: access.signal,
		},
		engineFor,
	);
}
