// The dashboard's pure parts: what is drawn and said, from data that may be hostile.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { formatBytes, formatRate } from "../src/protocol/format-number.ts";
import { decodeEvidence } from "../src/protocol/probe/evidence-codec.ts";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { figureTitle, formatAgo, formatFigure, formatGpuPrice, formatLeft, formatMoney } from "./parts/format.ts";
import { callWords } from "./proofs/call-words.ts";
import { claimedAndProven } from "./proofs/claimed-proven.ts";
import { drawPath, leavesOf, openingsOf, rootsOf } from "./proofs/merkle-path.ts";
import { challengeState, NOTHING_YET, withEvent, wrongCheck } from "./proofs/probe-events.ts";
import { sshCommand } from "./rent/ssh-command.ts";
import { checkRows } from "./verify/check-list.ts";

const file = readFileSync(fileURLToPath(import.meta.resolve("../vectors/h200.assay")));

test("numbers carry three digits and their unit", () => {
	assert.equal(formatRate(1.242e15, "FLOPS"), "1.24 PFLOPS");
	assert.equal(formatFigure(999, "op/s", "gemm.int8"), "999 OPS");
	assert.equal(formatBytes(150_119_448_576), "140 GiB");
	assert.equal(formatFigure(950_000, "ppm", "scaling.fp16"), "95.0 %");
	assert.equal(formatMoney(1_234_567), "1.23\u00a0ASSAY");
	assert.equal(formatGpuPrice({ pricePerHourMicros: 8_000_000, gpuCount: 8 }), "1.00\u00a0ASSAY per GPU-hour");
	assert.equal(formatGpuPrice({ pricePerHourMicros: 8_000_000, gpuCount: 0 }), "8.00\u00a0ASSAY per hour");
	assert.equal(formatMoney(12), "0.000012\u00a0ASSAY");
	assert.equal(formatMoney(12_345_678_900_000), "12\u202f345\u202f678.90\u00a0ASSAY");
	assert.equal(formatAgo(0, 61_000), "61 s ago");
	assert.equal(formatAgo(3_600_000, 0), "in 60 min");
	assert.equal(formatLeft(3_661_000), "1:01:01");
	assert.equal(formatLeft(-5), "0:00:00");
	assert.equal(figureTitle("gemm.int8.sustained"), "int8 matrix, sustained");
	assert.equal(figureTitle("<b>.x.y"), "<b>.x.y");
});

test("checks are told in order; the last one is the one that failed", () => {
	const told: { name: Parameters<typeof checkRows>[0][number]["name"] }[] = [];
	assert.equal(verifyEvidence(file, {}, (name) => told.push({ name })).status, "valid");
	assert.ok(checkRows(told, "passed").every(({ state }) => state === "passed"));
	const right = new Map<number, number>();
	const openings: string[] = [];
	verifyEvidence(file, {}, undefined, (challenge, done, of) => {
		assert.ok(done === 0 ? !right.has(challenge) : done === right.get(challenge)! + 1);
		right.set(challenge, done);
		if (done === of) openings.push(`${challenge}: ${of}`);
	});
	assert.equal(openings.length, 21, "each challenge's openings, one by one, up to the last");
	const spoiled = Uint8Array.from(file);
	spoiled[file.length - 100]! ^= 1;
	const few: typeof told = [];
	assert.equal(verifyEvidence(spoiled, {}, (name) => few.push({ name })).status, "invalid");
	const rows = checkRows(few, "failed");
	assert.deepEqual(
		rows.filter(({ state }) => state === "failed").map(({ name }) => name),
		["container"],
	);
	assert.equal(rows.filter(({ state }) => state === "waiting").length, rows.length - 1);
});

