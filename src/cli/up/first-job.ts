// What `assay up` says once its hosts may be drawn for jobs: how many they are, and the command that hands
// one of the samples in. Asked of the API, as any customer would.
import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { ApiClient } from "../../api/create-client.ts";
import { isCheckout, packageRoot } from "../../engine/builds.ts";
import { ordersWhere } from "../../verify/methods/methods.ts";
import type { CliIo } from "../command.ts";
import { defaultDataDir } from "../data-folder.ts";
import { plural } from "../print/table.ts";
import { hostsReady } from "./hosts-ready.ts";
import { lookAgain } from "./look-again.ts";
import type { Live } from "./offer-machine.ts";
import type { UpReport } from "./up-report.ts";

const EVERY_MS = 1000;

/** How the command is called from where `io` is: in a checkout it is not installed. */
export const assayCommand = (): string => (isCheckout() ? "npx assay" : "assay");

const quoted = (path: string): string => (/^[\w./@%+=:-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** `--data DIR`, where the network's folder is not the one that commands look into by themselves. */
const dataOption = (dataDir: string, io: Pick<CliIo, "cwd" | "env">): string =>
	dataDir === resolve(io.cwd, defaultDataDir(io.env)) ? "" : ` --data ${quoted(dataDir)}`;

/** The line to type that hands in a sample. */
export function submitCommand(
	{ sample, method }: { readonly sample: string; readonly method: string },
	dataDir: string,
	io: Pick<CliIo, "cwd" | "env">,
	root = packageRoot(),
): string {
	const whole = join(root, "samples", sample);
	const near = relative(io.cwd, whole);
	const path = !existsSync(whole) ? "FILE" : near.startsWith("..") ? whole : near;
	return `${assayCommand()} job submit ${quoted(path)} --method ${method} --yes${dataOption(dataDir, io)}`;
}

/** Anybody may run it again, and have who lied convicted. */
export const LIAR_JOB = { sample: "mlp-exact.json", method: ordersWhere(({ isProvable }) => isProvable)[0]! };
/** Two hosts run it. */
const FIRST_JOB = {
	sample: "gpt-mini.json",
	method: ordersWhere(({ runners, counts }) => runners(counts.usual) === 2)[0]!,
};

/** Tells it once. Gives the function that stops looking. */
export function tellReady(
	{
		values,
		io,
		dataDir,
		url,
		providers,
		paint,
	}: Pick<Live, "values" | "io" | "dataDir" | "url" | "providers" | "paint">,
	client: Pick<ApiClient, "listJobHosts">,
	report: Pick<UpReport, "line">,
): () => Promise<void> {
	const wanted = values.liar ? 1 : providers;
	const lines = (count: number): readonly string[] =>
		values.liar
			? [
					`${paint.strong("liar")}      it is ready. In a second terminal, hand it a job:`,
					`            ${paint.strong(submitCommand(LIAR_JOB, dataDir, io))}`,
					"          The watcher runs the job again, asks for the number that is false, and has the chain take the liar's",
					"          bond, within a minute or so of the claim. Then honest hosts come, and one does the job anew.",
				]
			: [
					`${paint.strong("jobs")}      ${plural(count, "host")} ready: here in a second terminal, or in the browser at ${url}/jobs`,
					`            ${paint.strong(submitCommand({ ...FIRST_JOB, ...(count < 2 && LIAR_JOB) }, dataDir, io))}`,
				];
	let isTold = false;
	const looking = lookAgain(async () => {
		if (isTold) return;
		const count = await hostsReady(client);
		if (count < wanted || isTold) return;
		isTold = true;
		for (const line of lines(count)) report.line(line);
		void looking.stop();
	}, EVERY_MS);
	return () => looking.stop();
}
