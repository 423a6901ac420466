// Takes the open parts of a job back from the escrow, and has what they would have cost paid out at once.
import { cancelJobCall } from "../../chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../chain/contracts/job-terms-text.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import type { EscrowTermsText } from "../../protocol/network/job-offer.ts";
import { GAS, requireGas } from "../chain/require-funds.ts";
import type { CliIo } from "../command.ts";
import { formatTokens } from "../print/tokens.ts";
import type { JobPayer } from "./job-account.ts";

/** Throws CHAIN_FUNDS without gas. */
export async function takeBack(payer: JobPayer, terms: EscrowTermsText, io: CliIo): Promise<void> {
	const { contracts, account } = payer.actor;
	await requireGas(contracts.client, account, 2n * GAS.small);
	await sendCall(contracts.client, account, cancelJobCall(contracts, jobTermsFromText(terms)));
	io.err.write(`  ${formatTokens(await payer.collect())} tokens came back to ${account.address}\n`);
}
