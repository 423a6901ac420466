// A validator is asked what a job costs. A network that has just started on this machine may still be proving
// its hosts: then "nobody fits" is no answer yet, and is asked for again. Where no host can come any more it
// is the answer, at once.
import type { ApiClient } from "../../api/create-client.ts";
import type { JobQuote } from "../../api/types.ts";
import { sleep } from "../../platform/abortable.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import type { CliIo } from "../command.ts";
import { LIAR_JOB, submitCommand } from "../up/first-job.ts";
import { hostsReady } from "../up/hosts-ready.ts";
import type { UpFile } from "../up/up-file.ts";

export type QuoteBody = Parameters<ApiClient["quoteJob"]>[0]["body"];
type Asking = Pick<ApiClient, "quoteJob" | "listJobHosts" | "network">;

/**
 * How long a network that has just started on this machine may take to prove its providers, which come one
 * after the other.
 */
const PROVEN_WITHIN_MS = 300_000;
const LOOK_EVERY_MS = 2000;

interface AskedBy {
	readonly io: Pick<CliIo, "err" | "interrupted" | "cwd" | "env">;
	/** The network of this machine, where it is the one that is asked. */
	readonly up: UpFile | null;
	readonly nowMs?: () => number;
	readonly everyMs?: number;
}

export async function askQuote(body: QuoteBody, api: Asking, by: AskedBy): Promise<JobQuote> {
	const { io, up, everyMs = LOOK_EVERY_MS, nowMs = realEnvironment().nowMs } = by;
	for (let isTold = false; ; isTold = true) {
		try {
			return await api.quoteJob({ body });
		} catch (error) {
			if (!(error instanceof AssayError) || error.code !== "JOB_NO_PROVIDER") throw error;
			const coming = up === null || nowMs() > up.startedAtMs + PROVEN_WITHIN_MS ? null : await comingTo(up, body, api);
			if (coming === null) throw up?.isLiar ? liarRefusal(error, up, io) : error;
			if (!isTold) io.err.write(`  no host fits yet: this network has just started, and ${coming}\n`);
			if (!(await sleep(everyMs, io.interrupted))) throw error;
		}
	}
}

/** What this network still waits for, in words; null: nothing that would help. */
async function comingTo({ providers }: UpFile, { spec: { method } }: QuoteBody, api: Asking): Promise<string | null> {
	const ready = await hostsReady(api);
	if (ready >= providers) return null;
	const wanted = methodOf(method).runners(method.count);
	// Hosts of others may be there too.
	const there = (await api.network()).providers.connected;
	if (wanted > Math.max(providers, there)) return null;
	return providers === 1 ? "its host is not proven yet" : `${ready} of its ${providers} hosts are proven`;
}

/** Why so few are there, and what that network is for. */
function liarRefusal(error: AssayError, { dataDir }: UpFile, io: Pick<CliIo, "cwd" | "env">): AssayError {
	const why = "this network was started with --liar: its one host lies, and the others come once it is convicted";
	return new AssayError(error.code, `${error.message}; ${why}`, {
		hint: `Hand in a job that convicts it first: ${submitCommand(LIAR_JOB, dataDir, io)}`,
		cause: error,
	});
}
