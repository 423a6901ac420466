// Hosts that have proven nothing yet. Their keys cost nothing, and each makes a row that stays: so they are
// counted by the address that brings them, over the API and at the agents' door alike. Whoever has been
// proven once is counted no more, and its place is given back: a site of any size behind one address comes in
// as fast as it can be proven. Page: docs/network.md §4. Not here: who is on the list of an operator
// (`join`).
import { BoundedMap } from "../../platform/bounded-map.ts";

export const NEWCOMERS = {
	/** Of one address: registered and not proven, and connected and not proven. */
	perAddress: 128,
	/** A place of an address comes back by itself after so long, whatever became of the host. */
	addressEveryMs: 30_000,
	/** Of all addresses together, in the same way. */
	inAll: 1024,
	allEveryMs: 2000,
	/**
	 * The last quarter is for addresses that have brought few so far: a few greedy ones do not keep everybody
	 * else out.
	 */
	few: 8,
	keptForFew: 256,
};
export type NewcomerBounds = Readonly<typeof NEWCOMERS>;
export type Newcomers = ReturnType<typeof createNewcomers>;

/**
 * Remembered of those that came; beyond it the oldest are forgotten, and their places come back by time
 * alone.
 */
const KEPT = 50_000;

/** Places taken, of which one comes back every so often. */
function createPlaces(everyMs: number) {
	let taken = 0;
	let atMs = 0;
	return {
		taken(nowMs: number): number {
			taken = Math.max(0, taken - Math.max(0, nowMs - atMs) / everyMs);
			atMs = nowMs;
			return taken;
		},
		add(change: 1 | -1): void {
			taken = Math.max(0, taken + change);
		},
	};
}
type Places = ReturnType<typeof createPlaces>;

/** `clockMs` is monotonic. */
export function createNewcomers(clockMs: () => number, more: Partial<NewcomerBounds> = {}) {
	const o = { ...NEWCOMERS, ...more };
	const all = createPlaces(o.allEveryMs);
	const addresses = new BoundedMap<string, Places>(KEPT);
	/** Key → the address that registered it. */
	const registered = new BoundedMap<string, string>(KEPT);
	/** Connected, by address. */
	const links = new Map<string, Set<string>>();
	const linkOf = new Map<string, string>();

	const left = (key: string): void => {
		const address = linkOf.get(key);
		if (address === undefined) return;
		linkOf.delete(key);
		const keys = links.get(address)!;
		keys.delete(key);
		if (keys.size === 0) links.delete(address);
	};

	return {
		/** Before a row is made for a key that nobody knows. False: not now. */
		mayRegister(address: string, key: string): boolean {
			const nowMs = clockMs();
			const places = addresses.get(address) ?? createPlaces(o.addressEveryMs);
			addresses.set(address, places);
			const own = places.taken(nowMs);
			const most = own < o.few ? o.inAll : o.inAll - o.keptForFew;
			if (own > o.perAddress - 1 || all.taken(nowMs) > most - 1) return false;
			places.add(1);
			all.add(1);
			registered.set(key, address);
			return true;
		},
		/** One that is not proven dials in. False: this address holds too many of them. */
		connected(address: string, key: string): boolean {
			const keys = links.get(address) ?? new Set();
			if (keys.size >= o.perAddress && !keys.has(key)) return false;
			left(key);
			links.set(address, keys.add(key));
			linkOf.set(key, address);
			return true;
		},
		left,
		/** Its first valid verdict, or any later one. */
		proven(key: string): void {
			left(key);
			const address = registered.get(key);
			if (address === undefined) return;
			registered.delete(key);
			addresses.get(address)?.add(-1);
			all.add(-1);
		},
	};
}
