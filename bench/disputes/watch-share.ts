// A watcher of a thousand claims that looks at one in twenty: how long does it take, and does it accuse
// anybody who is right? The real watcher with the real engine, claims as a validator shows them. One claim in
// a hundred is false; now and then the watcher's own engine errs once.
//   bash scripts/node.sh bench/disputes/watch-share.ts [--claims 1000] [--share 0.05] [--err-every 7]
// Results: bench/results/network-watch-share-….json. Exit code 1 when something is wrong.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { nameBlob } from "../../src/api/blob-transfer.ts";
import type { ApiClient } from "../../src/api/create-client.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex, concatBytes } from "../../src/protocol/bytes/bytes.ts";
import { type OwnEngine, ownEngine } from "../../src/validator/jobs/evidence/own-engine.ts";
import type { Runner } from "../../src/validator/jobs/evidence/toy-claim.test-kit.ts";
import { openWatchBook } from "../../src/validator/jobs/watch/watch-book.ts";
import { createWatcher } from "../../src/validator/jobs/watch/watcher.ts";
import { rootBytes } from "../../src/work/runs/journal.ts";
import { claimHash, resultRootOf, segmentTree } from "../../src/work/trace/commitments.ts";
import { makeRuns, specWithBlobs } from "../../tests/jobs/chaos/chaos-claims.ts";
import { writeNetworkResult } from "../network-result.ts";

const { values } = parseArgs({
	options: {
		claims: { type: "string", default: "1000" },
		share: { type: "string", default: "0.05" },
		"err-every": { type: "string", default: "7" },
	},
});
const [claims, share, errEvery] = [Number(values.claims), Number(values.share), Number(values["err-every"])];
const FALSE_EVERY = 100;
const folder = mkdtempSync(join(tmpdir(), "assay-watch-share-"));
const { honest, liars } = await makeRuns(folder, 1);
const liar = liars[0]!;
const { spec, blobs } = await specWithBlobs(honest);
const bytes = new Map(blobs.map(({ root, hex }) => [root, Buffer.from(hex, "hex")]));

async function shown({ run, segments }: Runner, i: number) {
	const job = (i + 1).toString(16).padStart(64, "0");
	const list = concatBytes(...run.states);
	const { blob } = await nameBlob({ bytes: list });
	bytes.set(blob.root, Buffer.from(list));
	const resultRoot = resultRootOf(run.program, rootBytes(run.journal.segments.at(-1)!.results));
	const segmentRoot = segmentTree(run.states).root;
	const claim = { ...run.claim, chainId: 0n, escrow: new Uint8Array(20), job: BigInt(`0x${job}`), part: 0, first: 0 };
	return {
		...{ hash: bytesToHex(claimHash({ ...claim, segments, segmentRoot, resultRoot })), job, part: 0, attempt: 1 },
		...{ provider: "cd".repeat(32), state: "claimed", atMs: i, segmentRoot: bytesToHex(segmentRoot) },
		...{ resultRoot: bytesToHex(resultRoot), spec, escrow: null, account: null, begin: null, segments },
		ends: { last: bytesToHex(run.states.at(-1)!), states: blob, state: [], results: [] },
		terms: { program: bytesToHex(claim.program), inputs: bytesToHex(claim.inputs), segments, parts: 1 },
	};
}

const cases = new Map<string, Awaited<ReturnType<typeof shown>> & { readonly isFalse: boolean }>();
for (let i = 0; i < claims; i++) {
	const isFalse = i % FALSE_EVERY === FALSE_EVERY - 1;
	const one = await shown(isFalse ? liar : honest, i);
	cases.set(one.hash, { ...one, isFalse });
}

const asked = new Map<string, number>();
const api = {
	async *rows(_: string, { query }: { readonly query: { readonly state: string } }) {
		if (query.state === "claimed") yield* cases.values();
	},
	getClaimCase: async ({ params }: { readonly params: { readonly hash: string } }) => cases.get(params.hash)!,
	getJobBlob: async ({ params, query }: { params: { root: string }; query: { first: number; length: number } }) =>
		new Uint8Array(bytes.get(params.root)!.subarray(query.first, query.first + query.length)),
	askClaim: async ({ params }: { readonly params: { readonly hash: string } }) => {
		asked.set(params.hash, (asked.get(params.hash) ?? 0) + 1);
		throw new AssayError("NO_ANSWER", "it says nothing");
	},
} as unknown as ApiClient;

const command = (await findEngine(hostPlatform())).path;
const lying = fileURLToPath(new URL("../../src/engine/lying-engine.ts", import.meta.url));
const good = ownEngine({ command, args: [] }, realEnvironment());
const bad = ownEngine({ command: process.execPath, args: [lying, command, "3"] }, realEnvironment());
let [starts, errs] = [0, 0];
/** Errs in one number of segment 3, and never twice in a row: as a bit that flips does. */
const engine: OwnEngine = {
	...good,
	start(path) {
		starts += 1;
		if (starts % errEvery !== 0) return good.start(path);
		errs += 1;
		return bad.start(path);
	},
};
const told = new Map<string, string[]>();
const watcher = createWatcher({
	...{ api, chain: null, folder: join(folder, "watch"), isDry: true, engine, nowMs: Date.now, sleep: async () => {} },
	book: await openWatchBook(join(folder, "watch", "watched.jsonl"), Date.now),
	...{ secret: new Uint8Array(32).fill(5), policy: { jobs: "share", sharePpm: share * 1e6 }, patienceMs: 0 },
	onEvent: ({ claim, state }) => told.set(claim, [...(told.get(claim) ?? []), state]),
});
const begunMs = performance.now();
await watcher.round();
await watcher.settle();
const seconds = (performance.now() - begunMs) / 1000;
const wrong: string[] = [];
let [right, unsteady, found] = [0, 0, 0];
for (const [hash, states] of told) {
	const { isFalse } = cases.get(hash)!;
	const end = states.at(-1);
	if (end === "right") right += 1;
	if (end === "unsteady") unsteady += 1;
	if (end === "silent" || end === "false") found += 1;
	if (!isFalse && (asked.has(hash) || !["right", "unsteady"].includes(end!)))
		wrong.push(`${hash}: right, and ${states}`);
	if (isFalse && end === "right") wrong.push(`${hash}: false, and taken for right`);
}
if (errs > 0 && unsteady === 0) wrong.push("the engine erred and nobody noticed");
const report = {
	...{ claims, share, looked: told.size, right, unsteady, found, engineStarts: starts, engineErrs: errs },
	...{ seconds: Number(seconds.toFixed(1)), secondsAClaim: Number((seconds / told.size).toFixed(2)) },
	...{ claimsAnHour: Math.round((3600 * claims) / seconds), wrong },
};
rmSync(folder, { recursive: true, force: true });
console.log(JSON.stringify(report, null, "\t"));
console.log(writeNetworkResult("watch-share", report));
process.exit(wrong.length === 0 ? 0 : 1);
