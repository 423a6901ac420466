// Makes the golden data of this folder: `node vectors/generate.ts` writes the files anew; vectors.test.ts
// checks that the committed ones are what this makes. Deterministic: every "random" value below comes from
// SHA-256 of a label. Each file is a list of flat objects (strings and numbers only) that a few lines of C++
// can read; see README.md.
import { writeFileSync } from "node:fs";
import { bn254Rows } from "./bn254-rows.ts";
import { chaseRows, hopRows } from "./chase-rows.ts";
import { fmaRoundRows, fmaRows, recurrenceRows } from "./fma-rows.ts";
import { frameRows } from "./frame-rows.ts";
import { fraudRows } from "./fraud-rows.ts";
import { groth16Rows } from "./groth16-rows.ts";
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
import { openingRows } from "./opening-rows.ts";
import { rollRows } from "./roll-rows.ts";
import { hex, label, numbers, type Product, type Row } from "./rows.ts";
import {
	claimRows,
	instructionRows,
	intervalRows,
	programRows,
	refusedRows,
	elementRows as workElementRows,
} from "./work-rows.ts";

const gemmPrecisions: readonly GemmPrecision[] = ["int8", "fp8", "fp16", "bf16", "tf32"];

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
	const tags = ["leaf", "node", "seed", "nonce", "chase", "challenge", "open", "sample", "evidence"];
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

/**
 * One pass over both rounds of a shape (keep 2), and over the newest alone (keep 1). `seed` is the first
 * round's.
 */
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

/**
 * `places` is "round,leaf,…;…": then two columns (gemm), a lane (fma), or a digest and two columns (stream);
 * of a chase "interval,chain;…".
 */
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
	for (const [i, [intervals, samples]] of [
		[2, 4],
		[16, 8],
		[256, 128],
		[65536, 64],
	].entries()) {
		const openSeed = label(`samples chase ${i}`);
		const draw = drawer(openSeed);
		const seen: number[] = [];
		while (seen.length < Math.min(samples!, intervals! - 1)) {
			const interval = draw(intervals! - 1) + 1;
			if (!seen.includes(interval)) seen.push(interval);
		}
		const places = seen.map((interval) => `${interval},${draw(4)}`).join(";");
		rows.push({
			kind: "chase",
			openSeed: hex(openSeed),
			rounds: 1,
			leaves: intervals!,
			samples: samples!,
			lanes: 0,
			places,
		});
	}
	return rows;
}

/** `spec` and `beacon` are canonical JSON texts; no beacon is the empty text. */
function seedRows(): Row[] {
	const specs = [
		'{"device":0,"k":128,"keep":2,"kind":"gemm","m":128,"n":512,"precision":"int8","rounds":3,"samples":4}',
		'{"device":0,"kind":"stream","newest":0,"of":0,"passes":2,"samples":4}',
		'{"device":1,"kind":"fma","lanes":256,"precision":"fp64","rounds":1,"samples":2,"steps":512}',
	];
	return ["", '{"kind":"block","value":"00ff"}'].flatMap((beacon, b) =>
		specs.map((spec, index) => {
			const secret = label(`secret ${b}`);
			const beta = Buffer.from(beacon);
			const [lastRoot, nonce] = [label(`root ${b} ${index}`), label(`nonce ${index}`)];
			const seedOf = (attempt: number) => {
				const parameters = Buffer.from(`{"attempt":${attempt},"spec":${spec}}`);
				return hex(taggedHash("assay/challenge/1", secret, le32(index), le32(beta.length), beta, parameters));
			};
			return {
				secret: hex(secret),
				index,
				beacon,
				spec,
				seed: seedOf(0),
				lastRoot: hex(lastRoot),
				openSeed: hex(taggedHash("assay/open/1", secret, le32(index), lastRoot)),
				seedOfSecondTry: seedOf(1),
				nonce: hex(nonce),
				openSeedWithNonce: hex(taggedHash("assay/open/1", secret, le32(index), nonce, lastRoot)),
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
		"hop.json": hopRows(),
		"chase.json": chaseRows(made),
		"samples.json": sampleRows(),
		"seeds.json": seedRows(),
		"frames.json": frameRows(),
		"roll-call.json": rollRows(),
		"work-instructions.json": instructionRows(),
		"work-intervals.json": intervalRows(),
		"work-programs.json": programRows(),
		"work-elements.json": workElementRows(),
		"work-refused.json": refusedRows(),
		"work-claims.json": claimRows(),
		"work-fraud.json": fraudRows(),
		"zk-opening.json": openingRows(),
		"bn254.json": bn254Rows(),
		"groth16.json": groth16Rows(),
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
