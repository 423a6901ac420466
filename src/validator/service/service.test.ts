// One validator, real: embedded PostgreSQL, HTTP API through the typed client, agents over WebSockets with toy engines behind.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { after, before, test } from "node:test";
import { createApiClient } from "../../api/create-client.ts";
import { bytesToHex } from "../../protocol/bytes.ts";
import { sha256Of } from "../../protocol/tagged-hash.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import {
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
} from "./toy-agent.test-kit.ts";

const data = makeDataDir();
let validator: ToyValidator;
before(async () => {
	validator = await startToyValidator({ dataDir: data.path });
});
after(async () => {
	await validator?.stop();
	await data.remove();
});

test("a provider dials in, is due, probed, scored and shown with its evidence", async () => {
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(11) });
	try {
		const { client } = validator;
		const shown = await eventually(async () => {
			const provider = await client.getProvider({ params: { id: agent.id } }).catch(() => null);
			return provider?.scorePpm !== null && provider;
		});
		assert.deepEqual([shown.lastVerdict, shown.lastCode], ["valid", null]);
		assert.equal(shown.connected, true);
		assert.equal(shown.claim?.devices[0]?.name, "Toy card");
		assert.ok(shown.figures.some(({ name, value }) => name === "gemm.int8" && value > 0));
		const { rows } = await client.listProviderProbes({ params: { id: agent.id } });
		assert.equal(rows.length, 1);
		const probe = await client.getProbe({ params: { id: rows[0]!.id } });
		assert.equal(probe.verdict, "valid");
		const bytes = await client.getProbeEvidence({ params: { id: probe.id } });
		assert.equal(bytesToHex(sha256Of(bytes)), probe.evidenceSha256);
		assert.equal(verifyEvidence(bytes, { signers: [validator.key], probeId: probe.id }).status, "valid");
		const score = await client.getProviderScore({ params: { id: agent.id } });
		assert.equal(score.scorePpm, score.terms.root.value);
		assert.equal(score.terms.evidence, probe.evidenceSha256);
	} finally {
		await agent.close();
	}
});

test("the admin's token lies in the data folder for its owner alone, and works", async () => {
	assert.equal(statSync(validator.adminTokenFile).mode & 0o777, 0o600);
	const token = readFileSync(validator.adminTokenFile, "utf8").trim();
	const admin = createApiClient({ baseUrl: validator.url, token });
	assert.ok((await admin.listAudit()).rows.length > 0);
	await assert.rejects(validator.client.listAudit(), { code: "CREDENTIALS_MISSING" });
});
