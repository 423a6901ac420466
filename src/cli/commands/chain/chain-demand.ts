// `assay chain demand` and `assay chain expire`: anyone asks a host on chain, with a deposit, to open what it
// answered to a roll call; and ends demands that nobody answered, which cuts the host's stake. What the
// validator tells of the call is checked against the chain and by building its tree again. Page:
// docs/chain.md §3.
import { randomInt } from "node:crypto";
import type { ApiClient } from "../../../api/create-client.ts";
import { type Contracts, callOf, read } from "../../../chain/contracts/contracts.ts";
import { demandCall, expireCall, readCommitted, readOwnDemands } from "../../../chain/contracts/roll-call.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import type { Hex } from "../../../protocol/chain/hex.ts";
import { keccakTree } from "../../../protocol/hash/keccak-tree.ts";
import { rollLeaf } from "../../../protocol/roll-call/roll-call.ts";
import { withChain } from "../../chain/chain-connection.ts";
import { readKeyOption } from "../../chain/chain-key.ts";
import { requireGas } from "../../chain/require-funds.ts";
import type { CliIo } from "../../command.ts";
import { usageError } from "../../options.ts";
import { printResult } from "../../print/print-result.ts";
import { formatTokens } from "../../print/tokens.ts";
import type { ChainCommandValues } from "./options.ts";

const DEMAND_GAS = 300_000n;
const LEAF_ELEMENTS = 512;
const hex = (digits: string): Hex => `0x${digits}`;
const unknown = (why: string) => new AssayError("ROLL_CALL_UNKNOWN", why);

export async function demand(values: ChainCommandValues, io: CliIo, number: string, provider: string): Promise<number> {
	const [url] = values.validator ?? [];
	if (url === undefined || !/^https?:\/\//.test(url)) throw usageError("demand needs --validator, the URL of its API");
	if (!/^\d{1,15}$/.test(number)) throw usageError(`a roll call is the number of a block, not '${number}'`);
	const { createApiClient } = await import("../../../api/create-client.ts");
	const api = createApiClient({ baseUrl: url });
	const key = await readKeyOption(values, io);
	return withChain(values, io, async ({ contracts, account: own }) => {
		const account = key ?? own;
		const { commitment, proof } = await provenLeaf(contracts, api, Number(number), provider);
		const { m, n, rounds } = proof.leaf;
		// Nobody foresees which: whoever computed all of it can open any.
		const place = {
			round: randomInt(rounds),
			leaf: randomInt(m * (n / LEAF_ELEMENTS)),
			column: randomInt(LEAF_ELEMENTS),
		};
		await requireGas(contracts.client, account, DEMAND_GAS);
		const call = await demandCall(contracts, commitment, proof, place);
		await sendCall(contracts.client, account, call);
		const { answerSeconds } = await read(contracts, "rollCall", "params");
		const until = new Date(Date.now() + 1000 * answerSeconds).toISOString();
		const found = { account: proof.leaf.account, device: proof.leaf.device, place, deposit: call.value, until };
		return printResult(values, io, found, () => {
			const where = `round ${place.round}, leaf ${place.leaf}, element ${place.column}`;
			return `${where} of device ${found.device} of ${found.account}: to be opened until ${until}\n`;
		});
	});
}

/** One leaf of a host, with all that the contract wants to see of it. */
async function provenLeaf(contracts: Contracts, api: ApiClient, call: number, provider: string) {
	const [{ b1 }, { hosts }] = await Promise.all([
		api.getRollCall({ params: { call } }),
		api.getRollCallLeaves({ params: { call } }),
	]);
	const host = hosts.find(({ providerId }) => providerId.startsWith(provider.toLowerCase()));
	if (host === undefined) throw unknown(`no provider ${provider} has answered roll call ${call} in time`);
	const [answer] = host.answers;
	const [signature] = host.accountSignatures ?? [];
	if (answer === undefined || signature === undefined)
		throw unknown("its answer names no account: nothing can be demanded of it");
	const leaves = hosts.flatMap(({ providerId, account, answers }) =>
		answers.map((one) => rollLeaf({ key: providerId, account }, one)),
	);
	const tree = keccakTree(leaves);
	const committed = await readCommitted(contracts, { from: b1 ?? 0, to: b1 ?? 0 }, { call });
	const made = committed.find(({ root, count }) => root === hex(bytesToHex(tree.root)) && count === tree.count);
	if (made === undefined) throw unknown("what the validator tells of this call is not what the chain has of it");
	const { hash: beta } = await contracts.client.viem.getBlock({ blockNumber: BigInt(call) });
	const { end, last, ...sizes } = answer;
	const leaf = {
		...sizes,
		providerKey: hex(host.providerId),
		account: host.account as Hex,
		end: hex(end),
		last: hex(last),
	};
	const { validator, root, count, blockNumber } = made;
	return {
		commitment: { validator, call: BigInt(call), root, count, beta, blockNumber: BigInt(blockNumber) },
		proof: {
			leaf,
			index: host.leaf,
			path: tree.path(host.leaf).map((one) => hex(bytesToHex(one))),
			signature: signature as Hex,
		},
	};
}

/**
 * Of this account: those whose time is over. Deposits, also of answered demands of the account's own, are
 * paid out.
 */
export async function expire(values: ChainCommandValues, io: CliIo): Promise<number> {
	const key = await readKeyOption(values, io);
	return withChain(values, io, async ({ contracts, account: own }) => {
		const account = key ?? own;
		const { client } = contracts;
		const nowS = (await client.viem.getBlock({ blockTag: "pending" })).timestamp;
		const over = (await readOwnDemands(contracts, account.address)).filter(({ until }) => until < nowS);
		await requireGas(client, account, DEMAND_GAS);
		for (const one of over) await sendCall(client, account, expireCall(contracts, one));
		const owed = await read(contracts, "rollCall", "owedTo", account.address);
		if (owed > 0n) await sendCall(client, account, callOf(contracts, "rollCall", "withdraw", account.address));
		return printResult(values, io, { expired: over.length, paid: String(owed) }, () => {
			const accounts = over.map(({ leaf }) => `nobody answered for ${leaf.account}\n`).join("");
			return `${accounts}${formatTokens(owed)} coins were paid out\n`;
		});
	});
}
