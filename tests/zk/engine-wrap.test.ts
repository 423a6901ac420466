// Proofs of circuits by the engine's frames: keys as bytes, as snarkjs writes them and of known secrets; a
// run of two segments, wrapped; and what is refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { KEY_FORM, type OpenWrap } from "../../src/engine/client/open-wrap-session.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { bytesOf } from "../../src/protocol/maths/bn254.ts";
import { DEV_KEY, openProvingKey } from "../../src/provider/proofs/runs/proving-key.ts";
import { openWrapper } from "../../src/provider/proofs/runs/wrap-run.ts";
import { verifyGroth16 } from "../../src/verify/receipts/groth16.ts";
import { type SnarkjsVector, smallCircuit, VECTOR, ZKEY } from "../../src/verify/zk/key/snarkjs.test-kit.ts";
import { fromSnarkjsKey } from "../../src/verify/zk/key/snarkjs-form.ts";
import { plainFlat } from "../../src/verify/zk/run/flat-circuit.ts";
import { PLAN, provenRun, SEGMENTS, VECTOR as WRAPPED } from "../../src/verify/zk/run/run.test-kit.ts";
import { verifyWrapped } from "../../src/verify/zk/run/verify-wrapped.ts";
import { isDeep } from "../fuzz.test-kit.ts";
import { startProver } from "./engine-prover.test-kit.ts";

const { openWrap, close } = await startProver();
after(close);

interface Row {
	readonly name: string;
	readonly circuit: string;
	readonly key: string;
	readonly inputs: string;
	readonly secrets: string;
	readonly blinders: string;
	readonly proof: string;
}
const ROWS: readonly Row[] = JSON.parse(
	readFileSync(fileURLToPath(new URL("../../vectors/groth16.json", import.meta.url)), "utf8"),
);
const bytes = (text: string) => new Uint8Array(Buffer.from(text, "hex"));
const refusal = async (promise: Promise<unknown>): Promise<string> => {
	const error = await promise.then(
		() => null,
		(thrown: unknown) => thrown,
	);
	return error instanceof AssayError ? `${error.code} ${error.message}` : `none: ${error}`;
};

/** Of a row: how it is opened, the key's lists, and what is told. */
function opened({ circuit, key, inputs, secrets, blinders }: Row) {
	const all = bytes(key);
	const [count, wires, log2] = new Uint32Array(all.slice(0, 12).buffer) as unknown as [number, number, number];
	const of: OpenWrap = { device: 0, form: KEY_FORM.bigEndian, circuit: bytes(circuit), inputs: count, wires, log2 };
	const sizes = [576 + 64 * (count + 1), 64 * wires, 64 * wires, 128 * wires];
	let at = 12;
	const lists = [...sizes, 64 * (wires - count - 1), 64 * (2 ** log2 - 1)].map((size) => {
		at += size;
		return all.subarray(at - size, at);
	});
	const [r, s] = [bytes(blinders).subarray(0, 32), bytes(blinders).subarray(32)];
	return { of, lists, numbers: bytes(inputs + secrets), r, s };
}

test("proofs of the vectors' circuits, as often as asked, and their keys", async () => {
	for (const row of ROWS) {
		const { of, lists, ...told } = opened(row);
		const session = await openWrap(of);
		await session.giveKey(lists);
		for (let time = 0; time < 2; time++) assert.equal(bytesToHex((await session.wrap(told))!), row.proof, row.name);
		const key = bytesToHex((await session.key())!);
		const ends = bytesToHex(lists[0]!);
		assert.equal(key, ends.slice(0, 128) + ends.slice(384), row.name);
		await session.release();
	}
});

