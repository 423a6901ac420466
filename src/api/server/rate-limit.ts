// How many requests an address may make: one bucket per address and class, refilled all the time. Clock and limits are arguments.
// Addresses are counted by what one customer of a provider gets: one IPv4 address, one IPv6 /64.
import { isIPv6 } from "node:net";
import type { RateClass } from "../route.ts";

export interface RateLimiter {
	/** 0 when allowed, else how long to wait in milliseconds. */
	take(address: string, rate: RateClass): number;
	readonly size: number;
}

interface Bucket {
	left: number;
	atMs: number;
}

/** Beyond this many addresses the longest unused ones are forgotten: bounded memory matters more than exact counts. */
const LARGEST = 50_000;

export function createRateLimiter(
	perS: Readonly<Record<RateClass, number>>,
	nowMs: () => number,
	largest = LARGEST,
): RateLimiter {
	const buckets: Readonly<Record<RateClass, Map<string, Bucket>>> = { read: new Map(), write: new Map() };
	return {
		take(address, rate) {
			const limit = perS[rate];
			const now = nowMs();
			const held = buckets[rate];
			const key = addressGroup(address);
			const bucket = held.get(key) ?? { left: limit, atMs: now };
			// A clock that was set back must neither refill nor drain.
			bucket.left = Math.min(limit, bucket.left + (Math.max(0, now - bucket.atMs) * limit) / 1000);
			bucket.atMs = now;
			// Taken out and put in again: a Map keeps this order, so its first key is the longest unused.
			held.delete(key);
			held.set(key, bucket);
			if (held.size > largest) held.delete(held.keys().next().value!);
			if (bucket.left < 1) return Math.ceil(((1 - bucket.left) * 1000) / limit);
			bucket.left -= 1;
			return 0;
		},
		get size() {
			return buckets.read.size + buckets.write.size;
		},
	};
}

export function addressGroup(address: string): string {
	if (!isIPv6(address)) return address;
	const plain = address.split("%")[0]!;
	const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain);
	if (mapped) return mapped[1]!;
	const [head = "", tail] = plain.split("::");
	const first = head === "" ? [] : head.split(":");
	const last = tail === undefined || tail === "" ? [] : tail.split(":");
	const groups = [...first, ...Array(Math.max(0, 8 - first.length - last.length)).fill("0"), ...last];
	return `${groups
		.slice(0, 4)
		.map((group) => Number.parseInt(group, 16).toString(16))
		.join(":")}::/64`;
}
