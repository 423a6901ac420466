// Shows one number of a committed list: its opening (docs/zk.md §3) at a corner of the cube, where eq is 1 at
// one place and 0 at all others. What an accuser shows of a weight that a claim has wrong, docs/zk.md §15. In
// TypeScript, so for lists that are not long.
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { bytesOf, Fr, mod } from "../../../protocol/maths/bn254.ts";
import { commitTo, type ProverPowers, srsWord } from "../srs.ts";
import { createTranscript } from "../transcript.ts";
import { combined, divided, valueAt } from "./polynomials.ts";

const NAME = utf8ToBytes("assay/zk/weight/1");

/** What stands at X^k, k = 1, 2, …, in a(X)·X^(-at) + a(1/X)·X^at. */
const crossed = (a: readonly bigint[], at: number): bigint[] =>
	Array.from({ length: a.length - 1 }, (_, less) => mod((a[at - less - 1] ?? 0n) + (a[at + less + 1] ?? 0n)));

/** `list`: 2^c numbers, c even. 288 bytes. */
export function openPlace(list: readonly bigint[], place: number, powers: ProverPowers): Uint8Array {
	const bits = Math.log2(list.length);
	const f = list.map(mod);
	const transcript = createTranscript(keccak(NAME, srsWord(powers.id)));
	const sent: Uint8Array[] = [];
	const send = (kind: number, bytes: Uint8Array): bigint => {
		sent.push(bytes);
		transcript.absorb(kind, bytes);
		return transcript.challenge();
	};
	const corner = Array.from({ length: bits }, (_, i) => BigInt(Math.floor(place / 2 ** (bits - 1 - i)) % 2));
	transcript.absorb(16, concatBytes(commitTo(powers, f), ...corner.map(bytesOf), bytesOf(f[place]!)));

	const s = crossed(f, place);
	const r = send(17, commitTo(powers, s));
	const back = Fr.inv(r);
	const values = [valueAt(f, r), valueAt(f, back), valueAt(s, back)];
	const eta = send(18, concatBytes(...values.map(bytesOf)));
	const sum = combined({ list: f, factor: 1n }, { list: s, factor: eta });
	// The rest of two divisions one after the other is the line through both places.
	const w = divided(divided(sum, r), back);
	const z = send(19, commitTo(powers, w));
	const quadratic = mod(z * z - mod(r + back) * z + 1n);
	send(20, commitTo(powers, divided(combined({ list: sum, factor: 1n }, { list: w, factor: mod(-quadratic) }), z)));
	return concatBytes(...sent);
}
