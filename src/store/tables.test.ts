// The tables themselves: the journal's chain, and paging over every order of the list of providers.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import pg from "pg";
import { fc, scaled } from "../../tests/fuzz.test-kit.ts";
import type { AssayError } from "../protocol/assay-error.ts";
import type { Store } from "./open-store.ts";
import { onBothServers } from "./postgres/servers.test-kit.ts";
import type { ProviderQuery, ProviderSort } from "./provider-query.ts";
import type { Provider } from "./providers.ts";
import { cardFigures, gpu, probeByHand, register } from "./sample-rows.test-kit.ts";

const code = (expected: string) => (error: unknown) => (error as AssayError).code === expected;

/** What each order sorts by, as the page says it; missing values come last in descending order. */
const VALUES: Readonly<Record<ProviderSort, (provider: Provider) => number | string>> = {
	score: (p) => p.scorePpm ?? -1,
	price: (p) => p.pricePerHourMicros,
	gpuPrice: (p) => Math.floor(p.pricePerHourMicros / Math.max(1, p.gpuCount)),
	memory: (p) => p.memoryBytes ?? -1,
	fp16: (p) => p.fp16OpsPerS ?? -1,
	bandwidth: (p) => p.memoryBytesPerS ?? -1,
	uptime: (p) => p.uptimePpm,
	name: (p) => p.name,
	registered: (p) => p.registeredAtMs,
	lastProbe: (p) => p.lastProbeAtMs ?? -1,
	nextProbe: (p) => p.nextProbeAtMs,
};
const SORTS = Object.keys(VALUES) as ProviderSort[];

function ordered(providers: readonly Provider[], sort: ProviderSort, descending: boolean): readonly string[] {
	const key = (p: Provider) => [VALUES[sort](p), p.id] as const;
	const compare = (a: Provider, b: Provider) => {
		const [[av, ai], [bv, bi]] = [key(a), key(b)];
		const order = av < bv ? -1 : av > bv ? 1 : ai < bi ? -1 : 1;
		return descending ? -order : order;
	};
	return [...providers].sort(compare).map((p) => p.id);
}

