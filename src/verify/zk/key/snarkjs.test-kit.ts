// A small circuit of our own, proven by snarkjs with a key that snarkjs made. Started as a program it writes
// tests/zk/snarkjs-groth16.json and .zkey anew; snarkjs is no dependency of the project: name the folder in
// which it was installed (`npm i snarkjs@0.7.6`) as ASSAY_SNARKJS, and let biome format the file.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Circuit, createCircuit } from "../run/circuit.ts";
import { r1csFile, wtnsFile } from "./r1cs-file.ts";
import type { SnarkjsKey, SnarkjsProof } from "./snarkjs-form.ts";

export const VECTOR = fileURLToPath(new URL("../../../../tests/zk/snarkjs-groth16.json", import.meta.url));

/** The key of it, with the prover's part. */
export const ZKEY = fileURLToPath(new URL("../../../../tests/zk/snarkjs-groth16.zkey", import.meta.url));

export interface SnarkjsVector {
	readonly key: SnarkjsKey;
	readonly proof: SnarkjsProof;
	readonly inputs: readonly string[];
}

/** x³ + x² and x + y are what is said. */
export function smallCircuit(): Circuit {
	const circuit = createCircuit();
	const [cubes, sum] = [circuit.input(), circuit.input()];
	const [x, y] = [circuit.secret(), circuit.secret()];
	const { field } = circuit;
	const square = field.times(x, x);
	field.areSame(field.sum([field.times(square, x), square]), cubes);
	field.areSame(field.sum([x, y]), sum);
	return circuit;
}

/** Null: it is not installed. */
// biome-ignore lint/suspicious/noExplicitAny: it has no types.
export function loadSnarkjs(): any {
	const folder = process.env.ASSAY_SNARKJS;
	if (folder === undefined) return null;
	return createRequire(join(folder, "package.json"))("snarkjs");
}

/** Powers, key with a contribution, proof: all by snarkjs. */
// biome-ignore lint/suspicious/noExplicitAny: it has no types.
export async function provenBySnarkjs(snarkjs: any): Promise<SnarkjsVector & { readonly zkey: Uint8Array }> {
	const folder = mkdtempSync(join(tmpdir(), "assay-snarkjs-"));
	const at = (name: string) => join(folder, name);
	try {
		const circuit = smallCircuit();
		writeFileSync(at("c.r1cs"), r1csFile(circuit));
		writeFileSync(at("w.wtns"), wtnsFile(circuit.valuesOf([150n, 12n], [5n, 7n])));
		const curve = await snarkjs.curves.getCurveFromName("bn128");
		await snarkjs.powersOfTau.newAccumulator(curve, 4, at("0.ptau"));
		await snarkjs.powersOfTau.contribute(at("0.ptau"), at("1.ptau"), "assay", "assay");
		await snarkjs.powersOfTau.preparePhase2(at("1.ptau"), at("2.ptau"));
		await snarkjs.zKey.newZKey(at("c.r1cs"), at("2.ptau"), at("0.zkey"));
		await snarkjs.zKey.contribute(at("0.zkey"), at("1.zkey"), "assay", "assay");
		const key = await snarkjs.zKey.exportVerificationKey(at("1.zkey"));
		const { proof, publicSignals } = await snarkjs.groth16.prove(at("1.zkey"), at("w.wtns"));
		await curve.terminate();
		return { key, proof, inputs: publicSignals, zkey: readFileSync(at("1.zkey")) };
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const { key, proof, inputs, zkey } = await provenBySnarkjs(loadSnarkjs());
	writeFileSync(ZKEY, zkey);
	writeFileSync(VECTOR, `${JSON.stringify({ key, proof, inputs }, null, "\t")}\n`);
	process.exit(0);
}
