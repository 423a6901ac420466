// A whole probe of the real engine on a host whose toy cards and CPU attest: a round at both ends of a run that lasts, bound to the work, and
// marked as simulated. Replayed, swapped and cut rounds, signed anew by the verifier's own key, are each caught by their code.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { type AttestationRecord, attachmentsOfRound, type EvidenceBody } from "../../src/protocol/probe/evidence.ts";
import { decodeEvidence, encodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import type { Verdict } from "../../src/protocol/probe/verdict.ts";
import { runProbe } from "../../src/validator/probe/run-probe.ts";
import { manifestPlan, mintManifest } from "../../src/verify/attestation/mint/mint-nvidia.test-kit.ts";
import { MINTED_ROOTS } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import { MINT_ROOTS } from "../../src/verify/attestation/settings.ts";
import { attestationFindings, elsewhereFindings } from "../../src/verify/hardware/checks/check-attestations.ts";
import type { Plan } from "../../src/verify/hardware/plan/probe-plan.ts";
import { verifyEvidence } from "../../src/verify/hardware/verify.ts";
import { SIGNER } from "../toy/probe-toy.ts";
import { createToyHost, type ToyHost, toyCard } from "./toy/toy-host.test-kit.ts";

let host: ToyHost;
let engine = "";
let parts: Parts;
before(async () => {
	engine = (await findEngine(hostPlatform())).path;
	host = await createToyHost([toyCard(0), toyCard(1)]);
	parts = await probed();
});
after(() => host.close());

/** Two short runs; the second may be stopped, as one that lasts, and so has a round before it. It ends by itself long before. */
const plan: Plan = ({ claim, steps }) => {
	const device = claim.devices.findIndex(({ kind }) => kind === "cpu");
	const size = { kind: "gemm", device, precision: "int8", m: 128, n: 512, k: 128, keep: 1, samples: 4 } as const;
	const stage = { act: "stage", name: `stage ${steps.length}`, deadlineMs: 120_000 } as const;
	if (steps.length === 0) return { ...stage, specs: [{ ...size, rounds: 2 }] };
	return steps.length === 1 ? { ...stage, specs: [{ ...size, rounds: 2 }], stopAfterMs: 100_000 } : { act: "finish" };
};

interface Parts {
	readonly body: EvidenceBody;
	readonly attachments: readonly Uint8Array[];
}

async function probed(): Promise<Parts> {
	const args = ["--no-disk", "--toy-tsm", host.tsm];
	const env = { ...process.env, ...host.env };
	const openLink = () => createLocalLink({ command: engine, args, env });
	const { clockUs, nowMs, randomBytes } = realEnvironment();
	const signer = SIGNER;
	const result = await runProbe({
		...{ openLink, target: "local", quick: true, sustainMs: 0, signer, clockUs, nowMs, randomBytes, plan },
	});
	assert.ok(result.evidence !== null, JSON.stringify(result.verdict));
	const decoded = decodeEvidence(result.evidence);
	assert.ok(decoded.ok);
	const { envelope, attachments } = decoded.evidence;
	return { body: envelope.body, attachments };
}

/** The file with other rounds; each brings its own attachments. */
type RoundBytes = { readonly record: AttestationRecord; readonly bytes: readonly Uint8Array[] };
const roundsOf = ({ body, attachments }: Parts): RoundBytes[] =>
	body.attestations!.map((record) => ({ record, bytes: attachmentsOfRound(record).map((i) => attachments[i]!) }));

function judged(rounds: readonly RoundBytes[], { body, attachments }: Parts = parts): Verdict {
	const first = attachmentsOfRound(body.attestations![0]!)[0]!;
	const all = attachments.slice(0, first);
	const attestations = rounds.map(({ record, bytes }) => {
		let next = 0;
		const put = () => all.push(bytes[next++]!) - 1;
		return {
			...record,
			gpus: record.gpus.map(({ device }) => ({ device, report: put(), chain: put() })),
			cpu: record.cpu && { ...record.cpu, quote: put() },
			collateral: record.collateral.map((one) => ({ ...one, attachment: put() })),
		};
	});
	return verifyEvidence(
		encodeEvidence({ ...body, attestations }, all, SIGNER),
		...([{}, undefined, undefined, nodeSignatures] as const),
	);
}
const codeOf = (verdict: Verdict) => (verdict.status === "valid" ? "valid" : verdict.code);

test("both rounds are bound, of the same cards, named by the guest, and count for nothing", () => {
	const verdict = judged(roundsOf(parts));
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	const { attestation } = verdict;
	assert.ok(attestation !== undefined);
	assert.deepEqual(
		[attestation.level, attestation.shown, attestation.isSimulated, attestation.rounds],
		["none", "genuine", true, 2],
	);
	assert.equal(new Set(attestation.devices.map(({ key }) => key)).size, 2);
	assert.equal(attestation.guest?.tee, "tdx");
	assert.ok(attestation.reasons.some(({ code }) => code === "SIMULATED_ROOTS"));
	const told = verdict.findings.find(({ code }) => code === "SIMULATED_ROOTS");
	assert.match(told?.detail ?? "", /^simulated, counts for nothing: level genuine: GH100 /);
	const [real] = attestationFindings({ ...attestation, isSimulated: false, shown: "measured" });
	assert.deepEqual([real?.code, real?.detail.slice(0, 15)], ["ATTESTED", "level measured:"]);
	assert.deepEqual(attestationFindings({ ...attestation, devices: [] }), []);
	const { key } = attestation.devices[0]!;
	const [relayed] = elsewhereFindings({ ...attestation, elsewhere: [{ key, providerId: "ab".repeat(32) }] });
	assert.deepEqual(relayed, {
		code: "DEVICE_ELSEWHERE",
		detail: `simulated: counted already: ${key.slice(0, 16)} for ${"ab".repeat(32)}`,
	});
	assert.ok(!attestation.reasons.some(({ code }) => code === "RELAYABLE"));
	assert.deepEqual(MINT_ROOTS, MINTED_ROOTS, "the verifier knows the mint's roots, and no others");
});

test("manifests that travel along raise what is shown, and still nothing counts", () => {
	const collateral = (["driver", "vbios"] as const).map((part) => {
		const { version, product } = manifestPlan(part);
		return { kind: "manifest" as const, id: `${product} ${version}`, attachment: 0 };
	});
	const files = (["driver", "vbios"] as const).map((part) =>
		mintManifest({ ...manifestPlan(part), until: "20991231235959Z" }),
	);
	const rounds = roundsOf(parts).map(({ record, bytes }) => ({
		record: { ...record, collateral },
		bytes: [...bytes, ...files],
	}));
	const verdict = judged(rounds);
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	assert.deepEqual([verdict.attestation?.shown, verdict.attestation?.level], ["measured", "none"]);
});

test("replayed, swapped and cut rounds are each caught", async () => {
	const [one, two] = roundsOf(parts) as [RoundBytes, RoundBytes];
	// Per round: report, chain, report, chain, quote.
	const edit = (round: RoundBytes, bytes: readonly Uint8Array[]) => ({ ...round, bytes });
	assert.equal(codeOf(judged([edit(one, two.bytes), two])), "NONCE_WRONG", "a later round for an earlier one");
	const [a, ac, b, bc, quote] = two.bytes as [Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array];
	assert.equal(codeOf(judged([one, edit(two, [b, bc, a, ac, quote])])), "BINDING_WRONG", "another order");
	assert.equal(codeOf(judged([one, edit(two, [a, ac, a, ac, quote])])), "DEVICE_REPEATED", "one card as two");
	assert.equal(codeOf(judged([one, edit(two, [a, ac, b, bc, one.bytes[4]!])])), "NONCE_WRONG", "another's quote");
	const cut = { ...two.record, gpus: two.record.gpus.slice(1) };
	assert.equal(codeOf(judged([one, { record: cut, bytes: [b, bc, quote] }])), "BINDING_WRONG", "a cut set");
	const bare = { ...cut, cpu: null };
	assert.equal(
		codeOf(judged([one, { record: bare, bytes: [b, bc] }])),
		"DEVICE_OTHER",
		"a card went missing meanwhile",
	);
	assert.equal(codeOf(judged([one, { ...two, record: { ...two.record, after: 1 } }])), "ATTEST_FORM", "a round twice");
	const early = { ...two.record, sentAtUs: 0 };
	assert.equal(codeOf(judged([one, { ...two, record: early }])), "TIME_ORDER", "asked before the work was done");
	// What another probe of the same host gave answers another question.
	const other = roundsOf(await probed());
	assert.equal(codeOf(judged([one, edit(two, other[1]!.bytes)])), "NONCE_WRONG", "another probe's round");
	assert.equal(codeOf(judged([one, two])), "valid");
});
