// How many blocks make something final on a node that nobody said anything about. A node for development
// makes a block when a transaction comes and never takes one back: to wait there for eleven more would be to
// wait for ever. Any other chain may reorganise.
import { CONFIRMATIONS } from "./chain-client.ts";
import type { Rpc } from "./rpc.ts";

const FOR_DEVELOPMENT = /^(hardhatnetwork|anvil|ganache|edr)\b/i;

export async function defaultConfirmations(rpc: Rpc): Promise<number> {
	// Not every node tells its name.
	const name = await rpc("web3_clientVersion", []).catch(() => "");
	return typeof name === "string" && FOR_DEVELOPMENT.test(name) ? 1 : CONFIRMATIONS;
}
