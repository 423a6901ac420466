// What an identity says in words. The command line, the report and the pages all take them from here, so that
// none of them can say what another one denies. Pure. Page: docs/profiles.md.
import type { HostClaim } from "../../../protocol/probe/evidence.ts";
import type { Identity, Verdict } from "../../../protocol/probe/verdict.ts";
import { basisOf } from "./measured-cards.ts";

/** `alike` is null in rows of before, which did not keep it. */
export type NamedIdentity = Pick<Identity, "state" | "profile"> & {
	readonly alike: Identity["alike"] | null;
};

export interface IdentityWords {
	/** "H200", "possibly H200", "more like L4", "no known card"; empty for a device that was not judged. */
	readonly card: string;
	/** How sure that is, and which cards the figures leave equal with it. */
	readonly note: string;
}

/** More are counted, not named. */
const MAX_NAMED = 8;

/** Empty when the figures leave no other card equal. */
function equalsText(others: readonly string[]): string {
	if (others.length === 0) return "";
	const more = others.length - MAX_NAMED;
	return `cannot be told from: ${others.slice(0, MAX_NAMED).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

export function identityWords(identity: NamedIdentity | undefined): IdentityWords {
	if (identity === undefined) return { card: "", note: "" };
	const { state, alike } = identity;
	const card = identity.profile ?? alike?.[0] ?? null;
	const equals = equalsText((alike ?? []).filter((id) => id !== card));
	const basis = basisOf(card) === "data-sheets" ? "; profile from data sheets" : "";
	const also = `${equals === "" ? "" : `; ${equals}`}${basis}`;
	switch (state) {
		case "confirmed":
			return {
				card: card ?? "",
				note: alike !== null && equals === "" ? `confirmed: fits no other known card${basis}` : `confirmed${also}`,
			};
		case "consistent":
			return {
				card: `possibly ${card}`,
				note: equals === "" ? `not confirmed: figures are missing for that${basis}` : `not confirmed${also}`,
			};
		case "other":
			return { card: `more like ${card}`, note: `the figures do not look like the claimed card${also}` };
		case "unknown":
			return { card: "no known card", note: "no known card explains the figures" };
		case "unknown-name":
			return {
				card: card === null ? "no known card" : `like ${card}`,
				note: `the claimed name is in no profile${also}`,
			};
		case "unjudged":
			return { card: "", note: "" };
	}
}

/**
 * What a valid probe proved in a few words: "8 × H100 80GB HBM3", by the figures and not by the host's word.
 * `nameOf`: how a profile is to be called.
 */
export function cardsOf(
	{ devices }: Pick<HostClaim, "devices">,
	{ figures, identity }: Pick<Extract<Verdict, { status: "valid" }>, "figures" | "identity">,
	nameOf: (profile: string) => string = (profile) => profile,
): string {
	const counts = new Map<string, number>();
	const proven = new Set(figures.map(({ device }) => device));
	for (const { device, state, profile, alike } of identity) {
		if (devices[device]?.kind !== "gpu" || !proven.has(device)) continue;
		const isNamed = profile !== null && state !== "unknown" && state !== "unknown-name";
		const name = isNamed ? identityWords({ state, profile: nameOf(profile), alike }).card : "GPU of unknown model";
		counts.set(name, (counts.get(name) ?? 0) + 1);
	}
	if (counts.size === 0) return "no GPU proven";
	return [...counts].map(([name, count]) => `${count} × ${name}`).join(", ");
}
