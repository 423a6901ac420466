// The shapes of an evidence file: what was asked, what came back and when, on the verifier's clock. Each
// shape is a check for hostile JSON, and its type follows from it. Limits are those of engine/FRAMES.md where
// it names them. Page: docs/hardware-proof.md §7, §8. Everything under `claim`, every root and every opening
// came from the provider. Not here: encoding and decoding (evidence-codec.ts); what the numbers mean together
// (verify/hardware).
import {
	hex,
	int,
	list,
	object,
	oneOf,
	orNull,
	pattern,
	type Shape,
	type Typed,
	text,
	variants,
	withOption,
} from "../bytes/shape.ts";
import { FMA_PRECISIONS, GEMM_PRECISIONS, PRECISIONS, type Precision } from "../maths/precision.ts";
import { attachmentShape, type Container } from "./container.ts";
import { MAX_DEVICES } from "./limits.ts";

const MAX_TEXT = 256;
/** 16 devices with a table of peers, or 64 with a dozen challenges each. */
export const MAX_CHALLENGES = 1024;
/** An envelope of 2 MiB holds them; a probe reads less often when a run is long. */
export const MAX_READINGS = 4096;
/** Before and after a run that lasts. */
export const MAX_ROUNDS = 4;
export const MAX_COLLATERAL = 64;
const MAX_ATTACHMENTS = 3 * MAX_CHALLENGES + MAX_ROUNDS * (4 * MAX_DEVICES + 3 + MAX_COLLATERAL);
/** Tries of one stage, the recorded one included. */
const MAX_ATTEMPTS = 8;
/** A stage has at least one challenge; the chain of a provider's nonces is this long (countersign.ts). */
export const MAX_STAGES = 256;

const U32 = 0xffff_ffff;
const words = text(MAX_TEXT);
const bool = oneOf(true, false);

const precisions: Shape<readonly Precision[]> = (value, where) => {
	const found = list(oneOf(...PRECISIONS), PRECISIONS.length)(value, where);
	if (found !== null) return found;
	return new Set(value as string[]).size === (value as string[]).length
		? null
		: { where, detail: "names a precision twice" };
};

const deviceKind = oneOf("gpu", "cpu", "disk");
export type DeviceKind = Typed<typeof deviceKind>;

const device = object({
	kind: deviceKind,
	name: words,
	uuid: words,
	memoryBytes: int(),
	freeBytes: int(),
	units: int(),
	clockMHz: int(),
	compute: words,
	pcieGen: int(),
	pcieWidth: int(),
	powerLimitW: int(),
	powerDefaultW: int(),
	temperatureC: int(),
	precisions,
});
export interface DeviceClaim extends Typed<typeof device> {}

/** A kind of card that the engine cannot use: numbers of vendor and device, and what its driver calls it. */
const unsupportedCard = object({
	pciId: pattern(/^[0-9a-f]{4}:[0-9a-f]{4}$/, "must be two numbers of four hex digits"),
	name: words,
	count: int(1, 1024),
});
export interface UnsupportedCard extends Typed<typeof unsupportedCard> {}

const plainClaim = object({
	engine: object({ version: words, arch: words, cuda: bool }),
	host: object({ os: words, cpu: words, cores: int(), ramBytes: int(), ramFreeBytes: int() }),
	driver: orNull(object({ version: words, cuda: words })),
	why: words,
	devices: list(device as Shape<DeviceClaim>, MAX_DEVICES),
});
/**
 * What the host says of itself. A claim proves nothing. `unsupported`: cards of other vendors than NVIDIA on
 * its PCI bus. `hidden`: folders of the kernel that the engine cannot read. Both are absent where there is
 * nothing to say.
 */
export const claimShape = withOption(
	withOption(plainClaim, "unsupported", list(unsupportedCard as Shape<UnsupportedCard>, 8)),
	"hidden",
	list(oneOf("/proc", "/sys"), 2),
);
export interface HostClaim extends Typed<typeof claimShape> {}

// The specs are wide on purpose: verify/hardware/policy.ts names the limits, and its codes say more than
// "wrong shape". `device` is an index into claim.devices.

/** `rounds: 0` means "until the verifier says stop" (a sustained run). */
const gemm = object({
	kind: oneOf("gemm"),
	device: int(),
	precision: oneOf(...GEMM_PRECISIONS),
	m: int(0, U32),
	n: int(0, U32),
	k: int(0, U32),
	rounds: int(0, U32),
	keep: int(0, U32),
	samples: int(0, U32),
});
export interface GemmSpec extends Typed<typeof gemm> {}

const fma = object({
	kind: oneOf("fma"),
	device: int(),
	precision: oneOf(...FMA_PRECISIONS),
	lanes: int(0, U32),
	steps: int(0, U32),
	rounds: int(0, U32),
	samples: int(0, U32),
});
export interface FmaSpec extends Typed<typeof fma> {}

