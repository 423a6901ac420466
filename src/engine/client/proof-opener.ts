// Where proofs are made: on the device that was named, or on the CPU of the same engine where that one makes
// none.
import { ERROR_CODE } from "../wire/frame-table.ts";
import type { EngineClient } from "./create-engine-client.ts";
import type { OpenProveSession } from "./open-prove-session.ts";
import { endingOf } from "./open-work-session.ts";
import type { OpenWrapSession } from "./open-wrap-session.ts";

const HELLO_MS = 60_000;

function orOnCpu<Asked extends { readonly device: number }, Session>(
	client: Pick<EngineClient, "hello">,
	open: (asked: Asked) => Promise<Session>,
): (asked: Asked) => Promise<Session> {
	return (asked) =>
		open(asked).catch(async (error: unknown) => {
			if (endingOf(error).engineError?.code !== ERROR_CODE.unsupported) throw error;
			const { devices } = await client.hello({ deadlineMs: HELLO_MS });
			const cpu = devices.findIndex(({ kind }) => kind === "cpu");
			if (cpu < 0 || cpu === asked.device) throw error;
			return open({ ...asked, device: cpu });
		});
}

export const proofOpener = (client: Pick<EngineClient, "openProof" | "hello">): OpenProveSession =>
	orOnCpu(client, (proof) => client.openProof(proof));

export const wrapOpener = (client: Pick<EngineClient, "openWrap" | "hello">): OpenWrapSession =>
	orOnCpu(client, (wrap) => client.openWrap(wrap));
