// Epochs: reports of two validators become weights and shares that sum to the emission; reports that are not theirs, not signed or late are refused.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { reportHash } from "../../src/api/report-hash.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { openStore } from "../../src/store/open-store.ts";
import { type EpochSchedule, startEpochKeeper } from "../../src/validator/epoch-keeper.ts";
import { createValidatorConfig } from "../../src/validator/validator-config.ts";
import type { ValidatorContext } from "../../src/validator/validator-context.ts";
import { eventually, makeDataDir, signerOf, startToyValidator, type ToyValidator } from "./toy-agent.test-kit.ts";

const HOUR = 3_600_000;
const data = makeDataDir();
let validator: ToyValidator;
let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
before(async () => {
	const epoch = { lengthMs: HOUR, emissionMicros: 1_000_001, graceMs: HOUR };
	validator = await startToyValidator({ dataDir: data.path, epoch, params: { maxAgeMs: 10 * HOUR } }, { nowMs });
});
after(async () => {
	await validator?.stop();
	await data.remove();
});

const [ALICE, BOB] = ["a1".repeat(32), "b2".repeat(32)] as const;

async function putScores(scores: Readonly<Record<string, number>>): Promise<void> {
	const offer = { name: "x", pricePerHourMicros: 0, rentable: false, ssh: false, claim: null } as const;
	for (const [id, scorePpm] of Object.entries(scores)) {
		await validator.store.providers.register(
			{ id, link: "agent", target: "", ...offer },
			{ nowMs: nowMs(), actor: "test" },
		);
		await validator.store.scores.put([{ providerId: id, atMs: nowMs(), scorePpm, mode: "holistic", terms: {} }]);
	}
}

function reportBy(n: number, epoch: number, scores: Record<string, number>) {
	const signer = signerOf(n);
	const unsigned = { validator: signer.key, epoch, scores };
	return { ...unsigned, signature: bytesToHex(signer.sign(reportHash(unsigned))) };
}
const clientOf = (n: number) => createApiClient({ baseUrl: validator.url, signer: signerOf(n), nowMs });

test("two validators' reports make the weights; shares sum to the emission", async () => {
	const current = await eventually(() => validator.store.epochs.current());
	const { number } = current;
	await putScores({ [ALICE]: 600_000, [BOB]: 300_000 });
	await validator.store.validators.put(
		{ key: signerOf(81).key, name: "other", stake: 2 },
		{ nowMs: nowMs(), actor: "test" },
	);

	const report = reportBy(81, number, { [ALICE]: 500_000, [BOB]: 250_000 });
	await assert.rejects(clientOf(82).sendReport({ body: reportBy(82, number, {}) }), { code: "ROLE_WRONG" });
	await assert.rejects(clientOf(81).sendReport({ body: { ...report, validator: validator.key } }), {
		code: "CALLER_OTHER",
	});
	await assert.rejects(clientOf(81).sendReport({ body: { ...report, scores: { [ALICE]: 1_000_000 } } }), {
		code: "REPORT_SIGNATURE",
	});
	await assert.rejects(clientOf(81).sendReport({ body: reportBy(81, 999, {}) }), { code: "EPOCH_UNKNOWN" });
	const receipt = await clientOf(81).sendReport({ body: report });
	assert.deepEqual([receipt.scores, receipt.epoch], [2, number]);

	aheadMs += HOUR + 1;
	const closed = await eventually(async () => {
		const epoch = await validator.client.getEpoch({ params: { number } });
		return epoch.state === "closed" && epoch;
	});
	assert.deepEqual(closed.reports.map((one) => one.validator).sort(), [validator.key, signerOf(81).key].sort());
	// Two thirds of the stake say the lower value: the median is theirs.
	const { rows } = await validator.client.listEpochScores({ params: { number } });
	const byId = Object.fromEntries(
		rows.map(({ providerId, weightPpm, shareMicros }) => [providerId, [weightPpm, shareMicros]]),
	);
	assert.deepEqual(byId, { [ALICE]: [500_000, 666_667], [BOB]: [250_000, 333_334] });
	await assert.rejects(clientOf(81).sendReport({ body: report }), { code: "EPOCH_CLOSED" });
	const next = await eventually(() => validator.store.epochs.current());
	assert.deepEqual([next.number, next.startsAtMs], [number + 1, closed.endsAtMs]);
});

