// Which card is this? The vector of proven figures against the profile table: ranked likelihoods, the set
// that cannot be told apart, and what the claimed name makes of it. Pure; the name decides only between
// profiles that the figures leave equal. Not here: whether the figures are true (verify.ts). Page:
// docs/profiles.md.
import type { DeviceClaim, Figure } from "../../../protocol/probe/evidence.ts";
import type { IdentityState } from "../../../protocol/probe/verdict.ts";
import { type Fit, fitOf } from "./likelihood.ts";
import type { Profile } from "./profile.ts";
import { PROFILES, profilesNamed } from "./profiles.ts";
import { type Objection, objectionsTo } from "./rules.ts";
import { type ProvenVector, vectorOf } from "./vector.ts";

/** As in probe/verdict.ts, and contradicted: a machine of that name cannot have given these figures. */
export type JudgedState = IdentityState | "contradicted";

interface Ranked {
	readonly id: string;
	/** Share of the likelihood among all profiles, 0…1. */
	readonly likelihood: number;
	/** 0 when every figure lies where it is expected of this card; below UNKNOWN_FIT nothing is explained. */
	readonly fit: number;
}

export interface IdentityJudgement {
	readonly claimed: string;
	readonly state: JudgedState;
	/**
	 * The profile that is meant: the claimed one if it is among the equals, else the likeliest; null when
	 * nothing fits.
	 */
	readonly profile: string | null;
	/** Best first; those with a likelihood below one in a million are left out. */
	readonly ranked: readonly Ranked[];
	/** Profiles that the figures leave equal, best first. Empty when nothing fits. */
	readonly alike: readonly string[];
	/** Those of `alike` that are worth clearly less than the claimed card: why a claim is only consistent. */
	readonly lesser: readonly string[];
	/**
	 * Of the claimed card only, and only when none of that name fits: what shows a lie when contradicted, else
	 * what is slower or larger than it should be.
	 */
	readonly objections: readonly Objection[];
}

/**
 * Within a factor of 30 in likelihood, figures do not decide: one figure half a spread off can make as much.
 */
export const ALIKE_LOG = Math.log(30);
/** One figure 4.5 spreads off, or several by 2–3: noise does not do that to a card of the table. */
const UNKNOWN_FIT = -10;
/** A fact this much larger makes a card worth more. */
const WORTH_MORE = 1.25;

/** `figures`: those of this one device. `profiles` may be narrowed in tests. */
export function identifyDevice(
	figures: readonly Figure[],
	claim: DeviceClaim,
	profiles: readonly Profile[] = PROFILES,
): IdentityJudgement {
	const vector = vectorOf(figures, claim);
	const claimed = claim.name;
	const nothing = Object.keys(vector.rates).length === 0 && vector.bytesPerS === null && vector.residentBytes === null;
	if (claim.kind !== "gpu" || nothing)
		return { claimed, state: "unjudged", profile: null, ranked: [], alike: [], lesser: [], objections: [] };
	const fits = profiles.map((profile) => fitOf(profile, vector)).sort((a, b) => b.logLikelihood - a.logLikelihood);
	const ranked = rankedOf(fits);
	const named = profilesNamed(claimed);
	const against = named.map((profile) => objectionsTo(profile, vector, claim));
	// The named profile that explains most; several where one name covers several sizes.
	const meant = fits.find(({ profile }) => against[named.indexOf(profile)]?.length === 0);
	const isNamed = named.length > 0;
	const isLie = isNamed && against.every((objections) => objections.some(({ shows }) => shows === "lie"));
	// A card that is too slow for its name, or too large, is none of that name, however near it comes.
	const isMisfit = isNamed && meant === undefined;
	const alike = alikeOf(fits).filter((profile) => !isMisfit || !named.includes(profile));
	const lesser = meant === undefined ? [] : alike.filter((profile) => isWorthMore(meant.profile, profile));
	const isAlike = meant !== undefined && alike.includes(meant.profile);
	const state: JudgedState = !isNamed
		? "unknown-name"
		: isLie
			? "contradicted"
			: alike.length === 0
				? "unknown"
				: !isAlike
					? "other"
					: lesser.length === 0 && isComplete(vector)
						? "confirmed"
						: "consistent";
	return {
		claimed,
		state,
		profile: (isAlike ? meant.profile : alike[0])?.id ?? null,
		ranked,
		alike: alike.map(({ id }) => id),
		lesser: lesser.map(({ id }) => id),
		objections: isMisfit ? nearest(against, isLie) : [],
	};
}

/** Of the profile of that name against which least is to be said. */
function nearest(against: readonly (readonly Objection[])[], isLie: boolean): readonly Objection[] {
	return against
		.map((objections) => objections.filter(({ shows }) => !isLie || shows === "lie"))
		.filter((objections) => isLie || objections.every(({ shows }) => shows !== "lie"))
		.reduce((least, list) => (list.length < least.length ? list : least));
}

function rankedOf(fits: readonly Fit[]): Ranked[] {
	const most = fits[0]?.logLikelihood ?? 0;
	const total = fits.reduce((sum, { logLikelihood }) => sum + Math.exp(logLikelihood - most), 0);
	return fits
		.map(({ profile, logLikelihood, bestFit }) => ({
			id: profile.id,
			likelihood: Math.exp(logLikelihood - most) / total,
			fit: bestFit,
		}))
		.filter(({ likelihood }, i) => i === 0 || likelihood >= 1e-6);
}

function alikeOf(fits: readonly Fit[]): Profile[] {
	const best = fits[0];
	if (best === undefined || best.bestFit < UNKNOWN_FIT) return [];
	return fits
		.filter(({ logLikelihood }) => best.logLikelihood - logLikelihood <= ALIKE_LOG)
		.map(({ profile }) => profile);
}

/** What a full probe proves at least. Without it a name may be consistent, never confirmed. */
function isComplete({ full, bytesPerS, rates }: ProvenVector): boolean {
	const { int8, fp16, fp32 } = rates;
	return full && bytesPerS !== null && int8 !== undefined && fp16 !== undefined && fp32 !== undefined;
}

/** Would somebody gain by passing `other` off as `profile`? */
function isWorthMore(profile: Profile, other: Profile): boolean {
	const rate = (precision: "int8" | "fp16" | "fp32") =>
		(profile.rates[precision] ?? 0) / (other.rates[precision] ?? Number.POSITIVE_INFINITY);
	const gains = [
		profile.memoryBytes / other.memoryBytes,
		profile.bytesPerS / other.bytesPerS,
		rate("int8"),
		rate("fp16"),
		rate("fp32"),
	];
	return Math.max(...gains) >= WORTH_MORE;
}
