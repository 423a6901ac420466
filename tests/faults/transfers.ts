// Transfers of several accounts at once, by a pair of nodes of which one is up to 14 blocks behind, which
// forgets transactions, hands some on twice and loses answers. Every transfer has a receiver of its own, so
// that the chain itself shows at the end which arrived, and how often. Drawn from a seed; waiting makes a
// block, and nothing waits for this machine's clock.
import { createHash } from "node:crypto";
import { type ChainClient, createChainClient } from "../../src/chain/node/chain-client.ts";
import { createEdrProvider } from "../../src/chain/node/edr-provider.ts";
import { httpRpc, withRetries } from "../../src/chain/node/http-rpc.ts";
import { TREASURER } from "../../src/chain/node/toy-node.test-kit.ts";
import { memoryIntents, publish } from "../../src/chain/sending/publish.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../src/chain/sending/sign.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { openBadNode } from "./bad-node.ts";

const GENESIS_S = 1_800_000_000;
const COIN = 10n ** 18n;
const MAX_BEHIND = 14;
const PATIENT = { firstDelayMs: 1, mostDelayMs: 4, patienceMs: 30_000 };

/** What the sender was told. */
interface Told {
	readonly to: Hex;
	readonly value: bigint;
	/** "mined", or the code of an error. */
	readonly outcome: string;
	readonly hash: Hex | null;
}

export interface TransferRun {
	/** By what the senders were told. */
	readonly told: Readonly<Record<string, number>>;
	/** Times that one was told never to have happened, and was sent anew. */
	readonly taken: number;
	/** What the pair did to them. */
	readonly faults: Readonly<Record<string, number>>;
	readonly blocks: number;
	/** Unknown ones that arrived after all. */
	readonly unknownArrived: number;
	/** In words; empty when each arrived once or is said to be unknown with its hash. */
	readonly wrong: readonly string[];
}

/** Numbers from 0 to 1 that follow from a text. */
function drawsOf(seed: string): () => number {
	let [at, bytes] = [0, Buffer.alloc(0)];
	return () => {
		if (at % 32 === 0) bytes = createHash("sha256").update(`${seed}/${at}`).digest();
		const found = bytes.readUInt32LE(at % 32) / 2 ** 32;
		at += 4;
		return found;
	};
}

const keyOf = (text: string): Hex => `0x${createHash("sha256").update(text).digest("hex")}`;

async function openStage(seed: string, accounts: number) {
	const evm = await createEdrProvider({
		...{ chainId: 7373, timestamp: GENESIS_S },
		treasurer: TREASURER.address.toLowerCase(),
	});
	let blocks = 0;
	const mine = () => evm("evm_mine", [GENESIS_S + 2 * ++blocks]);
	const sound = await createChainClient(evm, { confirmations: 1, sleep: async () => void (await mine()) });
	const senders = Array.from({ length: accounts }, (_, i) => accountOf(keyOf(`${seed}/sender/${i}`)));
	for (const { address } of senders) await sendCall(sound, TREASURER, { to: address, data: "0x", value: COIN });
	for (let i = 0; i <= MAX_BEHIND; i++) await mine();
	const draw = drawsOf(seed);
	const pair = await openBadNode(evm, draw);
	const worsen = () =>
		pair.set({
			...{ behind: 1 + Math.floor(draw() * MAX_BEHIND), behindShare: draw() * 0.9 },
			...{ dropShare: 0.1, twiceShare: 0.1, lostShare: 0.1 },
		});
	worsen();
	const client = async (): Promise<ChainClient> =>
		createChainClient(withRetries(httpRpc(pair.url), PATIENT), {
			confirmations: 1 + Math.floor(draw() * 3),
			sleep: async () => {
				await mine();
				if (draw() < 0.1) worsen();
			},
		});
	return { sound, senders, draw, client, pair, blocks: () => blocks };
}

type Stage = Awaited<ReturnType<typeof openStage>>;

/** Half as a command sends them, half as a validator that may be killed after a write to its journal. */
async function transfer({ client, draw }: Stage, sender: ChainAccount, at: ChainClient, to: Hex): Promise<Told> {
	const value = 1n + BigInt(Math.floor(draw() * 1e9));
	const call = { to, data: "0x", value } as const;
	const told = (outcome: string, hash: Hex | null) => ({ to, value, outcome, hash });
	try {
		if (draw() < 0.5) return told("mined", (await sendCall(at, sender, call)).transactionHash);
		const journal = memoryIntents();
		let dies = draw() < 0.5;
		const dying = {
			...journal,
			put: async (...entry: Parameters<typeof journal.put>) => {
				await journal.put(...entry);
				if (!dies) return;
				dies = false;
				throw new Error("killed");
			},
		};
		const intent = { id: "pay", isDone: async () => false, call, isPayment: true };
		const first = await publish(at, sender, dying, intent).catch((error: Error) => {
			if (error.message !== "killed") throw error;
			return null;
		});
		const receipt = first ?? (await publish(await client(), sender, journal, intent));
		return told("mined", receipt?.transactionHash ?? null);
	} catch (error) {
		const hash = /0x[0-9a-f]{64}/.exec((error as Error).message)?.[0] ?? null;
		return told(error instanceof AssayError ? error.code : (error as Error).message, hash as Hex | null);
	}
}

/** What the chain has against what the senders were told. */
async function judge({ sound }: Stage, all: readonly Told[]) {
	const wrong: string[] = [];
	let unknownArrived = 0;
	for (const { to, value, outcome, hash } of all) {
		const has = await sound.viem.getBalance({ address: to });
		const says = (what: string) => wrong.push(`${to}: told ${outcome} of ${value} (${hash}), and ${what}`);
		if (has > value) says(`${has} arrived`);
		else if (outcome === "mined" && has !== value) says("it did not arrive");
		else if (outcome === "CHAIN_UNKNOWN") {
			if (hash === null) says("there is no hash to look for");
			if (has === value) unknownArrived++;
		} else if (outcome !== "mined" && has > 0n) says("it did arrive");
	}
	return { wrong, unknownArrived };
}

export async function runTransfers(seed: string, transfers: number, accounts: number): Promise<TransferRun> {
	const stage = await openStage(seed, accounts);
	const { senders, draw, client, pair } = stage;
	const all: Told[] = [];
	let [next, taken] = [0, 0];
	try {
		await Promise.all(
			senders.map(async (sender) => {
				let at = await client();
				while (next < transfers) {
					const to = accountOf(keyOf(`${seed}/receiver/${next++}`)).address;
					// A process of its own, which knows nothing of the account's other transactions.
					if (draw() < 0.25) at = await client();
					let told = await transfer(stage, sender, at, to);
					// It never happened, says the answer: whoever believes it does it again.
					for (; told.outcome === "CHAIN_TAKEN"; taken++) told = await transfer(stage, sender, at, to);
					all.push(told);
				}
			}),
		);
		const told: Record<string, number> = {};
		for (const { outcome } of all) told[outcome] = (told[outcome] ?? 0) + 1;
		return { told, taken, faults: pair.done, blocks: stage.blocks(), ...(await judge(stage, all)) };
	} finally {
		await pair.close();
	}
}
