// The operator's list of allowed guests: which rounds are hosted by it, and which lists are refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { reportDataOf, setOf } from "../../protocol/attest/binding.ts";
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { type GuestRule, readGuestRules, ruleOfMeasurement } from "./guest-rules.ts";
import { keyOf } from "./mint/der-writer.test-kit.ts";
import { mintSnp, snpPlan } from "./mint/mint-amd.test-kit.ts";
import { collateralPlan, mintCollateral, mintQuote, quotePlan } from "./mint/mint-intel.test-kit.ts";
import { type GpuPlan, gpuPlan, manifestPlan, mintDevice, mintManifest, NONCE } from "./mint/mint-nvidia.test-kit.ts";
import { type RoundEvidence, verifyRound } from "./verify-round.ts";
import { rememberSignatures } from "./x509/signature.ts";

const verify = rememberSignatures(nodeSignatures);
const atMs = Date.parse("2025-06-20T12:00:00Z");
const devices = [mintDevice(gpuPlan())];
const reportData = reportDataOf(NONCE, setOf(devices));
const manifests = (["driver", "vbios"] as const).map((part) => {
	const { product, version } = manifestPlan(part);
	return { kind: "manifest" as const, id: `${product} ${version}`, bytes: mintManifest(manifestPlan(part)) };
});
const collateralOf = (tee: "tdx" | "sgx" = "tdx") => ({
	...{ kind: "Intel collateral" as const, id: "of the mint" },
	bytes: mintCollateral(collateralPlan(tee)),
});
const registers = [1, 2, 3, 4].map((n) => new Uint8Array(48).fill(n)) as ReturnType<typeof quotePlan>["rtmr"];
const plan = { ...quotePlan(), reportData, rtmr: registers };
const tdxRound: RoundEvidence = {
	...{ devices, guest: { quote: mintQuote(plan), certificates: null } },
	collateral: [...manifests, collateralOf()],
};
const snp = mintSnp({ ...snpPlan("Turin"), reportData });
const snpRound: RoundEvidence = {
	...{ devices, guest: { quote: snp.report, certificates: null } },
	collateral: [
		...manifests,
		...[snp.leaf, snp.chain].map((bytes) => ({ kind: "certificates" as const, id: "of the mint", bytes })),
	],
};

const mrtd = bytesToHex(plan.mrTd);
const rtmr = registers.map(bytesToHex);
const td = { name: "image 12", tee: "tdx", mrtd, rtmr };
const fileOf = (...guests: readonly unknown[]) => JSON.stringify({ version: 1, guests });
function rulesOf(...guests: readonly unknown[]): readonly GuestRule[] {
	const rules = readGuestRules(fileOf(...guests));
	assert.ok(typeof rules !== "string", String(rules));
	return rules;
}
/** What it shows; and the reasons that a list is about. */
function shown(round: RoundEvidence, guests: readonly GuestRule[] | null) {
	const { fault, shown: level, isSimulated, reasons } = verifyRound(round, { bind: NONCE, atMs, verify, guests });
	assert.deepEqual([fault, isSimulated], [null, true]);
	return [level, ...reasons.map(({ code }) => code).filter((code) => /GUEST|RELAY/.test(code))];
}

test("hosted: measured devices, named by a guest of the list, whole", () => {
	assert.deepEqual(shown(tdxRound, rulesOf(td)), ["hosted"]);
	assert.deepEqual(shown(tdxRound, rulesOf({ ...td, rtmr: [null, rtmr[1], rtmr[2], null] })), ["hosted"]);
	assert.deepEqual(shown(tdxRound, [ruleOfMeasurement(mrtd)]), ["hosted"]);
	const other = { ...td, name: "another", mrtd: "00".repeat(48) };
	assert.deepEqual(shown(tdxRound, rulesOf(other, td)), ["hosted"], "any of them");
	const measurement = bytesToHex(snpPlan("Turin").measurement);
	assert.deepEqual(shown(snpRound, rulesOf({ name: "image 12", tee: "snp", measurement })), ["hosted"]);
});

