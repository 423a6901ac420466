// `assay job audit ID`: all draws of a job done again from what is public. Offer and draws come from the API;
// the job's terms, blocks and what its assignments name come from the chain, where a node is at hand. What is
// compared with what: docs/jobs.md §10, §14. Anyone may run it; the customer can compare more.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { type Contracts, readEvents } from "../../chain/contracts/contracts.ts";
import { jobIdOf } from "../../chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../chain/contracts/job-terms-text.ts";
import { auditDraws, type DrawAudit, type DrawBounds, type DrawFinding } from "../../market/jobs/audit-draws.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { type JobOffer, jobOfferHash, jobSpecHash } from "../../protocol/network/job-offer.ts";
import { isSignature } from "../../protocol/probe/signer.ts";
import { type apiOptions, askApi } from "../api-connection.ts";
import { dataDirOf, rpcUrlOf, withReadingChain } from "../chain/chain-connection.ts";
import type { nodeOptions } from "../chain/chain-options.ts";
import type { CliIo } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { findJob } from "../find-by-name.ts";
import type { Values } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { plural, shown } from "../print/table.ts";

type AuditValues = Values<typeof apiOptions> & Values<typeof nodeOptions>;
type Draws = Awaited<ReturnType<ApiClient["getJobDraws"]>>;

const found = (what: DrawFinding["what"], why: string): DrawFinding => ({ part: null, attempt: null, what, why });

/** The offer is the validator's own word, and about this job. */
function offerFindings({ id, offer }: Draws, validator: string): DrawFinding[] {
	const { signature, ...said } = offer as JobOffer;
	const findings: DrawFinding[] = [];
	if (!isSignature(validator, signature, jobOfferHash(said)))
		findings.push(found("secret", "the offer that commits to it is not signed by this validator"));
	const isOfJob = offer.escrow === null || jobIdOf(jobTermsFromText(offer.escrow.terms)) === BigInt(`0x${id}`);
	if (offer.id !== id || !isOfJob) findings.push(found("secret", "the offer is of another job"));
	return findings;
}

/** What was funded holds the commitment; only its customer has the spec that shows it. */
async function specFindings(client: ApiClient, { id, offer }: Draws): Promise<DrawFinding[] | null> {
	if (offer.escrow === null) return [];
	try {
		const { spec } = await client.getJob({ params: { id } });
		const hash = `0x${bytesToHex(jobSpecHash(spec, offer.secretCommitment))}`;
		return hash === offer.escrow.terms.spec ? [] : [found("secret", "what was funded commits to another one")];
	} catch (error) {
		if (error instanceof AssayError && ["JOB_UNKNOWN", "CREDENTIALS_MISSING", "ROLE_WRONG"].includes(error.code))
			return null;
		throw error;
	}
}

async function onChain(contracts: Contracts, { id, draws }: Draws): Promise<Pick<DrawBounds, "blocks" | "assigned">> {
	const blocks = new Map<number, string>();
	const numbers = new Set(draws.flatMap(({ afterBlock }) => (afterBlock === null ? [] : [afterBlock + 1])));
	for (const number of numbers) {
		const block = await contracts.client.viem.getBlock({ blockNumber: BigInt(number) }).catch(() => null);
		if (block !== null) blocks.set(number, block.hash.slice(2));
	}
	const assigned = new Map<number, string[]>();
	for (const { args } of await readEvents(contracts, "jobEscrow", "Assigned", { job: BigInt(`0x${id}`) }))
		assigned.set(args.part, [...(assigned.get(args.part) ?? []), args.draw.slice(2)]);
	return { blocks, assigned };
}

function auditText(id: string, { redrawn, changed, notes }: DrawAudit, paint: Paint): string {
	const verdict =
		changed.length === 0 ? paint.good(paint.strong("AS DRAWN")) : paint.bad(paint.strong("CHANGED AFTERWARDS"));
	const where = ({ part, attempt }: DrawFinding) => (part === null ? "" : `part ${part}, attempt ${attempt}: `);
	return [
		`${verdict}  job ${id}`,
		`  ${plural(redrawn, "draw")} done again`,
		...changed.map((one) => `  ${paint.bad(one.what)}  ${where(one)}${shown(one.why, 300)}`),
		...notes.map((note) => paint.dim(`  note  ${shown(note, 300)}`)),
		"",
	].join("\n");
}

export async function auditJob(values: AuditValues, io: CliIo, given: string): Promise<number> {
	const read = async (client: ApiClient) => {
		const id = /^[0-9a-f]{64}$/.test(given) ? given : (await findJob(client, given)).id;
		const draws = await client.getJobDraws({ params: { id } });
		const { validator } = await client.network();
		return { draws, validator: validator.key, spec: await specFindings(client, draws) };
	};
	const { draws, validator, spec } = await askApi(values, io, read, "customer");
	const { offer } = draws;
	const isOnChain = offer.escrow !== null;
	const isAtHand = rpcUrlOf(values, io) !== null || existsSync(join(dataDirOf(values, io), "chain", "contracts.json"));
	const chain =
		isOnChain && isAtHand ? await withReadingChain(values, io, ({ contracts }) => onChain(contracts, draws)) : null;
	const { segments, parts, method } = offer.terms;
	const audit = auditDraws(draws, {
		...{ secretCommitment: offer.secretCommitment, segments, parts, method, isOnChain },
		...{ blocks: chain?.blocks ?? null, assigned: chain?.assigned ?? null },
	});
	const unseen = "what was funded commits to the secret by the hash of the spec, which only its customer has";
	const all: DrawAudit = {
		...audit,
		changed: [...offerFindings(draws, validator), ...(spec ?? []), ...audit.changed],
		notes: spec === null ? [...audit.notes, unseen] : audit.notes,
	};
	printResult(values, io, { id: draws.id, ...all }, (paint) => auditText(draws.id, all, paint));
	return all.changed.length === 0 ? 0 : exitCodes.invalid.code;
}
