// The provider's word in a file: what it adds, and that a verifier can neither make, move nor leave out a
// part of it. Tries that were dropped, and one device that is served in turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { ChallengeSpec, ChaseSpec, DroppedTry, EvidenceBody } from "../../protocol/probe/evidence.ts";
import { type AnsweredChallenge, packChallenges } from "../../protocol/probe/evidence-codec.ts";
import { deriveFigures } from "./derive-figures.ts";
import {
	answerStages,
	CLAIM,
	countersigned,
	NONCES,
	PROVIDER,
	SECRET,
	STAGES,
	STRANGER,
	sign,
	VERIFIER,
} from "./honest-evidence.test-kit.ts";
import { shift, writable } from "./spoiled-evidence.test-kit.ts";
import { verifyEvidence } from "./verify.ts";

const ANSWERED = answerStages(STAGES, null, SECRET, () => {}, NONCES);
const WORD = countersigned(ANSWERED);

function verdictOf(change: (body: ReturnType<typeof writable>) => void = () => {}, answered = ANSWERED) {
	const more = structuredClone(countersigned(answered)) as Partial<EvidenceBody>;
	change(more);
	return verifyEvidence(sign(answered, more));
}
const codeOf = (...args: Parameters<typeof verdictOf>) => {
	const verdict = verdictOf(...args);
	return verdict.status === "valid" ? verdict.strength : `${verdict.code} ${verdict.where}`;
};

test("with the provider's word a file is countersigned, and says whose word it is", () => {
	const verdict = verdictOf();
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	assert.deepEqual([verdict.strength, verdict.signer, verdict.host], ["countersigned", VERIFIER.key, PROVIDER.key]);
});

test("a verifier cannot make, move, mend or leave out any part of the word", () => {
	const { stages } = WORD.countersign!;
	const other = STRANGER.key;
	const wrong = (where: string) => `COUNTERSIGN_WRONG countersign.${where}`;
	assert.equal(
		codeOf((b) => (b.countersign = null)),
		"OPENING_PLACE challenges[0].opens[0].record[0]",
		"without the word the places are others",
	);
	assert.equal(
		codeOf((b) => (b.countersign.key = other)),
		wrong("key"),
	);
	const weak = "00".repeat(32);
	const everybodys = (b: ReturnType<typeof writable>) => {
		b.countersign.key = weak;
		b.link.hostKey = `ed25519:${weak}`;
	};
	assert.equal(codeOf(everybodys), wrong("key"), "everybody's key");
	assert.equal(
		codeOf((b) =>
			Object.assign(b, {
				countersign: { ...b.countersign, key: other },
				link: { ...b.link, hostKey: `ed25519:${other}` },
			}),
		),
		wrong("stages[0].signature"),
	);
	assert.equal(
		codeOf((b) => (b.link.kind = "ssh")),
		wrong("key"),
	);
	assert.equal(
		codeOf((b) => (b.countersign.commitment = "11".repeat(32))),
		wrong("stages[0].nonce"),
	);
	assert.equal(
		codeOf((b) => (b.countersign.stages[2].nonce = stages[1]!.nonce)),
		wrong("stages[2].nonce"),
	);
	assert.equal(
		codeOf((b) => (b.countersign.stages[2].signature = stages[1]!.signature)),
		wrong("stages[2].signature"),
	);
	assert.equal(
		codeOf((b) => b.countersign.stages.pop()),
		wrong(`stages[${stages.length - 1}]`),
	);
	assert.equal(
		codeOf((b) => b.countersign.stages.push({ ...stages.at(-1)!, nonce: bytesToHex(NONCES.nonceOf(stages.length)) })),
		wrong(`stages[${stages.length}].spansUs`),
	);
	assert.equal(
		codeOf((b) => (b.countersign.stages[0].spansUs[0] *= 2)),
		wrong("stages[0].spansUs"),
		"the host saw it slower",
	);
	assert.equal(
		codeOf((b) => (b.countersign.stages[0].spansUs[0] -= 1)),
		wrong("stages[0].signature"),
	);
	assert.equal(
		codeOf((b) => b.countersign.stages[0].spansUs.pop()),
		wrong("stages[0].spansUs"),
	);
	const devices = CLAIM.devices.map((device) => ({ ...device, name: "NVIDIA H200" }));
	assert.equal(
		codeOf((b) => (b.claim = { ...CLAIM, devices })),
		wrong("stages[0].signature"),
		"another card",
	);
	// Signed for another probe, or for another verifier.
	const moved = sign(ANSWERED, { ...WORD, probe: { ...probeOf(), id: "22".repeat(16) } });
	const verdict = verifyEvidence(moved);
	assert.ok(verdict.status === "invalid" && verdict.where === "countersign.stages[0].signature");
});

