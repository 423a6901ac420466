// The real engine with several devices: the CPU shown as three (peers, each alone, all at once) and its disk,
// through the whole probe; and what it refuses to read. GPUs, where there are any, are asked as well and
// nothing is said of them here.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, test } from "node:test";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient } from "../src/engine/client/create-engine-client.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { ERROR_CODE } from "../src/engine/wire/frame-table.ts";
import type { ChallengeSpec, GemmSpec, HostClaim } from "../src/protocol/probe/evidence.ts";
import { decodeEvidence } from "../src/protocol/probe/evidence-codec.ts";
import { type ProbeOptions, runProbe } from "../src/validator/probe/run-probe.ts";
import type { Plan } from "../src/verify/hardware/plan/probe-plan.ts";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { SIGNER } from "./toy/probe-toy.ts";

let enginePath = "";
before(async () => {
	enginePath = (await findEngine(hostPlatform())).path;
});

const link = (...args: string[]) => createLocalLink({ command: enginePath, args, env: process.env });
const clockUs = () => performance.now() * 1000;
const random = (size: number) => new Uint8Array(randomBytes(size));

function options(args: readonly string[], more: Partial<ProbeOptions>): ProbeOptions {
	return {
		openLink: () => link(...args),
		target: "local",
		quick: true,
		sustainMs: 0,
		signer: SIGNER,
		clockUs,
		nowMs: () => Date.now(),
		randomBytes: random,
		...more,
	};
}

/**
 * Dear bytes: a round of half a MiB takes a core some 0.3 s and a disk a few ms, whatever else the test
 * machine does.
 */
const DEAR: GemmSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 256,
	n: 1024,
	k: 65536,
	rounds: 2,
	keep: 2,
	samples: 8,
};

/** Asks stages that are made once the claim is known, one after the other. */
function stagesPlan(make: (claim: HostClaim) => ChallengeSpec[][]): Plan {
	return (seen) => {
		const specs = make(seen.claim)[seen.steps.length];
		if (specs === undefined) return { act: "finish" };
		return { act: "stage", name: `stage ${seen.steps.length}`, specs, deadlineMs: 600_000, hold: true };
	};
}

const cpusOf = (claim: HostClaim) => claim.devices.flatMap(({ kind }, i) => (kind === "cpu" ? [i] : []));
const diskOf = (claim: HostClaim) => claim.devices.findIndex(({ kind }) => kind === "disk");

/** Of what each CPU device must have when all were asked at once and each alone. */
function missingFigures({ verdict, claim }: Awaited<ReturnType<typeof runProbe>>): string[] {
	assert.ok(verdict.status === "valid", JSON.stringify(verdict));
	const cpus = cpusOf(claim!);
	return cpus.flatMap((device) => {
		const names: string[] = verdict.figures.filter((one) => one.device === device).map(({ name }) => name);
		const peers = cpus.filter((other) => other !== device).map((other) => `peer.bandwidth.${other}`);
		const wanted = ["gemm.int8", "gemm.int8.alone", "scaling.int8", "fma.fp32", ...peers];
		return wanted.filter((name) => !names.includes(name)).map((name) => `device ${device}: ${name}`);
	});
}

test("the CPU as three devices by the default plan: at once, a table of peers, each alone", async () => {
	// A machine that is busy otherwise slows one device and not another: then they get products of different
	// sizes, or one is through before the next is asked, and no two runs can be compared. It is tried again.
	let result = await runProbe(options(["--cpu-devices", "3"], {}));
	for (let tries = 1; tries < 8 && missingFigures(result).length > 0; tries++)
		result = await runProbe(options(["--cpu-devices", "3"], {}));
	assert.ok(result.verdict.status === "valid", JSON.stringify(result.verdict));
	assert.equal(cpusOf(result.claim!).length, 3);
	assert.deepEqual(missingFigures(result), []);
	assert.ok(!result.verdict.findings.some(({ code }) => code === "STAGE_APART"));
	const one = await runProbe(options(["--no-disk"], {}));
	assert.ok(one.verdict.status === "valid");
	assert.ok(!one.verdict.figures.some(({ name }) => /peer|alone|scaling|disk/.test(name)));
});

