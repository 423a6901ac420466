// `assay accuse EVIDENCE --receipts FILE|URL`: brings the fraud that an evidence file shows before the chain.
// Anyone may: the chain believes the accused's own signature and its own arithmetic, and part of what is
// taken goes to the account that pays for the proof. Page: docs/slashing.md.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type ContractAddresses, callOf, read } from "../../chain/contracts/contracts.ts";
import { readAccountFor } from "../../chain/contracts/registry.ts";
import { announcementOf, deedOf, receiptSigner, slashedIn } from "../../chain/contracts/slashing.ts";
import { announceCall } from "../../chain/sending/announce.ts";
import { refusedBecause } from "../../chain/sending/refusal.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { type ChainAccount, signCall } from "../../chain/sending/sign.ts";
import { fetchBounded } from "../../platform/bounded-fetch.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { parseReceiptFile, type ReceiptFile, receiptOf } from "../../protocol/chain/probe-receipt.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { signedFraud } from "../../validator/receipts/signed-fraud.ts";
import type { ChainHome } from "../../validator/settlement/home.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import { withChain } from "../chain/chain-connection.ts";
import { readKeyOption } from "../chain/chain-key.ts";
import { chainOptions, keyOptions } from "../chain/chain-options.ts";
import { requireGas } from "../chain/require-funds.ts";
import { type CliIo, command } from "../command.ts";
import { readEvidence } from "../evidence-file.ts";
import { flag, text, usageError } from "../options.ts";
import { paintFor } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { formatTokens } from "../print/tokens.ts";
import { verdictLine } from "../print/verdict-table.ts";

const options = {
	receipts: text("FILE|URL", "what the provider signed: a file, or a validator's URL (/v1/probes/PROBE/receipts)"),
	...keyOptions,
	"dry-run": flag("find and check the proof, send nothing"),
	...chainOptions,
};

/** The most expensive proof of contracts/gas.json and its announcement, with room to spare. */
const PROOF_GAS = 4_000_000n;
const FETCH_MS = 20_000;
/** 1,024 receipts have half of it. */
const MAX_BYTES = 1 << 20;

export const accuseCommand = command({
	name: "accuse",
	about: `Verifies an evidence file again, looks for an element that contradicts its seed and that the provider signed for, and
sends the proof to the Slashing contract, after an announcement of it in a block before. Part of the stake that is taken goes to the
sending account, the rest is burned. No permission is needed.`,
	takes: "EVIDENCE",
	needs: "--receipts FILE|URL",
	options,
	exits: { 66: "unreadable file", 69: "no fraud, no receipt, already punished, no stake left or no chain" },

	async run(values, io, evidenceFile) {
		if (values.receipts === undefined) throw usageError("--receipts is missing: it names what the provider signed");
		const evidence = readEvidence(resolve(io.cwd, evidenceFile!));
		const file = parseReceiptFile(await readReceipts(values.receipts, io));
		const sha256 = bytesToHex(sha256Of(evidence));
		if (file.evidence !== sha256)
			throw codedError("RECEIPTS_BAD", `these receipts belong to the evidence ${file.evidence}, not to ${sha256}`);
		const verdict = verifyEvidence(evidence);
		if (!values.json) io.out.write(`${verdictLine(verdict, paintFor(io.out, io.env))}\n`);
		const proof = await proofOf(evidence, file);
		if (!values.json)
			io.out.write(
				`  challenge ${proof.receipt.challenge}, round ${proof.fraud.round}: an element is ${proof.committed} and should be ${proof.right}\n`,
			);
		const key = await readKeyOption(values, io);
		return withChain(values, io, async (home) => {
			const sent = await sendProof(home, key ?? home.account, file, proof, values["dry-run"]);
			const { accused, account, slashed, transaction } = sent;
			if (slashed === null)
				return printResult(values, io, { accused, sent: false }, () => "  the contract would accept this proof\n");
			const [lost, gained] = [formatTokens(slashed.amount), formatTokens(slashed.toAccuser)];
			return printResult(values, io, { accused, sent: true, ...slashed, transaction }, () => {
				return `  ${accused} loses ${lost} tokens: ${gained} to ${account}, the rest is burned\n  ${transaction}\n`;
			});
		});
	},
});

interface Sent {
	readonly accused: string;
	readonly account: string;
	/** Null: only estimated. */
	readonly slashed: { readonly amount: bigint; readonly toAccuser: bigint } | null;
	readonly transaction: string | null;
}

