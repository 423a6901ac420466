// The public file of a roll call, docs/roll-call.md §6: one device's answer, with all that a stranger needs
// beside a node of the chain. Its shape, how it is made and how it is read. Nobody signs the whole: the chain
// and the host's own signature bind everything in it.
import { concatBytes, hexToBytes } from "../bytes/bytes.ts";
import { hex, int, list, object, oneOf, pattern, type Shape, type Typed, variants } from "../bytes/shape.ts";
import { sha256Of } from "../hash/tagged-hash.ts";
import {
	attachmentShape,
	type Container,
	type DecodeResult,
	decodeContainer,
	decodeEnvelope,
	encodeContainer,
	entriesOf,
} from "../probe/container.ts";
import { MAX_DEVICES } from "../probe/limits.ts";
import { encodeOpenings, type OpeningRecord } from "../probe/records.ts";
import type { RollSpec } from "./roll-call.ts";

const U32 = 0xffff_ffff;
/** A tree of 2³² leaves. */
const MAX_PATH = 32;

const address = pattern(/^0x[0-9a-f]{40}$/, "must be 0x and 40 lower-case hex digits");

const block = object({ number: int(), hash: hex(32), atS: int() });
export interface StatedBlock extends Typed<typeof block> {}

const drandRound = object({ round: int(1), signature: hex(48) });
export interface DrandRound extends Typed<typeof drandRound> {}

/** A network of drand: who signs, and when which round. */
const drandNetwork = {
	/** On G2. */
	publicKey: hex(96),
	genesisS: int(),
	periodS: int(1),
	scheme: oneOf("bls-unchained-g1-rfc9380"),
};
export interface DrandNetwork extends Typed<ReturnType<typeof object<typeof drandNetwork>>> {}

/** Where the two random values come from: `called` gives the seeds, `drawn` the places. */
const beacon = variants("kind", {
	block: object({ kind: oneOf("block"), called: block as Shape<StatedBlock>, drawn: block as Shape<StatedBlock> }),
	drand: object({
		kind: oneOf("drand"),
		...drandNetwork,
		called: drandRound as Shape<DrandRound>,
		drawn: drandRound as Shape<DrandRound>,
	}),
});
export type RollBeacon = Typed<typeof beacon>;

const body = object({
	format: oneOf("assay-roll-call"),
	version: oneOf(1),
	chain: object({ id: int(), contract: address }),
	/** Number of the block, or of the round, that called. */
	call: int(),
	beacon,
	/** The block with the commitment. */
	committed: block as Shape<StatedBlock>,
	/** Who committed. */
	validator: address,
	/** Where the answer stands in the validator's tree. */
	tree: object({ index: int(0, U32), count: int(1, U32), root: hex(32), path: list(hex(32), MAX_PATH) }),
	host: object({
		key: hex(32),
		account: address,
		/** Of all leaves: every device of the host that answered, in the claim's order. */
		signature: hex(64),
		leaves: list(hex(32), MAX_DEVICES),
	}),
	answer: object({
		device: int(0, U32),
		m: int(0, U32),
		n: int(0, U32),
		k: int(0, U32),
		rounds: int(0, U32),
		keep: int(0, U32),
		/** Root of the pass over all that was kept. */
		last: hex(32),
	}),
});
export interface RollCallBody extends Typed<typeof body> {}

/**
 * Roots of the rounds joined, opened leaves of the products, opened digests of the pass, the kept leaves
 * beneath those.
 */
const ATTACHMENTS = 4;

const envelope = object({ attachments: list(attachmentShape, ATTACHMENTS), body: body as Shape<RollCallBody> });
interface RollCallEnvelope extends Typed<typeof envelope> {}
export type RollCallFile = Container<RollCallEnvelope>;

/** What was opened, as an engine gave it. */
export interface RollOpenings {
	readonly products: readonly OpeningRecord[];
	readonly digests: readonly OpeningRecord[];
	readonly kept: readonly OpeningRecord[];
}

export function makeRollCallFile(
	stated: Omit<RollCallBody, "format" | "version">,
	roots: readonly Uint8Array[],
	{ products, digests, kept }: RollOpenings,
): Uint8Array {
	const attachments = [concatBytes(...roots), ...[products, digests, kept].map(encodeOpenings)];
	const made: RollCallEnvelope = {
		attachments: entriesOf(attachments),
		body: { format: "assay-roll-call", version: 1, ...stated },
	};
	return encodeContainer(made, attachments);
}

/** The same openings under another commitment: what was opened depends on the answer and on β₂ alone. */
export function restateRollCallFile(
	stated: Omit<RollCallBody, "format" | "version">,
	{ envelope: { attachments: entries }, attachments }: RollCallFile,
): Uint8Array {
	const made: RollCallEnvelope = {
		attachments: entries,
		body: { format: "assay-roll-call", version: 1, ...stated },
	};
	return encodeContainer(made, attachments);
}

export const decodeRollCallFile = (file: Uint8Array): DecodeResult<RollCallFile> => decodeContainer(file, envelope);

const anyBody: Shape<{ attachments: RollCallEnvelope["attachments"]; body: { format: string } }> = (value, where) => {
	const held = value as { attachments?: unknown; body?: { format?: unknown } } | null;
	if (typeof held?.body?.format !== "string") return { where, detail: "has no format" };
	return list(attachmentShape, Number.MAX_SAFE_INTEGER)(held.attachments, "attachments");
};

/**
 * What a file says it is, also where its attachments are cut or changed; null for what is no file of ours.
 */
export function formatOf(file: Uint8Array): string | null {
	const decoded = decodeEnvelope(file, anyBody);
	return decoded.ok ? decoded.envelope.body.format : null;
}

/** β₀ and β₂. Of a drand round it is the hash of its signature. */
export function rollRandomness(of: RollBeacon): { readonly beta0: Uint8Array; readonly beta2: Uint8Array } {
	if (of.kind === "block") return { beta0: hexToBytes(of.called.hash, 32)!, beta2: hexToBytes(of.drawn.hash, 32)! };
	const randomness = ({ signature }: DrandRound) => sha256Of(hexToBytes(signature, 48)!);
	return { beta0: randomness(of.called), beta2: randomness(of.drawn) };
}

/** When a round of drand came. */
export const roundAtS = ({ genesisS, periodS }: DrandNetwork, round: number): number =>
	genesisS + (round - 1) * periodS;

/** The first round at or after a time. */
export const roundAt = ({ genesisS, periodS }: DrandNetwork, atS: number): number =>
	Math.max(1, 1 + Math.ceil((atS - genesisS) / periodS));

export const specOfAnswer = ({ device, m, n, k, rounds, keep }: RollCallBody["answer"]): RollSpec => ({
	device,
	m,
	n,
	k,
	rounds,
	keep,
});
