// The chain at a glance: where it is, which epochs are under way, whose stake, what is paid next. One set of
// questions a block, whoever asks.
import type { Chain } from "../../../api/types.ts";
import { read } from "../../../chain/contracts/contracts.ts";
import { ROLES, readAccount } from "../../../chain/contracts/registry.ts";
import type { Environment } from "../../../platform/environment.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { withoutLogin } from "../../../protocol/network/without-login.ts";
import type { ChainHome } from "../../settlement/home.ts";
import type { ChainConstants, ChainPhases } from "./phases.ts";
import type { ChainReader } from "./reader.ts";

const MAX_IN_FLIGHT = 16;
const lower = (address: Hex) => address.toLowerCase() as Hex;

export async function readGlance(
	home: ChainHome,
	reader: ChainReader,
	phases: ChainPhases,
	env: Pick<Environment, "nowMs">,
): Promise<Chain> {
	const { contracts } = reader;
	const { client, addresses } = contracts;
	const self = lower(home.account.address);
	const { head, account, reserve, carry, totalStake } = await reader.atHead("glance", async (head) => {
		const [account, reserve, carry, totalStake] = await Promise.all([
			readAccount(contracts, self),
			read(contracts, "rewards", "reserve"),
			read(contracts, "rewards", "carry"),
			read(contracts, "registry", "totalVotingStakeAt", BigInt(head.atMs / 1000)),
		]);
		return { head, account, reserve, carry, totalStake };
	});
	const chainConstants = await phases.constants();
	const { emissionPerEpoch } = chainConstants.emission;
	const current = phases.currentOf(chainConstants);
	const inFlight: Chain["inFlight"] = [];
	for (let number = current ?? -1; number >= 0 && number > (current ?? 0) - MAX_IN_FLIGHT; number--) {
		const one = await phases.windows(chainConstants, number, reader.history().epoch(number));
		if (one.phase !== "final" && one.phase !== "lapsed") inFlight.push(one);
	}
	return {
		nowMs: env.nowMs(),
		chainId: client.chainId,
		isEmbedded: home.isEmbedded,
		rpcUrl: home.isEmbedded ? withoutLogin(home.url) : null,
		confirmations: client.confirmations,
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
			deployedAtBlock: addresses.deployedAtBlock,
		},
		token: { symbol: chainConstants.symbol, decimals: chainConstants.decimals },
		validator: {
			account: self,
			stake: String(account.stake),
			unbonding: String(account.unbonding),
			isValidator: account.role === ROLES.validator,
		},
		validators: reader.history().validators().length,
		totalStake: String(totalStake),
		params: paramsView(chainConstants),
		reserve: String(reserve),
		nextPot: String((reserve < emissionPerEpoch ? reserve : emissionPerEpoch) + carry),
		epoch: current,
		inFlight,
	};
}

/** The reply's schema leaves out what is not shown. */
const paramsView = ({ epochs, registry, emission }: ChainConstants): Chain["params"] => ({
	...epochs,
	accuserPpm: registry.accuserPpm,
	claimSeconds: Number(emission.claimSeconds),
	unbondingSeconds: Number(registry.unbondingSeconds),
	deviceSeconds: Number(registry.deviceSeconds),
	minProviderStake: String(registry.minProviderStake),
	minValidatorStake: String(registry.minValidatorStake),
	emissionPerEpoch: String(emission.emissionPerEpoch),
});
