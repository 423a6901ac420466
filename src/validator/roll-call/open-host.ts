// Opens what a host answered to a roll call: runs the same work again on its engine, over an ordinary
// channel, and asks for the places that β₂ has drawn. Gives one public file a device. The engine's frames are
// bounded as in any probe; what is in the files is judged by verify/roll-call, from their bytes alone.
import { createEngineClient, type EngineClient } from "../../engine/client/create-engine-client.ts";
import { openRollAnswer, type RolledOpenings, runRollAnswer } from "../../engine/client/roll-call-run.ts";
import type { Link } from "../../engine/links/link.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { makeRollCallFile, type RollCallBody } from "../../protocol/roll-call/roll-file.ts";
import { untilFree } from "../agents/until-free.ts";
import { toRecord } from "../probe/probe-engine.ts";
import { openProviderLink, withDeadline } from "../probing/open-provider-link.ts";
import type { ValidatorContext } from "../validator-context.ts";
import type { CommittedTree, TreeEntry } from "./committed-tree.ts";

/** All that the files of one call have in common. */
export interface OpenedCall {
	readonly beta0: Uint8Array;
	readonly beta2: Uint8Array;
	readonly stated: Pick<RollCallBody, "chain" | "call" | "beacon" | "committed" | "validator">;
	readonly tree: Pick<CommittedTree, "proofOf">;
}

export interface HostFile {
	readonly device: number;
	readonly file: Uint8Array;
}

type OpenContext = Pick<ValidatorContext, "config" | "env" | "agents">;

const READY_MS = 30_000;
/** Other validators open too, one after the other, and a probe may run. */
const BUSY_EVERY_MS = 500;

/**
 * Throws AssayError: what the host refused with, or ROLL_CALL_FAILED when it does not come to its own answer
 * again.
 */
export async function openHost(context: OpenContext, call: OpenedCall, entry: TreeEntry): Promise<readonly HostFile[]> {
	const { env, config } = context;
	const { openMs } = config.rollCalls;
	const provider = { id: entry.providerId, link: "agent", target: "" } as const;
	// Its own words, rather than that the time is over.
	const patience = { env, patienceMs: openMs - 2 * BUSY_EVERY_MS, everyMs: BUSY_EVERY_MS };
	const open = (): Promise<Link> =>
		untilFree(() => openProviderLink(context, provider, bytesToHex(env.randomBytes(16))), patience);
	const link = await withDeadline(open, { totalMs: openMs, after: env.after, onDeadline: () => {} });
	const { clockUs, randomBytes } = env;
	const client = await createEngineClient(link, { clockUs, readyDeadlineMs: READY_MS, randomBytes });
	try {
		return await Promise.all(entry.reply.answers.map((_, i) => openDevice(client, call, entry, { i, openMs })));
	} finally {
		await client.close();
	}
}

async function openDevice(
	client: EngineClient,
	call: OpenedCall,
	entry: TreeEntry,
	{ i, openMs }: { readonly i: number; readonly openMs: number },
): Promise<HostFile> {
	const { beta0, beta2 } = call;
	const { host, reply } = entry;
	const { end, last, ...spec } = reply.answers[i]!;
	const within = { deadlineMs: openMs };
	const again = await runRollAnswer(client, i + 1, { beta0, host, spec }, within);
	// The file would say so too; this says it before places are shown.
	if (again.answer.end !== end || again.answer.last !== last)
		throw new AssayError("ROLL_CALL_FAILED", `device ${spec.device} does not come to what it answered`);
	const opened = await openRollAnswer(client, i + 1, { beta2, key: host.key, spec }, within);
	return { device: spec.device, file: makeRollCallFile(statedOf(call, entry, i), again.roots, asRecords(opened)) };
}

/** What the file of this host's i-th answer says beside what was opened. */
export function statedOf({ stated, tree }: OpenedCall, entry: TreeEntry, i: number) {
	const { host, leaves, reply } = entry;
	const { end: _, last, ...spec } = reply.answers[i]!;
	return {
		...stated,
		tree: tree.proofOf(entry, i),
		host: { ...host, signature: reply.signature, leaves: leaves.map(bytesToHex) },
		answer: { ...spec, last },
	};
}

function asRecords({ products, digests, kept }: RolledOpenings) {
	return { products: products.map(toRecord), digests: digests.map(toRecord), kept: kept.map(toRecord) };
}
