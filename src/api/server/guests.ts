// The connections of the API: how many there may be, of one address and in all, at what pace they may come,
// and each one's requests one after the other. Page: docs/network.md §4. Agents' links are guests only until
// they are upgraded; then the agents' door counts them. Not here: how often somebody may ask (gate.ts).
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { TokenBucket } from "../../platform/token-bucket.ts";
import type { Proxies } from "./proxied-address.ts";
import { addressGroup } from "./rate-limit.ts";
import type { ApiLimits } from "./server-options.ts";

export type Guests = ReturnType<typeof createGuests>;

/** Of one connection: the requests after the one that is being answered. */
interface Guest {
	isBusy: boolean;
	readonly line: (() => void)[];
	/** Takes it off its address's count. */
	leave(): void;
}

/**
 * Requests of one connection that wait for the one before: clients of ours, browsers and proxies send none.
 */
const MOST_PIPELINED = 16;
/** Addresses whose pace is remembered. */
const ADDRESSES_KEPT = 10_000;
/** For the database, the engines, evidence and the chain: strangers' connections must not take these. */
const RESERVED_FILES = 256;

function mostConnections(): number {
	const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
	return Math.max(64, Number(soft ?? 1024) - RESERVED_FILES);
}

export function createGuests(limits: ApiLimits, proxies: Proxies) {
	/** Connections of each address. */
	const held = new Map<string, number>();
	const paces = new BoundedMap<string, TokenBucket>(ADDRESSES_KEPT);
	/** The one that has been idle for the longest first. */
	const guests = new Map<Socket, Guest>();
	let links = 0;
	const most = limits.connections ?? mostConnections();

	function mayCome(group: string): boolean {
		const pace =
			paces.get(group) ?? new TokenBucket({ perS: limits.dialsPerS, burst: 2 * limits.connectionsPerAddress });
		paces.set(group, pace);
		return pace.take(performance.now()) && (held.get(group) ?? 0) < limits.connectionsPerAddress;
	}

	/** When every place is taken the longest idle connection goes. False: none is idle. */
	function hasRoom(): boolean {
		if (guests.size + links < most) return true;
		for (const [socket, { isBusy }] of guests) {
			if (isBusy) continue;
			guests.delete(socket);
			socket.destroy();
			return true;
		}
		return false;
	}

	return {
		most,
		/** For each new connection; one that may not come is closed. */
		receive(socket: Socket): void {
			const isProxy = proxies.isProxy(socket.remoteAddress);
			const group = addressGroup(socket.remoteAddress ?? "");
			if ((!isProxy && !mayCome(group)) || !hasRoom()) {
				socket.destroy();
				return;
			}
			const leave = isProxy ? () => {} : countOne(held, group);
			guests.set(socket, { isBusy: false, line: [], leave });
			socket.once("close", () => {
				leave();
				guests.delete(socket);
			});
		},
		/**
		 * One request of a connection after the other. Node would start them all: of those behind the first
		 * nobody hears when their client is gone, and what they hold would be held for ever.
		 */
		inOrder(socket: Socket, response: ServerResponse, answer: () => void): void {
			const guest = guests.get(socket);
			if (guest === undefined || guest.line.length >= MOST_PIPELINED) {
				socket.destroy();
				return;
			}
			const begin = () => {
				response.once("close", () => {
					const next = socket.destroyed ? undefined : guest.line.shift();
					if (next) return next();
					guest.isBusy = false;
					// It has been idle for the shortest.
					if (guests.delete(socket)) guests.set(socket, guest);
				});
				answer();
			};
			if (guest.isBusy) guest.line.push(begin);
			else {
				guest.isBusy = true;
				begin();
			}
		},
		isBusy: (socket: Socket) => guests.get(socket)?.isBusy === true,
		/** Connections that wait for nothing of ours: idle ones, and those whose request has not come whole. */
		closeIdle(): void {
			for (const [socket, { isBusy }] of guests) if (!isBusy) socket.destroy();
		},
		/** It has become an agent's link. */
		release(socket: Duplex): void {
			guests.get(socket as Socket)?.leave();
			guests.delete(socket as Socket);
			links += 1;
			socket.once("close", () => {
				links -= 1;
			});
		},
		/** For tests. */
		ofAddress: (address: string) => held.get(addressGroup(address)) ?? 0,
	};
}

/** Gives the function that takes it off again, once. */
function countOne(held: Map<string, number>, group: string): () => void {
	held.set(group, (held.get(group) ?? 0) + 1);
	let isCounted = true;
	return () => {
		if (!isCounted) return;
		isCounted = false;
		const others = held.get(group)! - 1;
		if (others > 0) held.set(group, others);
		else held.delete(group);
	};
}
