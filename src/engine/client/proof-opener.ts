// Where proofs are made: on the device that was named, or on the CPU of the same engine where that one makes none.
import { ERROR_CODE } from "../wire/frame-table.ts";
import type { EngineClient } from "./create-engine-client.ts";
import type { OpenProveSession } from "./open-prove-session.ts";
import { endingOf } from "./open-work-session.ts";

const HELLO_MS = 60_000;

export function proofOpener(client: Pick<EngineClient, "openProof" | "hello">): OpenProveSession {
	return (proof) =>
		client.openProof(proof).catch(async (error: unknown) => {
			if (endingOf(error).engineError?.code !== ERROR_CODE.unsupported) throw error;
			const { devices } = await client.hello({ deadlineMs: HELLO_MS });
			const cpu = devices.findIndex(({ kind }) => kind === "cpu");
			if (cpu < 0 || cpu === proof.device) throw error;
			return client.openProof({ ...proof, device: cpu });
		});
}
