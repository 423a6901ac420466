// Who rents: a key made in this browser and kept in it, or an API token that is kept for this tab only.
// Nothing is sent but signatures.
import { createApiClient } from "../../src/api/create-client.ts";
import { bytesToHex, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { createSigner, type Signer } from "../../src/protocol/probe/signer.ts";

const KEY = "customer-key";
const TOKEN = "api-token";

export interface Customer {
	readonly kind: "key" | "token";
	/** The public key; empty for a token. */
	readonly key: string;
	readonly client: ReturnType<typeof createApiClient>;
}

function read(storage: () => Storage, name: string): string {
	try {
		return storage().getItem(name) ?? "";
	} catch {
		return "";
	}
}

const clientBy = (who: { readonly signer?: Signer; readonly token?: string }) =>
	createApiClient({ baseUrl: location.origin, ...who });

export function loadCustomer(): Customer | null {
	const token = read(() => sessionStorage, TOKEN);
	if (token !== "") return { kind: "token", key: "", client: clientBy({ token }) };
	const seed = hexToBytes(
		read(() => localStorage, KEY),
		32,
	);
	if (seed === null) return null;
	const signer = createSigner(seed);
	return { kind: "key", key: signer.key, client: clientBy({ signer }) };
}

/**
 * For who has neither: a key of this browser's own. It must be kept before anything is rented with it, or
 * nobody could release that.
 */
export function makeCustomer(): Customer {
	const seed = crypto.getRandomValues(new Uint8Array(32));
	localStorage.setItem(KEY, bytesToHex(seed));
	const signer = createSigner(seed);
	return { kind: "key", key: signer.key, client: clientBy({ signer }) };
}

export function keepToken(token: string): void {
	sessionStorage.setItem(TOKEN, token);
}

export function forgetToken(): void {
	sessionStorage.removeItem(TOKEN);
}