/**
 * `of` is the index of the gemm challenge whose kept products are streamed, the `newest` rounds of them (0:
 * all that are kept). `device` is the reader: the gemm's own device, a peer of the same kind, or a disk that
 * holds a copy.
 */
const stream = object({
	kind: oneOf("stream"),
	device: int(),
	of: int(),
	newest: int(0, U32),
	passes: int(0, U32),
	samples: int(0, U32),
});
export interface StreamSpec extends Typed<typeof stream> {}

/**
 * The `newest` kept products of gemm `of` written to the disk `device`; answered by the root of one pass of
 * digests.
 */
const copy = object({ kind: oneOf("copy"), device: int(), of: int(), newest: int(0, U32), samples: int(0, U32) });
export interface CopySpec extends Typed<typeof copy> {}

/**
 * Dependent reads over the `newest` kept products of gemm `of`, by the gemm's own device. `intervals` of 64
 * hops: §13.
 */
const chase = object({
	kind: oneOf("chase"),
	device: int(),
	of: int(),
	newest: int(0, U32),
	intervals: int(0, U32),
	samples: int(0, U32),
});
export interface ChaseSpec extends Typed<typeof chase> {}

/**
 * A small GPT trained as an exact program (docs/work.md), `rounds` segments after the first state. Of `draws`
 * of them the trace is opened, and `samples` elements of every op of one step of each are computed again:
 * §14.
 */
const train = object({
	kind: oneOf("train"),
	device: int(),
	layers: int(0, U32),
	width: int(0, U32),
	heads: int(0, U32),
	context: int(0, U32),
	batch: int(0, U32),
	rounds: int(0, U32),
	draws: int(0, U32),
	samples: int(0, U32),
});
export interface TrainSpec extends Typed<typeof train> {}

/** Runs over what a gemm kept. */
export type KeptSpec = StreamSpec | CopySpec | ChaseSpec;
export type ChallengeSpec = GemmSpec | FmaSpec | KeptSpec | TrainSpec;
const spec: Shape<ChallengeSpec> = variants("kind", { gemm, fma, stream, copy, chase, train });

/**
 * How the answer to a request ended: `complete` (DONE, reason 0), `stopped` (DONE, reason 1, after the
 * verifier's CANCEL), `refused` (an ERROR frame), `silent` (a deadline passed, or the verifier hung up),
 * `cut` (the far side is gone), `garbage` (frames that break FRAMES.md).
 */
const end = oneOf("complete", "stopped", "refused", "silent", "cut", "garbage");
export type End = Typed<typeof end>;

/**
 * One OPEN request and what came back. `attachment` holds opening records as received, see evidence-codec.ts.
 */
const openWhat = oneOf("leaves", "digests", "labels", "hops", "trace");
export type OpenedWhat = Typed<typeof openWhat>;
const open = object({
	what: openWhat,
	sentAtUs: int(),
	receivedAtUs: int(),
	attachment: int(),
	end,
});
export interface OpenRecord extends Typed<typeof open> {}

const challenge = object({
	spec,
	/** Challenges of one stage run at once on different devices; stages run one after the other. */
	stage: int(),
	sentAtUs: int(),
	/** Attachment with root records as received: u32 index, u64 atUs, 32 root. */
	roots: int(),
	end,
	/** What openedWhats (challenge-shape.ts) says. Fewer when the answer broke off. */
	opens: list(open as Shape<OpenRecord>, 2),
	/**
	 * How often the stage was asked before. It is part of the seeds, so that nothing of a try serves the next.
	 */
	attempt: int(0, MAX_ATTEMPTS - 1),
});
export interface ChallengeRecord extends Typed<typeof challenge> {}

/**
 * A try of a stage that was dropped because a device had no room for it; the stage was then asked again, for
 * less.
 */
const droppedTry = object({
	stage: int(),
	attempt: int(0, MAX_ATTEMPTS - 1),
	sentAtUs: int(),
	endedAtUs: int(),
	specs: list(spec, MAX_DEVICES),
	/** Devices that refused. */
	refused: list(int(), MAX_DEVICES),
});
export interface DroppedTry extends Typed<typeof droppedTry> {}

/** The provider's own word: what countersign.ts makes and checks. One entry a stage. */
const countersign = object({
	/** Ed25519, the key that names the provider in a network. */
	key: hex(32),
	/** To all nonces, told before the first challenge. */
	commitment: hex(32),
	/** `spansUs`: how long each run took by the provider's clock. */
	stages: list(object({ nonce: hex(32), signature: hex(64), spansUs: list(int(), MAX_DEVICES) }), MAX_STAGES),
});
export interface Countersign extends Typed<typeof countersign> {}

/** `device`: as the driver counts. Report and chain are attachments. */
const attested = object({ device: int(0, 0xffff), report: int(), chain: int() });
interface AttestedRecord extends Typed<typeof attested> {}

/**
 * One round of signed reports, docs/attestation.md. The nonce follows from the last roots of the first
 * `after` challenges; of a job, `after` is 0 at its beginning and 1 at its end. All bytes are attachments
 * after those of the challenges, in the order of the fields.
 */