test("the disk gives back what the CPU made; what was spoiled on the way is seen", async () => {
	const plan = stagesPlan((claim) => {
		const [device] = cpusOf(claim) as [number];
		const disk = diskOf(claim);
		assert.notEqual(disk, -1, "the engine shows the disk of the folder for temporary files");
		return [
			[{ ...DEAR, device }],
			[{ kind: "copy", device: disk, of: 0, newest: 1, samples: 2 }],
			[{ kind: "stream", device: disk, of: 0, newest: 1, passes: 3, samples: 6 }],
		];
	});
	const result = await runProbe(options([], { plan }));
	assert.ok(result.verdict.status === "valid", JSON.stringify(result.verdict));
	const names = result.verdict.figures.map(({ name }) => name);
	assert.deepEqual(names, ["gemm.int8", "disk.write", "disk.stored", "disk.read"]);
	const decoded = decodeEvidence(result.evidence!);
	assert.ok(decoded.ok);
	// Attachments: roots and openings of the gemm, then of the copy and the stream. Any of the last six spoiled
	// is caught.
	const { length } = result.evidence!;
	for (const back of [10, 3000, 20_000]) {
		const spoiled = result.evidence!.map((byte, i) => (i === length - back ? byte ^ 1 : byte));
		assert.equal(verifyEvidence(spoiled).status, "invalid");
	}
});

test("what the engine refuses to read", async () => {
	const opened = await link("--cpu-devices", "2");
	const client = await createEngineClient(opened, { clockUs, readyDeadlineMs: 600_000, randomBytes: random });
	const o = { deadlineMs: 600_000 };
	const claim = await client.hello(o);
	const [first, second] = cpusOf(claim) as [number, number];
	const disk = diskOf(claim);
	const { m, n, rounds, keep } = DEAR;
	const gemm = { session: 1, device: first, precision: "int8", m, n, k: 128, rounds, keep, seed: random(32) } as const;
	assert.equal((await client.gemm(gemm, o)).end, "complete");
	const stream = { session: 1, reader: second, newest: 1, passes: 2, nonce: random(32) };
	const own = await client.stream({ ...stream, reader: first }, o);
	const peer = await client.stream(stream, o);
	assert.deepEqual([peer.end, peer.roots.length], ["complete", 2]);
	assert.deepEqual(peer.roots[0]?.root, own.roots[0]?.root, "the same bytes, whoever reads them");
	const refusal = async (r: Partial<typeof stream>) => (await client.stream({ ...stream, ...r }, o)).engineError?.code;
	assert.equal(await refusal({ reader: disk }), ERROR_CODE.bad_request, "no copy there");
	assert.equal(await refusal({ reader: 999 }), ERROR_CODE.no_device);
	assert.equal(await refusal({ session: 7 }), ERROR_CODE.no_session);
	const copy = await client.copy({ session: 1, device: disk, newest: 1, nonce: stream.nonce }, o);
	assert.deepEqual([copy.end, copy.roots.length], ["complete", 1]);
	assert.deepEqual(copy.roots[0]?.root, own.roots[0]?.root, "digested while it was written");
	const back = await client.stream({ ...stream, reader: disk }, o);
	assert.deepEqual(back.roots[0]?.root, own.roots[0]?.root);
	assert.equal(await refusal({ reader: disk, newest: 2 }), ERROR_CODE.bad_request, "more than was copied");
	const toCpu = await client.copy({ session: 1, device: first, newest: 1, nonce: stream.nonce }, o);
	assert.equal(toCpu.end, "refused", "a processor is no disk");
	await client.close();
});

test("N5: when the owner allows no more writing today the disk is left out, and the probe is valid", async () => {
	for (const [args, isAsked] of [
		[["--disk-writes", "0"], false],
		[[], true],
	] as const) {
		const { verdict, evidence } = await runProbe(options(["--threads", "2", ...args], {}));
		assert.equal(verdict.status, "valid", JSON.stringify(verdict).slice(0, 300));
		const decoded = decodeEvidence(evidence!);
		assert.ok(decoded.ok);
		const kinds = decoded.evidence.envelope.body.challenges.map(({ spec }) => spec.kind);
		assert.equal(kinds.includes("copy"), isAsked, kinds.join(" "));
	}
});
