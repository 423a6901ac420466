// How many requests an address may make, and how many bytes of files it may fetch: one bucket per address and
// class, refilled all the time. Clock and limits are arguments. Addresses are counted by what one customer of
// a provider gets: one IPv4 address, one IPv6 /64.

import { isIPv6 } from "node:net";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { TokenBucket } from "../../platform/token-bucket.ts";
import type { RateClass } from "../route.ts";

/** Requests, and bytes of evidence: those of one address, and those of all together. */
type Counted = RateClass | "bytes" | "allBytes";

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Beyond this many addresses the longest unused ones are forgotten: bounded memory matters more than exact
 * counts.
 */
const LARGEST = 50_000;

export function createRateLimiter(perS: Readonly<Record<Counted, number>>, nowMs: () => number, largest = LARGEST) {
	const buckets: Readonly<Record<Counted, Map<string, TokenBucket>>> = {
		read: new BoundedMap(largest),
		write: new BoundedMap(largest),
		transfer: new BoundedMap(largest),
		bytes: new BoundedMap(largest),
		allBytes: new Map(),
	};
	/** 0 when allowed, else how long to wait in milliseconds. */
	function take(address: string, rate: Counted, cost: number): number {
		const key = rate === "allBytes" ? "" : addressGroup(address);
		const bucket = buckets[rate].get(key) ?? new TokenBucket({ perS: perS[rate], burst: perS[rate] });
		buckets[rate].set(key, bucket);
		return bucket.take(nowMs(), 0, cost) ? 0 : Math.max(1, bucket.waitMs());
	}
	return {
		take: (address: string, rate: RateClass, cost = 1): number => take(address, rate, cost),
		/** A file that was begun is sent whole; the next one waits. */
		takeBytes: (address: string, bytes: number): number =>
			take(address, "bytes", bytes) || take(address, "allBytes", bytes),
		get size(): number {
			return buckets.read.size + buckets.write.size;
		},
	};
}

/** One IPv4 address, one IPv6 /64. */
export const addressGroup = (address: string): string => networkOf(address, 64);

/**
 * One IPv4 address, one IPv6 /56, as providers give one to a customer. For what honest neighbours can share:
 * where servers are let, a /64 is a customer of its own.
 */
export const neighbourhoodOf = (address: string): string => networkOf(address, 56);

function networkOf(address: string, bits: 56 | 64): string {
	if (!isIPv6(address)) return address;
	const plain = address.split("%")[0]!;
	const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(plain);
	if (mapped) return mapped[1]!;
	const [head = "", tail] = plain.split("::");
	const first = head === "" ? [] : head.split(":");
	const last = tail === undefined || tail === "" ? [] : tail.split(":");
	const groups = [...first, ...Array(Math.max(0, 8 - first.length - last.length)).fill("0"), ...last];
	const numbers = groups.slice(0, 4).map((group) => Number.parseInt(group, 16));
	if (bits === 56) numbers[3]! &= 0xff00;
	return `${numbers.map((number) => number.toString(16)).join(":")}::/${bits}`;
}