export const attestationShape = object({
	after: int(0, MAX_CHALLENGES),
	sentAtUs: int(),
	receivedAtUs: int(),
	end,
	gpus: list(attested as Shape<AttestedRecord>, MAX_DEVICES),
	switches: list(attested as Shape<AttestedRecord>, MAX_DEVICES),
	/** `kind`: what the kernel calls it. */
	cpu: orNull(object({ kind: words, quote: int(), certificates: orNull(int()), events: orNull(int()) })),
	/** Vendors' files that it is judged by. */
	collateral: list(
		object({
			kind: oneOf("manifest", "OCSP answer", "Intel collateral", "certificates", "revocation list"),
			id: text(200, 1),
			attachment: int(),
		}),
		MAX_COLLATERAL,
	),
	/** Why there is no report of a device, and no quote: the host's words. */
	says: list(words, MAX_DEVICES + 2),
});
export interface AttestationRecord extends Typed<typeof attestationShape> {}

/** Attachments of a round, in the order in which a file has them. */
export const attachmentsOfRound = ({ gpus, switches, cpu, collateral }: AttestationRecord): number[] => [
	...[...gpus, ...switches].flatMap(({ report, chain }) => [report, chain]),
	...(cpu === null ? [] : [cpu.quote, cpu.certificates, cpu.events].filter((one) => one !== null)),
	...collateral.map(({ attachment }) => attachment),
];

/**
 * What a device said of itself at one moment of the probe. A claim: shown beside the curve of a sustained
 * run, never judged.
 */
const reading = object({
	device: int(),
	/** When the answer came, on the verifier's clock. */
	atUs: int(),
	coreMHz: int(0, U32),
	memoryMHz: int(0, U32),
	powerMw: int(0, U32),
	temperatureC: int(0, U32),
	/** Reasons why the clock is held down, NVML's bits; 0 for none. */
	throttle: int(0, U32),
});
export interface Reading extends Typed<typeof reading> {}

/** A proven number of one device. Integers only (rounded down), so that the file is canonical. */
const figure = object({
	device: int(),
	/**
	 * "gemm.int8", "gemm.int8.sustained", "gemm.int8.sustained-ratio", "gemm.int8.alone", "scaling.int8",
	 * "memory.resident", "memory.bandwidth", "memory.latency", "peer.bandwidth.3" (read from device 3),
	 * "disk.write", "disk.read", "disk.stored", "fma.fp32", "train.gpt".
	 */
	name: words,
	value: int(),
	/** "op/s" | "flop/s" | "B" | "B/s" | "ppm" | "ps" | "token/s". */
	unit: words,
	/** Index of the challenge it came from. */
	challenge: int(),
});
export interface Figure extends Typed<typeof figure> {}

/** How an engine is reached: started here, over SSH, or through the agent that dialled in. */
const linkKind = oneOf("local", "ssh", "agent");
export type LinkKind = Typed<typeof linkKind>;

const body = object({
	format: oneOf("assay-evidence"),
	/** Early, so that a file of another version is refused as such. */
	version: oneOf(4),
	probe: object({
		id: hex(16),
		/** Wall clock of the verifier at its monotonic zero, milliseconds since 1970. */
		startedAtMs: int(),
		/** Monotonic microseconds since then; every other `…AtUs` is on the same clock. */
		finishedAtUs: int(),
		target: words,
		verifier: words,
	}),
	beacon: orNull(object({ kind: text(MAX_TEXT, 1), value: text(1024) })),
	secret: hex(32),
	claim: claimShape as Shape<HostClaim>,
	link: object({
		kind: linkKind,
		engineSha256: orNull(hex(32)),
		hostKey: orNull(text(1024)),
		/** TCP handshake to the host, and echoes of the engine (PING to PONG), microseconds. */
		handshakeUs: orNull(int()),
		rttUs: list(int(), 1024),
	}),
	challenges: list(challenge as Shape<ChallengeRecord>, MAX_CHALLENGES),
	/** In the order they came. */
	readings: list(reading as Shape<Reading>, MAX_READINGS),
	/** In the order they were made. */
	dropped: list(droppedTry as Shape<DroppedTry>, MAX_STAGES),
	countersign: orNull(countersign as Shape<Countersign>),
	/** Empty where the engine does not know ATTEST. */
	attestations: list(attestationShape as Shape<AttestationRecord>, MAX_ROUNDS),
	/** Derived by verify/hardware from the rest; verify derives them again and refuses any difference. */
	figures: list(figure as Shape<Figure>, 4 * MAX_CHALLENGES),
});
export interface EvidenceBody extends Typed<typeof body> {}

export const envelopeShape = object({
	attachments: list(attachmentShape, MAX_ATTACHMENTS),
	body: body as Shape<EvidenceBody>,
	signature: object({ key: hex(32), value: hex(64) }),
});
export interface Envelope extends Typed<typeof envelopeShape> {}

/** A whole file in memory. */
export type Evidence = Container<Envelope>;