test("a drawn path leads to its root, a spoiled leaf elsewhere, an impossible one nowhere", () => {
	const decoded = decodeEvidence(file);
	assert.ok(decoded.ok);
	const { evidence } = decoded;
	for (const challenge of evidence.envelope.body.challenges) {
		const leaves = leavesOf(challenge, evidence)!;
		const [opening] = openingsOf(challenge, evidence);
		if (opening === undefined) continue;
		const root = rootsOf(challenge, evidence)[opening.round]!;
		const drawn = drawPath(opening, leaves, root)!;
		assert.equal(drawn.isEqual, true);
		assert.equal(drawn.levels.at(-1)!.hash, root);
		const leaf = Uint8Array.from(opening.leaf);
		leaf[0]! ^= 1;
		assert.equal(drawPath({ ...opening, leaf }, leaves, root)!.isEqual, false);
		assert.equal(drawPath({ ...opening, path: [] }, leaves, root), null);
		assert.equal(drawPath({ ...opening, index: leaves }, leaves, root), null);
	}
});

test("a probe's events become stages and challenges; odd ones change nothing that matters", () => {
	const progress = (detail: never) => ({ kind: "probe.progress", detail });
	let live = NOTHING_YET;
	for (const detail of [
		{ step: "claim", devices: 2, rttUs: 900 },
		{
			step: "stage",
			stage: 0,
			name: "gpu fill",
			challenges: 1,
			asked: [{ challenge: 0, device: 1, what: "gemm", of: 4 }],
		},
		{ step: "stage", stage: 0, name: "gpu fill", challenges: 1, asked: "none" },
		{ step: "root", challenge: 0, device: 1, what: "gemm", done: 1, of: 4, perS: 5 },
		{ step: "root", challenge: 0, device: 1, what: "gemm", done: 4, of: 4, perS: 7 },
		{ step: "opened", challenge: 0, openings: 9, end: "complete" },
		{ step: "checked", checked: [[0, 5, 9], [7], null, "x"] },
		{ step: "root", challenge: "x", done: -1.5, perS: null },
	])
		live = withEvent(live, progress(detail as never));
	assert.deepEqual([live.devices, live.stages.length], [2, 1]);
	assert.deepEqual(live.challenges[0]!.done, 0, "a challenge without a number counts as the first and shows nothing");
	const [first] = live.challenges;
	assert.deepEqual([first!.openings, first!.checks, first!.checked, live.challenges.length], [9, 9, 5, 1]);
	live = withEvent(live, { kind: "probe.verdict", detail: { verdict: "invalid", code: "ROOT_MISMATCH" } });
	assert.deepEqual([live.isOver, live.verdict, live.code], [true, "invalid", "ROOT_MISMATCH"]);
	assert.equal(withEvent(NOTHING_YET, { kind: "probe.progress", detail: null }).isOver, false);
});

test("a challenge is checked when its spot checks are, whatever number of places they open; an unfinished one is not", () => {
	const events = [
		{ step: "opened", challenge: 4, openings: 32, end: "complete" },
		{ step: "opened", challenge: 4, openings: 1024, end: "complete" },
		{ step: "checked", checked: [[4, 15, 16]] },
	];
	const after = (count: number) =>
		events
			.slice(0, count)
			.reduce((live, detail) => withEvent(live, { kind: "probe.progress", detail } as never), NOTHING_YET)
			.challenges[0]!;
	assert.equal(challengeState(after(2), null, null), "opened");
	assert.equal(challengeState(after(3), null, null), "opened", "15 of 16");
	const [whole] = withEvent(
		{ ...NOTHING_YET, challenges: [after(3)] },
		{ kind: "probe.progress", detail: { step: "checked", checked: [[4, 16, 16]] } },
	).challenges;
	assert.equal(challengeState(whole!, null, null), "checked");
	// Events of the checks may not come: the verdict says it as well, and only a valid one does.
	assert.equal(challengeState(after(2), "valid", null), "checked");
	for (const verdict of ["inconclusive", "invalid"]) assert.equal(challengeState(after(3), verdict, null), "opened");
	assert.equal(challengeState({ ...after(1), openings: null, done: 1 }, "valid", null), "running");
	const of = [{ challenge: 4, what: "chase" }, ...["gemm", "train"].map((what, i) => ({ challenge: i, what }))];
	const wrong = (where: string, status = "invalid") => wrongCheck({ status, where }, of);
	assert.deepEqual(wrong("challenges[0].opens[0].record[5]"), { challenge: 0, check: 5 });
	assert.deepEqual(wrong("challenges[4].opens[0].record[5]"), { challenge: 4, check: 2 }, "two labels a check");
	assert.deepEqual(wrong("challenges[4].opens[1].interval[3].record[7]"), { challenge: 4, check: 3 });
	assert.deepEqual(wrong("challenges[1].opens[1].record[5]"), { challenge: 1, check: null });
	assert.deepEqual(wrong("challenges[1].roots"), { challenge: 1, check: null });
	assert.equal(challengeState(after(3), "invalid", wrong("challenges[4].roots")), "wrong");
	for (const where of ["", "figures[0]", "x challenges[3].opens[0].record[5]"]) assert.equal(wrong(where), null);
	assert.equal(wrong("challenges[0].opens[0].record[5]", "inconclusive"), null);
});

