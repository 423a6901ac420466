// Accounts of browsers on a trial network: the page makes a key, the treasury of the embedded chain gives its
// account coins and tokens, and transactions that the page signed are handed to the chain. Only for callers
// on this machine: whoever uses it may as well read the treasury's key in the data folder. Strangers get
// nothing here, since tokens are also votes. Not here: signing (web/jobs/work/trial-account.ts).
import type { Handlers } from "../../../api/routes.ts";
import { callOf, read } from "../../../chain/contracts/contracts.ts";
import { feesNow } from "../../../chain/sending/fees.ts";
import { forwardSigned } from "../../../chain/sending/forward-signed.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import { createKeyedMutex } from "../../../platform/keyed-mutex.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { type ChainHome, treasurerOf } from "../../settlement/home.ts";

/** Gas for thousands of transactions. */
const COINS_WEI = 10n ** 18n;
/** Trial providers ask for one token an hour of work. */
const TOKENS = 1000n * 10n ** 18n;
/** Funding a job takes a third of it. */
const MAX_GAS = 2_000_000n;

const isLoopback = (address: string): boolean => /^(127(\.\d{1,3}){3}|::1)$/.test(address);

/** Whether the page of this caller may use an account of its own. */
export const mayHaveTrialAccount = (home: ChainHome, address: string): boolean =>
	home.isEmbedded && isLoopback(address);

export function trialAccountHandlers(home: ChainHome | null) {
	const mutex = createKeyedMutex();
	function must(address: string): ChainHome {
		if (home === null) throw new AssayError("CHAIN_NONE", "this validator has no chain");
		if (mayHaveTrialAccount(home, address)) return home;
		throw codedError("TRIAL_ONLY", "accounts are given only on a trial network, to browsers on its own machine");
	}
	return {
		/** Fills the account up, and says what a transaction of it needs. */
		async fundTrialAccount({ params, address }) {
			const { contracts, ...place } = must(address);
			const { client } = contracts;
			const account = params.account as Hex;
			await mutex.run(account, async () => {
				const treasurer = await treasurerOf(place);
				if (treasurer === null) return;
				if ((await client.viem.getBalance({ address: account })) < COINS_WEI / 2n)
					await sendCall(client, treasurer, { to: account, data: "0x", value: COINS_WEI });
				const has = await read(contracts, "token", "balanceOf", account);
				if (has < TOKENS / 2n)
					await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account, TOKENS - has));
			});
			const nonce = await client.viem.getTransactionCount({ address: account, blockTag: "pending" });
			const { maxFeePerGas, maxPriorityFeePerGas } = await feesNow(client);
			return {
				...{ nonce, gas: Number(MAX_GAS) },
				...{ maxFeePerGas: String(maxFeePerGas), maxPriorityFeePerGas: String(maxPriorityFeePerGas) },
			};
		},
		/** Hands in a signed transaction to the token or the escrow of jobs, and waits until it is in a block. */
		async sendTrialTransaction({ body: { raw }, address }) {
			const { contracts } = must(address);
			const { client, addresses } = contracts;
			return forwardSigned(client, raw as Hex, { targets: [addresses.token, addresses.jobEscrow], maxGas: MAX_GAS });
		},
	} satisfies Partial<Handlers>;
}
