// Jobs in the store: one transaction a transition, all of it or nothing; of two that decide from one version,
// one; who is busy; what is public.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { AssayError } from "../../protocol/assay-error.ts";
import type { JobAudit, JobPart, JobRecord } from "../../protocol/network/job.ts";
import type { JobSpec } from "../../protocol/network/job-spec.ts";
import type { StoreEvent } from "../events.ts";
import type { Store } from "../open-store.ts";
import { onBothServers } from "../postgres/servers.test-kit.ts";
import { idOf } from "../sample-rows.test-kit.ts";
import type { JobChange } from "./change-job.ts";
import { type JobClaimRow, type JobDraw, UNKNOWN_DEVICE } from "./job-rows.ts";

const code = (expected: string) => (error: unknown) => (error as AssayError).code === expected;
const [ann, bob, host, other] = ["ann", "bob", "host", "other"].map((name) => idOf(name)) as [
	string,
	string,
	string,
	string,
];

const spec: JobSpec = {
	...{ format: "assay-job", version: 1, title: "a job", kind: "program" },
	...{ program: { root: idOf("program"), size: 20 }, seed: idOf("seed"), given: [], segments: 4 },
	...{ metrics: [], previews: [], method: { name: "sampled", count: 2 } },
};

function partOf(part: number, over: Partial<JobPart> = {}): JobPart {
	return {
		...{
			part,
			attempt: 0,
			state: "open",
			provider: null,
			base: 0,
			isAlone: false,
			untilMs: 0,
			lastBeatMs: 0,
			done: 0,
			lastProgressMs: 0,
		},
		...{ claim: null, claimedAtMs: 0, assignedAtMs: 0, isChecked: false, isDisputed: false, audits: [], excluded: [] },
		...over,
	};
}

function recordOf(id: string, ...parts: readonly Partial<JobPart>[]): JobRecord {
	const terms = {
		...{ customer: ann, program: idOf("program"), inputs: idOf("inputs"), method: spec.method, segments: 4 },
		...{ parts: parts.length, priceMicros: 100, feeMicros: 2, auditMicros: 10, bondMicros: 50 },
		...{ startByMs: 9000, workMs: 1000, windowMs: 1000, checkedMs: 100 },
	};
	return { id, terms, parts: parts.map((one, i) => partOf(i, one)) };
}

const claimOf = (job: string, over: Partial<JobClaimRow> = {}): JobClaimRow => ({
	...{ hash: idOf(`claim of ${job}`), job, part: 0, attempt: 1, provider: host, state: "stored", atMs: 30 },
	body: { segmentRoot: idOf("root") },
	...over,
});
const drawOf = (listName: string, body: JobDraw["body"]): JobDraw => ({
	...{ part: 0, attempt: 1, role: 0, turn: 0, listHash: idOf(listName), body },
});

