// Public files of a validator's chain, under /chain: where the contracts are, leaves and reasons behind the roots on chain, attestations of devices. What they are:
// docs/chain.md §10. Whoever fetches one believes nothing of it that the chain or a signature does not bear out.
import type { StaticFile } from "../../api/server/server-options.ts";
import type { ContractAddresses } from "../../chain/contracts/contracts.ts";
import type { createDeviceAttester } from "./device-bindings.ts";
import type { ReportArchive } from "./report-archive.ts";

export function createChainPublicFiles(o: {
	readonly addresses: ContractAddresses;
	readonly archive: Pick<ReportArchive, "publicFile">;
	readonly attestations: ReturnType<typeof createDeviceAttester>;
}): (path: string) => Promise<StaticFile | null> {
	const file = (bytes: Uint8Array, maxAgeS: number, contentType = "application/json"): StaticFile => ({
		bytes,
		contentType,
		cacheControl: `public, max-age=${maxAgeS}`,
	});
	const json = (value: object, maxAgeS: number) => file(Buffer.from(`${JSON.stringify(value)}\n`), maxAgeS);
	return async (path) => {
		if (!path.startsWith("/chain/")) return null;
		if (path === "/chain/contracts.json") return json(o.addresses, 60);
		const kept = await o.archive.publicFile(path);
		if (kept !== null) return file(kept, 60, path.endsWith(".gz") ? "application/gzip" : "application/json");
		const attested = await o.attestations(path);
		// A provider asks right after its probe.
		return attested === null ? null : json(attested, 0);
	};
}
