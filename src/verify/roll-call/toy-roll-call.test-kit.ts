// A roll call in memory at toy sizes: a chain of made-up blocks, a host that answers honestly or not, a
// validator's tree, and the public file. Tests take it as their starting point and spoil it.
import { productOf } from "../../../tests/toy/toy-maths.ts";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { keccak, keccakTree } from "../../protocol/hash/keccak-tree.ts";
import { leafHash, merkleLevels, merklePath } from "../../protocol/hash/merkle.ts";
import { mixKeys, mixLeaf } from "../../protocol/hash/mix.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { nextSeed } from "../../protocol/probe/challenge-seed.ts";
import type { OpeningRecord } from "../../protocol/probe/records.ts";
import { createSigner, type Signer } from "../../protocol/probe/signer.ts";
import { signedRound, TOY_DRAND } from "../../protocol/roll-call/drand.test-kit.ts";
import {
	isRollCall,
	type RollHost,
	type RollPlace,
	type RollSpec,
	rollAnswerHash,
	rollChallenges,
	rollLeaf,
	rollNonce,
	rollPlaces,
	rollSeed,
} from "../../protocol/roll-call/roll-call.ts";
import {
	makeRollCallFile,
	type RollBeacon,
	type RollCallBody,
	type RollOpenings,
	rollRandomness,
	roundAt,
	roundAtS,
	type StatedBlock,
} from "../../protocol/roll-call/roll-file.ts";
import type { ChainFacts } from "./chain-facts.ts";

export const HOST: Signer = createSigner(new Uint8Array(32).fill(21));
export const ACCOUNT = `0x${"22".repeat(20)}`;
export const VALIDATOR = `0x${"33".repeat(20)}`;
export const CHAIN = { id: 11_155_111, contract: `0x${"44".repeat(20)}` } as const;
export const SPEC: RollSpec = { device: 0, m: 128, n: 512, k: 128, rounds: 3, keep: 3 };
export const EVERY = 4;
export const WINDOW_S = 60;
const BLOCK_S = 12;

export const label = (text: string): string => bytesToHex(sha256Of(utf8ToBytes(text)));

/** Blocks of a made-up chain, 12 s apart. */
export const block = (number: number, fork = "toy"): StatedBlock => ({
	number,
	hash: label(`${fork} block ${number}`),
	atS: 1_800_000_000 + BLOCK_S * number,
});

const isCall = (number: number) => isRollCall(hexToBytes(block(number).hash, 32)!, EVERY);
const firstFrom = (number: number, is: (n: number) => boolean): number =>
	is(number) ? number : firstFrom(number + 1, is);

/** A call, the block after the next, and the first past the window; and a block that calls nobody. */
export const CALLED = block(firstFrom(100, isCall));
export const COMMITTED = block(CALLED.number + 2);
export const DRAWN = block(CALLED.number + WINDOW_S / BLOCK_S);
export const NO_CALL = block(firstFrom(100, (n) => !isCall(n)));
export const BEACON: RollBeacon = { kind: "block", called: CALLED, drawn: DRAWN };

/** The same with rounds of a drand of our own; its seconds are the chain's. */
const isDrandCall = (round: number) => isRollCall(sha256Of(hexToBytes(signedRound(round).signature, 48)!), EVERY);
const DRAND_CALL = firstFrom(roundAt(TOY_DRAND, CALLED.atS), isDrandCall);
export const DRAND_BEACON: RollBeacon = {
	kind: "drand",
	...TOY_DRAND,
	called: signedRound(DRAND_CALL),
	drawn: signedRound(DRAND_CALL + WINDOW_S / TOY_DRAND.periodS),
};
/** A block between the two. */
export const DRAND_COMMITTED = firstBlockAfter(roundAtS(TOY_DRAND, DRAND_CALL) + BLOCK_S);

function firstBlockAfter(atS: number): StatedBlock {
	return block(firstFrom(CALLED.number, (number) => block(number).atS > atS));
}

interface Tree {
	readonly leaves: readonly Uint8Array[];
	readonly levels: readonly (readonly Uint8Array[])[];
	readonly root: Uint8Array;
}

function treeOf(bytes: Uint8Array): Tree {
	const leaves = Array.from({ length: bytes.length / 1024 }, (_, i) => bytes.slice(1024 * i, 1024 * i + 1024));
	const levels = merkleLevels(leaves.map(leafHash));
	return { leaves, levels, root: levels.at(-1)![0]! };
}

/** What a device computed, kept for the openings. */
export interface Worked {
	readonly spec: RollSpec;
	readonly rounds: readonly Tree[];
	readonly pass: Tree;
	readonly end: string;
	readonly last: string;
	readonly roots: readonly Uint8Array[];
}

/** What a cheat does to the bytes of a round, or of the pass (round −1), before it commits to them. */
export type SpoilRound = (bytes: Uint8Array, round: number) => void;

