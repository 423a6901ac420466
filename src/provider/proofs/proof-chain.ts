// What a worker of a zk job does on chain beside what every worker does, docs/zk.md §12: reads the order,
// posts the trees of its end, answers whoever demands their nodes, concludes, and takes its bond back. Each
// act is looked up before it is sent: done again it is nothing.
import { type Contracts, callOf, read, readEvents } from "../../chain/contracts/contracts.ts";
import { settlePartCall } from "../../chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../chain/contracts/job-terms-text.ts";
import {
	answerDemandCall,
	concludeCall,
	isTreeStanding,
	type ListedEnds,
	listEndsCall,
	type PostedNode,
	type PostedTree,
	postNumber,
	postTreeCall,
	readTwinParams,
	readZkOrder,
	type ZkOrder,
} from "../../chain/contracts/zk-jobs.ts";
import { sendGuarded } from "../../chain/sending/send-call.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import type { EscrowTermsText } from "../../protocol/network/job-offer.ts";

/** Somebody asks what lies below a node. Silence brings the tree down. */
export interface Demand {
	readonly challenger: Hex;
	readonly node: PostedNode;
}

export interface ClaimedPart {
	readonly terms: EscrowTermsText;
	readonly order: ZkOrder;
	readonly part: number;
	/** Hash of the claim, with 0x. */
	readonly claim: Hex;
}

export type ProofChain = ReturnType<typeof openProofChain>;

export function openProofChain(contracts: Contracts, account: ChainAccount) {
	const { client } = contracts;
	const poster = account.address;
	const numberOf = (tree: PostedTree): Hex => postNumber(poster, tree);
	const send = (call: Parameters<typeof sendGuarded>[2]) => sendGuarded(client, account, call);
	const challengersOf = async (post: Hex): Promise<Hex[]> => {
		const all = await readEvents(contracts, "twinPosts", "Demanded", { post });
		return [...new Set(all.map(({ args }) => args.challenger))];
	};
	return {
		chainId: contracts.addresses.chainId,
		order: (job: bigint): Promise<ZkOrder | null> => readZkOrder(contracts, job),
		async isListed(job: bigint, part: number, attempt: number): Promise<boolean> {
			return BigInt(await read(contracts, "zkJobs", "listOf", job, part, attempt)) !== 0n;
		},
		/** What the part's segments end with, for provers to go by. */
		async list(terms: EscrowTermsText, order: ZkOrder, part: number, ends: ListedEnds): Promise<void> {
			await send(listEndsCall(contracts, jobTermsFromText(terms), order, part, ends));
		},
		/** The commitments that the part's proofs end with; null: not all are there. */
		async provenEnd(job: bigint, part: number): Promise<Hex | null> {
			const found = await read(contracts, "zkJobs", "endOf", job, part);
			return BigInt(found) === 0n ? null : found;
		},
		isProven: (job: bigint, part: number, attempt: number): Promise<boolean> =>
			read(contracts, "zkJobs", "isProven", job, part, attempt),
		pointsOf: (tree: PostedTree): Promise<Hex> => read(contracts, "twinPosts", "pointsOf", tree),
		/** none: nobody posted it. */
		async stateOf(tree: PostedTree): Promise<"none" | "open" | "standing" | "fallen"> {
			const { poster: by, isFallen } = await read(contracts, "twinPosts", "postOf", numberOf(tree));
			if (BigInt(by) === 0n) return "none";
			if (isFallen) return "fallen";
			return (await isTreeStanding(contracts, numberOf(tree))) ? "standing" : "open";
		},
		async post(tree: PostedTree): Promise<void> {
			await send(postTreeCall(contracts, tree, (await readTwinParams(contracts)).bond));
		},
		/** Those that wait for their answers. */
		async demands(tree: PostedTree): Promise<readonly Demand[]> {
			const post = numberOf(tree);
			const all = await readEvents(contracts, "twinPosts", "Demanded", { post });
			const waiting: Demand[] = [];
			for (const challenger of await challengersOf(post)) {
				const { isAsked } = await read(contracts, "twinPosts", "gameOf", post, challenger);
				const last = all.findLast(({ args }) => args.challenger === challenger);
				if (isAsked && last !== undefined) waiting.push({ challenger, node: last.args.node });
			}
			return waiting;
		},
		async answer(tree: PostedTree, { challenger, node }: Demand, nodes: readonly PostedNode[]): Promise<void> {
			await send(answerDemandCall(contracts, numberOf(tree), challenger, node, nodes));
		},
		async conclude({ terms, order, part, claim }: ClaimedPart, tree: PostedTree): Promise<void> {
			await send(concludeCall(contracts, jobTermsFromText(terms), order, { part, claim, poster, tree }));
		},
		async settle(terms: EscrowTermsText, part: number): Promise<void> {
			await send(settlePartCall(contracts, jobTermsFromText(terms), part));
		},
		/** Bond and deposits of a tree that stands, to this account. */
		async takeBack(tree: PostedTree): Promise<void> {
			const post = numberOf(tree);
			const { isPaid } = await read(contracts, "twinPosts", "postOf", post);
			if (!isPaid) await send(callOf(contracts, "twinPosts", "settleBond", post));
			for (const challenger of await challengersOf(post)) {
				const { deposits } = await read(contracts, "twinPosts", "gameOf", post, challenger);
				if (deposits > 0) await send(callOf(contracts, "twinPosts", "settleDeposits", post, challenger));
			}
			if ((await read(contracts, "twinPosts", "owedTo", poster)) > 0n)
				await send(callOf(contracts, "twinPosts", "collect", poster));
		},
	};
}
