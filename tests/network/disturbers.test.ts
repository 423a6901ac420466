// Silent, trickling and flooding providers among honest ones: the others get their verdicts while those still
// hold their places, and what they send does not fill the validator. No times are asserted here;
// bench/network-disturbers.ts measures them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { kindNamed, type SimulatedKind } from "./simulated-kinds.ts";
import { kindsById, openToyNetwork, type ToyNetwork, usageOf } from "./toy-network.ts";

let network: ToyNetwork;
before(async () => {
	network = await openToyNetwork();
});
after(async () => {
	await network?.close();
});

/** Without an end of their own: they hold their places until the probe's deadline. */
const LASTING = ["silence", "silence-after-claim", "trickle", "commitment-withheld"];
const FLOODS = ["endless", "endless-progress", "endless-roots", "endless-openings", "giant-frame", "giant-frame-later"];
const HONEST = 12;

test("the others have their verdicts while the silent and the trickling still hold their places", async () => {
	const kinds: SimulatedKind[] = [
		...[...LASTING, ...FLOODS].map(kindNamed),
		...Array.from({ length: HONEST }, () => kindNamed("honest")),
	];
	const byId = kindsById(kinds);
	// Far beyond this test's own end: whoever waited for one of them would wait in vain.
	const deadlines = { readyMs: 600_000, helloMs: 600_000, pingMs: 600_000, answerMs: 600_000, openMs: 600_000 };
	const { child, url } = await network.startValidator({
		plan: "small",
		concurrency: 8,
		params: { retries: 0 },
		probe: { deadlines, totalMs: 900_000 },
	});
	await network.startProviders({ urls: [url], kinds, processes: 1 });
	const states = async () => {
		const { rows } = await network.sql.query(
			"SELECT p.id, r.state, r.verdict, r.code FROM providers p LEFT JOIN probes r ON r.provider_id = p.id ORDER BY r.started_at_ms",
		);
		return rows.map(({ id, state, verdict, code }) => ({ kind: byId.get(id)!.name, state, verdict, code }));
	};
	const ended = (rows: Awaited<ReturnType<typeof states>>) =>
		rows.filter(({ kind, state }) => state === "done" && !LASTING.includes(kind));
	let rows = await states();
	while (ended(rows).length < HONEST + FLOODS.length) {
		await new Promise((resolve) => setTimeout(resolve, 100));
		rows = await states();
	}
	for (const { kind, state, verdict } of rows) {
		if (kind === "honest") assert.deepEqual([state, verdict], ["done", "valid"]);
		else assert.notEqual(verdict, "valid", kind);
		if (LASTING.includes(kind)) assert.equal(state, "running", kind);
	}
	const codeOf = (kind: string) => rows.find((row) => row.kind === kind)?.code;
	assert.deepEqual(
		FLOODS.map((kind) => [kind, codeOf(kind)]),
		[
			["endless", "FRAME_TOO_LARGE"],
			["endless-progress", "CHALLENGE_GARBAGE"],
			["endless-roots", "ROOTS_SURPLUS"],
			["endless-openings", "OPENING_WITHHELD"],
			["giant-frame", "FRAME_TOO_LARGE"],
			["giant-frame-later", "CHALLENGE_GARBAGE"],
		],
	);
	const { rssBytes } = await usageOf([child]);
	assert.ok(rssBytes < 600 * 2 ** 20, `the validator holds ${Math.round(rssBytes / 2 ** 20)} MiB`);
});
