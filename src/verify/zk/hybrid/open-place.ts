// Shows one number of a committed list: Mercury's opening (docs/zk.md §3) at a corner of the cube, where eq is 1 at one place and 0 at all others. What an accuser shows of a weight that
// a claim has wrong, docs/zk.md §15. In TypeScript, so for lists that are not long.
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { keccak } from "../../../protocol/hash/keccak-tree.ts";
import { bytesOf, R } from "../../../protocol/maths/bn254.ts";
import { mod } from "../field.ts";
import { power } from "../scalars.ts";
import { commitTo, type ProverPowers, srsWord } from "../srs.ts";
import { createTranscript } from "../transcript.ts";
import { combined, divided, valueAt } from "./polynomials.ts";

const NAME = utf8ToBytes("assay/zk/weight/1");

/** What stands at X^k, k = 1, 2, …, in a(X)·X^(-at) + a(1/X)·X^at. */
const crossed = (a: readonly bigint[], at: number): bigint[] =>
	Array.from({ length: a.length - 1 }, (_, less) => mod((a[at - less - 1] ?? 0n) + (a[at + less + 1] ?? 0n)));

/** `list`: 2^c numbers, c even. 704 bytes. */
export function openPlace(list: readonly bigint[], place: number, powers: ProverPowers): Uint8Array {
	const bits = Math.log2(list.length);
	const b = 2 ** (bits / 2);
	const f = list.map(mod);
	const [row, column] = [Math.floor(place / b), place % b];
	const transcript = createTranscript(keccak(NAME, srsWord(powers.id)));
	const sent: Uint8Array[] = [];
	const send = (kind: number, ...parts: readonly Uint8Array[]) => {
		sent.push(...parts);
		transcript.absorb(kind, concatBytes(...parts));
	};
	const commit = (kind: number, ...lists: readonly (readonly bigint[])[]) =>
		send(kind, ...lists.map((one) => commitTo(powers, one)));
	const corner = Array.from({ length: bits }, (_, i) => BigInt(Math.floor(place / 2 ** (bits - 1 - i)) % 2));
	transcript.absorb(16, concatBytes(commitTo(powers, f), ...corner.map(bytesOf), bytesOf(f[place]!)));

	const columns = Array.from({ length: b }, (_, i) => Array.from({ length: b }, (_, j) => f[j * b + i]!));
	const h = columns[column]!;
	commit(17, h);
	const alpha = transcript.challenge();

	const quotients = columns.map((one) => divided(one, alpha));
	const q = Array.from({ length: (b - 1) * b }, (_, k) => quotients[k % b]![Math.floor(k / b)]!);
	const g = columns.map((one) => valueAt(one, alpha));
	commit(18, q, g);
	const gamma = transcript.challenge();

	const s = combined({ list: crossed(g, column), factor: 1n }, { list: crossed(h, row), factor: gamma });
	const d = g.toReversed();
	commit(19, s, d);
	const zeta = transcript.challenge();
	const back = power(zeta, R - 2n);

	const values = [
		...[valueAt(g, zeta), valueAt(g, back), valueAt(h, zeta), valueAt(h, back)],
		...[valueAt(h, alpha), valueAt(s, back)],
	];
	send(20, ...values.map(bytesOf));
	const nu = transcript.challenge();
	const by = (...lists: readonly (readonly bigint[])[]) =>
		combined(...lists.map((one, i) => ({ list: one, factor: power(nu, BigInt(i)) })));
	const link = combined(
		...[
			{ list: f, factor: 1n },
			{ list: q, factor: mod(alpha - power(zeta, BigInt(b))) },
			{ list: g, factor: -1n },
		],
	);
	commit(21, divided(by(link, g, h, s, d), zeta), divided(by(g, h, s), back), divided(h, alpha));
	return concatBytes(...sent);
}
