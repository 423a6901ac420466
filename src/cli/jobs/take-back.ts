// Takes from the escrow what it may give back of a job: parts that nobody ever had, parts that are open
// again, those whose host let its time pass, by proof too, and what checks did not cost; and has it paid out
// at once. Nobody's help is needed: terms and states are read from the chain.
import { callOf, read } from "../../chain/contracts/contracts.ts";
import {
	cancelJobCall,
	expirePartCall,
	type JobTerms,
	jobIdOf,
	readJobPart,
} from "../../chain/contracts/job-escrow.ts";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import type { Call, ChainAccount } from "../../chain/sending/sign.ts";
import { takeBackParts } from "../../market/jobs/take-back.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { GAS, requireGas } from "../chain/require-funds.ts";
import type { CliIo } from "../command.ts";
import { formatTokens } from "../print/tokens.ts";
import type { JobPayer } from "./job-account.ts";

/** False: the contract says no, since somebody was quicker, or a proof is there. */
const sendOrNot = (client: ChainClient, account: ChainAccount, call: Call): Promise<boolean> =>
	sendCall(client, account, call).then(
		() => true,
		(error: unknown) => {
			if (error instanceof AssayError && error.code === "CHAIN_REFUSED") return false;
			throw error;
		},
	);

/** Whether its time is over the contract knows: a claimed part comes back where it has to be proven. */
const MAY_EXPIRE: ReadonlySet<string> = new Set(["open", "assigned", "claimed"]);

/** Parts that stay with the escrow: somebody works at them, or claimed them. */
export type LeftParts = readonly { readonly part: number; readonly state: string; readonly untilS: number }[];

/** Throws CHAIN_FUNDS without gas, JOB_ACCOUNT where another account funded it. */
export async function takeBack(payer: JobPayer, terms: JobTerms, io: Pick<CliIo, "err">): Promise<LeftParts> {
	const { contracts, account } = payer.actor;
	const { client } = contracts;
	if (terms.customer.toLowerCase() !== account.address.toLowerCase())
		throw codedError("JOB_ACCOUNT", `the job is paid by ${terms.customer}, not by ${account.address}`);
	const job = jobIdOf(terms);
	const left = await payer.alone(async () => {
		const { touched, end } = await read(contracts, "jobEscrow", "jobOf", job);
		await requireGas(client, account, 3n * GAS.small);
		const had = Array.from({ length: touched }, (_, part) => part);
		await takeBackParts(had, async (call) => {
			if (call.kind === "cancel") return touched < end && sendOrNot(client, account, cancelJobCall(contracts, terms));
			const { state } = await readJobPart(contracts, job, call.part);
			return MAY_EXPIRE.has(state) && sendOrNot(client, account, expirePartCall(contracts, terms, call.part));
		});
		const stays: { part: number; state: string; untilS: number }[] = [];
		for (const part of had) {
			const { state, untilS } = await readJobPart(contracts, job, part);
			if (state === "assigned" || state === "claimed") stays.push({ part, state, untilS });
		}
		const { unshared, unspent } = await read(contracts, "jobEscrow", "jobOf", job);
		if (unshared > 0 || unspent > 0n) await sendOrNot(client, account, callOf(contracts, "jobEscrow", "share", terms));
		return stays;
	});
	io.err.write(`  ${formatTokens(await payer.collect())} tokens came back to ${account.address}\n`);
	return left;
}
