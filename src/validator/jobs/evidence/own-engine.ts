// The validator's own engine, for small re-runs (docs/jobs.md §14): one process for each, with a folder of
// its own as its store, and gone afterwards. It runs programs of strangers: bounded ones, but memory and time
// are limited here all the same.
import { totalmem } from "node:os";
import { createEngineClient } from "../../../engine/client/create-engine-client.ts";
import type { OpenProveSession } from "../../../engine/client/open-prove-session.ts";
import { proofOpener } from "../../../engine/client/proof-opener.ts";
import type { OpenWorkSession } from "../../../engine/client/work-session.ts";
import { createLocalLink } from "../../../engine/links/create-local-link.ts";
import type { Environment } from "../../../platform/environment.ts";

interface StartedEngine {
	readonly open: OpenWorkSession;
	/** Absent of a toy. */
	readonly openProof?: OpenProveSession;
	readonly device: number;
	close(): Promise<void>;
}

export interface OwnEngine {
	/** What a program may take, by its plan. */
	readonly mostBytes: number;
	/** For one re-run, everything included. */
	readonly mostMs: number;
	/** Throws what an engine's start throws. */
	start(storePath: string): Promise<StartedEngine>;
}

interface EngineCommand {
	readonly command: string;
	readonly args: readonly string[];
}

const GiB = 2 ** 30;
/**
 * Of the machine's memory, the part that a re-run may take: the database, the chain and callers need the
 * rest.
 */
const MEMORY_SHARE = 4;
/** docs/jobs.md §14: what takes longer is for a drawn auditor. */
const MOST_MS = 60_000;
const READY_MS = 20_000;
const HELLO_MS = 60_000;

export function ownEngine({ command, args }: EngineCommand, env: Environment): OwnEngine {
	return {
		mostBytes: Math.max(2 * GiB, totalmem() / MEMORY_SHARE),
		mostMs: MOST_MS,
		async start(storePath) {
			const link = await createLocalLink({ command, args: [...args, "--store", storePath], env: env.env });
			try {
				const { clockUs, randomBytes } = env;
				const client = await createEngineClient(link, { clockUs, randomBytes, readyDeadlineMs: READY_MS });
				const { devices } = await client.hello({ deadlineMs: HELLO_MS });
				const kinds = devices.map(({ kind }) => kind);
				return {
					open: (work) => client.openWork(work),
					openProof: proofOpener(client),
					device: Math.max(0, kinds.includes("gpu") ? kinds.indexOf("gpu") : kinds.indexOf("cpu")),
					close: async () => {
						await client.close();
						await link.close();
					},
				};
			} catch (error) {
				await link.close();
				throw error;
			}
		},
	};
}
