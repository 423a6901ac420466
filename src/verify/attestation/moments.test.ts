// To the millisecond: what holds until a moment holds at it and not after it, whatever it is of. And who
// mixes roots gains nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { collateralPlan, mintCollateral, mintQuote, quotePlan } from "./mint/mint-intel.test-kit.ts";
import { chainOf, gpuPlan, mintDevice, mintOcsp, NONCE, ocspPlan } from "./mint/mint-nvidia.test-kit.ts";
import { mintedSettings } from "./mint/minted-rounds.test-kit.ts";
import { verifyFiles } from "./verify-files.ts";
import { verifyRound } from "./verify-round.ts";
import { rememberSignatures } from "./x509/signature.ts";

const verify = rememberSignatures(nodeSignatures);
const codeAt = (files: readonly Uint8Array[], atMs: number) =>
	verifyFiles(files, { require: null, nonce: null }, { ...mintedSettings("2025-06-20T12:00:00Z", verify), atMs }).code;

test("certificates, texts, lists and answers hold to their last millisecond", () => {
	const ends = Date.parse("2025-06-21T00:00:00Z");
	const card = { ...gpuPlan(), leaf: { until: "20250621000000Z" } };
	const device = mintDevice(card);
	assert.deepEqual(
		[0, 1].map((ms) => codeAt([device.report, device.chain], ends + ms)),
		[null, "ATTEST_CHAIN"],
	);
	const quote = mintQuote(quotePlan());
	const list = { until: "20250621000000Z" };
	for (const change of [
		{ until: "2025-06-21T00:00:00Z" },
		{ rootCrl: list },
		{ pckCrl: list },
		{ signerUntil: list.until },
	]) {
		const collateral = mintCollateral({ ...collateralPlan(), ...change });
		const codes = [0, 1].map((ms) => codeAt([quote, collateral], ends + ms));
		assert.deepEqual(codes, [null, "COLLATERAL_STALE"], Object.keys(change)[0]);
	}
	// An answer holds for 24 hours, whatever it says itself.
	const plain = mintDevice(gpuPlan());
	const chain = chainOf(gpuPlan());
	const answer = mintOcsp(ocspPlan(chain[1]!, chain[2]!));
	const first = [...Array(96).keys()].map((h) => Date.parse("2025-06-18T00:00:00Z") + h * 3_600_000);
	const held = first.filter((atMs) => codeAt([plain.report, plain.chain, answer], atMs) === null);
	const last = held.at(-1)!;
	assert.ok(held.length > 0 && held.length <= 49, `${held.length} hours: a day before, for leads, and a day after`);
	assert.equal(codeAt([plain.report, plain.chain, answer], last + 3_600_000), "COLLATERAL_STALE");
});

test("a round under two kinds of roots is false, whichever part is which", () => {
	const device = mintDevice(gpuPlan());
	const quote = mintQuote(quotePlan());
	const question = { bind: NONCE, atMs: Date.parse("2025-06-20T12:00:00Z"), verify, guests: null };
	const simulated = verifyRound({ devices: [device], guest: null, collateral: [] }, question);
	assert.deepEqual([simulated.fault, simulated.isSimulated], [null, true]);
	// Another's root in place of the mint's.
	const foreign = mintDevice({ ...gpuPlan(), root: chainOf(gpuPlan())[3]! });
	const mixed = verifyRound({ devices: [foreign], guest: { quote, certificates: null }, collateral: [] }, question);
	assert.deepEqual([mixed.fault?.code, mixed.isSimulated, mixed.shown], ["ATTEST_CHAIN", false, "none"]);
});
