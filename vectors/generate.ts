// Makes the golden data of this folder: `node vectors/generate.ts` writes the files anew; vectors.test.ts checks that the
// committed ones are what this makes. Deterministic: every "random" value below comes from SHA-256 of a label.
// Each file is a list of flat objects (strings and numbers only) that a few lines of C++ can read; see README.md.
import { writeFileSync } from "node:fs";
import { type FmaPrecision, fmaBits, laneBits } from "./naive-fma.ts";
import {
	type Bytes,
	drawer,
	entry,
	type GemmPrecision,
	gemmLeaves,
	le32,
	mix,
	philox,
	sha256,
	taggedHash,
	tree,
	vectorLeaf,
} from "./naive-maths.ts";

type Row = Readonly<Record<string, string | number>>;

const hex = (bytes: Bytes) => Buffer.from(bytes).toString("hex");
const label = (text: string) => sha256(Buffer.from(text));
const gemmPrecisions: readonly GemmPrecision[] = ["int8", "fp8", "fp16", "bf16", "tf32"];

/** Whole numbers below `range` from a label, one after the other. */
function numbers(text: string): (range: number) => number {
	return drawer(label(text));
}

function philoxRows(): Row[] {
	const draw = numbers("philox");
	const cases = [
		[0, 0, 0, 0, 0, 0],
		Array(6).fill(0xffffffff) as number[],
		[0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
	];
	for (let i = 0; i < 29; i++) cases.push(Array.from({ length: 6 }, () => draw(2 ** 32)));
	return cases.map((c) => {
		const [k0, k1, c0, c1, c2, c3] = c as [number, number, number, number, number, number];
		const [w0, w1, w2, w3] = philox([BigInt(k0), BigInt(k1)], [c0, c1, c2, c3].map(BigInt)) as [
			number,
			number,
			number,
			number,
		];
		return { k0, k1, c0, c1, c2, c3, w0, w1, w2, w3 };
	});
}

function entryRows(): Row[] {
	const rows: Row[] = [];
	for (const precision of gemmPrecisions) {
		const draw = numbers(`entries ${precision}`);
		const largest = precision === "int8" || precision === "fp8" ? 65536 : 16384;
		for (let i = 0; i < 40; i++) {
			const seed = label(`entries ${precision} ${i % 4}`);
			const k = [128, 384, 4096, largest][i % 4]!;
			const matrix = (i % 2) as 0 | 1;
			const row = i < 36 ? draw(65536) : 65535;
			const col = i < 36 ? draw(k) : k - 1;
			rows.push({
				precision,
				seed: hex(seed),
				matrix,
				row,
				col,
				k,
				entry: entry(precision, seed, matrix, row, col, k),
			});
		}
	}
	return rows;
}

function taggedRows(): Row[] {
	const tags = ["leaf", "node", "seed", "nonce", "challenge", "open", "sample", "evidence"];
	return tags.flatMap((name) =>
		[0, 1, 32, 64, 119, 120, 200].map((length) => {
			const tag = `assay/${name}/1`;
			const input = Uint8Array.from({ length }, (_, i) => (i * 7 + length) % 256);
			return { tag, input: hex(input), hash: hex(taggedHash(tag, input)) };
		}),
	);
}

function treeRows(): Row[] {
	return [1, 2, 3, 5, 7, 8, 13, 128].flatMap((count) => {
		const seed = label(`tree ${count}`);
		const made = tree(Array.from({ length: count }, (_, i) => vectorLeaf(seed, i)));
		const indices = count > 13 ? [0, 1, 77, count - 1] : Array.from({ length: count }, (_, i) => i);
		return indices.map((index) => ({
			count,
			seed: hex(seed),
			index,
			root: hex(made.root),
			path: made.path(index).map(hex).join(""),
		}));
	});
}

function mixRows(): Row[] {
	const draw = numbers("mix");
	return Array.from({ length: 24 }, (_, i) => {
		const nonce = label(`mix nonce ${i % 6}`);
		const seed = label(`mix seed ${i % 3}`);
		const leaf = draw(1000);
		const keptLeaf = i < 4 ? i : draw(2 ** 32);
		return {
			nonce: hex(nonce),
			seed: hex(seed),
			leaf,
			keptLeaf,
			digest: hex(mix(nonce, vectorLeaf(seed, leaf), keptLeaf)),
		};
	});
}

function bitsHex(precision: FmaPrecision, bits: bigint): string {
	return bits.toString(16).padStart(precision === "fp64" ? 16 : 8, "0");
}

function recurrenceRows(): Row[] {
	const rows: Row[] = [];
	for (const precision of ["fp32", "fp64", "int32"] as const)
		for (const steps of [512, 2048])
			for (let i = 0; i < 6; i++) {
				const seed = label(`recurrence ${precision} ${i % 2}`);
				const lane = [0, 1, 255, 65537, 268435455, 12345678][i]!;
				rows.push({
					precision,
					seed: hex(seed),
					lane,
					steps,
					bits: bitsHex(precision, laneBits(precision, seed, lane, steps)),
				});
			}
	return rows;
}

/** Triples that are hard to round: near halfway cases, cancellation, subnormals, overflow, signed zeros, and plain ones. */
function fmaRows(): Row[] {
	const rows: Row[] = [];
	for (const precision of ["fp32", "fp64"] as const) {
		const draw = numbers(`fma ${precision}`);
		const width = precision === "fp32" ? 32n : 64n;
		const fraction = precision === "fp32" ? 23n : 52n;
		const bias = precision === "fp32" ? 127 : 1023;
		const add = (a: bigint, b: bigint, c: bigint) =>
			rows.push({
				precision,
				a: bitsHex(precision, a),
				b: bitsHex(precision, b),
				c: bitsHex(precision, c),
				r: bitsHex(precision, fmaBits(precision, a, b, c)),
			});
		const make = (sign: number, exponent: number, low: bigint) =>
			(BigInt(sign) << (width - 1n)) | (BigInt(exponent) << fraction) | (low & ((1n << fraction) - 1n));
		const anyFraction = () => (BigInt(draw(2 ** 32)) << 32n) | BigInt(draw(2 ** 32));
		const minus = 1n << (width - 1n);
		const one = make(0, bias, 0n);
		const largest = make(0, 2 * bias, -1n);
		for (const [a, b, c] of [
			[0n, 0n, 0n],
			[minus, 0n, minus],
			[minus, 0n, 0n],
			[one, one, one | minus],
			[one, one | minus, one],
			[largest, one, largest],
			[largest, largest, 0n],
			[1n, 1n, 0n],
			[1n, 1n, 1n],
			[1n, one, 1n | minus],
			[largest, one, make(0, 2 * bias - Number(fraction) - 1, 0n)],
			[largest, one, make(0, 2 * bias - Number(fraction) - 1, 0n) - 1n],
			[make(0, bias - 1, 0n), 1n, 0n],
			[make(0, bias - 1, 0n), 3n, 0n],
			[make(0, bias - 1, 0n), 1n, 1n],
			[make(0, 1, 0n), make(0, bias - 1, 1n), 0n],
		] as [bigint, bigint, bigint][])
			add(a, b, c);
		for (let i = 0; i < 40; i++) {
			// Cancellation: c is −(a·b) rounded, so that what is left is the product's own rounding error.
			const a = make(draw(2), bias - 20 + draw(40), anyFraction());
			const b = make(draw(2), bias - 20 + draw(40), anyFraction());
			const rounded = fmaBits(precision, a, b, 0n);
			add(a, b, rounded ^ minus ^ BigInt(draw(3)));
			// Halfway: a has few bits and c lies a whole width above, so the sum ends exactly at or beside a midpoint.
			const few = make(draw(2), bias, BigInt(draw(4)) << (fraction - 2n));
			add(
				few,
				make(draw(2), bias - Number(fraction) - 1, BigInt(draw(2))),
				make(draw(2), bias + draw(2), anyFraction()),
			);
			// A hair below half of c's last place: two roundings would meet exactly halfway.
			const u = BigInt(1 + draw(300));
			const hair = make(draw(2), bias - 2 - Number(fraction), (1n << fraction) - 2n * u);
			add(make(0, bias, u), hair, make(draw(2), bias, anyFraction()));
			// The recurrence's own range, then all exponents.
			const x = make(draw(2), bias - draw(12), anyFraction());
			add(x, x, make(1, bias, (1n << fraction) - 1n - (anyFraction() >> (64n - fraction + 5n))));
			add(
				make(draw(2), draw(2 * bias + 1), anyFraction()),
				make(draw(2), draw(2 * bias + 1), anyFraction()),
				make(draw(2), draw(2 * bias + 1), anyFraction()),
			);
		}
	}
	return rows;
}

interface Product {
	readonly precision: GemmPrecision;
	readonly m: number;
	readonly n: number;
	readonly k: number;
	readonly seed: Bytes;
	readonly leaves: readonly Bytes[];
	readonly root: Bytes;
}

/** Two chained rounds of a small shape for every precision, and one with several leaves a row. */
function products(): Product[] {
	const shapes = [
		...gemmPrecisions.map((precision) => ({ precision, m: 128, n: 512, k: 128 })),
		{ precision: "int8" as const, m: 128, n: 1024, k: 256 },
	];
	return shapes.flatMap((shape, i) => {
		const made: Product[] = [];
		let seed = label(`gemm ${i}`);
		for (let round = 0; round < 2; round++) {
			const leaves = gemmLeaves(shape.precision, seed, shape.m, shape.n, shape.k);
			const { root } = tree(leaves);
			made.push({ ...shape, seed, leaves, root });
			seed = taggedHash("assay/seed/1", seed, root);
		}
		return made;
	});
}

function gemmRows(made: readonly Product[]): Row[] {
	return made.map(({ precision, m, n, k, seed, root }) => ({
		precision,
		m,
		n,
		k,
		seed: hex(seed),
		root: hex(root),
		nextSeed: hex(taggedHash("assay/seed/1", seed, root)),
	}));
}

function elementRows(made: readonly Product[]): Row[] {
	const draw = numbers("elements");
	return made.flatMap(({ precision, m, n, k, seed, leaves }) =>
		Array.from({ length: 8 }, () => {
			const row = draw(m);
			const col = draw(n);
			const leaf = leaves[row * (n / 512) + Math.floor(col / 512)]!;
			const value = leaf[2 * (col % 512)]! + 256 * leaf[2 * (col % 512) + 1]!;
			return { precision, m, n, k, seed: hex(seed), row, col, value };
		}),
	);
}

/** One pass over both rounds of a shape (keep 2), and over the newest alone (keep 1). `seed` is the first round's. */
function streamRows(made: readonly Product[]): Row[] {
	const rows: Row[] = [];
	for (let i = 0; i < made.length; i += 2)
		for (const keep of [2, 1]) {
			const { precision, m, n, k, seed } = made[i]!;
			const kept = made.slice(i + 2 - keep, i + 2).flatMap((product) => product.leaves);
			const nonce = label(`stream ${i} ${keep}`);
			const digests = kept.map((leaf, q) => mix(nonce, leaf, q));
			const groups: Bytes[] = [];
			for (let q = 0; q < digests.length; q += 128)
				groups.push(new Uint8Array(Buffer.concat(digests.slice(q, q + 128))));
			const { root } = tree(groups);
			rows.push({
				precision,
				m,
				n,
				k,
				seed: hex(seed),
				rounds: 2,
				keep,
				nonce: hex(nonce),
				root: hex(root),
				nextNonce: hex(taggedHash("assay/nonce/1", nonce, root)),
			});
		}
	return rows;
}

function fmaRoundRows(): Row[] {
	return (["fp32", "fp64", "int32"] as const).map((precision) => {
		const seed = label(`fma round ${precision}`);
		const lanes = 256;
		const steps = 512;
		const size = precision === "fp64" ? 8 : 4;
		const bytes = Buffer.alloc(lanes * size);
		for (let lane = 0; lane < lanes; lane++) {
			const bits = laneBits(precision, seed, lane, steps);
			if (size === 8) bytes.writeBigUInt64LE(bits, lane * 8);
			else bytes.writeUInt32LE(Number(bits), lane * 4);
		}
		const leaves = Array.from(
			{ length: bytes.length / 1024 },
			(_, i) => new Uint8Array(bytes.subarray(i * 1024, i * 1024 + 1024)),
		);
		const { root } = tree(leaves);
		return {
			precision,
			lanes,
			steps,
			seed: hex(seed),
			root: hex(root),
			nextSeed: hex(taggedHash("assay/seed/1", seed, root)),
		};
	});
}

/** `places` is "round,leaf,…;…": then two columns (gemm), a lane (fma), or a digest and two columns (stream). */
function sampleRows(): Row[] {
	const rows: Row[] = [];
	const cases = [
		[1, 128, 8],
		[5, 128, 128],
		[1, 1, 4],
		[1, 3, 128],
		[1048576, 8388608, 16],
		[7, 1000, 4096],
	] as const;
	for (const kind of ["gemm", "fma", "stream"] as const)
		for (const [i, [rounds, leaves, samples]] of cases.entries()) {
			const openSeed = label(`samples ${kind} ${i}`);
			const draw = drawer(openSeed);
			const seen: number[] = [];
			while (seen.length < Math.min(samples, rounds * leaves)) {
				const place = draw(rounds * leaves);
				if (!seen.includes(place)) seen.push(place);
			}
			const twoColumns = () => {
				const first = draw(512);
				for (;;) {
					const second = draw(512);
					if (second !== first) return [first, second];
				}
			};
			const lanes = i % 2 === 0 ? 256 : 128;
			const places = seen.map((place) => {
				const head = [Math.floor(place / leaves), place % leaves];
				if (kind === "gemm") return [...head, ...twoColumns()].join(",");
				if (kind === "fma") return [...head, draw(lanes)].join(",");
				return [...head, draw(128), ...twoColumns()].join(",");
			});
			const text = places.length > 200 ? hex(sha256(Buffer.from(places.join(";")))) : places.join(";");
			rows.push({ kind, openSeed: hex(openSeed), rounds, leaves, samples, lanes, places: text });
		}
	return rows;
}

/** `spec` and `beacon` are canonical JSON texts; no beacon is the empty text. */
function seedRows(): Row[] {
	const specs = [
		'{"device":0,"k":128,"keep":2,"kind":"gemm","m":128,"n":512,"precision":"int8","rounds":3,"samples":4}',
		'{"device":0,"kind":"stream","of":0,"passes":2,"samples":4}',
		'{"device":1,"kind":"fma","lanes":256,"precision":"fp64","rounds":1,"samples":2,"steps":512}',
	];
	return ["", '{"kind":"block","value":"00ff"}'].flatMap((beacon, b) =>
		specs.map((spec, index) => {
			const secret = label(`secret ${b}`);
			const beta = Buffer.from(beacon);
			const lastRoot = label(`root ${b} ${index}`);
			return {
				secret: hex(secret),
				index,
				beacon,
				spec,
				seed: hex(taggedHash("assay/challenge/1", secret, le32(index), le32(beta.length), beta, Buffer.from(spec))),
				lastRoot: hex(lastRoot),
				openSeed: hex(taggedHash("assay/open/1", secret, le32(index), lastRoot)),
			};
		}),
	);
}

/** File name → text, for all files of this folder. */
export function generateVectors(): ReadonlyMap<string, string> {
	const made = products();
	const files: Readonly<Record<string, Row[]>> = {
		"philox.json": philoxRows(),
		"entries.json": entryRows(),
		"tagged-hash.json": taggedRows(),
		"sha-tree.json": treeRows(),
		"mix.json": mixRows(),
		"recurrence.json": recurrenceRows(),
		"fma.json": fmaRows(),
		"fma-round.json": fmaRoundRows(),
		"gemm.json": gemmRows(made),
		"gemm-elements.json": elementRows(made),
		"stream.json": streamRows(made),
		"samples.json": sampleRows(),
		"seeds.json": seedRows(),
	};
	return new Map(
		Object.entries(files).map(([name, rows]) => [
			name,
			`[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]\n`,
		]),
	);
}

if (process.argv[1] === import.meta.filename)
	for (const [name, text] of generateVectors()) writeFileSync(new URL(name, import.meta.url), text);
