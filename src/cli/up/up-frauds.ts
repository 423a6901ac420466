// Fraud files of a trial network with a liar (`assay up --liar`), whoever found it: the validator's own audit
// keeps its file in the store, the watcher in its folder. Each is laid beside the watcher's, and the command
// is told that judges it.
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { realAfter } from "../../platform/abortable.ts";
import { writeDurably } from "../../platform/durable-file.ts";
import { repeat } from "../../platform/repeat.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { WatchEvent } from "../../validator/jobs/watch/watcher.ts";
import type { UpReport } from "./up-report.ts";

const EVERY_MS = 3000;

export function followFrauds(client: ApiClient, dataDir: string, report: UpReport) {
	const { promise: convicted, resolve } = Promise.withResolvers<void>();
	const told = new Set<string>();
	const tell = (path: string): void => {
		if (!told.has(path)) report.line(`fraud     look at it: assay verify ${path}`);
		told.add(path);
	};
	const onError = (error: unknown) => {
		// The API is closed before this is stopped.
		if (!(error instanceof AssayError)) throw error;
	};
	const looking = repeat({ everyMs: EVERY_MS, after: realAfter, onError }, async () => {
		for (const { hash } of (await client.listFrauds({ query: { limit: 100 } })).rows) {
			const path = join(dataDir, "watch", "frauds", `${hash}.fraud`);
			if (!told.has(path)) await writeDurably(path, await client.getFraud({ params: { hash } }));
			tell(path);
			resolve();
		}
	});
	return {
		/** Somebody was. */
		convicted,
		seen({ state, detail }: WatchEvent): void {
			if (state === "false") tell(detail.split("; ").at(-1)!);
			if (state === "proven") resolve();
		},
		stop: () => looking.stop(),
	};
}
