// What happens in one job, as a stream: from the store's rows, so that nothing is missed and a client goes on
// where it was, at whatever process. Told as it happens; ends with the job.
import type { NetworkEvent } from "../../api/types.ts";
import type { JobEvent } from "../../store/jobs/job-rows.ts";
import type { ValidatorContext } from "../validator-context.ts";

const PAGE = 200;
/** Whoever could not tell us of an event is not waited for. */
const LOOK_EVERY_MS = 5000;

const toldOf = (job: string, { serial, atMs, kind, part, detail }: JobEvent): NetworkEvent => ({
	...{ id: String(serial), atMs, kind: `job.${kind}`, subject: job, providerId: null },
	detail: { part, ...(detail as object) } as NetworkEvent["detail"],
});

export async function* watchJobEvents(
	{ store, hub, env }: Pick<ValidatorContext, "store" | "hub" | "env">,
	job: string,
	after: string | null,
	signal: AbortSignal,
): AsyncGenerator<NetworkEvent> {
	let serial = /^\d{1,15}$/.test(after ?? "") ? Number(after) : 0;
	let isNew = true;
	let wake = () => {};
	const tell = () => {
		isNew = true;
		wake();
	};
	const unlisten = hub.listen(({ kind, subject }) => {
		if (subject === job || kind === "missed") tell();
	});
	signal.addEventListener("abort", tell, { once: true });
	try {
		while (!signal.aborted) {
			isNew = false;
			// Before the events: what ends the job is in them then.
			const isOver = (await store.jobs.summary(job))?.isOver ?? true;
			const events = await store.jobs.events(job, { after: serial, limit: PAGE });
			for (const event of events) {
				serial = event.serial;
				yield toldOf(job, event);
				if (event.kind === "over") return;
			}
			if (events.length === PAGE) continue;
			if (isOver) return;
			if (isNew) continue;
			let cancel = () => {};
			await new Promise<void>((resolve) => {
				wake = resolve;
				cancel = env.after(LOOK_EVERY_MS, resolve);
				if (isNew || signal.aborted) resolve();
			});
			cancel();
		}
	} finally {
		unlisten();
		signal.removeEventListener("abort", tell);
	}
}
