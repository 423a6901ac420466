// `assay audit EPOCH`: computes an epoch again from the chain, the reports' leaves, the scores' terms and the evidence's hashes, and tells every difference.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Hex } from "../market/sorted-openings.ts";
import { chainOptions, toJson, withChain } from "./chain-connection.ts";
import type { Command } from "./command.ts";
import { exitCodes } from "./exit-codes.ts";
import { numberOption, parseOptions } from "./parse-options.ts";
import { shown, table } from "./table.ts";
import { paintFor } from "./verdict-table.ts";

export const auditCommand: Command = {
	name: "audit",
	summary: "computes an epoch again from chain and evidence",
	help: `usage: assay audit EPOCH [OPTIONS]

Reads roots, stakes, weights and payments of an epoch from the chain, the leaves behind them from this data folder or from the validators, and computes
scores (from their terms), weights and shares again. Every difference is listed. Evidence files are compared with their hashes; assay verify judges one again.

  --no-evidence     leave the evidence files out
${chainOptions.help}

exit codes: no difference 0, differences 1, usage 64, no chain or no answer 69`,

	async run(args, here) {
		const options = { ...chainOptions.options, "no-evidence": { type: "boolean", default: false } } as const;
		const { values, positionals } = parseOptions("audit", args, options, { min: 1, max: 1 });
		const epoch = Math.floor(numberOption("audit", "epoch", positionals[0]!, 0, 1e12));
		return withChain("audit", values, here, async (home, dataDir) => {
			const [{ auditEpoch }, { createReportArchive }, { createLeafFetcher }] = await Promise.all([
				import("../validator/service/audit-epoch.ts"),
				import("../validator/service/report-archive.ts"),
				import("../validator/service/fetch-leaves.ts"),
			]);
			const { client, at, account } = home;
			const kept = createReportArchive(join(home.folder, "epochs"));
			const fetched = createLeafFetcher(client, at, (from, error) => here.err.write(`  ${from}: ${String(error)}\n`));
			const found = await auditEpoch({
				client,
				at,
				epoch,
				archive: {
					...kept,
					report: async (...one) => (await kept.report(...one)) ?? (await fetched.report(...one))?.leaves ?? null,
					weights: async (...one) => (await kept.weights(...one)) ?? fetched.weights(...one),
				},
				self: account.address.toLowerCase() as Hex,
				checkEvidence: values["no-evidence"] ? null : (sha256) => checkFile(dataDir, sha256),
			});
			const { differences, proposal, providers, validators, evidenceFiles, claims } = found;
			if (values.json) here.out.write(toJson(found));
			else {
				here.out.write(
					`epoch ${epoch}: ${validators} reports, ${providers} providers, weights ${proposal}, ${evidenceFiles} evidence files, ${claims} claims\n`,
				);
				const columns = [
					{ title: "what", cell: ({ what }: (typeof differences)[number]) => what },
					{ title: "whose", cell: ({ who }: (typeof differences)[number]) => shown(who, 42) },
					{ title: "stated", cell: ({ stated }: (typeof differences)[number]) => shown(stated, 24) },
					{ title: "right", cell: ({ right }: (typeof differences)[number]) => shown(right, 48) },
				];
				here.out.write(
					differences.length === 0
						? "no differences\n"
						: `${table(columns, differences.slice(0, 100), paintFor(here.out, here.env))}\n${differences.length} differences\n`,
				);
			}
			return differences.length === 0 ? 0 : exitCodes.invalid.code;
		});
	},
};

async function checkFile(dataDir: string, sha256: string): Promise<"right" | "wrong" | "missing"> {
	try {
		const bytes = await readFile(join(dataDir, "evidence", sha256.slice(0, 2), sha256.slice(2)));
		return createHash("sha256").update(bytes).digest("hex") === sha256 ? "right" : "wrong";
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return "missing";
		throw error;
	}
}
