// `assay accuse EVIDENCE --receipts FILE|URL`: brings the fraud that an evidence file shows before the chain. Anyone may: the chain believes the accused's own signature and its own arithmetic,
// and part of what is taken goes to the account that pays for the proof. Page: docs/chain.md §5.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ContractAddresses } from "../../chain/contracts/deploy.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { parseReceiptFile, type ReceiptFile, receiptOf } from "../../protocol/chain/probe-receipt.ts";
import { codes } from "../../protocol/codes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import { chainOptions, formatTokens, toJson, withChain } from "../chain/chain-connection.ts";
import { readKeyOption } from "../chain/chain-key.ts";
import { requireGas } from "../chain/require-funds.ts";
import type { CliIo, Command } from "../command.ts";
import { parseOptions, usageError } from "../parse-options.ts";
import { paintFor, verdictLine } from "../print/verdict-table.ts";
import { readEvidence } from "../read-evidence.ts";

const options = {
	...chainOptions.options,
	receipts: { type: "string" },
	"key-file": { type: "string" },
	"dry-run": { type: "boolean", default: false },
} as const;

/** The dearest proof of contracts/gas.json, with room for a long chain of roots. */
const PROOF_GAS = 4_000_000n;
const FETCH_MS = 20_000;
/** 1,024 receipts have half of it. */
const MAX_BYTES = 1 << 20;

export const accuseCommand: Command = {
	name: "accuse",
	summary: "proves a wrong element on chain; its provider loses stake",
	help: `usage: assay accuse EVIDENCE --receipts FILE|URL [OPTIONS]

Verifies an evidence file again, looks for an element that contradicts its seed and that its provider signed for, and sends the proof to the Slashing
contract. Part of the stake that is taken goes to the sending account, the rest is burned. It needs nobody's leave.

  --receipts WHERE  what the provider signed: a file, or a URL (a validator's /v1/probes/PROBE/receipts)
  --key-file FILE   send from this private key, 64 hex digits in a file (or ASSAY_CHAIN_KEY), and not from the data folder's account
  --dry-run         find and check the proof, send nothing
${chainOptions.help}

exit codes: proven 0, usage 64, unreadable file 66, no fraud, no receipt, already punished, no stake left or no chain 69`,

	async run(args, io) {
		const { values, positionals } = parseOptions("accuse", args, options, { min: 1, max: 1 });
		if (values.receipts === undefined) throw usageError("--receipts names what the provider signed", "accuse");
		const evidence = readEvidence(resolve(io.cwd, positionals[0]!));
		const file = parseReceiptFile(await readReceipts(values.receipts, io));
		const sha256 = bytesToHex(sha256Of(evidence));
		if (file.evidence !== sha256)
			throw failure("RECEIPTS_BAD", `these receipts belong to the evidence ${file.evidence}, not to ${sha256}`);
		const verdict = verifyEvidence(evidence);
		const paint = paintFor(io.out, io.env);
		if (!values.json) io.out.write(`${verdictLine(verdict, paint)}\n`);
		const proof = await proofOf(evidence, file);
		if (!values.json)
			io.out.write(
				`  challenge ${proof.receipt.challenge}, round ${proof.round}: an element is ${proof.committed} and should be ${proof.right}\n`,
			);
		const key = await readKeyOption("accuse", values, io);
		return withChain("accuse", values, io, async (home) => {
			const [{ refusedBecause }, { sendCall }, { signCall }, slashing, { readAccount }] = await Promise.all([
				import("../../chain/sending/refusal.ts"),
				import("../../chain/sending/send-call.ts"),
				import("../../chain/sending/sign.ts"),
				import("../../chain/contracts/slashing.ts"),
				import("../../chain/contracts/registry.ts"),
			]);
			const { client, at } = home;
			const account = key ?? home.account;
			requireSameContract(file, at);
			const { receipt, signature, fraud } = proof;
			if (await slashing.readIsPunished(client, at, slashing.receiptDigest(file, receipt))) throw punished();
			const { stake, unbonding } = await readAccount(client, at, file.provider);
			if (stake + unbonding === 0n) throw noStake(file.provider);
			const call = slashing.proveGemmCall(at, receipt, signature, fraud);
			await requireGas({ client, account }, PROOF_GAS);
			try {
				if (values["dry-run"]) {
					// Estimated, signed and thrown away: the contract would take it.
					await signCall(client, account, call);
					io.out.write(values.json ? toJson({ accused: file.provider, sent: false }) : "  the chain would take it\n");
					return 0;
				}
				const sent = await sendCall(client, account, call);
				const slashed = slashing.slashedIn(at, sent);
				const [amount, toAccuser] = [slashed?.amount ?? 0n, slashed?.toAccuser ?? 0n];
				const transaction = sent.transactionHash;
				if (values.json) io.out.write(toJson({ accused: file.provider, sent: true, amount, toAccuser, transaction }));
				else
					io.out.write(
						`  ${file.provider} loses ${formatTokens(amount)} tokens: ${formatTokens(toAccuser)} to ${account.address}, the rest to nobody\n  ${transaction}\n`,
					);
				return 0;
			} catch (error) {
				// Somebody else was quicker.
				const why = refusedBecause(error);
				if (why === "AlreadyPunished") throw punished();
				if (why === "NothingToSlash") throw noStake(file.provider);
				throw error;
			}
		});
	},
};

