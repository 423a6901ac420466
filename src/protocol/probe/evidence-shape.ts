// The exact shape of an evidence file's envelope, as a check for hostile JSON. Mirrors the types of evidence.ts field by field;
// limits are those of engine/FRAMES.md where it names them. What the numbers mean together is judged in verify/hardware.

import { hex, int, list, object, oneOf, orNull, type Shape, text, variants } from "../bytes/shape.ts";
import { FMA_PRECISIONS, GEMM_PRECISIONS, PRECISIONS } from "../maths/precision.ts";

export const MAX_DEVICES = 64;
const MAX_TEXT = 256;
/** 16 devices with a table of peers, or 64 with a dozen challenges each. */
export const MAX_CHALLENGES = 1024;
/** An envelope of 2 MiB holds them; a probe reads less often when a run is long. */
export const MAX_READINGS = 4096;
const MAX_ATTACHMENTS = 3 * MAX_CHALLENGES;

const U32 = 0xffff_ffff;
const words = text(MAX_TEXT);
const bool = oneOf(true, false);
const end = oneOf("complete", "stopped", "refused", "silent", "garbage");

const precisions: Shape = (value, where) => {
	const found = list(oneOf(...PRECISIONS), PRECISIONS.length)(value, where);
	if (found !== null) return found;
	return new Set(value as string[]).size === (value as string[]).length
		? null
		: { where, detail: "names a precision twice" };
};

const device = object({
	kind: oneOf("gpu", "cpu", "disk"),
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

export const claimShape = object({
	engine: object({ version: words, arch: words, cuda: bool }),
	host: object({ os: words, cpu: words, cores: int(), ramBytes: int(), ramFreeBytes: int() }),
	driver: orNull(object({ version: words, cuda: words })),
	why: words,
	devices: list(device, MAX_DEVICES),
});

// Wide on purpose: verify/hardware/policy.ts names the limits, and its codes say more than "wrong shape".
const gemmAndFma = {
	gemm: object({
		kind: oneOf("gemm"),
		device: int(),
		precision: oneOf(...GEMM_PRECISIONS),
		m: int(0, U32),
		n: int(0, U32),
		k: int(0, U32),
		rounds: int(0, U32),
		keep: int(0, U32),
		samples: int(0, U32),
	}),
	fma: object({
		kind: oneOf("fma"),
		device: int(),
		precision: oneOf(...FMA_PRECISIONS),
		lanes: int(0, U32),
		steps: int(0, U32),
		rounds: int(0, U32),
		samples: int(0, U32),
	}),
};
const stream = { kind: oneOf("stream"), device: int(), of: int(), passes: int(0, U32), samples: int(0, U32) };
const spec = variants("kind", {
	...gemmAndFma,
	stream: object({ ...stream, newest: int(0, U32) }),
	copy: object({ kind: oneOf("copy"), device: int(), of: int(), newest: int(0, U32), samples: int(0, U32) }),
});
const specOfVersion1 = variants("kind", { ...gemmAndFma, stream: object(stream) });

const open = object({
	what: oneOf("leaves", "digests"),
	sentAtUs: int(),
	receivedAtUs: int(),
	attachment: int(),
	end,
});

const challenge = (specShape: Shape) =>
	object({ spec: specShape, stage: int(), sentAtUs: int(), roots: int(), end, opens: list(open, 2) });

const reading = object({
	device: int(),
	atUs: int(),
	coreMHz: int(0, U32),
	memoryMHz: int(0, U32),
	powerMw: int(0, U32),
	temperatureC: int(0, U32),
	throttle: int(0, U32),
});

const figure = object({ device: int(), name: words, value: int(), unit: words, challenge: int() });

const bodyFields = {
	format: oneOf("assay-evidence"),
	probe: object({ id: hex(16), startedAtMs: int(), finishedAtUs: int(), target: words, verifier: words }),
	beacon: orNull(object({ kind: text(MAX_TEXT, 1), value: text(1024) })),
	secret: hex(32),
	claim: claimShape,
	link: object({
		kind: oneOf("local", "ssh", "agent"),
		engineSha256: orNull(hex(32)),
		hostKey: orNull(text(1024)),
		handshakeUs: orNull(int()),
		rttUs: list(int(), 1024),
	}),
	figures: list(figure, 4 * MAX_CHALLENGES),
};
const bodies = {
	1: object({
		...bodyFields,
		version: oneOf(1),
		challenges: list(challenge(specOfVersion1), MAX_CHALLENGES),
	}),
	2: object({
		...bodyFields,
		version: oneOf(2),
		challenges: list(challenge(spec), MAX_CHALLENGES),
		readings: list(reading, MAX_READINGS),
	}),
};
const body: Shape = (value, where) => {
	const isOld = typeof value === "object" && value !== null && (value as { version?: unknown }).version === 1;
	return bodies[isOld ? 1 : 2](value, where);
};

export const envelopeShape = object({
	attachments: list(object({ bytes: int(), sha256: hex(32) }), MAX_ATTACHMENTS),
	body,
	signature: object({ key: hex(32), value: hex(64) }),
});
