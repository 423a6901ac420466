// `assay prove`: a prover until Ctrl-C, a line for each segment. docs/zk.md §12.
import { join, resolve } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { sleep } from "../../platform/abortable.ts";
import { makeFolder } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { powersOfChain } from "../../protocol/proof-powers.ts";
import { chainFolder } from "../../validator/settlement/home.ts";
import { type apiOptions, customerFolder, openApi } from "../api-connection.ts";
import { dataDirOf } from "../chain/chain-connection.ts";
import { readKeyOption } from "../chain/chain-key.ts";
import type { keyOptions, nodeOptions } from "../chain/chain-options.ts";
import { openCustomerChain, ownersDoor } from "../chain/customer-chain.ts";
import type { ChainActor } from "../chain/provider-chain.ts";
import type { CliIo } from "../command.ts";
import type { engineOptions } from "../job-engine.ts";
import { fillTrial } from "../jobs/job-account.ts";
import type { Values } from "../options.ts";
import { paintFor } from "../print/paint.ts";
import { openProver, proofLine, proverAccount } from "./open-prover.ts";

type AccountValues = Values<typeof apiOptions> & Values<typeof nodeOptions> & Values<typeof keyOptions>;

interface ProveValues extends AccountValues, Values<typeof engineOptions> {
	readonly "least-price": number;
	readonly powers: string | undefined;
	readonly once: boolean;
	readonly every: number;
	readonly folder: string | undefined;
}

const MICROS = 1_000_000;

/** The embedded chain of one's own trial network gives the account its gas. Throws CHAIN_MISSING. */
async function openActor(values: AccountValues, io: CliIo, api: ApiClient, folder: string): Promise<ChainActor> {
	const found = await api.getChain();
	if (found.chain === null)
		throw codedError("CHAIN_MISSING", "this validator has no chain: nobody is paid for proofs there");
	const named = await readKeyOption(values, io);
	const actor = await openCustomerChain(named ?? (await proverAccount(folder)), values, io, {
		getChain: async () => found,
	});
	const isTrial = named === null && found.chain.isEmbedded && (await ownersDoor(values, io)) !== null;
	if (isTrial) await fillTrial(actor, 0n, chainFolder(dataDirOf(values, io)));
	return actor;
}

export async function runProve(values: ProveValues, io: CliIo): Promise<number> {
	const paint = paintFor(io.out, io.env);
	const say = (text: string) => void (values.json || io.out.write(`${text}\n`));
	const folder = values.folder === undefined ? join(customerFolder(io.env), "prove") : resolve(io.cwd, values.folder);
	await makeFolder(folder);
	const signal = io.interrupted;
	const api = await openApi(values, io, "customer");
	return api.ask(async (client) => {
		const chain = await openActor(values, io, client, folder);
		const prover = openProver({
			...{ api: client, chain, folder, values, io, signal },
			powers: values.powers === undefined ? null : resolve(io.cwd, values.powers),
			leastMicros: Math.round(values["least-price"] * MICROS),
			onEvent: (news) => io.out.write(`${values.json ? JSON.stringify(news) : proofLine(news, paint)}\n`),
		});
		say(`proving   ${api.url}, chain ${chain.contracts.addresses.chainId}`);
		say(paint.dim(`          over ${powersOfChain(chain.contracts.addresses.chainId)}`));
		say(paint.dim(`          account ${chain.account.address}, which is paid and sends; it needs coins for gas`));
		while (!signal.aborted) {
			await prover.round().catch((error: unknown) => {
				// A validator or a node that is away for a while is asked again.
				if (!(error instanceof AssayError)) throw error;
				if (!signal.aborted) io.err.write(`assay: ${error.message} [${error.code}]\n`);
			});
			if (values.once) break;
			await sleep(1000 * values.every, signal);
		}
		return 0;
	});
}