function probeOf(): EvidenceBody["probe"] {
	return { id: "", startedAtMs: 1, finishedAtUs: 60_000_000, target: "toy", verifier: "toy" };
}

test("a root that the provider did not give is not under its word", () => {
	const answered = structuredClone(ANSWERED) as AnsweredChallenge[];
	const signedBefore = countersigned(answered);
	writable(answered[4]).roots[0].root[0] ^= 1;
	const verdict = verifyEvidence(sign(answered, signedBefore));
	assert.ok(verdict.status === "invalid");
	assert.deepEqual([verdict.code, verdict.where], ["COUNTERSIGN_WRONG", "countersign.stages[2].signature"]);
});

test("a provider that answers and then gives no word is shown no places: nothing is concluded", () => {
	const last = Math.max(...ANSWERED.map(({ stage }) => stage));
	const answered = ANSWERED.map((one) => (one.stage === last ? { ...one, opens: [] } : one));
	assert.equal(
		codeOf((b) => b.countersign.stages.pop(), answered),
		`COUNTERSIGN_MISSING countersign.stages[${last}]`,
	);
	// With the word it had to be opened.
	assert.match(
		codeOf(() => {}, answered),
		/^OPENS_MISSING/,
	);
});

/** A gemm and the chase over it; and one over a third of it. */
const CHASED: typeof STAGES = [STAGES.at(-2)!, [{ ...(STAGES.at(-1)![0] as ChaseSpec), of: 0 }]];
const [WHOLE] = CHASED[1]!;
const PART: typeof STAGES = [...CHASED, [WHOLE!], [WHOLE!], [{ ...(WHOLE as ChaseSpec), newest: 1, samples: 1 }]];

test("memory of several machines is slow against a part of itself; what is slow all over accuses nobody", () => {
	const slower = (indices: readonly number[], byUs: number, stages = CHASED) => {
		const answered = structuredClone(answerStages(stages)) as AnsweredChallenge[];
		for (const index of indices) {
			for (const root of writable(answered[index]).roots) root.atUs += byUs * (root.index + 1);
			for (const open of answered[index]!.opens) {
				writable(open).sentAtUs += 10 * byUs;
				writable(open).receivedAtUs += 10 * byUs;
			}
			for (const later of answered.slice(index + 1)) shift(later, 20 * byUs);
		}
		const verdict = verifyEvidence(sign(answered));
		return verdict.status === "valid" ? "valid" : `${verdict.code} ${verdict.where}`;
	};
	// 512 hops in 0.3 ms; over a part as well.
	assert.equal(slower([1, 2, 3], 590, PART), "valid");
	assert.equal(slower([1, 2, 3], 610, PART), "MEMORY_APART challenges[1]");
	// One of the three was fast: the network stood still in the others.
	assert.equal(slower([1, 3], 610, PART), "valid");
	// Nothing to compare with: the card may be shared in time.
	assert.equal(slower([1], 610), "valid");
	assert.equal(slower([1], 60_000), "valid");
	// The part took as long, too.
	assert.equal(slower([1, 2, 3, 4], 10_000, PART), "valid");
});

