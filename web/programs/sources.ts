// Where a program to be shown comes from: a file, a sample that is built here, or a job whose blob is fetched
// with the visitor's key and held against its root.
import type { DescribedProgram } from "../../src/work/program/describe-program.ts";
import { fetchJobBlob } from "../jobs/view/preview.tsx";
import type { JobWork } from "../jobs/work/job-work.ts";
import { sampleJob } from "../jobs/work/samples.ts";
import { shortId } from "../parts/format.ts";
import { loadCustomer } from "../rent/rental-key.ts";
import { api } from "../shell/api.ts";

export type Source =
	| { readonly kind: "file"; readonly file: File }
	| { readonly kind: "sample"; readonly name: string }
	| { readonly kind: "job"; readonly id: string };

export interface NamedProgram {
	readonly name: string;
	readonly program: DescribedProgram;
}

/** Of an address, in its order: ?job=…, ?sample=…, each also twice. */
export function sourcesOf(query: URLSearchParams): Source[] {
	return [...query].flatMap(([key, value]): Source[] => {
		if (key === "sample" && /^[\w-]{1,64}$/.test(value)) return [{ kind: "sample", name: value }];
		return key === "job" && /^[0-9a-f]{64}$/.test(value) ? [{ kind: "job", id: value }] : [];
	});
}

/** Its customer has the spec; of an optimistic one anybody with a key has it once something is claimed. */
async function programOfJob(work: JobWork, id: string, signal: AbortSignal): Promise<Uint8Array> {
	const customer = loadCustomer();
	if (customer === null) throw new Error("sign in on the page Jobs: programs are read with a key");
	const { client } = customer;
	const own = await client.getJob({ params: { id } }, { signal }).catch(() => null);
	const specOfClaim = async () => {
		const { rows } = await api.listClaims({ query: { job: id, limit: 1 } }, { signal });
		if (rows[0] === undefined) throw new Error("this job is another's, and nothing of it was claimed yet");
		return (await client.getClaimCase({ params: { hash: rows[0].hash } }, { signal })).spec;
	};
	const { program } = own?.spec ?? (await specOfClaim());
	return fetchJobBlob(customer, work, id, program, { signal });
}

/** Throws why it may not run, or cannot be had. */
export async function openSource(work: JobWork, source: Source, signal: AbortSignal): Promise<NamedProgram> {
	if (source.kind === "file") {
		const file = new Uint8Array(await source.file.arrayBuffer());
		return { name: source.file.name, program: await work.ask("program", { file }) };
	}
	if (source.kind === "job")
		return {
			name: `job ${shortId(source.id)}`,
			program: await work.ask("program", { file: await programOfJob(work, source.id, signal) }),
		};
	const { name } = source;
	await work.ask("build", { text: JSON.stringify(await sampleJob(name)), title: name, files: {} });
	return { name: `sample ${name}`, program: await work.ask("builtProgram", null) };
}