onBothServers((server) => {
	let store: Store;
	before(async () => {
		store = await server.open();
	});
	const create = (name: string, { customer = ann, atMs = 10, mostOpen = 1000 } = {}) => {
		const id = idOf(name);
		const job = { id, customer, spec, offer: { id }, record: recordOf(id, {}, {}), atMs };
		return store.jobs.create({ ...job, events: [{ kind: "funded" }] }, { mostOpen });
	};

	test("by its id once; a second one gives what is there", async () => {
		const first = await create("once");
		assert.equal(first.isNew, true);
		const { job } = first;
		assert.deepEqual(
			[job.customer, job.title, job.kind, job.version, job.isOver, job.createdAtMs, job.endedAtMs],
			[ann, "a job", "program", 1, false, 10, null],
		);
		assert.deepEqual([job.spec, job.offer, job.record], [spec, { id: job.id }, recordOf(job.id, {}, {})]);
		const second = await create("once", { customer: bob, atMs: 99 });
		assert.deepEqual(second, { job, isNew: false });
		assert.deepEqual(
			(await store.jobs.events(job.id)).map(({ kind, part, detail, atMs }) => ({ kind, part, detail, atMs })),
			[{ kind: "funded", part: null, detail: {}, atMs: 10 }],
		);
		assert.equal(await store.jobs.get(idOf("none")), null);
		await assert.rejects(store.jobs.get("'; --"), code("STORE_INPUT"));
		const wrong = { id: idOf("x"), customer: ann, spec, offer: {}, record: recordOf(idOf("y"), {}), atMs: 1 };
		await assert.rejects(store.jobs.create(wrong), code("STORE_INPUT"));
	});

	test("L8: what a customer's jobs keep is counted until they are cleared, each blob once", async () => {
		const [dora, earl] = [idOf("dora"), idOf("earl")];
		const blob = (digit: string, size: number) => ({ root: digit.repeat(64), size });
		const given = [blob("1", 100), blob("2", 1000)].map((one, tensor) => ({ ...one, tensor }));
		const of = (name: string, customer: string, more: object) => {
			const id = idOf(name);
			const wish = { ...spec, program: blob("a", 20), ...more } as typeof spec;
			return store.jobs.create({ id, customer, spec: wish, offer: { id }, record: recordOf(id, {}, {}), atMs: 10 });
		};
		const { job } = await of("dora 1", dora, { given });
		await of("dora 2", dora, { given: [given[0]], generation: blob("3", 7) });
		await of("earl 1", earl, { given: [] });
		assert.equal(await store.jobs.keptBytes(dora, []), 1127);
		assert.equal(await store.jobs.keptBytes(dora, [blob("a", 20), blob("1", 100), blob("9", 4)]), 1131);
		assert.equal(await store.jobs.keptBytes(earl, [blob("1", 100)]), 120);
		const record = recordOf(job.id, { state: "paid" }, { state: "refunded" });
		await store.jobs.change({ id: job.id, version: job.version, record, atMs: 70 });
		assert.equal(await store.jobs.keptBytes(dora, []), 1127, "over, and kept still");
		await store.jobs.cleared(job.id);
		assert.equal(await store.jobs.keptBytes(dora, []), 127);
	});

	test("H1: who has a part to run or to answer for is at work, who has a job here is a customer", async () => {
		const [fred, gina, hugo, nobody] = ["fred", "gina", "hugo", "nobody"].map((name) => idOf(name)) as [
			string,
			string,
			string,
			string,
		];
		const id = idOf("standing");
		const part = { state: "running", provider: gina } as const;
		const made = { id, customer: fred, spec, offer: { id }, record: recordOf(id, part, {}), atMs: 10 };
		const { job } = await store.jobs.create(made);
		const standings = async () => Promise.all([fred, gina, hugo, nobody].map((key) => store.jobs.standingOf(key)));
		assert.deepEqual(await standings(), ["customer", "working", "stranger", "stranger"]);
		const over = recordOf(id, { state: "paid", provider: gina }, { state: "refunded" });
		await store.jobs.change({ id, version: job.version, record: over, atMs: 70 });
		assert.deepEqual(await standings(), ["customer", "stranger", "stranger", "stranger"]);
		await store.jobs.cleared(id);
		assert.deepEqual(await standings(), ["stranger", "stranger", "stranger", "stranger"]);
	});

	test("a customer has so many at once, however many it asks for at once; its own again is not one more", async () => {
		const carl = { customer: idOf("carl"), mostOpen: 2 };
		const asked = await Promise.allSettled([1, 2, 3, 4, 5].map((i) => create(`carl ${i}`, carl)));
		assert.equal(asked.filter(({ status }) => status === "fulfilled").length, 2);
		for (const one of asked) if (one.status === "rejected") assert.equal(one.reason.code, "JOB_QUOTA");
		const { rows } = await store.jobs.list({ customer: carl.customer });
		assert.equal(rows.length, 2);
		const { id, version } = rows[0]!;
		assert.equal((await store.jobs.create({ ...(await store.jobs.get(id))!, atMs: 1 }, carl)).isNew, false);
		const record = recordOf(id, { state: "paid" }, { state: "refunded" });
		const over = await store.jobs.change({ id, version, record, atMs: 70 });
		assert.deepEqual([over?.isOver, over?.endedAtMs], [true, 70]);
		assert.equal((await create("carl 6", carl)).isNew, true);
		assert.deepEqual(
			(await store.jobs.list({ customer: carl.customer, isOver: true })).rows.map((row) => row.id),
			[id],
		);
	});

	test("of those that decided from one version, one; nothing of the others is there", async () => {
		const { job } = await create("raced");
		const change = (i: number): JobChange => ({
			...{ id: job.id, version: 1, record: recordOf(job.id, { attempt: i }, {}), atMs: 20 },
			events: [{ kind: "drawn", part: 0, detail: { i } }],
			claims: [claimOf(job.id, { hash: idOf(`raced ${i}`) })],
			outcomes: [{ provider: host, part: 0, attempt: i, outcome: "declined", valueMicros: 0 }],
		});
		const all = await Promise.all([1, 2, 3, 4, 5, 6].map((i) => store.jobs.change(change(i))));
		const won = all.flatMap((row, i) => (row === null ? [] : [i + 1]));
		assert.equal(won.length, 1);
		const [winner] = won as [number];
		assert.equal((await store.jobs.summary(job.id))?.version, 2);
		assert.equal((await store.jobs.get(job.id))?.record.parts[0]?.attempt, winner);
		const { rows } = await store.jobs.claims({ job: job.id });
		assert.deepEqual(
			rows.map(({ hash }) => hash),
			[idOf(`raced ${winner}`)],
		);
		assert.deepEqual(
			(await store.jobs.events(job.id, { after: 0 })).map(({ kind, detail }) => [kind, detail]),
			[
				["funded", {}],
				["drawn", { i: winner }],
			],
		);
		const outcomes = (await store.jobs.partsOf([host])).filter((row) => row.job === job.id);
		assert.deepEqual(
			outcomes.map(({ attempt }) => attempt),
			[winner],
		);
		const none = idOf("no such job");
		assert.equal(
			await store.jobs.change({ ...change(7), id: none, record: recordOf(none), claims: [claimOf(none)] }),
			null,
		);
		assert.equal(await store.jobs.claim(claimOf(none).hash), null);
	});

	test("a change that fails in its last row leaves nothing", async () => {
		const { job } = await create("whole");
		const first = { id: job.id, version: 1, record: job.record, atMs: 20 };
		assert.ok(await store.jobs.change({ ...first, draws: [drawOf("list", { drawn: null })] }));
		const second: JobChange = {
			...{ id: job.id, version: 2, record: recordOf(job.id, { attempt: 1 }, {}), atMs: 30 },
			events: [{ kind: "drawn" }],
			outcomes: [{ provider: host, part: 0, attempt: 1, outcome: "lost", valueMicros: 5 }],
		};
		const wrong: Partial<JobChange>[] = [
			{ draws: [drawOf("another list", { drawn: [host] })] },
			{ claims: [claimOf(idOf("once"))] },
			{ outcomes: [{ provider: host, part: 0, attempt: 1, outcome: "lost", valueMicros: -5 }] },
			{ events: [{ kind: "drawn" }, { kind: "x".repeat(81) }] },
			{ record: recordOf(idOf("once"), {}) },
			{ record: recordOf(job.id, { provider: "somebody" }) },
			{ fraud: { ...fraudOf(job.id), job: idOf("once") } },
		];
		for (const over of wrong)
			await assert.rejects(store.jobs.change({ ...second, ...over }), /published|another|not|longer/);
		const after = await store.jobs.get(job.id);
		assert.deepEqual([after?.version, after?.record], [2, job.record]);
		assert.equal((await store.jobs.events(job.id)).length, 1);
		assert.deepEqual(await store.jobs.draws(job.id), [drawOf("list", { drawn: null })]);
		assert.ok(await store.jobs.change({ ...second, draws: [drawOf("list", { drawn: [host] })] }));
		assert.deepEqual(await store.jobs.draws(job.id), [drawOf("list", { drawn: [host] })]);
	});

	test("the list of a draw comes back as it was published, and only where it is wanted once there is a block", async () => {
		const plain = [
			{ provider: idOf("a"), weightPpm: 1 },
			{ provider: host, weightPpm: 2 ** 32 - 1 },
		];
		const odd = [[], ["a"], [{ ...plain[0]!, more: 1 }], [{ provider: host, weightPpm: -1 }], null] as const;
		for (const [i, list] of [plain, ...odd].entries()) {
			const { job } = await create(`list ${i}`);
			const change = (version: number, body: JobDraw["body"]) =>
				store.jobs.change({ id: job.id, version, record: job.record, atMs: 20, draws: [drawOf("list", body)] });
			assert.ok(await change(1, { list: list as never, block: null, accounts: {} }));
			const draw = (withList: boolean) => store.jobs.draw(job.id, { part: 0, attempt: 1, role: 0 }, { withList });
			for (const withList of [false, true])
				assert.deepEqual((await draw(withList))?.body, { list, block: null, accounts: {} });
			assert.ok(await change(2, { block: "b", drawn: [host] }));
			const whole = { list, block: "b", accounts: {}, drawn: [host] };
			assert.deepEqual(await store.jobs.draws(job.id), [drawOf("list", whole as never)]);
			assert.deepEqual((await draw(true))?.body, whole);
			const { list: _, ...rest } = whole;
			assert.deepEqual((await draw(false))?.body, rest);
		}
	});

	test("who has a part or owes an answer is busy, and nobody else", async () => {
		const { job } = await create("busy");
		const audit = (auditor: string | null, answer: string | null, device?: number): JobAudit => ({
			...{
				...(device !== undefined && { device }),
				auditor,
				answer,
				first: 0,
				count: 1,
				untilMs: 0,
				tried: [],
				agrees: null,
			},
		});
		const [host, other] = [idOf("busy host"), idOf("busy other")];
		const names = new Map(Object.entries({ host, other, a: idOf("auditor a"), b: idOf("auditor b") }));
		const busy = async () => {
			const found = await store.jobs.devicesAtWork();
			return [...names].flatMap(([name, one]) => [...(found.get(one) ?? [])].map((device) => `${name} ${device}`));
		};
		let version = 1;
		const put = async (...parts: Partial<JobPart>[]) => {
			const row = await store.jobs.change({
				id: job.id,
				version: version++,
				record: recordOf(job.id, ...parts),
				atMs: 20,
			});
			assert.ok(row);
		};
		const [a, b] = [idOf("auditor a"), idOf("auditor b")];
		const audits = [audit(a, null, 3), audit(a, null, 5), audit(null, null), audit(b, idOf("answer"), 1)];
		assert.deepEqual(await busy(), []);
		await put({ state: "assigned", provider: host, device: 2, attempt: 1 }, {});
		assert.deepEqual(await busy(), ["host 2"]);
		await put(
			{ state: "claimed", provider: host, device: 2, attempt: 1, audits },
			{ state: "running", provider: other, attempt: 1 },
		);
		assert.deepEqual(await busy(), [`other ${UNKNOWN_DEVICE}`, "a 3", "a 5"]);
		await put(
			{ state: "running", provider: other, device: 0, attempt: 1 },
			{ state: "running", provider: other, device: 7, attempt: 1 },
		);
		assert.deepEqual(await busy(), ["other 0", "other 7"]);
		await put(
			{ state: "claimed", provider: host, attempt: 1, audits, isDisputed: true },
			{ state: "running", provider: other, device: 1, attempt: 1 },
		);
		assert.deepEqual(await busy(), ["other 1"], "of a disputed claim nobody is asked any more");
		await put({ state: "paid", provider: host, audits }, { state: "claimed", provider: other });
		assert.deepEqual(await busy(), [], "an answer to what is paid is nobody's any more");
		assert.ok((await store.jobs.open()).get(job.id) === version);
		await put({ state: "paid", provider: host }, { state: "paid", provider: other });
		assert.ok(!(await store.jobs.open()).has(job.id));
	});

	test("whose claim is disputed: who lost or was convicted of what stands claimed still, and nobody else", async () => {
		const { job } = await create("disputed");
		const [liar, silent, honest] = [idOf("liar"), idOf("silent"), idOf("honest")];
		const disputed = async () => (await store.jobs.disputedProviders()).filter((one) => ours.includes(one));
		const ours = [liar, silent, honest];
		const put = (version: number, parts: Partial<JobPart>[], outcomes: JobChange["outcomes"] = []) =>
			store.jobs.change({ id: job.id, version, record: recordOf(job.id, ...parts), atMs: 20, outcomes });
		const row = (provider: string, part: number, outcome: "lost" | "convicted" | "checked", attempt = 1) => ({
			...{ provider, part, attempt, outcome, valueMicros: 0 },
		});
		const claimed = ours.map((provider) => ({ state: "claimed", provider, attempt: 1 }) as const);
		const rows = [row(liar, 0, "convicted"), row(silent, 1, "lost"), row(honest, 2, "checked")];
		await put(1, claimed, [...rows, row(honest, 0, "lost", 1), row(honest, 2, "lost", 0)]);
		assert.deepEqual(await disputed(), [liar, silent].toSorted());
		await put(2, [{ state: "open", attempt: 1 }, claimed[1]!, claimed[2]!]);
		assert.deepEqual(await disputed(), [silent], "a proof decided");
		await put(3, [{ state: "paid" }, { ...claimed[1]!, state: "paid" }, { state: "paid" }]);
		assert.deepEqual(await disputed(), [], "its window ended");
	});

	test("events come in order, page by page, with metrics; listeners hear of those that were written", async () => {
		const { job } = await create("told");
		const heard: StoreEvent[] = [];
		const stop = store.events.subscribe((event) => {
			// What was told before may still be on its way.
			if ("subject" in event && event.subject === job.id && event.kind !== "job.funded") heard.push(event);
		});
		const metrics = { metrics: [{ step: 1, values: [0.25, -1e-9] }], text: "\u001b[2Jx" };
		const events = [
			{ kind: "running", part: 0 },
			{ kind: "metrics", part: 0, detail: metrics },
		];
		assert.ok(await store.jobs.change({ id: job.id, version: 1, record: job.record, atMs: 20, events }));
		assert.equal(await store.jobs.change({ id: job.id, version: 1, record: job.record, atMs: 20, events }), null);
		const [funded, running, told] = await store.jobs.events(job.id);
		assert.deepEqual([funded?.kind, running?.kind, told?.kind], ["funded", "running", "metrics"]);
		assert.ok(funded!.serial < running!.serial && running!.serial < told!.serial);
		assert.deepEqual((told!.detail as typeof metrics).metrics, metrics.metrics);
		assert.ok(!(told!.detail as typeof metrics).text.includes("\u001b"));
		assert.deepEqual(await store.jobs.events(job.id, { after: funded!.serial, limit: 1 }), [running]);
		while (heard.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
		assert.deepEqual(
			heard.map(({ kind, detail }) => [kind, detail]),
			[running!, told!].map(({ kind, serial }) => [
				`job.${kind}`,
				{ providerId: null, detail: { serial, part: 0, version: 2 } },
			]),
		);
		stop();
		assert.equal(
			await store.jobs.pruneEvents({ beforeMs: 1e9 }).then(async () => (await store.jobs.events(job.id)).length),
			3,
		);
	});

	test("claims, outcomes and frauds: each once, then as they become", async () => {
		const { job } = await create("public");
		const claim = claimOf(job.id);
		const base = { id: job.id, record: job.record, atMs: 40 };
		const outcome = { provider: idOf("worker"), part: 0, attempt: 1, valueMicros: 100 };
		await store.jobs.change({ ...base, version: 1, claims: [claim] });
		assert.deepEqual(await store.jobs.claim(claim.hash), claim);
		const checked = { ...claim, state: "checked", body: { signature: "ab" } } as const;
		await store.jobs.change({ ...base, version: 2, claims: [checked], outcomes: [{ ...outcome, outcome: "checked" }] });
		const again = [
			{ ...outcome, outcome: "checked" },
			{ ...outcome, outcome: "paid" },
		] as const;
		await store.jobs.change({ ...base, version: 3, outcomes: again, atMs: 50, fraud: fraudOf(job.id) });
		assert.deepEqual(await store.jobs.claim(claim.hash), checked);
		assert.deepEqual((await store.jobs.claims({ job: job.id, state: "checked" })).rows, [checked]);
		assert.deepEqual((await store.jobs.claims({ job: job.id, state: "stored" })).rows, []);
		const stolen = { ...claim, provider: other, state: "claimed" } as const;
		await assert.rejects(store.jobs.change({ ...base, version: 4, claims: [stolen] }), code("STORE_CONFLICT"));
		const elsewhere = { ...stolen, attempt: 2, part: 1 };
		await assert.rejects(store.jobs.change({ ...base, version: 4, claims: [elsewhere] }), code("STORE_CONFLICT"));
		const later = { ...stolen, attempt: 2, atMs: 45 };
		assert.ok(await store.jobs.change({ ...base, version: 4, claims: [later] }));
		assert.deepEqual(
			await store.jobs.claim(claim.hash),
			later,
			"who had it before was lost, and another came to the same",
		);
		await assert.rejects(store.jobs.change({ ...base, version: 5, claims: [checked] }), code("STORE_CONFLICT"));
		const fallen = [{ hash: claim.hash, state: "fallen" }] as const;
		assert.ok(await store.jobs.change({ ...base, version: 5, claimStates: fallen }));
		assert.deepEqual(await store.jobs.claim(claim.hash), { ...later, state: "fallen" });
		assert.equal(
			await store.jobs.change({ ...base, version: 5, claimStates: [{ ...fallen[0], state: "paid" }] }),
			null,
		);
		assert.deepEqual(await store.jobs.claim(claim.hash), { ...later, state: "fallen" });
		assert.deepEqual(
			(await store.jobs.partsOf([outcome.provider, other])).map((row) => [row.outcome, row.valueMicros, row.atMs]),
			[
				["checked", 100, 40],
				["paid", 100, 50],
			],
		);
		assert.deepEqual(
			(await store.jobs.partsOf([outcome.provider], { limit: 1 })).map((row) => row.outcome),
			["paid"],
		);
		const { file, ...row } = fraudOf(job.id);
		const kept = await store.jobs.fraud(row.hash);
		assert.deepEqual({ ...kept, file: new Uint8Array(kept!.file) }, { ...row, file });
		assert.deepEqual((await store.jobs.frauds({ job: job.id })).rows, [row]);
		assert.equal(await store.jobs.fraud(idOf("no fraud")), null);
	});

	test("first words: each different one of a claimant once, at most two, the first first", async () => {
		const answer = (text: string) => new TextEncoder().encode(text);
		const word = (text: string, by = "one") => ({
			...{ claim: idOf("said"), provider: idOf(by), question: idOf("what") },
			...{ answerHash: idOf(text), answer: answer(text), signature: null },
		});
		const said = async (text: string, nowMs: number, by = "one", signature = "ab") =>
			(await store.jobAnswers.keep({ ...word(text, by), signature: signature.repeat(65) }, { nowMs })).map((one) => [
				one.answerHash,
				Buffer.from(one.answer).toString(),
				one.signature,
			]);
		const row = (text: string) => [idOf(text), text, "ab".repeat(65)];
		assert.deepEqual(await said("yes", 5), [row("yes")]);
		assert.deepEqual(await said("yes", 9), [row("yes")]);
		assert.deepEqual(await said("no", 4), [row("no"), row("yes")]);
		assert.deepEqual(await said("perhaps", 4), [row("no"), row("yes")]);
		assert.deepEqual(await store.jobAnswers.of(word("x"), idOf("other")), []);
		// Another one's claim of the same hash: neither is bound by what the other said.
		assert.deepEqual(await store.jobAnswers.of(word("x", "another"), idOf("what")), []);
		assert.deepEqual(await said("yes", 10, "another", "cd"), [[idOf("yes"), "yes", "cd".repeat(65)]]);
		await assert.rejects(store.jobAnswers.keep({ ...word("x"), claim: "x" }, { nowMs: 1 }), code("STORE_INPUT"));
	});

	test("blobs of a job that is over are given back once, those of one that is not never", async () => {
		const { job } = await create("cleared");
		await create("not over");
		const record = recordOf(job.id, { state: "paid" }, { state: "paid" });
		const of = async (beforeMs: number) => await store.jobs.uncleared({ beforeMs, limit: 100 });
		assert.ok(!(await of(1e9)).includes(job.id));
		await store.jobs.cleared(job.id);
		await store.jobs.change({ id: job.id, version: 1, record, atMs: 500 });
		assert.ok(!(await of(500)).includes(job.id));
		assert.ok((await of(501)).includes(job.id), "not marked while it was under way");
		await store.jobs.cleared(job.id);
		assert.ok(!(await of(501)).includes(job.id));
		assert.ok((await store.jobs.pruneEvents({ beforeMs: 501 })) >= 1);
		assert.deepEqual(await store.jobs.events(job.id), []);
	});
});

function fraudOf(job: string) {
	return {
		...{
			hash: idOf(`fraud ${job}`),
			claim: idOf(`claim of ${job}`),
			job,
			part: 0,
			attempt: 1,
			accused: host,
			atMs: 60,
		},
		...{ body: { kind: "element" }, file: new Uint8Array([1, 2, 3]) },
	};
}
