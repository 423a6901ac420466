// The tamper list: every field of an evidence file, a change to it, and what must catch the change. Each
// change is tried twice: without a new signature (the signature or the form must catch it) and signed anew
// with the verifier's own key, as a lying verifier would, where `code` must catch it. Fields that nothing but
// the signature protects say why in `free`.
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";

// biome-ignore lint/suspicious/noExplicitAny: the list writes into what is read-only to everybody else
type Loose = any;

export interface Tamper {
	/** As walked by fieldsOf: list places as [], specs by their kind. */
	readonly field: string;
	/** Spoils a deep copy of the envelope. */
	readonly change: (envelope: Loose) => void;
	/** What catches it once it is signed anew (and, with `refigure`, its figures are derived anew as well). */
	readonly code?: string;
	readonly refigure?: boolean;
	/** Why nothing but the signature can catch it. */
	readonly free?: string;
	/** The form catches it before the signature is looked at. */
	readonly form?: string;
}

const CLAIMED = "a claim: neither believed nor refuted; what is proven stands beside it";
const WORD = "the verifier's own word about its own doing; whoever trusts its key trusts this";

const at = (path: string, value: unknown) => (envelope: Loose) => {
	const keys = path.split(".");
	const last = keys.pop()!;
	let target = envelope;
	for (const key of keys) target = target[key];
	target[last] = typeof value === "function" ? value(target[last]) : value;
};
const plus = (n: number) => (value: number) => value + n;

const claim = (path: string, value: unknown): Tamper => ({
	field: `body.claim.${path.replace(/\.\d+/g, "[]")}`,
	change: at(`body.claim.${path}`, value),
	free: CLAIMED,
});
const reading = (name: string, value: unknown): Tamper => ({
	field: `body.readings[].${name}`,
	change: at(`body.readings.0.${name}`, value),
	free: CLAIMED,
});
const word = (path: string, value: unknown): Tamper => ({
	field: `body.${path.replace(/\.\d+/g, "[]")}`,
	change: at(`body.${path}`, value),
	free: WORD,
});
const caught = (path: string, value: unknown, code: string, more: Partial<Tamper> = {}): Tamper => ({
	field: path.replace(/\.\d+/g, "[]"),
	change: at(path, value),
	code,
	...more,
});
/**
 * Challenges of the kit: 0 gemm int8, 1 gemm fp16, 2 stream, 3 fma fp64, 4 fma int32, 5 sustained gemm, 6
 * gemm of the CPU, 7 its copy, 8 the disk's stream, 9 and 10 gemms together, 11 and 12 streams of peers, 13
 * and 14 gemms alone.
 */
const spec = (
	index: number,
	kind: string,
	name: string,
	value: unknown,
	code: string,
	more: Partial<Tamper> = {},
): Tamper => ({
	field: `body.challenges[].spec(${kind}).${name}`,
	change: at(`body.challenges.${index}.spec.${name}`, value),
	code,
	refigure: true,
	...more,
});

/** A try that nobody made. */
const DROPPED = {
	...{ stage: 0, attempt: 0, sentAtUs: 100, endedAtUs: 200, refused: [0] },
	specs: [{ kind: "gemm", device: 0, precision: "int8", m: 128, n: 512, k: 128, rounds: 3, keep: 2, samples: 3 }],
};

/** A round of signed reports that nobody asked. */
const UNASKED = {
	...{ after: 0, sentAtUs: 100, receivedAtUs: 200, end: "complete", cpu: null },
	...{ gpus: [], switches: [], collateral: [], says: [] },
};

