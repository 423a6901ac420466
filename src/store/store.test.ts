// What the store keeps and how it refuses: providers, probes, evidence, scores, rentals, tokens, journal, on
// both servers. Due probes and processes are in due-probes.test.ts and tests/store/processes.test.ts.
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { readBounded } from "../platform/bounded-fetch.ts";
import type { AssayError } from "../protocol/assay-error.ts";
import type { ProbeAttestation } from "../protocol/probe/verdict.ts";
import { NO_CHAIN_KEYS } from "./devices.ts";
import type { Store } from "./open-store.ts";
import { onBothServers } from "./postgres/servers.test-kit.ts";
import {
	attestation,
	cardFigures,
	figure,
	finishOf,
	gpu,
	idOf,
	memory,
	probeByHand,
	register,
} from "./sample-rows.test-kit.ts";

const code = (expected: string) => (error: unknown) => {
	assert.equal((error as AssayError).code, expected, String(error));
	return true;
};
const by = { nowMs: 2000, actor: "admin" };

onBothServers((server) => {
	let store: Store;
	before(async () => {
		store = await server.open();
	});

	test("a provider is registered once, then brought up to date", async () => {
		const id = await register(store, "one");
		const again = await store.providers.register(
			{
				id,
				name: "uno",
				link: "ssh",
				target: "ssh://b",
				pricePerHourMicros: 7,
				rentable: false,
				ssh: false,
				claim: null,
			},
			{ nowMs: 9000, actor: "system" },
		);
		assert.equal(again.created, false);
		const { name, pricePerHourMicros, registeredAtMs, nextProbeAtMs, state } = again.provider;
		assert.deepEqual(
			{ name, pricePerHourMicros, registeredAtMs, nextProbeAtMs, state },
			{ name: "uno", pricePerHourMicros: 7, registeredAtMs: 1000, nextProbeAtMs: 1000, state: "active" },
		);
		assert.deepEqual(await store.providers.get(id), again.provider);
		assert.equal(await store.providers.get(idOf("nobody")), null);
		await assert.rejects(store.providers.get("../../etc"), code("STORE_INPUT"));
		await store.providers.setState(id, "paused", by);
		assert.equal((await store.providers.get(id))?.state, "paused");
		await assert.rejects(store.providers.setState(idOf("nobody"), "paused", by), code("STORE_NOT_FOUND"));
	});

	test("hostile words are made harmless, ours are refused", async () => {
		const id = await register(store, "hostile", { name: `${"x".repeat(300)}` });
		assert.equal((await store.providers.get(id))?.name.length, 100);
		const spoiled = await register(store, "spoiled", { name: "a\0b\ud800'; DROP TABLE providers; --\u202e" });
		assert.equal((await store.providers.get(spoiled))?.name, "a\ufffdb\ufffd'; DROP TABLE providers; --\ufffd");
		const claim = { engine: { version: "\0\ud800", arch: "x", cuda: true } };
		await store.providers.setClaim(spoiled, claim as never, { nowMs: 1 });
		assert.equal((await store.providers.claim(spoiled))?.engine.version, "\ufffd\ufffd");
		await assert.rejects(
			store.tokens.create({ name: "a\0", role: "admin", subject: null, expiresAtMs: null }, by),
			code("STORE_INPUT"),
		);
		const huge = { name: "x".repeat(1000), role: "admin", subject: null, expiresAtMs: null } as const;
		await assert.rejects(store.tokens.create(huge, by), code("STORE_INPUT"));
		const series = [{ uuid: "u", name: "gemm.fp16", values: [0.5] }];
		await assert.rejects(store.providers.remember(id, memory({ series })), code("NOT_CANONICAL"));
		await assert.rejects(store.providers.remember(id, memory({ changedAtMs: -1 })), code("STORE_INPUT"));
	});

	test("a valid probe becomes figures, devices, holdings and history", async () => {
		const id = await register(store, "mixed");
		const devices = [
			gpu(0),
			gpu(1),
			gpu(2, { profile: "a100-sxm-80", uuid: "U2" }),
			gpu(3, { profile: null, uuid: "U3" }),
		];
		const figures = [
			...cardFigures(0),
			...cardFigures(1, 0.9),
			...cardFigures(2, 0.5),
			figure(0, "fma.fp64", 30),
			figure(0, "gemm.fp16", 5),
		];
		const result = await probeByHand(store, id, "mixed-1", { devices, figures });
		assert.deepEqual(result, { counted: true, latest: true });
		const provider = await store.providers.get(id);
		assert.deepEqual(
			[provider?.model, provider?.gpuCount, provider?.lastVerdict, provider?.lastValidAtMs],
			["h200", 2, "valid", 4000],
		);
		assert.equal(provider?.memoryBytes, 143_800_000_000 * 0.9);
		const holdings = await store.providers.holdings(id);
		assert.deepEqual(
			holdings.map(({ model, count }) => [model, count]),
			[
				["h200", 2],
				["a100-sxm-80", 1],
				["unknown", 1],
			],
		);
		// Only one of the two has fp64, so the pair does not.
		assert.equal(holdings[0]?.figures["fma.fp64"], undefined);
		const current = await store.providers.figures(id);
		assert.equal(current.length, 10);
		// Two challenges gave fp16: the better one stands.
		assert.equal(current.find((row) => row.device === 0 && row.name === "gemm.fp16")?.value, 667_000_000_000_000);
		assert.deepEqual(
			(await store.devices.ofProvider(id)).map((device) => device.uuid),
			["GPU-0", "GPU-1", "U2", "U3"],
		);

		// The next one has a card less, and one that is invalid changes none of it.
		await probeByHand(store, id, "mixed-2", { devices: [gpu(0)], figures: cardFigures(0, 0.8), finishedAtMs: 6000 });
		const verdict = { status: "invalid", code: "ELEMENT_WRONG", where: "challenge 0", detail: "" } as const;
		await probeByHand(store, id, "mixed-3", { verdict, figures: [], devices: [], startedAtMs: 5000 });
		const after = await store.providers.get(id);
		assert.deepEqual(
			[after?.gpuCount, after?.lastVerdict, after?.lastCode, after?.lastValidAtMs],
			[1, "invalid", "ELEMENT_WRONG", 4000],
		);
		assert.equal((await store.providers.figures(id)).length, 3);
		const history = await store.probes.figureHistory({ providerId: id, device: 0, name: "memory.bandwidth" });
		assert.deepEqual(history.map((row) => row.value).sort(), [4_210_000_000_000 * 0.8, 4_210_000_000_000]);
		const probes = await store.probes.list({ providerId: id, verdict: "invalid" });
		assert.deepEqual(
			probes.rows.map((row) => [row.id, row.code]),
			[[idOf("mixed-3", 32), "ELEMENT_WRONG"]],
		);
	});

	test("the same GPU UUID on two providers is found, an empty one is not", async () => {
		const [a, b, c] = [
			await register(store, "twin-a"),
			await register(store, "twin-b"),
			await register(store, "twin-c"),
		];
		for (const id of [a, b])
			await probeByHand(store, id, `twin ${id}`, { devices: [gpu(0, { uuid: "GPU-shared" }), gpu(1, { uuid: "" })] });
		await probeByHand(store, c, "twin c", { devices: [gpu(0, { uuid: "" })] });
		assert.deepEqual(await store.devices.othersWith(a, ["GPU-shared", ""]), [b]);
		await store.providers.setState(b, "removed", by);
		assert.deepEqual(await store.devices.othersWith(a, ["GPU-shared", ""]), []);
	});

	test("a device key counts for the first who showed it, until its probes no longer show it", async () => {
		const [a, b, c] = await Promise.all(["key a", "key b", "key c"].map((name) => register(store, name)));
		const [one, two] = [idOf("card 1"), idOf("card 2")];
		const at = (startedAtMs: number, keys: readonly string[], more: Partial<ProbeAttestation> = {}) => ({
			...{ startedAtMs, finishedAtMs: startedAtMs + 1, attestation: attestation(keys, more) },
		});
		let probes = 0;
		const show = (id: string | undefined, over: Parameters<typeof probeByHand>[3]) =>
			probeByHand(store, id!, `keys ${++probes}`, over);
		const elsewhere = async (id: string | undefined) => {
			const row = (await store.providers.get(id!))?.attestation ?? null;
			return row && [row.level, ...row.elsewhere.map(({ key, providerId }) => [key, providerId])];
		};
		await show(a, at(4000, [one, two]));
		assert.deepEqual(await elsewhere(a), ["measured"]);
		const told = await show(b, at(4100, [two]));
		assert.deepEqual([told.attestation?.level, told.attestation?.shown], ["none", "measured"]);
		assert.deepEqual(await elsewhere(b), ["none", [two, a]]);
		const [probe] = (await store.probes.list({ providerId: b! })).rows;
		assert.deepEqual(probe?.findings, [{ code: "DEVICE_ELSEWHERE", detail: two }]);
		assert.deepEqual(probe?.attestation, told.attestation);
		// ATTACK: simulated reports, which anybody can sign, with the key of a real card. They take nothing and
		// get nothing.
		await show(c, at(4200, [one, idOf("card 3")], { isSimulated: true, level: "none" }));
		assert.deepEqual(await elsewhere(c), ["none"]);
		await show(a, at(4300, [one, two]));
		assert.deepEqual(await elsewhere(a), ["measured"], "who holds it is not touched");
		// What is counted late (its process died) binds nothing, and neither do probes that are not valid.
		await show(a, at(3000, [idOf("card 3")]));
		const verdict = { status: "invalid", code: "NONCE_WRONG", where: "x", detail: "x" } as const;
		await show(b, { ...at(4400, [idOf("card 4")]), verdict });
		await show(c, at(4500, [idOf("card 3"), idOf("card 4")]));
		assert.deepEqual(await elsewhere(c), ["measured"]);
		// A card that moved: free with the first valid probe of its holder without it.
		await show(a, at(4600, [one]));
		await show(b, at(4700, [two]));
		assert.deepEqual(await elsewhere(b), ["measured"]);
		await show(a, at(4800, [one, two]));
		assert.deepEqual(await elsewhere(a), ["none", [two, b]]);
		// A holder that is not seen any more: free after a while, later if it is rented, at once if it was
		// removed.
		await show(c, at(5700, [two]));
		assert.deepEqual(await elsewhere(c), ["none", [two, b]]);
		await show(c, at(5701, [two]));
		assert.deepEqual(await elsewhere(c), ["measured"]);
		const rental = {
			...{ id: idOf("key rental", 32), providerId: c!, customer: "k", publicKey: "ssh-ed25519 A", devices: [0] },
			...{ pricePerHourMicros: 9, reservedAtMs: 5702, untilMs: 9e12, escrow: null },
		};
		await store.rentals.reserve(rental, { actor: "c" });
		await show(b, at(15_701, [two]));
		assert.deepEqual(await elsewhere(b), ["none", [two, c]]);
		await show(b, at(15_702, [two]));
		assert.deepEqual(await elsewhere(b), ["measured"]);
		await store.rentals.change({
			...{ id: rental.id, atMs: 15_703, actor: "c", from: "reserved", to: "ended" },
		});
		await store.providers.setState(b!, "removed", by);
		await show(a, at(15_703, [two]));
		assert.deepEqual(await elsewhere(a), ["measured"]);
		await show(a, { startedAtMs: 15_704 });
		assert.equal(await elsewhere(a), null, "a host that has none any more says none");
	});

	test("what a chain says of a key counts before who was first here", async () => {
		const [a, b, c] = (await Promise.all(
			["on chain a", "on chain b", "on chain c"].map((name) => register(store, name)),
		)) as [...[string, string, string]];
		const [one, two] = [idOf("chain card 1"), idOf("chain card 2")];
		let at = 40_000;
		const show = async (id: string, keys: readonly string[], chainKeys = NO_CHAIN_KEYS, more = {}) => {
			at += 1;
			const over = { startedAtMs: at, finishedAtMs: at, attestation: attestation(keys, more), chainKeys };
			const { attestation: counted } = await probeByHand(store, id, `chain keys ${at}`, over);
			return [counted?.level, ...(counted?.elsewhere ?? []).map(({ key, providerId }) => [key, providerId])];
		};
		const heldBy = (providerId: string) => ({ own: [], elsewhere: [{ key: one, providerId }] });
		const own = { own: [one], elsewhere: [] };
		assert.deepEqual(await show(a, [one, two]), ["measured"], "bound on no chain: the first has it");
		// The chain gives it to another: the owner gets it from whoever was first, who is told at the next probe.
		assert.deepEqual(await show(b, [one], own), ["measured"]);
		assert.deepEqual(await show(a, [one, two], heldBy(b)), ["none", [one, b]]);
		assert.deepEqual(await show(a, [two]), ["measured"], "what it lost was one key");
		// Nobody binds here what is another's there, not even where its owner was never seen.
		const stranger = "0f".repeat(32);
		assert.deepEqual(await show(b, []), ["measured"]);
		assert.deepEqual(await show(c, [one], heldBy(stranger)), ["none", [one, stranger]]);
		assert.deepEqual(await show(a, [one, two]), ["measured"], "it stayed free");
		// Nothing is bound of a job; the chain's word counts there too.
		const shown = attestation([one]);
		const other = (await store.devices.boundElsewhere(b, shown, NO_CHAIN_KEYS)).map(({ providerId }) => providerId);
		assert.deepEqual(other, [a]);
		assert.deepEqual(await store.devices.boundElsewhere(b, shown, own), []);
		assert.deepEqual(await store.devices.boundElsewhere(a, shown, heldBy(b)), [{ key: one, providerId: b }]);
		// ATTACK: a chain's word on a real key has no say over minted ones, nor they over it.
		const simulated = { isSimulated: true, level: "none" } as const;
		assert.deepEqual(await show(c, [one], heldBy(b), simulated), ["none"]);
		assert.deepEqual(await show(b, [one], own, simulated), ["none", [one, c]]);
	});

	test("long words of a host do not keep its reports from being counted", async () => {
		const id = await register(store, "wordy");
		const [device] = attestation([idOf("card 9")]).devices;
		const word = "\u202e".repeat(60_000);
		const devices = Array.from({ length: 32 }, (_, i) => {
			return { ...device!, key: idOf(`card 9 ${i}`), chip: word, driver: word, firmware: word };
		});
		const guest = { tee: word, measurement: word, tcb: word };
		const hostile = { devices, guest, says: [word], reasons: [{ code: "RELAYABLE", detail: word }] };
		await probeByHand(store, id, "wordy", { attestation: attestation([], hostile) });
		const row = (await store.providers.get(id))?.attestation;
		assert.deepEqual([row?.devices.length, row?.devices[0]?.chip], [32, "\ufffd".repeat(64)]);
		assert.ok(JSON.stringify(row).length < 20_000);
	});

	test("hours: every one of a day, cheats apart from what honest hosts can cause", async () => {
		const id = await register(store, "hours");
		const HOUR = 3_600_000;
		const nowMs = 500 * HOUR + 1000;
		const before = (await store.overview({ nowMs })).probes.cheats;
		const invalid = (code: string) => ({ status: "invalid", code, where: "", detail: "" }) as const;
		const none = { figures: [], devices: [] };
		const ends = [
			[500 * HOUR, "ELEMENT_WRONG"],
			[500 * HOUR - 1, "STREAM_LATE"],
			[490 * HOUR, "ROOT_MISMATCH"],
			[400 * HOUR, "ROOT_MISMATCH"],
		] as const;
		for (const [finishedAtMs, why] of ends)
			await probeByHand(store, id, `hours ${finishedAtMs}`, { ...none, finishedAtMs, verdict: invalid(why) });
		const { cheats, hours, day, lastHour } = (await store.overview({ nowMs })).probes;
		assert.equal(lastHour, 2, "by 60 minutes, not by the hours of the clock");
		const later = await store.overview({ nowMs: 501 * HOUR + 1000 });
		assert.equal(later.probes.lastHour, 0);
		assert.deepEqual([cheats.day, cheats.total - before.total, day.invalid], [2, 3, 3]);
		assert.deepEqual([hours.length, hours[0]!.atMs, hours[23]!.atMs], [24, 477 * HOUR, 500 * HOUR]);
		assert.deepEqual(
			hours.filter(({ invalid }) => invalid > 0).map(({ atMs, invalid, cheats }) => [atMs / HOUR, invalid, cheats]),
			[
				[490, 1, 1],
				[499, 1, 0],
				[500, 1, 1],
			],
		);
	});

	test("a probe needs the lease, counts once, and its evidence counts once", async () => {
		const id = await register(store, "lease");
		const row = { id: idOf("p", 32), providerId: id, validator: "v", startedAtMs: 1 };
		await assert.rejects(store.probes.begin(row), code("STORE_LEASE_LOST"));
		await store.leases.acquire(`provider/${id}`);
		await store.probes.begin(row);
		const evidence = await store.evidence.put(row.id, Buffer.from("once"));
		const before = (await store.overview({ nowMs: 5000 })).probes.total.valid;
		assert.equal((await store.probes.finish(finishOf(row.id, { evidence }))).counted, true);
		const verdict = { status: "invalid", code: "X", where: "", detail: "" } as const;
		assert.equal((await store.probes.finish(finishOf(row.id, { evidence, verdict }))).counted, false);
		assert.equal((await store.probes.get(row.id))?.verdict, "valid");
		assert.equal((await store.overview({ nowMs: 5000 })).probes.total.valid, before + 1);
		assert.equal((await store.probes.finish(finishOf(idOf("never begun", 32)))).counted, false);
		assert.deepEqual((await store.probes.get(row.id))?.host, {
			...{ name: "lease", model: "h200", gpuCount: 1, fp16OpsPerS: 667_000_000_000_000 },
		});
		await store.probes.begin({ ...row, id: idOf("q", 32) });
		await assert.rejects(store.probes.finish(finishOf(idOf("q", 32), { evidence })), code("STORE_CONFLICT"));
		assert.equal((await store.probes.get(idOf("q", 32)))?.state, "running");
		assert.equal(await store.probes.abandon(idOf("q", 32), { nowMs: 7, nextProbeAtMs: 9 }), true);
		assert.equal(await store.probes.abandon(idOf("q", 32), { nowMs: 7, nextProbeAtMs: 9 }), false);
		// Abandoned without evidence: counts for nothing, ever.
		assert.equal((await store.probes.finish(finishOf(idOf("q", 32)))).counted, false);
		await store.leases.release(`provider/${id}`);
	});

	test("an older probe that is counted late changes no newer state", async () => {
		const id = await register(store, "late");
		await store.leases.acquire(`provider/${id}`);
		const old = idOf("late-old", 32);
		await store.probes.begin({ id: old, providerId: id, validator: "v", startedAtMs: 1000 });
		const evidence = await store.evidence.put(old, Buffer.from("late"));
		await store.probes.abandon(old, { nowMs: 1500, nextProbeAtMs: 1500 });
		await store.leases.release(`provider/${id}`);
		await probeByHand(store, id, "late-new", { startedAtMs: 2000 });
		const result = await store.probes.finish(finishOf(old, { evidence, devices: [], figures: [] }));
		assert.deepEqual(result, { counted: true, latest: false });
		const provider = await store.providers.get(id);
		assert.deepEqual([provider?.lastProbeAtMs, provider?.gpuCount], [2000, 1]);
	});

	test("a probe asked for during a probe is due after it", async () => {
		const id = await register(store, "asked");
		const finished = Promise.withResolvers<void>();
		const worker = store.dueProbes.take({ concurrency: 100, nowMs: () => 1000 }, async (due) => {
			if (due.providerId !== id) return;
			await store.probes.begin({ id: idOf("asked", 32), providerId: id, validator: "v", startedAtMs: 1200 });
			assert.equal((await store.providers.get(id))?.probedBy, store.process);
			await store.providers.requestProbe(id, { atMs: 4500 });
			await store.probes.finish(finishOf(idOf("asked", 32)));
			finished.resolve();
		});
		await finished.promise;
		await worker.stop();
		const provider = await store.providers.get(id);
		assert.deepEqual([provider?.nextProbeAtMs, provider?.probedBy], [4500, null]);
	});

	test("evidence is durable, content-addressed and checked when read", async () => {
		const bytes = Buffer.from("some evidence");
		const { sha256 } = await store.evidence.put(idOf("e", 32), bytes);
		assert.deepEqual(Buffer.from(await store.evidence.get(sha256)), bytes);
		assert.equal(await store.evidence.has(sha256), true);
		const streamed = await store.evidence.stream(sha256);
		assert.deepEqual([streamed.sizeBytes, await readBounded(streamed.bytes, 1000)], [bytes.length, bytes]);
		assert.deepEqual(readdirSync(join(server.dataDir, "drafts")), []);
		writeFileSync(join(server.dataDir, "evidence", sha256.slice(0, 2), sha256.slice(2)), "tampered");
		await assert.rejects(store.evidence.get(sha256), code("EVIDENCE_CORRUPT"));
		await assert.rejects(store.evidence.stream(sha256), code("EVIDENCE_CORRUPT"));
		await assert.rejects(store.evidence.stream(idOf("none")), code("EVIDENCE_MISSING"));
		await assert.rejects(store.evidence.get(idOf("none")), code("EVIDENCE_MISSING"));
		await assert.rejects(store.evidence.get("../../../../etc/passwd"), code("STORE_INPUT"));
		await assert.rejects(store.evidence.put("../x", bytes), code("STORE_INPUT"));
		await store.evidence.dropPending(idOf("e", 32));
		await store.ready();
	});

	test("scores are kept; an older one does not replace a newer one", async () => {
		const id = await register(store, "scored");
		const score = (atMs: number, scorePpm: number) => ({
			providerId: id,
			atMs,
			scorePpm,
			mode: "holistic",
			terms: { name: "x", from: ["a"] },
		});
		await store.scores.put([score(10, 500), score(10, 500)].slice(1));
		await store.scores.put([score(20, 700)]);
		await store.scores.put([score(15, 100)]);
		assert.deepEqual(await store.scores.get(id), score(20, 700));
		assert.equal((await store.providers.get(id))?.scorePpm, 700);
		assert.equal((await store.scores.list({ limit: 1 })).rows[0]?.name, "scored");
		assert.deepEqual(await store.scores.all({ sinceMs: 20 }), [{ providerId: id, scorePpm: 700 }]);
		assert.deepEqual(await store.scores.all({ sinceMs: 21 }), []);
		await assert.rejects(store.scores.put([{ ...score(30, 1), providerId: idOf("nobody") }]), code("STORE_NOT_FOUND"));
	});

	test("a provider has one open rental; changes are guarded by the state before", async () => {
		const id = await register(store, "rented");
		const rental = (name: string) => ({
			...{ id: idOf(name, 32), providerId: id, customer: "c", publicKey: "ssh-ed25519 A", pricePerHourMicros: 9 },
			...{ devices: [0], reservedAtMs: 5000, untilMs: 9000, escrow: name === "r4" ? null : `0x${idOf(name, 64)}` },
		});
		const won = await Promise.allSettled(
			["r1", "r2", "r3"].map((name) => store.rentals.reserve(rental(name), { actor: "c" })),
		);
		const reserved = won.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
		assert.equal(reserved.length, 1);
		for (const result of won) if (result.status === "rejected") code("RENTAL_CONFLICT")(result.reason);
		const rid = reserved[0]!.id;
		const change = { id: rid, atMs: 6000, actor: "c" };
		assert.equal(await store.rentals.change({ ...change, from: "active", to: "ended", endReason: "released" }), null);
		const access = { host: "h", port: 22, user: "u", hostKey: "k" };
		const active = await store.rentals.change({ ...change, from: "reserved", to: "active", access });
		assert.deepEqual([active?.state, active?.startedAtMs, active?.access], ["active", 6000, access]);
		assert.equal(
			await store.rentals.change({ ...change, from: "active", to: "active", untilMs: 20_000, ifUntilMs: 1 }),
			null,
		);
		const longer = await store.rentals.change({
			...change,
			from: "active",
			to: "active",
			untilMs: 20_000,
			ifUntilMs: 9000,
		});
		assert.equal(longer?.untilMs, 20_000);
		assert.deepEqual(
			(await store.rentals.open()).map((row) => row.id),
			[rid],
		);
		const end = {
			...change,
			from: "active",
			to: "ended",
			endReason: "expired",
			chargedMicros: 3,
			refundMicros: 1,
		} as const;
		const ended = await Promise.all([
			store.rentals.change(end),
			store.rentals.change({ ...end, endReason: "released" }),
		]);
		assert.equal(ended.filter((row) => row !== null).length, 1);
		assert.equal(await store.rentals.change({ ...end, from: "ended", to: "active" }), null, "an end is an end");
		assert.equal((await store.providers.get(id))?.rentalId, null);
		assert.equal((await store.rentals.list({ customer: "c" })).rows[0]?.refundMicros, 1);
		// Being probed: not now, unless the caller insists.
		await store.leases.acquire(`provider/${id}`);
		await assert.rejects(store.rentals.reserve(rental("r4"), { actor: "c" }), code("RENTAL_CONFLICT"));
		await store.leases.release(`provider/${id}`);
		await store.providers.setOffer(id, { rentable: false }, by);
		await assert.rejects(store.rentals.reserve(rental("r5"), { actor: "c" }), code("RENTAL_CONFLICT"));
	});

	test("tokens are found by their secret until they expire or are revoked", async () => {
		const { token, secret } = await store.tokens.create(
			{ name: "t", role: "customer", subject: "c", expiresAtMs: 10_000 },
			by,
		);
		assert.deepEqual(await store.tokens.find(secret, { nowMs: 9999 }), token);
		assert.equal(await store.tokens.find(secret, { nowMs: 10_000 }), null);
		assert.equal(await store.tokens.find(`${secret}x`, { nowMs: 1 }), null);
		assert.deepEqual(await store.tokens.revoke(token.id, by), { ...token, revokedAtMs: by.nowMs });
		assert.equal(await store.tokens.revoke(token.id, by), null);
		assert.equal(await store.tokens.find(secret, { nowMs: 1 }), null);
		assert.equal(
			(await store.tokens.list()).rows.some((row) => JSON.stringify(row).includes(secret)),
			false,
		);
	});

	test("a nonce is good once, of many at the same time too", async () => {
		const nonce = { key: "k", nonce: "n", expiresAtMs: 100 };
		const uses = await Promise.all(Array.from({ length: 8 }, () => store.nonces.use(nonce)));
		assert.equal(uses.filter(Boolean).length, 1);
		assert.equal(await store.nonces.use({ ...nonce, key: "other" }), true);
		assert.equal((await store.prune({ probesBeforeMs: 0, nowMs: 101 })).nonces, 2);
		assert.equal(await store.nonces.use(nonce), true);
	});

	test("events reach every process, and large ones are refused", async () => {
		const other = await server.open({ schema: store.schema });
		const heard = Promise.withResolvers<unknown>();
		const stop = other.events.subscribe(heard.resolve);
		const event = { kind: "probe", subject: "s", atMs: 5, detail: { stage: 1 } };
		await store.events.publish(event);
		assert.deepEqual(await heard.promise, event);
		stop();
		await assert.rejects(store.events.publish({ ...event, detail: "x".repeat(5000) }), code("STORE_INPUT"));
		await other.close();
	});

	test("history is pruned in batches; the probe behind current figures stays", async () => {
		const id = await register(store, "pruned");
		for (const n of [1, 2, 3]) await probeByHand(store, id, `pruned-${n}`, { startedAtMs: n });
		await store.prune({ probesBeforeMs: 4, nowMs: 0 });
		assert.deepEqual(
			(await store.probes.list({ providerId: id })).rows.map((row) => row.startedAtMs),
			[3],
		);
	});
});
