// What happened to a claim that a watcher looked at, as one line.
import type { WatchEvent } from "../../validator/jobs/watch/watcher.ts";
import type { Paint } from "../print/paint.ts";
import { shortId, shown } from "../print/table.ts";

const STYLES: Readonly<Record<WatchEvent["state"], keyof Pick<Paint, "good" | "bad" | "unsure" | "dim">>> = {
	...{ checking: "dim", right: "good", unable: "unsure", unsteady: "unsure", false: "bad", silent: "bad" },
	...{ asked: "unsure", proven: "good", over: "dim", closed: "dim", trouble: "unsure" },
};

export function watchLine({ claim, job, part, state, detail }: WatchEvent, paint: Paint): string {
	const where = paint.dim(`claim ${shortId(claim)}, job ${shortId(job)}, part ${part}`);
	return `${paint[STYLES[state]](state.padEnd(8))}  ${where}${detail === "" ? "" : `  ${shown(detail, 300)}`}`;
}
