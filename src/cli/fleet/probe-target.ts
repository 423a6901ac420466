// One probe of one target, from the options of `assay probe` to its result and evidence file. Not here: what
// is printed.
import { existsSync } from "node:fs";
import { realEnvironment } from "../../platform/environment.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import type { ProbeEvent } from "../../validator/probe/probe-event.ts";
import { type ProbeResult, runProbe } from "../../validator/probe/run-probe.ts";
import { loadSigner, signerPath } from "../../validator/probe/signer.ts";
import { type CollateralItem, decodeBundle } from "../../verify/attestation/collateral/bundle.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import { loadBundle } from "../attest-collateral.ts";
import type { CliIo } from "../command.ts";
import { defaultAttestDir } from "../data-folder.ts";
import { readEvidence, requireWritable, writeNamedFile } from "../evidence-file.ts";
import type { openTarget } from "../open-target.ts";

export interface Probed {
	readonly target: string;
	readonly result: ProbeResult;
	/** Where the evidence lies; null when there is none. */
	readonly path: string | null;
	readonly tookUs: number;
	/** It was made before; nothing was asked now. */
	readonly isOld?: true;
}

export interface ProbeValues {
	readonly quick: boolean;
	readonly sustain?: number | undefined;
	readonly training: boolean;
	readonly samples?: number | undefined;
	readonly device?: readonly string[] | undefined;
	/** Days. */
	readonly "max-age"?: number | undefined;
}

/**
 * What lies in the file already, where it will do: valid, by our own key, of this target, young enough, no
 * quick probe where a whole one is asked for, and with figures of every device that is meant. null: probe.
 */
function recentProof(file: string, target: string, signer: string, values: ProbeValues): ProbeResult | null {
	const maxAge = values["max-age"];
	if (maxAge === undefined || !existsSync(file)) return null;
	const evidence = readEvidence(file);
	const notBeforeMs = Date.now() - maxAge * 86_400_000;
	const verdict = verifyEvidence(evidence, { signers: [signer], target, notBeforeMs, notAfterMs: Date.now() });
	const decoded = decodeEvidence(evidence);
	if (verdict.status !== "valid" || !decoded.ok) return null;
	if (!values.quick && verdict.findings.some(({ code }) => code === "LOW_SAMPLES")) return null;
	const { claim } = decoded.evidence.envelope.body;
	// A file of some devices alone says nothing of the others.
	const wanted = values.device?.map(Number) ?? claim.devices.flatMap(({ kind }, i) => (kind === "disk" ? [] : [i]));
	const isProven = (wantedDevice: number) => verdict.figures.some(({ device }) => device === wantedDevice);
	return wanted.every(isProven) ? { verdict, evidence, claim } : null;
}

/**
 * `file` is tried before the probe begins. A host that cannot be reached or logged in to is an error, not a
 * verdict.
 */
export async function probeTarget(
	target: ReturnType<typeof openTarget>,
	file: string,
	values: ProbeValues,
	io: CliIo,
	onEvent: (event: ProbeEvent) => void,
): Promise<Probed> {
	const { clockUs, nowMs, randomBytes } = realEnvironment();
	const signer = await loadSigner(signerPath(io.env), randomBytes);
	requireWritable(file, "--out");
	const recent = recentProof(file, target.name, signer.key, values);
	if (recent !== null) return { target: target.name, result: recent, path: file, tookUs: clockUs(), isOld: true };
	const link = await target.open();
	const result = await runProbe({
		openLink: async () => link,
		target: target.name,
		quick: values.quick,
		sustainMs: Math.round((values.sustain ?? 0) * 60_000),
		training: values.training,
		...(values.samples === undefined ? {} : { samples: values.samples }),
		...(values.device === undefined ? {} : { devices: values.device.map(Number) }),
		signer,
		clockUs,
		nowMs,
		randomBytes,
		onEvent,
		collateral: await collateralAt(io.env),
		signal: io.interrupted,
	});
	const path = result.evidence === null ? null : file;
	if (path !== null && result.evidence !== null) writeNamedFile(path, result.evidence, "--out");
	return { target: target.name, result, path, tookUs: clockUs() };
}

/** Vendors' files of `assay attest update`; what is no bundle is none. */
async function collateralAt(env: CliIo["env"]): Promise<readonly CollateralItem[]> {
	const file = await loadBundle(defaultAttestDir(env));
	const decoded = file === null ? null : decodeBundle(file);
	return decoded?.ok ? decoded.bundle.items : [];
}
