// The 100 cases over real samples of the vendors' devices. The samples lie beside the checkout (../shared/attestation, or
// ASSAY_SHARED/attestation) and are no part of the project: their licences let us test with them, not ship them.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { verifySnp } from "../../src/verify/attestation/amd/verify-snp.ts";
import { verifyAzure } from "../../src/verify/attestation/azure/verify-azure.ts";
import { verifyCcel, verifyDstack } from "../../src/verify/attestation/events/verify-events.ts";
import { verifyQuote } from "../../src/verify/attestation/intel/verify-quote.ts";
import { readSdkJson } from "../../src/verify/attestation/nvidia/sdk-json.ts";
import { type DeviceEvidence, verifyDevice } from "../../src/verify/attestation/nvidia/verify-device.ts";
import { verifyManifest, verifyOcsp } from "../../src/verify/attestation/nvidia/verify-manifest.ts";
import { verifyDeviceSet } from "../../src/verify/attestation/nvidia/verify-set.ts";
import {
	type AmdProduct,
	type AttestationSettings,
	DEFAULT_POLICY,
	VENDOR_ROOTS,
} from "../../src/verify/attestation/settings.ts";
import type { AttestationVerdict } from "../../src/verify/attestation/verdict.ts";
import type { VerifySignature } from "../../src/verify/attestation/x509/signature.ts";

export interface RealCase {
	readonly id: string;
	readonly kind: "gpu" | "switch" | "set" | "rim" | "ocsp" | "quote" | "snp" | "azure" | "events";
	readonly files: Readonly<Record<string, never>>;
	readonly at?: string;
	readonly nonce?: string;
	readonly reportData?: string;
	readonly ask?: string;
	readonly index?: number;
	readonly product?: AmdProduct;
	readonly expect: {
		readonly status: string;
		readonly code?: string;
		readonly also?: readonly string[];
		readonly facts?: Readonly<Record<string, unknown>>;
	};
}

/** A worktree of the checkout lies elsewhere: ASSAY_SHARED says where the samples are. */
const beside = fileURLToPath(new URL("../../../shared", import.meta.url));
export const SAMPLES = join(process.env.ASSAY_SHARED ?? beside, "attestation");
export const samplesMissing: string | false = existsSync(join(SAMPLES, "cases.json"))
	? false
	: `real samples are not at ${SAMPLES}; the minted cases run without them`;

export const realCases = (): readonly RealCase[] => JSON.parse(readFileSync(join(SAMPLES, "cases.json"), "utf8"));

export const sample = (name: string): Uint8Array => new Uint8Array(readFileSync(join(SAMPLES, name)));

/** Cases that name no moment are judged at this one, when all their certificates held. */
const SOME_MOMENT = "2026-06-01T00:00:00Z";

export function settingsAt(at: string | undefined, verify: VerifySignature): AttestationSettings {
	return { roots: VENDOR_ROOTS, atMs: Date.parse(at ?? SOME_MOMENT), policy: DEFAULT_POLICY, verify };
}

interface Files {
	readonly report: string;
	readonly chain: string;
	readonly rims?: readonly string[];
	readonly rim: string;
	readonly evidence: string;
	readonly log: string;
	readonly json?: string;
	readonly leaf: string;
	readonly quote: string;
	readonly collateral?: string;
	readonly gpus: readonly string[];
	readonly switches?: readonly string[];
}

function device(kind: DeviceEvidence["kind"], folder: string): DeviceEvidence[] {
	if (folder.endsWith(".json")) return readSdkJson(sample(folder), folder);
	return [{ kind, report: sample(`${folder}/report.bin`), chain: sample(`${folder}/chain.pem`) }];
}

/** As the project's own verifier sees it. `swap` may change what a file holds, by its name. */
export function judge(one: RealCase, verify: VerifySignature, swap = sample): AttestationVerdict {
	const settings = settingsAt(one.at, verify);
	const files = one.files as unknown as Files & { ocsp: never };
	const nonce = one.nonce === undefined ? null : hexToBytes(one.nonce);
	switch (one.kind) {
		case "gpu":
		case "switch":
			return verifyDevice(
				{ kind: one.kind, report: swap(files.report), chain: swap(files.chain) },
				{
					ask: one.ask === "measured" ? "measured" : "genuine",
					nonce,
					chip: null,
					manifests: (files.rims ?? []).map((name) => swap(name)),
					ocsp: ((files.ocsp ?? []) as { file: string }[]).map(({ file }) => swap(file)),
				},
				settings,
			);
		case "set":
			return verifyDeviceSet(
				() => [
					...files.gpus.flatMap((folder) => device("gpu", folder)),
					...(files.switches ?? []).flatMap((folder) => device("switch", folder)),
				],
				nonce,
				settings,
			);
		case "rim":
			return verifyManifest(swap(files.rim), settings);
		case "ocsp":
			return verifyOcsp(swap(files.ocsp), swap(files.chain), one.index ?? 0, settings);
		case "quote":
			return verifyQuote(
				swap(files.quote),
				{
					ask: one.ask === "signed" ? "signed" : "tcb",
					reportData: one.reportData === undefined ? null : hexToBytes(one.reportData),
					collateral: files.collateral === undefined ? null : swap(files.collateral),
				},
				settings,
			);
		case "snp":
			return verifySnp(
				{ report: swap(files.report), leaf: swap(files.leaf), chain: swap(files.chain), crl: null },
				{
					product: one.product ?? null,
					reportData: one.reportData === undefined ? null : hexToBytes(one.reportData),
				},
				settings,
			);
		case "azure":
			return verifyAzure(
				swap(files.evidence),
				{
					product: one.product ?? null,
					nonce,
					chain: files.chain === undefined ? null : swap(files.chain),
					collateral: null,
				},
				settings,
			);
		case "events":
			return files.json === undefined
				? verifyCcel(swap(files.quote), swap(files.log), settings)
				: verifyDstack(swap(files.json), settings);
	}
}
