// Jobs on a host, before a desk that is honest or not: parts are taken, run, claimed and answered for; killed
// or stopped at any moment the same claim comes; nothing is taken that its terms, its bytes or its owner's
// limits speak against.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { modelledMs, partWork } from "../../market/jobs/fitting-hosts.ts";
import { type After, realAfter } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { encodeCanonicalJson } from "../../protocol/bytes/canonical-json.ts";
import { mlpSample } from "../../work/builder/samples.test-kit.ts";
import { PROVEN_H200 } from "../../work/cost/work-time.ts";
import { segmentWork } from "../../work/program/job-work.ts";
import { readClaim } from "../../work/runs/claim-file.ts";
import type { PartOffer } from "./job-desk.ts";
import { JOB, ToyDesk } from "./toy-desk.test-kit.ts";
import { ASKED, type Host, isCode, isState, LIMITS, soonAfter, startHost, VALIDATOR } from "./toy-host.test-kit.ts";
import { toyRun, toyWorkload } from "./toy-run.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-host-jobs-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;
const newFolder = (): string => join(scratch, `host${folders++}`);

const untilBegun = async (desk: ToyDesk) => {
	while (desk.beats.every(({ done }) => done < 3)) await new Promise((resolve) => setTimeout(resolve, 1));
};
const sample = mlpSample();
const deskOf = (segments = 20, parts = 1) => ToyDesk.open(toyWorkload(sample, segments), parts);
const claimOf = (path: string) =>
	readClaim(readFileSync(join(path, "claim.json")), readFileSync(join(path, "states.bin")));

test("a part that cannot be done in time is handed back; one that can is not, nor an audit", async () => {
	const play = async (workMs: number, audit: number | null = null) => {
		const desk = await deskOf();
		Object.assign(desk.terms, { workMs });
		// Whoever looks at the clock finds it a fifth of a second later: some seconds for the whole part.
		let clockMs = 1e12;
		const nowMs = () => {
			clockMs += 200;
			return clockMs;
		};
		desk.nowMs = () => clockMs;
		await using host = await startHost(newFolder(), desk, { nowMs, after: soonAfter });
		await host.nudge(audit === null ? {} : { audit });
		const end = await host.until(({ state }) => ["returned", "claimed", "answered", "lost"].includes(state));
		assert.equal(host.held, 0, "it is free for others");
		return { end, said: desk.said, heard: desk.heard };
	};
	const long = await play(4000);
	assert.equal(long.end.state, "returned");
	assert.match(long.end.detail, /the rest takes [\d.]+ s here, and [\d.]+ s are left/);
	assert.deepEqual([long.said.at(-1), long.said.includes("claim")], ["decline", false]);
	assert.match(String(long.heard.at(-1)!.body), /the rest takes/);
	const short = await play(600_000);
	assert.deepEqual([short.end.state, short.said.includes("decline")], ["claimed", false]);
	assert.equal((await play(4000, 0)).end.state, "answered");
});

test("a part that takes over five times as long as its pay lasts at the owner's price is handed back", async () => {
	/** The part pays for so long; it takes some seconds, by the clock of the test. */
	const play = async (paidMs: number, after: After) => {
		const desk = await deskOf();
		desk.speed = PROVEN_H200;
		// A host that is far slower is on the list: nothing is late.
		Object.assign(desk.terms, { workMs: 3_600_000 });
		let clockMs = 1e12;
		const nowMs = () => {
			clockMs += 200;
			return clockMs;
		};
		desk.nowMs = () => clockMs;
		const pricePerHourMicros = Math.floor((desk.terms.priceMicros * 3_600_000) / paidMs);
		const limits = { ...LIMITS, pricePerHourMicros };
		await using host = await startHost(newFolder(), desk, { nowMs, after, limits });
		await host.nudge();
		return await host.until(({ state }) => ["returned", "claimed", "declined", "lost"].includes(state));
	};
	const quick = await play(600_000, soonAfter);
	assert.equal(quick.state, "claimed", quick.detail);
	const slow = await play(600, (ms, run) => (ms === 3000 ? () => {} : soonAfter(ms, run)));
	assert.equal(slow.state, "returned");
	assert.match(slow.detail, /the rest takes [\d.]+ s here, and -?[\d.]+ s more are all that its pay is worth/);
	// Not a window was over by then.
	const never = await play(600_000, (ms, run) => (ms === 3_000_000 ? realAfter(0, run) : soonAfter(ms, run)));
	assert.deepEqual([never.state, never.detail], ["returned", "it takes longer than its pay is worth"]);
});

