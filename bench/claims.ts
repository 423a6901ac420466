// Every sample on every GPU of this machine: its claim must be the one that CPUs gave, samples/claims.json.
// One JSON line each; exit code 1 where one differs.
//   node bench/claims.ts
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient } from "../src/engine/client/create-engine-client.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../src/platform/environment.ts";
import { runOn, sampleClaims, sampleNames, sampleWorkload } from "../tests/samples.test-kit.ts";

const claims = sampleClaims();
const { clockUs, randomBytes } = realEnvironment();
const { path: command } = await findEngine(hostPlatform());
const link = await createLocalLink({ command, args: ["--no-disk", "--work"], env: process.env });
const engine = await createEngineClient(link, { clockUs, readyDeadlineMs: 60_000, randomBytes });
const { devices } = await engine.hello({ deadlineMs: 60_000 });
const cards = devices.flatMap(({ kind, name }, device) => (kind === "gpu" ? [{ device, name }] : []));
if (cards.length === 0) throw new Error("there is no GPU here");
for (const { device, name: card } of cards)
	for (const name of sampleNames()) {
		const known = claims[name];
		if (known === null || known === undefined) continue;
		const started = performance.now();
		const { claim } = await runOn(
			(work) => engine.openWork({ ...work, device }),
			await sampleWorkload(name, known.steps),
		);
		const isSame = claim === known.claim;
		console.log(JSON.stringify({ card, sample: name, isSame, ms: Math.round(performance.now() - started) }));
		if (!isSame) process.exitCode = 1;
	}
await engine.close();
