// A customer's deposit for a rental: made before the rental is asked for, extended with it, closed and taken
// back at its end. From the user's own key; the chain is the validator's, unless another node is named. Page:
// docs/rentals.md.
import type { ApiClient } from "../../api/create-client.ts";
import type { Offer, Rental } from "../../api/types.ts";
import { read, readEvents } from "../../chain/contracts/contracts.ts";
import * as escrow from "../../chain/contracts/rental-escrow.ts";
import { openProviderBook } from "../../chain/history/provider-book.ts";
import { sendApproved } from "../../chain/sending/send-approved.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import type { Call } from "../../chain/sending/sign.ts";
import { escrowPerSecond } from "../../market/rentals/paid-rental.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { rentalSalt } from "../../protocol/chain/rental-salt.ts";
import type { CliIo } from "../command.ts";
import { usageError } from "../options.ts";
import { formatTokens } from "../print/tokens.ts";
import { readKeyOption } from "./chain-key.ts";
import type { ChainValues } from "./chain-options.ts";
import { openCustomerChain } from "./customer-chain.ts";
import type { ChainActor } from "./provider-chain.ts";
import { GAS, requireFunds } from "./require-funds.ts";

type PayValues = ChainValues & { readonly "key-file"?: string | undefined };

/** Beyond the time that is asked for: until the machine stands. What is not used comes back. */
const AHEAD_S = 120;

type RentBody = Parameters<ApiClient["rent"]>[0]["body"];

export interface Payer {
	/** Deposits, then rents. `customer`: who signs the requests. */
	rent(
		offer: Pick<Offer, "providerId" | "pricePerHourMicros">,
		body: Omit<RentBody, "escrow" | "want" | "providerId">,
		customer: string | null,
	): Promise<Rental>;
	extend(escrow: string, durationMs: number): Promise<void>;
	/** Closes these if they are open, and takes out what the account is owed. Safe to repeat. */
	takeBack(escrows: readonly string[]): Promise<bigint>;
	/** The account's deposits, as customer or provider, whose time is over and that nobody has closed. */
	overdue(): Promise<readonly Hex[]>;
}

/** Throws CHAIN_MISSING where the validator has no chain. Null: no key was named. */
export async function openPayer(values: PayValues, io: CliIo, api: ApiClient): Promise<Payer | null> {
	const account = await readKeyOption(values, io);
	if (account === null) return null;
	const actor = await openCustomerChain(account, values, io, api);
	const { contracts } = actor;
	const { client } = contracts;
	const takeBack = async (ids: readonly string[]) => {
		for (const id of ids as readonly Hex[]) {
			const found = await escrow.readEscrow(contracts, id);
			if (found !== null && !found.isClosed) await sendCall(client, account, escrow.closeEscrowCall(contracts, id));
		}
		const owed = await read(contracts, "rentalEscrow", "owedTo", account.address);
		if (owed > 0n) await sendCall(client, account, escrow.withdrawEscrowCall(contracts, account.address));
		return owed;
	};
	return {
		takeBack,
		async rent({ providerId, pricePerHourMicros }, body, customer) {
			if (pricePerHourMicros === 0) return api.rent({ body: { ...body, providerId } });
			if (customer === null) throw usageError("what is paid on chain is asked for with your key, not with a token");
			const terms = {
				perSecond: escrowPerSecond(pricePerHourMicros),
				provider: await providerAccount(actor, providerId),
			};
			const { mostSeconds } = await read(contracts, "rentalEscrow", "params");
			const seconds = Math.min(Math.ceil(body.durationMs / 1000) + AHEAD_S, mostSeconds);
			const amount = terms.perSecond * BigInt(seconds);
			const nonce = bytesToHex(realEnvironment().randomBytes(32));
			const salt = rentalSalt(customer, nonce);
			io.err.write(`depositing ${formatTokens(amount)} tokens from ${account.address}\n`);
			await pay(actor, amount, escrow.openEscrowCall(contracts, salt, { ...terms, seconds }));
			let rental: Rental | null = null;
			try {
				const named = { account: account.address.toLowerCase() as Hex, nonce };
				rental = await api.rent({ body: { ...body, providerId, escrow: named } });
				return rental;
			} finally {
				// Not rented after all: nothing is paid for.
				if (rental?.state !== "active") await takeBack([escrow.escrowId(account.address, salt)]);
			}
		},
		async extend(id, durationMs) {
			const found = await escrow.readEscrow(contracts, id as Hex);
			if (found === null || found.isClosed) return;
			const seconds = Math.ceil(durationMs / 1000);
			await pay(actor, found.perSecond * BigInt(seconds), escrow.extendEscrowCall(contracts, id as Hex, seconds));
		},
		async overdue() {
			const logs = await Promise.all([
				readEvents(contracts, "rentalEscrow", "Opened", { customer: account.address }),
				readEvents(contracts, "rentalEscrow", "Opened", { provider: account.address }),
			]);
			const nowS = Number((await client.viem.getBlock({ blockTag: "pending" })).timestamp);
			const ids = [...new Set(logs.flat().map(({ args }) => args.id))];
			const found = await Promise.all(ids.map((id) => escrow.readEscrow(contracts, id)));
			return ids.filter((_, i) => found[i]?.isClosed === false && found[i].endsAt <= nowS);
		},
	};
}

/** From the chain, with the provider's own word for it: a validator that was asked could name itself. */
async function providerAccount({ contracts }: ChainActor, providerId: string): Promise<Hex> {
	const book = await openProviderBook(contracts, { load: async () => null, save: async () => {} });
	await book.refresh();
	const account = book.accountOf(providerId);
	if (account !== null) return account;
	throw new AssayError("ESCROW_REFUSED", "this provider has no account on the chain that could be paid", {
		hint: "Rent another, or leave the key out and pay nothing on chain.",
	});
}

async function pay(actor: ChainActor, amount: bigint, call: Call): Promise<void> {
	const { contracts, account } = actor;
	await requireFunds(actor, { tokens: amount, gas: GAS.register });
	await sendApproved(contracts, account, { spender: "rentalEscrow", amount, call });
}