test("a part is taken, run, claimed; its beats tell of what is saved, and its claim is that of a run at home", async () => {
	const [desk, folder, home] = [await deskOf(), newFolder(), newFolder()];
	await toyRun(home, { sample, segments: 20 });
	await using host = await startHost(folder, desk);
	await host.nudge();
	await host.until(isState("claimed"));
	assert.deepEqual(
		desk.said.filter((what) => what !== "download"),
		["offer", "accept", "claim"],
	);
	const [claim] = desk.claims;
	const run = claimOf(home);
	assert.equal(claim!.segmentRoot, bytesToHex(run.claim.segmentRoot));
	assert.equal(claim!.resultRoot, bytesToHex(run.claim.resultRoot));
	assert.deepEqual(
		Uint8Array.from(desk.blobs.get(claim!.states.root)!),
		Uint8Array.from(readFileSync(join(home, "states.bin"))),
	);
	assert.deepEqual([host.held, host.engines], [0, 0]);
	const done = desk.beats.map((beat) => beat.done);
	assert.deepEqual(
		done,
		done.toSorted((a, b) => a - b),
	);
	// A nudge for what is claimed is nothing new.
	await host.nudge();
	assert.equal(desk.said.filter((what) => what === "offer").length, 1);
});

test("while its result goes out a host still shows that it lives; being told to stop by then ends nothing", async () => {
	const desk = await deskOf();
	const claim = desk.claim.bind(desk);
	let shown: readonly number[] = [];
	desk.claim = async (asked, claimed) => {
		const before = desk.beats.length;
		desk.go = false;
		// As long as a large upload: until it was heard twice, or never.
		for (let left = 500; left > 0 && desk.beats.length < before + 2; left--) await sleep(10);
		shown = desk.beats.slice(before).map(({ done }) => done);
		return claim(asked, claimed);
	};
	await using host = await startHost(newFolder(), desk);
	await host.nudge();
	await host.until((event) => event.state === "claimed" || event.state === "lost");
	assert.deepEqual([desk.claims.length, shown.slice(0, 2)], [1, [desk.terms.segments, desk.terms.segments]]);
	const after = desk.beats.length;
	await sleep(100);
	assert.equal(desk.beats.length, after, "and no longer than that");
});

test("parts follow each other from the state that was claimed", async () => {
	const [desk, home] = [await deskOf(20, 3), newFolder()];
	await toyRun(home, { sample, segments: 20 });
	await using host = await startHost(newFolder(), desk);
	for (const part of [0, 1, 2]) {
		await host.nudge({ part });
		await host.until((event) => event.part === part && event.state === "claimed");
	}
	assert.equal(desk.claims[2]!.resultRoot, bytesToHex(claimOf(home).claim.resultRoot));
});

test("stopped in the middle and started again, the same claim comes; nothing is accepted twice", async () => {
	const [desk, folder] = [await deskOf(300), newFolder()];
	await using first = await startHost(folder, desk, { after: soonAfter });
	await first.nudge();
	await first.until(isState("running"));
	await untilBegun(desk);
	await first.jobs.stop();
	assert.equal(desk.claims.length, 0);
	const reached = Math.max(...desk.beats.map(({ done }) => done));
	const before = desk.beats.length;
	await using second = await startHost(folder, desk);
	await second.until(isState("claimed"));
	assert.deepEqual(desk.said.filter((what) => what === "accept").length, 1);
	for (const beat of desk.beats.slice(before)) assert.ok(beat.done >= reached, `${beat.done} after ${reached}`);
});

test("an audit is answered with its states alone, and asks for no bond", async () => {
	const desk = await deskOf();
	const big = { ...desk.terms, bondMicros: 1e9 };
	desk.change = (offer) => ({ ...offer, terms: big, count: 4 });
	await using host = await startHost(newFolder(), desk);
	await host.nudge({ audit: 2 });
	await host.until(isState("answered"));
	assert.deepEqual(
		desk.said.filter((what) => what !== "download"),
		["offer", "audit"],
	);
	assert.equal(desk.beats.length, 0);
	assert.equal((desk.heard.at(-1)!.body as { size: number }).size, 32 * 5);
});

