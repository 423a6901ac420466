// Keys and proofs of Groth16 as snarkjs writes them, from and to ours (../../receipts/groth16.ts). Decimal
// numbers; points with a third coordinate, 1; of the second group real parts first.
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { bytesOf, wordsOf } from "../../../protocol/maths/bn254.ts";
import type { BoundKey } from "../run/wrap-key.ts";

type One = readonly [x: string, y: string, z: string];
type Pair = readonly [real: string, imaginary: string];
type Two = readonly [x: Pair, y: Pair, z: Pair];

export interface SnarkjsKey {
	readonly protocol: "groth16";
	readonly curve: "bn128";
	readonly nPublic: number;
	readonly vk_alpha_1: One;
	readonly vk_beta_2: Two;
	readonly vk_gamma_2: Two;
	readonly vk_delta_2: Two;
	readonly IC: readonly One[];
}

export interface SnarkjsProof {
	readonly protocol: "groth16";
	readonly curve: "bn128";
	readonly pi_a: One;
	readonly pi_b: Two;
	readonly pi_c: One;
}

const one = ([x, y]: readonly bigint[]): One => [String(x), String(y), "1"];
const two = ([xi, xr, yi, yr]: readonly bigint[]): Two => [
	[String(xr), String(xi)],
	[String(yr), String(yi)],
	["1", "0"],
];
const KIND = { protocol: "groth16", curve: "bn128" } as const;

/** `key`: words of 64 hex digits. */
export function toSnarkjsKey(key: readonly string[]): SnarkjsKey {
	const words = key.map((word) => BigInt(`0x${word}`));
	const points = Array.from({ length: (words.length - 14) / 2 }, (_, i) => one(words.slice(14 + 2 * i)));
	return {
		...{ ...KIND, nPublic: points.length - 1, vk_alpha_1: one(words), vk_beta_2: two(words.slice(2)) },
		...{ vk_gamma_2: two(words.slice(6)), vk_delta_2: two(words.slice(10)), IC: points },
	};
}

export function toSnarkjsProof(proof: Uint8Array): SnarkjsProof {
	const words = wordsOf(proof);
	return { ...KIND, pi_a: one(words), pi_b: two(words.slice(2)), pi_c: one(words.slice(6)) };
}

const numbersOf = (...points: readonly (One | Two)[]): bigint[] =>
	points
		.flatMap(([x, y]) => [x, y].flatMap((part) => (typeof part === "string" ? [part] : [part[1]!, part[0]!])))
		.map(BigInt);

/** Points are not checked: verifyGroth16 does that of a proof's; a key is believed. */
export const fromSnarkjsKey = ({ vk_alpha_1, vk_beta_2, vk_gamma_2, vk_delta_2, IC }: SnarkjsKey): string[] =>
	numbersOf(vk_alpha_1, vk_beta_2, vk_gamma_2, vk_delta_2, ...IC).map((word) => word.toString(16).padStart(64, "0"));

export const fromSnarkjsProof = ({ pi_a, pi_b, pi_c }: SnarkjsProof): Uint8Array =>
	concatBytes(...numbersOf(pi_a, pi_b, pi_c).map(bytesOf));

const NUMBER = /^(0|[1-9][0-9]{0,77})$/;
const isNumber = (value: unknown) => typeof value === "string" && NUMBER.test(value) && BigInt(value) >> 256n === 0n;
const areNumbers = (value: unknown, count: number): boolean =>
	Array.isArray(value) && value.length === count && value.every(isNumber);
const arePairs = (value: unknown): boolean =>
	Array.isArray(value) && value.length === 3 && value.every((one) => areNumbers(one, 2));

/**
 * A key as snarkjs exports it, with the plan and the number of segments that it was made for. snarkjs writes
 * neither and ignores both.
 */
export interface KeyFile extends SnarkjsKey {
	readonly plan: string;
	readonly segments: number;
}

export const toKeyFile = ({ plan, segments, words }: BoundKey): KeyFile => ({ ...toSnarkjsKey(words), plan, segments });

/** What a file of a verifying key says. */
interface ReadKey {
	readonly words: readonly string[];
	/** Null where the file does not say both what plan and how many segments the key was made for. */
	readonly bound: BoundKey | null;
}

/** A file that `snarkjs zkey export verificationkey` or zk-key.ts wrote; null: it is none. */
export function readKeyFile(text: string): ReadKey | null {
	let file: Partial<Record<keyof KeyFile, unknown>> | null;
	try {
		file = JSON.parse(text);
	} catch (error) {
		if (error instanceof SyntaxError) return null;
		throw error;
	}
	const isKey =
		file?.protocol === "groth16" &&
		file.curve === "bn128" &&
		areNumbers(file.vk_alpha_1, 3) &&
		[file.vk_beta_2, file.vk_gamma_2, file.vk_delta_2].every(arePairs) &&
		Array.isArray(file.IC) &&
		file.IC.every((one) => areNumbers(one, 3));
	if (!isKey) return null;
	const words = fromSnarkjsKey(file as SnarkjsKey);
	const { plan, segments } = file as Partial<KeyFile>;
	const isBound = typeof plan === "string" && /^[0-9a-f]{64}$/.test(plan) && Number.isSafeInteger(segments);
	return { words, bound: isBound && segments! > 0 ? { plan, segments: segments!, words } : null };
}
