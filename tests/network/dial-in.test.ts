// Many agents that dial in at once, and a database that does not answer in that moment: whoever could not be
// entered dials again, and nobody stays connected unknown to the schedule.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createSemaphore } from "../../src/platform/semaphore.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { eventually, makeDataDir, startToyValidator, type ToyValidator } from "../validator/toy-agent.test-kit.ts";
import { kindNamed } from "./simulated-kinds.ts";
import { runSimulatedProvider, simulatedSigner } from "./simulated-provider.ts";

const data = makeDataDir();
let validator: ToyValidator;
before(async () => {
	validator = await startToyValidator({ dataDir: data.path, probes: false });
});
after(async () => {
	await validator?.stop();
	await data.remove();
});

test("registering fails for some of those who dial in: they come again and are entered", async () => {
	const AGENTS = 30;
	const { providers } = validator.store;
	const { register } = providers;
	let asked = 0;
	let refused = 0;
	Object.assign(providers, {
		register: async (...args: Parameters<typeof register>) => {
			asked += 1;
			if (asked % 3 === 0 && asked <= AGENTS) {
				refused += 1;
				throw new AssayError("STORE_UNREACHABLE", "no connection was free in time");
			}
			return await register(...args);
		},
	});
	const stopping = new AbortController();
	const dials = new Map<number, number>();
	const turn = createSemaphore(1);
	const running = Array.from({ length: AGENTS }, (_, number) =>
		runSimulatedProvider({
			number,
			kind: kindNamed("honest"),
			url: validator.url,
			turn,
			dialling: createSemaphore(1),
			signal: stopping.signal,
			onConnected: () => dials.set(number, (dials.get(number) ?? 0) + 1),
		}),
	);
	try {
		await eventually(
			async () => (await validator.store.overview({ nowMs: Date.now() })).providers.connected === AGENTS,
		);
		assert.equal(validator.agents(), AGENTS);
		// Whoever came back early may have been refused twice: times are counted, not agents.
		const again = [...dials.values()].reduce((sum, count) => sum + count - 1, 0);
		assert.ok(refused === 10 && again >= refused, `${refused} were refused, ${again} times somebody dialled again`);
		for (const number of dials.keys()) assert.ok(await providers.get(simulatedSigner(number).key));
	} finally {
		stopping.abort();
		await Promise.all(running);
	}
});
