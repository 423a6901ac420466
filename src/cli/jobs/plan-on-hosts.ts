// `assay job plan FILE --host ID|all`: what the job would take and cost on the devices of hosts of a network,
// by their proven figures and their owners' prices. Nothing is uploaded and nobody is asked for anything but
// the list of hosts. Page: docs/jobs.md §13.
import type { ApiClient } from "../../api/create-client.ts";
import type { JobHostView } from "../../api/types.ts";
import { costMicros, type Miss, missOf, modelledMs, partWork } from "../../market/jobs/fitting-hosts.ts";
import { missText } from "../../market/jobs/miss-text.ts";
import { parseMethod } from "../../market/jobs/read-order.ts";
import { publishedParams } from "../../market/params.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatBytes, wholeSpan } from "../../protocol/format-number.ts";
import type { JobMethod } from "../../protocol/network/job.ts";
import { DEFAULT_METHOD } from "../../verify/methods/methods.ts";
import { segmentWork } from "../../work/program/job-work.ts";
import type { Program } from "../../work/program/shapes.ts";
import { type apiOptions, openApi } from "../api-connection.ts";
import type { CliIo } from "../command.ts";
import { findProvider } from "../find-by-name.ts";
import type { Values } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { type Column, left, right, shortId, table } from "../print/table.ts";
import { formatMicros } from "../print/tokens.ts";

export type HostValues = Partial<Values<typeof apiOptions>> & {
	readonly host: string | undefined;
	readonly method: string | undefined;
};

type DeviceView = JobHostView["devices"][number];

/** Of one device of a host. */
interface HostPlan extends Omit<JobHostView, "devices" | "isFree">, DeviceView {
	/** Of the whole job, by the model of the work and the device's proven speed. */
	readonly modelledMs: number;
	/** The work alone, at its owner's price: no fee, no checks. */
	readonly costMicros: number;
	/** Null: it fits. */
	readonly miss: Miss | null;
	readonly method: JobMethod["name"] | null;
}

const MOST_HOSTS = 5000;

/** Null: nobody asked. Throws PROVIDER_UNKNOWN. */
export async function planOnHosts(
	program: Program,
	segments: number,
	values: HostValues,
	io: CliIo,
): Promise<readonly HostPlan[] | null> {
	const { host: wanted } = values;
	if (wanted === undefined) return null;
	const method = values.method === undefined ? null : parseMethod(values.method).name;
	// With segment 0, which writes the first state.
	const work = partWork(segmentWork(program), segments + 1);
	const open = { workMs: null, priceMicros: null, bondMicros: 0, excluded: new Set<string>() };
	const limits = { ...open, ...(method !== null && { method }) };
	const api = await openApi(values, io, "customer");
	return api.ask(async (client) => {
		const [hosts, { params: published }] = await Promise.all([hostsNamed(client, wanted), client.getParams()]);
		const params = publishedParams(published);
		return hosts
			.flatMap(({ devices, ...host }) => devices.map((device) => ({ ...host, ...device })))
			.map((host) => ({
				...{ ...host, modelledMs: modelledMs(work, host), costMicros: costMicros(work, host, params), method },
				miss: missOf(asHost(host), work, limits, params),
			}))
			.sort((a, b) => a.costMicros - b.costMicros || a.modelledMs - b.modelledMs);
	});
}

/** Whose it is counts only where several are chosen. */
const asHost = <T extends Pick<JobHostView, "provider">>(host: T) => ({
	...{ ...host, owner: host.provider, network: host.provider },
});

async function hostsNamed(client: ApiClient, wanted: string): Promise<readonly JobHostView[]> {
	const only = wanted === "all" ? null : (await findProvider(client, wanted)).id;
	const found: JobHostView[] = [];
	for await (const host of client.rows("listJobHosts", { query: { limit: 500 } })) {
		if (only === null || host.provider === only) found.push(host);
		if (found.length >= MOST_HOSTS) break;
	}
	if (only !== null && found.length === 0)
		throw new AssayError("PROVIDER_UNKNOWN", `${shortId(only)} takes no jobs now, or has proven no speed`, {
			hint: "`assay job plan FILE --host all` lists those that take jobs.",
		});
	return found;
}

const columns: readonly Column<HostPlan>[] = [
	left("host", ({ provider }) => shortId(provider)),
	right("device", ({ device }) => `${device}`),
	right("takes about", ({ modelledMs: ms }) => (ms < 1000 ? `${ms} ms` : wholeSpan(ms))),
	right("work costs", ({ costMicros: micros }) => formatMicros(micros)),
	right("an hour", ({ pricePerHourMicros: micros }) => formatMicros(micros)),
	right("memory", ({ memoryBytes }) => (memoryBytes === 0 ? "none proven" : formatBytes(memoryBytes))),
	left("", ({ miss, method }) => (miss === null ? "fits" : missText(miss, method ?? DEFAULT_METHOD.name))),
];

export function hostLines(hosts: readonly HostPlan[], paint: Paint): string[] {
	return [
		table(columns, hosts, paint, "no host of this network takes jobs and has proven its speed"),
		paint.dim("  by the model of the work and proven speed; a quote adds the fee, and what checks may cost"),
	];
}
