// What other validators have opened of a roll call. The places are the same for all of them, so a file of
// theirs holds the very openings that this validator would ask the host for. A peer is hostile: what it gives
// is bounded, put under our own commitment, and judged like any other file. So it can withhold something, for
// a while, and nothing else. Not here: when whom (market/roll-call).
import { fetchBounded } from "../../platform/bounded-fetch.ts";
import { decodeRollCallFile, restateRollCallFile } from "../../protocol/roll-call/roll-file.ts";
import type { RollAnswerRow } from "../../store/roll-calls.ts";
import type { TreeEntry } from "./committed-tree.ts";
import { type HostFile, type OpenedCall, statedOf } from "./open-host.ts";

type Files = RollAnswerRow["files"];

/** A page of 200 hosts with eight cards each has 300 kB. */
const PAGE = 200;
const MOST_PAGE_BYTES = 1 << 20;
const MOST_PAGES = 128;
/** 1024 roots, 24 openings and the leaves of 64 devices. */
const MOST_FILE_BYTES = 256 << 10;
const WITHIN_MS = 10_000;

export interface PeerOpenings {
	/** By host, of those that `wanted` has. Empty: it has none yet. Throws when it fails or talks nonsense. */
	list(from: string, call: number, wanted: { has(host: string): boolean }): Promise<ReadonlyMap<string, Files>>;
	/** Null: it does not have all of them any more. Throws as `list`, and for a file of another answer. */
	fetch(from: string, files: Files, call: OpenedCall, entry: TreeEntry): Promise<readonly HostFile[] | null>;
}

/** `endpointOf`: the address that a validator wrote on chain. `signal` ends what is under way. */
export function createPeerOpenings(
	endpointOf: (validator: string) => Promise<string>,
	signal: AbortSignal,
): PeerOpenings {
	async function get(from: string, path: string, mostBytes: number): Promise<Uint8Array | null> {
		const endpoint = await endpointOf(from);
		if (!/^https?:\/\//.test(endpoint)) throw new Error(`${from} has no address on chain`);
		// The address is whatever its owner wrote.
		return await fetchBounded(new URL(path, endpoint), { mostBytes, withinMs: WITHIN_MS, signal });
	}
	return {
		async list(from, call, wanted) {
			const found = new Map<string, Files>();
			let cursor: string | null = null;
			for (let page = 0; page < MOST_PAGES; page++) {
				const next: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
				const path = `/v1/roll-calls/${call}/answers?state=answered&limit=${PAGE}${next}`;
				const bytes = await get(from, path, MOST_PAGE_BYTES);
				if (bytes === null) return found;
				const { rows, cursor: more } = pageIn(bytes);
				for (const { host, files } of rows) if (wanted.has(host)) found.set(host, files);
				if (more === null) return found;
				cursor = more;
			}
			return found;
		},

		async fetch(from, files, call, entry) {
			const made: HostFile[] = [];
			for (const [i, { device }] of entry.reply.answers.entries()) {
				const listed = files.find((one) => one.device === device);
				const bytes = listed && (await get(from, `/v1/evidence/${listed.sha256}`, MOST_FILE_BYTES));
				if (!bytes) return null;
				made.push({ device, file: restated(bytes, call, entry, i) });
			}
			return made;
		},
	};
}

/** Our own statement over what was opened. Whether that is right is judged with it. */
function restated(bytes: Uint8Array, call: OpenedCall, entry: TreeEntry, i: number): Uint8Array {
	const decoded = decodeRollCallFile(bytes);
	if (!decoded.ok) throw new Error(`no file of a roll call: ${decoded.code}`);
	return restateRollCallFile(statedOf(call, entry, i), decoded.evidence);
}

function pageIn(bytes: Uint8Array) {
	const said = JSON.parse(Buffer.from(bytes).toString("utf8")) as {
		readonly rows?: unknown;
		readonly cursor?: unknown;
	};
	if (!Array.isArray(said.rows)) throw new Error("no page of answers");
	const rows = said.rows.flatMap((row: { readonly providerId?: unknown; readonly files?: unknown } | null) => {
		if (typeof row?.providerId !== "string" || !Array.isArray(row.files)) return [];
		const files = row.files.filter(
			(one: Partial<Files[number]> | null): one is Files[number] =>
				Number.isSafeInteger(one?.device) && /^[0-9a-f]{64}$/.test(String(one?.sha256)),
		);
		return [{ host: row.providerId, files }];
	});
	return { rows, cursor: typeof said.cursor === "string" ? said.cursor : null };
}
