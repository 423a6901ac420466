// Processes come and go: what a killed one left is counted once or given up, leases are taken over, and
// several validators share one database.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
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

const CHILD = fileURLToPath(new URL("./killed-validator.test-kit.ts", import.meta.url));

async function startChild(dataDir: string): Promise<{ child: ChildProcess; url: string; process: string }> {
	const child = spawn(process.execPath, [CHILD, dataDir], { stdio: ["ignore", "pipe", "inherit"] });
	for await (const line of createInterface({ input: child.stdout! })) return { child, ...JSON.parse(line) };
	throw new Error("the validator ended before it said where it is");
}

test("evidence that was durable when its process died is verified again and counted once", async () => {
	const data = makeDataDir();
	const real = new Uint8Array(readFileSync(new URL("../../vectors/h200.assay", import.meta.url)));
	const decoded = decodeEvidence(real);
	assert.ok(decoded.ok);
	const { body } = decoded.evidence.envelope;
	const { id: probeId, verifier } = body.probe;
	const providerId = "c3".repeat(32);
	const started: ToyValidator[] = [];
	/** The one before ends. */
	const start = async (probes: boolean, nowMs: () => number = Date.now) => {
		await started.pop()?.stop();
		const next = await startToyValidator({ dataDir: data.path, probes }, { nowMs });
		started.push(next);
		return next;
	};
	try {
		// As a process leaves it that dies between steps 3 and 4: the row runs, the file is there, nothing is
		// counted.
		const first = await start(false);
		const offer = { name: "H200", pricePerHourMicros: 0, rentable: false, ssh: false, claim: null };
		const at = { nowMs: Date.now(), actor: "test" };
		await first.store.providers.register({ id: providerId, link: "agent", target: "", ...offer }, at);
		await first.store.providers.register({ id: "d4".repeat(32), link: "agent", target: "", ...offer }, at);
		assert.ok(await first.store.leases.acquire(`provider/${providerId}`));
		const row = { providerId, validator: verifier, startedAtMs: Date.now() };
		await first.store.probes.begin({ ...row, id: probeId });
		await first.store.evidence.put(probeId, real);
		// Its twin is evidence that no probe asked for: of another database, or forged into the folder.
		await first.store.evidence.put("ee".repeat(16), real);

		for (const round of [1, 2]) {
			const again = await start(true);
			const provider = await eventually(async () => {
				const found = await again.client.getProvider({ params: { id: providerId } });
				return found.scorePpm !== null && found;
			});
			assert.deepEqual([provider.lastVerdict, provider.gpuCount], ["valid", 1]);
			assert.match(provider.model ?? "", /H200/);
			assert.ok(provider.scorePpm! > 0);
			const score = await again.client.getProviderScore({ params: { id: providerId } });
			assert.equal(score.terms.root.value, score.scorePpm);
			const { rows } = await again.store.journal.list({ kind: "probe.done" });
			assert.equal(rows.length, 1, `counted once, start ${round}`);
			assert.equal((await again.client.network()).probes.total.valid, 1);
			assert.equal((await again.store.probes.recover({ nowMs: Date.now() })).pending.length, 0);
		}

		// Nobody probes it any more: in time its proof is too old, and its score says so by itself.
		const aheadMs = 10 * 3_600_000;
		const later = await start(true, () => Date.now() + aheadMs);
		const aged = await eventually(async () => {
			const score = await later.client.getProviderScore({ params: { id: providerId } });
			return score.scorePpm === 0 && score;
		});
		assert.match(aged.terms.why, /too old/);
	} finally {
		await started.pop()?.stop();
		await data.remove();
	}
});

test("a killed validator's probe is given up, its provider probed by the next one; two processes share the work", async () => {
	const data = makeDataDir();
	const signer = signerOf(91);
	let opened = 0;
	/** The first engine says nothing for ever: a probe that can be killed in the middle. */
	const openLink = async () => {
		opened += 1;
		return createToyLink(toyClaimOf("GPU-killed"), opened === 1 ? { start: () => true } : {});
	};
	const validators: ToyValidator[] = [];
	const killed = await startChild(data.path);
	try {
		const first = await startToyAgent({ url: killed.url, signer, openLink });
		await eventually(async () => opened === 1);
		killed.child.kill("SIGKILL");
		await once(killed.child, "exit");
		await first.connection.closed;

		for (const _ of [1, 2]) validators.push(await startToyValidator({ dataDir: data.path }));
		const [one, two] = validators;
		// Its leases would hold for ten minutes more.
		assert.equal(await one!.store.connections.holder(signer.key), null, "nobody waits for the dead process");
		assert.equal(one!.key, two!.key, "processes on one folder are one validator");
		const agents = [
			await startToyAgent({ url: one!.url, signer, openLink }),
			await startToyAgent({ url: two!.url, signer: signerOf(92) }),
		];
		// Each through the other's API: what one does, both show.
		for (const [i, agent] of agents.entries())
			await eventually(async () => {
				const provider = await validators[1 - i]!.client.getProvider({ params: { id: agent.id } }).catch(() => null);
				return provider?.lastVerdict === "valid" && provider.scorePpm !== null;
			});
		const { rows } = await two!.client.listProviderProbes({ params: { id: signer.key } });
		assert.deepEqual(
			rows.map(({ state }) => state),
			["done", "abandoned"],
		);
		const probed = await one!.client.getProbe({ params: { id: rows[0]!.id } });
		assert.equal(
			(await one!.store.probes.get(probed.id))?.process,
			one!.store.process,
			"by the process that holds the link",
		);
		for (const agent of agents) await agent.close();
	} finally {
		killed.child.kill("SIGKILL");
		// One after the other: the last one also stops the embedded server.
		for (const validator of validators) await validator.stop();
		await data.remove();
	}
});

test("a rental is asked for at one process while another holds the provider's link", async () => {
	const data = makeDataDir();
	const validators: ToyValidator[] = [];
	try {
		for (const _ of [1, 2]) validators.push(await startToyValidator({ dataDir: data.path }));
		const [holder, other] = validators;
		const agent = await startToyAgent({ url: holder!.url, signer: signerOf(93), rentable: true });
		const { createApiClient } = await import("../../src/api/create-client.ts");
		const customer = createApiClient({ baseUrl: other!.url, signer: signerOf(103) });
		const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f renter";
		const rental = await eventually(() =>
			customer.rent({ body: { providerId: agent.id, publicKey, durationMs: 3_600_000 } }).catch((error) => {
				assert.ok(["OFFER_NONE", "PROVIDER_UNKNOWN", "RENTAL_CONFLICT"].includes(error.code), error.code);
				return null;
			}),
		);
		assert.deepEqual([rental.state, rental.access?.port], ["active", 2222]);
		assert.equal(agent.rented.has(rental.id), true);
		await customer.releaseRental({ params: { id: rental.id } });
		await eventually(async () => agent.rented.size === 0);
		await agent.close();
	} finally {
		// One after the other: the last one also stops the embedded server.
		for (const validator of validators) await validator.stop();
		await data.remove();
	}
});
