// `assay attest collect [TARGET] | verify FILE… | show FILE | policy | update`: attestation evidence of GPUs
// and CPUs, docs/attestation.md. `verify` and `show` read the named files and the bundle of vendors' files;
// `update FILE…` asks the vendors, `collect` a host.
import { resolve } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { tagged } from "../../protocol/hash/tagged-hash.ts";
import type { GuestRule } from "../../verify/attestation/guest-rules.ts";
import { policyHash, policyRules } from "../../verify/attestation/policy.ts";
import {
	type AttestationSettings,
	DEFAULT_POLICY,
	MINT_ROOTS,
	type Roots,
	VENDOR_ROOTS,
} from "../../verify/attestation/settings.ts";
import { showFile } from "../../verify/attestation/show-file.ts";
import { verifyFiles } from "../../verify/attestation/verify-files.ts";
import { rememberSignatures } from "../../verify/attestation/x509/signature.ts";
import { loadBundle, type UpdateResult } from "../attest-collateral.ts";
import { collectFrom } from "../attest-collect.ts";
import { guestsOf, guestsOption } from "../attest-guests.ts";
import { VENDOR_SOURCES } from "../attest-sources.ts";
import { type FetchResult, updateFromFolder, updateFromVendors } from "../attest-update.ts";
import { type CliIo, command } from "../command.ts";
import { defaultAttestDir } from "../data-folder.ts";
import { readInput } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { linkOptions, openTarget, TARGET_HELP } from "../open-target.ts";
import { choice, flag, list, text, usageError, type Values } from "../options.ts";
import { attestationLines, collectedLines, policyLines, shownLines, updateLines } from "../print/attestation-lines.ts";
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
	readonly bind?: string | undefined;
	readonly out?: string | undefined;
	readonly from?: string | undefined;
	readonly guest?: readonly string[] | undefined;
	readonly guests?: string | undefined;
	readonly require?: "genuine" | "measured" | "hosted" | undefined;
	readonly json: boolean;
}

export const attestCommand = command({
	name: "attest",
	about: `Judges attestation evidence offline: reports of NVIDIA GPUs and switches (raw, or in the JSON of NVIDIA's SDK), SGX and TDX quotes, AMD
SNP reports, Azure's vTPM evidence, dstack's JSON. What it needs beside it (certificates, manifests, OCSP answers, Intel's collateral, event
logs) is recognised by content and may be given in any order; certificates follow the order of the reports they belong to.

\`collect\` asks a host's GPUs and, in a confidential guest, its CPU, and leaves one file for each report, chain and quote. A host that has
none says why; that is no fault of it. ${TARGET_HELP}

What is missing is looked for in the bundle of vendors' files. \`update FILE…\` fills it with what this evidence needs, from the vendors'
services; \`update --from DIR\` takes the files of a folder, without network. Each file gets in by its vendor's signature, and nothing is
replaced by something older. \`verify\` makes no request.

Reports of devices together with a quote or SNP report are one round: the guest's report data must be the reports' nonce and a hash of all
reports. With --guest or --guests, it must be one of those that are allowed, and the level is hosted.

Without --require a report is judged as far as the files go. Only the vendors' own roots are trusted.`,
	options: {
		at: text("TIME", "judge at this time, e.g. 2026-06-01T00:00:00Z (default: now)"),
		nonce: text("HEX", "refuse evidence that answers another nonce (quotes: report data)", {
			shape: { pattern: /^([0-9a-f]{2}){1,64}$/, is: "lower-case hex, at most 64 bytes" },
		}),
		collateral: list("FILE", "another file to judge by, also a bundle"),
		bind: text("FILE", "collect: the nonce is the hash of this file's bytes, which say what the reports are for"),
		out: text("DIR", "collect: where the files go (default: attestation in this folder)"),
		from: text("DIR", "update: the folder with vendors' files, or with bundles"),
		guest: list("HEX", "a guest's measurement that is allowed (MRTD, MRENCLAVE, SNP measurement)", {
			pattern: /^([0-9a-f]{64}|[0-9a-f]{96})$/,
			is: "32 or 48 bytes of lower-case hex",
		}),
		guests: guestsOption,
		require: choice("LEVEL", ["genuine", "measured", "hosted"] as const, "the level that must be shown"),
		json: flag("print as JSON"),
		...linkOptions,
	},
	exits: {
		0: "valid; collect: there is a report or a quote",
		1: "invalid; update: a vendor's file was refused",
		2: "inconclusive; update: a vendor was not reached; collect: the host has none",
		66: "unreadable file, or files that are no attestation evidence to be judged together",
		69: "unreachable",
		74: "file not writable",
	},
	verbs: {
		collect: {
			takes: "[TARGET]",
			does: "asks a host for its reports and its quote",
			run: async (values, io, named = "local") => collect(named, values, io),
		},
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
		policy: {
			takes: "",
			does: "the rules that verdicts here follow, and their hash",
			run: async (values, io) => showPolicy(values, io),
		},
		update: {
			takes: "[FILE…]",
			does: "puts vendors' files into the bundle that `verify` judges by",
			run: async (values, io, ...paths) => update(paths, values, io),
		},
	},
});