export const TAMPER_LIST: readonly Tamper[] = [
	caught("attachments.1.bytes", plus(-1), "FILE_SURPLUS", { form: "FILE_SURPLUS" }),
	caught("attachments.1.bytes", plus(1), "FILE_TRUNCATED", { form: "FILE_TRUNCATED" }),
	caught("attachments.1.sha256", "0".repeat(64), "ATTACHMENT_HASH", { form: "ATTACHMENT_HASH" }),
	caught("signature.key", "aa".repeat(32), "SIGNER_UNKNOWN"),
	caught("signature.value", "00".repeat(64), "SIGNATURE_WRONG"),
	caught("body.format", "assay-proof", "ENVELOPE_SHAPE", { form: "ENVELOPE_SHAPE" }),
	caught("body.version", 3, "FILE_VERSION", { form: "FILE_VERSION" }),
	caught("body.version", 5, "FILE_VERSION", { form: "FILE_VERSION" }),
	{
		field: "body.attestations",
		change: at("body.attestations", [UNASKED]),
		free: "a round that brought no report shows nothing, and gives no level",
	},
	caught("body.attestations", [{ ...UNASKED, after: 1024 }], "ATTEST_FORM"),
	caught("body.dropped", [DROPPED], "ATTEMPT_WRONG"),
	caught("body.countersign", { key: "ab".repeat(32), commitment: "cd".repeat(32), stages: [] }, "COUNTERSIGN_WRONG"),
	caught("body.challenges.0.attempt", 1, "ATTEMPT_WRONG"),
	caught("body.probe.id", "f".repeat(32), "REPLAYED"),
	caught("body.probe.startedAtMs", plus(-1), "STALE"),
	caught("body.probe.startedAtMs", plus(1), "STALE"),
	caught("body.probe.finishedAtUs", plus(1_000_000), "STALE"),
	caught("body.probe.finishedAtUs", 500_000, "TIME_ORDER"),
	caught("body.probe.target", "local", "TARGET_OTHER"),
	word("probe.verifier", "somebody else"),
	caught("body.beacon.kind", "coin", "ELEMENT_WRONG"),
	caught("body.beacon.value", "01", "ELEMENT_WRONG"),
	caught("body.secret", "ff".repeat(32), "OPENING_PLACE"),

	claim("engine.version", "9.9.9"),
	claim("engine.arch", "m68k"),
	claim("engine.cuda", false),
	claim("host.os", "Plan 9"),
	claim("host.cpu", "Faster"),
	claim("host.cores", 999),
	claim("host.ramBytes", 1),
	claim("host.ramFreeBytes", 1),
	claim("driver.version", "1"),
	claim("driver.cuda", "1"),
	claim("why", "because"),
	// Who can read whose bytes hangs on the kinds.
	caught("body.claim.devices.1.kind", "gpu", "SPEC_OF"),
	caught("body.claim.devices.2.kind", "cpu", "SPEC_OF"),
	caught("body.claim.devices.3.kind", "disk", "SPEC_DEVICE"),
	{
		field: "body.claim.devices[].kind",
		// Without the streams of peers, in which it would be the wrong kind.
		change: ({ body }) => {
			body.claim.devices[0].kind = "cpu";
			body.challenges[11].spec.device = 3;
		},
		code: "SPEC_OF",
	},
	caught("body.claim.devices.0.name", "NVIDIA H200", "CARD_CONTRADICTED"),
	claim("devices.0.name", "Toy GPU 2"),
	claim("devices.0.uuid", "GPU-9"),
	{
		field: "body.claim.devices[].uuid",
		change: ({ body }) => body.claim.devices.push({ ...body.claim.devices[0], name: "another" }),
		code: "DEVICE_REPEATED",
	},
	claim("devices.0.memoryBytes", 1),
	claim("devices.0.freeBytes", 1),
	claim("devices.0.units", 999),
	claim("devices.0.clockMHz", 9999),
	claim("devices.0.compute", "99.0"),
	claim("devices.0.pcieGen", 7),
	claim("devices.0.pcieWidth", 1),
	claim("devices.0.powerLimitW", 1),
	claim("devices.0.powerDefaultW", 1),
	claim("devices.0.temperatureC", 99),
	claim("devices.0.precisions.0", "tf32"),
	claim("unsupported.0.pciId", "1002:75a3"),
	claim("unsupported.0.name", "Faster"),
	claim("unsupported.0.count", 16),
	claim("hidden.0", "/sys"),
	{
		field: "body.claim.devices[].precisions",
		change: ({ body }) => body.claim.devices[2].precisions.push("int8"),
		free: CLAIMED,
	},

	word("link.kind", "local"),
	word("link.engineSha256", "cd".repeat(32)),
	word("link.hostKey", "SHA256:other"),
	word("link.handshakeUs", 1),
	word("link.rttUs.0", 1),

	spec(0, "gemm", "kind", "fma", "ENVELOPE_SHAPE", { form: "ENVELOPE_SHAPE", refigure: false }),
	spec(0, "gemm", "device", 1, "SPEC_OF"),
	spec(1, "gemm", "device", 2, "SPEC_DEVICE"),
	spec(1, "gemm", "device", 4, "SPEC_DEVICE"),
	spec(0, "gemm", "precision", "bf16", "ELEMENT_WRONG"),
	spec(0, "gemm", "m", 256, "OPENING_PLACE"),
	spec(0, "gemm", "n", 1024, "OPENING_PLACE"),
	spec(0, "gemm", "k", 256, "ELEMENT_WRONG"),
	spec(0, "gemm", "k", 256, "FIGURES_MISMATCH", { refigure: false }),
	spec(0, "gemm", "rounds", 2, "ROOTS_SURPLUS"),
	spec(0, "gemm", "rounds", 4, "ROOTS_MISSING"),
	spec(5, "gemm", "rounds", 4, "END_WRONG"),
	spec(1, "gemm", "keep", 2, "ELEMENT_WRONG"),
	spec(0, "gemm", "keep", 1, "ELEMENT_WRONG"),
	spec(0, "gemm", "samples", 2, "OPENINGS_SURPLUS"),
	spec(0, "gemm", "samples", 4, "OPENINGS_MISSING"),
	spec(0, "gemm", "samples", 0, "NO_SAMPLES"),
	spec(2, "stream", "kind", "gemm", "ENVELOPE_SHAPE", { form: "ENVELOPE_SHAPE", refigure: false }),
	spec(2, "stream", "device", 1, "SPEC_OF"),
	spec(2, "stream", "of", 1, "SPEC_OF"),
	spec(2, "stream", "newest", 1, "OPENING_PLACE"),
	spec(8, "stream", "newest", 2, "SPEC_OF"),
	spec(11, "stream", "newest", 1, "OPENINGS_SURPLUS"),
	spec(11, "stream", "newest", 3, "DIGEST_WRONG"),
	spec(8, "stream", "device", 1, "DIGEST_WRONG"),
	spec(8, "stream", "of", 0, "SPEC_OF"),
	spec(11, "stream", "device", 1, "SPEC_OF"),
	spec(11, "stream", "of", 9, "STAGE_ORDER"),
	spec(7, "copy", "kind", "stream", "ENVELOPE_SHAPE", { form: "ENVELOPE_SHAPE", refigure: false }),
	spec(7, "copy", "device", 1, "SPEC_OF"),
	spec(7, "copy", "of", 0, "SPEC_OF"),
	spec(17, "chase", "kind", "stream", "ENVELOPE_SHAPE", { form: "ENVELOPE_SHAPE" }),
	spec(17, "chase", "device", 3, "SPEC_OF"),
	spec(17, "chase", "device", 1, "SPEC_OF"),
	spec(17, "chase", "of", 0, "SPEC_OF"),
	spec(17, "chase", "newest", 1, "OPENING_PLACE"),
	spec(17, "chase", "intervals", 16, "OPENING_REPEATED"),
	spec(17, "chase", "intervals", 12, "SPEC_LIMITS"),
	spec(17, "chase", "intervals", 1, "SPEC_LIMITS"),
	spec(17, "chase", "intervals", 2 ** 17, "SPEC_LIMITS"),
	spec(17, "chase", "samples", 3, "OPENINGS_MISSING"),
	spec(17, "chase", "samples", 1, "OPENINGS_SURPLUS"),
	spec(7, "copy", "newest", 2, "SPEC_OF"),
	spec(7, "copy", "samples", 2, "DIGEST_WRONG"),
	spec(7, "copy", "samples", 0, "NO_SAMPLES"),
	spec(2, "stream", "passes", 1, "ROOTS_SURPLUS"),
	spec(2, "stream", "passes", 3, "ROOTS_MISSING"),
	spec(2, "stream", "samples", 2, "OPENINGS_SURPLUS"),
	spec(2, "stream", "samples", 5, "OPENINGS_MISSING"),
	spec(3, "fma", "kind", "stream", "ENVELOPE_SHAPE", { form: "ENVELOPE_SHAPE", refigure: false }),
	spec(3, "fma", "device", 1, "STAGE_ORDER"),
	spec(4, "fma", "precision", "fp32", "LANE_WRONG"),
	spec(3, "fma", "lanes", 512, "OPENING_PLACE"),
	spec(3, "fma", "steps", 1024, "LANE_WRONG"),
	spec(3, "fma", "rounds", 1, "ROOTS_SURPLUS"),
	spec(3, "fma", "samples", 1, "OPENINGS_SURPLUS"),

	caught("body.challenges.1.stage", 1, "STAGES_OVERLAP"),
	caught("body.challenges.2.stage", 2, "STAGE_ORDER"),
	caught("body.challenges.0.sentAtUs", plus(500_000), "TIME_ORDER"),
	caught("body.challenges.0.sentAtUs", plus(1), "FIGURES_MISMATCH"),
	{ ...word("challenges.0.sentAtUs", plus(1)), refigure: true },
	caught("body.challenges.0.roots", 1, "ATTACHMENT_ORDER"),
	caught("body.challenges.0.end", "stopped", "END_WRONG"),
	caught("body.challenges.2.end", "silent", "OPENS_WRONG"),
	caught("body.challenges.2.end", "cut", "OPENS_WRONG"),
	caught("body.challenges.0.opens.0.what", "digests", "OPENS_WRONG"),
	caught("body.challenges.0.opens.0.sentAtUs", plus(-100), "COMMITMENT_AFTER_OPENING"),
	word("challenges.0.opens.0.sentAtUs", plus(1)),
	caught("body.challenges.0.opens.0.receivedAtUs", 0, "TIME_ORDER"),
	word("challenges.0.opens.0.receivedAtUs", plus(1)),
	caught("body.challenges.0.opens.0.attachment", 2, "ATTACHMENT_ORDER"),
	caught("body.challenges.0.opens.0.end", "silent", "OPENING_WITHHELD"),
	caught("body.challenges.0.opens.0.end", "cut", "OPENING_CUT"),

	caught("body.readings.0.device", 4, "SPEC_DEVICE"),
	reading("device", 1),
	caught("body.readings.0.atUs", 1_500_000, "TIME_ORDER"),
	caught("body.readings.1.atUs", 61_000_000, "TIME_ORDER"),
	{ ...reading("atUs", plus(1)), free: WORD },
	reading("coreMHz", 1),
	reading("memoryMHz", 1),
	reading("powerMw", 1),
	reading("temperatureC", 1),
	reading("throttle", 1),

	caught("body.figures.0.device", 1, "FIGURES_MISMATCH"),
	caught("body.figures.0.name", "gemm.int4", "FIGURES_MISMATCH"),
	caught("body.figures.0.value", plus(1), "FIGURES_MISMATCH"),
	caught("body.figures.0.unit", "flop/s", "FIGURES_MISMATCH"),
	caught("body.figures.0.challenge", 1, "FIGURES_MISMATCH"),
];

