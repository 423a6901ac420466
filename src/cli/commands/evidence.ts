// `assay evidence PROBE --out FILE`: fetches the evidence file of a probe, as it was written. What is in it is for `assay verify` to say.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { apiOptions, openApi, withApi } from "../api-connection.ts";
import type { Command } from "../command.ts";
import { findProbe } from "../find-by-name.ts";
import { parseOptions, usageError } from "../parse-options.ts";
import { formatBytes } from "../print/format.ts";

export const evidenceCommand: Command = {
	name: "evidence",
	summary: "fetches the evidence file of a probe, for assay verify",
	help: `usage: assay evidence PROBE [--out FILE] [OPTIONS]

PROBE is a probe's id, the beginning of it, or the SHA-256 of an evidence file.

  --out FILE        where it goes (default: PROBE.assay in this folder)
  --receipts FILE   also what the provider signed of it, for assay accuse; PROBE is then a probe's id
${apiOptions.help}

exit codes: done 0, usage 64, no such probe or evidence 67, nobody answers 69, file not writable 74`,

	async run(args, io) {
		const { values, positionals } = parseOptions(
			"evidence",
			args,
			{ ...apiOptions.options, out: { type: "string" }, receipts: { type: "string" } },
			{ min: 1, max: 1 },
		);
		const subject = positionals[0]!;
		const api = await openApi("evidence", values, io);
		const isHash = /^[0-9a-f]{64}$/.test(subject);
		if (isHash && values.receipts !== undefined)
			throw usageError("--receipts goes with a probe's id, not with a hash", "evidence");
		const { id, sha256, bytes, receipts } = await withApi(api, async (client) => {
			if (isHash)
				return {
					id: subject,
					sha256: subject,
					bytes: await client.getEvidence({ params: { sha256: subject } }),
					receipts: null,
				};
			const { id } = await findProbe(client, subject);
			const { evidenceSha256: sha256 } = await client.getProbe({ params: { id } });
			const signed = values.receipts === undefined ? null : await client.getProbeReceipts({ params: { id } });
			return { id, sha256, bytes: await client.getProbeEvidence({ params: { id } }), receipts: signed };
		});
		// The server may err or lie; the name of evidence is its hash.
		if (createHash("sha256").update(bytes).digest("hex") !== sha256)
			throw new AssayError("EVIDENCE_CORRUPT", `what ${api.url} sent is not the file of that name`, {
				hint: "Ask again, or ask another validator.",
			});
		const path = resolve(io.cwd, values.out ?? `${id}.assay`);
		write(path, bytes);
		if (receipts !== null) write(resolve(io.cwd, values.receipts!), `${JSON.stringify(receipts)}\n`);
		io.out.write(
			values.json
				? `${JSON.stringify({ path, bytes: bytes.length, sha256 }, null, 2)}\n`
				: `${path}: ${formatBytes(bytes.length)}, sha256 ${sha256}\n`,
		);
		return 0;
	},
};

function write(path: string, content: Uint8Array | string): void {
	try {
		writeFileSync(path, content);
	} catch (cause) {
		throw new AssayError("FILE_UNWRITABLE", `cannot write ${path}`, {
			hint: "Choose another place with --out, or --receipts.",
			cause,
		});
	}
}
