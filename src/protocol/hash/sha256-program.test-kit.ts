// sha256-program-code.ts as it must be: SHA-256's compression as WebAssembly, written out from its definition
// (FIPS 180-4). Run by itself it writes the file: node src/protocol/hash/sha256-program.test-kit.ts
import { writeFileSync } from "node:fs";
import loadWabt from "wabt";

export const codeFile = new URL("sha256-program-code.ts", import.meta.url);

const get = (name: string): string => `(local.get $${name})`;
const xor = (...of: string[]): string => of.reduce((a, b) => `(i32.xor ${a} ${b})`);
const and = (a: string, b: string): string => `(i32.and ${a} ${b})`;
const add = (...of: string[]): string => of.reduce((a, b) => `(i32.add ${a} ${b})`);
const turned = (x: string, by: number): string => `(i32.rotr ${x} (i32.const ${by}))`;
const shifted = (x: string, by: number): string => `(i32.shr_u ${x} (i32.const ${by}))`;
const places = (count: number): number[] => [...Array(count).keys()];

/** The first 32 bits of what follows the point in the cube roots of the first 64 primes. */
function roundConstants(): number[] {
	const primes: bigint[] = [];
	for (let n = 2n; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0n)) primes.push(n);
	return primes.map((prime) => {
		const target = prime << 96n;
		let root = 0n;
		for (let bit = 1n << 36n; bit > 0n; bit >>= 1n) if ((root + bit) ** 3n <= target) root += bit;
		return Number(root & 0xffffffffn);
	});
}

/** Round j of 16: a … h are v0 … v7, which stay where they are while their names move on. */
function round(j: number): string {
	const [a, b, c, d, e, f, g, h] = places(8).map((place) => `v${(place + 16 - j) % 8}`) as [string, ...string[]];
	const [va, vb, vc, ve, vf, vg] = [a, b!, c!, e!, f!, g!].map(get) as [string, ...string[]];
	const bigE = xor(turned(ve!, 6), turned(ve!, 11), turned(ve!, 25));
	const choice = xor(vg!, and(ve!, xor(vf!, vg!)));
	const constant = `(i32.load offset=${4 * j} (local.get $k))`;
	const bigA = xor(turned(va, 2), turned(va, 13), turned(va, 22));
	const majority = xor(and(va, vb!), and(vc!, xor(va, vb!)));
	return `(local.set $t ${add(get(h!), bigE, choice, constant, get(`w${j}`))})
		(local.set $${d} ${add(get(d!), get("t"))})
		(local.set $${h} ${add(get("t"), bigA, majority)})`;
}

/** Word j of the next 16. */
function nextWord(j: number): string {
	const [before, second] = [get(`w${(j + 1) % 16}`), get(`w${(j + 14) % 16}`)];
	const s0 = xor(turned(before, 7), turned(before, 18), shifted(before, 3));
	const s1 = xor(turned(second, 17), turned(second, 19), shifted(second, 10));
	return `(local.set $w${j} ${add(get(`w${j}`), s0, get(`w${(j + 9) % 16}`), s1)})`;
}

/** Big-endian. */
function loadWord(j: number): string {
	const word = `(local.tee $t (i32.load offset=${4 * j} (local.get $from)))`;
	const [even, odd] = [`(i32.const 0x00ff00ff)`, `(i32.const 0xff00ff00)`];
	return `(local.set $w${j} (i32.or ${and(`(i32.rotl ${word} (i32.const 8))`, even)} ${and(turned(get("t"), 8), odd)}))`;
}

/** The constants lie at byte 0; the state's eight words and the blocks where the caller says. */
function programText(): string {
	const constants = roundConstants()
		.flatMap((word) => places(4).map((i) => `\\${((word >>> (8 * i)) & 255).toString(16).padStart(2, "0")}`))
		.join("");
	const locals = [...places(8).map((i) => `v${i}`), ...places(16).map((i) => `w${i}`), "t", "k"];
	const state = (i: number): string => `(i32.load offset=${4 * i} (local.get $state))`;
	const lines = (of: readonly string[]): string => of.join("\n\t");
	return `(module
	(memory (export "memory") 2)
	(data (i32.const 0) "${constants}")
	(func (export "compress") (param $state i32) (param $from i32) (param $blocks i32)
	${lines(locals.map((name) => `(local $${name} i32)`))}
	(loop $next
	${lines(places(8).map((i) => `(local.set $v${i} ${state(i)})`))}
	${lines(places(16).map(loadWord))}
	(local.set $k (i32.const 0))
	(block $done (loop $rounds
	${lines(places(16).map(round))}
	(br_if $done (i32.eq (local.tee $k ${add(get("k"), "(i32.const 64)")}) (i32.const 256)))
	${lines(places(16).map(nextWord))}
	(br $rounds)))
	${lines(places(8).map((i) => `(i32.store offset=${4 * i} (local.get $state) ${add(state(i), get(`v${i}`))})`))}
	(local.set $from ${add(get("from"), "(i32.const 64)")})
	(br_if $next (local.tee $blocks (i32.sub (local.get $blocks) (i32.const 1)))))))`;
}

export async function sha256ProgramCode(): Promise<string> {
	const wabt = await loadWabt();
	const module = wabt.parseWat("sha256-program.wat", programText());
	const lines =
		Buffer.from(module.toBinary({}).buffer)
			.toString("base64")
			.match(/.{1,110}/g) ?? [];
	return `// Written by sha256-program.test-kit.ts: do not edit. In base64.
export const SHA256_PROGRAM_CODE = [
${lines.map((line) => `\t"${line}",\n`).join("")}].join("");
`;
}

if (import.meta.main) writeFileSync(codeFile, await sha256ProgramCode());
