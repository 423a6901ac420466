// Handfuls of files as people have them: several cards with their manifests and answers, dstack's JSON with a
// question, certificates one by one and in any order, reports as text, lists as NVIDIA's tools write them,
// and evidence of simulated hosts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { setOf } from "../../protocol/attest/binding.ts";
import { bytesToHex, bytesToUtf8, concatBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { createSigner } from "../../protocol/probe/signer.ts";
import { encodeBundle } from "./collateral/bundle.ts";
import { readItem } from "./collateral/read-item.ts";
import { ruleOfMeasurement } from "./guest-rules.ts";
import { pem } from "./mint/der-writer.test-kit.ts";
import { arkOf, askOf, azurePlan, mintAzure, mintSnp, snpLeaf, snpPlan } from "./mint/mint-amd.test-kit.ts";
import {
	collateralPlan,
	mintCcel,
	mintCollateral,
	mintQuote,
	quotePlan,
	REPORT_DATA,
} from "./mint/mint-intel.test-kit.ts";
import {
	chainOf,
	type GpuPlan,
	gpuPlan,
	manifestPlan,
	mintDevice,
	mintManifest,
	mintOcsp,
	NONCE,
	ocspPlan,
	switchPlan,
} from "./mint/mint-nvidia.test-kit.ts";
import { mintedSettings } from "./mint/minted-rounds.test-kit.ts";
import { MINT_ROOTS, VENDOR_ROOTS } from "./settings.ts";
import { showFile } from "./show-file.ts";
import { type FilesQuestion, verifyFiles } from "./verify-files.ts";
import { rememberSignatures } from "./x509/signature.ts";

const settings = mintedSettings("2025-06-20T12:00:00Z", rememberSignatures(nodeSignatures));
const judge = (files: readonly Uint8Array[], question: Partial<FilesQuestion> = {}, within = settings) =>
	verifyFiles(files, { require: null, nonce: null, ...question }, within);

const plans: GpuPlan[] = [gpuPlan(), { ...gpuPlan(), card: "card 1", pdi: "1112131415161718" }];
const cards = plans.map(mintDevice);
const flat = (devices: readonly (typeof cards)[number][]) => [
	...devices.map((one) => one.report),
	...devices.map((one) => one.chain),
];
const manifests = (["driver", "vbios"] as const).map((part) => mintManifest(manifestPlan(part)));
const answersOf = (plan: GpuPlan, change = {}) => {
	const chain = chainOf(plan);
	return [1, 2, 3].map((i) => mintOcsp({ ...ocspPlan(chain[i]!, chain[i + 1]!), ...(i === 1 ? change : {}) }));
};

test("cards of a round are judged by the manifests and answers beside them, each card by its own", () => {
	const answers = plans.flatMap((plan) => answersOf(plan));
	const whole = judge([...flat(cards), ...manifests, ...answers], { nonce: NONCE });
	assert.equal(whole.status, "valid", `${whole.where}: ${whole.detail}`);
	assert.deepEqual(whole.facts.measurements, [7, 7]);
	assert.ok(!whole.findings.some(({ code }) => code === "REVOCATION_UNASKED"));
	// ATTACK: of several cards a revoked one used to pass, whatever answers were brought.
	const revoked = [...answersOf(plans[0]!), ...answersOf(plans[1]!, { state: "revoked" })];
	const bad = judge([...flat(cards), ...revoked]);
	assert.equal(bad.code, "CERTIFICATE_REVOKED", bad.where);
	assert.equal(judge(flat(cards), { require: "measured" }).code, "COLLATERAL_MISSING");
	// With a guest that is allowed it is hosted: under these roots none, but nothing may be relayed.
	const quote = mintQuote({ ...quotePlan(), reportData: concatBytes(NONCE, setOf(cards)) });
	const guests = [ruleOfMeasurement(bytesToHex(quotePlan().mrTd))];
	const within = { ...settings, policy: { ...settings.policy, guests } };
	const hosted = judge([...flat(cards), ...manifests, quote, mintCollateral(collateralPlan())], {}, within);
	assert.equal(hosted.status, "valid", hosted.detail);
	assert.ok(!hosted.findings.some(({ code }) => code === "RELAYABLE"));
});

test("a switch without its manifest does not stand in the way of cards that have theirs", () => {
	const pdis = { card: "0a0b0c0d0e0f1011", switch: "0b0b0c0d0e0f1011" };
	const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"));
	const card = { ...gpuPlan(), pdi: pdis.card };
	card.opaque.set(36, Uint8Array.of(2, 0)).set(22, bytes(pdis.switch).reverse());
	const link = { ...switchPlan(), pdi: pdis.switch };
	link.opaque.set(22, bytes(pdis.switch)).set(26, bytes(pdis.card));
	const both = flat([mintDevice(card), mintDevice(link)]);
	assert.deepEqual(judge([...both, ...manifests]).facts.measurements, [7, null]);
	const bios = mintManifest(manifestPlan("bios"));
	assert.ok((judge([...both, ...manifests, bios]).facts.measurements as number[])[1]! > 0);
});

test("the bundle serves every card of a round, and a forged manifest in it keeps no true one out", () => {
	const forged = mintManifest({ ...manifestPlan("driver"), editXml: (xml) => xml.replace("active", "Active") });
	const files = [forged, ...manifests];
	const times = { fetchedAtS: 1, source: "", validFromS: 0, validUntilS: 4_000_000_000 };
	const good = readItem(manifests[0]!, [], settings).item!;
	const items = files.map((file) => ({ ...(readItem(file, [], settings).item ?? good), ...times, bytes: file }));
	const bundle = encodeBundle(items, 1, createSigner(new Uint8Array(32).fill(5)));
	assert.deepEqual(judge([...flat(cards), bundle]).facts.measurements, [7, 7]);
	assert.equal(judge([...flat(cards.slice(0, 1)), bundle]).facts.measurements, 7);
});

const { rtmr } = mintCcel([]);
const dstack = (change = {}, log = "[]") => {
	const quote = bytesToHex(mintQuote({ ...quotePlan(), rtmr, ...change }));
	return utf8ToBytes(JSON.stringify({ quote, event_log: log }));
};

test("dstack's JSON is asked what any quote is asked: report data, guest, debug, TCB", () => {
	assert.equal(judge([dstack()], { nonce: REPORT_DATA }).status, "valid");
	// ATTACK: an old one passed for any question, and a guest that its host reads.
	assert.equal(judge([dstack()], { nonce: new Uint8Array(64) }).code, "NONCE_WRONG");
	assert.equal(judge([dstack({ attributes: "0100001000000000" })]).code, "GUEST_DEBUG");
	const others = { ...settings, policy: { ...settings.policy, guests: [ruleOfMeasurement("00".repeat(48))] } };
	assert.equal(judge([dstack()], {}, others).code, "GUEST_OTHER");
	assert.equal(judge([dstack(), mintCollateral(collateralPlan())]).facts.tcb, "UpToDate");
	const old = { ...collateralPlan(), levels: collateralPlan().levels.slice(1) };
	assert.equal(judge([dstack(), mintCollateral(old)]).code, "TCB_REFUSED");
	assert.equal(judge([dstack({}, `[{"imr":0,"event_type":1,"digest":"${"00".repeat(48)}"}]`)]).code, "EVENTS_WRONG");
	assert.equal(judge([utf8ToBytes('{"quote":"x","event_log":"[]"}')]).code, "ATTEST_FORM");
});

test("certificates of a chip may come one by one, in any order, or all in one file", () => {
	const plan = snpPlan("Milan");
	const { report, leaf, chain } = mintSnp(plan);
	const plain = judge([report, leaf, chain]);
	assert.equal(plain.status, "valid", plain.detail);
	const [vcek, ask, ark] = [snpLeaf(plan), askOf("Milan"), arkOf("Milan")];
	const single = [vcek, ask, ark].map((one) => utf8ToBytes(pem(one)));
	for (const order of [
		[0, 1, 2],
		[2, 1, 0],
		[1, 0, 2],
		[0, 2, 1],
	])
		assert.deepEqual(judge([report, ...order.map((i) => single[i]!)]), plain, order.join(" "));
	assert.deepEqual(judge([report, utf8ToBytes(pem(vcek, ask, ark))]), plain);
	assert.deepEqual(judge([vcek.der, report, ark.der, ask.der]), plain);
	assert.equal(judge([report, single[0]!, single[1]!]).status, "invalid");
	const azure = mintAzure(azurePlan());
	const product = azurePlan().snp.product;
	const authorities = [arkOf(product), askOf(product)].map((one) => utf8ToBytes(pem(one)));
	assert.deepEqual(judge([azure.evidence, ...authorities]), judge([azure.evidence, azure.chain]));
});

test("reports and quotes as text, in hex or base64, are what their bytes are", () => {
	const quote = mintQuote(quotePlan());
	const hex = bytesToHex(quote);
	const plain = judge([quote]);
	assert.equal(plain.status, "valid");
	const base64 = Buffer.from(quote).toString("base64");
	for (const text of [
		hex,
		`0x${hex.toUpperCase()}\n`,
		hex.replace(/.{64}/g, "$&\n"),
		base64,
		`${base64.slice(0, 80)}\n${base64.slice(80)}`,
	]) {
		assert.deepEqual(judge([utf8ToBytes(text)]), plain, text.slice(0, 8));
		assert.equal(showFile(utf8ToBytes(text)).kind, "quote");
	}
	assert.equal(judge([utf8ToBytes("ab".repeat(99))]).code, "ATTEST_FILES");
});

test("lists of devices as NVIDIA's tools write them", () => {
	const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");
	const row = ({ report, chain }: (typeof cards)[number]) => ({ evidence: base64(report), certificate: base64(chain) });
	const rows = cards.map(row);
	const asked = (value: unknown) => judge([utf8ToBytes(JSON.stringify(value))], { nonce: NONCE });
	const plain = asked(rows.map((one) => ({ ...one, arch: "HOPPER" })));
	assert.equal(plain.status, "valid");
	assert.deepEqual(asked({ evidences: rows, result_code: 0 }), plain);
	assert.deepEqual(asked({ nonce: bytesToHex(NONCE), evidence_list: rows, arch: "HOPPER" }), plain);
	assert.equal(asked({ evidence_list: [row(mintDevice(switchPlan()))], arch: "LS10" }).status, "valid");
	assert.equal(asked({ evidence: [] }).code, "ATTEST_FILES");
});

test("evidence of a simulated host is told from false evidence, and counts for as little", () => {
	const vendors = { ...settings, roots: VENDOR_ROOTS };
	const codes = (one: ReturnType<typeof judge>) => one.findings.map(({ code }) => code);
	for (const files of [flat(cards.slice(0, 1)), flat(cards), [mintQuote(quotePlan())]]) {
		const told = judge(files, {}, vendors);
		assert.deepEqual(
			[told.status, told.code, told.level, codes(told)],
			["invalid", "ATTEST_CHAIN", "none", ["SIMULATED_ROOTS"]],
		);
		assert.deepEqual(told.facts, {});
	}
	const text = bytesToUtf8(cards[0]!.chain)!;
	const cut = utf8ToBytes(text.slice(text.indexOf("-----BEGIN", 10)));
	assert.deepEqual(codes(judge([cards[0]!.report, cut], {}, vendors)), []);
	assert.ok(!MINT_ROOTS.intel.some((one) => VENDOR_ROOTS.intel.includes(one)));
});