async function collect(named: string, asked: Asked & Values<typeof linkOptions>, io: CliIo): Promise<number> {
	const { nonce, bind } = asked;
	if (nonce !== undefined && bind !== undefined) throw usageError("attest collect takes either --nonce or --bind");
	if (nonce !== undefined && nonce.length !== 64) throw usageError("a nonce to collect with has 32 bytes");
	const target = openTarget(named, asked, io);
	const chosen =
		nonce !== undefined
			? new Uint8Array(Buffer.from(nonce, "hex"))
			: bind === undefined
				? realEnvironment().randomBytes(32)
				: tagged("assay/attest-bind/1", read(resolve(io.cwd, bind)));
	const folder = resolve(io.cwd, asked.out ?? "attestation");
	const collected = { target: target.name, ...(await collectFrom(await target.open(), chosen, folder)) };
	printResult(asked, io, collected, (paint) => `${collectedLines(collected, paint).join("\n")}\n`);
	return collected.files.length > 0 ? 0 : exitCodes.inconclusive.code;
}

const settingsAt = (atMs: number, guests: readonly GuestRule[] | null = null): AttestationSettings => ({
	roots: VENDOR_ROOTS,
	atMs,
	policy: { ...DEFAULT_POLICY, guests },
	verify: rememberSignatures(nodeSignatures),
});

/** What `verify`, and a validator with the same list of guests, name as their policy. */
async function showPolicy(asked: Asked, io: CliIo): Promise<number> {
	const { policy } = settingsAt(0, guestsOf(asked, io));
	const under = (roots: Roots) => ({ hash: policyHash({ roots, policy }), rules: policyRules({ roots, policy }) });
	const shown = { vendors: under(VENDOR_ROOTS), simulated: under(MINT_ROOTS) };
	printResult(asked, io, shown, (paint) => `${policyLines(shown, paint).join("\n")}\n`);
	return 0;
}

async function update(paths: readonly string[], asked: Asked, io: CliIo): Promise<number> {
	const { from } = asked;
	if ((from === undefined) === (paths.length === 0))
		throw usageError("attest update takes either evidence to ask the vendors for, or --from DIR");
	const [folder, settings] = [defaultAttestDir(io.env), settingsAt(Date.now())];
	const result: UpdateResult & Partial<FetchResult> =
		from === undefined
			? await updateFromVendors(folder, readAll(paths), settings, VENDOR_SOURCES, io.interrupted)
			: await updateFromFolder(folder, resolve(io.cwd, from), settings);
	printResult(asked, io, result, (paint) => `${updateLines(result, paint).join("\n")}\n`);
	if (result.refused.length > 0) return exitCodes.invalid.code;
	return (result.failed?.length ?? 0) > 0 ? exitCodes.inconclusive.code : 0;
}

function readAll(names: readonly string[]): Uint8Array[] {
	if (names.length > MOST_FILES) throw usageError(`at most ${MOST_FILES} files are judged together`);
	return names.map(read);
}

async function verify(paths: readonly string[], asked: Asked, io: CliIo): Promise<number> {
	const atMs = asked.at === undefined ? Date.now() : Date.parse(asked.at);
	if (Number.isNaN(atMs)) throw usageError(`--at takes a time like 2026-06-01T00:00:00Z, not '${asked.at}'`);
	const names = [...paths, ...(asked.collateral ?? [])];
	const bundle = await loadBundle(defaultAttestDir(io.env));
	const files = [...readAll(names), ...(bundle === null ? [] : [bundle])];
	const nonce = asked.nonce === undefined ? null : new Uint8Array(Buffer.from(asked.nonce, "hex"));
	const { clockUs } = realEnvironment();
	const verdict = verifyFiles(files, { require: asked.require ?? null, nonce }, settingsAt(atMs, guestsOf(asked, io)));
	const report = { ...verdict, files: names, at: new Date(atMs).toISOString(), verifyUs: clockUs() };
	printResult(asked, io, report, (paint) => `${attestationLines(report, paint).join("\n")}\n`);
	// What was given is no such evidence: a mistake of the caller's, no verdict on anybody.
	return verdict.code === "ATTEST_FILES" ? exitCodes.input.code : exitCodes[verdict.status].code;
}
