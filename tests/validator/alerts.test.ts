// Alerts of a validator to a webhook, before real probes of a toy that lies, slows down, goes and comes; and
// metrics of single providers, of which there are only so many.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { createOwnerAlerts } from "../../src/cli/owner/owner-alerts.ts";
import { webhookSignature } from "../../src/platform/webhook.ts";
import { alertBody, createAlertRests } from "../../src/protocol/network/alert.ts";
import { CHEATS } from "../toy/cheats.ts";
import type { Cheat } from "../toy/toy-engine.ts";
import {
	createToyLink,
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
	toyClaimOf,
} from "./toy-agent.test-kit.ts";

type Body = { kind: string; provider: string; code: string | null; text: string; by: string; heldBack: number };
const LIE = "smaller-k";
const got: Body[] = [];
const hook = createServer(async (request, response) => {
	let body = "";
	for await (const chunk of request) body += chunk;
	const [id, seconds, given] = ["id", "timestamp", "signature"].map((name) =>
		String(request.headers[`webhook-${name}`]),
	);
	assert.equal(given, webhookSignature("hush", id!, Number(seconds), body));
	got.push(JSON.parse(body));
	response.writeHead(204).end();
});
const data = makeDataDir();
let validator: ToyValidator;
let url = "";
before(async () => {
	await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
	url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`;
	validator = await startToyValidator({
		dataDir: data.path,
		alerts: { urls: [url], secret: "hush", offlineMs: 300 },
		metricsProviders: 2,
		params: { retries: 0 },
	});
});
after(async () => {
	await validator?.stop();
	hook.close();
	await data.remove();
});

const probesOf = async (id: string) =>
	(await validator.client.listProviderProbes({ params: { id }, query: { state: "done" } })).rows;
const verdictsOf = (id: string, count: number) =>
	eventually(async () => {
		const rows = await probesOf(id).catch(() => []);
		return rows.length >= count && rows.map(({ verdict }) => verdict);
	});
const alertsOf = (id: string) => got.filter(({ provider }) => provider === id).map(({ kind }) => kind);

test("invalid, throttled, offline and back: each told once, signed; a stranger that never proved anything is not", async () => {
	const stranger = await startToyAgent({ url: validator.url, signer: signerOf(40), cheat: LIE });
	let cheat: Cheat = {};
	const claim = toyClaimOf("GPU-alert");
	const openLink = async () => createToyLink(claim, cheat);
	const join = () => startToyAgent({ url: validator.url, signer: signerOf(41), name: "my host", claim, openLink });
	let agent = await join();
	assert.deepEqual(await verdictsOf(agent.id, 1), ["valid"]);
	await verdictsOf(stranger.id, 1);
	await eventually(async () => (await validator.store.leases.list({ prefix: "alerts" })).length === 1);
	const again = async () => {
		await validator.store.providers.requestProbe(agent.id, { atMs: 1 });
		validator.wake();
	};

	// Its figures were a thousand times better, three times.
	const remembered = (await validator.store.providers.recall(agent.id))!;
	const series = remembered.memory.series.map((one) => ({
		...one,
		values: [1, 1, 1].map(() => one.values[0]! * 1000),
	}));
	assert.ok(series.length > 0);
	await validator.store.providers.remember(agent.id, { ...remembered.memory, series });
	await again();
	await verdictsOf(agent.id, 2);
	await eventually(async () => alertsOf(agent.id).includes("throttled"));
	assert.match(got.find(({ kind }) => kind === "throttled")!.text, /^my host: slower than it was: gemm\.int8/);

	cheat = CHEATS[LIE]!;
	await again();
	await eventually(async () => alertsOf(agent.id).includes("invalid"));
	const invalid = got.find(({ kind }) => kind === "invalid")!;
	assert.deepEqual([invalid.code, invalid.by], ["ELEMENT_WRONG", validator.key]);
	// The same again within the hour is held back.
	await again();
	await verdictsOf(agent.id, 4);
	await eventually(async () => /assay_alerts_total\{how="held"\} [1-9]/.test(await validator.client.metrics()));

	await agent.close();
	await eventually(async () => alertsOf(agent.id).includes("offline"));
	agent = await join();
	await eventually(async () => alertsOf(agent.id).includes("back"));
	assert.deepEqual(alertsOf(agent.id), ["throttled", "invalid", "offline", "back"]);
	assert.deepEqual(alertsOf(stranger.id), []);
	await stranger.close();
	await agent.close();
});

test("so many providers have metrics, the best first; one that is removed leaves none", async () => {
	const agents = await Promise.all([50, 51, 52].map((n) => startToyAgent({ url: validator.url, signer: signerOf(n) })));
	for (const { id } of agents) await verdictsOf(id, 1);
	const named = async () => {
		const text = await validator.client.metrics();
		return [...text.matchAll(/^assay_provider_connected\{provider="([0-9a-f]{64})"\} [01]$/gm)].map(([, id]) => id!);
	};
	const first = await eventually(async () => {
		const found = await named();
		return found.length === 2 && found;
	});
	await validator.store.providers.setState(first[0]!, "removed", { nowMs: Date.now(), actor: "test" });
	await eventually(async () => !(await named()).includes(first[0]!) && (await named()).length === 2);
	for (const agent of agents) await agent.close();
});

test("an owner is told what validators say of the machine, and that none is reached, once it lasts", async () => {
	// Of others, the validator may still tell that they are gone.
	const provider = "ab".repeat(32);
	const told = () => got.filter((alert) => alert.provider === provider);
	const rests: (() => void)[] = [];
	const after = (_ms: number, run: () => void) => {
		rests.push(run);
		return () => void rests.splice(rests.indexOf(run), 1);
	};
	/** All four have arrived: the answer to the last one may still be on its way when we stop. */
	let hasAll = false;
	const alerts = createOwnerAlerts({
		...{ urls: [url], secret: "hush", provider, name: "mine", nowMs: () => 1e12, after },
		onTrouble: (text) => assert.ok(hasAll, text),
	});
	const judged = { kind: "judged", validatorKey: "", probe: "p", code: null, findings: [] } as const;
	const address = "wss://v.example/agent";
	const lost = { kind: "unreached", url: address, code: "X", detail: "", hint: "", retryMs: 1 } as const;
	alerts.see({ ...judged, status: "valid" });
	alerts.see({ ...judged, status: "invalid", code: "ELEMENT_WRONG" });
	alerts.see({ ...judged, status: "valid", findings: [{ code: "CARD_OTHER", detail: "" }] });
	// A short cut is not told.
	alerts.see(lost);
	alerts.see({ kind: "connected", url: address, validatorKey: "" });
	assert.equal(rests.length, 0);
	alerts.see(lost);
	alerts.see(lost);
	assert.equal(rests.length, 1);
	rests[0]!();
	alerts.see({ kind: "connected", url: address, validatorKey: "" });
	await eventually(async () => told().length === 4);
	assert.deepEqual(
		told().map(({ kind, code }) => `${kind} ${code}`),
		["invalid ELEMENT_WRONG", "throttled CARD_OTHER", "offline null", "back null"],
	);
	hasAll = true;
	await alerts.stop();
});

test("a provider's own word is made harmless and short", () => {
	const name = `a\u202eb\n${"x".repeat(1000)}`;
	const facts = {
		kind: "invalid",
		atMs: 1,
		provider: "ab".repeat(32),
		name,
		code: "X",
		what: "w",
		by: "k",
		heldBack: 0,
	} as const;
	const body = alertBody(facts);
	assert.ok(body.text.startsWith("a\uFFFDb\uFFFDx") && body.text.length <= 500 && body.name.length <= 100);
	assert.match(alertBody({ ...facts, name: "" }).text, /^abababababababab: w \[X\]$/);
});

test("one alert of a kind and provider in an hour; the next says how many were held back", () => {
	const rest = createAlertRests();
	assert.deepEqual(
		[0, 1, 2, 3_600_000, 3_600_001].map((atMs) => rest("invalid", "a", atMs)),
		[0, null, null, 2, null],
	);
	assert.equal(rest("offline", "a", 5), 0);
	assert.equal(rest("invalid", "b", 5), 0);
	// However many keys there are, so many are known.
	for (let n = 0; n < 10_000; n++) rest("invalid", `k${n}`, 3_600_002);
	assert.equal(rest("invalid", "a", 3_600_003), 0);
});
