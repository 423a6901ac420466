// Runs a job with the engine that lies, on this machine's GPU (or CPU, where it has none), and keeps all that
// a claim is made of: roots of every segment, metrics, saved states. bench/disputes.ts --from FOLDER then has
// a provider claim exactly that, and a watcher on a CPU against it.
//   node bench/card-claim.ts ENGINE FOLDER KIND
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createEngineClient } from "../src/engine/client/create-engine-client.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { lyingEngine } from "../src/engine/lying-engine.ts";
import { realEnvironment } from "../src/platform/environment.ts";
import { bytesToHex } from "../src/protocol/bytes/bytes.ts";
import { elementsToBytes } from "../src/work/operators/tensor-type.ts";
import { encodeProgram } from "../src/work/program/encode.ts";
import { type Kind, placeOfLie, workloadOfKind } from "../tests/jobs/dispute-jobs.test-kit.ts";

const [engine = "", folder = "", kind = "simulation"] = process.argv.slice(2);
const store = join(folder, "store");
mkdirSync(store, { recursive: true });
const workload = await workloadOfKind(kind as Kind, folder);
const { program, seed, segments, given } = workload;
const lie = placeOfLie(kind as Kind, workload);
const { command, args } = lyingEngine(engine, lie);
const env = realEnvironment();
const link = await createLocalLink({ command, args: [...args, "--store", store], env: env.env });
const client = await createEngineClient(link, { ...env, readyDeadlineMs: 20_000 });
const { devices } = await client.hello({ deadlineMs: 60_000 });
const device = Math.max(
	0,
	devices.findIndex(({ kind: one }) => one === "gpu"),
);
const startedMs = Date.now();
const session = await client.openWork({ device, program: encodeProgram(program), seed });
for (const [i, { name, kind: of }] of program.tensors.entries())
	if (of === "constant" || of === "input") await session.write(i, elementsToBytes(given[name]!));
const hexes = (roots: readonly Uint8Array[]) => roots.map((root) => bytesToHex(root));
const metrics: object[] = [];
const done: object[] = [];
await session.run({
	...{ first: 0, count: segments + 1, saveEvery: 1 },
	onMetric: ({ bytes, ...line }) => metrics.push({ ...line, bytes: bytesToHex(bytes) }),
	onSegment: ({ segment, stateRoots, resultRoots }) =>
		done.push({ segment, stateRoots: hexes(stateRoots), resultRoots: hexes(resultRoots) }),
});
const { name } = devices[device]!;
writeFileSync(join(folder, "run.json"), `${JSON.stringify({ device: name, kind, lie, metrics, segments: done })}\n`);
console.log(
	`${kind} on ${name}: ${segments * program.k} steps, a lie in ${JSON.stringify(lie)}, ${Date.now() - startedMs} ms`,
);
await session.release();
await client.close();
await link.close();
