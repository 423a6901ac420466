// The evidence behind a leaf, checked by a stranger: a real H200's file gives its score again; whatever was
// changed in file, terms, signer or beacon is named.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import { createParams } from "../../market/params.ts";
import { statedLevel } from "../../market/scores/attested.ts";
import type { Explanation, Term } from "../../market/scores/explanation.ts";
import { recompute } from "../../market/scores/recompute.ts";
import type { ScoreInput } from "../../market/scores/score-input.ts";
import { scoreProvider } from "../../market/scores/score-provider.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import type { AttestedGuest, AttestedLevel, ProbeAttestation, Verdict } from "../../protocol/probe/verdict.ts";
import { type Expectations, verifyEvidence } from "../../verify/hardware/verify.ts";
import { scoreFromEvidence, termDifferences } from "../scoring/score-from-evidence.ts";
import { type CheckedLeaf, createEvidenceAudit } from "./audit-evidence.ts";

const bytes = new Uint8Array(readFileSync(new URL("../../../vectors/h200.assay", import.meta.url)));
const sha256 = createHash("sha256").update(bytes).digest("hex");
const verdict = verifyEvidence(bytes);
assert.ok(verdict.status === "valid");
const decoded = decodeEvidence(bytes);
assert.ok(decoded.ok);
const { body } = decoded.evidence.envelope;
const params = createParams();

/** As the validator's own score-keeper makes it, with a record and a rental that no evidence shows. */
const input: ScoreInput = {
	providerId: "ab".repeat(32),
	nowMs: body.probe.startedAtMs + 1000,
	active: true,
	proof: {
		evidence: sha256,
		provenAtMs: body.probe.startedAtMs,
		devices: body.claim.devices.map(({ kind, uuid }) => ({ kind, uuid })),
		figures: verdict.figures,
		identity: verdict.identity,
		claimedRamBytes: body.claim.host.ramBytes,
	},
	rented: { calls: 24, paidPpm: 1_100_000 },
	rentedMs: 0,
	reliabilityPpm: 700_000,
	history: [
		{ evidence: "cd".repeat(32), counts: "failure" },
		{ evidence: sha256, counts: "success" },
	],
	presence: { counted: 24, answered: 23 },
	creditedElsewhere: [],
};
const reason: Explanation = scoreProvider(input, params);
assert.ok(reason.scorePpm > 0);

const leafOf = ({ scorePpm }: Explanation, evidence = sha256) => ({
	provider: `0x${"01".repeat(20)}` as Hex,
	scorePpm,
	evidenceSha256: `0x${evidence}` as Hex,
});
const right: CheckedLeaf = {
	validator: `0x${"02".repeat(20)}`,
	signingKey: verdict.signer,
	leaf: leafOf(reason),
	reason,
	params,
	committed: { block: 9, timeS: 1_800_000_000 },
};
const client = { chainId: 1 } as ChainClient;
/** A file takes half a second, so each is verified once by each signer. */
const verdicts = new Map<string, Verdict>();
const verify = (file: Uint8Array, expect: Expectations): Verdict => {
	const name = `${createHash("sha256").update(file).digest("hex")} ${expect.signers}`;
	const found = verdicts.get(name) ?? verifyEvidence(file, expect);
	verdicts.set(name, found);
	return found;
};
const audit = (file: Uint8Array | null, isVerified = true) =>
	createEvidenceAudit({ client, isVerified, read: async () => file, verify });
const kinds = async (one: CheckedLeaf, file: Uint8Array | null = bytes, isVerified = true) =>
	(await audit(file, isVerified).check(one))!.differences.map(({ what, right: is }) => [what, is]);

/** The same explanation with one term changed, and everything above it worked out anew. */
function bent(name: string, value: number): Explanation {
	const change = (at: Term): Term => {
		if (at.name === name && at.rule === "given") return { ...at, value };
		const from = at.from.map((part) => (typeof part === "string" ? part : change(part)));
		const made = { ...at, from };
		return at.rule === "given" ? made : { ...made, value: recompute({ root: made }) };
	};
	const root = change(reason.root);
	return { ...reason, root, scorePpm: root.value };
}

