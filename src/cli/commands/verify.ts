// `assay verify FILE`: is this evidence true? The same pure functions that the validator and the browser use.
// Reads one file, or a folder of proofs, trusts nothing in it, opens no connection but to the node that
// --chain names.

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { realEnvironment } from "../../platform/environment.ts";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { isContainer } from "../../protocol/probe/container.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import { type Verdict, WHO_COULD_LIE } from "../../protocol/probe/verdict.ts";
import { formatOf } from "../../protocol/roll-call/roll-file.ts";
import { notAsOrdered } from "../../verify/hardware/order.ts";
import { type Expectations, verifyEvidence } from "../../verify/hardware/verify.ts";
import { verifyFraud } from "../../verify/optimistic/fraud/judge-fraud.ts";
import { isReceipt, verifyReceipt } from "../../verify/receipts/verify-receipt.ts";
import { guestsOf, guestsOption } from "../attest-guests.ts";
import { type CliIo, command } from "../command.ts";
import { readEvidence } from "../evidence-file.ts";
import { exitCodes, verdictToExitCode } from "../exit-codes.ts";
import { account, flag, hexKey, list, number, text, usageError } from "../options.ts";
import { orderJson, orderLine } from "../order/order-lines.ts";
import { orderOf, orderOptions } from "../order/order-options.ts";
import { probeAttestationLines } from "../print/attestation-lines.ts";
import { formatDuration } from "../print/format.ts";
import { fraudLines } from "../print/fraud-lines.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { receiptLines } from "../print/receipt-lines.ts";
import { sustainedLines } from "../print/sustained-curve.ts";
import { findingLines, verdictLine, verdictTable } from "../print/verdict-table.ts";
import { refuseAttestation } from "../verify/refuse-attestation.ts";

export const verifyCommand = command({
	name: "verify",
	about: `Checks every signature, hash, path, time and spot check of an evidence file, and derives its figures again. Of a fraud file (assay job
diff writes them) it judges the contradiction; valid means that the claim it accuses is convicted. Of a receipt of RISC Zero or SP1 (JSON,
docs/receipts.md) it checks the proof. Of a proof of training (docs/zk.md) it checks the proof, and with --data, --initial and --result
whether it is about your bytes: without these nobody knows whose commitments it is about. Of a folder of such proofs (assay job prove) it checks
that each segment goes on where the one before it ended; --initial and --result are then the weights at both ends of the run. Of a wrapped run
(assay job prove --wrap) it says which segments it proves, and by which key: it is valid only by the key that --wrap-key names.`,
	takes: "FILE",
	options: {
		signer: list("KEY", "accept only this verifier's key", hexKey),
		"max-age": number("DAYS", "refuse evidence that is older", [0, 36500]),
		probe: text("ID", "refuse evidence of any other probe"),
		chain: text("URL", "node of the chain that a roll call's file names: compare its blocks and its commitment"),
		"roll-call": text("ADDRESS", "accept only this contract's roll calls", { shape: account }),
		host: text("KEY", "accept only this host's answer to a roll call", { shape: hexKey }),
		claim: text("HASH", "accept only a fraud file that accuses this claim", { shape: hexKey }),
		program: text("ID", "accept only a receipt of this image id or vkey", { shape: hexKey }),
		data: text("FILE", "compare a proof of training with these features and labels"),
		initial: text("FILE", "compare a proof of training with these weights before its first step"),
		result: text("FILE", "compare a proof of training with these weights after its last step"),
		dev: flag("accept a proof of training over test parameters (not secure), which proves nothing to others"),
		"wrap-key": text(
			"KEY",
			"the key of a wrapped run of training, from those who held its ceremony: its hash, or a file of scripts/zk-key.ts export; without it no wrapped run is valid",
		),
		guests: guestsOption,
		json: flag("print the verdict as JSON"),
		...orderOptions,
	},
	exits: {
		0: "valid",
		1: "invalid, or not as ordered",
		2: "inconclusive",
		66: "unreadable file, or of no kind that is judged here",
		69: "no answer of the node",
	},

	async run(values, io, path = "") {
		const at = resolve(io.cwd, path);
		if (statSync(at, { throwIfNoEntry: false })?.isDirectory()) {
			if (orderOf(values) !== null) throw usageError("--expect and --min-… are for files of probes");
			const { verifyTrainingRun } = await import("../verify/verify-proof-file.ts");
			return verifyTrainingRun(at, values, io);
		}
		const file = readEvidence(at);
		if (!isContainer(file) && !isReceipt(file))
			throw codedError("FILE_KIND", `${path} ${file.length === 0 ? "is empty" : "is no evidence, proof or receipt"}`);
		const maxAge = values["max-age"];
		const order = orderOf(values);
		const isOther =
			["assay-zk", "assay-zk-run", "assay-fraud", "assay-roll-call"].includes(formatOf(file) ?? "") || isReceipt(file);
		if (order !== null && isOther) throw usageError("--expect and --min-… are for files of probes");
		if (formatOf(file) === "assay-zk") {
			const { verifyTrainingProof } = await import("../verify/verify-proof-file.ts");
			return verifyTrainingProof(file, path, values, io);
		}
		if (formatOf(file) === "assay-zk-run") {
			const held = (["data", "initial", "result"] as const).find((name) => values[name] !== undefined);
			if (held !== undefined) throw usageError(`--${held} is for proofs of single segments`);
			const { verifyRunFile } = await import("../verify/verify-run-file.ts");
			return verifyRunFile(file, path, values, io);
		}
		if (values["wrap-key"] !== undefined) throw usageError("--wrap-key is for wrapped runs of training");
		const forProofs = (["data", "initial", "result"] as const).find((name) => values[name] !== undefined);
		if (forProofs !== undefined || values.dev) throw usageError(`--${forProofs ?? "dev"} is for proofs of training`);
		if (formatOf(file) === "assay-fraud") return verifyFraudFile(file, path, values, io);
		if (values.claim !== undefined) throw usageError("--claim is for fraud files");
		if (isReceipt(file)) return verifyReceiptFile(file, path, values, io);
		if (values.program !== undefined) throw usageError("--program is for receipts of zkVMs");
		if (values.chain !== undefined || formatOf(file) === "assay-roll-call") {
			if (values.signer !== undefined || values.probe !== undefined)
				throw usageError("--signer and --probe are for files of probes; a roll call's has --roll-call and --host");
			const { verifyRollCallFile } = await import("../verify/verify-roll-call-file.ts");
			const notBeforeS = maxAge === undefined ? undefined : Date.now() / 1000 - maxAge * 86_400;
			return verifyRollCallFile(file, path, { ...values, contract: values["roll-call"], notBeforeS }, io);
		}
		if (values["roll-call"] !== undefined || values.host !== undefined)
			throw usageError("--roll-call and --host are for files of roll calls; this is one of a probe");
		refuseAttestation(file, path);
		const expect: Expectations = {
			...(values.signer === undefined ? {} : { signers: values.signer }),
			...(values.probe === undefined ? {} : { probeId: values.probe }),
			...(maxAge === undefined ? {} : { notBeforeMs: Date.now() - maxAge * 86_400_000 }),
			...(values.guests === undefined ? {} : { guests: guestsOf(values, io) ?? [] }),
		};
		const { clockUs } = realEnvironment();
		const verdict = verifyEvidence(file, expect, undefined, undefined, nodeSignatures);
		const tookUs = clockUs();
		const ordered = order === null ? {} : { order: orderJson(order, verdict) };
		const report = { ...verdict, ...ordered, file: path, fileBytes: file.length, verifyUs: tookUs };
		printResult(values, io, report, (paint) => {
			const took = paint.dim(`  ${path}: ${file.length} bytes checked in ${formatDuration(tookUs)}`);
			const isPinned = expect.signers !== undefined;
			const head = order === null ? [] : [orderLine(order, verdict, paint)];
			const lines = [...head, verdictLine(verdict, paint), ...validLines(file, verdict, isPinned, paint)];
			return [...lines, "", took, ""].join("\n");
		});
		const isWrongBox = verdict.status === "valid" && order !== null && notAsOrdered(order, verdict) !== null;
		return isWrongBox ? exitCodes.invalid.code : verdictToExitCode(verdict);
	},
});