test("sizes, points, circuits and numbers that are not what was said are refused, and can be given anew", async () => {
	const { of, lists, ...told } = opened(ROWS[1]!);
	const refused = async (more: Partial<OpenWrap>) => refusal(openWrap({ ...of, ...more }));
	assert.match(await refused({ form: 3 as never }), /another form/);
	assert.match(await refused({ wires: 2 ** 26 + 1 }), /as many wires has no circuit/);
	assert.match(await refused({ wires: of.inputs }), /as many wires/);
	assert.match(await refused({ inputs: 1025, wires: 2000 }), /as many wires/);
	assert.match(await refused({ log2: 27 }), /as many constraints/);
	assert.match(await refused({ log2: 0 }), /as many constraints/);
	// More than any host of ours has.
	assert.match(await refused({ wires: 2 ** 26, log2: 26 }), /the proof needs \d+ bytes|other wires than were said/);
	assert.match(await refused({ wires: of.wires + 1 }), /other wires than were said/);
	assert.match(await refused({ inputs: of.inputs - 1 }), /other wires than were said/);
	assert.match(await refused({ log2: of.log2 + 1 }), /other constraints than were said/);
	assert.match(await refused({ circuit: of.circuit.subarray(0, -4) }), /fewer bytes/);
	const session = await openWrap(of);
	assert.match(await refusal(session.wrap(told)), /number 2 was not given whole/);
	const given = async (index: number, list: Uint8Array<ArrayBuffer>) =>
		refusal(session.giveKey(lists.with(index, list)));
	assert.match(await given(0, lists[0]!.subarray(0, -64)), /^TENSOR_SIZE/);
	assert.match(await given(0, new Uint8Array(lists[0]!.length).fill(1)), /^TENSOR_RANGE point 0 .* no curve/);
	assert.match(await given(1, new Uint8Array(lists[1]!.length).fill(255)), /^TENSOR_RANGE point 0/);
	await session.giveKey([]).then(async () => {
		// The ends came with the last try; a list is taken whole or not at all.
		assert.match(await refusal(session.giveKey(lists)), /^TENSOR_SIZE .* where \d+ of \d+ came/);
	});
	await session.release();
	const other = await openWrap(of);
	await other.giveKey(lists);
	assert.match(await refusal(other.wrap({ ...told, numbers: told.numbers.subarray(32) })), /number 1 was not given/);
	await other.release();
	const third = await openWrap(of);
	await third.giveKey(lists);
	assert.match(await refusal(third.wrap({ ...told, r: new Uint8Array(32).fill(255) })), /r or s is no scalar/);
	assert.match(await refusal(third.wrap({ ...told })), /^TENSOR_SIZE/);
	await third.release();
	const [one, two] = [await openWrap(of), await openWrap(of)];
	assert.match(await refusal(openWrap(of)), /2 keys at a time are the most/);
	await one.release();
	await two.release();
	const known = await openWrap({ ...of, form: KEY_FORM.known });
	assert.match(await refusal(known.giveKey(lists)), /made, not given/);
	await known.release();
});

test("a key that snarkjs made and keeps as a file: its own verifier's key takes our proof, and no other inputs", async () => {
	const circuit = smallCircuit();
	const { bytes: flat, inputs, wires, log2 } = plainFlat(circuit);
	const file = openProvingKey(ZKEY);
	assert.deepEqual(file.sizes, { inputs, wires, log2 });
	const session = await openWrap({ device: 0, form: file.form, circuit: flat, inputs, wires, log2 });
	await session.giveKey(file.lists());
	const told = (...list: readonly bigint[]) => new Uint8Array(Buffer.concat(list.map(bytesOf)));
	const [r, s] = [bytesOf(1234n), bytesOf(5678n)];
	const proof = (await session.wrap({ numbers: told(150n, 12n, 5n, 7n), r, s }))!;
	const { key } = JSON.parse(readFileSync(VECTOR, "utf8")) as SnarkjsVector;
	const words = fromSnarkjsKey(key);
	assert.equal(bytesToHex((await session.key())!), words.join(""));
	assert.equal(verifyGroth16(words, proof, [150n, 12n]), "true");
	assert.equal(verifyGroth16(words, proof, [150n, 13n]), "false");
	assert.match(await refusal(session.wrap({ numbers: told(151n, 12n, 5n, 7n), r, s })), /constraint \d+ does not hold/);
	await session.release();
});

test("a run of two segments, wrapped over a key of known secrets: the key is that of the reference, and the verifier takes it", {
	skip: isDeep ? false : "some 25 seconds of a core; tests/zk/wrapped-mlp.proof is such a proof",
}, async () => {
	const run = provenRun();
	const randomBytes = (count: number) => new Uint8Array(count).fill(3);
	const wrapper = (await openWrapper(PLAN, SEGMENTS, DEV_KEY, { openWrap, device: 0, randomBytes }))!;
	const { key } = JSON.parse(readFileSync(WRAPPED, "utf8")) as { readonly key: readonly string[] };
	assert.deepEqual(wrapper.key, key);
	const wrapped = (await wrapper.wrap(run))!;
	assert.equal(verifyWrapped(PLAN, wrapped.statements, wrapped.proof, { key, isDevAllowed: true }).status, "valid");
	await wrapper.close();
	const file = openProvingKey(ZKEY);
	assert.match(
		await refusal(openWrapper(PLAN, SEGMENTS, file, { openWrap, device: 0, randomBytes })),
		/^KEY_FILE the key is of another circuit/,
	);
});
