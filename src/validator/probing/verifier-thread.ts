// One thread of the verifier pool: evidence in, verdict out, and before it how many spot checks it has
// made, now and then. No state, no I/O; whoever holds the same bytes gets the same verdict.
import { parentPort } from "node:worker_threads";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import { verifyRollCall } from "../../verify/roll-call/verify-roll-call.ts";
import { judgeJobRounds } from "./judge-job-rounds.ts";
import type { CheckedOpenings, VerifyReply, VerifyRequest } from "./verifier-pool.ts";

/** A screen follows ten steps a second; a file has thousands of openings. */
const TOLD_EVERY_MS = 100;

parentPort?.on("message", (request: VerifyRequest) => {
	const say = (reply: VerifyReply) => parentPort?.postMessage(reply);
	const { id } = request;
	if (request.kind === "roll-call") {
		say({ id, verdict: verifyRollCall(request.file, request.facts, request.expect) });
		return;
	}
	if (request.kind === "job-rounds") {
		say({ id, verdict: judgeJobRounds(request.question) });
		return;
	}
	const { evidence, expect, isWatched } = request;
	const seen = new Map<number, CheckedOpenings>();
	const tell = () => {
		if (seen.size === 0) return;
		say({ id, checked: [...seen.values()] });
		seen.clear();
	};
	let toldAtMs = performance.now();
	const onSpotCheck = (challenge: number, done: number, of: number) => {
		seen.set(challenge, { challenge, done, of });
		const atMs = performance.now();
		if (atMs - toldAtMs < TOLD_EVERY_MS) return;
		toldAtMs = atMs;
		tell();
	};
	const verdict = verifyEvidence(evidence, expect, () => {}, isWatched ? onSpotCheck : () => {}, nodeSignatures);
	tell();
	say({ id, verdict });
});
