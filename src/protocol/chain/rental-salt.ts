// What binds a deposit in the RentalEscrow to the customer who asks for the rental: the salt of its id is a
// hash of the customer's key, so that nobody can name another's deposit, whose id everybody sees.
// docs/rentals.md.
import { hexToBytes } from "../bytes/bytes.ts";
import { tagged } from "../hash/tagged-hash.ts";
import { type Hex, toHex } from "./hex.ts";

/** `customer` and `nonce`: 64 hex digits each. Throws RangeError for anything else. */
export function rentalSalt(customer: string, nonce: string): Hex {
	const [key, once] = [hexToBytes(customer, 32), hexToBytes(nonce, 32)];
	if (key === null || once === null) throw new RangeError("not a key and a nonce of 32 bytes");
	return toHex(tagged("assay/rental/1", key, once));
}