/** Throws FRAUD_PUNISHED, FRAUD_NO_STAKE, RECEIPTS_BAD or CHAIN_FUNDS. */
async function sendProof(
	{ contracts }: ChainHome,
	account: ChainAccount,
	file: ReceiptFile,
	{ receipt, signature, signer, fraud }: Proof,
	isDry: boolean,
): Promise<Sent> {
	const parties = { accused: file.provider, account: account.address };
	requireSameContract(file, contracts.addresses);
	const { client, addresses } = contracts;
	if ((await readAccountFor(contracts, signer)) !== file.provider) throw badlySigned(receipt.challenge, file.provider);
	if (await read(contracts, "slashing", "isPunished", receipt.provider, receipt.probeId)) throw punished();
	const [mostPpm] = await read(contracts, "registry", "allowanceOf", file.provider, addresses.slashing);
	if (mostPpm === 0 || (await read(contracts, "registry", "slashableOf", file.provider)) === 0n)
		throw noStake(file.provider);
	const salt = toHex(realEnvironment().randomBytes(32));
	const call = callOf(contracts, "slashing", "proveGemm", receipt, signature, fraud, salt);
	await requireGas(client, account, PROOF_GAS);
	try {
		// Estimated, signed and thrown away: the contract would accept it.
		await signCall(client, account, call);
		if (isDry) return { ...parties, slashed: null, transaction: null };
		const hash = announcementOf(account.address, deedOf(receipt), salt);
		await sendCall(client, account, announceCall(contracts, "slashing", hash));
		const sent = await sendCall(client, account, call);
		const { amount = 0n, toAccuser = 0n } = slashedIn(contracts, sent) ?? {};
		return { ...parties, slashed: { amount, toAccuser }, transaction: sent.transactionHash };
	} catch (error) {
		// Somebody else was quicker.
		const why = refusedBecause(error);
		if (why === "AlreadyPunished") throw punished();
		if (why === "NothingToSlash") throw noStake(file.provider);
		throw error;
	}
}

type Proof = Awaited<ReturnType<typeof proofOf>>;

/** Throws FRAUD_NONE, FRAUD_UNSIGNED, or RECEIPTS_BAD for a signature that is not the provider's. */
async function proofOf(evidence: Uint8Array, file: ReceiptFile) {
	let unsigned: number | null = null;
	const found = await signedFraud(evidence, file, ({ facts }) => {
		unsigned ??= facts.challenge;
	});
	if (found === null && unsigned !== null)
		throw codedError("FRAUD_UNSIGNED", `an element of challenge ${unsigned} is wrong, but nobody signed for it`);
	if (found === null) throw codedError("FRAUD_NONE", "no opened element of this evidence contradicts its seed");
	const { signed, wrong } = found;
	const receipt = receiptOf(file.provider, file.probeId, signed);
	const signer = receiptSigner(file, receipt, signed.signature);
	if (signer === null) throw badlySigned(signed.challenge, file.provider);
	const { fraud, committed, right } = wrong;
	return { receipt, signature: signed.signature, signer, fraud, committed, right };
}

function requireSameContract(file: ReceiptFile, { chainId, slashing }: ContractAddresses): void {
	if (file.chainId === chainId && file.slashing === slashing.toLowerCase()) return;
	throw new AssayError(
		"RECEIPTS_BAD",
		`these receipts are for the contract ${file.slashing} on chain ${file.chainId}, not for ${slashing.toLowerCase()} and ${chainId}`,
		{ hint: "Give that chain's node with --rpc, and its contracts with --contracts." },
	);
}

const badlySigned = (challenge: number, provider: string) =>
	codedError("RECEIPTS_BAD", `the receipt of challenge ${challenge} is not signed by ${provider}`);
const punished = () => codedError("FRAUD_PUNISHED", "the provider was already punished for this probe");
const noStake = (account: string) => codedError("FRAUD_NO_STAKE", `${account} has no stake left to take`);

async function readReceipts(named: string, io: CliIo): Promise<string> {
	try {
		const bytes = /^https?:\/\//.test(named)
			? await fetchBounded(new URL(named), { mostBytes: MAX_BYTES, withinMs: FETCH_MS })
			: await readFile(resolve(io.cwd, named));
		if (bytes === null || bytes.length > MAX_BYTES) throw new Error(`no file of at most ${MAX_BYTES} bytes is there`);
		return bytes.toString("utf8");
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `cannot read ${named}: ${cause instanceof Error ? cause.message : cause}`, {
			hint: "Give a file, or the URL of a validator's /v1/probes/PROBE/receipts.",
			cause,
		});
	}
}
