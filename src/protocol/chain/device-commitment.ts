// What the chain knows a device by: a hash of the UUID that its driver gives, docs/chain.md §2. Whoever knows
// the UUID can check it, and two providers that show one card come to one commitment; from the commitment
// nobody finds the UUID (122 random bits), let alone a serial number.
import { bytesToHex, utf8ToBytes } from "../bytes/bytes.ts";
import { safeText } from "../bytes/safe-text.ts";
import { keccak } from "../hash/keccak-tree.ts";
import { tagged } from "../hash/tagged-hash.ts";
import { toHex } from "./hex.ts";

const TAG = "assay/device/1";
/** By which the Registry tells this way to name a device from others. */
export const DEVICE_SCHEMA = toHex(keccak(utf8ToBytes(TAG)));
/**
 * The other way: by the key in the silicon, whose hash (assay/device-key/1) is the commitment itself.
 * docs/attestation.md.
 */
export const DEVICE_KEY_SCHEMA = toHex(keccak(utf8ToBytes("assay/device-key/1")));
const MAX_CHARACTERS = 128;

/** One spelling of a UUID: case and blanks do not make another device. Text of a provider: hostile. */
export const normalDeviceUuid = (uuid: string): string => safeText(uuid.slice(0, MAX_CHARACTERS)).trim().toLowerCase();

/** Null for a device without a UUID: it cannot be told from others. */
export function deviceCommitment(uuid: string): `0x${string}` | null {
	const normal = normalDeviceUuid(uuid);
	return normal === "" ? null : `0x${bytesToHex(tagged(TAG, utf8ToBytes(normal)))}`;
}