const other = "11".repeat(32);
const liars: Readonly<Record<string, readonly [(offer: PartOffer) => PartOffer, RegExp]>> = {
	"another job": [(o) => ({ ...o, id: other }), /not what was asked for/],
	"another attempt": [(o) => ({ ...o, attempt: 2 }), /not what was asked for/],
	"an audit for a part": [(o) => ({ ...o, audit: 0 }), /not what was asked for/],
	"more segments than the part has": [(o) => ({ ...o, count: o.count + 1 }), /not the part's segments/],
	"fewer segments": [(o) => ({ ...o, count: o.count - 1 }), /not the part's segments/],
	"another start": [(o) => ({ ...o, first: 1, count: o.count - 1 }), /not the part's segments/],
	"a state at zero": [(o) => ({ ...o, begin: { state: [], results: [] } }), /zeros or with a state/],
	"a hash that zeros do not have": [(o) => ({ ...o, start: other }), /elsewhere than at zero/],
	"another program": [(o) => ({ ...o, terms: { ...o.terms, program: other } }), /not that of the terms/],
	"other inputs": [(o) => ({ ...o, terms: { ...o.terms, inputs: other } }), /not those of the terms/],
	"another seed": [(o) => ({ ...o, spec: { ...o.spec, seed: other } }), /not those of the terms/],
	"an input less": [
		(o) => ({ ...o, spec: { ...o.spec, given: o.spec.given.slice(1) } }),
		/not those that the program has/,
	],
	"a tensor of another size": [
		(o) => ({
			...o,
			spec: { ...o.spec, given: o.spec.given.map((one, i) => (i === 0 ? { ...one, size: one.size + 1 } : one)) },
		}),
		/another size/,
	],
	"a job that is paid on a chain": [
		(o) => ({ ...o, escrow: { chainId: 1, contract: `0x${"00".repeat(20)}`, terms: {} as never } }),
		/has no chain/,
	],
	"a bond above the owner's": [(o) => ({ ...o, terms: { ...o.terms, bondMicros: 1001 } }), /bond is 1001/],
	"less than the owner's least": [(o) => ({ ...o, terms: { ...o.terms, priceMicros: 899 } }), /brings 899/],
	"a method that the owner does not take": [
		(o) => ({
			...{ ...o, terms: { ...o.terms, method: { name: "optimistic", count: 0 } } },
			spec: { ...o.spec, method: { name: "optimistic", count: 0 } },
		}),
		/checked by optimistic/,
	],
	"a method that the spec does not have": [
		(o) => ({ ...o, terms: { ...o.terms, method: { name: "redundant", count: 2 } } }),
		/other methods/,
	],
	"more time than the owner allows": [(o) => ({ ...o, terms: { ...o.terms, workMs: 61 * 60_000 } }), /60 min/],
	"inputs larger than the owner's disk": [
		(o) => ({ ...o, spec: { ...o.spec, given: o.spec.given.map((one) => ({ ...one, size: 2 ** 34 })) } }),
		/bytes of disk/,
	],
	"an offer that has run out": [(o) => ({ ...o, untilMs: 1 }), /time to take it is over/],
};
for (const [name, [change, why]] of Object.entries(liars))
	test(`declined, with nothing promised: ${name}`, async () => {
		const desk = await deskOf();
		desk.change = change;
		const folder = newFolder();
		await using host = await startHost(folder, desk);
		await host.nudge();
		assert.match((await host.until(isState("declined"))).detail, why);
		assert.ok(!desk.said.includes("accept") && desk.said.includes("decline"));
		assert.deepEqual([host.held, host.engines], [0, 0]);
	});

test("a state at the start that folds to another hash, or whose bytes are others, is declined", async () => {
	const desk = await deskOf(20, 2);
	await using host = await startHost(newFolder(), desk);
	await host.nudge();
	await host.until(isState("claimed"));
	const end = desk.ends.get(0)!;
	desk.change = (offer) => ({ ...offer, start: other });
	await host.nudge({ part: 1 });
	assert.match(
		(await host.until((event) => event.part === 1 && event.state === "declined")).detail,
		/state that it begins/,
	);
	desk.change = (offer) => offer;
	const root = end.state[0]!.root;
	const spoilt = Uint8Array.from(desk.blobs.get(root)!);
	spoilt[0]! ^= 1;
	desk.blobs.set(root, spoilt);
	await host.nudge({ part: 1, attempt: 2 });
	await host.until((event) => event.attempt === 2 && event.state === "declined");
	assert.equal(desk.said.filter((what) => what === "accept").length, 1);
});

test("below the owner's price an hour, by what is proven of the host, nothing is taken", async () => {
	const [desk, dear, fair] = [await deskOf(), newFolder(), newFolder()];
	const whole = partWork(segmentWork(desk.workload.program), desk.terms.segments);
	// Slow enough for the whole job to take 10 s.
	const speed = (share: number) => ({
		...{ int8OpsPerS: PROVEN_H200.int8OpsPerS * share, bytesPerS: PROVEN_H200.bytesPerS * share },
		int32OpsPerS: PROVEN_H200.int32OpsPerS * share,
	});
	const fastMs = modelledMs(whole, speed(1));
	let share = 1;
	while (modelledMs(whole, speed(share)) < 10_000) share *= 0.99;
	assert.ok(fastMs < 10_000);
	desk.speed = speed(share);
	const limits = (pricePerHourMicros: number) => ({ limits: { ...LIMITS, pricePerHourMicros } });
	// 10 s of work at 1,000 micro-units: 360,000 an hour. A tenth is let pass.
	{
		await using host = await startHost(dear, desk, limits(410_000));
		await host.nudge();
		assert.match((await host.until(isState("declined"))).detail, /it brings 1000 micro-units, 10\d\d is the least/);
		desk.speed = null;
		await host.nudge({ attempt: 2 });
		const again = await host.until(({ state, attempt }) => state === "declined" && attempt === 2);
		assert.match(again.detail, /nothing is proven of this host/);
		assert.ok(!desk.said.includes("accept"));
	}
	desk.speed = speed(share);
	await using host = await startHost(fair, desk, limits(390_000));
	await host.nudge();
	await host.until(isState("claimed"));
});

test("a plan beyond the owner's memory is declined before anything is locked", async () => {
	const desk = await deskOf();
	await using host = await startHost(newFolder(), desk, { limits: { ...LIMITS, memoryBytes: 10 } });
	await host.nudge();
	assert.match((await host.until(isState("declined"))).detail, /of the device, 10 are allowed/);
	assert.ok(!desk.said.includes("accept"));
});

test("go: false, a stop and a part that is another's end the run; beats that fail do not", async () => {
	for (const [how, end] of [
		[
			"go",
			(desk: ToyDesk) => {
				desk.go = false;
			},
		],
		["refused", (desk: ToyDesk) => void desk.failing.set("beat", () => new AssayError("JOB_STATE", "another has it"))],
		["stop", (_: ToyDesk, host: Host) => host.jobs.handlers("").stop!({ ...ASKED, validatorKey: VALIDATOR })],
	] as const) {
		const desk = await deskOf(3000);
		await using host = await startHost(newFolder(), desk);
		await host.nudge();
		await host.until(isState("running"));
		// Of another validator it means nothing.
		await host.jobs.handlers("").stop!({ ...ASKED, validatorKey: other });
		await end(desk, host);
		await host.until(isState("lost"));
		assert.equal(desk.claims.length, 0, how);
		assert.deepEqual([host.held, host.engines], [0, 0]);
	}
	const desk = await deskOf(100);
	desk.failing.set("beat", () => new AssayError("API_UNREACHABLE", "away"));
	await using host = await startHost(newFolder(), desk);
	await host.nudge();
	await host.until(isState("claimed"));
});

test("a part is taken although the validator's database is away when it is accepted", async () => {
	const desk = await deskOf();
	let refusals = 0;
	desk.failing.set("accept", () => (refusals++ === 0 ? new AssayError("STORE_UNREACHABLE", "away") : null));
	await using host = await startHost(newFolder(), desk);
	await host.nudge();
	await host.until(isState("claimed"));
	assert.equal(refusals, 2);
});

test("a claim that cannot be handed in now is handed in later, also after a restart", async () => {
	const [desk, folder] = [await deskOf(), newFolder()];
	desk.failing.set("claim", () => new AssayError("API_UNREACHABLE", "away"));
	const first = await startHost(folder, desk);
	await first.nudge();
	while (!desk.said.includes("claim")) await new Promise((resolve) => setTimeout(resolve, 5));
	await first.jobs.stop();
	desk.failing.clear();
	await using second = await startHost(folder, desk);
	await second.until(isState("claimed"));
	assert.equal(second.engines, 0);
});

test("one part at a time; too many offers that come to nothing are refused; a claim of another hash is never sent on", async () => {
	const desk = await deskOf(3000);
	await using host = await startHost(newFolder(), desk);
	await host.nudge();
	await host.until(isState("running"));
	await assert.rejects(host.nudge({ job: other }), isCode("PROVIDER_BUSY"));
	await host.jobs.handlers("").stop!({ ...ASKED, validatorKey: VALIDATOR });
	await host.until(isState("lost"));
	desk.change = (offer) => ({ ...offer, untilMs: 1 });
	let refused = 0;
	for (let attempt = 2; attempt < 60 && refused === 0; attempt++) {
		await host.nudge({ attempt }).catch((error) => {
			assert.ok(isCode("JOB_DECLINED")(error));
			refused += 1;
		});
		while (host.jobs.isWorking) await new Promise((resolve) => setTimeout(resolve, 1));
	}
	assert.equal(refused, 1);
});

test("offers that end with a claim or an answer are not counted: a busy host is not cut off from its validator", async () => {
	const [desk, nowMs] = [await deskOf(1), () => 1_000_000];
	desk.nowMs = nowMs;
	await using host = await startHost(newFolder(), desk, { nowMs, sweepMs: 3_600_000 });
	for (let attempt = 1; attempt <= 40; attempt++) {
		await host.nudge({ attempt, ...(attempt % 2 ? {} : { audit: 0 }) });
		while (host.jobs.isWorking) await new Promise((resolve) => setTimeout(resolve, 1));
	}
	const ended = host.events.filter(
		({ kind, ...event }) => kind === "job" && "state" in event && /claimed|answered/.test(`${event.state}`),
	);
	assert.equal(ended.length, 40);
});

test("a machine that gives other bits the second time stops with an alarm, claims nothing and takes nothing more", async () => {
	const [desk, folder] = [await deskOf(300), newFolder()];
	await using first = await startHost(folder, desk, { after: soonAfter });
	await first.nudge();
	await untilBegun(desk);
	await first.jobs.stop();
	// Of what is gone on with, the last saved state is spoilt, and an earlier one is begun with: what is run
	// twice differs.
	const run = join(folder, "jobs", readdirSync(join(folder, "jobs")).find((name) => name.startsWith(JOB))!);
	const journal = readFileSync(join(run, "journal.jsonl"), "utf8").split("\n");
	assert.ok(journal.length > 5);
	for (const name of readdirSync(join(run, "store")))
		if (!desk.spec.given.some(({ root }) => root === name)) rmSync(join(run, "store", name));
	await using second = await startHost(folder, desk, { cheat: { segment: 2, step: 0, op: 0, element: 0 } });
	await second.until((event) => event.state === "lost" || event.state === "claimed");
	assert.equal(desk.claims.length, 0);
	assert.ok(existsSync(join(folder, "jobs", "alarm-0.txt")));
	await assert.rejects(second.nudge({ job: other }), isCode("JOB_DECLINED"));
});

test("questions are answered about what is claimed, as long as it is not final; then the folder goes", async () => {
	const [desk, folder] = [await deskOf(), newFolder()];
	let nowMs = 1_000_000;
	desk.nowMs = () => nowMs;
	await using host = await startHost(folder, desk, { nowMs: () => nowMs, sweepMs: 3_600_000, answers: { idleMs: 1 } });
	const ask = (question: object, about = ASKED) => {
		const { job, part, attempt } = about;
		const text = String(encodeCanonicalJson(question as never));
		return host.jobs.handlers("").ask!({ job, part, attempt, question: text, validatorKey: VALIDATOR });
	};
	const state = { audit: null, kind: "state", page: 0, segment: 7 };
	await assert.rejects(ask(state), isCode("JOB_STATE"));
	await host.nudge();
	await host.until(isState("claimed"));
	const before = desk.blobs.size;
	const { answer, signature } = await ask(state);
	assert.ok(answer.length > 0 && signature === null);
	assert.ok(desk.blobs.size > before);
	assert.deepEqual(
		await ask({ audit: null, kind: "trace", page: 0, segment: 3 }),
		await ask({ audit: null, kind: "trace", page: 0, segment: 3 }),
	);
	await assert.rejects(ask({ kind: "nonsense" }), isCode("JOB_QUESTION"));
	while (host.engines > 0) await new Promise((resolve) => setTimeout(resolve, 5));
	assert.equal(host.held, 0);
	nowMs += desk.terms.windowMs + 3_600_001;
	await host.jobs.sweep();
	await assert.rejects(ask(state), isCode("JOB_STATE"));
	nowMs += 600_001;
	await host.jobs.sweep();
	assert.deepEqual(readdirSync(join(folder, "jobs")), []);
});
