// `assay report FILE`: an evidence file as a certificate for people, one HTML page, and a badge. What is true
// is up to verify/.

import { createHash } from "node:crypto";
import { basename, resolve } from "node:path";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import { cardsOf } from "../../verify/hardware/identify/identity-words.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import { command } from "../command.ts";
import { readEvidence, writeNamedFile } from "../evidence-file.ts";
import { verdictToExitCode } from "../exit-codes.ts";
import { flag, hexKey, list, text } from "../options.ts";
import { printResult } from "../print/print-result.ts";
import { htmlReport } from "../report/html-report.ts";
import { svgBadge } from "../report/svg-badge.ts";

export const reportCommand = command({
	name: "report",
	about: `Verifies the evidence file of a probe and writes one HTML page for people: verdict, figures beside the data sheet, speed over
time, signer, and how to check it. The page needs no network and runs no script.`,
	takes: "FILE",
	options: {
		out: text("FILE", "where the page goes (default: FILE.html beside the evidence)"),
		badge: text("FILE", "also write a badge, an SVG picture with cards and date"),
		signer: list("KEY", "accept only this verifier's key", hexKey),
		json: flag("print what was written as JSON"),
	},
	exits: { 0: "valid", 1: "invalid", 2: "inconclusive", 66: "unreadable file", 74: "file not writable" },

	async run(values, io, path = "") {
		const file = readEvidence(resolve(io.cwd, path));
		const decoded = decodeEvidence(file);
		if (!decoded.ok)
			throw new AssayError("FILE_KIND", `${path} is no evidence file of a probe: ${decoded.detail}`, {
				hint: "Give a file that `assay probe` or `assay evidence` wrote.",
			});
		const { evidence } = decoded;
		const expect = values.signer === undefined ? {} : { signers: values.signer };
		const verdict = verifyEvidence(file, expect, undefined, undefined, nodeSignatures);
		const sha256 = createHash("sha256").update(file).digest("hex");
		const of = { evidence, verdict, file: basename(path), fileBytes: file.length, sha256, atMs: Date.now() };
		const out = resolve(io.cwd, values.out ?? `${path}.html`);
		writeNamedFile(out, htmlReport(of), "--out FILE");
		const badge = values.badge === undefined ? null : resolve(io.cwd, values.badge);
		const { claim, probe } = evidence.envelope.body;
		const day = new Date(probe.startedAtMs).toISOString().slice(0, 10);
		const words = verdict.status === "valid" ? `${cardsOf(claim, verdict)}, ${day}` : `${verdict.status}, ${day}`;
		if (badge !== null) writeNamedFile(badge, svgBadge(verdict.status, words), "--badge FILE");
		printResult(values, io, { status: verdict.status, page: out, badge, sha256 }, () => {
			const more = badge === null ? "" : `${badge}: badge\n`;
			return `${verdict.status.toUpperCase()}  ${words}\n${out}: page about ${basename(path)} (${formatBytes(file.length)})\n${more}`;
		});
		return verdictToExitCode(verdict);
	},
});
