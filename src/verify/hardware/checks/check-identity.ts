// Do the proven figures show that a card is none of the claimed name? And, when they do not, what do they say
// each card is? A value of the figures alone: the claimed name decides only between cards that the figures
// leave equal. Page: docs/profiles.md.
import type { EvidenceBody } from "../../../protocol/probe/evidence.ts";
import type { Finding, Identity } from "../../../protocol/probe/verdict.ts";
import { type Fault, fault } from "../fault.ts";
import { type IdentityJudgement, identifyDevice } from "../identify/identify.ts";
import { basisOf } from "../identify/measured-cards.ts";
import type { Shows } from "../identify/rules.ts";

/** The likelihoods of so many profiles are told; behind them they are tiny. */
const MAX_RANKED = 5;

export function judgeCards({ claim, figures }: Pick<EvidenceBody, "claim" | "figures">): IdentityJudgement[] {
	return claim.devices.map((device, i) =>
		identifyDevice(
			figures.filter((figure) => figure.device === i),
			device,
		),
	);
}

export function checkIdentity(judged: readonly IdentityJudgement[]): Fault | null {
	for (const [i, { state, claimed, objections }] of judged.entries()) {
		if (state !== "contradicted") continue;
		const reasons = objections.map(({ detail }) => detail).join("; ");
		return fault("CARD_CONTRADICTED", `claim.devices[${i}].name`, `not a ${claimed}: ${reasons}`);
	}
	return null;
}

export function identitiesOf(judged: readonly IdentityJudgement[]): Identity[] {
	return judged.map(({ claimed, state, profile, ranked, alike }, device) => ({
		device,
		claimed,
		// A contradiction ended the judgement before this.
		state: state === "contradicted" ? "unknown" : state,
		profile,
		basis: basisOf(profile),
		ranked: ranked.slice(0, MAX_RANKED).map(({ id, likelihood }) => ({ id, likelihood })),
		alike,
	}));
}

export function identityFindings(judged: readonly IdentityJudgement[]): Finding[] {
	return judged.flatMap(({ state, claimed, profile, objections }, device) => {
		const why = (shows: Shows, code: string): Finding[] => {
			const reasons = objections.filter((one) => one.shows === shows).map(({ detail }) => detail);
			return reasons.length === 0
				? []
				: [{ code, detail: `device ${device}: claims ${claimed}; ${reasons.join("; ")}` }];
		};
		const misfit = [...why("slow", "CARD_SLOW"), ...why("larger", "CARD_LARGER")];
		if (state === "other")
			return [
				{ code: "CARD_OTHER", detail: `device ${device}: claims ${claimed}, its figures look like ${profile}` },
				...misfit,
			];
		if (state === "unknown" || state === "unknown-name") {
			const nearest = profile === null ? "its figures fit no known card" : `its figures look like ${profile}`;
			return [{ code: "CARD_UNKNOWN", detail: `device ${device}: claims ${claimed}; ${nearest}` }, ...misfit];
		}
		return [];
	});
}
