// Floods of new hosts and of what hosts say, before a real validator: bounded, fair, and over when it stops.
// No times: bench/floods.ts has those.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { type After, realAfter } from "../../src/platform/abortable.ts";
import {
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
/** The rest between two changed claims of one agent never ends here. */
const REST_MS = 1000;
const restless: After = (ms, run) => (ms === REST_MS ? () => {} : realAfter(ms, run));
before(async () => {
	validator = await startToyValidator(
		{ dataDir: data.path },
		{ after: restless },
		{ newcomers: { perAddress: 4, addressEveryMs: 1e12 } },
	);
});
after(async () => {
	await validator?.stop();
	await data.remove();
});

const register = (n: number) => {
	const signer = signerOf(n);
	const client = createApiClient({ baseUrl: validator.url, signer, retries: 0 });
	return client.registerProvider({ body: { link: "agent", key: signer.key } });
};
const dial = (n: number) => startToyAgent({ url: validator.url, signer: signerOf(n) });

test("N10: new providers of one address have few places, over the API and the door alike; a proof gives one back", async () => {
	for (let n = 1; n <= 4; n++) assert.equal((await register(n)).state, "active");
	await assert.rejects(register(5), { code: "RATE_LIMITED" });
	const stranger = await dial(6);
	assert.equal((await stranger.connection.closed).code, "AGENT_CROWDED");
	// One of the four comes and is proven: a fifth may come, and no sixth.
	const honest = await dial(1);
	await eventually(async () => (await validator.store.providers.get(honest.id))?.lastValidAtMs);
	const fifth = await eventually(() => register(5).catch(() => null));
	assert.equal(fifth.state, "active");
	await assert.rejects(register(6), { code: "RATE_LIMITED" });
	await honest.close();
});

test("N3: of a flood of `changed` one is taken and one waits, and stopping waits for none of them", {
	timeout: 300_000,
}, async () => {
	const { providers } = validator.store;
	const { setClaim } = providers;
	const taken: string[] = [];
	Object.assign(providers, {
		setClaim: async (...args: Parameters<typeof setClaim>) => {
			taken.push(args[0]);
			return await setClaim(...args);
		},
	});
	const agents = [await dial(2), await dial(3)];
	for (const { id } of agents) await eventually(async () => (await validator.store.providers.get(id))?.lastValidAtMs);
	taken.length = 0;
	for (const { connection, id } of agents)
		for (let n = 0; n < 80; n++) connection.sendChanged(toyClaimOf(`GPU-${id.slice(0, 8)}`, { why: `change ${n}` }));
	for (const { id } of agents) await eventually(async () => taken.includes(id));
	assert.deepEqual([...taken].sort(), agents.map(({ id }) => id).sort());
	await validator.stop();
	for (const { connection } of agents) await connection.closed;
	assert.equal(taken.length, 2);
});
