// What a provider holds: equal cards counted together, with the figures of the weakest of them, because that
// is what a customer gets of each. A sum by rule, not a judgement: which card a device is was decided by
// verify/hardware/identify.
import type { Figure } from "../protocol/probe/evidence.ts";
import type { DeviceRow } from "./devices.ts";

/** Equal cards of one provider, by proven model, with the figures of the weakest: what a search looks at. */
export interface Holding {
	readonly model: string;
	readonly count: number;
	readonly figures: { readonly [name: string]: number };
}

/** The group of GPUs that no profile explains; still found by their figures. */
export const UNKNOWN_MODEL = "unknown";

/** Largest group first; then the one with more fp16, then by name, so that the order is always the same. */
export function holdingsOf(devices: readonly DeviceRow[], figures: readonly Figure[]): readonly Holding[] {
	const groups = new Map<string, DeviceRow[]>();
	for (const device of devices) {
		if (device.kind !== "gpu") continue;
		const model = device.profile ?? UNKNOWN_MODEL;
		groups.set(model, [...(groups.get(model) ?? []), device]);
	}
	const holdings = [...groups].map(([model, members]) => ({
		model,
		count: members.length,
		figures: weakest(members.map((member) => figuresOf(member.device, figures))),
	}));
	const fp16 = (holding: Holding) => holding.figures["gemm.fp16"] ?? -1;
	return holdings.sort((a, b) => b.count - a.count || fp16(b) - fp16(a) || (a.model < b.model ? -1 : 1));
}

function figuresOf(device: number, figures: readonly Figure[]): ReadonlyMap<string, number> {
	const best = new Map<string, number>();
	// A figure may come from several challenges: what was proven once is proven.
	for (const figure of figures)
		if (figure.device === device) best.set(figure.name, Math.max(figure.value, best.get(figure.name) ?? 0));
	return best;
}

/** Only figures that every card of the group has. */
function weakest(cards: readonly ReadonlyMap<string, number>[]): { readonly [name: string]: number } {
	const [first, ...others] = cards;
	const least: Record<string, number> = {};
	for (const [name, value] of first ?? []) {
		if (!others.every((card) => card.has(name))) continue;
		least[name] = Math.min(value, ...others.map((card) => card.get(name)!));
	}
	return least;
}
