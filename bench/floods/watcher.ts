// Somebody else, who only reads: health from one address, ordinary pages from another, at an even pace
// whatever the answers take. A process of its own, started by startChild: what the flooder burns is not its
// lateness. Half of the requests dial anew.
import { Agent, get } from "node:http";
import { answerParent } from "../../tests/network/child-program.ts";
import { quantile } from "../network-result.ts";
import type { Known } from "./service.ts";

export interface Seen {
	readonly count: number;
	readonly p50Ms: number | null;
	readonly p99Ms: number | null;
	readonly mostMs: number | null;
	/** Not answered with 200, by what came instead. */
	readonly failed: Readonly<Record<string, number>>;
}

export interface Watched {
	readonly health: Seen;
	readonly reads: Seen;
}

const EVERY_MS = 40;
/** Whoever waits so long has not been answered. */
const GIVE_UP_MS = 10_000;

interface Log {
	readonly ms: number[];
	readonly failed: Record<string, number>;
}
let stop = () => {};
let logs: Readonly<Record<keyof Watched, Log>>;

/** Resolves with what came, after the last byte. */
function ask(url: string, localAddress: string, agent: Agent | false): Promise<string> {
	return new Promise((resolve) => {
		const request = get(url, { localAddress, agent, timeout: GIVE_UP_MS }, (answer) => {
			answer.resume().on("end", () => resolve(String(answer.statusCode)));
			answer.on("error", () => resolve("cut"));
		});
		request.on("timeout", () => request.destroy(new Error("late")));
		request.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
	});
}

const seen = ({ ms, failed }: Log): Seen => ({
	count: ms.length,
	p50Ms: quantile(ms, 0.5),
	p99Ms: quantile(ms, 0.99),
	mostMs: quantile(ms, 1),
	failed,
});

answerParent({
	start({ url, known }: { readonly url: string; readonly known: Known }) {
		logs = { health: { ms: [], failed: {} }, reads: { ms: [], failed: {} } };
		const agents = { health: new Agent({ keepAlive: true }), reads: new Agent({ keepAlive: true }) };
		const addresses = { health: "127.0.0.2", reads: "127.0.0.3" };
		const [provider] = known.providerIds;
		const pages = [
			"/v1/network",
			"/v1/providers?limit=50",
			`/v1/providers/${provider}`,
			"/v1/probes?limit=50",
			`/v1/probes/${known.probeId}`,
			"/v1/offers?limit=20",
		];
		const counts = { health: 0, reads: 0 };
		const once = async (what: keyof Watched) => {
			const number = counts[what]++;
			const path = what === "health" ? "/v1/health" : pages[number % pages.length]!;
			const fromMs = performance.now();
			const log = logs[what];
			const came = await ask(url + path, addresses[what], number % 4 < 2 && agents[what]);
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
		return { health: seen(logs.health), reads: seen(logs.reads) };
	},
});
