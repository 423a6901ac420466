// Trains the network of digits.ts for so many segments on this machine's first GPU, proves all of them there
// as one run that hides what it is about (docs/zk.md §13), and wraps the run: the circuit as engines read it,
// its wires and Groth16's proof by the same engine (WRAPPER, WRAP), over a key of known secrets that it makes
// and powers of a known τ. What comes out is verified as anybody would.
//   node bench/zk/wrap.ts [segments, 64 unless told]     prints JSON
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createEngineClient } from "../../src/engine/client/create-engine-client.ts";
import { GIVEN } from "../../src/engine/client/open-prove-session.ts";
import { KEY_FORM } from "../../src/engine/client/open-wrap-session.ts";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { bigOf, bytesOf, R } from "../../src/protocol/maths/bn254.ts";
import { statementOf } from "../../src/provider/proofs/prove-segment.ts";
import { flatCircuit } from "../../src/verify/zk/run/flat-circuit.ts";
import { claimOf, type ReadRun, readRun } from "../../src/verify/zk/run/verify-run.ts";
import { verifyWrapped, wrapInputs, wrappedClaim } from "../../src/verify/zk/run/verify-wrapped.ts";
import { toldList } from "../../src/verify/zk/run/wrap-circuit.ts";
import { type SegmentStatement, statementHash } from "../../src/verify/zk/statement.ts";
import { exactMlpProgram } from "../../src/work/models/exact-mlp.ts";
import { elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { compilePlan, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { encodePlan } from "../../src/work/plan/encode-plan.ts";
import { enteringOf } from "../../src/work/plan/entering.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { stateHashOf } from "../../src/work/trace/commitments.ts";
import { digitPictures, SIDE } from "./digit-pictures.ts";

const segments = Number(process.argv[2] ?? 64);
const [ROWS, BATCH, K, CHUNK_BITS] = [8192, 64, 32, 22];
const SIZES = [SIDE * SIDE, ...new Array<number>(10).fill(1024), 10];
const SEED = new Uint8Array(32).fill(7);
const now = () => performance.now();
const secret = () => realEnvironment().randomBytes(32);
const scalar = () => bytesOf(bigOf(secret()) % R);
const say = (figure: object) => process.stdout.write(`${JSON.stringify(figure)}\n`);

const { pixels, labels } = digitPictures(0, ROWS);
const train = {
	features: Int16Array.from(pixels, (one) => Math.round((one * 512) / 255)),
	labels: Int16Array.from(labels),
};
const setting = { batch: BATCH, steps: segments * K, k: K, seed: SEED, order: "cube" as const };
const model = exactMlpProgram(SIZES, setting, 11, train, 64);
const { program } = model;
const plan = compilePlan(program, CHUNK_BITS) as ZkPlan;
const stateTensors = program.tensors.flatMap(({ kind, dims }, i) =>
	kind === "state" ? [{ i, bytes: 8 * dims.reduce((a, b) => a * b, 1) }] : [],
);
/** Blinders of the chunks of a group. */
const blindersOf = (group: number) => Array.from({ length: plan.groups[group]!.chunks }, scalar);

async function provenRun() {
	const { clockUs, randomBytes } = realEnvironment();
	const { path: command } = await findEngine(hostPlatform());
	const link = await createLocalLink({ command, args: ["--no-disk", "--work"], env: process.env });
	const client = await createEngineClient(link, { clockUs, readyDeadlineMs: 60_000, randomBytes });
	const { devices } = await client.hello({ deadlineMs: 60_000 });
	const device = Math.max(
		0,
		devices.findIndex(({ kind }) => kind === "gpu"),
	);
	const session = await client.openWork({ device, program: encodeProgram(program), seed: SEED });
	const roots: Record<string, string> = {};
	for (const [name, elements] of Object.entries(model.given)) {
		const tensor = program.tensors.findIndex((one) => one.name === name);
		await session.write(tensor, elementsToBytes(elements));
		roots[name] = bytesToHex(await session.root(tensor));
	}
	const stateAfter = async (segment: number) => {
		let hash = "";
		await session.run({
			...{ first: segment, count: 1 },
			onSegment: ({ stateRoots, resultRoots }) => {
				hash = bytesToHex(stateHashOf(program, segment + 1, stateRoots, resultRoots));
			},
		});
		const weights: Uint8Array[] = [];
		for (const { i, bytes } of stateTensors) weights.push(await session.fetch(i, 0, bytes));
		return { hash, weights };
	};
	const prover = await client.openProof({ device, plan: encodePlan(plan, true) });
	await prover.give(GIVEN.features, elementsToBytes(enteringOf(plan, train.features)));
	await prover.give(GIVEN.labels, elementsToBytes(Int32Array.from(train.labels)));
	const data = [blindersOf(0), blindersOf(1)];
	let [before, own] = [await stateAfter(0), blindersOf(2)];
	const statements: SegmentStatement[] = [];
	const parts: Uint8Array[] = [];
	let ms = 0;
	for (let segment = 1; segment <= segments; segment++) {
		const [after, next] = [await stateAfter(segment), blindersOf(3)];
		const started = now();
		for (const [l, weights] of before.weights.entries()) await prover.give(GIVEN.weights + l, weights);
		const blinders = [...data, own, next, blindersOf(4), blindersOf(5)].flat();
		await prover.give(GIVEN.weights + plan.links.length, Buffer.concat(blinders));
		const points = (await prover.commit({ seed: SEED, firstStep: (segment - 1) * K }))!;
		const named = {
			features: roots.features!,
			labels: roots.labels!,
			stateBefore: before.hash,
			stateAfter: after.hash,
		};
		const statement = statementOf({ plan, seed: SEED, segment, chainId: 0n, job: 0n, roots: named }, "dev", points);
		statements.push(statement);
		parts.push((await prover.provePart({ statement: statementHash(statement), nonce: scalar() }))!);
		ms += now() - started;
		[before, own] = [after, next];
	}
	const started = now();
	const fold = (await prover.fold({ secret: secret() }))!;
	say({
		figure: "run",
		segments,
		"parts ms": Math.round(ms),
		"fold ms": Math.round(now() - started),
		device: devices[device]!.name,
	});
	await prover.release();
	await session.release();
	return { statements, proof: Buffer.concat([...parts, fold]), client, device };
}

const { statements, proof, client, device } = await provenRun();
let started = now();
const lap = () => {
	const ms = Math.round(now() - started);
	started = now();
	return ms;
};
const { bytes: circuit, inputs: count, wires, log2 } = flatCircuit(plan, segments);
say({ figure: "circuit", bytes: circuit.length, wires, log2, ms: lap() });
const wrapper = await client.openWrap({ device, form: KEY_FORM.known, circuit, inputs: count, wires, log2 });
const sent = lap();
const words = bytesToHex((await wrapper.key())!).match(/.{64}/g)!;
say({ figure: "key of known secrets", "circuit to engine ms": sent, ms: lap() });
const read = readRun(plan, statements, proof) as ReadRun;
const claim = claimOf(plan, read)!;
const claimed = wrappedClaim(read, claim);
const inputs = wrapInputs(statements, read.told, claim, claimed);
const numbers = Buffer.concat([...inputs, ...toldList(read.told), ...read.scalars].map(bytesOf));
say({ figure: "what the circuit is told", "proof bytes": proof.length, ms: lap() });
for (let time = 0; time < 3; time++) {
	// When key, wires and sums began; the first time brings the key to the card.
	const begun: number[] = [];
	lap();
	const groth16 = (await wrapper.wrap({ numbers, r: scalar(), s: scalar(), onProgress: () => begun.push(now()) }))!;
	const [keyAt, wiresAt, sumsAt] = begun as [number, number, number];
	const parts = { "key to card ms": wiresAt - keyAt, "wires ms": sumsAt - wiresAt, "proof ms": now() - sumsAt };
	const rounded = Object.fromEntries(Object.entries(parts).map(([name, ms]) => [name, Math.round(ms)]));
	say({ figure: "wrap", ...rounded, ms: lap() });
	const wrapped = Buffer.concat([claimed, groth16, read.opening]);
	const verdict = verifyWrapped(plan, statements, wrapped, { key: words, isDevAllowed: true });
	say({ figure: "wrapped run", verdict: verdict.status, bytes: wrapped.length, "verify ms": lap() });
	if (verdict.status !== "valid") process.exitCode = 1;
}
await client.close();
