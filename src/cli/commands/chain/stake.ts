// `assay stake` and `assay unstake`: stake on chain of this validator, or of this machine's provider. The
// first stake registers the account with its keys and lets the network's contracts take what they take. What
// a stake is at risk for: docs/slashing.md.
import { join } from "node:path";
import { callOf, read } from "../../../chain/contracts/contracts.ts";
import { ROLES, readAccount, registerCall } from "../../../chain/contracts/registry.ts";
import { sendApproved } from "../../../chain/sending/send-approved.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import type { Call, ChainAccount } from "../../../chain/sending/sign.ts";
import { realEnvironment } from "../../../platform/environment.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { signChainKey } from "../../../protocol/chain/key-binding.ts";
import type { Signer } from "../../../protocol/probe/signer.ts";
import { writeOwner } from "../../../provider/chain-account.ts";
import { loadSigner } from "../../../validator/probe/signer.ts";
import { asOwner, type OwnedAccount, ownerOptions, signerEntry } from "../../chain/account-owner.ts";
import { withChain } from "../../chain/chain-connection.ts";
import { chainOptions, providerOptions } from "../../chain/chain-options.ts";
import { type ChainActor, withProviderChain } from "../../chain/provider-chain.ts";
import { GAS, requireFunds, requireGas } from "../../chain/require-funds.ts";
import { keptSender } from "../../chain/sent-book.ts";
import { type CliIo, command } from "../../command.ts";
import { flag, text, usageError } from "../../options.ts";
import { printResult } from "../../print/print-result.ts";
import { formatTokens, parseTokens } from "../../print/tokens.ts";

