// An account on a trial network's chain whose key this browser made and keeps. Its money is worth nothing
// elsewhere, so the key is not protected further. Built by itself and loaded only where it is needed. Not
// here: what is sent (wallet.ts), where the money comes from (the validator's treasury).
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";

const KEY = "trial-account";

/** Made at the first call. */
export function trialAccount(): PrivateKeyAccount {
	const kept = localStorage.getItem(KEY);
	if (kept !== null && /^0x[0-9a-f]{64}$/.test(kept)) return privateKeyToAccount(kept as `0x${string}`);
	const made = generatePrivateKey();
	localStorage.setItem(KEY, made);
	return privateKeyToAccount(made);
}
