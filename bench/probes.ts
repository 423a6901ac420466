// Several probes of one machine, and how well they agree: each figure's median and spread, with machine, driver and commit.
//   npm run bench                        three probes of this machine → bench/results/<device>-<date>-probes.json
//   node bench/probes.ts FILE.json …     the same from what `assay probe --json` printed elsewhere
// Figures on the verifier's clock, as a customer sees them. The kernels beside the vendor's library: bench/run.sh.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Claim, Figure } from "../src/protocol/evidence.ts";

interface Probe {
	readonly verdict: { readonly status: string; readonly figures: readonly Figure[] };
	readonly claim: Claim;
	readonly tookUs: number;
	readonly evidence: { readonly bytes: number };
}

const PROBES = 3;
const root = fileURLToPath(new URL("../", import.meta.url));

function probeHere(): Probe[] {
	const folder = mkdtempSync(join(tmpdir(), "assay-bench-"));
	try {
		return Array.from({ length: PROBES }, (_, i) => {
			const args = [join(root, "src/cli/main.ts"), "probe", "local", "--json", "--out", join(folder, `${i}.assay`)];
			const run = spawnSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
			if (run.status !== 0) throw new Error(`probe ${i} ended with ${run.status}: ${run.stdout}`);
			return JSON.parse(run.stdout) as Probe;
		});
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

function median(values: readonly number[]): number {
	return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** Figures of one name on one device and challenge, over all probes. `spread` is largest ÷ smallest − 1. */
function summarise(probes: readonly Probe[]) {
	const first = probes[0]!;
	return first.verdict.figures.map(({ device, name, unit, challenge }) => {
		const values = probes.flatMap(({ verdict }) =>
			verdict.figures
				.filter((f) => f.device === device && f.name === name && f.challenge === challenge)
				.map((f) => f.value),
		);
		const spread = Math.max(...values) / Math.min(...values) - 1;
		return { device, name, unit, median: median(values), spread: Number(spread.toFixed(4)), values };
	});
}

const files = process.argv.slice(2);
const probes = files.length === 0 ? probeHere() : files.map((file) => JSON.parse(readFileSync(file, "utf8")) as Probe);
if (probes.some(({ verdict }) => verdict.status !== "valid"))
	throw new Error("a probe that is not valid measures nothing");
const { claim } = probes[0]!;
const commit =
	process.env.COMMIT ??
	execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
const date = new Date().toISOString().slice(0, 10);
const result = {
	machine: claim.devices.map(({ name }) => name),
	host: { cpu: claim.host.cpu, cores: claim.host.cores, os: claim.host.os },
	driver: claim.driver?.version ?? null,
	commit,
	date,
	probes: probes.length,
	probeSeconds: probes.map(({ tookUs }) => Number((tookUs / 1e6).toFixed(2))),
	evidenceBytes: probes.map(({ evidence }) => evidence.bytes),
	figures: summarise(probes),
};
const device = claim.devices[0]!.name.toLowerCase()
	.replace(/^nvidia /, "")
	.replace(/[^a-z0-9]+/g, "-")
	.replace(/-$/, "");
const path = join(root, "bench/results", `${device}-${date}-probes.json`);
writeFileSync(
	path,
	`${JSON.stringify(result, null, "\t").replace(/\[\n\t+([\d.,\n\t]+?)\n\t+\]/g, (_, list: string) => `[${list.replace(/\n\t+/g, " ")}]`)}\n`,
);
for (const { device: at, name, unit, median: value, spread } of result.figures)
	console.log(
		`device ${at}  ${name.padEnd(24)} ${value.toExponential(3)} ${unit.padEnd(7)} spread ${(100 * spread).toFixed(1)} %`,
	);
console.log(`${probes.length} probes in ${result.probeSeconds.join(", ")} s → ${path.slice(root.length)}`);
