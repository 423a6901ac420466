// Whole disputes on this machine: training, generation, a picture and a simulation with one wrong element in
// one of a thousand steps, by the signed road and by the silent one, on the embedded chain and on a node of
// its own. Prints a table and writes it.
//   node bench/disputes.ts [--chain embedded|external] [--from FOLDER] [--out RESULT.json] [KIND …]
// --from: the claim is what bench/card-claim.ts left in this folder, on another machine; then KIND is its
// kind.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { arch, cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { KINDS, type Kind } from "../tests/jobs/dispute-jobs.test-kit.ts";
import { openExternalStage } from "../tests/jobs/external-stage.test-kit.ts";
import { openStage } from "../tests/jobs/job-stage.test-kit.ts";
import { DISPUTE_PARAMS, runDispute } from "../tests/jobs/whole-dispute.test-kit.ts";

const { values, positionals: named } = parseArgs({
	options: {
		chain: { type: "string", multiple: true, default: ["embedded", "external"] },
		...{ from: { type: "string" }, out: { type: "string", default: "bench/results/disputes.json" } },
	},
	allowPositionals: true,
});
const { from, out } = values;
const kinds = (Object.keys(KINDS) as Kind[]).filter((kind) => named.length === 0 || named.includes(kind));
const engine = { command: (await findEngine(hostPlatform())).path, args: [] };
const disputes: object[] = [];
const result = { machine: `${cpus()[0]?.model || arch()}, ${cpus().length} cores`, node: process.version, disputes };
/**
 * A network of its own, since a part that is open again would be the next liar's. Null: one claim in a
 * hundred the validator runs again itself.
 */
async function dispute(chain: string, kind: Kind, road: "signed" | "silent") {
	const scratch = mkdtempSync(join(tmpdir(), "assay-disputes-"));
	const settings = { settings: { engine }, params: DISPUTE_PARAMS };
	const stage = await (chain === "embedded" ? openStage({ hasChain: true, ...settings }) : openExternalStage(settings));
	try {
		return await runDispute(stage, { kind, road, number: 1, scratch, ...(from !== undefined && { from }) });
	} finally {
		await stage.close();
		rmSync(scratch, { recursive: true, force: true });
	}
}

for (const chain of values.chain)
	for (const kind of kinds)
		for (const road of ["signed", "silent"] as const) {
			let found = await dispute(chain, kind, road);
			while (found === null) found = await dispute(chain, kind, road);
			disputes.push({ chain, ...found });
			writeFileSync(out, `${JSON.stringify(result, null, "\t")}\n`);
			console.log(JSON.stringify(disputes.at(-1)));
		}
console.table(disputes);
