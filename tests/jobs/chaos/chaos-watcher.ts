// A watcher as a process that can be killed: the real one, with a real engine, a chain over HTTP, and a
// validator that shows all claims and relays nothing, so that every question goes on chain. What it did is a
// line each in its folder.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../../../src/api/create-client.ts";
import { readJobPart } from "../../../src/chain/contracts/job-escrow.ts";
import { findEngine, hostPlatform } from "../../../src/engine/builds.ts";
import { realEnvironment } from "../../../src/platform/environment.ts";
import { AssayError } from "../../../src/protocol/assay-error.ts";
import { ownEngine } from "../../../src/validator/jobs/evidence/own-engine.ts";
import { openWatchBook } from "../../../src/validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../../src/validator/jobs/watch/watch-chain.ts";
import { createWatcher } from "../../../src/validator/jobs/watch/watcher.ts";
import { answerParent } from "../../network/child-program.ts";
import { type ChaosPlan, contractsOf, PROVIDER, WATCHER } from "./chaos-claims.ts";

const EVERY_MS = 500;

async function watch(plan: ChaosPlan): Promise<void> {
	const { folder, spec, segments, claims } = plan;
	const contracts = await contractsOf(plan);
	const blobs = new Map(plan.blobs.map(({ root, hex }) => [root, Buffer.from(hex, "hex")]));
	const provider = "cd".repeat(32);
	const seen = ({ hash, job, segmentRoot, resultRoot, states, last, atMs, terms }: ChaosPlan["claims"][number]) => ({
		...{ hash, job, part: 0, attempt: 1, provider, state: "claimed", atMs, segmentRoot, resultRoot },
		...{ first: terms.start.slice(2), ends: { last, states, state: [], results: [] } },
	});
	const api = {
		async *rows(_: string, { query }: { readonly query: { readonly state: string } }) {
			if (query.state !== "claimed") return;
			for (const claim of claims) {
				const { state, attempt } = await readJobPart(contracts, BigInt(`0x${claim.job}`), 0);
				if (state === "claimed" && attempt === 1) yield seen(claim);
			}
		},
		getClaimCase: async ({ params }: { readonly params: { readonly hash: string } }) => {
			const claim = claims.find(({ hash }) => hash === params.hash)!;
			const { terms } = claim;
			const { chainId, jobEscrow } = contracts.addresses;
			return {
				...{ ...seen(claim), spec, firstSegment: 0, segments, begin: null, account: PROVIDER.address.toLowerCase() },
				escrow: { chainId, contract: jobEscrow.toLowerCase(), terms },
				terms: { program: terms.program.slice(2), inputs: terms.inputs.slice(2), segments, parts: 1 },
			};
		},
		getJobBlob: async ({ params, query }: { params: { root: string }; query: { first: number; length: number } }) => {
			const bytes = blobs.get(params.root)!;
			return new Uint8Array(bytes.subarray(query.first, query.first + query.length));
		},
		askClaim: () => Promise.reject(new AssayError("NO_ANSWER", "nobody relays it")),
	} as unknown as ApiClient;
	const book = await openWatchBook(join(folder, "watched.jsonl"), Date.now);
	const chain = await openWatchChain(contracts, WATCHER, { gasADay: 1e12, book });
	const watcher = createWatcher({
		...{ api, chain, folder, book, isDry: false, secret: new Uint8Array(32).fill(9) },
		engine: ownEngine({ command: (await findEngine(hostPlatform())).path, args: [] }, realEnvironment()),
		...{ policy: { jobs: "all", sharePpm: 0 }, patienceMs: 0, askEveryMs: EVERY_MS, nowMs: Date.now, sleep },
		onEvent: (event) => appendFileSync(join(folder, "events.jsonl"), `${JSON.stringify(event)}\n`),
	});
	for (;;) {
		await watcher.round();
		await sleep(EVERY_MS);
	}
}

answerParent({
	start: (plan: ChaosPlan) => {
		watch(plan).catch((error: unknown) => {
			appendFileSync(join(plan.folder, "events.jsonl"), `${JSON.stringify({ state: "ended", detail: `${error}` })}\n`);
			process.exit(1);
		});
	},
});
