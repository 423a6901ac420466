// Peers, disks, devices together and alone, cards that refuse: what several devices of one host prove
// together, and what they do not.
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
	ChallengeSpec,
	CopySpec,
	EvidenceBody,
	GemmSpec,
	HostClaim,
	StreamSpec,
} from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import { answerStages, CLAIM, sign } from "./honest-evidence.test-kit.ts";
import { ANSWERED, claimWith, codeOf, expectCode, shift, spoiled, writable } from "./spoiled-evidence.test-kit.ts";
import { verifyEvidence } from "./verify.ts";

const GEMM: GemmSpec = {
	kind: "gemm",
	device: 1,
	precision: "int8",
	m: 128,
	n: 512,
	k: 128,
	rounds: 2,
	keep: 2,
	samples: 2,
};
const COPY: CopySpec = { kind: "copy", device: 2, of: 0, newest: 0, samples: 1 };
const READ_BACK: StreamSpec = { kind: "stream", device: 2, of: 0, newest: 0, passes: 2, samples: 2 };

function verdictOf(answered: readonly AnsweredChallenge[], changes: Partial<EvidenceBody> = {}) {
	const verdict = verifyEvidence(sign(answered, changes));
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	return verdict;
}

const namesOf = (verdict: Extract<Verdict, { status: "valid" }>, device: number) =>
	verdict.figures.filter((figure) => figure.device === device).map(({ name }) => name);
const findingsOf = (verdict: Extract<Verdict, { status: "valid" }>) => verdict.findings.map(({ code }) => code);

test("which streams and copies can be asked", () => {
	const code = (stages: ChallengeSpec[][], claim: HostClaim = CLAIM) => codeOf(sign(answerStages(stages), { claim }));
	assert.equal(code([[GEMM], [COPY], [READ_BACK]]), "valid");
	assert.equal(code([[GEMM], [READ_BACK]]), "SPEC_OF", "a disk that was given nothing");
	assert.equal(code([[GEMM], [{ ...COPY, newest: 1 }], [READ_BACK]]), "SPEC_OF", "given less than it shall show");
	assert.equal(code([[GEMM], [COPY], [{ ...COPY, newest: 1 }], [READ_BACK]]), "SPEC_OF", "a later copy replaces it");
	assert.equal(code([[GEMM], [GEMM], [{ ...COPY, of: 1 }], [READ_BACK]]), "SPEC_OF", "something ran in between");
	assert.equal(code([[GEMM], [{ ...COPY, device: 0 }]]), "SPEC_OF", "a copy to a card");
	assert.equal(code([[{ ...GEMM, device: 0 }], [COPY]]), "SPEC_OF", "a copy from a card");
	assert.equal(code([[{ ...GEMM, device: 0 }], [{ ...READ_BACK, device: 3 }]]), "valid", "a peer");
	assert.equal(code([[{ ...GEMM, device: 0 }], [{ ...READ_BACK, device: 1 }]]), "SPEC_OF", "no peer of a card");
	const both: ChallengeSpec[] = [
		{ ...READ_BACK, device: 0 },
		{ ...READ_BACK, device: 3 },
	];
	assert.equal(code([[{ ...GEMM, device: 0 }], both]), "STAGE_ORDER", "two readers of one session at once");
});

test("a disk that reads back too slowly to tell it from the CPU proves nothing, and is not accused", () => {
	// 128 KiB; the CPU makes them again at 167 Mop/s ÷ 128 = 1.3 MB/s in 100 ms. A third of that a pass, two
	// passes: 66 ms.
	const slower = (us: number) =>
		spoiled((a) => {
			for (const answered of a.slice(8)) shift(answered, us);
			writable(a[8]!).sentAtUs -= us;
		});
	const early = verdictOf(slower(60_000));
	assert.deepEqual(namesOf(early, 2), ["disk.write", "disk.stored", "disk.read"]);
	assert.ok(!findingsOf(early).includes("DISK_UNPROVEN"));
	const late = verdictOf(slower(70_000));
	assert.deepEqual(namesOf(late, 2), [], "what was written does not count either");
	assert.ok(findingsOf(late).includes("DISK_UNPROVEN"));
	assert.ok(!findingsOf(late).includes("MEMORY_UNPROVEN"));
});

test("a copy that is never read back proves nothing", () => {
	const verdict = verdictOf(answerStages([[GEMM], [COPY]]));
	assert.deepEqual(namesOf(verdict, 2), []);
	assert.ok(findingsOf(verdict).includes("DISK_UNPROVEN"));
});

test("a copy that is refused counts for nothing; once written, it must come back", () => {
	const refused = (index: number) =>
		spoiled((a) => {
			a.splice(index + 1);
			Object.assign(writable(a[index]), { end: "refused", roots: [], opens: [] });
		});
	// Of a disk beside a GPU that answered, it is that disk's loss alone.
	const aside = verdictOf(refused(7));
	assert.deepEqual(namesOf(aside, 2), []);
	assert.ok(findingsOf(aside).includes("DEVICE_REFUSED") && !findingsOf(aside).includes("DISK_UNPROVEN"));
	assert.ok(!findingsOf(aside).includes("STAGE_APART"));
	const noGpu = [[GEMM], [COPY]];
	const copyRefused = answerStages(noGpu).map((one) =>
		one.spec.kind === "copy" ? { ...one, end: "refused" as const, roots: [], opens: [] } : one,
	);
	assert.equal(codeOf(sign(copyRefused)), "CHALLENGE_REFUSED");
	assert.equal(codeOf(sign(refused(8))), "STREAM_WITHHELD");
	assert.equal(codeOf(sign(refused(11))), "STREAM_WITHHELD");
});

