// What the escrow holds of a job comes back without its validator: by the book of this machine, or on another
// one by the job's number, its customer's key and a node of the chain, which has the terms.
import type { ApiClient } from "../../api/create-client.ts";
import { fundedTerms } from "../../chain/contracts/job-escrow.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { isPassing } from "../../protocol/passing.ts";
import { type apiOptions, openApi } from "../api-connection.ts";
import type { CliIo } from "../command.ts";
import type { Values } from "../options.ts";
import { termsOf } from "./hand-in.ts";
import { type JobPayer, openJobPayer, type PayerValues } from "./job-account.ts";
import { type BookedJob, findBooked, takeBegun } from "./job-book.ts";
import { type LeftParts, takeBack } from "./take-back.ts";

type RefundValues = Partial<Values<typeof apiOptions>> & PayerValues;

interface RefundedJob {
	readonly id: string;
	readonly left: LeftParts;
}

/** Throws JOB_UNKNOWN where neither book nor chain know it, JOB_ACCOUNT, CHAIN_FUNDS, CHAIN_MISSING. */
export async function refundAlone(values: RefundValues, io: CliIo, text: string): Promise<RefundedJob> {
	const booked = (await findBooked(io, text))?.job ?? null;
	if (booked === null && !/^[0-9a-f]{64}$/.test(text))
		throw new AssayError("JOB_UNKNOWN", `no job that was handed in here begins with '${text}'`, {
			hint: "On another machine give its whole number, with --key-file, --rpc and --contracts.",
		});
	const id = booked?.offer.id ?? text;
	const begun = await takeBegun(io, id);
	try {
		const refunded = await refund(id, values, io, booked);
		await begun?.finish();
		return refunded;
	} catch (error) {
		await begun?.leave();
		throw error;
	}
}

async function refund(id: string, values: RefundValues, io: CliIo, booked: BookedJob | null): Promise<RefundedJob> {
	const payer = await payerOf(values, io, booked);
	const terms = (booked && termsOf(booked.offer)) ?? (await fundedTerms(payer.actor.contracts, BigInt(`0x${id}`)));
	if (terms === null) throw codedError("JOB_UNKNOWN", `nobody funded job ${id} on this chain`);
	return { id, left: await takeBack(payer, terms, io) };
}

/** The chain is what the book says, or what is named; only else a validator is asked for it. */
async function payerOf(values: RefundValues, io: CliIo, booked: BookedJob | null): Promise<JobPayer> {
	const ask = async () => (await openApi(values, io, "customer")).ask((client: ApiClient) => client.getChain());
	const isNamed = values.contracts !== undefined;
	const chain = booked?.chain ?? (isNamed ? null : (await ask().catch(noneThere)).chain);
	const payer = await openJobPayer(values, io, { getChain: async () => ({ chain }) });
	if (payer !== null) return payer;
	throw new AssayError("CHAIN_MISSING", "nothing says which chain the job was paid on", {
		hint: "Name it with --key-file, --rpc and --contracts.",
	});
}

function noneThere(error: unknown): { readonly chain: null } {
	if (isPassing(error)) return { chain: null };
	throw error;
}

export const refundText = ({ id, left }: RefundedJob): string =>
	[
		`job ${id}`,
		...left.map(
			({ part, state, untilS }) =>
				`  part ${part + 1} is ${state} until ${new Date(1000 * untilS).toISOString()}: what it costs stays until then`,
		),
		...(left.length === 0 ? ["  nothing of it is left with the escrow"] : []),
		"",
	].join("\n");