export function work(beta0: Uint8Array, host: RollHost, spec: RollSpec = SPEC, spoil: SpoilRound = () => {}): Worked {
	const [gemm] = rollChallenges(spec);
	const rounds: Tree[] = [];
	let seed = rollSeed(beta0, host, spec);
	for (let round = 0; round < spec.rounds; round++) {
		const bytes = productOf(gemm, seed);
		spoil(bytes, round);
		rounds.push(treeOf(bytes));
		seed = nextSeed(seed, rounds.at(-1)!.root);
	}
	const keys = mixKeys(rollNonce(seed));
	const kept = rounds.slice(-spec.keep).flatMap(({ leaves }) => leaves);
	const digests = concatBytes(...kept.map((leaf, q) => mixLeaf(keys, leaf, q)));
	spoil(digests, -1);
	const pass = treeOf(digests);
	const roots = rounds.map(({ root }) => root);
	return { spec, rounds, pass, end: bytesToHex(seed), last: bytesToHex(pass.root), roots };
}

/** As an engine opens: whatever is asked. */
export function openAll({ rounds, pass, spec }: Worked, beta2: Uint8Array, key: string): RollOpenings {
	const places = rollPlaces(beta2, key, spec);
	const opened = ({ leaves, levels }: Tree, { round, index }: RollPlace): OpeningRecord => ({
		round,
		index,
		leaf: leaves[index]!,
		path: merklePath(levels, index),
	});
	return {
		products: places.products.map((place) => opened(rounds[place.round]!, place)),
		digests: places.digests.map((place) => opened(pass, place)),
		kept: places.kept.map((place) => opened(rounds[place.round]!, place)),
	};
}

export interface ToyOptions {
	readonly beacon?: RollBeacon;
	readonly committed?: StatedBlock;
	readonly chain?: RollCallBody["chain"];
	readonly validator?: string;
	readonly signer?: Signer;
	readonly spec?: RollSpec;
	readonly spoil?: SpoilRound;
	/** Leaves of other hosts in the tree. */
	readonly others?: readonly Uint8Array[];
}

export interface ToyCall {
	readonly stated: Omit<RollCallBody, "format" | "version">;
	readonly roots: readonly Uint8Array[];
	readonly openings: RollOpenings;
	readonly file: Uint8Array;
}

/**
 * What a host with two devices computed and signed before anybody knew what would be opened, and the tree it
 * stands in.
 */
export function answerCall(chain: RollCallBody["chain"], call: number, beta0: Uint8Array, options: ToyOptions = {}) {
	const { signer = HOST, spec = SPEC } = options;
	const host: RollHost = { key: signer.key, account: ACCOUNT };
	const worked = work(beta0, host, spec, options.spoil);
	const leaf = rollLeaf(host, { ...spec, end: worked.end, last: worked.last });
	const second = keccak(utf8ToBytes("the host's second device"));
	const others = options.others ?? [keccak(utf8ToBytes("another host")), keccak(utf8ToBytes("a third"))];
	const tree = keccakTree([others[0]!, leaf, second, ...others.slice(1)]);
	const hash = rollAnswerHash({ chainId: chain.id, contract: chain.contract, call }, beta0, [leaf, second]);
	const leaves = [leaf, second].map(bytesToHex);
	return {
		worked,
		tree: { index: 1, count: tree.count, root: bytesToHex(tree.root), path: tree.path(1).map(bytesToHex) },
		host: { ...host, signature: bytesToHex(signer.sign(hash)), leaves },
		answer: { ...spec, last: worked.last },
	};
}

/** The file of such an answer, once the places are known. */
export function fileOf(
	{ worked, tree, host, answer }: ReturnType<typeof answerCall>,
	at: Pick<RollCallBody, "chain" | "beacon" | "committed" | "validator">,
): ToyCall {
	const { beacon } = at;
	const call = beacon.kind === "block" ? beacon.called.number : beacon.called.round;
	const stated = { ...at, call, tree, host, answer };
	const openings = openAll(worked, rollRandomness(beacon).beta2, host.key);
	return { stated, roots: worked.roots, openings, file: makeRollCallFile(stated, worked.roots, openings) };
}

/** All of it on the made-up chain. */
export function toyCall(options: ToyOptions = {}): ToyCall {
	const { beacon = BEACON, committed = COMMITTED, chain = CHAIN, validator = VALIDATOR } = options;
	const call = beacon.kind === "block" ? beacon.called.number : beacon.called.round;
	const answered = answerCall(chain, call, rollRandomness(beacon).beta0, options);
	return fileOf(answered, { chain, beacon, committed, validator });
}

/** What an honest node says of it. */
export function toyFacts({ stated }: Pick<ToyCall, "stated">, changes: Partial<ChainFacts> = {}): ChainFacts {
	const numbers = [
		DRAND_COMMITTED.number,
		CALLED.number,
		NO_CALL.number,
		COMMITTED.number,
		DRAWN.number - 1,
		DRAWN.number,
		DRAWN.number + 1,
	];
	return {
		chainId: stated.chain.id,
		contract: stated.chain.contract,
		beacon: stated.beacon.kind,
		every: EVERY,
		windowS: WINDOW_S,
		blocks: new Map(numbers.map((number) => [number, block(number)])),
		commitments: [
			{ validator: VALIDATOR, call: stated.call, root: stated.tree.root, count: stated.tree.count },
			{ validator: `0x${"55".repeat(20)}`, call: stated.call, root: label("of another validator"), count: 9 },
		],
		...changes,
	};
}