onBothServers((server) => {
	let store: Store;
	let client: pg.Client;
	before(async () => {
		store = await server.open();
		client = new pg.Client(await server.connection());
		await client.connect();
		client.on("error", () => {});
		// Few different values, so that most rows tie with others.
		for (let i = 0; i < 24; i++) {
			const price = (i % 3) * 100;
			const name = `host-${i % 5}${"é".repeat(i % 2)}`;
			const id = await register(store, `n${i}`, { name, pricePerHourMicros: price, nowMs: 1000 + (i % 4) });
			if (i % 4 === 0) continue;
			const model = i % 2 ? "h200" : "l4";
			const devices = Array.from({ length: (i % 3) + 1 }, (_, device) => gpu(device, { profile: model }));
			const figures = devices.flatMap(({ device }) => cardFigures(device, 1 - (i % 3) / 10));
			await probeByHand(store, id, `${server.name} ${i}`, { devices, figures, startedAtMs: 5000 + (i % 2) });
			if (i % 3 === 0)
				await store.scores.put([{ providerId: id, atMs: 1, scorePpm: 5 * (i % 2), mode: "holistic", terms: {} }]);
		}
	});

	test("what is remembered of a chain: events and their cursor at once, intents of one account, nothing of another chain", async () => {
		const key = { chainId: 7373, registry: `0x${"a1".repeat(20)}` };
		const others = [
			{ ...key, chainId: 1 },
			{ ...key, registry: `0x${"b2".repeat(20)}` },
		];
		const event = (block: number, logIndex: number) => ({ block, logIndex, body: { at: `${block}.${logIndex}` } });
		assert.deepEqual(await store.chain.events(key), { cursor: null, events: [] });
		await store.chain.putEvents(key, { keepTo: -1, added: [event(9, 1), event(9, 0), event(10, 0)], cursor: [1] });
		await store.chain.putEvents(key, { keepTo: 9, added: [event(11, 4)], cursor: [2] });
		assert.deepEqual(await store.chain.events(key), {
			cursor: [2],
			events: [event(9, 0), event(9, 1), event(11, 4)],
		});
		// The second of the two clashes: nothing of the write stays, the cursor neither.
		const twice = { keepTo: 11, added: [event(12, 0), event(12, 0)], cursor: [3] };
		await assert.rejects(store.chain.putEvents(key, twice), code("STORE_CONFLICT"));
		assert.deepEqual((await store.chain.events(key)).cursor, [2]);
		await store.chain.putEvents(key, { keepTo: -1, added: [], cursor: [] });
		assert.deepEqual(await store.chain.events(key), { cursor: [], events: [] });

		const [account, other] = [`0x${"c3".repeat(20)}`, `0x${"d4".repeat(20)}`];
		await store.chain.intents(key, account).put("commit/1", { nonce: 1 });
		await store.chain.intents(key, account).put("commit/1", { nonce: 2 });
		assert.deepEqual(await store.chain.intents(key, account).get("commit/1"), { nonce: 2 });
		assert.deepEqual(await store.chain.intents(key, account).list(), ["commit/1"]);
		assert.equal(await store.chain.intents(key, other).get("commit/1"), null);
		for (const foreign of others) {
			assert.deepEqual(await store.chain.events(foreign), { cursor: null, events: [] });
			assert.equal(await store.chain.intents(foreign, account).get("commit/1"), null);
		}
		await assert.rejects(store.chain.events({ ...key, registry: "0xA1" }), code("STORE_INPUT"));

		// A process whose lease went to another changes nothing any more, whatever it still believes.
		const second = await server.open({ schema: store.schema });
		assert.equal(await store.leases.acquire("chain"), true);
		await store.chain.intents(key, account).put("reveal/1", {}, "chain");
		await assert.rejects(
			second.chain.intents(key, account).put("reveal/1", { by: 2 }, "chain"),
			code("STORE_LEASE_LOST"),
		);
		await client.query(`UPDATE ${store.schema}.leases SET expires_at = now() - interval '1 s' WHERE name = 'chain'`);
		await assert.rejects(store.chain.intents(key, account).remove("reveal/1", "chain"), code("STORE_LEASE_LOST"));
		assert.equal(await second.leases.acquire("chain"), true);
		await assert.rejects(store.chain.intents(key, account).put("reveal/1", {}, "chain"), code("STORE_LEASE_LOST"));
		await second.chain.intents(key, account).remove("reveal/1", "chain");
		assert.equal(await store.chain.intents(key, account).get("reveal/1"), null);
		assert.deepEqual(await store.chain.intents(key, account).get("commit/1"), { nonce: 2 });
		// Taken by force, for who knows that the other is dead: if it is not, it finds out at its next write.
		await store.leases.seize("chain");
		assert.equal(await second.leases.acquire("chain"), false);
		await assert.rejects(second.chain.intents(key, account).put("reveal/2", {}, "chain"), code("STORE_LEASE_LOST"));
		await store.chain.intents(key, account).put("reveal/2", {}, "chain");
	});

	test("the journal refuses changes, and shows those that were forced upon it", async () => {
		for (let i = 0; i < 5; i++)
			await store.journal.append({ actor: "a", kind: "k", subject: `s${i}`, detail: { i } }, { nowMs: i });
		const clean = await store.journal.verify();
		assert.equal(clean.brokenAt, null);
		const table = `${store.schema}.journal`;
		const seq = clean.lines - 2;
		for (const change of [`UPDATE ${table} SET actor = 'b'`, `DELETE FROM ${table}`, `TRUNCATE ${table}`])
			await assert.rejects(client.query(change), /only added to/);
		const force = async (change: string): Promise<number | null> => {
			await client.query(
				`CREATE TABLE ${store.schema}.kept AS TABLE ${table}; ALTER TABLE ${table} DISABLE TRIGGER ALL`,
			);
			await client.query(change);
			const { brokenAt } = await store.journal.verify();
			await client.query(
				`DELETE FROM ${table}; INSERT INTO ${table} TABLE ${store.schema}.kept; DROP TABLE ${store.schema}.kept`,
			);
			await client.query(`ALTER TABLE ${table} ENABLE TRIGGER ALL`);
			return brokenAt;
		};
		for (const column of ["actor", "kind", "subject", "detail"])
			assert.equal(await force(`UPDATE ${table} SET ${column} = '"x"' WHERE seq = ${seq}`), seq, column);
		assert.equal(await force(`UPDATE ${table} SET at_ms = at_ms + 1 WHERE seq = ${seq}`), seq);
		assert.equal(await force(`UPDATE ${table} SET hash = sha256(hash) WHERE seq = ${seq}`), seq);
		assert.equal(await force(`DELETE FROM ${table} WHERE seq = ${seq}`), seq);
		assert.equal(await force(`UPDATE ${table} SET seq = seq + 1000 WHERE seq = ${seq}`), seq);
		assert.deepEqual(await store.journal.verify(), clean);
		const page = await store.journal.list({ subject: "s3" });
		assert.deepEqual(
			page.rows.map((line) => line.detail),
			[{ i: 3 }],
		);
	});

	test("every order, direction and page size gives every provider once", async () => {
		const all = (await store.providers.list({ limit: 500 })).rows;
		const query = fc.record({
			sort: fc.constantFrom(...SORTS),
			descending: fc.boolean(),
			limit: fc.integer({ min: 1, max: 12 }),
			proven: fc.boolean(),
		});
		await fc.assert(
			fc.asyncProperty(query, async ({ sort, descending, limit, proven }) => {
				const filter: ProviderQuery = proven ? { lastVerdict: "valid" } : {};
				const seen: string[] = [];
				let cursor: string | null = null;
				do {
					const page = await store.providers.list({ sort, descending, limit, cursor, ...filter });
					assert.ok(page.rows.length <= limit);
					seen.push(...page.rows.map((row) => row.id));
					cursor = page.cursor;
				} while (cursor !== null);
				const expected = all.filter((row) => !proven || row.lastVerdict === "valid");
				assert.deepEqual(seen, ordered(expected, sort, descending));
			}),
			{ numRuns: scaled(40) },
		);
	});

	test("a search by proven figures finds exactly those whose weakest card suffices", async () => {
		const all = (await store.providers.list({ limit: 500 })).rows;
		const holdings = new Map(
			await Promise.all(all.map(async (row) => [row.id, await store.providers.holdings(row.id)] as const)),
		);
		const steps = (values: number[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
		const filters = fc.record({
			models: fc.option(fc.subarray(["h200", "l4", "b200", "'; --"]), { nil: undefined }),
			minDevices: steps([1, 2, 3, 4]),
			minMemoryBytes: steps([0, 120_000_000_000, 143_800_000_000]),
			minFp16OpsPerS: steps([1, 600_000_000_000_000, 667_000_000_000_000]),
			minBandwidthBytesPerS: steps([1, 3_700_000_000_000, 4_210_000_000_000]),
			maxPriceMicros: steps([0, 100, 200]),
		});
		await fc.assert(
			fc.asyncProperty(filters, async (filter: ProviderQuery) => {
				const { maxPriceMicros, ...ofCards } = filter;
				const found = (await store.providers.list({ ...filter, limit: 500 })).rows.map((row) => row.id);
				const expected = all.filter((row) => {
					if (maxPriceMicros !== undefined && row.pricePerHourMicros > maxPriceMicros) return false;
					if (Object.values(ofCards).every((value) => value === undefined)) return true;
					return holdings
						.get(row.id)!
						.some(
							(held) =>
								(filter.models?.includes(held.model) ?? true) &&
								held.count >= (filter.minDevices ?? 0) &&
								(held.figures["memory.resident"] ?? -1) >= (filter.minMemoryBytes ?? -1) &&
								(held.figures["gemm.fp16"] ?? -1) >= (filter.minFp16OpsPerS ?? -1) &&
								(held.figures["memory.bandwidth"] ?? -1) >= (filter.minBandwidthBytesPerS ?? -1),
						);
				});
				assert.deepEqual([...found].sort(), expected.map((row) => row.id).sort());
			}),
			{ numRuns: scaled(60) },
		);
	});

	test("a cursor that is not ours is refused, whatever it holds", async () => {
		const refused = async (cursor: string, sort: ProviderSort) =>
			await store.providers.list({ sort, cursor }).then(
				() => true,
				(error: AssayError) => error.code === "CURSOR_BAD",
			);
		const encoded = fc.json().map((text) => Buffer.from(text).toString("base64url"));
		const almost = fc
			.tuple(
				fc.constantFrom("providers/name/up", "providers/score/down"),
				fc.oneof(fc.string(), fc.double(), fc.maxSafeInteger()),
				fc.string(),
			)
			.map((parts) => Buffer.from(JSON.stringify(parts)).toString("base64url"));
		await fc.assert(
			fc.asyncProperty(fc.oneof(fc.string(), encoded, almost), fc.constantFrom(...SORTS), async (cursor, sort) => {
				assert.ok(await refused(cursor, sort));
			}),
			{ numRuns: scaled(150) },
		);
		const { cursor } = await store.providers.list({ sort: "price", limit: 1 });
		await assert.rejects(store.providers.list({ sort: "name", cursor }), code("CURSOR_BAD"));
		await assert.rejects(store.probes.list({ cursor }), code("CURSOR_BAD"));
		await assert.rejects(store.providers.list({ limit: 501 }), code("STORE_INPUT"));
		await client.end();
	});
});