/**
 * Fields of the binary records. Changed, packed, hashed, figured and signed anew: only the mathematics is
 * left to catch it.
 */
export interface RecordTamper {
	readonly field: string;
	readonly change: (answered: AnsweredChallenge[]) => void;
	readonly code?: string;
	readonly free?: string;
}

const records = (field: string, code: string, change: (answered: Loose) => void): RecordTamper => ({
	field,
	code,
	change,
});

export const RECORD_TAMPER_LIST: readonly RecordTamper[] = [
	records("root.index", "ROOT_ORDER", (a) => (a[0].roots[1].index = 2)),
	records("root.index", "ROOT_REPEATED", (a) => (a[0].roots[1].index = 0)),
	records("root.atUs", "TIME_ORDER", (a) => (a[0].roots[1].atUs = 0)),
	{ field: "root.atUs", change: (a: Loose) => (a[0].roots[1].atUs += 1), free: WORD },
	records("root.root", "OPENING_PLACE", (a) => (a[0].roots[2].root[0] ^= 1)), // the last: another draw
	// Another chain of seeds.
	records("root.root", "ELEMENT_WRONG", (a) => (a[5].roots[unopened(a[5])].root[0] ^= 1)),
	records("opening.round", "OPENING_PLACE", (a) => (a[0].opens[0].records[0].round = 77)),
	records("opening.index", "OPENING_PLACE", (a) => (a[0].opens[0].records[0].index ^= 64)),
	records("opening.leaf bytes", "LEAF_LENGTH", (a) => (a[0].opens[0].records[0].leaf = new Uint8Array(1025))),
	records("opening.path nodes", "PATH_LENGTH", (a) => a[0].opens[0].records[0].path.pop()),
	records("opening.leaf", "ROOT_MISMATCH", (a) => (a[0].opens[0].records[0].leaf[512] ^= 16)),
	records("opening.path", "ROOT_MISMATCH", (a) => (a[0].opens[0].records[0].path[6][0] ^= 1)),
	records("opening.leaf", "ROOT_MISMATCH", (a) => (a[2].opens[0].records[0].leaf[9] ^= 16)),
	records("opening.leaf", "ROOT_MISMATCH", (a) => (a[2].opens[1].records[0].leaf[9] ^= 16)),
	records("root.root", "ROOT_MISMATCH", (a) => (a[7].roots[0].root[0] ^= 1)),
	records("opening.leaf", "ROOT_MISMATCH", (a) => (a[7].opens[0].records[0].leaf[9] ^= 16)),
	records("opening.leaf", "ROOT_MISMATCH", (a) => (a[8].opens[1].records[0].leaf[9] ^= 16)),
	records("opening.leaf", "ROOT_MISMATCH", (a) => (a[11].opens[0].records[0].leaf[9] ^= 16)),
	records("opening.leaf", "ROOT_MISMATCH", (a) => (a[4].opens[0].records[0].leaf[9] ^= 16)),
	records("root.root", "OPENING_PLACE", (a) => (a[17].roots[0].root[0] ^= 1)),
	records("opening.leaf", "ROOT_MISMATCH", (a) => (a[17].opens[0].records[1].leaf[9] ^= 16)),
	records("opening.leaf bytes", "LEAF_LENGTH", (a) => (a[17].opens[0].records[1].leaf = new Uint8Array(31))),
	records("opening.leaf", "OPENING_PLACE", (a) => (a[17].opens[1].records[5].leaf[9] ^= 16)),
	records("opening.leaf", "ROOT_MISMATCH", (a) => (a[17].opens[1].records[63].leaf[9] ^= 16)),
	records("opening.leaf bytes", "LEAF_LENGTH", (a) => (a[17].opens[1].records[7].leaf = new Uint8Array(3))),
	records("opening.index", "OPENING_PLACE", (a) => (a[17].opens[1].records[9].index ^= 64)),
];

/** An early round of which nothing is opened, with an opened one after it. */
function unopened({ opens }: Loose): number {
	const opened: number[] = opens[0].records.map(({ round }: { round: number }) => round);
	for (let round = 0; round < Math.max(...opened); round++) if (!opened.includes(round)) return round;
	throw new Error("the kit's sustained run opens every round: change its samples");
}

/** All fields of an envelope, as the list names them. */
export function fieldsOf(value: Loose, name = ""): Set<string> {
	if (value === null || typeof value !== "object" || (Array.isArray(value) && value.length === 0))
		return new Set([name]);
	const fields = new Set<string>();
	for (const [key, item] of Object.entries(value as Record<string, Loose>)) {
		const step = Array.isArray(value) ? "[]" : key === "spec" ? `.spec(${item.kind})` : name === "" ? key : `.${key}`;
		for (const field of fieldsOf(item, name + step)) fields.add(field);
	}
	return fields;
}
