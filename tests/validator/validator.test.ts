// One validator, real: embedded PostgreSQL, HTTP API through the typed client, agents over WebSockets with
// toy engines behind.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, before, test } from "node:test";
import { type ApiClient, createApiClient } from "../../src/api/create-client.ts";
import type { NetworkEvent } from "../../src/api/types.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { sha256Of } from "../../src/protocol/hash/tagged-hash.ts";
import { verifyEvidence } from "../../src/verify/hardware/verify.ts";
import { atEnd } from "../at-end.test-kit.ts";
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

const data = makeDataDir();
let validator: ToyValidator;
let admin: ApiClient;
before(async () => {
	const openLocalLink = async () => createToyLink(toyClaimOf("GPU-local"));
	validator = await startToyValidator({ dataDir: data.path, openLocalLink, params: { retries: 0 } });
	admin = createApiClient({ baseUrl: validator.url, token: readFileSync(validator.adminTokenFile, "utf8").trim() });
});
after(async () => {
	await validator?.stop();
	await data.remove();
});

/** When the provider has been probed, counted and scored. */
const scored = (id: string, probes = 1) =>
	eventually(async () => {
		const provider = await validator.client.getProvider({ params: { id } }).catch(() => null);
		if (provider === null || provider.scorePpm === null) return null;
		const { rows } = await validator.client.listProviderProbes({ params: { id }, query: { state: "done" } });
		return rows.length >= probes && { provider, probes: rows };
	});

test("a provider dials in, is due, probed, scored and shown with its evidence", async () => {
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(11) });
	try {
		const { client } = validator;
		const { provider: shown, probes } = await scored(agent.id);
		assert.deepEqual([shown.lastVerdict, shown.lastCode], ["valid", null]);
		assert.equal(shown.connected, true);
		assert.equal(shown.claim?.devices[0]?.name, "Toy card");
		assert.ok(shown.figures.some(({ name, value }) => name === "gemm.int8" && value > 0));
		assert.equal(shown.target, null, "how it is reached is for admins");
		assert.equal(probes.length, 1);
		const probe = await client.getProbe({ params: { id: probes[0]!.id } });
		const bytes = await client.getProbeEvidence({ params: { id: probe.id } });
		assert.equal(bytesToHex(sha256Of(bytes)), probe.evidenceSha256);
		assert.equal(verifyEvidence(bytes, { signers: [validator.key], probeId: probe.id }).status, "valid");
		const score = await client.getProviderScore({ params: { id: agent.id } });
		assert.equal(score.scorePpm, score.terms.root.value);
		assert.equal(score.terms.evidence, probe.evidenceSha256);
		assert.ok(JSON.stringify(score.terms).includes(probe.evidenceSha256!), "the terms name the evidence");
	} finally {
		await agent.close();
	}
	await eventually(async () => !(await validator.client.getProvider({ params: { id: agent.id } })).connected);
});

test("cheaters get their codes and no score; inconclusive ones are not accused", async (t) => {
	const expected = {
		"wrong-leaf": ["invalid", "ROOT_MISMATCH", 1],
		"smaller-k": ["invalid", "ELEMENT_WRONG", 1],
		"hang-up-on-draw": ["inconclusive", "OPENING_CUT", 0],
		"refuses-draw": ["invalid", "OPENING_WITHHELD", 0],
		silence: ["inconclusive", "LINK_SILENT", 0],
		"giant-frame": ["inconclusive", "FRAME_TOO_LARGE", 0],
	} as const;
	// Another process of the same validator, which does not wait for long.
	const probe = { deadlines: { readyMs: 500 } };
	const hasty = await startToyValidator({ dataDir: data.path, params: { retries: 0 }, probe });
	atEnd(t, () => hasty.stop());
	await Promise.all(
		Object.entries(expected).map(async ([cheat, [status, code, failures]], n) => {
			const { url } = cheat === "silence" ? hasty : validator;
			const agent = await startToyAgent({ url, signer: signerOf(20 + n), cheat });
			try {
				const { provider } = await scored(agent.id);
				assert.deepEqual([provider.lastVerdict, provider.lastCode, provider.failures], [status, code, failures], cheat);
				assert.equal(provider.scorePpm, 0);
				assert.equal(provider.model, null);
			} finally {
				await agent.close();
			}
		}),
	);
	const text = await validator.client.metrics();
	assert.match(text, /assay_probes_total\{verdict="invalid",code="ELEMENT_WRONG"\} 1/);
	assert.match(text, /assay_verify_seconds_count [1-9]/);
	assert.match(await hasty.client.metrics(), /assay_link_failures_total\{code="LINK_SILENT"\} [1-9]/);
});

test("events tell a probe from its start to its verdict, in order", async () => {
	const stop = new AbortController();
	const seen: NetworkEvent[] = [];
	const signer = signerOf(31);
	const events = validator.client.watchEvents({ query: { providerId: signer.key } }, { signal: stop.signal });
	const reading = (async () => {
		for await (const event of events) {
			seen.push(event);
			if (event.kind === "score.changed") return;
		}
	})();
	await eventually(async () => /assay_http_event_streams 1/.test(await validator.client.metrics()));
	const agent = await startToyAgent({ url: validator.url, signer });
	try {
		await reading;
		const kinds = seen.map(({ kind }) => kind);
		assert.deepEqual(kinds.slice(0, 3), ["provider.added", "provider.connected", "probe.started"]);
		assert.deepEqual(kinds.slice(-2), ["probe.verdict", "score.changed"]);
		assert.ok(kinds.includes("probe.progress"));
		const verdict = seen.at(-2)!;
		assert.equal((verdict.detail as { verdict: string }).verdict, "valid");
		// Who comes late is told how it went, in the same order, and the stream ends with the verdict.
		const late: NetworkEvent[] = [];
		for await (const event of validator.client.watchProbe({ params: { id: verdict.subject } })) late.push(event);
		assert.deepEqual([late[0]!.kind, late.at(-1)!.kind], ["probe.started", "probe.verdict"]);
		assert.ok(late.every(({ subject }) => subject === verdict.subject));
		const told = late.slice(0, -1).map(({ id }) => seen.findIndex((event) => event.id === id));
		assert.ok(told.length > 3 && told.every((at, i) => at > (told[i - 1] ?? -1)), told.join());
	} finally {
		stop.abort();
		await agent.close();
	}
});

