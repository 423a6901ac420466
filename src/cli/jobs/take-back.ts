// Takes from the escrow what it may give back of a job: parts that nobody ever had, parts that are open
// again, and those whose host let its time pass; and has what they would have cost paid out at once. Nobody's
// help is needed: terms and states are read from the chain.
import { read } from "../../chain/contracts/contracts.ts";
import {
	cancelJobCall,
	expirePartCall,
	type JobTerms,
	jobIdOf,
	readJobPart,
} from "../../chain/contracts/job-escrow.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import { GAS, requireGas } from "../chain/require-funds.ts";
import type { CliIo } from "../command.ts";
import { formatTokens } from "../print/tokens.ts";
import type { JobPayer } from "./job-account.ts";

/** Parts that stay with the escrow: somebody works at them, or claimed them. */
export type LeftParts = readonly { readonly part: number; readonly state: string; readonly untilS: number }[];

/** Throws CHAIN_FUNDS without gas, JOB_ACCOUNT where another account funded it. */
export async function takeBack(payer: JobPayer, terms: JobTerms, io: Pick<CliIo, "err">): Promise<LeftParts> {
	const { contracts, account } = payer.actor;
	const { client } = contracts;
	if (terms.customer.toLowerCase() !== account.address.toLowerCase())
		throw new AssayError("JOB_ACCOUNT", `the job is paid by ${terms.customer}, not by ${account.address}`, {
			hint: codes.JOB_ACCOUNT.hint,
		});
	const job = jobIdOf(terms);
	const left = await payer.alone(async () => {
		const { touched, end } = await read(contracts, "jobEscrow", "jobOf", job);
		await requireGas(client, account, 3n * GAS.small);
		if (touched < end) await sendCall(client, account, cancelJobCall(contracts, terms));
		const { timestamp } = await client.viem.getBlock();
		const stays: { part: number; state: string; untilS: number }[] = [];
		for (let part = 0; part < touched; part++) {
			const { state, untilS } = await readJobPart(contracts, job, part);
			const isLate = state === "assigned" && Number(timestamp) > untilS;
			if (isLate) await sendCall(client, account, expirePartCall(contracts, terms, part));
			if (isLate || state === "open") await sendCall(client, account, expirePartCall(contracts, terms, part));
			else if (state === "assigned" || state === "claimed") stays.push({ part, state, untilS });
		}
		return stays;
	});
	io.err.write(`  ${formatTokens(await payer.collect())} tokens came back to ${account.address}\n`);
	return left;
}
