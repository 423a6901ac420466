// Opening the hosts of a roll call: by asking the host, or with what another validator has opened already.
// Whichever way a file came, it is put under our own commitment and judged from its bytes; what a peer gives
// decides nothing against a host.
import { readAccountFor } from "../../chain/contracts/registry.ts";
import { waitKey } from "../../market/roll-call/next-call-moves.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { RollAnswerRow } from "../../store/roll-calls.ts";
import { type CallActsContext, selfOf } from "./call-context.ts";
import type { CallGame, DrawnPlaces, LeftHost } from "./call-game.ts";
import { isAccountBound } from "./judge-reply.ts";
import { type HostFile, type OpenedCall, openHost } from "./open-host.ts";

type Outcome = Pick<RollAnswerRow, "state" | "code" | "files">;

/** Its line broke, or its program is being started again. */
const NOT_CONNECTED: ReadonlySet<string> = new Set(["AGENT_CLOSED", "PROVIDER_STOPPING"]);
/** Between two looks whether a host is connected again. */
const ABSENT_MS = 1000;
/** Between two questions to a peer that has nothing new; and after one that failed. */
const LIST_EVERY_MS = 3000;
const FAILED_MS = 30_000;

function openedCall(context: CallActsContext, game: CallGame): OpenedCall {
	const { block, stated: beacon } = game.drawn!;
	const chain = { id: game.chainId, contract: game.contract };
	return {
		...{ beta0: game.called.beta0, beta2: hexToBytes(block.hash, 32)!, tree: game.tree! },
		stated: { chain, call: game.call, beacon, committed: game.committed!, validator: selfOf(context) },
	};
}

/**
 * Whatever keeps a host from opening what it answered is the host's matter. Ours is tried again, and so is a
 * host that is not connected, until it could have dialled in again, and until every other validator could
 * have opened it.
 */
export async function open(context: CallActsContext, game: CallGame, id: string): Promise<void> {
	const { log, agents, elsewhere, env } = context;
	const host = game.left.get(id);
	if (host === undefined) return;
	const call = openedCall(context, game);
	let outcome: Outcome;
	try {
		if (await isUnbound(context, game, host)) return;
		const made = await (agents.has(id) ? openHost(context, call, host.entry) : elsewhere.open(call, host.entry));
		outcome = await judged(context, game.drawn!, host, made);
	} catch (error) {
		await context.pause(0);
		if (!(error instanceof AssayError)) throw error;
		const nowMs = env.nowMs();
		if (NOT_CONNECTED.has(error.code) && nowMs < game.drawn!.atMs + host.absentAfterMs)
			return void game.waits.set(waitKey.host(id), nowMs + ABSENT_MS);
		log.warn({ provider: id, code: error.code, detail: error.message }, "an answer was not opened");
		outcome = { state: "wrong", code: error.code, files: [] };
	}
	await settle(context, game, id, outcome);
}

/** From a peer. What it gives decides nothing against the host. */
export async function fetchOpening(
	context: CallActsContext,
	game: CallGame,
	{ host: id, from }: { readonly host: string; readonly from: string },
): Promise<void> {
	const { log, peers, env } = context;
	const host = game.left.get(id);
	const files = host?.listedBy.get(from);
	if (host === undefined || files === undefined || (await isUnbound(context, game, host))) return;
	const wrong = (why: string, fileMs = Number.POSITIVE_INFINITY) => {
		log.warn({ from, provider: id, why }, "a validator's opening of a roll call is of no use");
		game.waits.set(waitKey.file(from, id), env.nowMs() + fileMs);
		game.waits.set(waitKey.peer(from), env.nowMs() + FAILED_MS);
	};
	try {
		const made = await peers.fetch(from, files, openedCall(context, game), host.entry);
		if (made === null) return wrong("it does not have it");
		const outcome = await judged(context, game.drawn!, host, made);
		if (outcome.state !== "answered") return wrong(outcome.code ?? "");
		await settle(context, game, id, outcome);
	} catch (error) {
		await context.pause(0);
		wrong(error instanceof Error ? error.message : "failed", FAILED_MS);
	}
}

export async function list(context: CallActsContext, game: CallGame, from: string): Promise<void> {
	const { log, peers, env } = context;
	try {
		for (const [id, files] of await peers.list(from, game.call, game.left))
			game.left.get(id)?.listedBy.set(from, files);
		game.waits.set(waitKey.list(from), env.nowMs() + LIST_EVERY_MS);
	} catch (error) {
		await context.pause(0);
		log.info({ from, err: error }, "a validator does not say what it has opened");
		game.waits.set(waitKey.peer(from), env.nowMs() + FAILED_MS);
	}
}

/** An answer in the name of an account that did not sign it is wrong, whoever opens it. */
async function isUnbound(context: CallActsContext, game: CallGame, { id, entry }: LeftHost): Promise<boolean> {
	const accountFor = (signer: Hex) => readAccountFor(context.home.contracts, signer);
	if (await isAccountBound({ ...game, beta0: game.called.beta0 }, entry, accountFor)) return false;
	await settle(context, game, id, { state: "wrong", code: "CALL_ACCOUNT_SIGNATURE", files: [] });
	return true;
}

async function judged(
	{ pool, store, log, config }: CallActsContext,
	{ facts }: DrawnPlaces,
	{ id, entry }: LeftHost,
	made: readonly HostFile[],
): Promise<Outcome> {
	const files: Outcome["files"][number][] = [];
	const drand = [config.rollCalls.drandNetwork];
	for (const { device, file } of made) {
		const verdict = await pool.verifyRollCall(file, facts, { host: entry.host.key, drand });
		if (verdict.status !== "valid") {
			log.warn({ provider: id, device, verdict }, "an answer to a roll call is wrong");
			return { state: "wrong", code: verdict.code, files: [] };
		}
		files.push({ device, sha256: await store.evidence.keep(file), bytes: file.length });
	}
	return { state: "answered", code: null, files };
}

/** Once: the first that came to an end counts. */
async function settle({ store, hold }: CallActsContext, game: CallGame, id: string, outcome: Outcome): Promise<void> {
	if (!game.left.has(id)) return;
	await store.rollCalls.opened(game, id, outcome);
	game.rows.set(id, { ...game.rows.get(id)!, ...outcome });
	game.left.delete(id);
	hold.letGo(id);
}