test("a real card's file gives its score again, whatever is in its record; a file that was changed or lost is named", async () => {
	const { differences, made } = (await audit(bytes).check(right))!;
	assert.deepEqual(differences, []);
	assert.deepEqual(made, {
		provider: right.leaf.provider,
		validator: right.validator,
		evidenceSha256: right.leaf.evidenceSha256,
		after: null,
		before: { block: 9, timeS: 1_800_000_000 },
		saidMs: body.probe.startedAtMs,
	});
	const tampered = bytes.slice();
	tampered[tampered.length - 100]! ^= 1;
	assert.deepEqual(await kinds(right, tampered), [["evidence", "wrong"]]);
	assert.deepEqual(await kinds(right, tampered, false), [["evidence", "wrong"]]);
	assert.deepEqual(await kinds(right, null), [["evidence", "missing"]]);
	const named = createHash("sha256").update(tampered).digest("hex");
	const [[what, why] = []] = await kinds({ ...right, leaf: leafOf(reason, named) }, tampered);
	assert.equal(what, "evidence");
	assert.match(String(why), /^invalid: /);
	assert.deepEqual(
		await kinds({ ...right, leaf: leafOf(reason, named) }, tampered, false),
		[],
		"hashes alone say nothing of it",
	);
});

test("a score without evidence, a figure that the file does not prove, and a tree that hides one", async () => {
	assert.deepEqual(await kinds({ ...right, leaf: leafOf(reason, "0".repeat(64)) }), [
		["evidence", "none is named for this score"],
	]);
	assert.deepEqual(await kinds({ ...right, leaf: leafOf({ ...reason, scorePpm: 0 }, "0".repeat(64)) }), []);
	const slow = bent("memory.bandwidth", 10 ** 12);
	assert.ok(slow.scorePpm < reason.scorePpm);
	const found = (await audit(bytes).check({ ...right, reason: slow, leaf: leafOf(slow) }))!.differences;
	assert.deepEqual(
		[found[0]!.what, found[0]!.stated, found[0]!.right],
		["score", String(slow.scorePpm), String(reason.scorePpm)],
	);
	assert.ok(found.some((one) => one.what === "figure" && /memory\.bandwidth: 1000000000000$/.test(one.stated)));
	const blunt: Explanation = {
		...reason,
		scorePpm: 999_999,
		root: { name: "score", value: 999_999, unit: "ppm", rule: "given", from: ["constant"] },
	};
	assert.equal((await kinds({ ...right, reason: blunt, leaf: leafOf(blunt) }))[0]![0], "score");
	// What a validator scores 0 needs no proof.
	const none = { ...blunt, scorePpm: 0, root: { ...blunt.root, value: 0 } };
	assert.deepEqual(await kinds({ ...right, reason: none, leaf: leafOf(none) }), []);
});

test("no score states a higher level than its evidence shows; hosted is the validator's own to say where a guest signed", () => {
	const attestation = (level: AttestedLevel, guest: AttestedGuest | null = null): ProbeAttestation => ({
		...{ level, shown: level, isSimulated: false, rounds: 1, devices: [], guest, reasons: [], says: [] },
	});
	const guest = { tee: "tdx", measurement: "00", tcb: "UpToDate" };
	const said = (stated: AttestedLevel, of: ProbeAttestation | undefined) => {
		const explained = scoreProvider({ ...input, attested: stated }, params);
		const file = { sha256, claim: body.claim, startedAtMs: body.probe.startedAtMs };
		const shown = { ...verdict, ...(of && { attestation: of }) };
		const again = scoreFromEvidence(explained, { ...file, verdict: shown }, params);
		const names = again.root.from.flatMap((one) => (typeof one === "string" ? [] : [one.name]));
		assert.equal(termDifferences(explained.root, again.root).length > 0, explained.scorePpm !== again.scorePpm);
		return statedLevel(names);
	};
	assert.equal(said("hosted", undefined), "none", "an engine that knows no ATTEST");
	assert.equal(said("measured", attestation("none")), "none", "simulated, or not signed by all");
	assert.equal(said("measured", attestation("genuine", guest)), "genuine");
	assert.equal(said("hosted", attestation("genuine", guest)), "genuine");
	assert.equal(said("hosted", attestation("measured")), "measured", "no guest signed");
	assert.equal(said("hosted", attestation("measured", guest)), "hosted");
	assert.equal(said("none", attestation("measured")), "none", "the card counts for somebody else");
	assert.equal(said("genuine", attestation("measured")), "genuine");
});

test("other parameters give other scores; somebody else's signature and a hostile tree count for nothing", async () => {
	assert.deepEqual(await kinds({ ...right, signingKey: "11".repeat(32) }), [["evidence", "invalid: SIGNER_UNKNOWN"]]);
	assert.equal(
		(
			await kinds({
				...right,
				params: createParams({
					gpuWeightPpm: 900_000,
					cpuWeightPpm: 50_000,
					ramWeightPpm: 25_000,
					diskWeightPpm: 25_000,
				}),
			})
		)[0]?.[0],
		"score",
	);
	for (const root of [{}, { from: 7 }, { name: "score", rule: "product", from: [null, 3, {}] }])
		assert.equal(
			(await kinds({ ...right, reason: { ...reason, root: root as unknown as Term } }))[0]?.[0] ?? "none",
			"score",
		);
});
