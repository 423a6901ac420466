// Somebody else, who only reads: health from one address, ordinary pages from another, at an even pace
// whatever the answers take. A process of its own, started by startChild: what the flooder burns is not its
// lateness. Half of the requests dial anew. Pages of a caller's own are asked for by a key of its own.
import { Agent, get } from "node:http";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import { answerParent } from "../../tests/network/child-program.ts";
import type { Watched } from "./seen.ts";
import { headersOf } from "./signed-request.ts";

export interface WatchTarget {
	readonly url: string;
	/** The validator's. */
	readonly key: string;
	/** Public ones, and a caller's own. */
	readonly pages: readonly string[];
	readonly ownPages?: readonly string[];
}

const EVERY_MS = 40;
/** Whoever waits so long has not been answered. */
const GIVE_UP_MS = 10_000;

let stop = () => {};
let logs: Watched;
const signer = createNodeSigner(crypto.getRandomValues(new Uint8Array(32)));

/** Resolves with what came, after the last byte. */
function ask(
	url: string,
	localAddress: string,
	agent: Agent | false,
	headers: Readonly<Record<string, string>>,
): Promise<string> {
	return new Promise((resolve) => {
		const request = get(url, { localAddress, agent, headers, timeout: GIVE_UP_MS }, (answer) => {
			answer.resume().on("end", () => resolve(String(answer.statusCode)));
			answer.on("error", () => resolve("cut"));
		});
		request.on("timeout", () => request.destroy(new Error("late")));
		request.on("error", (error: NodeJS.ErrnoException) => {
			// Closed by the server as it was taken from the idle ones: every client asks again.
			const isStale = request.reusedSocket && error.code === "ECONNRESET";
			resolve(isStale ? ask(url, localAddress, agent, headers) : (error.code ?? error.message));
		});
	});
}

answerParent({
	start(target: WatchTarget) {
		const { url, pages, ownPages = [] } = target;
		logs = { health: { ms: [], failed: {} }, reads: { ms: [], failed: {} } };
		const agents = { health: new Agent({ keepAlive: true }), reads: new Agent({ keepAlive: true }) };
		const addresses = { health: "127.0.0.2", reads: "127.0.0.3" };
		const all = [...pages, ...ownPages];
		const signed = (path: string) => {
			const { "content-length": _, ...headers } = headersOf({ target, signer, method: "GET", path }).headers;
			return headers;
		};
		const counts = { health: 0, reads: 0 };
		const once = async (what: keyof Watched) => {
			const number = counts[what]++;
			const path = what === "health" ? "/v1/health" : all[number % all.length]!;
			const headers = what === "reads" && ownPages.includes(path) ? signed(path) : {};
			const fromMs = performance.now();
			const log = logs[what];
			const came = await ask(url + path, addresses[what], number % 4 < 2 && agents[what], headers);
			log.ms.push(performance.now() - fromMs);
			if (came !== "200") log.failed[came] = (log.failed[came] ?? 0) + 1;
		};
		const timer = setInterval(() => {
			void once("health");
			void once("reads");
		}, EVERY_MS);
		stop = () => {
			clearInterval(timer);
			for (const agent of Object.values(agents)) agent.destroy();
		};
	},
	stop(): Watched {
		stop();
		return logs;
	},
});
