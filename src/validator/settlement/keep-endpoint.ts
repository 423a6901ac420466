// On the embedded chain the address that others find this validator at follows it: a second start may listen
// on another port. Elsewhere its owner says what is reachable from outside (`assay chain endpoint`), and a
// process behind a proxy cannot know.
import { callOf } from "../../chain/contracts/contracts.ts";
import { ROLES, readAccount } from "../../chain/contracts/registry.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import type { ChainHome } from "./home.ts";

export async function keepEndpoint({ contracts, account, isEmbedded }: ChainHome, url: string): Promise<void> {
	if (!isEmbedded) return;
	const { role, endpoint } = await readAccount(contracts, account.address);
	if (role === ROLES.validator && endpoint !== url)
		await sendCall(contracts.client, account, callOf(contracts, "registry", "setEndpoint", url));
}