export const stakeCommand = command({
	name: "stake",
	about: `Adds to the stake of this validator or, with --provider, of this machine's provider. The first stake registers it on chain
with its keys; from then on rewards go to that account, or to --payout. Tokens and gas are taken from the account that assay chain
status shows, or from that of --owner-key: then the data folder holds no key that could move the stake. Stake can be slashed for lies
that the chain can prove: docs/slashing.md.`,
	takes: "TOKENS",
	options: {
		endpoint: text(
			"URL",
			"first stake of a validator: where others reach its API; assay chain endpoint changes it later",
		),
		...ownerOptions,
		payout: text("ACCOUNT", "first stake: where rewards go (default: the owner); assay chain payout changes it later", {
			shape: { pattern: /^0x[0-9a-fA-F]{40}$/, is: "an account, 0x and 40 hex digits" },
		}),
		...providerOptions,
		...chainOptions,
	},
	exits: { 69: "no chain, no answer, too few tokens or refused by the contract" },

	async run(values, io, tokens) {
		const amount = parseTokens(tokens!);
		const payout = values.payout as Hex | undefined;
		const tell = (account: string, stake: bigint, more: object) =>
			printResult(values, io, { account, ...more, stake }, () => `stake  ${formatTokens(stake)}\n`);
		if (values.provider)
			return withProviderChain(values, io, async (actor, key, folder) => {
				const owned = await asOwner(actor, values, io);
				const { address } = owned.account;
				// Before anything is signed in its name.
				if (owned.signer !== owned.account) await writeOwner(folder, owned.contracts.addresses, address);
				const stake = await addStake(
					owned,
					{ role: "provider", key: async () => key, endpoint: "", amount, payout },
					io,
				);
				if (!values.json) io.out.write(`provider ${key.key}\naccount  ${address}\n`);
				io.err.write("  rewards go to this account from the provider's next probe on\n");
				return tell(address, stake, { provider: key.key });
			});
		return withChain(values, io, async (home, dataDir) => {
			const { endpoint = "" } = values;
			const owned = await asOwner(home, values, io);
			const { role } = await readAccount(home.contracts, owned.account.address);
			if (role === ROLES.none && !/^https?:\/\//.test(endpoint))
				throw usageError("the first stake needs --endpoint, where others fetch this validator's reports");
			const key = () => loadSigner(join(dataDir, "validator.key"), realEnvironment().randomBytes);
			const stake = await addStake(owned, { role: "validator", key, endpoint, amount, payout }, io);
			return tell(owned.account.address, stake, {});
		});
	},
});

interface Stake {
	readonly role: "provider" | "validator";
	/** The Ed25519 key that vouches for the account. */
	readonly key: () => Promise<Signer>;
	readonly endpoint: string;
	readonly amount: bigint;
	readonly payout?: Hex | undefined;
}

/**
 * Registers with the first stake, adds to it later. The stake afterwards. With `io` it is a command, which
 * may be typed again. Throws CHAIN_FUNDS or CHAIN_REFUSED.
 */
export async function addStake(
	actor: ChainActor & { readonly signer?: ChainAccount },
	{ role, key, endpoint, amount, payout }: Stake,
	io?: CliIo,
): Promise<bigint> {
	const { contracts, account } = actor;
	const { addresses } = contracts;
	const before = await readAccount(contracts, account.address);
	const isNew = before.role === ROLES.none;
	if (!isNew && before.role !== ROLES[role])
		throw new AssayError("CHAIN_REFUSED", `the account ${account.address} is not registered as a ${role}`, {
			hint: "An account has one role. Unstake and withdraw all of it first, or use another account.",
		});
	if (isNew) await requireMinimum(actor, role, amount);
	await requireFunds(actor, { tokens: amount, gas: isNew ? GAS.register : GAS.stake });
	const send = io && keptSender(contracts.client, account, io);
	const take = (call: Call) => sendApproved(contracts, account, { spender: "registry", amount, call }, send);
	if (isNew) {
		const vouching = await key();
		const keyNumber = Date.now();
		const entry = {
			role,
			signingKey: `0x${vouching.key}` as const,
			keyNumber,
			keyProof: signChainKey(vouching, { ...addresses, account: account.address, number: keyNumber }),
			endpoint,
			amount,
			...(payout === undefined ? {} : { payout }),
		};
		const signer = await signerEntry({ ...actor, signer: actor.signer ?? account });
		await take(registerCall(contracts, signer === undefined ? entry : { ...entry, signer }));
	} else await take(callOf(contracts, "registry", "stake", amount));
	return (await readAccount(contracts, account.address)).stake;
}

/** Checked before anything is paid for. */
async function requireMinimum({ contracts }: ChainActor, role: Stake["role"], amount: bigint): Promise<void> {
	const { minProviderStake, minValidatorStake } = await read(contracts, "registry", "params");
	const minimum = role === "provider" ? minProviderStake : minValidatorStake;
	if (amount < minimum)
		throw new AssayError("CHAIN_REFUSED", `a ${role} stakes at least ${formatTokens(minimum)} tokens: StakeTooSmall`, {
			hint: `Give ${formatTokens(minimum)} or more.`,
		});
}

export const unstakeCommand = command({
	name: "unstake",
	about: `Begins to take stake back; the rest must be zero or at least the minimum stake. After the delay, --withdraw pays it out to
the account.`,
	takes: "[TOKENS]",
	options: {
		withdraw: flag("pay out what was unstaked, after the delay"),
		...ownerOptions,
		...providerOptions,
		...chainOptions,
	},
	exits: { 69: "no chain, no answer or refused by the contract" },

	async run(values, io, tokens) {
		if (values.withdraw === (tokens !== undefined))
			throw usageError("unstake takes an amount of tokens, or --withdraw");
		const amount = tokens === undefined ? null : parseTokens(tokens);
		const act = async (actor: ChainActor) => {
			const { contracts, account }: OwnedAccount = await asOwner(actor, values, io);
			await requireGas(contracts.client, account, GAS.small);
			const call =
				amount === null
					? callOf(contracts, "registry", "withdraw", account.address)
					: callOf(contracts, "registry", "unstake", amount);
			await sendCall(contracts.client, account, call);
			const { stake, unbonding, unlockAt, locked } = await readAccount(contracts, account.address);
			const when = unbonding > 0n ? `, can be withdrawn from ${new Date(unlockAt * 1000).toISOString()}` : "";
			return printResult(
				values,
				io,
				{ account: account.address, stake, unbonding, unlockAt, locked },
				() => `stake     ${formatTokens(stake)}\nunstaking ${formatTokens(unbonding)}${when}\n`,
			);
		};
		return values.provider ? withProviderChain(values, io, act) : withChain(values, io, (home) => act(home));
	},
});
