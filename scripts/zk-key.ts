// Keys of wrapped run proofs, docs/zk.md §13.
//   node scripts/zk-key.ts circuit PROGRAM SEGMENTS OUT.r1cs           the circuit of a program's runs, for
//     other programs too
//   node scripts/zk-key.ts first CIRCUIT.r1cs POWERS.ptau OUT.key      a key to which nobody has contributed
//   node scripts/zk-key.ts contribute IN.key OUT.key                   with a secret that is drawn here, used
//     once and not kept
//   node scripts/zk-key.ts verify CIRCUIT.r1cs POWERS.ptau IN.key      whether it is the circuit's, with its
//     contributions
//   node scripts/zk-key.ts export IN PROGRAM SEGMENTS OUT.json         the verifier's part as snarkjs has it,
//     with the plan and the number of segments that it is for; IN is a .key, or what snarkjs exported
// Sums of points are plain here: for circuits of some thousand rows. Keys of large ones are made of the .r1cs
// file by snarkjs.
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { bytesToHex } from "../src/protocol/bytes/bytes.ts";
import { R } from "../src/protocol/maths/bn254.ts";
import { type KeyChain, keyChainOf, keyChainToText } from "../src/verify/zk/key/key-file.ts";
import {
	contribute,
	firstHash,
	firstKey,
	keyFault,
	nextHash,
	type ProvingKey,
	rowsOf,
	verifyingWords,
} from "../src/verify/zk/key/phase2.ts";
import { readPtau } from "../src/verify/zk/key/powers-file.ts";
import { r1csFile, readR1cs } from "../src/verify/zk/key/r1cs-file.ts";
import { readKeyFile, toKeyFile } from "../src/verify/zk/key/snarkjs-form.ts";
import { wrapCircuit } from "../src/verify/zk/run/wrap-circuit.ts";
import { wrapKeyHash } from "../src/verify/zk/run/wrap-key.ts";
import { planHash, type ZkPlan } from "../src/work/plan/compile-plan.ts";
import { provingPlan } from "../src/work/plan/proving-plan.ts";
import { openProgram } from "../src/work/program/open-program.ts";

type Words = readonly string[];

function refuse(sentence: string): never {
	process.stderr.write(`${sentence}\n`);
	process.exit(1);
}

const chainOf = (text: string, path: string): KeyChain =>
	keyChainOf(text) ?? refuse(`${path} is no key, or a point of it is none.`);
const chainAt = (path: string): KeyChain => chainOf(readFileSync(path, "utf8"), path);

function planAt(path: string): ZkPlan {
	const program = openProgram(readFileSync(path));
	if (!program.ok) refuse(`${path} is no program: ${program.fault.message}`);
	const plan = provingPlan(program.value.program);
	return "code" in plan ? refuse(plan.message) : plan;
}

/** What a circuit is of: a plan, by its hash, and a number of segments. */
function circuitOf(path: string, segments: string) {
	if (!/^[1-9][0-9]{0,3}$/.test(segments)) refuse("SEGMENTS is a number from 1 to 9999.");
	return { plan: bytesToHex(planHash(planAt(path))), segments: Number(segments) };
}

/** What follows from a circuit and powers. */
function firstAt([circuit, powers]: Words): ProvingKey {
	const system = readR1cs(readFileSync(circuit!)) ?? refuse(`${circuit} is no circuit over BN254's scalars.`);
	const found = readPtau(readFileSync(powers!), rowsOf(system));
	return "code" in found ? refuse(`${powers}: ${found.detail} (${found.code}).`) : firstKey(system, found);
}

/** Of twice as many bits as it needs, so that none is likelier. */
const drawn = (): bigint => 1n + (BigInt(`0x${randomBytes(64).toString("hex")}`) % (R - 1n));

const COMMANDS: Readonly<Record<string, readonly [count: number, run: (words: Words) => void]>> = {
	circuit: [
		3,
		([path, segments, out]) => {
			const { segments: count } = circuitOf(path!, segments!);
			writeFileSync(out!, r1csFile(wrapCircuit(planAt(path!), count)));
		},
	],
	first: [
		3,
		(words) => {
			const key = firstAt(words);
			writeFileSync(words[2]!, keyChainToText({ start: firstHash(key), key, contributions: [] }));
		},
	],
	contribute: [
		2,
		([from, out]) => {
			const { start, key, contributions } = chainAt(from!);
			const made = contribute(key, contributions.reduce(nextHash, start), { secret: drawn(), blind: drawn() });
			const all = [...contributions, made.contribution];
			writeFileSync(out!, keyChainToText({ start, key: made.key, contributions: all }));
			process.stdout.write(`contribution ${all.length}: ${bytesToHex(all.reduce(nextHash, start))}\n`);
		},
	],
	verify: [
		3,
		(words) => {
			const [first, { key, contributions }] = [firstAt(words), chainAt(words[2]!)];
			const fault = keyFault(first, contributions, key);
			if (fault !== null) refuse(`The key is wrong: ${fault}.`);
			let hash = firstHash(first);
			for (const [i, one] of contributions.entries()) {
				hash = nextHash(hash, one);
				process.stdout.write(`contribution ${i + 1}: ${bytesToHex(hash)}\n`);
			}
			process.stdout.write("The key is that of circuit and powers. Ask contributors for their hashes.\n");
		},
	],
	export: [
		4,
		([from, path, segments, out]) => {
			const text = readFileSync(from!, "utf8");
			const words = readKeyFile(text)?.words ?? verifyingWords(chainOf(text, from!).key);
			const bound = { ...circuitOf(path!, segments!), words };
			writeFileSync(out!, `${JSON.stringify(toKeyFile(bound), null, "\t")}\n`);
			process.stdout.write(`key ${wrapKeyHash(bound)}\n`);
		},
	],
};

const [name, ...words] = process.argv.slice(2);
const [count, run] =
	COMMANDS[name ?? ""] ?? refuse(`Commands: ${Object.keys(COMMANDS).join(", ")}; see scripts/zk-key.ts.`);
if (words.length !== count) refuse(`${name} takes ${count} words; see scripts/zk-key.ts.`);
run(words);
