// Real evidence for pages under test: a committed file is put into the store of a running validator as if the
// process that made it had died right after it was durable. The validator's own recovery then verifies,
// counts and scores it: nothing on the page comes from anywhere else.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import { register } from "../../src/store/sample-rows.test-kit.ts";
import { eventually, type ToyValidator } from "../validator/toy-agent.test-kit.ts";

export interface CountedFile {
	readonly providerId: string;
	readonly probeId: string;
	readonly bytes: Uint8Array;
}

/**
 * `file`: a name in vectors/, or the bytes of one. The provider is one that has dialled in before and is
 * away.
 */
export async function countFile(
	{ store, client }: Pick<ToyValidator, "store" | "client">,
	o: {
		readonly file: string | Uint8Array;
		readonly name: string;
		readonly pricePerHourMicros?: number;
		/** One that is registered already. */
		readonly providerId?: string;
	},
): Promise<CountedFile> {
	const { file } = o;
	const bytes =
		typeof file === "string" ? readFileSync(fileURLToPath(import.meta.resolve(`../../vectors/${file}`))) : file;
	const decoded = decodeEvidence(bytes);
	if (!decoded.ok) throw new Error(`${o.name}: ${decoded.code} at ${decoded.where}`);
	const { body, signature } = decoded.evidence.envelope;
	const startedAtMs = Date.now();
	const { name, pricePerHourMicros = 1_000_000 } = o;
	const offer = { link: "agent", target: "", nowMs: startedAtMs, pricePerHourMicros } as const;
	const providerId = o.providerId ?? (await register(store, name, offer));
	const lease = `provider/${providerId}`;
	await store.leases.acquire(lease);
	await store.probes.begin({ id: body.probe.id, providerId, validator: signature.key, startedAtMs });
	await store.evidence.put(body.probe.id, bytes);
	await store.leases.release(lease);
	await eventually(async () => {
		const probe = await client.getProbe({ params: { id: body.probe.id } });
		const provider = await client.getProvider({ params: { id: providerId } });
		return probe.state === "done" && provider.scorePpm !== null;
	});
	return { providerId, probeId: body.probe.id, bytes };
}