test("a changed claim makes a provider due again, the same one does not", async () => {
	const claim = toyClaimOf("GPU-changing");
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(41), claim });
	try {
		await scored(agent.id);
		const before = await validator.client.getProvider({ params: { id: agent.id } });
		agent.connection.sendChanged({ ...claim, host: { ...claim.host, ramFreeBytes: 1 } });
		agent.connection.sendChanged({ ...claim, driver: { version: "2", cuda: "1" } });
		const { probes } = await scored(agent.id, 2);
		assert.equal(probes.length, 2);
		assert.ok(before.nextProbeAtMs! > probes[0]!.startedAtMs, "it was not its turn yet");
	} finally {
		await agent.close();
	}
});

test("local providers are added by admins only, probed, asked again, paused and removed", async () => {
	await assert.rejects(validator.client.registerProvider({ body: { link: "local" } }), { code: "CREDENTIALS_MISSING" });
	const { id } = await admin.registerProvider({ body: { link: "local", name: "this machine" } });
	await assert.rejects(admin.registerProvider({ body: { link: "local" } }), { code: "PROVIDER_KNOWN" });
	const { provider } = await scored(id);
	assert.equal(provider.lastVerdict, "valid");
	assert.equal((await admin.getProvider({ params: { id } })).target, "local");
	await eventually(() =>
		admin.askProbe({ params: { id }, body: {} }).catch((error) => {
			assert.equal(error.code, "PROBE_RUNNING");
			return null;
		}),
	);
	await scored(id, 2);
	const stranger = createApiClient({ baseUrl: validator.url, signer: signerOf(99) });
	await assert.rejects(stranger.changeProvider({ params: { id }, body: { paused: true } }), { code: "CALLER_OTHER" });
	const paused = await admin.changeProvider({ params: { id }, body: { paused: true } });
	assert.deepEqual([paused.state, paused.nextProbeAtMs, paused.scorePpm], ["paused", null, 0]);
	const removed = await admin.removeProvider({ params: { id } });
	assert.equal(removed.state, "removed");
	await assert.rejects(admin.askProbe({ params: { id }, body: {} }), { code: "PROVIDER_UNKNOWN" });
});

test("a removed agent is sent away and may not come back", async () => {
	const signer = signerOf(51);
	const agent = await startToyAgent({ url: validator.url, signer });
	await scored(agent.id);
	const owner = createApiClient({ baseUrl: validator.url, signer });
	await owner.removeProvider({ params: { id: agent.id } });
	assert.equal((await agent.connection.closed).closeCode, 4003);
	const again = await startToyAgent({ url: validator.url, signer }).catch(() => null);
	if (again) assert.equal((await again.connection.closed).closeCode, 4003);
});

test("what an admin paused or removed does not come back by itself", async () => {
	const signer = signerOf(52);
	const { id } = await startToyAgent({ url: validator.url, signer });
	await scored(id);
	const owner = createApiClient({ baseUrl: validator.url, signer });
	const [params, refused] = [{ id }, { code: "CALLER_OTHER" }];
	const pause = (by: typeof owner, paused: boolean) => by.changeProvider({ params, body: { paused } });
	const join = () => owner.registerProvider({ body: { link: "agent", key: id } });
	await pause(owner, true);
	assert.equal((await pause(owner, false)).state, "active", "its own pause it ends itself");
	await pause(admin, true);
	await assert.rejects(pause(owner, false), refused);
	await assert.rejects(owner.removeProvider({ params }), refused, "or it would register again, and be active");
	await pause(admin, false);
	await admin.removeProvider({ params });
	await assert.rejects(join(), refused);
	await admin.registerProvider({ body: { link: "agent", key: id } });
	await owner.removeProvider({ params });
	assert.equal((await join()).state, "active", "who left by itself may come back");
	await owner.removeProvider({ params });
});

test("the admin's token lies in the data folder for its owner alone, and works", async () => {
	assert.equal(statSync(validator.adminTokenFile).mode & 0o777, 0o600);
	assert.ok((await admin.listAudit()).rows.length > 0);
	await assert.rejects(validator.client.listAudit(), { code: "CREDENTIALS_MISSING" });
	const made = await admin.makeToken({ body: { name: "dashboard", role: "reader" } });
	const reader = createApiClient({ baseUrl: validator.url, token: made.secret });
	assert.equal((await reader.network()).intervalMs, 3_600_000);
	await assert.rejects(reader.listAudit(), { code: "ROLE_WRONG" });
	assert.notEqual((await admin.revokeToken({ params: { id: made.token.id } })).revokedAtMs, null);
	await assert.rejects(reader.network(), { code: "CREDENTIALS_REFUSED" });
	await assert.rejects(admin.revokeToken({ params: { id: made.token.id } }), { code: "TOKEN_UNKNOWN" });
});

test("ready while all is well; the network at a glance counts what was seen", async () => {
	assert.equal((await validator.client.ready()).ready, true);
	const network = await validator.client.network();
	assert.equal(network.validator.key, validator.key);
	assert.ok(network.probes.total.valid >= 5 && network.probes.total.invalid >= 3);
	assert.equal((await validator.store.journal.verify()).brokenAt, null);
});
