// One case over real samples, judged by the project's own verifier. Pure: where the samples come from is an
// argument, so that the same runs in Node and in a browser.
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

/** Cases that name no moment are judged at this one, when all their certificates held. */
const SOME_MOMENT = "2026-06-01T00:00:00Z";

function settingsAt(at: string | undefined, verify: VerifySignature): AttestationSettings {
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

function device(kind: DeviceEvidence["kind"], folder: string, read: ReadSample): DeviceEvidence[] {
	if (folder.endsWith(".json")) return readSdkJson(read(folder), folder);
	return [{ kind, report: read(`${folder}/report.bin`), chain: read(`${folder}/chain.pem`) }];
}

export type ReadSample = (name: string) => Uint8Array;

export function judgeCase(one: RealCase, verify: VerifySignature, read: ReadSample): AttestationVerdict {
	const settings = settingsAt(one.at, verify);
	const files = one.files as unknown as Files & { ocsp: never };
	const nonce = one.nonce === undefined ? null : hexToBytes(one.nonce);
	switch (one.kind) {
		case "gpu":
		case "switch":
			return verifyDevice(
				{ kind: one.kind, report: read(files.report), chain: read(files.chain) },
				{
					ask: one.ask === "measured" ? "measured" : "genuine",
					nonce,
					chip: null,
					manifests: (files.rims ?? []).map((name) => read(name)),
					ocsp: ((files.ocsp ?? []) as { file: string }[]).map(({ file }) => read(file)),
				},
				settings,
			);
		case "set":
			return verifyDeviceSet(
				() => [
					...files.gpus.flatMap((folder) => device("gpu", folder, read)),
					...(files.switches ?? []).flatMap((folder) => device("switch", folder, read)),
				],
				nonce,
				settings,
			);
		case "rim":
			return verifyManifest(read(files.rim), settings);
		case "ocsp":
			return verifyOcsp(read(files.ocsp), read(files.chain), one.index ?? 0, settings);
		case "quote":
			return verifyQuote(
				read(files.quote),
				{
					ask: one.ask === "signed" ? "signed" : "tcb",
					reportData: one.reportData === undefined ? null : hexToBytes(one.reportData),
					collateral: files.collateral === undefined ? null : read(files.collateral),
				},
				settings,
			);
		case "snp":
			return verifySnp(
				{ report: read(files.report), leaf: read(files.leaf), chain: read(files.chain), crl: null },
				{
					product: one.product ?? null,
					reportData: one.reportData === undefined ? null : hexToBytes(one.reportData),
				},
				settings,
			);
		case "azure":
			return verifyAzure(
				read(files.evidence),
				{
					product: one.product ?? null,
					nonce,
					chain: files.chain === undefined ? null : read(files.chain),
					crl: null,
					collateral: null,
				},
				settings,
			);
		case "events":
			return files.json === undefined
				? verifyCcel(read(files.quote), read(files.log), settings)
				: verifyDstack(read(files.json), settings);
	}
}

/** What is wrong with a verdict; empty: it is the one that was computed by another verifier. */
export function differences({ id, expect }: RealCase, verdict: AttestationVerdict): string[] {
	const { status, code, also = [], facts = {} } = expect;
	const told = `${id}: ${verdict.status} ${verdict.code} ${verdict.where} ${verdict.detail}`;
	const codes = verdict.findings.map((one) => one.code).sort();
	const same = (a: unknown, b: unknown) => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
	return [
		...(verdict.status === status ? [] : [told]),
		...(code === undefined || [code, ...also].includes(verdict.code ?? "") ? [] : [told]),
		...Object.entries(facts)
			.filter(([name, value]) => !same(name === "findings" ? codes : verdict.facts[name], value))
			.map(([name]) => `${id}: ${name}`),
		...(codes.includes("SIMULATED_ROOTS") ? [`${id}: simulated`] : []),
	];
}

/** One order of names, so that two texts of one value are equal. */
function sorted(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sorted);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value)
			.sort(([a], [b]) => (a < b ? -1 : 1))
			.map(([name, one]) => [name, sorted(one)]),
	);
}
