// What roll calls of 10⁴, 10⁵ and 10⁶ devices cost: docs/scale.md has the result.
//   bash scripts/node.sh bench/scale.ts [--most 1000000] [--write]
// Answers are made and signed, trees are built and files are checked for real, on one core. The file whose
// checking is timed was made by a real engine with the k of an H200; its products are smaller, so its paths
// are shorter, and their hashes are timed apart. What grows in proportion is measured on a part and
// multiplied; trees are built whole. --write keeps the result in bench/results/.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient } from "../src/engine/client/create-engine-client.ts";
import { openRollAnswer, runRollAnswer } from "../src/engine/client/roll-call-run.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";
import { DEFAULT_PARAMS } from "../src/market/params.ts";
import { requiredOfHost, rollCallDeadlineMs } from "../src/market/roll-call/roll-call-rules.ts";
import { realEnvironment } from "../src/platform/environment.ts";
import { createNodeSigner, isNodeSignature } from "../src/platform/node-ed25519.ts";
import { bytesToHex, concatBytes, u32 } from "../src/protocol/bytes/bytes.ts";
import { keccakTree } from "../src/protocol/hash/keccak-tree.ts";
import { nodeHash } from "../src/protocol/hash/merkle.ts";
import { sha256Of } from "../src/protocol/hash/tagged-hash.ts";
import { gemmLeaves, streamGroups } from "../src/protocol/probe/challenge-shape.ts";
import type { OpeningRecord } from "../src/protocol/probe/records.ts";
import {
	type RollAnswer,
	type RollHost,
	type RollSpec,
	rollAnswerHash,
	rollChallenges,
	rollLeaf,
} from "../src/protocol/roll-call/roll-call.ts";
import { makeRollCallFile, type RollCallBody } from "../src/protocol/roll-call/roll-file.ts";
import { planRollCall } from "../src/verify/roll-call/plan-roll-call.ts";
import { verifyRollCall } from "../src/verify/roll-call/verify-roll-call.ts";
import { writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({
	options: { most: { type: "string", default: "1000000" }, write: { type: "boolean", default: false } },
});
/** A call every 20 minutes on average, blocks of 12 s, hosts of eight cards. */
const CALL_S = 1200;
const BLOCK_MS = 12_000;
const HOST_DEVICES = 8;
const SIZES = [1e4, 1e5, 1e6].filter((devices) => devices <= Number(values.most));
/** Hosts whose answers are made, signed and stamped, and files that are checked. */
const HOSTS_TIMED = 1000;
const FILES_TIMED = 20;
/** What an H200 proves (bench/results/h200-2026-11-17-probes-again.json). */
const H200 = { opsPerS: 1.3e15, bytes: 143.6e9, freeBytes: 150e9 };

const env = realEnvironment();
const label = (text: string) => sha256Of(new TextEncoder().encode(text));
const BETA0 = label("the block that called");
const BETA2 = label("the block that the places are drawn from");
const CONTRACT = `0x${"44".repeat(20)}`;
const ACCOUNT = `0x${"22".repeat(20)}`;
const CALL = { chainId: 1, contract: CONTRACT, call: 1_000_000 };

/** Seconds. */
function timed(run: () => void): number {
	const startedAtMs = performance.now();
	run();
	return (performance.now() - startedAtMs) / 1000;
}

function h200Spec(): RollSpec {
	const figures = [
		{ device: 0, name: "gemm.int8", value: H200.opsPerS, unit: "op/s", challenge: 0 },
		{ device: 0, name: "memory.resident", value: H200.bytes, unit: "B", challenge: 0 },
	] as const;
	const devices = [{ kind: "gpu" as const, uuid: "" }];
	const deadlineMs = rollCallDeadlineMs(BLOCK_MS, DEFAULT_PARAMS);
	const [required] = requiredOfHost({ devices, figures, evidence: "" }, deadlineMs, DEFAULT_PARAMS);
	return planRollCall(required!, H200.freeBytes)!;
}

interface HostAnswer {
	readonly host: RollHost;
	readonly answers: readonly RollAnswer[];
	readonly signature: string;
}

/** As it stands in a message of the agent link. */
const messageOf = ({ host, answers, signature }: HostAnswer) =>
	JSON.stringify({ type: "called", call: CALL, account: host.account, answers, signature, accountSignatures: null });

function makeAnswer(number: number, spec: RollSpec): HostAnswer {
	const signer = createNodeSigner(label(`host ${number}`));
	const host = { key: signer.key, account: ACCOUNT };
	const answers = Array.from({ length: HOST_DEVICES }, (_, device) => {
		const [end, last] = ["end", "last"].map((what) => bytesToHex(label(`${what} ${number} ${device}`)));
		return { ...spec, device, end: end!, last: last! };
	});
	const leaves = answers.map((answer) => rollLeaf(host, answer));
	return { host, answers, signature: bytesToHex(signer.sign(rollAnswerHash(CALL, BETA0, leaves))) };
}

/**
 * What a validator does with an answer when it comes: reads it, makes its leaves, checks the host's
 * signature.
 */
function stamp(message: string, key: string): readonly Uint8Array[] {
	const { answers, account, signature } = JSON.parse(message) as HostAnswer & { readonly account: string };
	const leaves = answers.map((answer) => rollLeaf({ key, account }, answer));
	if (!isNodeSignature(key, signature, rollAnswerHash(CALL, BETA0, leaves))) throw new Error("a right one was refused");
	return leaves;
}

const stated = (host: RollHost, signature: string, leaf: Uint8Array, answer: RollAnswer, pathNodes: number) => {
	const filler = Array.from({ length: pathNodes }, (_, i) => label(`node ${i}`));
	const tree = keccakTree([leaf]);
	return {
		chain: { id: CALL.chainId, contract: CONTRACT },
		call: CALL.call,
		beacon: {
			kind: "block",
			called: { number: CALL.call, hash: bytesToHex(BETA0), atS: 1_800_000_000 },
			drawn: { number: CALL.call + 4, hash: bytesToHex(BETA2), atS: 1_800_000_048 },
		},
		committed: { number: CALL.call + 3, hash: bytesToHex(label("committed")), atS: 1_800_000_036 },
		validator: ACCOUNT,
		tree: { index: 0, count: 1, root: bytesToHex(tree.root), path: filler.map(bytesToHex) },
		host: { ...host, signature, leaves: [bytesToHex(leaf)] },
		answer: {
			...{ device: answer.device, m: answer.m, n: answer.n, k: answer.k },
			...{ rounds: answer.rounds, keep: answer.keep, last: answer.last },
		},
	} satisfies Omit<RollCallBody, "format" | "version">;
};

/** A valid file by the engine of this machine, with the k of the given answer. */
async function realFile(k: number): Promise<Uint8Array> {
	const { path } = await findEngine(hostPlatform());
	const client = await createEngineClient(await createLocalLink({ command: path, env: process.env }), {
		clockUs: env.clockUs,
		randomBytes: env.randomBytes,
		readyDeadlineMs: 30_000,
	});
	try {
		const signer = createNodeSigner(label("the real host"));
		const host = { key: signer.key, account: ACCOUNT };
		const claim = await client.hello({ deadlineMs: 30_000 });
		const device = claim.devices.findIndex(({ kind }) => kind === "cpu");
		const spec = { device, m: 128, n: 512, k, rounds: 8, keep: 8 };
		const within = { deadlineMs: 120_000 };
		const { answer, roots } = await runRollAnswer(client, 1, { beta0: BETA0, host, spec }, within);
		const opened = await openRollAnswer(client, 1, { beta2: BETA2, key: host.key, spec }, within);
		const records = (of: typeof opened.products): OpeningRecord[] =>
			of.map(({ path: bytes, ...rest }) => ({
				...rest,
				path: Array.from({ length: bytes.length / 32 }, (_, i) => bytes.subarray(32 * i, 32 * i + 32)),
			}));
		const leaf = rollLeaf(host, answer);
		const signature = bytesToHex(signer.sign(rollAnswerHash(CALL, BETA0, [leaf])));
		const openings = {
			products: records(opened.products),
			digests: records(opened.digests),
			kept: records(opened.kept),
		};
		return makeRollCallFile(stated(host, signature, leaf, answer, 0), roots, openings);
	} finally {
		await client.close();
	}
}

/**
 * Bytes of the file that an answer of these sizes gives, in a tree of 10⁶ leaves; and the hashes in its
 * paths.
 */
function fileOfSize(spec: RollSpec): { readonly bytes: number; readonly hashes: number } {
	const [gemm] = rollChallenges(spec);
	const deep = (leaves: number) => Math.ceil(Math.log2(leaves));
	const opening = (nodes: number): OpeningRecord => ({
		...{ round: 0, index: 0, leaf: new Uint8Array(1024) },
		path: Array.from({ length: nodes }, () => BETA0),
	});
	const products = Array.from({ length: 8 }, () => opening(deep(gemmLeaves(gemm))));
	const digests = Array.from({ length: 8 }, () => opening(deep(streamGroups(gemm, spec.rounds, 0))));
	const { host, answers, signature } = makeAnswer(0, spec);
	const answer = answers[0]!;
	const body = stated(host, signature, rollLeaf(host, answer), answer, 20);
	const all = answers.map((one) => bytesToHex(rollLeaf(host, one)));
	const roots = Array.from({ length: spec.rounds }, () => BETA0);
	const file = makeRollCallFile({ ...body, host: { ...body.host, leaves: all } }, roots, {
		...{ products, digests, kept: products },
	});
	const hashes = [...products, ...digests, ...products].reduce((sum, { path }) => sum + path.length, 20 + spec.rounds);
	return { bytes: file.length, hashes };
}

const spec = h200Spec();
const made = Array.from({ length: HOSTS_TIMED }, (_, i) => makeAnswer(i, spec));
const messages = made.map(messageOf);
const messageBytes = messages.reduce((sum, text) => sum + text.length, 0) / HOSTS_TIMED;
const stampS = timed(() => {
	for (const [i, message] of messages.entries()) stamp(message, made[i]!.host.key);
});
const file = await realFile(spec.k);
const check = () => {
	const verdict = verifyRollCall(file, null);
	if (verdict.status !== "valid") throw new Error(`${verdict.code} at ${verdict.where}: ${verdict.detail}`);
};
check();
const checkS =
	timed(() => {
		for (let i = 0; i < FILES_TIMED; i++) check();
	}) / FILES_TIMED;
const sized = fileOfSize(spec);
const hashS =
	timed(() => {
		for (let i = 0; i < 20_000; i++) nodeHash(BETA0, concatBytes(BETA2.subarray(4), u32(i)));
	}) / 20_000;
const verifyS = checkS + sized.hashes * hashS;
const gas = (
	JSON.parse(readFileSync(new URL("../contracts/gas.json", import.meta.url), "utf8")) as Record<string, number>
).rollCallCommit!;

const rows = SIZES.map((devices) => {
	const hosts = devices / HOST_DEVICES;
	const leaves = Array.from({ length: devices }, (_, i) => concatBytes(BETA0.subarray(4), u32(i)));
	const treeS = timed(() => void keccakTree(leaves).root);
	const round = (value: number) => Number(value.toPrecision(3));
	return {
		devices,
		answersMB: round((hosts * messageBytes) / 1e6),
		stampCoreS: round((hosts * stampS) / HOSTS_TIMED),
		treeS: round(treeS),
		pathNodes: Math.ceil(Math.log2(devices)),
		commitGas: gas,
		gasADay: Math.round((gas * 86_400) / CALL_S),
		openedMB: round((devices * sized.bytes) / 1e6),
		verifyCoreS: round(devices * verifyS),
		coresBusy: round((devices * verifyS) / CALL_S),
		filesGBADay: round((devices * sized.bytes * 86_400) / CALL_S / 1e9),
		rowsADay: Math.round((hosts * 86_400) / CALL_S),
	};
});
const result = {
	assumed: { callEveryS: CALL_S, blockMs: BLOCK_MS, hostDevices: HOST_DEVICES, card: "H200", spec },
	measured: {
		messageBytesAHost: Math.round(messageBytes),
		stampUsAHost: Math.round((1e6 * stampS) / HOSTS_TIMED),
		fileBytes: sized.bytes,
		verifyMsADevice: Number((1000 * verifyS).toFixed(2)),
	},
	rows,
};
console.log(JSON.stringify(result, null, 2));
if (values.write) console.log(writeNetworkResult("scale", result));
