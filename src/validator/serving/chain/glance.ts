// The chain at a glance: where it is, which epochs are under way, whose stake, what is paid next. One set of questions a block, whoever asks.

import type { Chain } from "../../../api/types.ts";
import { read } from "../../../chain/contracts/contracts.ts";
import { ROLES, readAccount } from "../../../chain/contracts/registry.ts";
import type { Environment } from "../../../platform/environment.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { ChainHome } from "../../settlement/home.ts";
import type { ChainPhases } from "./phases.ts";
import type { ChainReader } from "./reader.ts";

const MAX_IN_FLIGHT = 16;

export function createChainGlance(
	home: ChainHome,
	reader: ChainReader,
	phases: ChainPhases,
	env: Pick<Environment, "nowMs">,
): () => Promise<Chain> {
	const { contracts } = reader;
	const { client, addresses } = contracts;
	const self = home.account.address.toLowerCase() as Hex;
	return () =>
		reader
			.atHead("glance", async (head) => {
				const f = await phases.fixed();
				const [account, reserve, carry, totalStake] = await Promise.all([
					readAccount(contracts, self),
					read(contracts, "rewards", "reserve"),
					read(contracts, "rewards", "carry"),
					read(contracts, "registry", "totalVotingStakeAt", BigInt(head.atMs / 1000)),
				]);
				return { f, head, account, reserve, carry, totalStake };
			})
			.then(async ({ f, head, account, reserve, carry, totalStake }) => {
				const { emissionPerEpoch, claimSeconds } = f.emission;
				const current = phases.currentOf(f);
				const inFlight: Chain["inFlight"] = [];
				for (let number = current ?? -1; number >= 0 && number > (current ?? 0) - MAX_IN_FLIGHT; number--) {
					const one = await phases.windows(f, number, reader.history().epoch(number));
					if (one.phase !== "final" && one.phase !== "lapsed") inFlight.push(one);
				}
				const lower = (address: Hex) => address.toLowerCase() as Hex;
				return {
					nowMs: env.nowMs(),
					chainId: client.chainId,
					isEmbedded: home.isEmbedded,
					rpcUrl: home.isEmbedded ? home.url : null,
					confirmations: client.confirmations,
					activity: reader.history().version(),
					head,
					contracts: {
						token: lower(addresses.token),
						registry: lower(addresses.registry),
						scoreboard: lower(addresses.scoreboard),
						rewards: lower(addresses.rewards),
						slashing: lower(addresses.slashing),
						deployedAtBlock: addresses.deployedAtBlock,
					},
					token: { symbol: f.symbol, decimals: f.decimals },
					validator: {
						account: self,
						stake: String(account.stake),
						unbonding: String(account.unbonding),
						isValidator: account.role === ROLES.validator,
					},
					validators: reader.history().validators().length,
					totalStake: String(totalStake),
					params: {
						epochSeconds: f.epochs.epochSeconds,
						commitSeconds: f.epochs.commitSeconds,
						revealSeconds: f.epochs.revealSeconds,
						voidSeconds: f.epochs.voidSeconds,
						challengeSeconds: f.epochs.challengeSeconds,
						claimSeconds: Number(claimSeconds),
						unbondingSeconds: Number(f.registry.unbondingSeconds),
						deviceSeconds: Number(f.registry.deviceSeconds),
						quorumPpm: f.epochs.quorumPpm,
						proposerSlashPpm: f.epochs.proposerSlashPpm,
						accuserPpm: f.registry.accuserPpm,
						minProviderStake: String(f.registry.minProviderStake),
						minValidatorStake: String(f.registry.minValidatorStake),
						emissionPerEpoch: String(emissionPerEpoch),
					},
					reserve: String(reserve),
					nextPot: String((reserve < emissionPerEpoch ? reserve : emissionPerEpoch) + carry),
					epoch: current,
					inFlight,
				};
			});
}
