// Bundles of vendors' files: what gets in, what replaces what, and that evidence judged by a bundle gets the
// verdict that it gets by the files themselves.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { collateralPaths, updateBundle } from "../../src/cli/attest-collateral.ts";
import type { CliIo } from "../../src/cli/command.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import type { AssayError } from "../../src/protocol/assay-error.ts";
import { createSigner } from "../../src/protocol/probe/signer.ts";
import { type CollateralItem, decodeBundle, encodeBundle } from "../../src/verify/attestation/collateral/bundle.ts";
import { mergeItem } from "../../src/verify/attestation/collateral/merge-items.ts";
import { isCollateral, issuersIn, readItem } from "../../src/verify/attestation/collateral/read-item.ts";
import { verifyQuote } from "../../src/verify/attestation/intel/verify-quote.ts";
import { mintCrl, pem } from "../../src/verify/attestation/mint/der-writer.test-kit.ts";
import { arkOf } from "../../src/verify/attestation/mint/mint-amd.test-kit.ts";
import {
	collateralPlan,
	intelRoot,
	mintCollateral,
	mintQuote,
	PCK_SERIAL,
	processorCa,
	quotePlan,
} from "../../src/verify/attestation/mint/mint-intel.test-kit.ts";
import { chainOf, gpuPlan, mintOcsp, ocspPlan } from "../../src/verify/attestation/mint/mint-nvidia.test-kit.ts";
import { mintedRounds, mintedSettings } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import { verifyFiles } from "../../src/verify/attestation/verify-files.ts";
import { rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { SAMPLES, samplesMissing } from "./real-cases.test-kit.ts";

const verify = rememberSignatures(nodeSignatures);
const settings = mintedSettings("2025-06-20T12:00:00Z", verify);
const signer = createSigner(new Uint8Array(32).fill(7));
const ask = { require: null, nonce: null };
const scratch = mkdtempSync(join(tmpdir(), "assay-collateral-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

function itemsOf(files: readonly Uint8Array[]): readonly CollateralItem[] {
	let items: readonly CollateralItem[] = [];
	const issuers = issuersIn(files, settings);
	for (const bytes of files.filter(isCollateral)) {
		const { item, verdict } = readItem(bytes, issuers, settings);
		assert.ok(item, `${verdict.code}: ${verdict.detail}`);
		({ items } = mergeItem(items, { ...item, fetchedAtS: 1, source: "test", bytes }));
	}
	return items;
}

test("evidence judged by a bundle gets the verdict of the files themselves", () => {
	const rounds = mintedRounds(verify);
	const everything = [...rounds.flatMap(({ files }) => files), mintCrl({ issuer: arkOf("Turin") })];
	const items = itemsOf(everything);
	const kinds = new Set(items.map(({ kind }) => kind));
	assert.equal(kinds.size, 5, [...kinds].join(", "));
	const bundle = encodeBundle(items, 2, signer);
	for (const { name, files } of rounds.filter((one) => one.name !== "azure")) {
		const bare = name === "snp" ? files.slice(0, 2) : files.filter((file) => !isCollateral(file));
		assert.ok(bare.length < files.length, name);
		const whole = name === "snp" ? [...files, everything.at(-1)!] : files;
		assert.deepEqual(verifyFiles([...bare, bundle], ask, settings), verifyFiles(whole, ask, settings), name);
		// Years later nothing in it holds: it is as if it were not there.
		const later = { ...settings, atMs: Date.parse("2030-01-01T00:00:00Z") };
		if (name !== "snp")
			assert.deepEqual(verifyFiles([...bare, bundle], ask, later), verifyFiles(bare, ask, later), `${name}, later`);
	}
});

test("a bundle is its maker's, byte by byte", () => {
	const [gpu] = mintedRounds(verify);
	const bundle = encodeBundle(itemsOf(gpu!.files), 2, signer);
	assert.ok(decodeBundle(bundle).ok);
	for (let at = 0; at < bundle.length; at += 211)
		assert.equal(decodeBundle(bundle.with(at, bundle[at]! ^ 1)).ok, false, `byte ${at}`);
	assert.equal(decodeBundle(Uint8Array.from([...bundle, 0])).ok, false);
	const weak = encodeBundle([], 2, { key: `01${"00".repeat(31)}`, sign: () => new Uint8Array(64) });
	assert.equal(decodeBundle(weak).ok, false, "a key that is everybody's");
});

test("a bundle that names one file a thousand times costs no more", () => {
	const [gpu] = mintedRounds(verify);
	const items = itemsOf(gpu!.files);
	const stuffed = encodeBundle(Array.from({ length: 200 }, () => items).flat(), 2, signer);
	const read: string[] = [];
	const counting = {
		...settings,
		verify: (...args: Parameters<typeof verify>) => !!read.push(args[0]) && verify(...args),
	};
	const verdict = verifyFiles([...gpu!.files.slice(0, 2), stuffed], ask, counting);
	assert.equal(verdict.status, "valid", verdict.detail);
	assert.ok(read.length < 400, `${read.length} signatures`);
});

test("nothing is replaced by what is older, and a higher evaluation wins over a later date", () => {
	const of = (from: string, evaluation = 17) => {
		const list = { from: `${from.replaceAll("-", "")}000000Z` };
		const plan = { ...collateralPlan(), from: `${from}T00:00:00Z`, evaluation, rootCrl: list, pckCrl: list };
		return itemsOf([mintCollateral(plan)])[0]!;
	};
	const [early, late] = [of("2025-06-01"), of("2025-06-10")];
	assert.deepEqual([early.rank, early.id], [17, "tdx 00906ed50000"]);
	assert.equal(mergeItem([late], early).change, "older");
	assert.equal(mergeItem([late], late).change, "same");
	const renewed = mergeItem([{ ...early, fetchedAtS: 9 }], late);
	assert.deepEqual([renewed.change, renewed.items.length, renewed.items[0]!.fetchedAtS], ["renewed", 1, 9]);
	assert.deepEqual(renewed.items[0]!.bytes, late.bytes);
	// Texts by their evaluation; the lists beside them by their time.
	const higher = mergeItem([late], of("2025-06-01", 18));
	assert.deepEqual(
		[higher.change, higher.items[0]!.rank, higher.items[0]!.validFromS],
		["renewed", 18, early.validFromS],
	);
	assert.equal(mergeItem(higher.items, of("2025-06-12", 17)).items[0]!.rank, 18);
});

test("beside a newer TCB info no older list of revoked certificates gets in", () => {
	const plan = collateralPlan();
	const days = (day: string) => ({ from: `202506${day}000000Z`, until: "20250701000000Z" });
	const known = mintCollateral({ ...plan, pckCrl: { ...days("10"), revoked: [PCK_SERIAL] } });
	const quote = mintQuote(quotePlan());
	const judge = (file: Uint8Array) => verifyQuote(quote, { ask: "tcb", reportData: null, collateral: file }, settings);
	assert.equal(judge(known).code, "CERTIFICATE_REVOKED");
	// ATTACK: all of it signed, and of a day on which nothing was revoked yet.
	const mixed = mintCollateral({ ...plan, from: "2025-06-12T00:00:00Z", pckCrl: days("02") });
	assert.equal(judge(mixed).status, "valid");
	const { items, change } = mergeItem(itemsOf([known]), itemsOf([mixed])[0]!);
	assert.equal(change, "renewed");
	assert.equal(judge(items[0]!.bytes).code, "CERTIFICATE_REVOKED");
	const { item } = readItem(items[0]!.bytes, [], settings);
	const { bytes: _, fetchedAtS: __, source: ___, ...entry } = items[0]!;
	assert.deepEqual(entry, item, "it is what its bytes say");
	assert.equal(mergeItem(items, itemsOf([mixed])[0]!).change, "older");
});

test("platforms of one FMSPC under Intel's two authorities have collateral of their own", () => {
	const issuer = { name: processorCa.name, key: processorCa.key };
	const mine = mintQuote({ ...quotePlan(), pck: { issuer }, editChain: ([pck, , root]) => [pck!, processorCa, root!] });
	const processor = mintCollateral({
		...collateralPlan(),
		pckCrl: { issuer: processorCa },
		edit: (fields) => ({ ...fields, pck_crl_issuer_chain: pem(processorCa, intelRoot) }),
	});
	const items = itemsOf([mintCollateral(collateralPlan()), processor]);
	assert.deepEqual(
		items.map(({ id }) => id),
		["tdx 00906ed50000", "tdx 00906ed50000 processor"],
	);
	const bundle = encodeBundle(items, 2, signer);
	for (const quote of [mine, mintQuote(quotePlan())]) {
		const verdict = verifyFiles([quote, bundle], ask, settings);
		assert.deepEqual([verdict.status, verdict.facts.tcb], ["valid", "UpToDate"], verdict.detail);
	}
	assert.equal(verifyFiles([mine, mintCollateral(collateralPlan())], ask, settings).code, "COLLATERAL_OTHER");
});

test("the index of somebody else's bundle freezes nothing, and what no vendor signed is left out", async () => {
	const [old, fresh] = ["2025-06-01T00:00:00Z", "2025-06-10T00:00:00Z"].map((from) =>
		mintCollateral({ ...collateralPlan(), from }),
	);
	const [entry] = itemsOf([old!]);
	const folder = join(scratch, "foreign");
	mkdirSync(folder);
	const forged = { ...itemsOf(mintedRounds(verify)[0]!.files)[0]!, bytes: new TextEncoder().encode("<a>forged</a>") };
	// ATTACK: it says that it is of a rank that none will reach, fetched in a hundred years.
	const index = { ...entry!, rank: 65_535, validFromS: 9_000_000_000, fetchedAtS: 9_000_000_000 };
	writeFileSync(join(folder, "collateral.assay"), encodeBundle([index, forged], 2, signer));
	const result = await updateBundle(folder, () => [{ path: "fresh", bytes: fresh! }], [], settings);
	assert.deepEqual([result.items, result.counts.renewed], [1, 1]);
	const made = decodeBundle(readFileSync(join(folder, "collateral.assay")));
	assert.ok(made.ok);
	const { rank, validFromS, fetchedAtS, bytes } = made.bundle.items[0]!;
	assert.deepEqual([rank, fetchedAtS], [17, settings.atMs / 1000]);
	assert.equal(validFromS, Date.parse("2025-06-10T00:00:00Z") / 1000);
	assert.ok(Buffer.from(bytes).toString().includes("2025-06-10"));
});

test("a release takes no bundle in which a mint's files lie", () => {
	const path = join(scratch, "minted.assay");
	writeFileSync(path, encodeBundle(itemsOf(mintedRounds(verify)[0]!.files.slice(2, 4)), 2, signer));
	const script = fileURLToPath(new URL("../../scripts/release.ts", import.meta.url));
	const run = spawnSync(process.execPath, [script, "--collateral", path, "--out", join(scratch, "release")]);
	assert.equal(run.status, 65, String(run.stderr));
	assert.match(String(run.stderr), /GH100 570\.10\.01.*RIM_WRONG/);
});

test("however many answers a bundle holds, the one that says revoked is among those that count", () => {
	const chain = chainOf(gpuPlan());
	const [gpu] = mintedRounds(verify);
	const at = { ...itemsOf(gpu!.files).find(({ kind }) => kind === "OCSP answer")!, id: "any" };
	const answer = (i: number, change = {}) => ({
		...at,
		bytes: mintOcsp({ ...ocspPlan(chain[i]!, chain[i + 1]!), ...change }),
	});
	// ATTACK: good answers before it, more than are taken; and it is long out of date.
	const items = [...new Array(40).fill(answer(1)), { ...answer(2, { state: "revoked" }), validUntilS: 1 }];
	const bundle = encodeBundle(items, 2, signer);
	assert.equal(verifyFiles([...gpu!.files.slice(0, 2), bundle], ask, settings).code, "CERTIFICATE_REVOKED");
});

test("what its vendor did not sign does not get in", () => {
	const files = mintedRounds(verify).flatMap((one) => one.files);
	const issuers = issuersIn(files, settings);
	for (const bytes of files.filter(isCollateral)) {
		const at = bytes.length - 200;
		const { item, verdict } = readItem(bytes.with(at, bytes[at]! ^ 1), issuers, settings);
		assert.equal(item, null);
		assert.equal(verdict.status, "invalid");
	}
	const answer = files.find((file) => file[0] === 0x30 && isCollateral(file))!;
	assert.equal(readItem(answer, [], settings).verdict.code, "COLLATERAL_OTHER");
});

const assay = (...args: string[]) => program("attest", ...args);
async function program(...args: string[]): Promise<{ code: number; out: string; err: string }> {
	const written = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ write: (words: string) => (written[name] += words), isTTY: false }) as unknown as NodeJS.WriteStream;
	const env = { NO_COLOR: "1", ASSAY_HOME: join(scratch, "home") };
	const io: CliIo = {
		out: stream("out"),
		err: stream("err"),
		env,
		cwd: scratch,
		interrupted: new AbortController().signal,
	};
	return { code: await runCommand(args, io), ...written };
}

test("assay attest update needs a folder, and passes over what is no vendor's file", async () => {
	assert.equal((await assay("update")).code, 64);
	assert.equal((await assay("update", "report.bin", "--from", "strange")).code, 64);
	assert.equal((await assay("update", "--from", join(scratch, "gone"))).code, 66);
	mkdirSync(join(scratch, "strange"));
	writeFileSync(join(scratch, "strange/words.txt"), "this is not a vendor's file");
	writeFileSync(join(scratch, "strange/forged.xml"), "<SoftwareIdentity/>");
	const run = await assay("update", "--from", "strange", "--json");
	assert.equal(run.code, 1, run.err);
	const { items, counts, refused } = JSON.parse(run.out);
	assert.deepEqual([items, counts["passed over"], counts.refused, refused[0].code], [0, 1, 1, "RIM_WRONG"]);
});

test("--collateral of a validator takes a bundle alone, before anything is started", async () => {
	const rounds = mintedRounds(verify);
	const bundle = join(scratch, "named.assay");
	writeFileSync(bundle, encodeBundle(itemsOf(rounds[0]!.files), 2, signer));
	const io = { cwd: scratch, env: {} };
	assert.deepEqual(collateralPaths("named.assay", io), [bundle]);
	const refused = (name: string, why: RegExp) =>
		assert.throws(
			() => collateralPaths(name, io),
			(error: AssayError) => {
				assert.equal(error.code, "FILE_UNREADABLE");
				assert.match(`${error.message} ${error.hint}`, why);
				return true;
			},
		);
	refused("gone.assay", /assay attest update/);
	writeFileSync(join(scratch, "manifest.xml"), "<SoftwareIdentity/>");
	refused("manifest.xml", /is no bundle.*assay attest update/);
	const changed = readFileSync(bundle);
	changed[changed.length - 1]! ^= 1;
	writeFileSync(join(scratch, "changed.assay"), changed);
	refused("changed.assay", /is no bundle/);
	for (const command of [["validate"], ["up", "--no-provider", "--no-chain"]]) {
		const run = await program(...command, "--collateral", "manifest.xml", "--data", join(scratch, "never"));
		assert.equal(run.code, 66, run.err);
		assert.match(run.err, /manifest\.xml is no bundle/);
	}
});

test("real files: brought once, then judged by; never backwards", { skip: samplesMissing }, async () => {
	const intel = join(SAMPLES, "intel/collateral");
	cpSync(join(SAMPLES, "nvidia/rim"), join(scratch, "new"), { recursive: true });
	cpSync(join(intel, "tdx-90c06f000000-2026-03.json"), join(scratch, "new/tcb.json"));
	const first = JSON.parse((await assay("update", "--from", "new", "--json")).out);
	assert.ok(first.counts.new > 5, JSON.stringify(first.counts));
	const path = join(scratch, "home/attest/collateral.assay");
	const before = readFileSync(path);
	cpSync(join(intel, "tdx-90c06f000000-2025-06.json"), join(scratch, "old/tcb.json"));
	const second = JSON.parse((await assay("update", "--from", "old", "--json")).out);
	assert.deepEqual([second.counts.older, second.counts.new + second.counts.renewed], [1, 0]);
	assert.deepEqual(readFileSync(path), before, "nothing changed, nothing is written");
	const gpu = ["report.bin", "chain.pem"].map((name) => join(SAMPLES, "nvidia/gpu/h100-550.90.07", name));
	const run = await assay("verify", ...gpu, "--at", "2025-08-21T12:00:00Z", "--json");
	assert.equal(run.code, 0, run.out);
	assert.deepEqual([JSON.parse(run.out).level, JSON.parse(run.out).facts.measurements], ["measured", 32]);
	// The same bundle in another hand: given by name. Without it nothing is measured.
	const elsewhere = join(scratch, "elsewhere.assay");
	renameSync(path, elsewhere);
	const judged = async (...more: string[]) => {
		const { code, out } = await assay("verify", ...gpu, "--at", "2025-08-21T12:00:00Z", "--json", ...more);
		return [code, JSON.parse(out).level];
	};
	assert.deepEqual(await judged(), [0, "genuine"]);
	assert.deepEqual(await judged("--collateral", elsewhere), [0, "measured"]);
	const manifests = readdirSync(join(scratch, "new")).filter((name) => /GH100_550\.90\.07|96009F0001/.test(name));
	const named = manifests.flatMap((name) => ["--collateral", join(scratch, "new", name)]);
	assert.deepEqual(await judged(...named), [0, "measured"]);
	const shown = await assay("show", elsewhere);
	assert.match(shown.out, /^collateral bundle \(unchecked\)\n/);
});
