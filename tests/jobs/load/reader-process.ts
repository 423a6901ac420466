// A process that reads the API of a validator under load, at an even rate, whatever the answers take: alone,
// so that what it measures is the validator and the machine, not what customers and hosts do beside it.
// Started by startChild.
import { type ApiClient, createApiClient } from "../../../src/api/create-client.ts";
import { createNodeSigner } from "../../../src/platform/node-ed25519.ts";
import { answerParent } from "../../network/child-program.ts";

export interface StartReading {
	readonly urls: readonly string[];
	/** Of the validator. */
	readonly audience: string;
	/** The customers' secret keys, each 32 times one byte: jobs are theirs. */
	readonly customers: readonly number[];
	readonly perS: number;
}

export interface Reads {
	/** Milliseconds, by route. */
	readonly took: Readonly<Record<string, readonly number[]>>;
	readonly failed: number;
}

/** A job, with the customer that it is of. */
export interface ReadJob {
	readonly id: string;
	readonly customer: number;
}

const ROUTES: Readonly<Record<string, (client: ApiClient, id: string) => Promise<unknown>>> = {
	getJob: (client, id) => client.getJob({ params: { id } }),
	listJobs: (client) => client.listJobs({ query: { limit: 50 } }),
	getJobDraws: (client, id) => client.getJobDraws({ params: { id } }),
	listClaims: (client) => client.listClaims({ query: { limit: 50 } }),
	listProviders: (client) => client.listProviders({ query: { limit: 50 } }),
	network: (client) => client.network({}),
};
const NAMES = Object.keys(ROUTES);

const jobs: ReadJob[] = [];
let took: Record<string, number[]> = {};
let failed = 0;

answerParent({
	start({ urls, audience, customers, perS }: StartReading) {
		const clients = new Map(
			customers.map((seed, i) => {
				const signer = createNodeSigner(new Uint8Array(32).fill(seed));
				return [seed, createApiClient({ baseUrl: urls[i % urls.length]!, signer, audience, retries: 0 })];
			}),
		);
		let number = 0;
		setInterval(() => {
			const job = jobs[(7 * number) % Math.max(1, jobs.length)];
			if (job === undefined) return;
			const name = NAMES[number++ % NAMES.length]!;
			const beganMs = performance.now();
			ROUTES[name]!(clients.get(job.customer)!, job.id).then(
				() => {
					took[name] ??= [];
					took[name].push(performance.now() - beganMs);
				},
				() => {
					failed += 1;
				},
			);
		}, 1000 / perS);
	},
	/** What was read since this was asked last. */
	take(news: readonly ReadJob[]): Reads {
		jobs.push(...news);
		const taken = { took, failed };
		took = {};
		failed = 0;
		return taken;
	},
});
