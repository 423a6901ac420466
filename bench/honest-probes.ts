// Many quick probes of this machine, one after the other, whatever else runs on it: is an honest host ever
// hurt by the rules? Prints and keeps how they ended, what was found, and how far the figures lie apart. Real
// engine, real verdicts.
//   node bench/honest-probes.ts [COUNT]      default 200 → bench/results/honest-probes-<date>.json; exit code
//                                            1 when one did not end valid
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HostClaim } from "../src/protocol/probe/evidence.ts";
import type { Verdict } from "../src/protocol/probe/verdict.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const count = Number(process.argv[2] ?? 200);
const folder = mkdtempSync(join(tmpdir(), "assay-honest-"));
const ended = new Map<string, number>();
const found = new Map<string, number>();
const figures = new Map<string, number[]>();
const add = (map: Map<string, number>, key: string) => map.set(key, (map.get(key) ?? 0) + 1);
let claim: HostClaim | null = null;
let busiest = 0;
try {
	for (let i = 0; i < count; i++) {
		const args = ["probe", "local", "--quick", "--json", "--out", join(folder, "probe.assay")];
		const run = spawnSync(process.execPath, [join(root, "src/cli/main.ts"), ...args], { encoding: "utf8" });
		const probe = JSON.parse(run.stdout) as { readonly verdict: Verdict; readonly claim: HostClaim };
		const { verdict } = probe;
		claim = probe.claim;
		busiest = Math.max(busiest, loadavg()[0]!);
		add(
			ended,
			verdict.status === "valid" ? "valid" : `${verdict.status} ${verdict.code} at ${verdict.where}: ${verdict.detail}`,
		);
		if (verdict.status !== "valid") continue;
		for (const { code } of verdict.findings) add(found, code);
		for (const { device, name, value } of verdict.figures)
			figures.set(`${device} ${name}`, [...(figures.get(`${device} ${name}`) ?? []), value]);
	}
} finally {
	rmSync(folder, { recursive: true, force: true });
}

const spread = [...figures].map(([name, values]) => {
	const sorted = values.sort((a, b) => a - b);
	return { name, count: sorted.length, least: sorted[0], median: sorted[sorted.length >> 1], most: sorted.at(-1) };
});
const date = new Date().toISOString().slice(0, 10);
const result = {
	...{ machine: claim?.devices.map(({ name }) => name), host: claim?.host, date, probes: count, busiestLoad: busiest },
	...{ ended: Object.fromEntries(ended), findings: Object.fromEntries(found), figures: spread },
};
writeFileSync(join(root, `bench/results/honest-probes-${date}.json`), `${JSON.stringify(result, null, "\t")}\n`);
console.log(JSON.stringify({ ended: result.ended, findings: result.findings, busiestLoad: busiest }));
process.exitCode = ended.get("valid") === count ? 0 : 1;
