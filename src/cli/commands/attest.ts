// `assay attest verify FILE… | show FILE`: attestation evidence of GPUs and CPUs, docs/attestation.md. Reads the named files and nothing else.
import { realEnvironment } from "../../platform/environment.ts";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { DEFAULT_POLICY, VENDOR_ROOTS } from "../../verify/attestation/settings.ts";
import { showFile } from "../../verify/attestation/show-file.ts";
import { verifyFiles } from "../../verify/attestation/verify-files.ts";
import { rememberSignatures } from "../../verify/attestation/x509/signature.ts";
import { type CliIo, command } from "../command.ts";
import { readInput } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { choice, flag, list, text, usageError } from "../options.ts";
import { attestationLines, shownLines } from "../print/attestation-lines.ts";
import { printResult } from "../print/print-result.ts";

const MOST_BYTES = 8 * 1024 * 1024;
const MOST_FILES = 128;
/** A copy as plain bytes: views of a Buffer would share its memory. */
const read = (path: string): Uint8Array =>
	new Uint8Array(readInput(path, MOST_BYTES, "Give the path of a report, a quote or a vendor's file."));

interface Asked {
	readonly at?: string | undefined;
	readonly nonce?: string | undefined;
	readonly collateral?: readonly string[] | undefined;
	readonly require?: "genuine" | "measured" | undefined;
	readonly json: boolean;
}

export const attestCommand = command({
	name: "attest",
	about: `Judges attestation evidence offline: reports of NVIDIA GPUs and switches (raw, or in the JSON of NVIDIA's SDK), SGX and TDX quotes, AMD
SNP reports, Azure's vTPM evidence, dstack's JSON. What it needs beside it (certificates, manifests, OCSP answers, Intel's collateral, event
logs) is recognised by content and may be given in any order; certificates follow the order of the reports they belong to.

Without --require a report is judged as far as the files go. Only the vendors' own roots are trusted.`,
	options: {
		at: text("TIME", "judge at this time, e.g. 2026-06-01T00:00:00Z (default: now)"),
		nonce: text("HEX", "refuse evidence that answers another nonce (quotes: report data)", {
			shape: { pattern: /^([0-9a-f]{2}){1,64}$/, is: "lower-case hex, at most 64 bytes" },
		}),
		collateral: list("FILE", "another file to judge by"),
		require: choice("LEVEL", ["genuine", "measured"] as const, "the level that must be shown"),
		json: flag("print as JSON"),
	},
	exits: { 0: "valid", 1: "invalid", 2: "inconclusive", 66: "unreadable file" },
	verbs: {
		verify: {
			takes: "FILE…",
			does: "is it genuine, current and what was asked for?",
			run: async (values, io, ...paths) => verify(paths, values, io),
		},
		show: {
			takes: "FILE",
			does: "what a file says, unchecked",
			async run(values, io, path = "") {
				const shown = { file: path, ...showFile(read(path)) };
				printResult(values, io, shown, (paint) => `${shownLines(shown, paint).join("\n")}\n`);
				return exitCodes[shown.status].code;
			},
		},
	},
});

function verify(paths: readonly string[], asked: Asked, io: CliIo): number {
	const atMs = asked.at === undefined ? Date.now() : Date.parse(asked.at);
	if (Number.isNaN(atMs)) throw usageError(`--at takes a time like 2026-06-01T00:00:00Z, not '${asked.at}'`);
	const names = [...paths, ...(asked.collateral ?? [])];
	if (names.length > MOST_FILES) throw usageError(`at most ${MOST_FILES} files are judged together`);
	const files = names.map(read);
	const nonce = asked.nonce === undefined ? null : new Uint8Array(Buffer.from(asked.nonce, "hex"));
	const settings = { roots: VENDOR_ROOTS, atMs, policy: DEFAULT_POLICY, verify: rememberSignatures(nodeSignatures) };
	const { clockUs } = realEnvironment();
	const verdict = verifyFiles(files, { require: asked.require ?? null, nonce }, settings);
	const report = { ...verdict, files: names, at: new Date(atMs).toISOString(), verifyUs: clockUs() };
	printResult(asked, io, report, (paint) => `${attestationLines(report, paint).join("\n")}\n`);
	return exitCodes[verdict.status].code;
}
