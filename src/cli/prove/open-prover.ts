// A prover of this machine, for `assay prove` and `assay up`: its folder, its account, its engine. What it
// does is src/provider/proofs/.
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import type { Contracts } from "../../chain/contracts/contracts.ts";
import { accountOf, type ChainAccount } from "../../chain/sending/sign.ts";
import { makeFolder } from "../../platform/durable-file.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { loadAccountKey } from "../../platform/key-file.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { powersOf } from "../../provider/proofs/powers.ts";
import { createProver, type ProofNews } from "../../provider/proofs/prove-jobs.ts";
import type { CliIo } from "../command.ts";
import { type engineOptions, startJobEngine } from "../job-engine.ts";
import type { Values } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { shortId, shown } from "../print/table.ts";

/** The account that a prover sends from and is paid at, unless another one is named. */
export async function proverAccount(folder: string): Promise<ChainAccount> {
	const { randomBytes } = realEnvironment();
	const file = { name: "the prover's account on the chain", elsewhere: "Name with --folder", randomBytes };
	return accountOf(`0x${bytesToHex(await loadAccountKey({ ...file, path: join(folder, "prove-account.key") }))}`);
}

export interface ProverHome {
	readonly api: ApiClient;
	readonly chain: { readonly contracts: Contracts; readonly account: ChainAccount };
	readonly folder: string;
	/** Absolute; null: none was named. */
	readonly powers: string | null;
	readonly leastMicros: number;
	readonly values: Values<typeof engineOptions>;
	readonly io: CliIo;
	readonly signal: AbortSignal;
	readonly onEvent: (news: ProofNews) => void;
}

const REST_MS = 15_000;

export function openProver({ api, chain, folder, values, io, ...o }: ProverHome) {
	return createProver({
		...{ ...chain, api, signal: o.signal, onEvent: o.onEvent, leastMicros: o.leastMicros, restMs: REST_MS },
		...{ nowMs: realEnvironment().nowMs, folder: join(folder, "states") },
		powersFor: powersOf(chain.contracts.addresses.chainId, o.powers),
		async startEngine(store) {
			await makeFolder(store, 0o755);
			return startJobEngine(values, io, store);
		},
	});
}

const STYLES: Readonly<Record<ProofNews["state"], keyof Pick<Paint, "good" | "unsure" | "dim">>> = {
	...{ proving: "dim", proven: "good", taken: "dim", misled: "unsure", left: "dim", tree: "unsure", trouble: "unsure" },
};

export function proofLine({ job, segment, state, detail }: ProofNews, paint: Paint): string {
	const where = paint.dim(`job ${shortId(job)}${segment === null ? "" : `, segment ${segment}`}`);
	return `${paint[STYLES[state]](state.padEnd(8))}  ${where}${detail === "" ? "" : `  ${shown(detail, 300)}`}`;
}