/** Throws FRAUD_NONE, FRAUD_UNSIGNED, or RECEIPTS_BAD for a signature that is not the provider's. */
async function proofOf(evidence: Uint8Array, file: ReceiptFile) {
	const [{ signedFraud }, { isReceiptSigned }] = await Promise.all([
		import("../../validator/receipts/signed-fraud.ts"),
		import("../../chain/contracts/slashing.ts"),
	]);
	let unsigned: number | null = null;
	const found = await signedFraud(evidence, file, ({ facts }) => {
		unsigned ??= facts.challenge;
	});
	if (found === null && unsigned !== null)
		throw failure("FRAUD_UNSIGNED", `an element of challenge ${unsigned} is wrong, but nobody signed for it`);
	if (found === null) throw failure("FRAUD_NONE", "no opened element of this evidence contradicts its seed");
	const { signed, wrong } = found;
	const receipt = receiptOf(file.provider, file.probeId, signed);
	if (!(await isReceiptSigned(file, receipt, signed.signature)))
		throw failure("RECEIPTS_BAD", `the receipt of challenge ${signed.challenge} is not signed by ${file.provider}`);
	const { fraud, round, committed, right } = wrong;
	return { receipt, signature: signed.signature, fraud, round, committed, right };
}

function requireSameContract(file: ReceiptFile, at: ContractAddresses): void {
	if (file.chainId === at.chainId && file.slashing === at.slashing.toLowerCase()) return;
	throw new AssayError(
		"RECEIPTS_BAD",
		`these receipts are for the contract ${file.slashing} on chain ${file.chainId}; here are ${at.slashing.toLowerCase()} and ${at.chainId}`,
		{ hint: "Name that chain's node with --rpc, and its contracts with --contracts." },
	);
}

/** The hint is the code's own. */
const failure = (code: keyof typeof codes, words: string) => new AssayError(code, words, { hint: codes[code].hint });
const punished = () => failure("FRAUD_PUNISHED", "this receipt was punished before");
const noStake = (account: string) => failure("FRAUD_NO_STAKE", `${account} has no stake that could be taken`);

async function readReceipts(where: string, io: CliIo): Promise<string> {
	try {
		if (!/^https?:\/\//.test(where)) {
			const bytes = await readFile(resolve(io.cwd, where));
			if (bytes.length > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
			return bytes.toString("utf8");
		}
		const reply = await fetch(where, { signal: AbortSignal.timeout(FETCH_MS), redirect: "error" });
		if (!reply.ok) throw new Error(`it answers ${reply.status}`);
		const parts: Uint8Array[] = [];
		let size = 0;
		for await (const part of reply.body ?? []) {
			size += part.length;
			if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
			parts.push(part);
		}
		return Buffer.concat(parts).toString("utf8");
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `cannot read ${where}: ${cause instanceof Error ? cause.message : cause}`, {
			hint: "Give a file, or the URL of a validator's /v1/probes/PROBE/receipts.",
			cause,
		});
	}
}
