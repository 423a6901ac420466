// The provider, whole: the real engine over a real WebSocket under a real probe, limits, several validators,
// pins, changes, lost connections.
import assert from "node:assert/strict";
import {
	appendFileSync,
	chmodSync,
	copyFileSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import type { AgentConnection } from "../../src/engine/agent/accept-agent.ts";
import {
	clockUs,
	dialRaw,
	makeSigner,
	openDoor,
	random,
	type TestDoor,
} from "../../src/engine/agent/agent.test-kit.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createEngineClient } from "../../src/engine/client/create-engine-client.ts";
import { freePort } from "../../src/engine/links/test-sshd.test-kit.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import { chainAccountPath, loadProviderAccount } from "../../src/provider/chain-account.ts";
import { createProvider, type Provider, type ProviderOptions } from "../../src/provider/create-provider.ts";
import { openGuardedEngine, residentBytes } from "../../src/provider/guard-engine.ts";
import type { ProviderEvent } from "../../src/provider/provider-event.ts";
import type { EnvironmentMaker } from "../../src/provider/rental/environment.ts";
import { retryPauseMs } from "../../src/provider/serve-validator.ts";
import { type ProbeOptions, runProbe } from "../../src/validator/probe/run-probe.ts";
import { createReceiptCollector } from "../../src/validator/receipts/collect-receipts.ts";
import type { Plan } from "../../src/verify/hardware/plan/probe-plan.ts";
import { atEnd } from "../at-end.test-kit.ts";

const LIMITS = { memoryBytes: 8e9, minutes: 10 };
const PROBE = { probe: "0f".repeat(16), limits: LIMITS };
const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;

let folder = "";
let engine = "";
before(async () => {
	folder = mkdtempSync(join(tmpdir(), "assay-provider-"));
	engine = join(folder, "engine");
	copyFileSync((await findEngine(hostPlatform())).path, engine);
	chmodSync(engine, 0o755);
});
after(() => rmSync(folder, { recursive: true }));

interface Running {
	readonly provider: Provider;
	readonly events: readonly ProviderEvent[];
	/** The first event of this kind after so many events. */
	when<K extends ProviderEvent["kind"]>(kind: K, from?: number): Promise<ProviderEvent & { kind: K }>;
}

let nextData = 0;
/** Ends with its test. */
async function startProvider(
	t: TestContext,
	validators: readonly string[],
	more: Partial<ProviderOptions> & { signer?: Signer } = {},
): Promise<Running> {
	const events: ProviderEvent[] = [];
	const waiting = new Set<() => void>();
	const provider = await createProvider({
		signer: makeSigner(),
		validators,
		trust: [],
		dataFolder: join(folder, `data${nextData++}`),
		name: "a test's host",
		pricePerHourMicros: 5,
		engine: { command: engine, args: [] },
		env: process.env,
		limits: LIMITS,
		diskBytesPerDay: null,
		rental: null,
		clockUs,
		nowMs: () => Date.now(),
		randomBytes: random,
		retry: { firstMs: 20, capMs: 100 },
		onEvent(event) {
			events.push(event);
			for (const look of [...waiting]) look();
		},
		...more,
	});
	atEnd(t, () => provider.stop());
	return {
		provider,
		events,
		when: (kind, from = 0) =>
			new Promise((resolve) => {
				const look = () => {
					const found = events.slice(from).find((event) => event.kind === kind);
					if (!found) return;
					waiting.delete(look);
					resolve(found as never);
				};
				waiting.add(look);
				look();
			}),
	};
}

async function together(
	t: TestContext,
	run: (door: TestDoor, running: Running, far: AgentConnection) => Promise<void>,
	more: Partial<ProviderOptions> = {},
) {
	const door = await openDoor(t);
	const running = await startProvider(t, [door.url], more);
	await run(door, running, await door.next());
	await running.provider.stop();
}

/** One small product and one small scalar run on the CPU. */
const tinyPlan: Plan = ({ claim, steps }) => {
	const device = claim.devices.findIndex(({ kind }) => kind === "cpu");
	const stage = (name: string, spec: object) => ({ act: "stage", name, specs: [spec], deadlineMs: 600_000 }) as never;
	if (steps.length === 0)
		return stage("gemm", {
			kind: "gemm",
			device,
			precision: "int8",
			m: 256,
			n: 1024,
			k: 384,
			rounds: 3,
			keep: 2,
			samples: 24,
		});
	if (steps.length === 1)
		return stage("fma", { kind: "fma", device, precision: "fp32", lanes: 1024, steps: 1024, rounds: 3, samples: 6 });
	return { act: "finish" };
};

function probe(far: AgentConnection, signer: Signer, more: Partial<ProbeOptions> = {}) {
	return runProbe({
		openLink: () => far.openLink(PROBE),
		probeId: PROBE.probe,
		target: `agent:${far.providerKey}`,
		quick: true,
		sustainMs: 0,
		signer,
		clockUs,
		nowMs: () => Date.now(),
		randomBytes: random,
		plan: tinyPlan,
		...more,
	});
}

test("a probe over the agent link is valid, and names the provider", (t) =>
	together(t, async (door, { provider, events, when }, far) => {
		assert.equal(far.providerKey, provider.key);
		assert.deepEqual(far.claim, provider.claim);
		assert.deepEqual(far.offer, {
			name: "a test's host",
			pricePerHourMicros: 5,
			rentable: false,
			ssh: null,
			jobs: null,
		});
		const result = await probe(far, door.signer);
		assert.equal(result.verdict.status, "valid", JSON.stringify(result.verdict));
		const decoded = decodeEvidence(result.evidence!);
		assert.ok(decoded.ok);
		const { link } = decoded.evidence.envelope.body;
		assert.equal(link.kind, "agent");
		assert.equal(link.hostKey, `ed25519:${provider.key}`);
		assert.ok(link.handshakeUs !== null && link.handshakeUs > 0);
		const closed = await when("closed");
		assert.equal(closed.killed, null);
		assert.ok(events.some((event) => event.kind === "opened" && event.validatorKey === door.signer.key));
		// The engine is free again.
		assert.equal((await probe(far, door.signer)).verdict.status, "valid");
	}));

test("receipts by the provider's account, each challenge of a probe once; without a key the probe goes on and the owner hears of it", async (t) => {
	const dataFolder = join(folder, "receipts");
	mkdirSync(dataFolder);
	const path = chainAccountPath(dataFolder);
	writeFileSync(path, "spoilt");
	await together(
		t,
		async (door, { when }, far) => {
			const domain = { chainId: 7, slashing: `0x${"5a".repeat(20)}` } as const;
			const receipts = async (provider: `0x${string}`) => {
				const collector = createReceiptCollector({ domain, provider, signer: provider, probeId: PROBE.probe });
				const openLink = () => far.openLink({ ...PROBE, receipts: collector.wanted });
				const more = { openLink, onCommitted: collector.onCommitted, probeId: PROBE.probe };
				assert.equal((await probe(far, door.signer, more)).verdict.status, "valid");
				const { receipts: signed, missing } = collector.file("00".repeat(32));
				return [signed.length, missing];
			};
			assert.deepEqual(await receipts(`0x${"00".repeat(20)}`), [0, [{ challenge: 0, why: "refused" }]]);
			assert.equal((await when("trouble")).code, "KEY_UNUSABLE");
			assert.equal(readFileSync(path, "utf8"), "spoilt");
			rmSync(path);
			const { address } = await loadProviderAccount(dataFolder, random);
			assert.deepEqual(await receipts(address), [1, []]);
			// Another channel, the same probe: what it would say now differs.
			assert.deepEqual(await receipts(address), [0, [{ challenge: 0, why: "refused" }]]);
		},
		{ dataFolder },
	);
});

test("a probe during which the provider is stopped is inconclusive, not an accusation", async (t) => {
	const door = await openDoor(t);
	const running = await startProvider(t, [door.url]);
	const far = await door.next();
	const probing = probe(far, door.signer);
	await running.when("opened");
	await running.provider.stop();
	const { verdict } = await probing;
	assert.equal(verdict.status, "inconclusive");
});

test("a provider that is stopped in order lets its probe finish and takes no other", async (t) => {
	const door = await openDoor(t);
	const running = await startProvider(t, [door.url]);
	const far = await door.next();
	const probing = probe(far, door.signer);
	await running.when("opened");
	const stopped = running.provider.stop({ drainMs: 60_000 });
	await assert.rejects(far.openLink(PROBE), isCode("PROVIDER_STOPPING"));
	assert.equal((await probing).verdict.status, "valid");
	await stopped;
	assert.equal(far.isClosed, true);
});

test("one engine for all: a second request is refused as busy, whoever asks, until the first is over", async (t) => {
	const [a, b] = [await openDoor(t), await openDoor(t)];
	await startProvider(t, [a.url, b.url]);
	const [farA, farB] = [await a.next(), await b.next()];
	const link = await farA.openLink(PROBE);
	await assert.rejects(farB.openLink(PROBE), isCode("PROVIDER_BUSY"));
	await assert.rejects(farA.openLink(PROBE), isCode("PROVIDER_BUSY"));
	await link.close();
	const next = await farB.openLink(PROBE);
	const client = await createEngineClient(next, { clockUs, readyDeadlineMs: 600_000, randomBytes: random });
	assert.ok((await client.ping({ deadlineMs: 600_000 })) > 0);
	await client.close();
});

test("more than the owner allows is refused", (t) =>
	together(t, async (_door, _running, far) => {
		for (const limits of [
			{ ...LIMITS, minutes: LIMITS.minutes + 1 },
			{ ...LIMITS, memoryBytes: LIMITS.memoryBytes + 1 },
		])
			await assert.rejects(far.openLink({ ...PROBE, limits }), isCode("PROVIDER_LIMIT"));
		await (await far.openLink(PROBE)).close();
	}));

for (const [what, limits, why] of [
	["its minutes are over", { memoryBytes: 8e9, minutes: 1 }, /min were over/],
	["it takes too much memory", { memoryBytes: 1000, minutes: 1000 }, /bytes of memory/],
] as const)
	test(`an engine is killed when ${what}`, async (t) => {
		const killed = Promise.withResolvers<string>();
		const link = await openGuardedEngine({
			command: engine,
			args: [],
			env: process.env,
			limits,
			onKilled: killed.resolve,
			everyMs: 10,
			minuteMs: 200,
		});
		atEnd(t, () => link.close());
		assert.match(await killed.promise, why);
		assert.equal((await link.closed).signal, "SIGKILL");
	});

test("an engine within its limits is left alone", async (t) => {
	let killed = "";
	const onKilled = (why: string) => {
		killed = why;
	};
	const limits = { memoryBytes: 8e9, minutes: 10 };
	const link = await openGuardedEngine({ command: engine, args: [], env: process.env, limits, onKilled, everyMs: 5 });
	atEnd(t, () => link.close());
	const client = await createEngineClient(link, { clockUs, readyDeadlineMs: 600_000, randomBytes: random });
	for (let i = 0; i < 20; i++) await client.ping({ deadlineMs: 600_000 });
	await client.close();
	assert.equal(killed, "");
	assert.ok(residentBytes(process.pid) > 1e6);
	assert.equal(residentBytes(2 ** 30), 0);
});

test("a validator that was killed is found again, and probes again", async (t) => {
	const port = await freePort();
	const first = await openDoor(t, { port });
	const running = await startProvider(t, [first.url]);
	await first.next();
	const at = running.events.length;
	await first.stop();
	await running.when("lost", at);
	await running.when("unreached", at);
	const second = await openDoor(t, { port, signer: first.signer });
	const far = await second.next();
	assert.equal((await probe(far, second.signer)).verdict.status, "valid");
});

test("another key at the same URL is refused, and the first one stays pinned over a restart", async (t) => {
	const dataFolder = join(folder, "pinned");
	const port = await freePort();
	const first = await openDoor(t, { port });
	const running = await startProvider(t, [first.url], { dataFolder });
	await first.next();
	const pins = join(dataFolder, "validators.json");
	assert.deepEqual(JSON.parse(readFileSync(pins, "utf8")), { [first.url]: first.signer.key });
	assert.equal(statSync(pins).mode & 0o777, 0o600);
	await first.stop();
	await running.provider.stop();

	const impostor = await openDoor(t, { port });
	const again = await startProvider(t, [first.url], { dataFolder });
	const refusal = await again.when("unreached");
	assert.equal(refusal.code, "VALIDATOR_KEY_CHANGED");
	assert.equal((await impostor.nextRefusal()).code, "VALIDATOR_KEY_CHANGED");
	assert.equal(impostor.door.connections.size, 0);
	await again.provider.stop();

	// The owner says that the new key is right; from then on the old one is wrong.
	const told = await startProvider(t, [first.url], { dataFolder, trust: [impostor.signer.key] });
	await impostor.next();
	await told.provider.stop();
	assert.deepEqual(JSON.parse(readFileSync(pins, "utf8")), { [first.url]: impostor.signer.key });
});

test("with trusted keys named, nobody else is served", async (t) => {
	const door = await openDoor(t);
	const running = await startProvider(t, [door.url], { trust: [makeSigner().key] });
	assert.equal((await running.when("unreached")).code, "VALIDATOR_UNTRUSTED");
	assert.deepEqual(running.provider.connections, []);
});

test("a spoilt file of pins is not read as an empty one", async (t) => {
	const dataFolder = join(folder, "spoilt");
	const { provider } = await startProvider(t, [], { dataFolder });
	await provider.stop();
	for (const text of ["", "[", '{"ws://x/agent":"key"}']) {
		writeFileSync(join(dataFolder, "validators.json"), text);
		await assert.rejects(startProvider(t, [], { dataFolder }), isCode("FILE_UNREADABLE"));
	}
});

test("a changed engine is told at once; nothing is told when nothing changed", async (t) => {
	const copy = join(folder, "changing");
	copyFileSync(engine, copy);
	chmodSync(copy, 0o755);
	await together(
		t,
		async (_door, { provider, events }, far) => {
			await provider.look();
			assert.ok(!events.some(({ kind }) => kind === "changed"));
			const changed = new Promise((resolve) => far.onChanged(resolve));
			appendFileSync(copy, "\n");
			await provider.look();
			assert.ok(events.some(({ kind }) => kind === "changed"));
			await changed;
		},
		{ engine: { command: copy, args: [] } },
	);
});

test("an engine that is no engine: the provider does not start", async (t) => {
	await assert.rejects(startProvider(t, [], { engine: { command: "/bin/cat", args: ["/etc/hostname"] } }), AssayError);
	await assert.rejects(
		startProvider(t, [], { engine: { command: join(folder, "none"), args: [] } }),
		isCode("ENGINE_NOT_STARTED"),
	);
});

/** Environments that exist in memory only. */
function createToyEnvironments(): EnvironmentMaker & { readonly made: Set<string> } {
	const made = new Set<string>();
	const hostKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
	return {
		kind: "user",
		guards: { memory: null, disk: "there are no loop devices", metadata: null },
		port: 2222,
		made,
		create: async ({ name }) => {
			made.add(name);
			return { user: name, hostKey };
		},
		setEnd: async () => {},
		remove: async (name) => void made.delete(name),
		health: async (name) => ({ healthy: made.has(name), detail: "" }),
		list: async () => [...made],
		rest: async () => {},
	};
}

test("a rented host is not probed, a probed host is not rented, and rentals outlive the provider", async (t) => {
	const dataFolder = join(folder, "rented");
	const toys = createToyEnvironments();
	const rental = { isOffered: true, sshHost: "gpu.example", maxMs: 1e9, makeEnvironments: async () => toys };
	const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";
	const request = { rental: "ab".repeat(16), publicKey, untilMs: Date.now() + 1e6, devices: [] };
	await together(
		t,
		async (_door, { provider, events }, far) => {
			// N19: what the host cannot guard is said before anybody rents it, and nothing else.
			const said = events.flatMap((event) => (event.kind === "trouble" ? [`${event.code} ${event.detail}`] : []));
			assert.equal(said.length, 1);
			assert.match(said[0]!, /^RENTAL_UNGUARDED .*disk.*no loop devices/);
			assert.deepEqual(far.offer.ssh, { host: "gpu.example", port: 2222 });
			const link = await far.openLink(PROBE);
			await assert.rejects(far.ask("rent", request), isCode("PROVIDER_BUSY"));
			await link.close();
			const { ssh: access } = await far.ask("rent", request);
			assert.deepEqual([access.host, access.port, access.user], ["gpu.example", 2222, [...toys.made][0]]);
			await assert.rejects(far.openLink(PROBE), isCode("PROVIDER_RENTED"));
			assert.equal((await far.ask("check", { rental: request.rental })).healthy, true);
			assert.equal(provider.rentals.length, 1);
		},
		{ dataFolder, rental },
	);
	assert.equal(toys.made.size, 1);
	// Started again without offering: what is there is looked after, nothing new is made.
	const again = await startProvider(t, [], { dataFolder, rental: { ...rental, isOffered: false } });
	assert.equal(again.provider.rentals.length, 1);
	assert.equal(again.provider.offer.rentable, false);
	assert.equal(
		again.events.some(({ kind }) => kind === "trouble"),
		false,
	);
	await again.provider.stop({ endRentals: true });
	assert.equal(toys.made.size, 0);
});

test("a host that is not for rent says so", (t) =>
	together(t, async (_door, _running, far) => {
		const request = { rental: "ab".repeat(16), publicKey: "x", untilMs: 1, devices: [] };
		await assert.rejects(far.ask("rent", request), isCode("RENTAL_UNAVAILABLE"));
		await far
			.ask("unrent", { rental: request.rental })
			.catch((error: unknown) => assert.ok(isCode("RENTAL_UNAVAILABLE")(error)));
	}));

test("two hosts under one key: the replaced one does not fight", async (t) => {
	const door = await openDoor(t);
	const signer = makeSigner();
	const running = await startProvider(t, [door.url], { signer, retry: { firstMs: 20, capMs: 60_000 } });
	await door.next();
	const other = await dialRaw(door.url, { signer });
	const lost = await running.when("lost");
	assert.equal(lost.end.code, "AGENT_REPLACED");
	assert.equal(lost.retryMs, 60_000);
	other.ws.close();
});

test("pauses grow, stay below their cap, and are spread", () => {
	const retry = { firstMs: 1000, capMs: 60_000 };
	assert.deepEqual(
		[1, 2, 3, 7, 100].map((n) => retryPauseMs(n, retry, 0.999999)),
		[1000, 2000, 4000, 60_000, 60_000],
	);
	assert.deepEqual(
		[1, 2, 7].map((n) => retryPauseMs(n, retry, 0)),
		[500, 1000, 30_000],
	);
});
