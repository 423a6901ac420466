// Samples for tests of the API: a blob, a job with its offer and terms, a claim.
import { EVIDENCE, evidenceBytes, hex, NOW_MS, proven, provider } from "./toy-network.test-kit.ts";

export const toyBlob = { root: EVIDENCE, size: evidenceBytes.length };

export const bytesOf = (bytes: Uint8Array) => ({ bytes, sizeBytes: bytes.length, sha256: null });

export const toySpec = {
	...({ format: "assay-job", version: 1, title: "a job", kind: "program", program: toyBlob } as const),
	...{ seed: EVIDENCE, given: [{ tensor: 0, ...toyBlob }], segments: 4, metrics: [], previews: [1] },
	method: { name: "sampled", count: 2 } as const,
};

export const toyTerms = {
	...{ customer: "ann", program: EVIDENCE, inputs: EVIDENCE, method: toySpec.method, segments: 4, parts: 1 },
	...{ priceMicros: 1, feeMicros: 1, auditMicros: 1, bondMicros: 1, startByMs: NOW_MS, workMs: 1000 },
	...{ windowMs: 1000, checkedMs: 1000 },
};

export const toyOffer = {
	...{ id: EVIDENCE, terms: toyTerms, escrow: null, salt: EVIDENCE, perWindow: 1, secretCommitment: EVIDENCE },
	...{ untilMs: NOW_MS, signature: EVIDENCE + EVIDENCE },
};

export const toyCounts = { checked: 1, paid: 1, lost: 0, late: 0, declined: 0, returned: 0, convicted: 0 };

export const toyClaim = {
	attestation: {
		...proven.attestation,
		fault: { code: "NONCE_WRONG", where: "rounds[1]", detail: "other" },
		file: EVIDENCE,
	},
	...{ hash: EVIDENCE, job: hex("a", 64), part: 0, attempt: 1, provider: provider.id, atMs: 1 },
	...{ state: "claimed" as const, segmentRoot: EVIDENCE, resultRoot: EVIDENCE, first: EVIDENCE, ends: null },
};

export const toyJob = {
	...{ id: EVIDENCE, customer: "ann", createdAtMs: 1, isOver: false, spec: toySpec, offer: toyOffer },
	record: { id: EVIDENCE, terms: toyTerms, parts: [] },
};