test("another guest is no fault: it is told, relayable, and not hosted", () => {
	const not = ["measured", "RELAYABLE", "GUEST_OTHER"];
	assert.deepEqual(shown(tdxRound, null), ["measured", "RELAYABLE"], "no list, no word on the guest");
	assert.deepEqual(shown(tdxRound, rulesOf({ ...td, mrtd: "00".repeat(48) })), not);
	for (const i of [0, 1, 2, 3])
		assert.deepEqual(shown(tdxRound, rulesOf({ ...td, rtmr: rtmr.with(i, "00".repeat(48)) })), not, `register ${i}`);
	// The same digest of another vendor's guest is another guest.
	assert.deepEqual(shown(tdxRound, rulesOf({ name: "snp", tee: "snp", measurement: mrtd })), not);
	assert.deepEqual(shown(snpRound, rulesOf(td)), not);
});

test("an allowed guest does not make up for what its devices or its platform do not show", () => {
	const rules = rulesOf(td);
	assert.deepEqual(shown({ ...tdxRound, collateral: [collateralOf()] }, rules), ["genuine"], "no manifests");
	assert.deepEqual(shown({ ...tdxRound, collateral: manifests }, rules), ["measured", "RELAYABLE"], "no TCB info");
	const enclave = mintQuote({ ...quotePlan("sgx"), reportData });
	const sgxRound = {
		...tdxRound,
		guest: { quote: enclave, certificates: null },
		collateral: [...manifests, collateralOf("sgx")],
	};
	const mrEnclave = bytesToHex(sha256Of(utf8ToBytes("guest")));
	assert.deepEqual(shown(sgxRound, [ruleOfMeasurement(mrEnclave)]), ["measured", "RELAYABLE"], "an enclave");
	assert.deepEqual(shown({ ...tdxRound, guest: null }, rules), ["measured", "RELAYABLE"], "no guest at all");
	const by = (round: RoundEvidence) => verifyRound(round, { bind: NONCE, atMs, verify, guests: rules });
	const guestOf = (quote: Uint8Array) => by({ ...tdxRound, guest: { quote, certificates: null } });
	// What it says against itself is no lie: the guest does not count, and the cards do.
	for (const [code, change] of [
		["GUEST_DEBUG", { attributes: "0100001000000000" }],
		["GUEST_POLICY", { attributes: "0000000000000000" }],
		["TCB_REFUSED", { components: plan.components.with(3, 6) }],
		["TCB_UNKNOWN", { components: plan.components.with(3, 1) }],
	] as const) {
		const { fault, shown: level, guest, reasons } = guestOf(mintQuote({ ...plan, ...change }));
		const told = reasons.map((one) => one.code).filter((one) => one === code || one === "RELAYABLE");
		assert.deepEqual([fault, level, guest, told], [null, "measured", null, ["RELAYABLE", code]]);
	}
	// False things stay false, whoever says them.
	const debugged = { ...plan, attributes: "0100001000000000" };
	const forged = mintQuote({ ...debugged, quoteSigner: keyOf("another", "p256") });
	assert.equal(guestOf(forged).fault?.code, "ATTEST_SIGNATURE");
	assert.equal(guestOf(mintQuote({ ...debugged, reportData: new Uint8Array(64) })).fault?.code, "NONCE_WRONG");
});

