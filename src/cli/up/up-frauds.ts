// Fraud files of a trial network with a liar (`assay up --liar`), whoever found it: the validator's own audit
// keeps its file in the store, the watcher in its folder. Each is laid beside the watcher's, and the command
// is told that judges it.
import { statSync } from "node:fs";
import { join } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { writeDurably } from "../../platform/durable-file.ts";
import type { WatchEvent } from "../../validator/jobs/watch/watcher.ts";
import { assayCommand } from "./first-job.ts";
import { lookAgain } from "./look-again.ts";
import type { UpReport } from "./up-report.ts";

interface FraudsOf {
	readonly client: Pick<ApiClient, "listFrauds" | "getFraud">;
	readonly dataDir: string;
	/** Of the dashboard. */
	readonly url: string;
	readonly report: Pick<UpReport, "line">;
}

export function followFrauds({ client, dataDir, url, report }: FraudsOf) {
	const { promise: convicted, resolve } = Promise.withResolvers<void>();
	const told = new Set<string>();
	const tell = (path: string, claim: string): void => {
		if (told.has(path)) return;
		told.add(path);
		report.line(
			`fraud     a file of ${statSync(path).size} bytes proves the lie. See what was said and what is right:`,
		);
		report.line(`            ${assayCommand()} verify ${path}`);
		report.line(`          or in the browser: ${url}/disputes/${claim}`);
	};
	const looking = lookAgain(async () => {
		for (const { hash, claim } of (await client.listFrauds({ query: { limit: 100 } })).rows) {
			const path = join(dataDir, "watch", "frauds", `${hash}.fraud`);
			if (!told.has(path)) await writeDurably(path, await client.getFraud({ params: { hash } }));
			tell(path, claim);
			resolve();
		}
	});
	return {
		/** Somebody was. */
		convicted,
		seen({ state, detail, claim }: Pick<WatchEvent, "state" | "detail" | "claim">): void {
			if (state === "false") tell(detail.split("; ").at(-1)!, claim);
			if (state === "proven") resolve();
		},
		stop: () => looking.stop(),
	};
}
