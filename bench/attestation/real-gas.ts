// What Intel's own texts cost on chain: every call from nothing to an attested quote, over the real samples
// that are valid (../shared, or ASSAY_SHARED), under Osaka and Prague. The golden file has minted texts:
// short ones, and some as long as the longest of these. Prints a line of JSON for each set of texts; asserts
// nothing. Run: node bench/attestation/real-gas.ts
import { openStage, payer, storyOf } from "../../contracts/test/attestations.test-kit.ts";
import { INTEL_ROOT } from "../../src/chain/contracts/deploy.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { collateralParts, quoteParts } from "../../src/verify/attestation/intel/chain-parts.ts";
import { realCases, sample, samplesMissing } from "../../tests/attestation/real-cases.test-kit.ts";

if (samplesMissing !== false) throw new Error(samplesMissing);
const NAMES = ["list of the root", "certify", "certify", "list", "inform", "identify", "register"];
const START_S = Date.UTC(2024, 0, 1) / 1000;
const seen = new Set<string>();
for (const { kind, id, files, expect, at } of realCases()) {
	const { quote, collateral } = files as unknown as { readonly quote: string; readonly collateral?: string };
	const isWhole = kind === "quote" && id.startsWith("tdx") && expect.status === "valid" && at !== undefined;
	if (!isWhole || collateral === undefined || seen.has(collateral)) continue;
	seen.add(collateral);
	for (const hardfork of ["Osaka", "Prague"] as const) {
		const stage = await openStage(INTEL_ROOT, hardfork, START_S);
		await stage.setTime(Date.parse(at) / 1000);
		const parts = collateralParts(sample(collateral));
		const gas: (readonly [string, number])[] = [];
		const story = storyOf(stage, quoteParts(sample(quote)), parts).slice(0, NAMES.length);
		for (const [i, data] of story.entries()) {
			const { gasUsed } = await sendCall(stage.client, payer, { to: stage.contracts.addresses.attestations, data });
			gas.push([NAMES[i]!, Number(gasUsed)]);
		}
		console.log(JSON.stringify({ hardfork, collateral, tcbInfoBytes: parts.tcbInfo.body.length / 2 - 1, gas }));
	}
}
