// The 100 cases over real samples of the vendors' devices. The samples lie beside the checkout
// (../shared/attestation, or ASSAY_SHARED/attestation) and are no part of the project: their licences let us
// test with them, not ship them.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AttestationVerdict } from "../../src/verify/attestation/verdict.ts";
import type { VerifySignature } from "../../src/verify/attestation/x509/signature.ts";
import { judgeCase, type RealCase } from "./judge-case.test-kit.ts";

/** A worktree of the checkout lies elsewhere: ASSAY_SHARED says where the samples are. */
const beside = fileURLToPath(new URL("../../../shared", import.meta.url));
export const SAMPLES = join(process.env.ASSAY_SHARED ?? beside, "attestation");
export const samplesMissing: string | false = existsSync(join(SAMPLES, "cases.json"))
	? false
	: `real samples are not at ${SAMPLES}; the minted cases run without them`;

export const realCases = (): readonly RealCase[] => JSON.parse(readFileSync(join(SAMPLES, "cases.json"), "utf8"));

export const sample = (name: string): Uint8Array => new Uint8Array(readFileSync(join(SAMPLES, name)));

/** As the project's own verifier sees it. `swap` may change what a file holds, by its name. */
export const judge = (one: RealCase, verify: VerifySignature, swap = sample): AttestationVerdict =>
	judgeCase(one, verify, swap);
