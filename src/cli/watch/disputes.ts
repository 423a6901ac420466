// `assay dispute show|ask|prove`: what a watcher does, by hand. docs/disputes.md.
import { resolve } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import type { ClaimOfJob as Claim, ClaimCase } from "../../api/types.ts";
import { readJobPart } from "../../chain/contracts/job-escrow.ts";
import { sendGuarded } from "../../chain/sending/send-call.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { type JobQuestion, questionBad, questionText, readQuestion } from "../../protocol/network/job-question.ts";
import type { EvidenceChain } from "../../validator/jobs/evidence/claim-at-hand.ts";
import { proveFraud } from "../../validator/jobs/evidence/prove-fraud.ts";
import { openClaim } from "../../validator/jobs/watch/open-claim.ts";
import { verifyFraud } from "../../verify/optimistic/fraud/judge-fraud.ts";
import { type apiOptions, askApi } from "../api-connection.ts";
import type { keyOptions, nodeOptions } from "../chain/chain-options.ts";
import { customerContracts } from "../chain/customer-chain.ts";
import type { ChainActor } from "../chain/provider-chain.ts";
import type { CliIo } from "../command.ts";
import { readInput } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { findClaim } from "../find-by-name.ts";
import type { Values } from "../options.ts";
import { fraudLines } from "../print/fraud-lines.ts";
import { paintFor } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { when } from "./list-disputes.ts";
import { openWatchActor } from "./run-watch.ts";

type ReadValues = Values<typeof apiOptions>;
type ProveValues = ReadValues &
	Values<typeof nodeOptions> &
	Values<typeof keyOptions> & { readonly "dry-run": boolean; readonly folder: string | undefined };

const LIMIT = 100;
/** Larger ones carry a whole program: docs/jobs.md §7. */
const MOST_BYTES = 64 << 20;

type Fraud = Awaited<ReturnType<ApiClient["listFrauds"]>>["rows"][number];

export async function showDispute(values: ProveValues, io: CliIo, given: string): Promise<number> {
	const found = await askApi(
		values,
		io,
		async (client) => {
			const claim = await findClaim(client, given);
			const { rows } = await client.listFrauds({ query: { job: claim.job, limit: LIMIT } });
			const shown = await client.getClaimCase({ params: { hash: claim.hash } }).catch(refusedOrThrow);
			const part = shown?.escrow == null ? null : await partOnChain(values, io, client, claim);
			return { claim, case: shown, part, frauds: rows.filter((one) => one.claim === claim.hash) };
		},
		"customer",
	);
	return printResult(values, io, found, () => showText(found.claim, found.case, found.part, found.frauds));
}

/** A claim that stands no more, or is for its parties, is shown without its case. */
function refusedOrThrow(error: unknown): null {
	if (error instanceof AssayError && ["JOB_STATE", "CALLER_OTHER"].includes(error.code)) return null;
	throw error;
}

/** Only read: where no node can be asked, the rest is shown. */
async function partOnChain(values: ProveValues, io: CliIo, client: ApiClient, { job, part }: Claim) {
	const contracts = await customerContracts(values, io, client);
	return contracts && readJobPart(contracts, BigInt(`0x${job}`), part);
}

function showText(
	claim: Claim,
	shown: ClaimCase | null,
	part: Awaited<ReturnType<typeof partOnChain>>,
	frauds: readonly Fraud[],
): string {
	const { hash, state, job, provider, ends } = claim;
	const last = shown === null ? null : shown.firstSegment + shown.segments - 1;
	return `${[
		`claim     ${hash}`,
		`state     ${state}${ends === null ? ", somebody runs it again" : ""}`,
		`job       ${job}, part ${claim.part}, attempt ${claim.attempt}`,
		`provider  ${provider}`,
		...(shown === null ? [] : [`segments  ${shown.firstSegment} to ${last}, ${shown.terms.method.name}`]),
		`root      ${claim.segmentRoot}`,
		...(part === null ? [] : [`on chain  ${part.state} by ${part.provider}, until ${when(1000 * part.untilS)}`]),
		...frauds.map((one) => `fraud     ${one.hash}, ${when(one.atMs)}`),
	].join("\n")}\n`;
}

/** As people write it: audit and page are the relay's to know. */
function questionOf(text: string): JobQuestion {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		throw questionBad("it is not JSON");
	}
	return readQuestion(questionText({ audit: null, page: 0, ...(value as object) } as JobQuestion));
}

export async function askDispute(values: ReadValues, io: CliIo, given: string, question: string): Promise<number> {
	const asked = questionText(questionOf(question));
	const said = await askApi(
		values,
		io,
		async (client) => {
			const { hash } = await findClaim(client, given);
			return client.askClaim({ params: { hash }, body: { question: asked } });
		},
		"customer",
	);
	return printResult(values, io, said, () => {
		const signed = said.signature === null ? "" : `signature ${said.signature}\n`;
		return `answer    ${said.answer}\n${signed}`;
	});
}

/**
 * Sends from an account that somebody named or funded. The salt follows from its key and the file: told
 * twice, it is announced once.
 */
async function evidenceChain({ contracts, account }: ChainActor): Promise<EvidenceChain> {
	const secret = sha256Of(utf8ToBytes(await account.signMessage({ message: "assay/watcher-salt/1" })));
	const send: EvidenceChain["send"] = async (call) =>
		(await sendGuarded(contracts.client, account, call)).transactionHash;
	return { contracts, account: account.address as Hex, secret, send };
}

export async function proveDispute(values: ProveValues, io: CliIo, path: string): Promise<number> {
	const hint = "Give the path of a fraud file, as `assay watch` and `assay job diff` write it.";
	const file = readInput(resolve(io.cwd, path), MOST_BYTES, hint);
	const verdict = verifyFraud(file);
	if (!values.json) io.out.write(`${fraudLines(verdict, paintFor(io.out, io.env)).join("\n")}\n`);
	if (verdict.status !== "valid") {
		if (values.json) printResult(values, io, verdict, () => "");
		return exitCodes.invalid.code;
	}
	const proof = await askApi(
		values,
		io,
		async (client) => {
			const actor = await openWatchActor(values, io, client);
			if (actor === null) throw codedError("CHAIN_MISSING", "this validator has no chain");
			const at = await openClaim(client, verdict.accused, actor.contracts);
			if (values["dry-run"]) return null;
			const sent = await proveFraud(await evidenceChain(actor), at, file);
			if (sent === null)
				throw new AssayError("FRAUD_UNSIGNED", "the chain judges no such file, or the claim stands no more", {
					hint: "It takes files whose answers the accused has signed, against claims that are not paid yet.",
				});
			return sent;
		},
		"customer",
	);
	return printResult(values, io, { accused: verdict.accused, transaction: proof?.transaction ?? null }, () =>
		proof === null ? "  the claim stands on chain; nothing was sent\n" : `  proven    ${proof.transaction}\n`,
	);
}
