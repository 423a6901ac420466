// One thread of the verifier pool: evidence in, verdict out. No state, no I/O; whoever holds the same bytes gets the same verdict.
import { parentPort } from "node:worker_threads";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import type { VerifyReply, VerifyRequest } from "./verifier-pool.ts";

parentPort?.on("message", ({ id, evidence, expect }: VerifyRequest) => {
	parentPort?.postMessage({ id, verdict: verifyEvidence(evidence, expect) } satisfies VerifyReply);
});
