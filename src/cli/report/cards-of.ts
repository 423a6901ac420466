// What a valid probe proved, in a few words: "8 × H100 80GB HBM3", by the figures and not by the host's word.
// Pure.
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";

export function cardsOf(claim: HostClaim, verdict: Extract<Verdict, { status: "valid" }>): string {
	const counts = new Map<string, number>();
	const proven = new Set(verdict.figures.map(({ device }) => device));
	for (const { device, state, profile } of verdict.identity) {
		if (claim.devices[device]?.kind !== "gpu" || !proven.has(device)) continue;
		const name =
			profile === null || state === "unknown" || state === "unknown-name"
				? "GPU of unknown model"
				: state === "confirmed"
					? profile
					: state === "consistent"
						? `possibly ${profile}`
						: `more like ${profile}`;
		counts.set(name, (counts.get(name) ?? 0) + 1);
	}
	if (counts.size === 0) return "no GPU proven";
	return [...counts].map(([name, count]) => `${count} × ${name}`).join(", ");
}
