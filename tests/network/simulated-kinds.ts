// The kinds of simulated providers: honest hosts, and every cheat of tests/toy/cheats.ts on a host that is
// asked what it cheats on. A cheat that is not listed below gets the host that is asked everything, so that a
// new one is part of the simulation from its first day.
import type { HostClaim } from "../../src/protocol/probe/evidence.ts";
import { CHEATS } from "../toy/cheats.ts";
import { toyClaim } from "../toy/toy-claim.ts";

export interface HostShape {
	readonly gpus: number;
	readonly cpus: number;
	readonly disk: boolean;
}

const CARD: HostShape = { gpus: 1, cpus: 0, disk: false };
const TWO_CARDS: HostShape = { gpus: 2, cpus: 0, disk: false };
const DISK: HostShape = { gpus: 0, cpus: 1, disk: true };
const WHOLE: HostShape = { gpus: 2, cpus: 1, disk: true };

export interface SimulatedKind {
	/** `honest`, `honest-two-cards`, … or the name of a cheat. */
	readonly name: string;
	readonly isHonest: boolean;
	readonly host: HostShape;
	/** Says and computes nearly nothing, or takes its time: it does not take the process's turn. */
	readonly outOfTurn: boolean;
}

const ON_ONE_CARD =
	"diagonal smaller-n smaller-n-repeated smaller-k fewer-rounds fewer-lanes fewer-steps skipped-rows precision-fp8 precision-int8 not-fused stale-seed stale-product unchained-rounds reordered-rounds reordered-roots repeated-round surplus-round no-rounds empty-openings missing-opening surplus-opening duplicated-opening reordered-openings short-path long-path wrong-path wrong-leaf short-leaf parent-as-leaf leaves-hashed-as-nodes wrong-digest wrong-leaf-below-digest recomputed-late fetched-late commitment-changed commitment-withheld commitment-after-draw hang-up-on-claim hang-up-on-draw refuses-draw silent-on-draw silence silence-after-claim trickle trickled-openings endless endless-progress endless-roots endless-openings giant-frame giant-frame-later".split(
		" ",
	);
const ON_TWO_CARDS =
	"one-device-as-two one-memory-as-two one-card-as-two second-card-refuses all-cards-refuse peer-own-bytes peer-zeros peer-first-rounds peer-breaks-off".split(
		" ",
	);
const ON_A_DISK =
	"disk-wrong-copy disk-other-rounds disk-stale disk-forgets disk-refuses-to-read disk-copy-withheld disk-wrong-openings".split(
		" ",
	);
/**
 * Slow on purpose, silent, or flooding: an honest neighbour in the same process must not have to wait for
 * them.
 */
const OUT_OF_TURN = new Set(
	"recomputed-late fetched-late one-memory-as-two one-card-as-two commitment-withheld silent-on-draw silence silence-after-claim trickle trickled-openings endless endless-progress endless-roots endless-openings giant-frame giant-frame-later".split(
		" ",
	),
);

function hostOf(cheat: string): HostShape {
	if (ON_ONE_CARD.includes(cheat)) return CARD;
	if (ON_TWO_CARDS.includes(cheat)) return TWO_CARDS;
	return ON_A_DISK.includes(cheat) ? DISK : WHOLE;
}

export const CHEAT_KINDS: readonly SimulatedKind[] = Object.keys(CHEATS).map((name) => ({
	name,
	isHonest: false,
	host: hostOf(name),
	outOfTurn: OUT_OF_TURN.has(name),
}));

/** Mostly one card, as most hosts are asked the least; some of the others. */
export const HONEST_KINDS: readonly SimulatedKind[] = [
	{ name: "honest", isHonest: true, host: CARD, outOfTurn: false },
	{ name: "honest-two-cards", isHonest: true, host: TWO_CARDS, outOfTurn: false },
	{ name: "honest-disk", isHonest: true, host: DISK, outOfTurn: false },
	{ name: "honest-whole", isHonest: true, host: WHOLE, outOfTurn: false },
];
/** Of how many honest ones one is of this kind. */
const HONEST_EVERY = [1, 8, 9, 25];

export function kindNamed(name: string): SimulatedKind {
	const kind = [...HONEST_KINDS, ...CHEAT_KINDS].find((one) => one.name === name);
	if (!kind) throw new Error(`no simulated provider is called ${name}`);
	return kind;
}

/**
 * The kind of each of `count` providers: the share `cheaters` of them cheats, every kind as often as any
 * other, spread evenly among the honest ones. At least one of every kind, or it throws: a simulation that
 * leaves one out must not look like one that caught it.
 */
export function spreadKinds(count: number, cheaters: number): SimulatedKind[] {
	const bad = cheaters === 0 ? 0 : Math.max(CHEAT_KINDS.length, Math.round(count * cheaters));
	const good = count - bad;
	if (good < HONEST_KINDS.length)
		throw new Error(`${count} providers are too few for ${CHEAT_KINDS.length} kinds of cheaters and honest ones`);
	const honest = Array.from({ length: good }, (_, i) => {
		// The first few are one of each.
		if (i < HONEST_KINDS.length) return HONEST_KINDS[i]!;
		return HONEST_KINDS[HONEST_EVERY.findLastIndex((every) => i % every === 0)]!;
	});
	const cheating = Array.from({ length: bad }, (_, i) => CHEAT_KINDS[i % CHEAT_KINDS.length]!);
	// Bresenham: the i-th place cheats when the rounded share grows there.
	return Array.from({ length: count }, (_, i) =>
		Math.floor(((i + 1) * bad) / count) > Math.floor((i * bad) / count) ? cheating.shift()! : honest.shift()!,
	);
}

/** What the host claims; every card has a name of its own, or the network would suspect them of sharing. */
export function claimOf({ gpus, cpus, disk }: HostShape, providerKey: string): HostClaim {
	const claim = toyClaim(gpus, cpus, disk);
	const devices = claim.devices.map((device, i) =>
		device.kind === "gpu" ? { ...device, uuid: `GPU-${providerKey.slice(0, 16)}-${i}` } : device,
	);
	return { ...claim, devices };
}