/** A fraud file: valid means that it convicts. */
function verifyFraudFile(
	file: Uint8Array,
	path: string,
	values: { readonly claim?: string | undefined; readonly json: boolean },
	io: CliIo,
): number {
	const { clockUs } = realEnvironment();
	const verdict = verifyFraud(file, values.claim === undefined ? {} : { claim: values.claim });
	const tookUs = clockUs();
	printResult(values, io, { ...verdict, file: path, fileBytes: file.length, verifyUs: tookUs }, (paint) => {
		const took = paint.dim(`  ${path}: ${file.length} bytes judged in ${formatDuration(tookUs)}`);
		return [...fraudLines(verdict, paint), "", took, ""].join("\n");
	});
	return exitCodes[verdict.status].code;
}

/**
 * A receipt of a zkVM: valid means that the program gave these values, as far as the release can be trusted.
 */
function verifyReceiptFile(
	file: Uint8Array,
	path: string,
	values: { readonly program?: string | undefined; readonly json: boolean },
	io: CliIo,
): number {
	const { clockUs } = realEnvironment();
	const verdict = verifyReceipt(file, values.program === undefined ? {} : { program: values.program });
	const tookUs = clockUs();
	printResult(values, io, { ...verdict, file: path, fileBytes: file.length, verifyUs: tookUs }, (paint) => {
		const took = paint.dim(`  ${path}: ${file.length} bytes checked in ${formatDuration(tookUs)}`);
		return [...receiptLines(verdict, values.program !== undefined, paint), "", took, ""].join("\n");
	});
	return exitCodes[verdict.status].code;
}

function validLines(file: Uint8Array, verdict: Verdict, isPinned: boolean, paint: Paint): string[] {
	const decoded = decodeEvidence(file);
	if (verdict.status !== "valid" || !decoded.ok) return [];
	const { body } = decoded.evidence.envelope;
	const when = new Date(body.probe.startedAtMs).toISOString();
	const anySigner = isPinned ? "" : paint.dim("  (any signer accepted; --signer KEY requires one)");
	return [
		`  strength ${verdict.strength}: ${WHO_COULD_LIE[verdict.strength]}`,
		`  ${body.probe.target} answered at ${when}, in ${formatDuration(body.probe.finishedAtUs)}`,
		`  signed by ${verdict.signer}${anySigner}`,
		...(verdict.host === null ? [] : [`  countersigned by ${verdict.host}`]),
		"",
		verdictTable(body, verdict, paint),
		...sustainedLines(decoded.evidence),
		...findingLines(verdict, paint),
		...probeAttestationLines(verdict.attestation, paint),
	];
}
