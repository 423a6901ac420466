// `assay stake` and `assay unstake`: this validator's stake on chain. Registers it with the first stake. Tokens must be on its account.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { AssayError } from "../protocol/assay-error.ts";
import { chainOptions, formatTokens, parseTokens, toJson, withChain } from "./chain-connection.ts";
import type { Command } from "./command.ts";
import { parseOptions, usageError } from "./parse-options.ts";

export const stakeCommand: Command = {
	name: "stake",
	summary: "stakes tokens for this validator on chain",
	help: `usage: assay stake TOKENS [OPTIONS]

Adds to this validator's stake; the first one registers it, with the key that signs its evidence. The tokens are taken from the account
that assay chain status shows. Stake can be slashed for lies that the chain can prove: docs/chain.md §5.

  --endpoint URL    where others reach this validator's API (for the first stake)
${chainOptions.help}

exit codes: done 0, usage 64, no chain, no answer or refused by the contract 69`,

	async run(args, here) {
		const options = { ...chainOptions.options, endpoint: { type: "string", default: "" } } as const;
		const { values, positionals } = parseOptions("stake", args, options, { min: 1, max: 1 });
		const amount = parseTokens("stake", positionals[0]!);
		return withChain("stake", values, here, async ({ client, at, account }, dataDir) => {
			const [chain, registry, { loadSigner }, { signChainKey }] = await Promise.all([
				import("../chain/chain-client.ts"),
				import("../chain/registry.ts"),
				import("../validator/signer.ts"),
				import("../protocol/chain-key-proof.ts"),
			]);
			const { role } = await registry.readAccount(client, at, account.address);
			if (role === registry.ROLES.none && !/^https?:\/\//.test(values.endpoint))
				throw usageError("the first stake needs --endpoint, where others fetch this validator's reports", "stake");
			const balance = await registry.readBalance(client, at, account.address);
			if (balance < amount)
				throw new AssayError("CHAIN_REFUSED", `the account has ${formatTokens(balance)} tokens`, {
					hint: `Send tokens to ${account.address} first.`,
				});
			await chain.sendCall(client, account, registry.approveCall(at, amount));
			if (role === registry.ROLES.none) {
				const bytes = (size: number) => new Uint8Array(randomBytes(size));
				const signer = await loadSigner(join(dataDir, "validator.key"), bytes);
				const claim = { chainId: at.chainId, registry: at.registry, account: account.address };
				const keyProof = signChainKey(signer, claim);
				const { endpoint } = values;
				const signingKey = `0x${signer.key}` as const;
				await chain.sendCall(
					client,
					account,
					registry.registerCall(at, { role: "validator", signingKey, keyProof, endpoint, amount }),
				);
			} else await chain.sendCall(client, account, registry.stakeCall(at, amount));
			const { stake } = await registry.readAccount(client, at, account.address);
			here.out.write(values.json ? toJson({ account: account.address, stake }) : `stake  ${formatTokens(stake)}\n`);
			return 0;
		});
	},
};

export const unstakeCommand: Command = {
	name: "unstake",
	summary: "takes stake back, after the unbonding delay",
	help: `usage: assay unstake TOKENS [OPTIONS]
       assay unstake --withdraw [OPTIONS]

Begins to take stake back; what stays must be nothing or the least stake. After the delay --withdraw pays it out to the account.

${chainOptions.help}

exit codes: done 0, usage 64, no chain, no answer or refused by the contract 69`,

	async run(args, here) {
		const options = { ...chainOptions.options, withdraw: { type: "boolean", default: false } } as const;
		const { values, positionals } = parseOptions("unstake", args, options, { min: 0, max: 1 });
		if (values.withdraw === (positionals.length === 1))
			throw usageError("unstake takes an amount of tokens, or --withdraw", "unstake");
		return withChain("unstake", values, here, async ({ client, at, account }) => {
			const [chain, registry] = await Promise.all([import("../chain/chain-client.ts"), import("../chain/registry.ts")]);
			const call = values.withdraw
				? registry.withdrawCall(at, account.address)
				: registry.unstakeCall(at, parseTokens("unstake", positionals[0]!));
			await chain.sendCall(client, account, call);
			const { stake, unbonding, unlockAt } = await registry.readAccount(client, at, account.address);
			if (values.json) here.out.write(toJson({ account: account.address, stake, unbonding, unlockAt }));
			else {
				const when = unbonding > 0n ? `, to be withdrawn from ${new Date(unlockAt * 1000).toISOString()}` : "";
				here.out.write(`stake  ${formatTokens(stake)}\nleaves ${formatTokens(unbonding)}${when}\n`);
			}
			return 0;
		});
	},
};
