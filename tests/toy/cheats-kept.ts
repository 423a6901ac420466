// Cheaters with kept bytes: peers that are not read, disks that do not hold what they were given. Part of the
// list in cheats.ts.
import { ERROR_CODE } from "../../src/engine/wire/frame-table.ts";
import type { Cheat, StreamAsk, ToyEngine } from "./toy-engine.ts";

export const changed = (bytes: Uint8Array, at: number) => bytes.map((byte, i) => (i === at ? byte ^ 1 : byte));
let staleCopy: readonly Uint8Array[] | null = null;

const isDisk = (ask: StreamAsk, toy: ToyEngine) => toy.claim.devices[ask.reader]?.kind === "disk";
const isPeer = (ask: StreamAsk, toy: ToyEngine) =>
	!isDisk(ask, toy) && toy.sessions.get(ask.session)?.ask.device !== ask.reader;

export const KEPT_CHEATS: Readonly<Record<string, Cheat>> = {
	// — peers that are not read
	"peer-own-bytes": {
		// Reads what it has itself instead of what its peer has.
		read: (kept, ask, toy) => {
			const own = [...toy.sessions.values()].find((session) => session.ask.device === ask.reader);
			return own && isPeer(ask, toy) ? toy.newestOf(own, ask.newest) : kept;
		},
	},
	"peer-zeros": {
		read: (kept, ask, toy) => (isPeer(ask, toy) ? kept.map((bytes) => new Uint8Array(bytes.length)) : kept),
	},
	"peer-first-rounds": {
		read: (kept, ask, toy) =>
			isPeer(ask, toy)
				? toy.sessions
						.get(ask.session)!
						.rounds.slice(0, kept.length)
						.map(({ bytes }) => bytes)
				: kept,
	},
	"peer-breaks-off": {
		request: (toy, id, request) => {
			const isPeers = request.kind === "stream" && isPeer(request, toy);
			if (isPeers) toy.send(id, { kind: "error", code: ERROR_CODE.unsupported, message: "no way to the peer" });
			return isPeers;
		},
	},

	// — disks that do not hold what they were given
	"disk-wrong-copy": { written: (kept) => kept.map((bytes) => bytes.map((byte) => byte ^ 1)) },
	"disk-other-rounds": {
		written: (kept, _ask, session) => session.rounds.slice(0, kept.length).map(({ bytes }) => bytes),
	},
	"disk-stale": {
		// Writes rightly, and reads back what it was given before.
		written: (kept) => {
			staleCopy ??= kept;
			return kept;
		},
		read: (kept, ask, toy) => (isDisk(ask, toy) ? (staleCopy ?? kept) : kept),
	},
	"disk-forgets": {
		read: (kept, ask, toy) => (isDisk(ask, toy) ? kept.map((bytes) => new Uint8Array(bytes.length)) : kept),
	},
	"disk-refuses-to-read": {
		request: (toy, id, request) => {
			const isRead = request.kind === "stream" && isDisk(request, toy);
			if (isRead) toy.send(id, { kind: "error", code: ERROR_CODE.device_failed, message: "read error" });
			return isRead;
		},
	},
	"disk-copy-withheld": {
		request: (toy, id, request) => {
			if (request.kind === "copy")
				toy.send(id, { kind: "error", code: ERROR_CODE.device_failed, message: "disk full" });
			return request.kind === "copy";
		},
	},
	"disk-wrong-openings": {
		openings: (openings, ask) =>
			ask.what === "copied-digests" ? openings.map((o) => ({ ...o, leaf: changed(o.leaf, 3) })) : openings,
	},
};
