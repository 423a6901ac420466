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
import { readChainTime } from "../../chain/node/chain-clock.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import type { Call, ChainAccount } from "../../chain/sending/sign.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { methodNumbered } from "../../verify/methods/methods.ts";
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
		if (touched < end) await sendCall(client, account, cancelJobCall(contracts, terms));
		// A quiet chain's newest block may be old: what counts is the time that ours would see.
		const nowS = await readChainTime(client, 0);
		const stays: { part: number; state: string; untilS: number }[] = [];
		for (let part = 0; part < touched; part++) {
			const { state, untilS } = await readJobPart(contracts, job, part);
			const isProven = state === "claimed" && methodNumbered(terms.method)?.driver === "proofs";
			const lastS = isProven ? untilS + terms.windowSeconds : untilS;
			const expire = () => sendOrNot(client, account, expirePartCall(contracts, terms, part));
			const mayExpire = (state === "assigned" || isProven) && nowS > lastS;
			if (state === "open" || (mayExpire && (await expire()))) await expire();
			else if (state === "assigned" || state === "claimed") stays.push({ part, state, untilS });
		}
		const { unshared, unspent } = await read(contracts, "jobEscrow", "jobOf", job);
		if (unshared > 0 || unspent > 0n) await sendOrNot(client, account, callOf(contracts, "jobEscrow", "share", terms));
		return stays;
	});
	io.err.write(`  ${formatTokens(await payer.collect())} tokens came back to ${account.address}\n`);
	return left;
}