test("a lie of a minority moves nothing; without a quorum the last weights stand", async () => {
	const { number } = (await validator.store.epochs.current())!;
	await putScores({ [ALICE]: 600_000, [BOB]: 300_000 });
	await validator.store.validators.put(
		{ key: signerOf(83).key, name: "third", stake: 1 },
		{ nowMs: nowMs(), actor: "test" },
	);
	await clientOf(81).sendReport({ body: reportBy(81, number, { [ALICE]: 600_000, [BOB]: 300_000 }) });
	await clientOf(83).sendReport({ body: reportBy(83, number, { [ALICE]: 0, [BOB]: 1_000_000 }) });
	aheadMs += HOUR + 1;
	await eventually(async () => (await validator.client.getEpoch({ params: { number } })).state === "closed");
	const weightsOf = async (n: number) =>
		Object.fromEntries(
			(await validator.client.listEpochScores({ params: { number: n } })).rows.map((row) => [
				row.providerId,
				row.weightPpm,
			]),
		);
	assert.deepEqual(await weightsOf(number), { [ALICE]: 600_000, [BOB]: 300_000 });

	// The other two say nothing, and they hold three quarters of the stake.
	await putScores({ [ALICE]: 1, [BOB]: 1_000_000 });
	aheadMs += 3 * HOUR;
	await eventually(
		async () => (await validator.client.getEpoch({ params: { number: number + 1 } })).state === "closed",
	);
	assert.deepEqual(await weightsOf(number + 1), await weightsOf(number));
});

test("with a chain an epoch has the chain's number and times; an older count is put right or goes on rising", async () => {
	const store = await openStore({ dataDir: data.path, schema: "aligned" });
	try {
		let atS = 1_800_000_000;
		const config = createValidatorConfig({ dataDir: data.path, epoch: { lengthMs: HOUR } });
		const env = { nowMs: () => atS * 1000, after: () => () => {} };
		const parts = { store, env, config, signer: signerOf(83), hub: { tell() {} }, log: { info() {} } };
		const turn = (schedule: EpochSchedule | null) =>
			startEpochKeeper(parts as unknown as ValidatorContext, schedule).turn();
		const current = async () => {
			const { number, startsAtMs, endsAtMs } = (await store.epochs.current())!;
			return [number, startsAtMs / 1000, endsAtMs / 1000];
		};
		await turn({ genesis: atS + 1, epochSeconds: 3600 });
		assert.equal(await store.epochs.current(), null, "before the chain's first epoch there is none");
		await turn(null);
		assert.deepEqual(await current(), [0, atS, atS + 3600]);

		// A chain that began ten minutes ago, then: one epoch later, five epochs later.
		const chain = { genesis: atS - 600, epochSeconds: 3600 };
		await turn(chain);
		assert.deepEqual(await current(), [0, chain.genesis, chain.genesis + 3600]);
		for (const number of [1, 6]) {
			atS = chain.genesis + number * 3600 + 5;
			await turn(chain);
			assert.deepEqual(await current(), [number, chain.genesis + number * 3600, chain.genesis + (number + 1) * 3600]);
			assert.equal((await store.epochs.get(number === 1 ? 0 : 1))?.state, "closed");
		}

		// Another chain, whose count is behind and whose epoch ends first: its times, and numbers that go on.
		const young = { genesis: atS - 60, epochSeconds: 1200 };
		await turn(young);
		assert.deepEqual(await current(), [6, chain.genesis + 6 * 3600, young.genesis + 1200]);
		atS = young.genesis + 1201;
		await turn(young);
		assert.deepEqual(await current(), [7, young.genesis + 1200, young.genesis + 2400]);
	} finally {
		await store.close();
	}
});
