// A key and its contributions as a file: JSON, points as hex. What is read is checked as points, not as a
// key: keyFault does that.
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import { bytesOf, type G1, type G2, g1Of, g2Of, wordsOf } from "../../../protocol/maths/bn254.ts";
import { g1Bytes, g2Bytes } from "./key-bytes.ts";
import type { Contribution, ProvingKey } from "./phase2.ts";

export interface KeyChain {
	/** With which the chain of hashes begins; whoever verifies makes it again. */
	readonly start: Uint8Array;
	readonly key: ProvingKey;
	readonly contributions: readonly Contribution[];
}

const FORMAT = "assay-zk-key";
const ONES = ["alpha1", "beta1", "delta1"] as const;
const TWOS = ["beta2", "delta2"] as const;
const LISTS = ["a", "b1", "inputs", "others", "powers"] as const;

const one = (point: G1): string => bytesToHex(g1Bytes(point));
const two = (point: G2): string => bytesToHex(g2Bytes(point));

export function keyChainToText({ start, key, contributions }: KeyChain): string {
	return `${JSON.stringify({
		...{ format: FORMAT, version: 1, start: bytesToHex(start) },
		...Object.fromEntries(ONES.map((name) => [name, one(key[name])])),
		...Object.fromEntries(TWOS.map((name) => [name, two(key[name])])),
		...Object.fromEntries(LISTS.map((name) => [name, key[name].map(one)])),
		b2: key.b2.map(two),
		contributions: contributions.map(({ delta1, delta2, commitment, answer }) => ({
			...{ delta1: one(delta1), delta2: two(delta2), commitment: one(commitment), answer: bytesToHex(bytesOf(answer)) },
		})),
	})}\n`;
}

/** Null: it is no such file, or a point of it is none. */
export function keyChainOf(text: string): KeyChain | null {
	try {
		const file = JSON.parse(text);
		if (file?.format !== FORMAT || file.version !== 1) return null;
		const words = (hex: unknown, size: number): bigint[] => {
			const bytes = typeof hex === "string" && hex.length === 2 * size ? hexToBytes(hex) : null;
			if (bytes === null) throw new SyntaxError("no hex");
			return wordsOf(bytes);
		};
		const point = <Point>(found: Point | string): Point => {
			if (typeof found === "string") throw new SyntaxError(found);
			return found;
		};
		const g1 = (hex: unknown): G1 => point<G1>(g1Of(...(words(hex, 64) as [bigint, bigint])));
		const g2 = (hex: unknown): G2 => point<G2>(g2Of(...(words(hex, 128) as [bigint, bigint, bigint, bigint])));
		const many = <Point>(list: unknown, of: (hex: unknown) => Point): Point[] => {
			if (!Array.isArray(list)) throw new SyntaxError("no list");
			return list.map(of);
		};
		const contributions = many(file.contributions, (given) => {
			const { delta1, delta2, commitment, answer } = given as Record<string, unknown>;
			return { delta1: g1(delta1), delta2: g2(delta2), commitment: g1(commitment), answer: words(answer, 32)[0]! };
		});
		const key = {
			...Object.fromEntries(ONES.map((name) => [name, g1(file[name])])),
			...Object.fromEntries(TWOS.map((name) => [name, g2(file[name])])),
			...Object.fromEntries(LISTS.map((name) => [name, many(file[name], g1)])),
			b2: many(file.b2, g2),
		} as unknown as ProvingKey;
		return { start: bytesOf(words(file.start, 32)[0]!), key, contributions };
	} catch (error) {
		if (error instanceof SyntaxError || error instanceof TypeError) return null;
		throw error;
	}
}
