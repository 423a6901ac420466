// A whole probe of the real engine on a host whose toy cards and CPU attest: a round at both ends of a run
// that lasts, bound to the work, and marked as simulated. Replayed, swapped and cut rounds, signed anew by
// the verifier's own key, are each caught by their code.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { probeAttestationLines } from "../../src/cli/print/attestation-lines.ts";
import { plain } from "../../src/cli/print/paint.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { type CollectedRound, collectRound } from "../../src/engine/client/collect-round.ts";
import { createEngineClient } from "../../src/engine/client/create-engine-client.ts";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { bindOfJob, type JobBound } from "../../src/protocol/attest/binding.ts";
import { encodeJobRounds } from "../../src/protocol/attest/job-rounds.ts";
import { packRound } from "../../src/protocol/attest/pack-round.ts";
import { type AttestationRecord, attachmentsOfRound, type EvidenceBody } from "../../src/protocol/probe/evidence.ts";
import { decodeEvidence, encodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import type { Verdict } from "../../src/protocol/probe/verdict.ts";
import { runProbe } from "../../src/validator/probe/run-probe.ts";
import type { GuestRule } from "../../src/verify/attestation/guest-rules.ts";
import { MINTED_ROOTS } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import { MINT_ROOTS } from "../../src/verify/attestation/settings.ts";
import { rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { readAnswers } from "../../src/verify/hardware/answers.ts";
import {
	attestationFindings,
	elsewhereFindings,
	judgeAttestations,
} from "../../src/verify/hardware/checks/check-attestations.ts";
import type { Plan } from "../../src/verify/hardware/plan/probe-plan.ts";
import { type Expectations, verifyEvidence } from "../../src/verify/hardware/verify.ts";
import { verifyJobRounds } from "../../src/verify/work/verify-job-rounds.ts";
import { isDeep, scaled, seed } from "../fuzz.test-kit.ts";
import { SIGNER } from "../toy/probe-toy.ts";
import { changed, type Random, randomFrom } from "./random-change.test-kit.ts";
import { createToyHost, TOY_GUEST, type ToyHost, toyCard, toyItems } from "./toy/toy-host.test-kit.ts";

let host: ToyHost;
let engine = "";
let parts: Parts;
before(async () => {
	engine = (await findEngine(hostPlatform())).path;
	host = await createToyHost([toyCard(0), toyCard(1)]);
	parts = await probed();
});
after(() => host.close());

/**
 * Two short runs; the second may be stopped, as one that lasts, and so has a round before it. It ends by
 * itself long before.
 */
const plan: Plan = ({ claim, steps }) => {
	const device = claim.devices.findIndex(({ kind }) => kind === "cpu");
	const size = { kind: "gemm", device, precision: "int8", m: 128, n: 512, k: 128, keep: 1, samples: 4 } as const;
	const stage = { act: "stage", name: `stage ${steps.length}`, deadlineMs: 600_000 } as const;
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
	body.attestations.map((record) => ({ record, bytes: attachmentsOfRound(record).map((i) => attachments[i]!) }));

function judged(
	rounds: readonly RoundBytes[],
	{ body, attachments }: Parts = parts,
	expect: Expectations = {},
): Verdict {
	const first = attachmentsOfRound(body.attestations[0]!)[0]!;
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
		...([expect, undefined, undefined, nodeSignatures] as const),
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
	assert.ok(
		attestation.reasons.some(({ code }) => code === "RELAYABLE"),
		"any guest may relay",
	);
	assert.deepEqual(MINT_ROOTS, MINTED_ROOTS, "the verifier knows the mint's roots, and no others");
});

test("vendors' files that travel along raise what is shown, an allowed guest still more, and nothing counts", () => {
	const items = toyItems();
	const rounds = roundsOf(parts).map(({ record, bytes }) => ({
		record: { ...record, collateral: items.map(({ kind, id }) => ({ kind, id, attachment: 0 })) },
		bytes: [...bytes, ...items.map((one) => one.bytes)],
	}));
	const verdict = judged(rounds);
	const shownBy = (guests: readonly GuestRule[]) => {
		const by = judged(rounds, parts, { guests });
		assert.ok(by.status === "valid", JSON.stringify(by));
		assert.equal(by.attestation?.level, "none");
		const codes = by.attestation.reasons.map(({ code }) => code).filter((code) => /GUEST|RELAY/.test(code));
		return [by.attestation.shown, ...codes];
	};
	assert.deepEqual(shownBy([TOY_GUEST]), ["hosted"]);
	assert.deepEqual(shownBy([{ ...TOY_GUEST, measurement: "00".repeat(48) }]), [
		...["measured", "RELAYABLE", "GUEST_OTHER"],
	]);
	assert.deepEqual(shownBy([]), ["measured", "RELAYABLE", "GUEST_OTHER"]);
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	assert.deepEqual([verdict.attestation?.shown, verdict.attestation?.level], ["measured", "none"]);
});

test("a level is the whole host's: a card that signed nothing takes it away", () => {
	const { body, attachments } = parts;
	const read = readAnswers(body, attachments);
	assert.ok(read.ok);
	const shownWith = (...names: readonly string[]) => {
		// The machine that this runs on may have cards of its own.
		const cpu = body.claim.devices.find(({ kind }) => kind === "cpu")!;
		const devices = [cpu, ...names.map((name) => ({ ...cpu, name, kind: "gpu" as const }))];
		const by = { verify: nodeSignatures, guests: null };
		const found = judgeAttestations({ ...body, claim: { ...body.claim, devices } }, read.answers, attachments, by);
		assert.ok(found !== null && !("code" in found), JSON.stringify(found));
		const why = found.reasons.find(({ code }) => code === "REPORTS_MISSING" || code === "DEVICE_OTHER");
		return [found.shown, why && `${why.code}: ${why.detail}`];
	};
	const [h200, rtx, strange] = ["NVIDIA H200", "NVIDIA GeForce RTX 4090", "some card"];
	for (const names of [[], [h200], [h200, "NVIDIA H100 80GB HBM3"], [strange, strange], [h200, strange]])
		assert.deepEqual(shownWith(...names), ["genuine", undefined], names.join());
	assert.deepEqual(shownWith(h200, h200, h200), ["none", "REPORTS_MISSING: 2 of 3 GPUs signed a report"]);
	assert.deepEqual(shownWith(...Array(8).fill(strange)), ["none", "REPORTS_MISSING: 2 of 8 GPUs signed a report"]);
	// ATTACK: reports of cards somewhere else, for cards that cannot sign.
	const other = (name: string, count: string) =>
		`DEVICE_OTHER: 0 of ${count} cards like ${name} signed; the reports are of GH100`;
	assert.deepEqual(shownWith(rtx, rtx), ["none", other(rtx, "2")]);
	assert.deepEqual(shownWith(h200, rtx), ["none", other(rtx, "1")]);
	assert.deepEqual(shownWith("NVIDIA B200"), ["none", other("NVIDIA B200", "1")]);
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
	const back = { ...two.record, receivedAtUs: two.record.sentAtUs - 1 };
	assert.equal(codeOf(judged([one, { ...two, record: back }])), "TIME_ORDER", "there before it was asked for");
	const late = { ...one.record, receivedAtUs: two.record.receivedAtUs };
	assert.equal(codeOf(judged([{ ...one, record: late }, two])), "TIME_ORDER", "not before the challenge that follows");
	assert.equal(codeOf(judged([one, { ...two, record: { ...two.record, after: 9 } }])), "ATTEST_FORM", "after none");
	// What another probe of the same host gave answers another question.
	const other = roundsOf(await probed());
	assert.equal(codeOf(judged([one, edit(two, other[1]!.bytes)])), "NONCE_WRONG", "another probe's round");
	assert.equal(codeOf(judged([one, two])), "valid");
});

test("drivers of NVIDIA's versioned data count as ever; one of tomorrow leaves the probe valid, and gives no level", async () => {
	const cards = (...formats: readonly number[]) => formats.map((format, i) => ({ ...toyCard(i), format }));
	const probedWith = async (...formats: readonly number[]) => {
		await host.setCards(cards(...formats));
		return probed();
	};
	const [now, mixed] = [await probedWith(2, 2), await probedWith(2, 3)];
	await host.setCards([toyCard(0), toyCard(1)]);
	const guests = [TOY_GUEST];
	const items = toyItems();
	const measured = (of: Parts) =>
		roundsOf(of).map(({ record, bytes }) => ({
			record: { ...record, collateral: items.map(({ kind, id }) => ({ kind, id, attachment: 0 })) },
			bytes: [...bytes, ...items.map((one) => one.bytes)],
		}));
	const told = (verdict: Verdict) => {
		assert.ok(verdict.status === "valid", JSON.stringify(verdict));
		const { level, shown, devices } = verdict.attestation!;
		const codes = verdict.findings.map(({ code }) => code).filter((code) => /ATTEST|SIMULATED/.test(code));
		return [level, shown, devices.map((one) => one.level), codes];
	};
	const hosted = ["none", "hosted", ["measured", "measured"], ["SIMULATED_ROOTS"]];
	assert.deepEqual(told(judged(measured(now), now, { guests })), hosted);
	const verdict = judged(measured(mixed), mixed, { guests });
	assert.deepEqual(told(verdict), ["none", "none", ["measured", "none"], ["ATTEST_VERSION"]]);
	assert.ok(verdict.status === "valid");
	const why = /attestation cannot be told: the opaque data has the format NVDAOD 3\.0\.0, profile 0, which this/;
	assert.match(verdict.findings.find(({ code }) => code === "ATTEST_VERSION")!.detail, why);
	const printed = probeAttestationLines(verdict.attestation, plain).join("\n");
	assert.match(printed, /attestation {2}cannot be told: the opaque data has the format NVDAOD 3\.0\.0/);
	// The signature of such a report is checked: a byte of it makes the whole probe false, as before.
	const [one, two] = roundsOf(mixed) as [RoundBytes, RoundBytes];
	const report = one.bytes[2]!;
	const changedReport = report.with(report.length - 100, report.at(-100)! ^ 1);
	const code = codeOf(judged([{ ...one, bytes: one.bytes.with(2, changedReport) }, two], mixed));
	assert.equal(code, "ATTEST_SIGNATURE");
});

/** Rounds with one change: of a file's bytes, of which file is whose, or of what the record says. */
function changedRounds(rounds: readonly RoundBytes[], random: Random): RoundBytes[] {
	const at = random(rounds.length);
	const { record, bytes } = rounds[at]!;
	const other = rounds[random(rounds.length)]!;
	const which = random(bytes.length);
	const instead = (one: RoundBytes): RoundBytes[] => rounds.with(at, one);
	const without = <T>(list: readonly T[], i: number): T[] => list.filter((_, j) => j !== i);
	switch (random(12)) {
		case 0:
			return instead({ record, bytes: bytes.with(which, other.bytes[random(other.bytes.length)]!) });
		case 1:
			return instead({ record, bytes: bytes.with(which, bytes[random(bytes.length)]!) });
		case 2:
			return without(rounds, at);
		case 3:
			return rounds.toSpliced(at, 0, other);
		case 4:
			return instead({ ...other, record: { ...other.record, after: record.after } });
		case 5: {
			// A card less, with its report and chain.
			const card = random(record.gpus.length);
			const left = without(without(bytes, 2 * card), 2 * card);
			return instead({ record: { ...record, gpus: without(record.gpus, card) }, bytes: left });
		}
		case 6: {
			const gpus = [...record.gpus, record.gpus[random(record.gpus.length)]!];
			return instead({ record: { ...record, gpus }, bytes: [...bytes.slice(0, 2), ...bytes] });
		}
		case 7: {
			// Without the guest, whose quote comes after the cards'.
			const left = without(bytes, 2 * record.gpus.length);
			return instead({ record: { ...record, cpu: null }, bytes: left });
		}
		case 8:
			return instead({ record: { ...record, after: random(4) }, bytes });
		case 9:
			return instead({ record: { ...record, sentAtUs: random(2 ** 30), receivedAtUs: random(2 ** 30) }, bytes });
		default:
			return instead({ record, bytes: bytes.with(which, changed(bytes[which]!, random)) });
	}
}

/** Whatever the rounds became, nothing more is shown than before. 100,000 of them in the deep tier. */
test("random changes of the rounds: no verdict shows more than was signed", () => {
	const { body, attachments } = parts;
	const verify = rememberSignatures(nodeSignatures);
	const read = readAnswers(body, attachments);
	assert.ok(read.ok);
	const judge = (rounds: readonly RoundBytes[]) => {
		const all: Uint8Array[] = [];
		const put = (bytes: Uint8Array) => all.push(bytes) - 1;
		const attestations = rounds.map(({ record, bytes }) => {
			const left = [...bytes];
			const next = () => put(left.shift() ?? new Uint8Array());
			return {
				...record,
				gpus: record.gpus.map(({ device }) => ({ device, report: next(), chain: next() })),
				cpu: record.cpu && { ...record.cpu, quote: next() },
				collateral: record.collateral.map((one) => ({ ...one, attachment: next() })),
			};
		});
		return judgeAttestations({ ...body, attestations }, read.answers, all, { verify, guests: null });
	};
	const rounds = roundsOf(parts);
	const whole = judge(rounds);
	assert.ok(whole !== null && !("code" in whole), JSON.stringify(whole));
	const keys = new Set(whole.devices.map(({ key }) => key));
	const random = randomFrom(seed + 2);
	const reached = new Set<string>();
	for (let n = 0; n < scaled(isDeep ? 4000 : 200); n++) {
		const found = judge(changedRounds(rounds, random));
		assert.ok(found !== null);
		const told = `change ${n} of seed ${seed}: ${JSON.stringify(found)}`;
		reached.add("code" in found ? found.code : "valid");
		if ("code" in found) assert.notEqual(found.code, "INTERNAL", told);
		else {
			assert.ok(found.isSimulated || found.devices.length + (found.guest === null ? 0 : 1) === 0, told);
			assert.deepEqual([found.level, found.rounds <= whole.rounds], ["none", true], told);
			assert.ok(found.shown === "none" || found.shown === whole.shown, told);
			assert.ok(found.devices.every(({ key }) => keys.has(key)) && found.devices.length <= keys.size, told);
			if (found.guest !== null) assert.deepEqual(found.guest, whole.guest, told);
		}
	}
	assert.ok(reached.size >= 3, [...reached].join());
});

test("rounds of a job: bound to what was assigned and to the claim, of the same cards; each lie has its code", async () => {
	const of = {
		job: "ab".repeat(32),
		part: 1,
		attempt: 2,
		provider: "cd".repeat(32),
		escrow: null,
		start: "ef".repeat(32),
	};
	const claim = "01".repeat(32);
	const { clockUs, randomBytes } = realEnvironment();
	const link = await createLocalLink({
		...{ command: engine, args: ["--no-disk", "--toy-tsm", host.tsm], env: { ...process.env, ...host.env } },
	});
	const client = await createEngineClient(link, { clockUs, randomBytes, readyDeadlineMs: 600_000 });
	const [begin, end, later] = [
		await collectRound(client, bindOfJob(of, null)),
		await collectRound(client, bindOfJob(of, claim)),
		await collectRound(client, bindOfJob(of, "02".repeat(32))),
	];
	await client.close();
	const fileOf = (...rounds: CollectedRound[]) => {
		const attachments: Uint8Array[] = [];
		const packed = rounds.map((round, after) => packRound({ ...round, after }, [], attachments));
		return encodeJobRounds({ atMs: Date.now(), rounds: packed, attachments });
	};
	const bound = { ...of, claim };
	const judge = (file: Uint8Array, about: Partial<JobBound> = {}) =>
		verifyJobRounds(file, { ...bound, ...about }, { verify: nodeSignatures, guests: null });
	const right = judge(fileOf(begin, end));
	assert.deepEqual(
		[right.fault, right.level, right.shown, right.isSimulated, right.rounds, right.devices.length],
		[null, "none", "genuine", true, 2, 2],
	);
	const code = (file: Uint8Array, about: Partial<JobBound> = {}) => judge(file, about).fault?.code;
	assert.equal(code(fileOf(begin, begin)), "NONCE_WRONG", "the beginning for the end");
	assert.equal(code(fileOf(end, end)), "NONCE_WRONG", "signed when all was done");
	assert.equal(code(fileOf(begin, later)), "NONCE_WRONG", "another claim's end");
	for (const about of [{ job: claim }, { part: 0 }, { attempt: 1 }, { provider: claim }, { start: claim }])
		assert.equal(code(fileOf(begin, end), about), "NONCE_WRONG", JSON.stringify(about));
	const escrow = { chainId: 1, contract: `0x${"ab".repeat(20)}` };
	assert.equal(code(fileOf(begin, end), { escrow }), "NONCE_WRONG", "another chain's");
	const [a, b] = end.gpus as [CollectedRound["gpus"][number], CollectedRound["gpus"][number]];
	assert.equal(code(fileOf(begin, { ...end, gpus: [b, a] })), "BINDING_WRONG", "swapped reports");
	assert.equal(code(fileOf(begin, { ...end, gpus: [a] })), "BINDING_WRONG", "a cut set");
	assert.equal(code(fileOf(begin, { ...end, gpus: [a], cpu: null })), "DEVICE_OTHER", "a card went missing");
	assert.equal(code(fileOf(begin, { ...end, gpus: [a, a] })), "DEVICE_REPEATED");
	assert.equal(code(fileOf(begin, end).slice(0, -1)), "ATTEST_FORM");
	const alone = judge(fileOf(begin));
	assert.deepEqual([alone.fault, alone.shown], [null, "none"], "one end alone shows nothing");
	const empty = judge(fileOf(begin, { ...end, gpus: [], cpu: null }));
	assert.deepEqual([empty.fault, empty.shown], [null, "none"], "nor does one that is empty");
});
