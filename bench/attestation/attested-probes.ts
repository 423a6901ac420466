// What asking for signed reports costs a probe: `assay probe --json` of this machine as it is, and the same
// program without the question (ATTEST), in turns of changing order. Prints JSON: times as the command says
// them, and how long the question itself took by the evidence; asserts nothing.
//   node bench/attestation/attested-probes.ts [QUICK] [FULL]      pairs of each, default 15 and 5
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import type { Verdict } from "../../src/protocol/probe/verdict.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const [quick = 15, full = 5] = process.argv.slice(2).map(Number);
const without = join(root, "build/without-attest");
const ASKED = "if (!isKnown || isOver";

/** A copy of the sources with one line changed; engine and packages are the same files. */
function copySources(): void {
	rmSync(without, { recursive: true, force: true });
	mkdirSync(join(without, "build"), { recursive: true });
	for (const part of ["src", "package.json"]) cpSync(join(root, part), join(without, part), { recursive: true });
	// Beside the engine's sources the CLI would build it anew.
	for (const part of ["node_modules", "engine", "build/engine"]) symlinkSync(join(root, part), join(without, part));
	const file = join(without, "src/validator/probe/attest-rounds.ts");
	const text = readFileSync(file, "utf8");
	if (!text.includes(ASKED)) throw new Error(`${file} has no such line`);
	writeFileSync(file, text.replace(ASKED, "if (answered.length >= 0 || !isKnown || isOver"));
}

interface Probed {
	readonly ms: number;
	readonly askedMs: number | null;
	readonly says: readonly string[];
}

function probe(from: string, args: readonly string[]): Probed {
	const out = join(without, "probe.assay");
	const options = ["probe", "local", ...args, "--json", "--out", out];
	const run = spawnSync(process.execPath, [join(from, "src/cli/main.ts"), ...options], { encoding: "utf8" });
	const { verdict, tookUs } = JSON.parse(run.stdout) as { readonly verdict: Verdict; readonly tookUs: number };
	if (verdict.status !== "valid") throw new Error(JSON.stringify(verdict));
	const file = decodeEvidence(readFileSync(out));
	const rounds = file.ok ? file.evidence.envelope.body.attestations : [];
	const askedMs = rounds.reduce((sum, { sentAtUs, receivedAtUs }) => sum + (receivedAtUs - sentAtUs) / 1000, 0);
	return {
		ms: tookUs / 1000,
		askedMs: rounds.length === 0 ? null : askedMs,
		says: rounds.flatMap(({ says }) => says),
	};
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

function pairs(count: number, args: readonly string[]) {
	const found = Array.from({ length: count }, (_, i) => {
		const isFirst = i % 2 === 0;
		const one = probe(isFirst ? root : without, args);
		const other = probe(isFirst ? without : root, args);
		return isFirst ? { with: one, without: other } : { with: other, without: one };
	});
	const all = { with: found.map((pair) => pair.with), without: found.map((pair) => pair.without) };
	if (all.without.some(({ askedMs }) => askedMs !== null)) throw new Error("reports were asked for all the same");
	return {
		pairs: count,
		withMs: median(all.with.map(({ ms }) => ms)),
		withoutMs: median(all.without.map(({ ms }) => ms)),
		medianOfDifferencesMs: median(found.map((pair) => pair.with.ms - pair.without.ms)),
		askedMs: median(all.with.flatMap(({ askedMs }) => askedMs ?? [])),
		says: [...new Set(all.with.flatMap(({ says }) => says))],
		all: { with: all.with.map(({ ms }) => ms), without: all.without.map(({ ms }) => ms) },
	};
}

copySources();
// The first start reads engine and program from the disk.
for (const from of [root, without]) probe(from, ["--quick"]);
const result = {
	what: "assay probe --json of this machine with and without asking for signed reports, in turns; milliseconds as the command says them",
	command: `node bench/attestation/attested-probes.ts ${quick} ${full}`,
	date: new Date().toISOString().slice(0, 10),
	machine: `${cpus().length} cores, ${cpus()[0]?.model ?? process.arch}, ${process.arch}, Node ${process.versions.node}`,
	quick: pairs(quick, ["--quick"]),
	...(full > 0 && { full: pairs(full, []) }),
};
rmSync(without, { recursive: true, force: true });
console.log(JSON.stringify(result, null, "\t"));