test("a roll call's red is for answers that were shown to be false, not for who was busy, slow or away", () => {
	const busy = [
		["wrong", "CALL_TOO_LITTLE", "too slow"],
		["absent", "PROVIDER_BUSY", "busy"],
		["absent", "AGENT_CLOSED", "away"],
		["late", null, "late"],
		["wrong", "LINK_DEADLINE", "not opened"],
	] as const;
	for (const [state, code, word] of busy) {
		const words = callWords(state, code);
		assert.deepEqual([words.tone, words.word], ["inconclusive", word]);
		assert.notEqual(words.why, "");
	}
	for (const code of ["ROOT_MISMATCH", "ELEMENT_WRONG", "CALL_HOST_SIGNATURE"])
		assert.deepEqual(callWords("wrong", code).tone, "invalid", code);
	assert.deepEqual(callWords("answered", null), { tone: "valid", word: "answered", why: "" });
	assert.equal(callWords("excused", null).tone, "none");
	assert.equal(callWords("wrong", "A_CODE_OF_TOMORROW").tone, "inconclusive");
});

test("claimed beside proven: the H200 agrees, half the memory differs", () => {
	const verdict = verifyEvidence(file);
	const decoded = decodeEvidence(file);
	assert.ok(verdict.status === "valid" && decoded.ok);
	const { claim } = decoded.evidence.envelope.body;
	const known = {
		device: 0,
		kind: "gpu",
		claimedName: claim.devices[0]!.name,
		uuid: "",
		memoryBytes: 0,
		profile: "H200",
	} as const;
	const figures = verdict.figures.map((figure) => ({ ...figure, probeId: "", evidenceSha256: "", atMs: 0 }));
	const [card] = claimedAndProven({ claim: claim as never, devices: [{ ...known, identity: "confirmed" }], figures });
	assert.ok(card!.lines.length > 6);
	assert.deepEqual(
		card!.lines.filter(({ mark }) => mark === "differs"),
		[],
	);
	const halved = figures.map((figure) =>
		figure.name === "memory.resident" ? { ...figure, value: figure.value / 2 } : figure,
	);
	const [other] = claimedAndProven({
		claim: claim as never,
		devices: [{ ...known, identity: "other" }],
		figures: halved,
	});
	assert.deepEqual(
		other!.lines.filter(({ mark }) => mark === "differs").map(({ what }) => what),
		["Card", "Memory"],
	);
	assert.deepEqual(claimedAndProven({ claim: null, devices: [], figures: [] }), []);
});

test("a connection string is only made of what looks like a host and a user", () => {
	assert.equal(sshCommand({ host: "10.0.0.1", port: 22, user: "renter" }), "ssh -p 22 renter@10.0.0.1");
	for (const [host, user] of [
		["x; rm -rf ~", "u"],
		["-oProxyCommand=x", "u"],
		["h", "$(id)"],
		["h", "-l"],
	] as const)
		assert.equal(sshCommand({ host, port: 22, user }), null);
});
