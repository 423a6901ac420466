// Reports of devices and a guest's quote of one round: swapped, cut, replayed and relayed rounds each have
// their code, and the level is hosted only with a guest that is allowed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { setOf } from "../../protocol/attest/binding.ts";
import { bytesToHex, concatBytes } from "../../protocol/bytes/bytes.ts";
import type { Finding } from "../../protocol/probe/verdict.ts";
import { ruleOfMeasurement } from "./guest-rules.ts";
import { mintSnp, snpPlan } from "./mint/mint-amd.test-kit.ts";
import { collateralPlan, mintCollateral, mintQuote, quotePlan } from "./mint/mint-intel.test-kit.ts";
import { gpuPlan, manifestPlan, mintDevice, mintManifest, NONCE } from "./mint/mint-nvidia.test-kit.ts";
import { mintedSettings } from "./mint/minted-rounds.test-kit.ts";
import type { AttestationSettings } from "./settings.ts";
import { verifyFiles } from "./verify-files.ts";
import { joinGuest } from "./verify-hosted.ts";
import { rememberSignatures } from "./x509/signature.ts";

const settings = mintedSettings("2025-06-20T12:00:00Z", rememberSignatures(nodeSignatures));
const card = (change = {}) => mintDevice({ ...gpuPlan(), ...change });
const [first, second] = [card(), card({ card: "card 1", pdi: "1112131415161718" })];
const manifests = (["driver", "vbios"] as const).map((part) => mintManifest(manifestPlan(part)));
const collateral = mintCollateral(collateralPlan());
const ask = { require: null, nonce: NONCE };

const bound = (devices: readonly (typeof first)[]) => concatBytes(NONCE, setOf(devices));
const tdx = (reportData: Uint8Array, change = {}) => mintQuote({ ...quotePlan(), reportData, ...change });
const flat = (devices: readonly (typeof first)[]) => [
	...devices.map((one) => one.report),
	...devices.map((one) => one.chain),
];
const judge = (devices: readonly (typeof first)[], quote: Uint8Array, within: AttestationSettings = settings) =>
	verifyFiles([...flat(devices), quote, collateral], ask, within);

test("a quote that names the reports joins them; nothing is relayable if its guest is allowed", () => {
	const together = [...flat([first]), ...manifests, tdx(bound([first])), collateral];
	assert.ok(
		verifyFiles(together, ask, settings).findings.some(({ code }) => code === "RELAYABLE"),
		"by any guest",
	);
	const guests = [ruleOfMeasurement(bytesToHex(quotePlan().mrTd))];
	const one = verifyFiles(together, ask, { ...settings, policy: { ...settings.policy, guests } });
	assert.equal(one.status, "valid", one.detail);
	assert.equal(one.subject, "hosted devices");
	const codes = one.findings.map(({ code }) => code);
	assert.ok(codes.includes("SIMULATED_ROOTS") && !codes.includes("RELAYABLE"), codes.join(", "));
	assert.equal(one.level, "none", "under roots of our own");
	assert.equal(judge([first, second], tdx(bound([first, second]))).status, "valid");
	const snp = mintSnp({ ...snpPlan("Turin"), reportData: bound([first]) });
	const files = [first.report, first.chain, snp.report, snp.leaf, snp.chain];
	assert.equal(verifyFiles(files, ask, settings).status, "valid");
	const other = mintSnp({ ...snpPlan("Turin"), reportData: bound([second]) });
	assert.equal(verifyFiles(files.with(2, other.report), ask, settings).code, "BINDING_WRONG");
});

test("swapped, cut, widened, reordered, replayed and unbound rounds", () => {
	const quote = tdx(bound([first, second]));
	assert.equal(judge([first], quote).code, "BINDING_WRONG", "cut");
	assert.equal(judge([second, first], quote).code, "BINDING_WRONG", "another order");
	assert.equal(judge([first, second], tdx(bound([first]))).code, "BINDING_WRONG", "widened");
	const third = card({ card: "card 2", pdi: "2122232425262728" });
	assert.equal(judge([first, third], quote).code, "BINDING_WRONG", "swapped");
	assert.equal(judge([first, first], tdx(bound([first, first]))).code, "DEVICE_REPEATED");
	const old = card({ nonce: new Uint8Array(32).fill(9) });
	assert.equal(judge([old], tdx(bound([old]))).code, "NONCE_WRONG", "a report of another round");
	const stale = concatBytes(new Uint8Array(32).fill(9), setOf([first]));
	assert.equal(judge([first], tdx(stale)).code, "NONCE_WRONG", "a quote of another round");
	assert.equal(judge([first], tdx(bound([first]), { attributes: "0100001000000000" })).code, "GUEST_DEBUG");
});

test("hosted needs measured devices and a guest that is allowed", () => {
	const mrTd = bytesToHex(quotePlan().mrTd);
	const allowing = (measurements: readonly string[]) => ({
		...settings,
		policy: { ...settings.policy, guests: measurements.map(ruleOfMeasurement) },
	});
	assert.equal(judge([first], tdx(bound([first])), allowing(["00".repeat(48)])).code, "GUEST_OTHER");
	assert.equal(judge([first], tdx(bound([first])), allowing([mrTd])).status, "valid");
	// Levels without the mark of our own roots, which takes them all away.
	const plain = {
		status: "valid",
		code: null,
		where: "",
		detail: "",
		facts: { nonce: bytesToHex(NONCE) },
		findings: [],
	} as const;
	const level = (
		reports: "genuine" | "measured",
		within: AttestationSettings,
		facts = {},
		findings: Finding[] = [],
	) => {
		const guest = { ...plain, level: "measured", facts: { tee: "tdx", tcb: "UpToDate", ...facts }, findings } as const;
		return joinGuest([first], { ...plain, level: reports }, () => guest, within).level;
	};
	const strict = allowing([mrTd]);
	assert.equal(level("measured", strict, { tcb: undefined }), "measured", "its TCB is not known");
	assert.equal(level("measured", strict, { tee: "sgx" }), "measured", "an enclave has no devices");
	assert.equal(level("measured", strict, {}, [{ code: "SIMULATED_ROOTS", detail: "" }]), "none");
	assert.equal(level("measured", allowing([mrTd])), "hosted");
	assert.equal(level("genuine", allowing([mrTd])), "genuine");
	assert.equal(level("measured", settings), "measured", "any guest may relay");
	const doubt = { ...plain, status: "inconclusive", code: "COLLATERAL_MISSING", level: "none" } as const;
	assert.equal(
		joinGuest([first], { ...plain, level: "measured" }, () => doubt, allowing([mrTd])).status,
		"inconclusive",
	);
	const both = joinGuest([first], doubt, () => ({ ...doubt, status: "invalid", code: "GUEST_DEBUG" }), settings);
	assert.equal(both.code, "GUEST_DEBUG", "what is false decides before what is missing");
});
