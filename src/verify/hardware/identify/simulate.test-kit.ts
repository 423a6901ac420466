// Figures as an honest probe of a card would give them, by a small deterministic generator: kernel shares, a
// power cap, noise. For tests only. Nothing here is read by identification but the table of shares, which
// both must agree on.

import { GEMM_PRECISIONS, type Precision } from "../../../protocol/maths/precision.ts";
import type { DeviceClaim, Figure } from "../../../protocol/probe/evidence.ts";
import { POLICY } from "../policy.ts";
import { type Profile, usualTotalBytes } from "./profile.ts";
import { BANDWIDTH_SHARE, INT32_SHARE, MATRIX_SHARE, SCALAR_SHARE } from "./shares.ts";

/** mulberry32: 32 bits of state, uniform in [0, 1). */
export function createDraw(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
}

export interface Conditions {
	/** Power cap as a share of the clock. */
	readonly cap?: number;
	/** Share of the card's time that is ours; the rest is somebody else's. */
	readonly attention?: number;
	/**
	 * A neighbour that takes this share of the card's time comes and goes: each figure has all of it, or the
	 * rest.
	 */
	readonly bursts?: number;
	/** Share of the memory that the probe may fill. */
	readonly fill?: number;
	readonly only?: readonly string[];
	/** Peaks as they are, where the table doubts its own. */
	readonly rates?: Profile["rates"];
}

interface Speeds {
	readonly rates: ReadonlyMap<Precision, number>;
	readonly bytesPerS: number;
}

/** How fast this example of the card is under these conditions. */
export function speedsOf(profile: Profile, draw: () => number, conditions: Conditions = {}): Speeds {
	const within = (low: number, high: number) => low + (high - low) * draw();
	const noise = () => within(0.97, 1.03);
	const { cap = 1, attention: steady = 1, bursts = 0 } = conditions;
	const attention = () => steady * (bursts > 0 && draw() < 0.5 ? 1 - bursts : 1);
	const peaks = { ...profile.rates, ...conditions.rates };
	// Cards of gamers run above their printed boost when nothing holds them back.
	const clock = Math.min(cap, 1) * (profile.market === "datacentre" ? 1 : within(1, 1.06));
	const { low, high } = MATRIX_SHARE[profile.architecture];
	const share = within(Math.max(low, 0.35) * (low < 0.3 ? low / 0.35 : 1), high);
	const rates = new Map<Precision, number>();
	for (const precision of Object.keys(peaks) as Precision[]) {
		const peak = peaks[precision]!;
		const ours = clock * attention() * noise();
		if ((GEMM_PRECISIONS as readonly Precision[]).includes(precision))
			rates.set(precision, Math.min(peak * 1.03, peak * ours * share * within(0.9, 1.1)));
		else {
			const { low: least, high: most } = precision === "int32" ? INT32_SHARE : SCALAR_SHARE;
			rates.set(precision, peak * ours * within(least, most));
		}
	}
	const bytesPerS = profile.bytesPerS * attention() * within(BANDWIDTH_SHARE.low, BANDWIDTH_SHARE.high) * noise();
	return { rates, bytesPerS };
}

export function simulate(profile: Profile, seed: number, conditions: Conditions = {}): Figure[] {
	const draw = createDraw(seed);
	const { rates, bytesPerS } = speedsOf(profile, draw, conditions);
	const figures: Figure[] = [];
	const add = (name: string, value: number, unit: string) =>
		figures.push({ device: 0, name, value: Math.floor(value), unit, challenge: figures.length });
	let fastest = 0;
	for (const [precision, rate] of rates)
		if ((GEMM_PRECISIONS as readonly Precision[]).includes(precision)) {
			fastest = Math.max(fastest, rate);
			add(`gemm.${precision}`, rate, "op/s");
		} else add(`fma.${precision}`, rate, precision === "int32" ? "op/s" : "flop/s");
	const kept = usualTotalBytes(profile) * (conditions.fill ?? 0.955) * (0.99 + 0.02 * draw());
	// As memory/counted-figures.ts does it, with the k that the probe takes for a card of this size.
	const k = usualTotalBytes(profile) >= 12 * 2 ** 30 ? 16384 : 8192;
	const isSlow = bytesPerS < POLICY.streamMargin * POLICY.fetchBytesPerS.gpu;
	const fetch = isSlow ? POLICY.fetchBytesPerSSlow : POLICY.fetchBytesPerS.gpu;
	const resident = kept * (1 - (fetch + fastest / k) / bytesPerS);
	if (resident > 0 && POLICY.streamMargin * (fastest / k) <= bytesPerS) {
		add("memory.resident", resident, "B");
		add("memory.bandwidth", bytesPerS, "B/s");
	}
	return conditions.only === undefined ? figures : figures.filter(({ name }) => conditions.only?.includes(name));
}

/** What a host with this card says of itself. */
export function honestClaim(profile: Profile, changes: Partial<DeviceClaim> = {}): DeviceClaim {
	return {
		kind: "gpu",
		name: profile.names[0]!,
		uuid: "GPU-0",
		memoryBytes: Math.round(usualTotalBytes(profile)),
		freeBytes: Math.round(0.98 * usualTotalBytes(profile)),
		units: profile.sms,
		clockMHz: profile.boostMHz,
		compute: profile.compute,
		pcieGen: 4,
		pcieWidth: 16,
		powerLimitW: profile.powerW,
		powerDefaultW: profile.powerW,
		temperatureC: 40,
		precisions: Object.keys(profile.rates) as Precision[],
		...changes,
	};
}

/**
 * A lie that keeps to what it needs: everything in the claim is the better card's but the memory's size, and
 * precisions that the better card lacks are not answered.
 */
export function lie(truth: Profile, better: Profile, seed: number, conditions: Conditions = {}): Told {
	const { memoryBytes, freeBytes } = honestClaim(truth);
	const claim = honestClaim(better, { memoryBytes, freeBytes });
	return { claim, figures: answered(simulate(truth, seed, conditions), better) };
}

/**
 * The same, with the better card's memory in the claim and most of it "in use by others", so that the fill is
 * not full.
 */
export function lieWithMemoryInUse(truth: Profile, better: Profile, seed: number): Told {
	const { freeBytes } = honestClaim(truth);
	return { claim: honestClaim(better, { freeBytes }), figures: answered(simulate(truth, seed), better) };
}

export interface Told {
	readonly claim: DeviceClaim;
	readonly figures: readonly Figure[];
}

function answered(figures: readonly Figure[], better: Profile): Figure[] {
	return figures.filter(({ name }) => name.startsWith("memory.") || name.slice(name.indexOf(".") + 1) in better.rates);
}

/** By how much `better` beats `truth` in the fact where it beats it most, and which fact that is. */
export function gain(truth: Profile, better: Profile): { readonly most: number; readonly fact: string } {
	const facts: [string, number, number][] = [
		["memory", better.memoryBytes, truth.memoryBytes],
		["bandwidth", better.bytesPerS, truth.bytesPerS],
		...(["int8", "fp16", "fp32"] as const).map((precision): [string, number, number] => [
			"rate",
			better.rates[precision] ?? 0,
			truth.rates[precision] ?? Number.POSITIVE_INFINITY,
		]),
	];
	const gains = facts.map(([fact, more, less]) => ({ most: more / less, fact }));
	return gains.reduce((best, next) => (next.most > best.most ? next : best));
}
