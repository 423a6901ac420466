// Tells a provider that something waits for it. Only a nudge, and often enough that none that was lost
// matters; what it is about the provider fetches.
import { BoundedMap } from "../../../platform/bounded-map.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { AgentAsker } from "../../agents/ask-agent.ts";
import type { ValidatorContext } from "../../validator-context.ts";

export interface NudgeOf {
	readonly job: string;
	readonly part: number;
	readonly attempt: number;
	readonly audit: number | null;
	/** The device of that provider's host that it is for. */
	readonly device: number;
}

const AGAIN_MS = 10_000;
/**
 * One that was told is told again after twice as long each time, up to this: it may have been restarted and
 * have forgotten.
 */
const MOST_AGAIN_MS = 40_000;
/** One that says no while it clears away its last part may say yes a moment later. */
const ASK_TWICE_MS = 1500;
const MOST_REMEMBERED = 10_000;

/** When whom was told of what last; forgotten at a restart, and then told once more. */
export const createNudges = () =>
	new BoundedMap<string, { readonly atMs: number; readonly againMs: number; readonly hasDeclined: boolean }>(
		MOST_REMEMBERED,
	);
export type Nudges = ReturnType<typeof createNudges>;

/** "declined": it will not. Busy ones, and those that are away, are asked again. */
export async function nudge(
	{ asker, env, nudges }: Pick<ValidatorContext, "env"> & { readonly asker: AgentAsker; readonly nudges: Nudges },
	provider: string,
	of: NudgeOf,
): Promise<"told" | "declined" | "away"> {
	const name = `${provider}/${of.job}/${of.part}/${of.attempt}/${of.audit}`;
	const last = nudges.get(name);
	if (last !== undefined && env.nowMs() - last.atMs < last.againMs) return "told";
	nudges.set(name, { atMs: env.nowMs(), againMs: AGAIN_MS, hasDeclined: false });
	try {
		await asker.ask(provider, "job", of);
		const againMs = last === undefined ? AGAIN_MS : Math.min(MOST_AGAIN_MS, 2 * last.againMs);
		nudges.set(name, { atMs: env.nowMs(), againMs, hasDeclined: false });
		return "told";
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		if (error.code !== "JOB_DECLINED") return "away";
		nudges.set(name, { atMs: env.nowMs(), againMs: ASK_TWICE_MS, hasDeclined: true });
		return last?.hasDeclined ? "declined" : "away";
	}
}
