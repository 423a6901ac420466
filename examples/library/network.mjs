// Who in a network has proven what, and is its newest evidence true by your own judgement? node network.mjs
// [URL]
import { verifyEvidence } from "assay";
import { createApiClient } from "assay/client";

const client = createApiClient({ baseUrl: process.argv[2] ?? "http://127.0.0.1:8027" });
const { providers, gpus } = await client.network();
console.log(`${providers.active} providers, ${gpus} GPUs`);
for await (const { id, name, lastVerdict } of client.rows("listProviders", { query: { limit: 50 } })) {
	const { rows } = await client.listProviderProbes({ params: { id }, query: { limit: 1 } });
	const [newest] = rows;
	if (newest?.evidenceSha256 == null) continue;
	const verdict = verifyEvidence(await client.getProbeEvidence({ params: { id: newest.id } }));
	console.log(`${name}: the network says ${lastVerdict}, we say ${verdict.status}`);
}
