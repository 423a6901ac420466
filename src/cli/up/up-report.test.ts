// What `assay up` prints of probes, roll calls and scores: one line each, in words that are true.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NetworkEvent } from "../../api/types.ts";
import { plain } from "../print/paint.ts";
import { createUpReport } from "./up-report.ts";

interface Told {
	readonly scorePpm: number;
	readonly why: string;
}

function open(scores: readonly Told[] = []) {
	let text = "";
	const left = [...scores];
	const terms = { name: "score", value: 0, unit: "ppm", rule: "given", from: [] };
	const client = {
		getProvider: async ({ params: { id } }: { params: { id: string } }) => ({ name: `host ${id}`, claim: null }),
		getProbe: async ({ params: { id } }: { params: { id: string } }) => ({
			...{ id, verdict: "valid", code: null, detail: null, startedAtMs: 1000, finishedAtMs: 9000 },
			...{ evidenceBytes: 3 << 20, figures: [], devices: [], attestation: null },
		}),
		getProviderScore: async () => {
			const { scorePpm, why } = left.shift()!;
			return { atMs: 9000, scorePpm, terms: { why, root: terms } };
		},
	};
	const stream = { isTTY: false, columns: 80, write: (more: string) => (text += more) };
	const report = createUpReport({ stream, paint: plain, client: client as never, isTrial: true, onScore: () => {} });
	const show = (kind: string, subject: string, more: object = {}) =>
		report.show({ id: "1", kind, subject, providerId: null, atMs: 9000, detail: {}, ...more } as NetworkEvent);
	return { report, show, lines: () => text.trimEnd().split("\n") };
}

test("a probe is one line, and a score is told when it has changed", async () => {
	const none = { scorePpm: 0, why: "no roll call has come yet" };
	const late = { scorePpm: 0, why: "no roll call was answered" };
	const { show, lines } = open([none, none, { scorePpm: 460, why: "" }, { scorePpm: 470, why: "" }, late, late]);
	const at = { providerId: "a" };
	for (const probe of ["p1", "p2", "p3", "p4", "p5", "p6"]) {
		await show("probe.started", probe, at);
		for (const name of ["cpu keep", "cpu stream"])
			await show("probe.progress", probe, { ...at, detail: { step: "stage", name } });
		await show("probe.verdict", probe, at);
	}
	assert.deepEqual(lines(), [
		"VALID     host a, probe p1 in 8.0 s  evidence 3.00 MiB",
		"score     host a has none yet: it comes with the first roll call, within a minute",
		"VALID     host a, probe p2 in 8.0 s  evidence 3.00 MiB",
		"VALID     host a, probe p3 in 8.0 s  evidence 3.00 MiB  score 0.000460",
		"VALID     host a, probe p4 in 8.0 s  evidence 3.00 MiB  score 0.000470",
		"VALID     host a, probe p5 in 8.0 s  evidence 3.00 MiB",
		"score     host a 0.000000: no roll call was answered",
		"VALID     host a, probe p6 in 8.0 s  evidence 3.00 MiB",
	]);
});

test("the first score that a roll call gives is told with its terms, and once", async () => {
	const { show, lines } = open([
		{ scorePpm: 460, why: "" },
		{ scorePpm: 460, why: "" },
	]);
	for (const scorePpm of [0, 460, 470]) await show("score.changed", "a", { providerId: "a", detail: { scorePpm } });
	assert.deepEqual(lines(), ["score     host a 0.000460"]);
});

test("a further provider of the same machine is told of in one line, without a score", async () => {
	const { report, show, lines } = open();
	report.further("b");
	await show("probe.verdict", "p1", { providerId: "b" });
	assert.deepEqual(lines(), ["VALID     host b, probe p1 in 8.0 s  evidence 3.00 MiB"]);
});

test("a roll call tells who answered of those that were to, and that a busy host was too slow", async () => {
	const { show, lines } = open();
	const done = { answered: 1, counted: 1, devices: 1, late: 0, uncalled: 2 };
	await show("roll-call.called", "40", { detail: { hosts: 1 } });
	await show("roll-call.done", "40", { detail: done });
	await show("roll-call.done", "56", { detail: { ...done, answered: 0, devices: 0, late: 1 } });
	await show("roll-call.done", "59", { detail: { ...done, answered: 1, counted: 4, late: 2, busy: 1 } });
	await show("roll-call.done", "62", { detail: { ...done, answered: 0, counted: 0 } });
	await show("roll-call.void", "65", { detail: { code: "ROLL_CALL_VOID" } });
	assert.deepEqual(lines(), [
		"roll call block 40: 1 of 1 host answered; 1 device together, opened and verified",
		"roll call block 56: 0 of 1 host answered; one was too slow at that moment",
		"roll call block 59: 1 of 4 hosts answered; 1 device together, opened and verified; 2 were too slow at that moment; one was at work",
		"roll call block 65: void, ROLL_CALL_VOID",
	]);
});
