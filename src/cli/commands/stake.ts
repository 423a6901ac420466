// `assay stake` and `assay unstake`: stake on chain of this validator, or of this machine's provider. The first stake registers the account, with the key that
// vouches for it. What a stake is at risk for: docs/chain.md §5.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import { chainOptions, formatTokens, parseTokens, toJson, withChain } from "../chain/chain-connection.ts";
import { type ChainActor, providerOptions, withProviderChain } from "../chain/provider-chain.ts";
import { GAS, requireFunds, requireGas } from "../chain/require-funds.ts";
import type { Command } from "../command.ts";
import { parseOptions, usageError } from "../parse-options.ts";

export const stakeCommand: Command = {
	name: "stake",
	summary: "stakes tokens on chain, for this validator or this provider",
	help: `usage: assay stake TOKENS [OPTIONS]

Adds to the stake of this validator or, with --provider, of this machine's provider; the first one registers it on chain with its key, and from then on
rewards go to that account. Tokens and gas are taken from the account that assay chain status shows. Stake can be slashed for lies that the chain can
prove: docs/chain.md §5.

${providerOptions.help}
  --endpoint URL    of a validator: where others reach its API (for the first stake; assay chain endpoint changes it)
${chainOptions.help}

exit codes: done 0, usage 64, no chain, no answer, too few tokens or refused by the contract 69`,

	async run(args, io) {
		const options = {
			...chainOptions.options,
			...providerOptions.options,
			endpoint: { type: "string", default: "" },
		} as const;
		const { values, positionals } = parseOptions("stake", args, options, { min: 1, max: 1 });
		const amount = parseTokens("stake", positionals[0]!);
		const tell = (account: string, stake: bigint, more: object) => {
			io.out.write(values.json ? toJson({ account, ...more, stake }) : `stake  ${formatTokens(stake)}\n`);
			return 0;
		};
		if (values.provider)
			return withProviderChain("stake", values, io, async (actor, signer) => {
				const stake = await addStake(actor, { role: "provider", signer: async () => signer, endpoint: "", amount });
				if (!values.json) io.out.write(`provider ${signer.key}\naccount  ${actor.account.address}\n`);
				io.err.write("  reports name this account from the provider's next probe on\n");
				return tell(actor.account.address, stake, { provider: signer.key });
			});
		return withChain("stake", values, io, async (home, dataDir) => {
			const registry = await import("../../chain/contracts/registry.ts");
			const { endpoint } = values;
			const { role } = await registry.readAccount(home.client, home.at, home.account.address);
			if (role === registry.ROLES.none && !/^https?:\/\//.test(endpoint))
				throw usageError("the first stake needs --endpoint, where others fetch this validator's reports", "stake");
			const signer = async () => {
				const { loadSigner } = await import("../../validator/probe/signer.ts");
				return loadSigner(join(dataDir, "validator.key"), (size) => new Uint8Array(randomBytes(size)));
			};
			const stake = await addStake(home, { role: "validator", signer, endpoint, amount });
			return tell(home.account.address, stake, {});
		});
	},
};

/** Registers with the first stake, adds to it later. The stake afterwards. Throws CHAIN_FUNDS or CHAIN_REFUSED. */
export async function addStake(
	actor: ChainActor,
	o: {
		readonly role: "provider" | "validator";
		readonly signer: () => Promise<Signer>;
		readonly endpoint: string;
		readonly amount: bigint;
	},
): Promise<bigint> {
	const { client, at, account } = actor;
	const [{ sendCall }, registry, { signChainKey }] = await Promise.all([
		import("../../chain/sending/send-call.ts"),
		import("../../chain/contracts/registry.ts"),
		import("../../protocol/chain/key-binding.ts"),
	]);
	const before = await registry.readAccount(client, at, account.address);
	const isNew = before.role === registry.ROLES.none;
	if (!isNew && before.role !== registry.ROLES[o.role])
		throw new AssayError("CHAIN_REFUSED", `the account ${account.address} is not registered as a ${o.role}`, {
			hint: "An account has one role. Unstake and withdraw all of it first, or use another account.",
		});
	if (isNew) await requireLeast(actor, o);
	await requireFunds(actor, { tokens: o.amount, gas: isNew ? GAS.register : GAS.stake });
	if ((await registry.readAllowance(client, at, account.address)) < o.amount)
		await sendCall(client, account, registry.approveCall(at, o.amount));
	if (isNew) {
		const signer = await o.signer();
		const { role, endpoint, amount } = o;
		const signingKey = `0x${signer.key}` as const;
		const { chainId } = at;
		const keyProof = signChainKey(signer, { chainId, registry: at.registry, account: account.address });
		await sendCall(client, account, registry.registerCall(at, { role, signingKey, keyProof, endpoint, amount }));
	} else await sendCall(client, account, registry.stakeCall(at, o.amount));
	return (await registry.readAccount(client, at, account.address)).stake;
}

/** Told before anything is paid for. */
async function requireLeast(
	{ client, at }: ChainActor,
	o: { readonly role: "provider" | "validator"; readonly amount: bigint },
): Promise<void> {
	const { readRegistryParams } = await import("../../chain/contracts/registry.ts");
	const { minProviderStake, minValidatorStake } = await readRegistryParams(client, at);
	const least = o.role === "provider" ? minProviderStake : minValidatorStake;
	if (o.amount < least)
		throw new AssayError("CHAIN_REFUSED", `a ${o.role} stakes at least ${formatTokens(least)} tokens: StakeTooSmall`, {
			hint: `Give ${formatTokens(least)} or more.`,
		});
}

export const unstakeCommand: Command = {
	name: "unstake",
	summary: "takes stake back, after the unbonding delay",
	help: `usage: assay unstake TOKENS [OPTIONS]
       assay unstake --withdraw [OPTIONS]

Begins to take stake back; what stays must be nothing or the least stake. After the delay --withdraw pays it out to the account.

${providerOptions.help}
${chainOptions.help}

exit codes: done 0, usage 64, no chain, no answer or refused by the contract 69`,

	async run(args, io) {
		const options = {
			...chainOptions.options,
			...providerOptions.options,
			withdraw: { type: "boolean", default: false },
		} as const;
		const { values, positionals } = parseOptions("unstake", args, options, { min: 0, max: 1 });
		if (values.withdraw === (positionals.length === 1))
			throw usageError("unstake takes an amount of tokens, or --withdraw", "unstake");
		const amount = values.withdraw ? null : parseTokens("unstake", positionals[0]!);
		const act = async (actor: ChainActor) => {
			const { client, at, account } = actor;
			const [chain, registry] = await Promise.all([
				import("../../chain/sending/send-call.ts"),
				import("../../chain/contracts/registry.ts"),
			]);
			await requireGas(actor, GAS.small);
			const call = amount === null ? registry.withdrawCall(at, account.address) : registry.unstakeCall(at, amount);
			await chain.sendCall(client, account, call);
			const { stake, unbonding, unlockAt } = await registry.readAccount(client, at, account.address);
			if (values.json) io.out.write(toJson({ account: account.address, stake, unbonding, unlockAt }));
			else {
				const when = unbonding > 0n ? `, to be withdrawn from ${new Date(unlockAt * 1000).toISOString()}` : "";
				io.out.write(`stake  ${formatTokens(stake)}\nleaves ${formatTokens(unbonding)}${when}\n`);
			}
			return 0;
		};
		return values.provider
			? withProviderChain("unstake", values, io, act)
			: withChain("unstake", values, io, (home) => act(home));
	},
};
