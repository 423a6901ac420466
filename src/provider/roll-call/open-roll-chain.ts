// A provider's view of the chain for roll calls, over the contracts of its network and with its own key,
// which speaks for its account.
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { readAccountFor } from "../../chain/contracts/registry.ts";
import { answerCall, readOpenDemands, readRollCallParams, signAnswer } from "../../chain/contracts/roll-call.ts";
import { sendGuarded } from "../../chain/sending/send-call.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { sleep } from "../../platform/abortable.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { isRollCall } from "../../protocol/roll-call/roll-call.ts";
import type { RollChain } from "./roll-chain.ts";

/** Our node may be a moment behind the validator's; a deadline is 5 s and more. */
const PATIENCE_MS = 2000;
const LOOK_MS = 100;

/** Throws AssayError as any question to a node does. */
export async function openRollChain(contracts: Contracts, signer: ChainAccount): Promise<RollChain> {
	const { client, addresses } = contracts;
	const { chainId } = client;
	const contract = addresses.rollCall.toLowerCase();
	const { every, isDrand } = await readRollCallParams(contracts);
	const account = await readAccountFor(contracts, signer.address);

	/** Null: it did not come in time. */
	async function hashOf(block: number): Promise<string | null> {
		for (let waitedMs = 0; waitedMs <= PATIENCE_MS; waitedMs += LOOK_MS) {
			const found = await client.viem.getBlock({ blockNumber: BigInt(block) }).catch(() => null);
			if (found?.hash) return found.hash.slice(2);
			await sleep(LOOK_MS);
		}
		return null;
	}

	return {
		...{ chainId, contract, account },
		async mustBeCall({ chainId: named, contract: to, call }, beta0) {
			const no = (why: string) => new AssayError("ROLL_CALL_NO_BLOCK", why);
			if (named !== chainId || to !== contract) throw no("a roll call of another chain or contract");
			if (!isRollCall(beta0, every)) throw no(`the hash of block ${call} does not call`);
			// The chain knows nothing of drand's rounds: there the host believes the validator.
			if (isDrand) return;
			const hash = await hashOf(call);
			if (hash === null) throw no(`our node has no block ${call}`);
			if (hash !== bytesToHex(beta0)) throw no(`block ${call} has another hash at our node`);
		},
		sign: async (call, beta0, leaf) => (await signAnswer(signer, { chainId, contract, call, beta0, leaf })).slice(2),
		async demands() {
			const open = await readOpenDemands(contracts, account);
			return open.map((demand) => ({
				...{ call: Number(demand.call), beta0: demand.beta.slice(2), device: demand.leaf.device },
				...{ end: demand.leaf.end.slice(2), round: demand.place.round, leaf: demand.place.leaf },
				async answer(opening) {
					await sendGuarded(client, signer, answerCall(contracts, demand, opening));
				},
			}));
		},
	};
}