test("alone is what the records show: one device, after all of them at once", () => {
	const card: GemmSpec = { ...GEMM, device: 0, precision: "fp16" };
	const other: GemmSpec = { ...card, device: 3 };
	const names = (stages: ChallengeSpec[][], claim: HostClaim = CLAIM) =>
		namesOf(verdictOf(answerStages(stages), { claim }), 0);
	assert.deepEqual(names([[card, other], [card]]), ["gemm.fp16", "gemm.fp16.alone", "scaling.fp16"]);
	assert.deepEqual(names([[card], [card]]), ["gemm.fp16", "gemm.fp16"], "nothing to compare with");
	assert.deepEqual(names([[card], [card, other]]), ["gemm.fp16", "gemm.fp16"], "only what came before");
	assert.deepEqual(
		names([
			[card, other],
			[card, other],
		]),
		["gemm.fp16", "gemm.fp16"],
		"not alone",
	);
	assert.deepEqual(names([[card, other], [{ ...card, k: 256 }]]), ["gemm.fp16", "gemm.fp16"], "another product");
	assert.deepEqual(
		names([[card, { ...GEMM, device: 1 }], [card]]),
		["gemm.fp16", "gemm.fp16"],
		"a CPU is no other card",
	);
});

test("cards that were asked one after the other give no scaling, and the verdict says so", () => {
	const apart = spoiled((a) => {
		for (const answered of a.slice(10)) shift(answered, 1_000_000);
	});
	const verdict = verdictOf(apart);
	assert.ok(!verdict.figures.some(({ name }) => name.startsWith("scaling.") || name.endsWith(".alone")));
	assert.ok(findingsOf(verdict).includes("STAGE_APART"));
	assert.ok(!findingsOf(verdictOf(ANSWERED)).includes("STAGE_APART"));
});

test("a stage alone does not overlap another", () => {
	expectCode("STAGES_OVERLAP", "challenges[14].sentAtUs", (a) => shift(a[14]!, -600));
});

test("a card that refuses memory it claimed free, while another fills its own", () => {
	const refuse = (...indices: number[]) =>
		spoiled((a) => {
			a.splice(11);
			for (const index of indices) Object.assign(writable(a[index]), { end: "refused", roots: [], opens: [] });
		});
	const verdict = verifyEvidence(sign(refuse(10)));
	assert.ok(verdict.status === "invalid");
	assert.deepEqual([verdict.code, verdict.where], ["CARD_WITHOUT_MEMORY", "challenges[10].end"]);
	// All refuse: the host may be busy. More was asked than was claimed free: the verifier's mistake.
	assert.equal(codeOf(sign(refuse(9, 10))), "CHALLENGE_REFUSED");
	assert.equal(codeOf(sign(refuse(10), { claim: claimWith(3, { freeBytes: 262_143 }) })), "CHALLENGE_REFUSED");
});

test("a CPU that refuses beside a card is no card: the card's verdict stands, and nothing of the CPU's counts", () => {
	const refuse = (...indices: number[]) =>
		spoiled((a) => {
			a.splice(2);
			for (const index of indices) Object.assign(writable(a[index]), { end: "refused", roots: [], opens: [] });
		});
	const verdict = verdictOf(refuse(1));
	assert.deepEqual([namesOf(verdict, 0), namesOf(verdict, 1)], [["gemm.int8"], []]);
	const said = findingsOf(verdict);
	assert.ok(said.includes("DEVICE_REFUSED") && !said.includes("STAGE_APART") && !said.includes("KINDS_APART"));
	// A card that refuses is none: who shows one of two is not valid for one. Nor where nobody answered.
	assert.equal(codeOf(sign(refuse(0))), "CHALLENGE_REFUSED");
	assert.equal(codeOf(sign(refuse(0, 1))), "CHALLENGE_REFUSED");
	// What broke off, or came as garbage, ended the link: that is no refusal.
	for (const end of ["silent", "garbage"] as const) {
		const broken = refuse(1);
		Object.assign(broken[1]!, { end });
		assert.equal(codeOf(sign(broken)), end === "silent" ? "CHALLENGE_SILENT" : "CHALLENGE_GARBAGE");
	}
});

test("readings: of claimed devices, in order, within the probe; what they say is nobody's proof", () => {
	const reading = { device: 0, atUs: 5, coreMHz: 1, memoryMHz: 1, powerMw: 1, temperatureC: 1, throttle: 1 };
	const code = (...readings: (typeof reading)[]) => codeOf(sign(ANSWERED, { readings }));
	assert.equal(code(), "valid");
	assert.equal(code(reading, reading), "valid");
	assert.equal(code({ ...reading, device: 4 }), "SPEC_DEVICE");
	assert.equal(code(reading, { ...reading, atUs: 4 }), "TIME_ORDER");
	assert.equal(code({ ...reading, atUs: 60_000_001 }), "TIME_ORDER");
	assert.equal(code({ ...reading, throttle: 2 ** 32 }), "ENVELOPE_SHAPE");
});
