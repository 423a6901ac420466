// Signs receipts of probes with the provider's key on the chain (docs/slashing.md). What they say was seen by
// the agent link (src/engine/agent/run-watch.ts), never told by the validator; here they get account, probe
// and signature. The chain's code and the key are loaded when the first receipts are wanted.

import type { AgentHandlers } from "../engine/agent/dial-agent.ts";
import { BoundedMap } from "../platform/bounded-map.ts";
import { receiptOf } from "../protocol/chain/probe-receipt.ts";
import { loadProviderAccount, readOwner } from "./chain-account.ts";

type SignReceipts = NonNullable<AgentHandlers["signReceipts"]>;

/** So many probes' challenges are remembered, the newest. */
const PROBES_KEPT = 256;

export interface ReceiptSigner {
	/** Loads what signing needs before it is asked for. Throws AssayError KEY_UNUSABLE. */
	prepare(): Promise<void>;
	readonly sign: SignReceipts;
}

export function createReceiptSigner(options: {
	readonly dataFolder: string;
	readonly randomBytes: (size: number) => Uint8Array;
}): ReceiptSigner {
	let loading: ReturnType<typeof load> | null = null;
	/** Challenges of a probe that have a receipt: none gets a second one, on whichever channel. */
	const signed = new BoundedMap<string, Set<number>>(PROBES_KEPT);

	async function load() {
		const [account, { signReceipt }] = await Promise.all([
			loadProviderAccount(options.dataFolder, options.randomBytes),
			import("../chain/contracts/slashing.ts"),
		]);
		return { account, signReceipt };
	}
	function ready() {
		loading ??= load().catch((error) => {
			// The owner may restore the file meanwhile.
			loading = null;
			throw error;
		});
		return loading;
	}

	function isFirst(probe: string, challenge: number): boolean {
		const challenges = signed.get(probe) ?? new Set();
		if (challenges.has(challenge)) return false;
		signed.set(probe, challenges.add(challenge));
		return true;
	}

	return {
		async prepare() {
			await ready();
		},
		async sign({ probe, wanted, facts }) {
			const { account, signReceipt } = await ready();
			const at = { chainId: wanted.chainId, slashing: `0x${wanted.slashing}` } as const;
			const provider = (await readOwner(options.dataFolder, at)) ?? account.address;
			const receipts = [];
			for (const one of facts) {
				if (!isFirst(probe, one.challenge)) continue;
				const signature = await signReceipt(account, at, receiptOf(provider, probe, one));
				receipts.push({ challenge: one.challenge, signature: signature.slice(2) });
			}
			return receipts;
		},
	};
}