test("firmware that is not the manifests' is told, and shows no level; a false report stays a fault", () => {
	const by = (change: Partial<GpuPlan>) => {
		const round = { devices: [mintDevice({ ...gpuPlan(), ...change })], guest: null, collateral: manifests };
		const {
			fault,
			shown: level,
			devices: found,
			reasons,
		} = verifyRound(round, { bind: NONCE, atMs, verify, guests: null });
		return [
			fault?.code,
			level,
			found.map((one) => one.level),
			reasons.some(({ code }) => code === "MEASUREMENT_WRONG"),
		];
	};
	const blocks = gpuPlan().blocks.with(9, new Uint8Array(48));
	assert.deepEqual(by({}), [undefined, "measured", ["measured"], false]);
	assert.deepEqual(by({ blocks }), [undefined, "none", ["none"], true]);
	assert.deepEqual(by({ blocks, signer: keyOf("another") }), ["ATTEST_SIGNATURE", "none", [], false]);
	assert.deepEqual(by({ blocks, nonce: new Uint8Array(32) }), ["NONCE_WRONG", "none", [], false]);
});

test("a list that cannot be used says what is wrong with it", () => {
	const refusal = (text: string) => {
		const rules = readGuestRules(text);
		assert.ok(typeof rules === "string", "it was taken");
		return rules;
	};
	assert.match(refusal("{"), /not JSON/);
	for (const text of ["null", "[]", "{}", '{"version":2,"guests":[]}', '{"version":1,"guests":{}}'])
		assert.match(refusal(text), /^it is not \{"version": 1/);
	assert.match(refusal(JSON.stringify({ version: 1, guests: [td], more: 1 })), /^it is not/);
	assert.match(refusal(fileOf()), /names no guest/);
	assert.match(refusal(fileOf(...Array(1025).fill(td))), /more than 1024/);
	const { rtmr: _, ...bare } = td;
	const azure = {
		name: "a",
		tee: "azure-snp",
		measurement: mrtd,
		pcrs: Array<string | null>(24).fill("00".repeat(32)),
	};
	assert.equal(rulesOf({ ...azure, pcrs: azure.pcrs.with(23, null) })[0]?.registers?.length, 24);
	for (const [wrong, why] of [
		[null, /guests\[0\]: it is not an object/],
		[[td], /not an object/],
		[{ ...td, name: "" }, /name must be/],
		[{ ...td, name: 7 }, /name must be/],
		[{ ...td, name: "x".repeat(101) }, /name must be/],
		[{ ...td, tee: "sgx" }, /tee must be tdx, snp or azure-snp/],
		[{ ...td, mrtd: mrtd.toUpperCase() }, /mrtd must be 48 bytes/],
		[{ ...td, mrtd: mrtd.slice(2) }, /mrtd must be 48 bytes/],
		[bare, /rtmr must be the four registers/],
		[{ ...td, rtmr: rtmr.slice(1) }, /rtmr must be the four registers/],
		[{ ...td, rtmr: rtmr.with(3, "") }, /rtmr must be the four registers/],
		[{ ...td, measurement: mrtd }, /measurement is an SNP guest's/],
		[{ ...td, rtmr3: null }, /'rtmr3' is not known/],
		[{ name: "a", tee: "snp", measurement: "00" }, /measurement must be 48 bytes/],
		[{ name: "a", tee: "snp", measurement: mrtd, rtmr }, /mrtd and rtmr are a TD's/],
		[{ name: "a", tee: "snp", measurement: mrtd, mrtd }, /mrtd and rtmr are a TD's/],
		[{ ...azure, pcrs: undefined }, /pcrs must be the 24 registers/],
		[{ ...azure, pcrs: azure.pcrs.slice(1) }, /pcrs must be the 24 registers/],
		[{ ...azure, pcrs: azure.pcrs.with(4, mrtd) }, /pcrs must be the 24 registers/],
		[{ ...azure, measurement: "00" }, /measurement must be 48 bytes/],
		[{ ...azure, rtmr }, /mrtd and rtmr are a TD's/],
		[{ ...azure, tee: "snp" }, /pcrs are those of an azure-snp guest/],
		[{ ...td, pcrs: azure.pcrs }, /pcrs are those of an azure-snp guest/],
	] as const)
		assert.match(refusal(fileOf(wrong)), why, JSON.stringify(wrong));
});
