// One whole, valid bundle of files of every kind, under roots of our own: for tests that change what a file
// holds.
import { type AttestationSettings, DEFAULT_POLICY, type Roots } from "../settings.ts";
import type { VerifySignature } from "../x509/signature.ts";
import { rootHash } from "./der-writer.test-kit.ts";
import { arkOf, azurePlan, mintAzure, mintSnp, snpPlan } from "./mint-amd.test-kit.ts";
import { collateralPlan, intelRoot, mintCcel, mintCollateral, mintQuote, quotePlan } from "./mint-intel.test-kit.ts";
import {
	chainOf,
	deviceRoot,
	gpuPlan,
	manifestPlan,
	manifestRoot,
	mintDevice,
	mintManifest,
	mintOcsp,
	ocspPlan,
} from "./mint-nvidia.test-kit.ts";

export const MINTED_ROOTS: Roots = {
	nvidiaDevice: [rootHash(deviceRoot)],
	nvidiaManifest: [rootHash(manifestRoot)],
	intel: [rootHash(intelRoot)],
	amd: {
		Milan: [rootHash(arkOf("Milan"))],
		Genoa: [rootHash(arkOf("Genoa"))],
		Turin: [rootHash(arkOf("Turin"))],
	},
};

export const mintedSettings = (at: string, verify: VerifySignature): AttestationSettings => ({
	roots: MINTED_ROOTS,
	atMs: Date.parse(at),
	policy: DEFAULT_POLICY,
	verify,
});

export interface MintedRound {
	readonly name: string;
	readonly files: readonly Uint8Array[];
	readonly settings: AttestationSettings;
}

export function mintedRounds(verify: VerifySignature): MintedRound[] {
	const settings = mintedSettings("2025-06-20T12:00:00Z", verify);
	const plan = gpuPlan();
	const gpu = mintDevice(plan);
	const certificates = chainOf(plan);
	const ocsp = [1, 2, 3].map((i) => mintOcsp(ocspPlan(certificates[i]!, certificates[i + 1]!)));
	const manifests = (["driver", "vbios"] as const).map((part) => mintManifest(manifestPlan(part)));
	const snp = mintSnp(snpPlan("Turin"));
	const azure = mintAzure(azurePlan());
	const { log, rtmr } = mintCcel([
		{ register: 0, words: "firmware" },
		{ register: 2, words: "kernel" },
	]);
	const rounds: Readonly<Record<string, Uint8Array[]>> = {
		gpu: [gpu.report, gpu.chain, ...manifests, ...ocsp],
		tdx: [mintQuote({ ...quotePlan(), rtmr }), mintCollateral(collateralPlan()), log],
		sgx: [mintQuote(quotePlan("sgx")), mintCollateral(collateralPlan("sgx"))],
		snp: [snp.report, snp.leaf, snp.chain],
		azure: [azure.evidence, azure.chain],
	};
	return Object.entries(rounds).map(([name, files]) => ({ name, files, settings }));
}
