// An engine of this machine for exact programs: started with a folder as its store, and the device that runs
// them.
import { createEngineClient, type EngineClient } from "../engine/client/create-engine-client.ts";
import type { OpenWrapSession } from "../engine/client/open-wrap-session.ts";
import { proofOpener, wrapOpener } from "../engine/client/proof-opener.ts";
import { realEnvironment } from "../platform/environment.ts";
import type { ProofEngine } from "../provider/proofs/order.ts";
import type { CliIo } from "./command.ts";
import { linkOptions, openTarget } from "./open-target.ts";
import { group, text, usageError, type Values, whole } from "./options.ts";

export const engineOptions = {
	device: whole(
		"N",
		"the device that computes, as assay devices numbers them (default: the first GPU, else the CPU)",
		[0, 1023],
	),
	...group("engine", { engine: linkOptions.engine }),
};

/** Whose time is guessed, of what is only looked at. */
export const cardOption = {
	card: text("NAME", "also guess the time on this card, as docs/profiles.md names it: H200, A100-SXM4-80GB, …"),
};

/** It proves on the same device, or on the CPU where that one proves nothing. */
export interface JobEngine extends ProofEngine {
	/** "NVIDIA H200" */
	readonly name: string;
	/** Proves circuits. */
	readonly openWrap: OpenWrapSession;
	close(): Promise<void>;
}

/** `storePath`: null for programs that keep nothing. */
export async function startJobEngine(
	values: Values<typeof engineOptions>,
	io: CliIo,
	storePath: string | null,
): Promise<JobEngine> {
	const { clockUs, randomBytes } = realEnvironment();
	const local = { identity: undefined, "ask-password": false, timeout: undefined, engine: values.engine };
	const link = await openTarget("local", local, io, storePath === null ? ["--work"] : ["--store", storePath]).open();
	let client: EngineClient | null = null;
	try {
		client = await createEngineClient(link, { clockUs, readyDeadlineMs: 20_000, randomBytes });
		const { devices } = await client.hello({ deadlineMs: 30_000 });
		const kinds = devices.map(({ kind }) => kind);
		const device = values.device ?? Math.max(0, kinds.includes("gpu") ? kinds.indexOf("gpu") : kinds.indexOf("cpu"));
		const found = devices[device];
		if (found === undefined || found.kind === "disk")
			throw usageError(
				`--device ${device}: this machine has ${devices.map((one, i) => `${i} ${one.kind}`).join(", ")}`,
			);
		const started = client;
		return {
			device,
			name: found.name,
			open: (work) => started.openWork(work),
			openProof: proofOpener(started),
			openWrap: wrapOpener(started),
			close: async () => {
				await started.close();
				await link.close();
			},
		};
	} catch (error) {
		await client?.close();
		await link.close();
		throw error;
	}
}
