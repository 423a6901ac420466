// `assay verify FILE`: is this evidence true? The same pure function that the validator and the browser use.
// Reads one file, trusts nothing in it, opens no connection.
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import { type Expectations, verifyEvidence } from "../../verify/hardware/verify.ts";
import type { Command } from "../command.ts";
import { verdictToExitCode } from "../exit-codes.ts";
import { numberOption, parseOptions, usageError } from "../parse-options.ts";
import { formatDuration } from "../print/format.ts";
import { sustainedLines } from "../print/sustained-curve.ts";
import { findingLines, paintFor, verdictLine, verdictTable } from "../print/verdict-table.ts";
import { readEvidence } from "../read-evidence.ts";

export const verifyCommand: Command = {
	name: "verify",
	summary: "checks an evidence file again, trusting nobody",
	help: `usage: assay verify FILE [OPTIONS]

Checks every signature, hash, path, time and sampled element of an evidence file, and derives its figures again.

  --signer KEY      accept only this verifier's key (64 hex digits); may be given several times
  --max-age DAYS    refuse evidence that is older
  --probe ID        refuse evidence of any other probe
  --json            the verdict as JSON on standard output

exit codes: valid 0, invalid 1, inconclusive 2, usage 64, unreadable file 66`,

	async run(args, io) {
		const { values, positionals } = parseOptions(
			"verify",
			args,
			{
				json: { type: "boolean", default: false },
				signer: { type: "string", multiple: true },
				"max-age": { type: "string" },
				probe: { type: "string" },
			},
			{ min: 1, max: 1 },
		);
		for (const key of values.signer ?? [])
			if (!/^[0-9a-f]{64}$/.test(key))
				throw usageError(`--signer takes 64 lower-case hex digits, not '${key}'`, "verify");
		const path = positionals[0]!;
		const file = readEvidence(path);
		const nowMs = Date.now();
		const maxAge = values["max-age"];
		const expect: Expectations = {
			...(values.signer === undefined ? {} : { signers: values.signer }),
			...(values.probe === undefined ? {} : { probeId: values.probe }),
			...(maxAge === undefined
				? {}
				: { notBeforeMs: nowMs - numberOption("verify", "max-age", maxAge, 0, 36500) * 86_400_000 }),
		};
		const begun = process.hrtime.bigint();
		const verdict = verifyEvidence(file, expect);
		const tookUs = Number((process.hrtime.bigint() - begun) / 1000n);

		if (values.json) {
			io.out.write(
				`${JSON.stringify({ ...verdict, file: path, fileBytes: file.length, verifyUs: tookUs }, null, 2)}\n`,
			);
			return verdictToExitCode(verdict);
		}
		const paint = paintFor(io.out, io.env);
		const lines = [verdictLine(verdict, paint)];
		const decoded = decodeEvidence(file);
		if (verdict.status === "valid" && decoded.ok) {
			const { body } = decoded.evidence.envelope;
			const when = new Date(body.probe.startedAtMs).toISOString();
			lines.push(
				`  ${body.probe.target} answered at ${when}, in ${formatDuration(body.probe.finishedAtUs)}`,
				`  signed by ${verdict.signer}${expect.signers === undefined ? paint.dim("  (any signer accepted; --signer KEY to insist on one)") : ""}`,
				"",
				verdictTable(body, verdict, paint),
				...sustainedLines(decoded.evidence),
				...findingLines(verdict, paint),
			);
		}
		lines.push("", paint.dim(`  ${path}: ${file.length} bytes checked in ${formatDuration(tookUs)}`));
		io.out.write(`${lines.join("\n")}\n`);
		return verdictToExitCode(verdict);
	},
};
