// Honest evidence is valid; weak questions, wrong times and unmet expectations end in their own codes.
// Spoiled answers are in spoiled-answers.test.ts, the walk over all fields in tamper.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChallengeSpec, EvidenceBody } from "../../protocol/probe/evidence.ts";
import { encodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import { answerStages, assemble, CLAIM, STAGES, STRANGER, sign, VERIFIER } from "./honest-evidence.test-kit.ts";
import { ANSWERED, claimWith, codeOf, expectCode, shift, spoiled, writable } from "./spoiled-evidence.test-kit.ts";
import { verifyEvidence } from "./verify.ts";

const FILE = sign(ANSWERED);

test("spot checks are told one by one, up to as many as the verdict counts", () => {
	const told = new Map<number, { done: number; of: number }>();
	const verdict = verifyEvidence(FILE, {}, undefined, (challenge, done, of) => {
		assert.equal(done, (told.get(challenge)?.done ?? -1) + 1);
		told.set(challenge, { done, of });
	});
	assert.ok(verdict.status === "valid");
	assert.ok(STAGES.flat().some(({ kind }) => kind === "chase"));
	for (const { challenge, samples } of verdict.confidence)
		assert.deepEqual(told.get(challenge), { done: samples, of: samples }, `challenge ${challenge}`);
});

test("honest evidence is valid, with its figures, confidence and findings", () => {
	const verdict = verifyEvidence(FILE, { signers: [VERIFIER.key], target: "ssh://toy@example" });
	assert.equal(verdict.status, "valid", JSON.stringify(verdict));
	if (verdict.status !== "valid") return;
	assert.deepEqual(
		verdict.figures.map(({ name, device, unit }) => `${device} ${name} ${unit}`),
		[
			"0 gemm.int8 op/s",
			"1 gemm.fp16 op/s",
			"0 memory.resident B",
			"0 memory.bandwidth B/s",
			"0 fma.fp64 flop/s",
			"1 fma.int32 op/s",
			"0 gemm.int8.sustained op/s",
			"0 gemm.int8.sustained-ratio ppm",
			"1 gemm.int8 op/s",
			"2 disk.write B/s",
			"2 disk.stored B",
			"2 disk.read B/s",
			"0 gemm.fp16 op/s",
			"3 gemm.fp16 op/s",
			"0 peer.bandwidth.3 B/s",
			"3 peer.bandwidth.0 B/s",
			"0 gemm.fp16.alone op/s",
			"0 scaling.fp16 ppm",
			"3 gemm.fp16.alone op/s",
			"3 scaling.fp16 ppm",
			"3 fma.int32 op/s",
			"0 gemm.int8 op/s",
			"0 memory.latency ps",
		],
	);
	const figuresOf = (name: string, device: number) =>
		verdict.figures.filter((f) => f.device === device && f.name.startsWith(name)).map(({ value }) => value);
	const gemm = verdict.figures[0]!;
	assert.equal(gemm.value, Math.floor((2 * 128 * 512 * 128 * 3 * 1e6) / (3 * 100_003)));
	// 256 KiB kept, 1 µs a pass: 64,000 bytes could have been fetched and 2 recomputed (ops/k B/s) in that
	// time.
	assert.equal(verdict.figures[2]!.value, 262_144 - 64_000 - Math.ceil(Math.floor(gemm.value / 128) / 1e6));
	assert.equal(verdict.figures[3]!.value, 262_144_000_000);
	assert.equal(verdict.figures[7]!.value, 1_000_000);
	// One round of 128 KiB: written in 900 µs, read back in 70 µs a pass; the CPU makes 2 bytes in a
	// microsecond.
	const provenOf = (name: string) => verdict.figures.find((figure) => figure.name === name)!.value;
	assert.equal(provenOf("disk.write"), Math.floor(131_072e6 / 900));
	assert.equal(provenOf("disk.read"), Math.floor(131_072e6 / 70));
	const perUs = Math.floor(Math.max(...figuresOf("gemm.", 1)) / 128) / 1e6;
	assert.equal(provenOf("disk.stored"), 131_072 - Math.ceil(70 * perUs));
	assert.equal(provenOf("peer.bandwidth.3"), Math.floor(262_144e6 / 70));
	// Ready in a microsecond, but divided by what both took together.
	assert.equal(provenOf("peer.bandwidth.0"), Math.floor(262_144e6 / 70));
	assert.equal(provenOf("memory.latency"), Math.ceil(300e6 / (64 * 8)));
	assert.equal(verdict.strength, "private");
	const [together, alone] = [figuresOf("gemm.fp16", 3)[0]!, figuresOf("gemm.fp16.alone", 3)[0]!];
	assert.equal(figuresOf("scaling.fp16", 3)[0], Math.floor((together * 1e6) / alone));
	assert.deepEqual(verdict.confidence[0], { challenge: 0, samples: 3, skippedShareAt99: 1 - 0.01 ** (1 / 3) });
	assert.deepEqual(verdict.findings.map(({ code }) => code).sort(), [
		...[
			"CARD_UNKNOWN",
			"CARD_UNKNOWN",
			"KINDS_APART",
			"KINDS_APART",
			"LOW_SAMPLES",
			"MEMORY_PARTIAL",
			"MEMORY_PARTIAL",
		],
	]);
	assert.equal(verdict.signer, VERIFIER.key);
	const states = verdict.identity.map(({ device, claimed, state }) => ({ device, claimed, state }));
	assert.deepEqual(states, [
		{ device: 0, claimed: "Toy GPU", state: "unknown-name" },
		{ device: 1, claimed: "Toy CPU", state: "unjudged" },
		{ device: 2, claimed: "Toy disk", state: "unjudged" },
		{ device: 3, claimed: "Toy GPU", state: "unknown-name" },
	]);
});

test("a beacon is bound into the seeds", () => {
	const beacon = { kind: "block", value: "00ff" };
	const answered = answerStages(STAGES.slice(0, 1), beacon);
	assert.equal(codeOf(sign(answered, { beacon })), "valid");
	// The roots stay right and only the draw's elements come from other seeds.
	assert.equal(codeOf(sign(answered, { beacon: { kind: "block", value: "00fe" } })), "ELEMENT_WRONG");
});

test("expectations: signer, probe, time, target", () => {
	const { id, startedAtMs } = assemble(ANSWERED).body.probe;
	assert.equal(codeOf(FILE, { signers: [] }), "SIGNER_UNKNOWN");
	assert.equal(codeOf(FILE, { signers: [STRANGER.key] }), "SIGNER_UNKNOWN");
	assert.equal(codeOf(FILE, { signers: [STRANGER.key, VERIFIER.key], probeId: id }), "valid");
	assert.equal(codeOf(FILE, { probeId: "0".repeat(32) }), "REPLAYED");
	assert.equal(codeOf(FILE, { seenProbeIds: new Set([id]) }), "REPLAYED");
	assert.equal(codeOf(FILE, { seenProbeIds: new Set(["0".repeat(32)]) }), "valid");
	assert.equal(codeOf(FILE, { notBeforeMs: startedAtMs + 1 }), "STALE");
	assert.equal(codeOf(FILE, { notBeforeMs: startedAtMs, notAfterMs: startedAtMs + 60_000 }), "valid");
	assert.equal(codeOf(FILE, { notAfterMs: startedAtMs + 59_999 }), "STALE");
	assert.equal(codeOf(FILE, { target: "local" }), "TARGET_OTHER");
	const { body, attachments } = assemble(ANSWERED);
	assert.equal(codeOf(encodeEvidence(body, attachments, STRANGER)), "valid");
	assert.equal(codeOf(encodeEvidence(body, attachments, STRANGER), { signers: [VERIFIER.key] }), "SIGNER_UNKNOWN");
	assert.equal(
		codeOf(encodeEvidence(body, attachments, { key: VERIFIER.key, sign: STRANGER.sign }), { signers: [VERIFIER.key] }),
		"SIGNATURE_WRONG",
	);
});

test("weak or impossible questions", () => {
	assert.equal(codeOf(sign([])), "NO_CHALLENGES");
	const specs: [string, string, number, Partial<Record<string, number>>][] = [
		["NO_SAMPLES", "samples", 0, { samples: 0 }],
		["SPEC_LIMITS", "samples", 0, { samples: 4097 }],
		["SPEC_LIMITS", "m", 0, { m: 0 }],
		["SPEC_LIMITS", "m", 0, { m: 64 }],
		["SPEC_LIMITS", "n", 0, { n: 640 }],
		["SPEC_LIMITS", "k", 0, { k: 65664 }],
		["SPEC_LIMITS", "k", 1, { k: 16512 }],
		["SPEC_LIMITS", "keep", 0, { keep: 0 }],
		["SPEC_LIMITS", "rounds", 0, { rounds: 2 ** 20 + 1 }],
		["SPEC_LIMITS", "rounds", 3, { rounds: 0 }],
		["SPEC_LIMITS", "lanes", 3, { lanes: 128 }],
		["SPEC_LIMITS", "steps", 3, { steps: 256 }],
		["SPEC_LIMITS", "passes", 2, { passes: 0 }],
		["SPEC_DEVICE", "device", 0, { device: 4 }],
		["SPEC_DEVICE", "device", 0, { device: 2 }],
		["SPEC_DEVICE", "device", 3, { device: 2 }],
		["SPEC_LIMITS", "newest", 2, { newest: 2 ** 20 + 1 }],
		["SPEC_LIMITS", "newest", 7, { newest: 2 ** 20 + 1 }],
		["SPEC_OF", "of", 2, { of: 1 }],
		["SPEC_OF", "of", 2, { of: 2 }],
		["SPEC_OF", "of", 2, { of: 3 }],
	];
	for (const [code, field, index, change] of specs)
		expectCode(code, `challenges[${index}].spec.${field}`, (a) => Object.assign(writable(a[index]!.spec), change));
	expectCode("WORK_LIMIT", "challenges", (a) => {
		for (const c of a)
			Object.assign(writable(c.spec), { samples: 4096, ...(c.spec.kind === "fma" && { steps: 2 ** 20 }) });
	});
	expectCode("STAGE_ORDER", "challenges[0].stage", (a) => {
		for (const c of a) writable(c).stage += 1;
	});
	expectCode("STAGE_ORDER", "challenges[2].stage", (a) => {
		for (const c of a.slice(2)) writable(c).stage += 1;
	});
	expectCode("STAGE_ORDER", "challenges[2].stage", (a) => {
		writable(a[2]).stage = 0;
	});
	expectCode("STAGE_ORDER", "challenges[4].stage", (a) => {
		writable(a[4]!.spec).device = 0;
	});
});

test("a stream with something else of its device between it and its gemm", () => {
	const [first, stream] = [STAGES[0]![0]!, STAGES[1]![0]!];
	const between: ChallengeSpec = {
		kind: "fma",
		device: 0,
		precision: "fp32",
		lanes: 256,
		steps: 512,
		rounds: 1,
		samples: 1,
	};
	assert.equal(codeOf(sign(answerStages([[first], [between], [stream]]))), "SPEC_OF");
	assert.equal(codeOf(sign(answerStages([[first], [{ ...between, device: 1 }], [stream]]))), "valid");
	assert.equal(codeOf(sign(answerStages([[first], [stream], [stream]]))), "valid");
});

test("one device posing as two", () => {
	const twice = (uuid: string): EvidenceBody["claim"] => ({
		...CLAIM,
		devices: [...CLAIM.devices, { ...CLAIM.devices[0]!, uuid }],
	});
	assert.equal(codeOf(sign(ANSWERED, { claim: twice("GPU-1") })), "DEVICE_REPEATED");
	assert.equal(codeOf(sign(ANSWERED, { claim: twice(" gpu-1") })), "DEVICE_REPEATED");
	assert.equal(codeOf(sign(ANSWERED, { claim: twice("GPU-3") })), "valid");
});

test("times", () => {
	const at = (i: number) => `challenges[${i}]`;
	expectCode("TIME_ORDER", `${at(0)}.roots.record[0]`, (a) => {
		writable(a[0]!.roots[0]).atUs = a[0]!.sentAtUs - 1;
	});
	expectCode("TIME_ORDER", `${at(0)}.roots.record[2]`, (a) => {
		writable(a[0]!.roots[2]).atUs = a[0]!.roots[1]!.atUs - 1;
	});
	expectCode("TIME_ZERO", `${at(1)}.sentAtUs`, (a) => {
		writable(a[1]!.roots[0]).atUs = a[1]!.sentAtUs;
	});
	expectCode("COMMITMENT_AFTER_OPENING", `${at(0)}.opens[0].sentAtUs`, (a) => {
		writable(a[0]!.opens[0]).sentAtUs = a[0]!.roots[2]!.atUs - 1;
	});
	expectCode("TIME_ORDER", `${at(2)}.opens[1].sentAtUs`, (a) => {
		writable(a[2]!.opens[1]).sentAtUs = a[2]!.opens[0]!.receivedAtUs - 1;
	});
	expectCode("TIME_ORDER", `${at(0)}.opens[0].receivedAtUs`, (a) => {
		writable(a[0]!.opens[0]).receivedAtUs = a[0]!.opens[0]!.sentAtUs - 1;
	});
	expectCode("TIME_ORDER", at(5), () => {}, { probe: { ...assemble(ANSWERED).body.probe, finishedAtUs: 800_000 } });
	expectCode("STAGES_OVERLAP", `${at(2)}.sentAtUs`, (a) => {
		writable(a[2]).sentAtUs = a[0]!.roots[2]!.atUs;
	});
});

test("a name that the figures contradict", () => {
	const named = (name: string) => claimWith(0, { name });
	const verdict = verifyEvidence(sign(ANSWERED, { claim: named("NVIDIA H200") }));
	assert.ok(verdict.status === "invalid");
	assert.deepEqual([verdict.code, verdict.where], ["CARD_CONTRADICTED", "claim.devices[0].name"]);
	// A name that nobody knows is judged by nothing but the figures, and a CPU's name never.
	assert.equal(verifyEvidence(sign(ANSWERED, { claim: named("Toy GPU 2") })).status, "valid");
	for (const device of [1, 2])
		assert.equal(verifyEvidence(sign(ANSWERED, { claim: claimWith(device, { name: "NVIDIA H200" }) })).status, "valid");
});

test("findings", () => {
	const found = (changes: Partial<EvidenceBody>, answered = ANSWERED) => {
		const verdict = verifyEvidence(sign(answered, changes));
		assert.equal(verdict.status, "valid");
		return verdict.status === "valid" ? verdict.findings.map(({ code }) => code) : [];
	};
	const { link } = assemble(ANSWERED).body;
	assert.ok(found({ link: { ...link, handshakeUs: 900, rttUs: [22_701, 22_701, 1] } }).includes("DISTANT_ENGINE"));
	assert.ok(!found({ link: { ...link, handshakeUs: 900, rttUs: [22_700, 22_701, 1] } }).includes("DISTANT_ENGINE"));
	assert.ok(!found({ link: { ...link, handshakeUs: null, rttUs: [99_000] } }).includes("DISTANT_ENGINE"));
	// By the second chase over the same bytes, where there is one: echoes are anybody's.
	const chase: ChallengeSpec = { kind: "chase", device: 1, of: 0, newest: 0, intervals: 2, samples: 1 };
	const far = { link: { ...link, handshakeUs: 900, rttUs: [99_000] } };
	const kept = [{ ...STAGES[0]![0]!, device: 1 }];
	assert.ok(found(far, answerStages([kept, [chase]])).includes("DISTANT_ENGINE"));
	assert.ok(!found(far, answerStages([kept, [chase], [chase]])).includes("DISTANT_ENGINE"));
	assert.ok(!found({}).includes("NO_GPU_PROVEN"));
	// The chase is of another device: nothing shows that the streamed bytes are in one memory.
	const streamed = answerStages(STAGES.slice(0, 2));
	assert.ok(found({}, streamed).includes("MEMORY_LATENCY_UNPROVEN"));
	assert.ok(!found({}).includes("MEMORY_LATENCY_UNPROVEN"));
	const cpuOnly = answerStages([[{ ...STAGES[0]![0]!, device: 1 }]]);
	assert.ok(found({}, cpuOnly).includes("NO_GPU_PROVEN"));
	for (const code of ["GPU_UNSUPPORTED", "HOST_HIDDEN"]) assert.ok(!found({}).includes(code));
	assert.ok(found({ claim: { ...CLAIM, hidden: ["/proc", "/sys"] } }).includes("HOST_HIDDEN"));
	// Eight cards of another vendor are named, and are no reason to count anything more or less.
	const amd = sign(ANSWERED, { claim: { ...CLAIM, unsupported: [{ pciId: "1002:74a1", name: "x", count: 8 }] } });
	const named = verifyEvidence(amd);
	const plain = verifyEvidence(sign(ANSWERED));
	assert.ok(named.status === "valid" && plain.status === "valid");
	assert.deepEqual(
		named.findings.filter((one) => !plain.findings.some(({ code }) => code === one.code)),
		[
			{
				code: "GPU_UNSUPPORTED",
				detail: "8 × AMD Instinct MI300X: not supported yet; only NVIDIA cards can be proven",
			},
		],
	);
	assert.deepEqual([named.figures, named.identity], [plain.figures, plain.identity]);
	const small = { ...CLAIM, devices: [{ ...CLAIM.devices[0]!, memoryBytes: 200_000 }, CLAIM.devices[1]!] };
	const first = ANSWERED.slice(0, 6);
	assert.ok(!found({ claim: small }, first).includes("MEMORY_PARTIAL"));
	assert.ok(found({}).includes("CARD_UNKNOWN"), "the toy's name is in no table");
	// The same claim with a CPU in the GPU's place: a late stream costs it the figure, not the verdict.
	const cpu = { ...CLAIM, devices: [{ ...CLAIM.devices[0]!, kind: "cpu" as const }, CLAIM.devices[1]!] };
	const late = spoiled((a) => {
		a.splice(6);
		// 256 KiB at 1 GB/s take 262 µs; a third of that a pass, two passes: 175 µs.
		for (const answered of a.slice(2)) shift(answered, 180);
		writable(a[2]!).sentAtUs -= 180;
	});
	assert.ok(found({ claim: cpu }, late).includes("MEMORY_UNPROVEN"));
	assert.ok(!found({ claim: cpu }, first).includes("MEMORY_UNPROVEN"));
	const full = answerStages([[{ ...STAGES[0]![0]!, samples: 128 }]]);
	assert.ok(!found({}, full).includes("LOW_SAMPLES"));
	const two = { ...CLAIM, devices: [CLAIM.devices[0]!, { ...CLAIM.devices[0]!, uuid: "GPU-2" }] };
	assert.ok(!found({ claim: two }, first).includes("STAGE_APART"));
	const apart = spoiled((a) => {
		a.splice(2);
		shift(a[1]!, 1_000_000);
	});
	assert.ok(found({ claim: two }, apart).includes("STAGE_APART"));
});
