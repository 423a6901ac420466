// `assay db check`: holds what a validator's database says of its jobs against the escrow on chain, and lists
// every difference. Reads only; for the time after a restore, and for whoever does not want to take the
// validator's word. What a validator does about a difference: docs/jobs.md §8.
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../../../api/create-client.ts";
import { type Contracts, read, readEvents } from "../../../chain/contracts/contracts.ts";
import { readJobPart } from "../../../chain/contracts/job-escrow.ts";
import type { EscrowPart } from "../../../market/jobs/follow-escrow.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { PartState } from "../../../protocol/network/job.ts";
import { apiOptions, openApi } from "../../api-connection.ts";
import { withReadingChain } from "../../chain/chain-connection.ts";
import { nodeOptions } from "../../chain/chain-options.ts";
import { type CliIo, command } from "../../command.ts";
import type { Values } from "../../options.ts";
import { printResult } from "../../print/print-result.ts";
import { type Column, left, plural, right, table } from "../../print/table.ts";

const options = { ...apiOptions, ...nodeOptions };

/** What the escrow may say of a part while its record says the other. A part that was given up stays assigned
 * there until its time is over. */
const AGREES: Readonly<Record<PartState, readonly EscrowPart["state"][]>> = {
	open: ["untouched", "open", "assigned"],
	assigned: ["untouched", "open", "assigned"],
	running: ["assigned"],
	claimed: ["claimed"],
	paid: ["settled"],
	refunded: ["refunded"],
};
/** Where a job that goes on is looked at a second time: its record follows the chain within seconds. */
const AGAIN_MS = 5000;

interface Difference {
	readonly job: string;
	readonly part: number | null;
	/** Null: the database does not know the job. */
	readonly record: PartState | null;
	/** Null: the escrow does not know the job. */
	readonly chain: EscrowPart["state"] | "funded" | null;
}

export const dbCommand = command({
	name: "db",
	about: `Asks the validator for its jobs, and a node of the chain for what the escrow says of them, and lists what differs:
parts whose states contradict each other, jobs that are paid for on chain and unknown here, and jobs that the escrow
does not know. Needs an admin token. Nothing is changed: a running validator follows the chain by itself.`,
	options,
	exits: { 1: "something differs", 69: "no chain or no answer", 77: "refused" },
	verbs: {
		check: { does: "compare the jobs in the database with the escrow on chain", run: check },
	},
});

async function check(values: Values<typeof options>, io: CliIo): Promise<number> {
	const { ask } = await openApi(values, io);
	return withReadingChain(values, io, async ({ contracts }) => {
		const found = await ask((client) => compare(client, contracts));
		printResult(values, io, found, (paint) => {
			const compared = `${plural(found.jobs, "job")} and ${plural(found.parts, "part")} compared with the escrow`;
			if (found.differences.length === 0) return `${compared}: no difference\n`;
			return `${compared}:\n${table(COLUMNS, found.differences, paint)}\n`;
		});
		return found.differences.length === 0 ? 0 : 1;
	});
}

const COLUMNS: readonly Column<Difference>[] = [
	left("job", ({ job }) => job),
	right("part", ({ part }) => (part === null ? null : String(part))),
	left("database", ({ record }) => record ?? "unknown"),
	left("chain", ({ chain }) => chain ?? "unknown"),
	left("what it means", meaning),
];

function meaning({ record, chain }: Difference): string {
	if (record === null) return "its customer hands it in again with `assay job submit`, or takes it back";
	if (chain === null) return "the node is behind, or its chain lost the blocks that paid for the job";
	if (chain === "settled" || chain === "claimed" || chain === "refunded")
		return "the chain is further: the validator follows it at its next look or start";
	return "the record is further: the node is behind, or its chain lost blocks";
}

async function compare(client: ApiClient, contracts: Contracts) {
	const { chain } = await client.getChain();
	const escrow = contracts.addresses.jobEscrow.toLowerCase();
	if (chain !== null && chain.contracts.jobEscrow.toLowerCase() !== escrow)
		throw new AssayError("CHAIN_MISSING", "the validator's contracts are not those that were named", {
			hint: "Name its own: --contracts URL/chain/contracts.json, with the URL of its API.",
		});
	const known = new Set<string>();
	const differing: string[] = [];
	let parts = 0;
	for await (const row of client.rows("listJobs", { query: { limit: 500 } })) {
		known.add(row.id);
		parts += row.parts.length;
		const states = row.parts.map(({ state }) => state);
		if ((await differencesOf(contracts, row.id, states)).length > 0) differing.push(row.id);
	}
	const jobs = known.size;
	if (differing.length > 0) await sleep(AGAIN_MS);
	const differences: Difference[] = [];
	for (const id of differing) {
		const { offer, record } = await client.getJob({ params: { id } });
		// Of a network without a chain, or of contracts that were given up.
		if (offer.escrow?.contract.toLowerCase() !== escrow) continue;
		const states = record.parts.map(({ state }) => state);
		differences.push(...(await differencesOf(contracts, id, states)));
	}
	const own = chain?.validator?.account.toLowerCase();
	for (const { args } of await readEvents(contracts, "jobEscrow", "Funded")) {
		const id = args.job.toString(16).padStart(64, "0");
		const isOurs = args.terms.validators.some((account) => account.toLowerCase() === own);
		if (!isOurs || known.has(id)) continue;
		// Nothing is left of what was taken back as a whole.
		const { end } = await read(contracts, "jobEscrow", "jobOf", args.job);
		if (end > 0) differences.push({ job: id, part: null, record: null, chain: "funded" });
	}
	return { jobs, parts, differences };
}

async function differencesOf(
	contracts: Contracts,
	job: string,
	states: readonly PartState[],
): Promise<readonly Difference[]> {
	const id = BigInt(`0x${job}`);
	const { isFunded, touched, end } = await read(contracts, "jobEscrow", "jobOf", id);
	if (!isFunded) return states.slice(0, 1).map((record) => ({ job, part: null, record, chain: null }));
	const found: Difference[] = [];
	for (const [part, record] of states.entries()) {
		const isTouched = part < touched;
		const chain = isTouched ? (await readJobPart(contracts, id, part)).state : part < end ? "untouched" : "refunded";
		if (!AGREES[record].includes(chain)) found.push({ job, part, record, chain });
	}
	return found;
}
