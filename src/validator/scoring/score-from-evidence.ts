// A score worked out again from nothing but its evidence file: the verdict gives figures and identities,
// market's rules the terms. What no evidence shows is taken from the terms as they are stated: the record of
// past probes and roll calls, whether it was rented, a lower level than its cards signed, and which cards
// count for somebody else. Such a statement is named in docs/epochs.md §4.

import type { Params } from "../../market/params.ts";
import { uuidOf } from "../../market/schedule/provider-memory.ts";
import { statedLevel } from "../../market/scores/attested.ts";
import type { Explanation, Term } from "../../market/scores/explanation.ts";
import { NEVER_RENTED, type ScoredDevice, type ScoreInput } from "../../market/scores/score-input.ts";
import { scoreProvider } from "../../market/scores/score-provider.ts";
import { paidProfile } from "../../market/scores/score-sn27.ts";
import type { PastProbe } from "../../protocol/network/provider-memory.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { AttestedLevel, Verdict } from "../../protocol/probe/verdict.ts";

type ValidVerdict = Extract<Verdict, { status: "valid" }>;

export interface ProvenFile {
	readonly sha256: string;
	readonly verdict: ValidVerdict;
	readonly claim: HostClaim;
	readonly startedAtMs: number;
}

/** Throws RangeError or TypeError where the stated terms are no explanation of ours. */
export function scoreFromEvidence(stated: Explanation, file: ProvenFile, params: Params): Explanation {
	const { sha256, verdict, claim, startedAtMs } = file;
	const devices = claim.devices.map(({ kind, uuid }) => ({ kind, uuid: uuidOf(uuid) }));
	const input: ScoreInput = {
		providerId: stated.providerId,
		nowMs: startedAtMs,
		active: true,
		proof: {
			evidence: sha256,
			provenAtMs: startedAtMs,
			devices,
			figures: verdict.figures,
			identity: devices.map((_, device) => {
				const found = verdict.identity.find((one) => one.device === device);
				return { device, profile: paidProfile(found) };
			}),
			claimedRamBytes: claim.host.ramBytes,
		},
		rented: rentedOf(stated.root),
		rentedMs: 0,
		...recordOf(stated.root),
		presence: presenceOf(stated.root),
		attested: attestedOf(stated.root, verdict),
		creditedElsewhere: elsewhere(stated.root, devices),
	};
	return scoreProvider(input, params);
}

const termsIn = (term: Term): readonly Term[] =>
	(Array.isArray(term.from) ? term.from : []).filter((part): part is Term => typeof part === "object" && part !== null);

/** When it was rented and what that burned is the chain's to say. */
function rentedOf(root: Term): ScoreInput["rented"] {
	const rented = termsIn(root).find(({ name }) => name === "rented");
	const paid = rented && termsIn(rented).find(({ name }) => name === "paid");
	const burned = paid && termsIn(paid).find(({ name }) => name === "burned");
	return burned === undefined ? NEVER_RENTED : { calls: rented?.weights?.[1] ?? 0, paidPpm: burned.value };
}

/**
 * The reliability term names every probe and part that counted, and what there was before; or the part that
 * it was convicted for.
 */
function recordOf(root: Term): Pick<ScoreInput, "reliabilityPpm" | "history" | "convicted"> {
	const reliability = termsIn(root).find(({ name }) => name === "reliability");
	if (reliability === undefined) return { reliabilityPpm: null, history: [] };
	const [convicted] = reliability.from;
	if (reliability.rule === "given" && typeof convicted === "string")
		return { reliabilityPpm: null, history: [], convicted };
	const [start, , ...counted] = termsIn(reliability);
	return {
		reliabilityPpm: start?.name === "before" ? start.value : null,
		history: counted.map(({ value, from }): PastProbe => {
			const [evidence] = from;
			return { evidence: typeof evidence === "string" ? evidence : "", counts: value > 0 ? "success" : "failure" };
		}),
	};
}

/**
 * At most what the evidence shows. Less may have counted: the card was somebody else's. Hosted is a matter of
 * the validator's own list of guests; that there was a guest is not.
 */
function attestedOf(root: Term, { attestation }: ValidVerdict): AttestedLevel {
	const said = statedLevel(termsIn(root).map(({ name }) => name));
	const shown = attestation?.level ?? "none";
	const most = shown === "measured" && attestation?.guest ? "hosted" : shown;
	return LEVELS.indexOf(said) <= LEVELS.indexOf(most) ? said : shown;
}

const LEVELS: readonly AttestedLevel[] = ["none", "genuine", "measured", "hosted"];

/** Who answered how many roll calls is the chain's and every validator's own to say. */
function presenceOf(root: Term): ScoreInput["presence"] {
	const presence = termsIn(root).find(({ name }) => name === "presence");
	if (presence === undefined) return null;
	const [answered, counted] = termsIn(presence);
	return { answered: answered?.value ?? 0, counted: counted?.value ?? 0 };
}

/** UUIDs of cards that the stated terms leave out; a score without GPUs at all leaves none out. */
function elsewhere(root: Term, devices: readonly ScoredDevice[]): string[] {
	const gpu = termsIn(root).find(({ name }) => name === "gpu") ?? hostGpu(root);
	if (gpu === undefined) return [];
	const counted = new Set(termsIn(gpu).map(({ name }) => name));
	const shown = new Set(devices.flatMap(({ uuid }, i) => (counted.has(`gpu ${i}`) ? [uuid] : [])));
	return devices.flatMap(({ kind, uuid }) => (kind === "gpu" && !shown.has(uuid) ? [uuid] : []));
}

/** With `hostParts: "plain"` the GPUs are a part of the host. */
const hostGpu = (root: Term): Term | undefined =>
	termsIn(root)
		.filter(({ name }) => name === "host")
		.flatMap(termsIn)
		.find(({ name }) => name === "gpu");

export interface TermDifference {
	/** Names from the root down, joined by " / ". */
	readonly where: string;
	readonly stated: number | null;
	readonly right: number | null;
}

const DEEPEST = 32;

/** Places at the bottom where two explanations differ: what was read, not what follows from it. */
export function termDifferences(stated: Term, right: Term, where = right.name, depth = 0): TermDifference[] {
	if (depth > DEEPEST) return [];
	const below = termsIn(right);
	if (right.rule === "given" || stated.rule === "given")
		return stated.value === right.value ? [] : [{ where, stated: stated.value, right: right.value }];
	const found: TermDifference[] = [];
	const before = termsIn(stated);
	for (let i = 0; i < Math.max(below.length, before.length); i++) {
		const [is, said] = [below[i], before[i]];
		const name = `${where} / ${is?.name ?? said?.name ?? ""}`;
		if (is === undefined || said === undefined || is.name !== said.name)
			found.push({ where: name, stated: said?.value ?? null, right: is?.value ?? null });
		else found.push(...termDifferences(said, is, name, depth + 1));
	}
	return found;
}
