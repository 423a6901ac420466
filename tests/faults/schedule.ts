// What fails, and when: drawn from one number, so that a run that went wrong can be repeated. Two tracks, the
// chain's node and everything else, so that two things may be broken at once, as they are when it matters.
import { seeded } from "../network/crash-run.ts";
import type { NodeFaults } from "./bad-node.ts";

interface Timed {
	readonly atMs: number;
	readonly forMs: number;
}
export type NodeFault = (Timed & { readonly node: Partial<NodeFaults> }) | (Timed & { readonly fork: number });
/** `at`: which validator's process, or which host. */
export type OtherFault = Timed & {
	readonly at: number;
	readonly kind:
		| "database cut"
		| "database frozen"
		| "database slow"
		| "validator killed"
		| "validator frozen"
		| "disk full"
		| "clock an hour ahead"
		| "clock an hour back"
		| "link broken"
		| "host frozen";
};

export interface Schedule {
	readonly seed: number;
	readonly validators: 1 | 2;
	readonly confirmations: number;
	/** When commands are typed. */
	readonly jobs: readonly number[];
	readonly payments: readonly number[];
	readonly node: readonly NodeFault[];
	readonly others: readonly OtherFault[];
}

/** A job takes some 15 s from its quote to its payment: each of its states meets a fault. */
const FOR_MS = 18_000;
const TYPED_WITHIN_MS = 10_000;
const HOSTS = 4;
/** A reorganisation undoes nothing that is deeper than it goes. */
const DEEPEST_FORK = 6;

export function drawSchedule(seed: number): Schedule {
	const random = seeded(seed);
	const below = (n: number) => Math.floor(random() * n);
	const one = <T>(of: readonly T[]): T => of[below(of.length)]!;
	const validators = one([1, 1, 2] as const);
	const NODE: readonly (() => { node: Partial<NodeFaults> } | { fork: number })[] = [
		() => ({ node: { behind: 1 + below(50), behindShare: 1 } }),
		() => ({ node: { behind: 1 + below(3), behindShare: 0.5 } }),
		() => ({ node: { behind: 1 + below(3), behindShare: 0.5, dropShare: 0.3, twiceShare: 0.3, lostShare: 0.3 } }),
		() => ({ node: { lateMs: one([500, 3000, 10_000]), lateShare: 0.5 } }),
		() => ({ node: { failShare: one([0.5, 0.7, 1]), status: one([429, 500] as const) } }),
		() => ({ node: { chainId: "0x1" } }),
		() => ({ fork: 1 + below(DEEPEST_FORK) }),
	];
	const OTHERS: readonly OtherFault["kind"][] = [
		...(["database cut", "database frozen", "database slow", "validator killed", "validator frozen"] as const),
		...(["disk full", "clock an hour ahead", "clock an hour back", "link broken", "host frozen"] as const),
	];
	/** One after the other, with pauses. */
	function track<T>(draw: () => T): (T & Timed)[] {
		const all: (T & Timed)[] = [];
		for (let atMs = below(2000); atMs < FOR_MS; ) {
			const forMs = 500 + below(5000);
			all.push({ ...draw(), atMs, forMs });
			atMs += forMs + below(3000);
		}
		return all;
	}
	const node = track(() => one(NODE)()) as NodeFault[];
	const others = track(() => ({ kind: one(OTHERS), at: below(HOSTS) }));
	const moments = (count: number) => Array.from({ length: count }, () => below(TYPED_WITHIN_MS)).sort((a, b) => a - b);
	return {
		...{ seed, validators, node, others, jobs: [0, ...moments(1)], payments: moments(4) },
		confirmations: node.some((fault) => "fork" in fault) ? DEEPEST_FORK + 2 : one([1, 2]),
	};
}
