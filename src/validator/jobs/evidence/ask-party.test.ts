// How often somebody is asked: again while it is away, until the patience is over; not again once its answer is final, nor by a validator that is being stopped.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../../protocol/assay-error.ts";
import { mlpSample } from "../../../work/builder/samples.test-kit.ts";
import { askParty } from "./ask-party.ts";

const PATIENCE = 10;

function asking(code: "AGENT_CLOSED" | "RUN_UNSTEADY", rest: (nowMs: number) => Promise<void> = async () => {}) {
	let nowMs = 0;
	let asked = 0;
	const means = {
		ask: async () => {
			asked += 1;
			throw new AssayError(code, "no");
		},
		...{ patienceMs: PATIENCE, askEveryMs: 1, nowMs: () => nowMs, answers: null as never, chain: null },
		sleep: (ms: number) => {
			nowMs += ms;
			return rest(nowMs);
		},
	};
	const claim = { job: "ab".repeat(32), part: 0, attempt: 1 } as never;
	const party = { provider: "cd".repeat(32), audit: null, first: 0, segments: 4 };
	const ask = askParty(means, claim, mlpSample().program, party);
	return { tried: () => ask({ kind: "roots", segment: 1 } as never), asked: () => asked };
}

const isNoAnswer = (error: unknown) => error instanceof AssayError && error.code === "NO_ANSWER";

test("who is away is asked again until the patience is over, who can never answer once", async () => {
	const away = asking("AGENT_CLOSED");
	await assert.rejects(away.tried(), isNoAnswer);
	assert.equal(away.asked(), PATIENCE + 1);
	const broken = asking("RUN_UNSTEADY");
	await assert.rejects(broken.tried(), isNoAnswer);
	assert.equal(broken.asked(), 1);
});

test("a validator that is being stopped asks nobody again, and calls nobody silent", async () => {
	const stopped = asking("AGENT_CLOSED", () => Promise.reject(new Error("stopping")));
	await assert.rejects(stopped.tried(), /stopping/);
	assert.equal(stopped.asked(), 1);
});
