// The chain at a glance: where it is, which epochs are under way, whose stake, what is paid next. One set of
// questions a block, whoever asks.
import type { Chain } from "../../../api/types.ts";
import { type Contracts, read } from "../../../chain/contracts/contracts.ts";
import { ROLES, readAccount } from "../../../chain/contracts/registry.ts";
import type { Environment } from "../../../platform/environment.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import type { ChainHome } from "../../settlement/home.ts";
import type { ChainConstants, ChainPhases } from "./phases.ts";
import type { ChainReader } from "./reader.ts";

const MAX_IN_FLIGHT = 16;
const lower = (address: Hex) => address.toLowerCase() as Hex;

/** What is the same for every caller. */
export type Glance = Omit<Chain, "trialAccounts">;

export async function readGlance(
	home: ChainHome,
	reader: ChainReader,
	phases: ChainPhases,
	env: Pick<Environment, "nowMs">,
): Promise<Glance> {
	const { contracts } = reader;
	const { client, addresses } = contracts;
	await reader.head();
	const signer = lower(home.account.address);
	const self = reader.history().accountOfSigner(signer);
	const chainConstants = await phases.constants();
	const current = phases.currentOf(chainConstants);
	const { head, account, funded, earned, claimed, nextPot, totalStake } = await reader.atHead(
		`glance ${current}`,
		async (head) => {
			const nowS = BigInt(Math.floor(head.atMs / 1000));
			const earned = await readEarned(contracts);
			const [account, funded, claimed, nextPot, totalStake] = await Promise.all([
				readAccount(contracts, self),
				read(contracts, "rewards", "fundedAt", nowS),
				read(contracts, "rewards", "claimedTotal"),
				read(contracts, "scoreboard", "potOf", BigInt(current ?? 0), earned),
				read(contracts, "registry", "totalVotingStakeAt", addresses.scoreboard, nowS),
			]);
			return { head, account, funded, earned, claimed, nextPot, totalStake };
		},
	);
	const inFlight: Chain["inFlight"] = [];
	for (let number = current ?? -1; number >= 0 && number > (current ?? 0) - MAX_IN_FLIGHT; number--) {
		const one = await phases.windows(chainConstants, number, reader.history().epoch(number));
		if (one.phase !== "final" && one.phase !== "lapsed") inFlight.push(one);
	}
	return {
		nowMs: env.nowMs(),
		chainId: client.chainId,
		isEmbedded: home.isEmbedded,
		rpcUrl: home.publicUrl,
		confirmations: client.confirmations,
		behindSinceMs: home.lateness.sinceMs(),
		activity: reader.history().version(),
		head,
		contracts: {
			token: lower(addresses.token),
			registry: lower(addresses.registry),
			scoreboard: lower(addresses.scoreboard),
			rewards: lower(addresses.rewards),
			slashing: lower(addresses.slashing),
			rollCall: lower(addresses.rollCall),
			rentalEscrow: lower(addresses.rentalEscrow),
			jobEscrow: lower(addresses.jobEscrow),
			disputes: lower(addresses.disputes),
			judge: lower(addresses.judge),
			wireJudge: lower(addresses.wireJudge),
			attestations: lower(addresses.attestations),
			zkPlans: lower(addresses.zkPlans),
			zkVerifier: lower(addresses.zkVerifier),
			twinJudge: lower(addresses.twinJudge),
			twinPosts: lower(addresses.twinPosts),
			zkJobs: lower(addresses.zkJobs),
			weightJudge: lower(addresses.weightJudge),
			segmentProofs: lower(addresses.segmentProofs),
			deployedAtBlock: addresses.deployedAtBlock,
		},
		token: { symbol: chainConstants.symbol, decimals: chainConstants.decimals },
		validator: {
			account: self,
			signer,
			stake: String(account.stake),
			unbonding: String(account.unbonding),
			isValidator: account.role === ROLES.validator,
		},
		validators: reader.history().validators().length,
		totalStake: String(totalStake),
		params: paramsView(chainConstants),
		reserve: String(funded - earned),
		earned: String(earned),
		claimed: String(claimed),
		nextPot: String(nextPot),
		epoch: current,
		inFlight,
	};
}

/** What all accounts have earned by the weights that stand. */
export async function readEarned(contracts: Contracts): Promise<bigint> {
	const [any, epoch] = await read(contracts, "scoreboard", "head");
	if (!any) return 0n;
	const [, , total] = await read(contracts, "scoreboard", "postedOf", epoch);
	return total;
}

/** The reply's schema leaves out what is not shown. */
const paramsView = ({ epochs, registry, emissionPerEpoch }: ChainConstants): Chain["params"] => ({
	...epochs,
	targetWeight: String(BigInt(epochs.targetWeight)),
	stakePerWeight: String(BigInt(epochs.stakePerWeight)),
	accuserPpm: registry.accuserPpm,
	unbondingSeconds: Number(registry.unbondingSeconds),
	deviceSeconds: Number(registry.deviceSeconds),
	minProviderStake: String(registry.minProviderStake),
	minValidatorStake: String(registry.minValidatorStake),
	emissionPerEpoch: String(emissionPerEpoch),
});
