// A simulated attested host, to try attestation out on a machine that has none of the hardware
// (docs/attestation.md, Trying it out): an engine that asks a toy NVML and a toy CPU, and the files that a
// validator judges them by. Everything is signed under roots of our own and counts for nothing.
//   node tests/attestation/toy/attested-host.ts [FOLDER]     runs until Ctrl-C; prints what to type
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { findEngine, hostPlatform } from "../../../src/engine/builds.ts";
import { createToyHost, mintedBundle, TOY_GUEST, toyCard } from "./toy-host.test-kit.ts";

const [, , named] = process.argv;
const folder = named === undefined ? mkdtempSync(join(tmpdir(), "assay-attested-")) : resolve(named);
mkdirSync(folder, { recursive: true });
// An engine that is started as root becomes another user.
chmodSync(folder, 0o755);
const engine = await findEngine(hostPlatform());
const host = await createToyHost([toyCard(0)]);
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const write = (name: string, text: string | Uint8Array): string => {
	const path = join(folder, name);
	writeFileSync(path, text);
	return path;
};
const program = write(
	"engine",
	`#!/bin/sh\nLD_LIBRARY_PATH=${quoted(host.env.LD_LIBRARY_PATH!)} exec ${quoted(engine.path)} --toy-tsm ${quoted(host.tsm)} "$@"\n`,
);
chmodSync(program, 0o755);
const { name, tee, measurement, registers } = TOY_GUEST;
const guests = write(
	"guests.json",
	`${JSON.stringify({ version: 1, guests: [{ name, tee, mrtd: measurement, rtmr: registers }] })}\n`,
);
const bundle = write("collateral.assay", mintedBundle());
console.log(`a simulated attested host, until Ctrl-C:
  npx assay attest collect --engine ${program}
  npx assay probe --quick --engine ${program}
  npm start -- --collateral ${bundle} --guests ${guests}
  npx assay provide --validator ws://127.0.0.1:4747 --data ${join(folder, "provider")} --engine ${program} --no-roll-calls --jobs`);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void host.close());
