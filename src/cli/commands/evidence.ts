// `assay evidence PROBE --out FILE`: fetches the evidence file of a probe, byte for byte. Judging it is up to
// `assay verify`.
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import { apiOptions, openApi } from "../api-connection.ts";
import { command } from "../command.ts";
import { writeNamedFile } from "../evidence-file.ts";
import { findProbe } from "../find-by-name.ts";
import { text, usageError } from "../options.ts";
import { printResult } from "../print/print-result.ts";

export const evidenceCommand = command({
	name: "evidence",
	about: "PROBE is a probe's id, the beginning of it, or the SHA-256 of an evidence file.",
	takes: "PROBE",
	options: {
		out: text("FILE", "where it goes (default: PROBE.assay in this folder)"),
		receipts: text("FILE", "also fetch what the provider signed, for assay accuse; PROBE must then be a probe's id"),
		...apiOptions,
	},
	exits: { 67: "no such probe or evidence", 69: "no answer", 74: "file not writable" },

	async run(values, io, subject = "") {
		const api = await openApi(values, io);
		const isHash = /^[0-9a-f]{64}$/.test(subject);
		if (isHash && values.receipts !== undefined) throw usageError("--receipts goes with a probe's id, not with a hash");
		const { id, sha256, bytes, receipts } = await api.ask(async (client) => {
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
			throw new AssayError("EVIDENCE_CORRUPT", `${api.url} sent another file than the one of that hash`, {
				hint: "Ask again, or ask another validator.",
			});
		const path = resolve(io.cwd, values.out ?? `${id}.assay`);
		writeNamedFile(path, bytes, "--out FILE");
		if (receipts !== null)
			writeNamedFile(resolve(io.cwd, values.receipts!), `${JSON.stringify(receipts)}\n`, "--receipts FILE");
		return printResult(
			values,
			io,
			{ path, bytes: bytes.length, sha256 },
			() => `${path}: ${formatBytes(bytes.length)}, sha256 ${sha256}\n`,
		);
	},
});
