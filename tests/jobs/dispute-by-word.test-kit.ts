// What a validator may always do, for tests: say that a claim is false, and show nobody anything.
import * as transitions from "../../src/market/jobs/transitions.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import type { Stage } from "./job-stage.test-kit.ts";

export const disputeByWord = (stage: Stage, id: string) =>
	eventually(async () => {
		const { jobs } = stage.validator.store;
		const { version, record } = (await jobs.get(id))!;
		if (record.parts[0]!.disputedAtMs !== undefined) return true;
		const told = { fraud: null, isProvable: false, why: "it says so" };
		const { outcomes = [], ...next } = transitions.disputed(record, 0, told, record.parts[0]!.claimedAtMs);
		const change = { id, version, before: record, atMs: Date.now(), outcomes, undone: [], claimStates: [], ...next };
		return (await jobs.change(change)) !== null;
	});
