// `assay stake` and `assay unstake`: stake on chain of this validator, or of this machine's provider. The
// first stake registers the account with its key. What a stake is at risk for: docs/slashing.md.
import { join } from "node:path";
import { callOf, read } from "../../chain/contracts/contracts.ts";
import { approveCall, ROLES, readAccount, registerCall } from "../../chain/contracts/registry.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { signChainKey } from "../../protocol/chain/key-binding.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import { loadSigner } from "../../validator/probe/signer.ts";
import { withChain } from "../chain/chain-connection.ts";
import { chainOptions, providerOptions } from "../chain/chain-options.ts";
import { type ChainActor, withProviderChain } from "../chain/provider-chain.ts";
import { GAS, requireFunds, requireGas } from "../chain/require-funds.ts";
import { command } from "../command.ts";
import { flag, text, usageError } from "../options.ts";
import { printResult } from "../print/print-result.ts";
import { formatTokens, parseTokens } from "../print/tokens.ts";

export const stakeCommand = command({
	name: "stake",
	about: `Adds to the stake of this validator or, with --provider, of this machine's provider. The first stake registers it on chain
with its key; from then on rewards go to that account. Tokens and gas are taken from the account that assay chain status shows.
Stake can be slashed for lies that the chain can prove: docs/slashing.md.`,
	takes: "TOKENS",
	options: {
		endpoint: text(
			"URL",
			"first stake of a validator: where others reach its API; assay chain endpoint changes it later",
		),
		...providerOptions,
		...chainOptions,
	},
	exits: { 69: "no chain, no answer, too few tokens or refused by the contract" },

	async run(values, io, tokens) {
		const amount = parseTokens(tokens!);
		const tell = (account: string, stake: bigint, more: object) =>
			printResult(values, io, { account, ...more, stake }, () => `stake  ${formatTokens(stake)}\n`);
		if (values.provider)
			return withProviderChain(values, io, async (actor, signer) => {
				const stake = await addStake(actor, { role: "provider", signer: async () => signer, endpoint: "", amount });
				if (!values.json) io.out.write(`provider ${signer.key}\naccount  ${actor.account.address}\n`);
				io.err.write("  rewards go to this account from the provider's next probe on\n");
				return tell(actor.account.address, stake, { provider: signer.key });
			});
		return withChain(values, io, async (home, dataDir) => {
			const { endpoint = "" } = values;
			const { role } = await readAccount(home.contracts, home.account.address);
			if (role === ROLES.none && !/^https?:\/\//.test(endpoint))
				throw usageError("the first stake needs --endpoint, where others fetch this validator's reports");
			const signer = () => loadSigner(join(dataDir, "validator.key"), realEnvironment().randomBytes);
			const stake = await addStake(home, { role: "validator", signer, endpoint, amount });
			return tell(home.account.address, stake, {});
		});
	},
});

interface Stake {
	readonly role: "provider" | "validator";
	readonly signer: () => Promise<Signer>;
	readonly endpoint: string;
	readonly amount: bigint;
}

/** Registers with the first stake, adds to it later. The stake afterwards. Throws CHAIN_FUNDS or CHAIN_REFUSED. */
export async function addStake(actor: ChainActor, { role, signer, endpoint, amount }: Stake): Promise<bigint> {
	const { contracts, account } = actor;
	const { client, addresses } = contracts;
	const before = await readAccount(contracts, account.address);
	const isNew = before.role === ROLES.none;
	if (!isNew && before.role !== ROLES[role])
		throw new AssayError("CHAIN_REFUSED", `the account ${account.address} is not registered as a ${role}`, {
			hint: "An account has one role. Unstake and withdraw all of it first, or use another account.",
		});
	if (isNew) await requireMinimum(actor, role, amount);
	await requireFunds(actor, { tokens: amount, gas: isNew ? GAS.register : GAS.stake });
	if ((await read(contracts, "token", "allowance", account.address, addresses.registry)) < amount)
		await sendCall(client, account, approveCall(contracts, amount));
	if (isNew) {
		const key = await signer();
		const signingKey = `0x${key.key}` as const;
		const keyProof = signChainKey(key, { ...addresses, account: account.address });
		await sendCall(client, account, registerCall(contracts, { role, signingKey, keyProof, endpoint, amount }));
	} else await sendCall(client, account, callOf(contracts, "registry", "stake", amount));
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
	options: { withdraw: flag("pay out what was unstaked, after the delay"), ...providerOptions, ...chainOptions },
	exits: { 69: "no chain, no answer or refused by the contract" },

	async run(values, io, tokens) {
		if (values.withdraw === (tokens !== undefined))
			throw usageError("unstake takes an amount of tokens, or --withdraw");
		const amount = tokens === undefined ? null : parseTokens(tokens);
		const act = async (actor: ChainActor) => {
			const { contracts, account } = actor;
			await requireGas(contracts.client, account, GAS.small);
			const call =
				amount === null
					? callOf(contracts, "registry", "withdraw", account.address)
					: callOf(contracts, "registry", "unstake", amount);
			await sendCall(contracts.client, account, call);
			const { stake, unbonding, unlockAt } = await readAccount(contracts, account.address);
			const when = unbonding > 0n ? `, can be withdrawn from ${new Date(unlockAt * 1000).toISOString()}` : "";
			return printResult(
				values,
				io,
				{ account: account.address, stake, unbonding, unlockAt },
				() => `stake     ${formatTokens(stake)}\nunstaking ${formatTokens(unbonding)}${when}\n`,
			);
		};
		return values.provider ? withProviderChain(values, io, act) : withChain(values, io, (home) => act(home));
	},
});
