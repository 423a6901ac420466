// Disputes that this process plays on chain, beside the keeper's looks, which wait for none of them. In
// memory: after a restart the record says which claims are disputed, and the chain how far their games are.
import { BoundedMap } from "../../../platform/bounded-map.ts";
import type { ValidatorContext } from "../../validator-context.ts";
import type { Tries } from "../keeper/tries.ts";
import type { Played } from "./play-dispute.ts";

/** Each may keep an idle process of the engine. */
const MAX_AT_ONCE = 32;
const MAX_REMEMBERED = 1000;

export type Disputes = ReturnType<typeof createDisputes>;

export function createDisputes({
	tries,
	log,
	stopping,
}: {
	readonly tries: Tries;
	readonly log: ValidatorContext["log"];
	readonly stopping: AbortSignal;
}) {
	const playing = new Map<string, Promise<void>>();
	const right = new BoundedMap<string, string>(MAX_REMEMBERED);

	async function played(name: string, play: () => Promise<Played>): Promise<void> {
		try {
			const { kind, why } = await play();
			log.warn({ dispute: name, kind, why }, "jobs: a dispute was played");
			if (kind === "right") right.set(name, why);
		} catch (error) {
			if (!stopping.aborted) log.warn({ dispute: name, err: error }, "jobs: a dispute goes on later");
		} finally {
			tries.failed(name);
			playing.delete(name);
		}
	}

	return {
		/** Unless it is being played, or was a moment ago. */
		play(name: string, play: () => Promise<Played>): void {
			if (stopping.aborted || playing.size >= MAX_AT_ONCE || playing.has(name) || !tries.mayTry(name)) return;
			playing.set(name, played(name, play));
		},
		/** Why nothing of the claim was found false; null: something is, or it is not known yet. */
		rightOf: (name: string): string | null => right.get(name) ?? null,
		/** Until none is played: they end when the process stops. */
		async ended(): Promise<void> {
			while (playing.size > 0) await Promise.all(playing.values());
		},
	};
}
