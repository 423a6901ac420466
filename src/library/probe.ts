// What programs import as `assay/probe`: one probe of one host, as `assay probe` does it, in a program of
// your own. Node only. Importing it does nothing. Not here: files, tables and exit codes
// (cli/commands/probe.ts).
import { parseTarget, targetToText } from "../engine/links/parse-target.ts";
import { realEnvironment } from "../platform/environment.ts";
import { AssayError } from "../protocol/assay-error.ts";
import type { HostClaim } from "../protocol/probe/evidence.ts";
import type { Verdict } from "../protocol/probe/verdict.ts";
import { openHost } from "../validator/probe/open-host.ts";
import type { ProbeEvent } from "../validator/probe/probe-event.ts";
import { runProbe as run } from "../validator/probe/run-probe.ts";
import { loadSigner, signerPath } from "../validator/probe/signer.ts";
import { decodeBundle } from "../verify/attestation/collateral/bundle.ts";

export type { ProbeEvent } from "../validator/probe/probe-event.ts";

export interface ProbeOptions {
	/** `local` (default), `user@host` or `ssh://user@host:port`. */
	readonly target?: string;
	/** A few seconds: less memory, fewer precisions, fewer spot checks. */
	readonly quick?: boolean;
	/** Then run the matrix challenge for so long. */
	readonly sustainMs?: number;
	/** Then train a small GPT as an exact program. */
	readonly training?: boolean;
	/** Spot checks a challenge: 1 to 2048. */
	readonly samples?: number;
	/** Only these devices, by their place in the claim; one that is not there throws DEVICE_MISSING. */
	readonly devices?: readonly number[];
	/** Private key for ssh; by default ssh's own configuration and agent decide. */
	readonly identityFile?: string;
	readonly password?: string;
	readonly connectTimeoutMs?: number;
	/** Another engine than the package's own, on a local target. */
	readonly engineFile?: string;
	/** The verifier's key, made when it is absent. Default: the one that `assay probe` uses. */
	readonly keyFile?: string;
	/** A bundle of vendors' files (`assay attest update`) that signed reports are judged by. */
	readonly collateral?: Uint8Array;
	readonly onEvent?: (event: ProbeEvent) => void;
	/** Aborting ends the engine; the verdict is then inconclusive, ABORTED. */
	readonly signal?: AbortSignal;
}

export interface ProbeResult {
	readonly verdict: Verdict;
	/** The signed file; null when nothing could be recorded, or the probe was aborted. */
	readonly evidence: Uint8Array | null;
	/** What the host says of itself. */
	readonly claim: HostClaim | null;
}

/**
 * A host that cannot be reached or logged in to, and options that cannot be, are an AssayError; everything
 * after that is the verdict. `evidence` is the signed file: write it where you like.
 */
export async function runProbe(options: ProbeOptions = {}): Promise<ProbeResult> {
	const { quick = false, training = false, sustainMs = 0, samples, signal } = options;
	if (samples !== undefined && !(Number.isInteger(samples) && samples >= 1 && samples <= 2048))
		throw new AssayError("USAGE", `samples is ${samples}`, { hint: "A whole number from 1 to 2048." });
	if (!(Number.isInteger(sustainMs) && sustainMs >= 0 && sustainMs <= 86_400_000))
		throw new AssayError("USAGE", `sustainMs is ${sustainMs}`, { hint: "Whole milliseconds, at most a day." });
	const target = parseTarget(options.target ?? "local");
	const { clockUs, nowMs, randomBytes, env } = realEnvironment();
	const signer = await loadSigner(options.keyFile ?? signerPath(env), randomBytes);
	const bundle = options.collateral === undefined ? null : decodeBundle(options.collateral);
	if (bundle?.ok === false) throw new AssayError("FILE_UNREADABLE", `collateral is no bundle: ${bundle.detail}`);
	signal?.throwIfAborted();
	const { identityFile, password, connectTimeoutMs, engineFile } = options;
	const access = { env, identityFile, password, connectTimeoutMs, engineFile, signal };
	const link = await openHost(target, { ...access, engineArgs: training ? ["--work"] : [] });
	return run({
		...{ openLink: async () => link, target: targetToText(target), quick, sustainMs, training, signer },
		...{ clockUs, nowMs, randomBytes, collateral: bundle?.bundle.items ?? [] },
		...(samples === undefined ? {} : { samples }),
		...(options.devices === undefined ? {} : { devices: options.devices }),
		...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
		...(signal === undefined ? {} : { signal }),
	});
}