test("a state that does not follow from what was read is found where it is opened", () => {
	// A prover that makes up label r commits to it like to any other: only the hops tell, in r or right after
	// it.
	const codes = Array.from({ length: 8 }, (_, r) => {
		const answered = answerStages(CHASED, null, SECRET, (challenge, bytes) => {
			if (challenge !== 1) return;
			for (let chain = 0; chain < 4; chain++) bytes[32 * r + 8 * chain]! ^= 1;
		});
		const verdict = verifyEvidence(sign(answered));
		return verdict.status === "valid" ? "valid" : verdict.code;
	});
	assert.ok(codes.includes("CHASE_WRONG"), codes.join());
	assert.ok(codes.includes("OPENING_PLACE"), codes.join());
	// Two of seven intervals are opened, each of which sees two labels and all that lies to the left.
	assert.ok(codes.filter((code) => code !== "valid").length >= 3, codes.join());
});

const [STAGE] = STAGES;
const TRY: DroppedTry = { stage: 0, attempt: 0, sentAtUs: 100, endedAtUs: 900, specs: [...STAGE!], refused: [1] };
const again = (answered: AnsweredChallenge[], dropped: DroppedTry[]) => {
	const verdict = verifyEvidence(sign(answered, { dropped }));
	return verdict.status === "valid" ? "valid" : `${verdict.code} ${verdict.where}`;
};

test("a stage that was asked again: the try is in the file, the attempt in the seeds", () => {
	const plain = answerStages(STAGES);
	const second = answerStages(STAGES, null, SECRET, () => {}, null, [1]);
	assert.equal(again(second, [TRY]), "valid");
	assert.equal(again(second, []), "ATTEMPT_WRONG challenges[0].attempt", "a try that is kept quiet");
	assert.equal(again(plain, [TRY]), "ATTEMPT_WRONG challenges[0].attempt", "a try that nobody made");
	// The answers of the first try, played again: the seeds are others now.
	const replayed = plain.map((one) => ({ ...one, attempt: one.stage === 0 ? 1 : 0 }));
	assert.match(again(replayed, [TRY]), /^ELEMENT_WRONG|^OPENING/);
	for (const [spoilt, field] of [
		[{ ...TRY, attempt: 1 }, "attempt"],
		[{ ...TRY, refused: [] }, "refused"],
		[{ ...TRY, refused: [3] }, "refused"],
		[{ ...TRY, endedAtUs: 50 }, "sentAtUs"],
		[{ ...TRY, endedAtUs: 2_000_000 }, "sentAtUs"],
	] as const)
		assert.equal(again(second, [spoilt]), `ATTEMPT_WRONG dropped[0].${field}`);
});

test("one device shown as four and served in turn proves no more than it has", () => {
	const gpu = CLAIM.devices[0]!;
	const claim = { ...CLAIM, devices: [gpu, gpu, gpu, gpu] };
	const spec: ChallengeSpec = {
		...{ kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 10, keep: 1, samples: 1 },
	};
	const perS = 2 * 128 * 512 * 128 * 10;
	/** `lastUs` of each device, rounds even between `fromUs` and it. */
	const sumOf = (...spans: readonly (readonly [fromUs: number, lastUs: number])[]) => {
		const answered = spans.map(([fromUs, lastUs], device): AnsweredChallenge => {
			const roots = Array.from({ length: 10 }, (_, index) => ({
				...{ index, atUs: fromUs + ((lastUs - fromUs) * (index + 1)) / 10, root: new Uint8Array(32) },
			}));
			return { spec: { ...spec, device }, stage: 0, attempt: 0, sentAtUs: 0, roots, end: "complete", opens: [] };
		});
		const { challenges, attachments } = packChallenges(answered);
		const figures = deriveFigures({ challenges, claim, attestations: [] }, attachments);
		return figures.reduce((sum, { value }) => sum + value, 0) / perS;
	};
	const S = 1_000_000;
	// In turn: 1 + ½ + ⅓ + ¼ of the one device by its own times, and no more than it has by the common one.
	const inTurn = sumOf([0, S], [S, 2 * S], [2 * S, 3 * S], [3 * S, 4 * S]);
	assert.ok(Math.abs(inTurn - 1) < 1e-6, `${inTurn}`);
	// Four honest ones that end together lose nothing; one card of half the speed beside them costs the others
	// little.
	assert.ok(Math.abs(sumOf([0, S], [0, S], [0, S], [0, S]) - 4) < 1e-6);
	assert.ok(sumOf([0, S], [0, S], [0, S], [0, 2 * S]) >= 3.5);
});
