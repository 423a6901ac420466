// The provers of `assay up`: on the embedded chain two of them prove the segments of every zk job, so that
// one is seen to be paid. Each has a key, an account and a folder of its own, and asks the API like any
// stranger.
import { join } from "node:path";
import { createApiClient } from "../../api/create-client.ts";
import { createChainClient } from "../../chain/node/chain-client.ts";
import { httpRpc, withRetries } from "../../chain/node/http-rpc.ts";
import { makeFolder } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { loadKeyFile } from "../../platform/key-file.ts";
import { TEST_PARAMETERS } from "../../protocol/proof-powers.ts";
import type { ProofNews } from "../../provider/proofs/prove-jobs.ts";
import { chainFolder, contractsPath, readContracts } from "../../validator/settlement/home.ts";
import { fillTrial } from "../jobs/job-account.ts";
import { openProver, proofLine, proverAccount } from "../prove/open-prover.ts";
import { lookAgain } from "./look-again.ts";
import type { Live } from "./offer-machine.ts";
import type { UpReport } from "./up-report.ts";

const PROVERS = 2;

/** Null: no chain of its own. Gives the function that stops them. */
export async function startUpProvers(
	{ io, dataDir, url, running, isEmbedded, say, paint }: Live,
	report: UpReport,
	tell: (event: ProofNews) => void,
): Promise<(() => Promise<void>) | null> {
	const addresses =
		running.chain === null || !isEmbedded ? null : await readContracts(contractsPath(chainFolder(dataDir), false));
	if (running.chain === null || addresses === null) return null;
	const rpc = withRetries(httpRpc(running.chain.url), { patienceMs: 30_000 });
	const client = await createChainClient(rpc, { confirmations: 1, pollMs: 50 });
	const stopping = new AbortController();
	const { randomBytes } = realEnvironment();
	const start = async (number: number) => {
		const folder = join(dataDir, `prover-${number}`);
		await makeFolder(folder);
		const file = { name: "the prover's key", elsewhere: "Name with --data", randomBytes };
		const signer = await loadKeyFile({ ...file, path: join(folder, "prover.key") });
		const chain = { contracts: { client, addresses }, account: await proverAccount(folder), url: running.chain!.url };
		await fillTrial(chain, 0n, chainFolder(dataDir));
		const prover = openProver({
			...{ api: createApiClient({ baseUrl: url, signer, audience: running.key }), chain, folder, io },
			...{ powers: null, leastMicros: 0, signal: stopping.signal, values: { device: undefined, engine: undefined } },
			onEvent(news) {
				tell(news);
				if (news.state !== "proving") report.line(`prover-${number}  ${proofLine(news, paint)}`);
			},
		});
		return lookAgain(() => prover.round());
	};
	const provers: Awaited<ReturnType<typeof start>>[] = [];
	for (let number = 1; number <= PROVERS; number++) provers.push(await start(number));
	say(
		paint.dim(`provers   ${PROVERS}: zk jobs are proven here, over ${TEST_PARAMETERS}: to try it, not to rely on it`),
	);
	return async () => {
		stopping.abort();
		await Promise.all(provers.map((one) => one.stop()));
	};
}
