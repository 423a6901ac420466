// The watcher of `assay up`: on the embedded chain somebody runs every optimistic claim again, so that a lie
// of whoever joins is seen to be convicted. It has a key, an account and a folder of its own, and asks the
// API like any stranger.
import { join } from "node:path";
import { createApiClient } from "../../api/create-client.ts";
import { createChainClient } from "../../chain/node/chain-client.ts";
import { httpRpc, withRetries } from "../../chain/node/http-rpc.ts";
import { findEngine, hostPlatform } from "../../engine/builds.ts";
import { makeFolder } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { loadKeyFile } from "../../platform/key-file.ts";
import type { WatchEvent } from "../../validator/jobs/watch/watcher.ts";
import { chainFolder, contractsPath, readContracts } from "../../validator/settlement/home.ts";
import { fillTrial } from "../jobs/job-account.ts";
import { openWatcher, watcherAccount } from "../watch/open-watcher.ts";
import { watchLine } from "../watch/watch-line.ts";
import { lookAgain } from "./look-again.ts";
import type { Live } from "./offer-machine.ts";
import type { UpReport } from "./up-report.ts";

/** Jobs of a trial network are small; one that is not is left to its customer. */
const MOST_MINUTES = 5;
const GAS_A_DAY = 100_000_000;

/** Null: no chain of its own. Gives the function that stops it. */
export async function startUpWatcher(
	{ dataDir, url, running, isEmbedded, say, paint }: Live,
	report: UpReport,
	tell: (event: WatchEvent) => void,
): Promise<(() => Promise<void>) | null> {
	const contractsFile = contractsPath(chainFolder(dataDir), false);
	const addresses = running.chain === null || !isEmbedded ? null : await readContracts(contractsFile);
	if (running.chain === null || addresses === null) return null;
	const folder = join(dataDir, "watch");
	await makeFolder(folder);
	const { randomBytes } = realEnvironment();
	const file = { name: "the watcher's key", elsewhere: "Name with --data", randomBytes };
	const signer = await loadKeyFile({ ...file, path: join(folder, "watcher.key") });
	const stopping = new AbortController();
	const client = await createChainClient(withRetries(httpRpc(running.chain.url), { patienceMs: 30_000 }), {
		...{ confirmations: 1, pollMs: 50 },
	});
	const chain = { contracts: { client, addresses }, account: await watcherAccount(folder), url: running.chain.url };
	await fillTrial(chain, 0n, chainFolder(dataDir));
	const watcher = await openWatcher({
		...{ api: createApiClient({ baseUrl: url, signer, audience: running.key }), chain, folder },
		engine: { command: (await findEngine(hostPlatform())).path, args: [] },
		...{ policy: { jobs: "all", sharePpm: 0 }, isDry: false, mostMinutes: MOST_MINUTES, gasADay: GAS_A_DAY },
		signal: stopping.signal,
		onEvent(event) {
			tell(event);
			if (event.state !== "checking" && event.state !== "closed") report.line(`watcher   ${watchLine(event, paint)}`);
		},
	});
	say(paint.dim("watcher   optimistic jobs are run again here; whoever lied loses its bond"));
	const looking = lookAgain(() => watcher.round(stopping.signal));
	return async () => {
		stopping.abort();
		await looking.stop();
		await watcher.settle();
	};
}
