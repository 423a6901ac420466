// `assay chain allow`, `disallow`, `signer`, `consent` and `payout`: who may take of an account's stake,
// which key speaks for it, where its rewards go. Of this validator, or with --provider of this machine's
// provider. Page: docs/chain.md §2.
import { type Contracts, callOf, read } from "../../../chain/contracts/contracts.ts";
import { readAccount, signConsent } from "../../../chain/contracts/registry.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import type { Call } from "../../../chain/sending/sign.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { writeOwner } from "../../../provider/chain-account.ts";
import { asOwner, type OwnedAccount, signerEntry } from "../../chain/account-owner.ts";
import { withChain } from "../../chain/chain-connection.ts";
import { type ChainActor, withProviderChain } from "../../chain/provider-chain.ts";
import { GAS, requireGas } from "../../chain/require-funds.ts";
import type { CliIo } from "../../command.ts";
import { usageError } from "../../options.ts";
import { printResult } from "../../print/print-result.ts";
import { formatTokens, parseTokens } from "../../print/tokens.ts";
import type { ChainCommandValues } from "./options.ts";

/** `folder`: the provider's, null for a validator. */
type Act = (actor: ChainActor, folder: string | null) => Promise<number>;

const withActor = (values: ChainCommandValues, io: CliIo, act: Act): Promise<number> =>
	values.provider
		? withProviderChain(values, io, (actor, _, folder) => act(actor, folder))
		: withChain(values, io, (home) => act(home, null));

async function sendAs({ contracts, account }: OwnedAccount, call: Call): Promise<void> {
	await requireGas(contracts.client, account, GAS.small);
	await sendCall(contracts.client, account, call);
}

export async function allow(values: ChainCommandValues, io: CliIo, contract: string): Promise<number> {
	const mostPpm = values["most-ppm"];
	const mostLocked = values["most-locked"] === undefined ? 0n : parseTokens(values["most-locked"]);
	if (mostPpm === 0 && mostLocked === 0n) throw usageError("allow needs --most-ppm, --most-locked or both");
	return withActor(values, io, async (actor) => {
		const owned = await asOwner(actor, values, io);
		const { contracts } = owned;
		const slasher = contractNamed(contracts, contract);
		await sendAs(owned, callOf(contracts, "registry", "allow", { slasher, mostPpm, mostLocked }));
		if (values.provider && !networkOf(contracts).includes(slasher.toLowerCase()))
			io.err.write("  validators score no provider whose stake others than the network's own contracts may take\n");
		return tellAllowed(values, io, owned, slasher);
	});
}

export async function disallow(values: ChainCommandValues, io: CliIo, contract: string): Promise<number> {
	return withActor(values, io, async (actor) => {
		const owned = await asOwner(actor, values, io);
		const { contracts } = owned;
		const slasher = contractNamed(contracts, contract);
		await sendAs(owned, callOf(contracts, "registry", "disallow", slasher));
		const { unbondingSeconds } = await read(contracts, "registry", "params");
		io.err.write(`  it may still take what it was allowed for ${unbondingSeconds} s, and locks nothing new\n`);
		return tellAllowed(values, io, owned, slasher);
	});
}

async function tellAllowed(
	values: ChainCommandValues,
	io: CliIo,
	{ contracts, account }: OwnedAccount,
	slasher: Hex,
): Promise<number> {
	const [mostPpm, mostLocked] = await read(contracts, "registry", "allowanceOf", account.address, slasher);
	const found = { account: account.address, slasher, mostPpm, mostLocked };
	const line = `${slasher}  may take ${mostPpm} ppm at a time and lock ${formatTokens(mostLocked)} tokens\n`;
	return printResult(values, io, found, () => line);
}

/** This data folder's key speaks for the owner's account from now on. */
export async function setSigner(values: ChainCommandValues, io: CliIo): Promise<number> {
	return withActor(values, io, async (actor, folder) => {
		const owned = await asOwner(actor, values, io);
		const { contracts, account, signer } = owned;
		const entry = await signerEntry(owned);
		if (folder !== null && entry !== undefined) await writeOwner(folder, contracts.addresses, account.address);
		const call = callOf(contracts, "registry", "setSigner", signer.address, entry?.consent ?? "0x");
		await sendAs(owned, call);
		const found = { account: account.address, signer: (await readAccount(contracts, account.address)).signer };
		return printResult(values, io, found, () => `${found.signer}  signs for ${found.account}\n`);
	});
}

/** For an owner whose key no file has, a wallet or a contract: what it gives to register or setSigner. */
export async function consent(values: ChainCommandValues, io: CliIo, owner: string): Promise<number> {
	const account = addressOf(owner);
	return withActor(values, io, async ({ contracts, account: signer }, folder) => {
		if (folder !== null) await writeOwner(folder, contracts.addresses, account);
		const signature = await signConsent(signer, contracts.addresses, account);
		const found = { account, signer: signer.address, consent: signature };
		return printResult(values, io, found, () => `signer   ${signer.address}\nconsent  ${signature}\n`);
	});
}

export async function setPayout(values: ChainCommandValues, io: CliIo, to: string): Promise<number> {
	const payout = addressOf(to);
	return withActor(values, io, async (actor) => {
		const owned = await asOwner(actor, values, io);
		await sendAs(owned, callOf(owned.contracts, "registry", "setPayout", payout));
		const found = { account: owned.account.address, payout };
		return printResult(values, io, found, () => `rewards of ${found.account} go to ${payout}\n`);
	});
}

function addressOf(named: string): Hex {
	if (!/^0x[0-9a-fA-F]{40}$/.test(named)) throw usageError(`an account is 0x and 40 hex digits, not '${named}'`);
	return named.toLowerCase() as Hex;
}

const networkOf = ({ addresses: { slashing, rollCall } }: Contracts): readonly string[] =>
	[slashing, rollCall].map((one) => one.toLowerCase());

/** An address, or one of the network's own by its name. */
function contractNamed({ addresses }: Contracts, named: string): Hex {
	if (named === "slashing") return addresses.slashing;
	return named === "roll-call" ? addresses.rollCall : addressOf(named);
}
