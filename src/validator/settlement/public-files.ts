// Public files of a validator's chain, under /chain: where the contracts are, leaves and reasons behind the
// roots on chain, signed statements on devices. What they are: docs/epochs.md §4. Whoever fetches one
// believes nothing of it that the chain or a signature does not bear out.
import type { StaticFile } from "../../api/server/server-options.ts";
import type { ContractAddresses } from "../../chain/contracts/contracts.ts";
import type { createDeviceBindings } from "./device-bindings.ts";
import type { ReportArchive } from "./report-archive.ts";

export function createChainPublicFiles(options: {
	readonly addresses: ContractAddresses;
	readonly archive: Pick<ReportArchive, "publicFile">;
	readonly bindings: ReturnType<typeof createDeviceBindings>;
}): (path: string) => Promise<StaticFile | null> {
	const file = (bytes: Uint8Array, maxAgeS: number, contentType = "application/json"): StaticFile => ({
		bytes,
		contentType,
		cacheControl: `public, max-age=${maxAgeS}`,
	});
	const json = (value: object, maxAgeS: number) => file(Buffer.from(`${JSON.stringify(value)}\n`), maxAgeS);
	return async (path) => {
		if (!path.startsWith("/chain/")) return null;
		if (path === "/chain/contracts.json") return json(options.addresses, 60);
		const kept = await options.archive.publicFile(path);
		if (kept !== null) return file(kept, 60, path.endsWith(".gz") ? "application/gzip" : "application/json");
		const bindings = await options.bindings(path);
		// A provider asks right after its probe.
		return bindings === null ? null : json(bindings, 0);
	};
}
