// A real chain with the real contracts, on which a toy host answers roll calls and a validator commits to
// them: an embedded chain behind its RPC server, with an id of anybody's chain, and a clock that tests turn.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deployContracts } from "../src/chain/contracts/deploy.ts";
import { approveCall, registerCall } from "../src/chain/contracts/registry.ts";
import { commitCall } from "../src/chain/contracts/roll-call.ts";
import { createChainClient } from "../src/chain/node/chain-client.ts";
import { openEmbeddedChain } from "../src/chain/node/embedded-chain.ts";
import { serveRpc } from "../src/chain/node/serve-rpc.ts";
import { sendCall } from "../src/chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../src/chain/sending/sign.ts";
import { hexToBytes } from "../src/protocol/bytes/bytes.ts";
import { withoutLogin } from "../src/protocol/network/without-login.ts";
import { isRollCall } from "../src/protocol/roll-call/roll-call.ts";
import type { RollCallBody, StatedBlock } from "../src/protocol/roll-call/roll-file.ts";
import { answerCall, fileOf } from "../src/verify/roll-call/toy-roll-call.test-kit.ts";

const GENESIS_S = 1_800_000_000;
const UNIT = 10n ** 18n;
export const EVERY = 3;
const VALIDATOR: ChainAccount = accountOf(`0x${"11".repeat(32)}`);
export const VALIDATOR_ADDRESS = VALIDATOR.address.toLowerCase();

/** A call of the chain, answered by the toy host, committed to and drawn: the file's bytes. */
export async function answeredCall(on: RollChain): Promise<Uint8Array> {
	const called = await on.nextCall();
	const answered = answerCall(on.chain, called.number, hexToBytes(called.hash, 32)!);
	const committed = await on.commit(called.number, answered.tree);
	const drawn = await on.drawOf(called);
	const beacon = { kind: "block", called, drawn } as const;
	return fileOf(answered, { chain: on.chain, beacon, committed, validator: VALIDATOR_ADDRESS }).file;
}

export type RollChain = Awaited<ReturnType<typeof openRollChain>>;

/** `windowSeconds` of the contract. */
export async function openRollChain(chainId: number, windowSeconds = 60) {
	const folder = mkdtempSync(join(tmpdir(), "assay-roll-"));
	let nowS = GENESIS_S;
	const chain = await openEmbeddedChain({
		folder,
		genesis: { chainId, timestamp: GENESIS_S, treasurer: VALIDATOR_ADDRESS },
		nowMs: () => 1000 * nowS,
	});
	const client = await createChainClient(chain.rpc, { confirmations: 1, sleep: async () => {} });
	const rollCalls = { every: EVERY, windowSeconds };
	const contracts = await deployContracts(client, VALIDATOR, { genesis: GENESIS_S, epochSeconds: 600, rollCalls });
	await sendCall(client, VALIDATOR, approveCall(contracts, 10n ** 24n));
	const amount = 5000n * UNIT;
	const registration = { signingKey: `0x${"ab".repeat(32)}`, keyProof: "0x", endpoint: "http://127.0.0.1:1" } as const;
	await sendCall(client, VALIDATOR, registerCall(contracts, { role: "validator", ...registration, amount }));
	const server = await serveRpc(chain.rpc);

	/** By number; the newest without one, made if it is time. */
	async function blockAt(number?: number): Promise<StatedBlock> {
		const block = await client.viem.getBlock(number === undefined ? {} : { blockNumber: BigInt(number) });
		return { number: Number(block.number), hash: block.hash.slice(2), atS: Number(block.timestamp) };
	}

	/** A new block, 12 s later. */
	async function nextBlock(): Promise<StatedBlock> {
		nowS += 12;
		return blockAt();
	}

	async function nextWhere(is: (block: StatedBlock) => boolean): Promise<StatedBlock> {
		for (;;) {
			const block = await nextBlock();
			if (is(block)) return block;
		}
	}
	const isCall = ({ hash }: StatedBlock) => isRollCall(hexToBytes(hash, 32)!, EVERY);
	return {
		chain: { id: chainId, contract: contracts.addresses.rollCall.toLowerCase() },
		/** As strangers have it. */
		url: withoutLogin(server.url),
		blockAt,
		nextBlock,
		nextCall: () => nextWhere(isCall),
		nextQuiet: () => nextWhere((block) => !isCall(block)),
		/** The first block past the window. */
		drawOf: (called: StatedBlock) => nextWhere(({ atS }) => atS >= called.atS + windowSeconds),
		/** Twelve seconds after the last block. */
		async commit(call: number, { root, count }: Pick<RollCallBody["tree"], "root" | "count">): Promise<StatedBlock> {
			nowS += 12;
			const act = commitCall(contracts, { call, root: hexToBytes(root, 32)!, count });
			const { blockNumber } = await sendCall(client, VALIDATOR, act);
			return blockAt(Number(blockNumber));
		},
		async close() {
			await server.close();
			await chain.close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}
