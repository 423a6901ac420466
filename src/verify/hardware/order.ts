// Is this machine what was ordered? A valid verdict beside an order: how many cards of which model, with at
// least which proven figures. Pure. Not here: how an order is typed (cli/order/), whether the evidence is
// true (verify.ts).
import { formatBytes, formatRate } from "../../protocol/format-number.ts";
import type { Figure } from "../../protocol/probe/evidence.ts";
import type { Identity, Verdict } from "../../protocol/probe/verdict.ts";

/** A figure that each card must reach. */
export interface Least {
	readonly figure: string;
	/** As people call it: "fp16". */
	readonly label: string;
	readonly value: number;
	readonly unit: "FLOPS" | "OPS" | "B" | "B/s";
}

export interface Order {
	/** Cards that all of this must hold for. */
	readonly count: number;
	/** As it was typed; null: any model. */
	readonly model: string | null;
	/** Ids of the profiles that the words mean. */
	readonly profiles: readonly string[];
	readonly least: readonly Least[];
}

const show = (value: number, { unit }: Least): string => (unit === "B" ? formatBytes(value) : formatRate(value, unit));

/** Why one card is not what was ordered; null: it is. */
function faultOf(order: Order, identity: Identity, figures: readonly Figure[]): string | null {
	if (order.model !== null && !(identity.state === "confirmed" && order.profiles.includes(identity.profile ?? ""))) {
		const isPossible = identity.state === "consistent" && order.profiles.includes(identity.profile ?? "");
		if (isPossible) return `is only possibly ${identity.profile}: its figures do not rule out a lesser card`;
		const proven = identity.state === "confirmed" ? `is ${identity.profile}` : `claims to be ${identity.claimed}`;
		const like =
			identity.state === "other" && identity.profile !== null ? `, its figures are more like ${identity.profile}` : "";
		return `${proven}${like}`;
	}
	for (const least of order.least) {
		const best = Math.max(...figures.filter(({ name }) => name === least.figure).map(({ value }) => value));
		if (best === -Infinity) return `has no proven ${least.label}`;
		if (best < least.value)
			return `has ${least.label} ${show(best, least)}, ordered was at least ${show(least.value, least)}`;
	}
	return null;
}

/** One line: what is not as ordered. null: all is. Of a verdict that is not valid nothing is proven. */
export function notAsOrdered(order: Order, verdict: Verdict): string | null {
	const what = `${order.count} × ${order.model ?? "GPU"}`;
	if (verdict.status !== "valid") return `ordered: ${what}; proven: nothing, the verdict is ${verdict.status}`;
	const proven = new Set(verdict.figures.map(({ device }) => device));
	const gpus = verdict.identity.filter(({ state, device }) => state !== "unjudged" && proven.has(device));
	const faults = gpus.map((identity) => {
		const fault = faultOf(
			order,
			identity,
			verdict.figures.filter(({ device }) => device === identity.device),
		);
		return fault === null ? null : `gpu ${identity.device} ${fault}`;
	});
	const good = faults.filter((fault) => fault === null).length;
	if (good >= order.count) return null;
	const first = faults.find((fault) => fault !== null);
	const further = faults.length - good - 1;
	const others = verdict.findings.filter(({ code }) => code === "GPU_UNSUPPORTED").map(({ detail }) => `; ${detail}`);
	const why = first ?? (gpus.length === 0 ? `no GPU was proven${others.join("")}` : "");
	const more = further > 0 ? ` (and ${further} more)` : "";
	return `ordered: ${what}; proven: ${good} of ${order.count}${why === "" ? "" : `; ${why}${more}`}`;
}
