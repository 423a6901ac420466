// The rounds of signed reports of one probe: when they are asked, what their nonce is bound to, and how the
// evidence holds them. A host that has none is asked once and keeps its time.
import { type CollectedRound, collectRound } from "../../engine/client/collect-round.ts";
import type { EngineClient } from "../../engine/client/create-engine-client.ts";
import { packRound } from "../../protocol/attest/pack-round.ts";
import {
	type AttestationRecord,
	type EvidenceBody,
	MAX_COLLATERAL,
	MAX_ROUNDS,
} from "../../protocol/probe/evidence.ts";
import type { AnsweredChallenge } from "../../protocol/probe/evidence-codec.ts";
import type { CollateralItem } from "../../verify/attestation/collateral/bundle.ts";
import { chooseItems, guestNeeds, type Needing } from "../../verify/attestation/collateral/choose-items.ts";
import {
	type AttestationSettings,
	DEFAULT_POLICY,
	MINT_ROOTS,
	VENDOR_ROOTS,
} from "../../verify/attestation/settings.ts";
import type { VerifySignature } from "../../verify/attestation/x509/signature.ts";
import { bindOfRound } from "../../verify/hardware/checks/check-attestations.ts";

/** What travels along so that a file can be judged in ten years. */
const MOST_COLLATERAL_BYTES = 200_000;

export interface AttestRounds {
	/** After these answers. */
	ask(answered: readonly AnsweredChallenge[]): Promise<void>;
	/** Empty where the engine does not know ATTEST. Attachments go after those that are there. */
	pack(attachments: Uint8Array[]): readonly AttestationRecord[];
}

export interface AttestRoundsOptions {
	readonly client: EngineClient;
	readonly of: Pick<EvidenceBody, "probe" | "countersign">;
	/** Vendors' files that are at hand. */
	readonly collateral: readonly CollateralItem[];
	readonly verify: VerifySignature;
}

export function createAttestRounds({ client, of, collateral, verify }: AttestRoundsOptions): AttestRounds {
	const rounds: (CollectedRound & { readonly after: number })[] = [];
	const settings = { roots: VENDOR_ROOTS, atMs: of.probe.startedAtMs, policy: DEFAULT_POLICY, verify };
	let isKnown = true;
	return {
		async ask(answered) {
			const last = rounds.at(-1);
			const isOver = last !== undefined && (isEmpty(last) || last.end !== "complete" || answered.length <= last.after);
			if (!isKnown || isOver || rounds.length >= MAX_ROUNDS || answered.some(isBroken)) return;
			const after = answered.length;
			const round = await collectRound(client, bindOfRound(of, answered, after));
			if (round.end === "refused") isKnown = false;
			else rounds.push({ ...round, after });
		},
		pack(attachments) {
			return rounds.map((round) => packRound(round, chosenFor(round, collateral, settings), attachments));
		},
	};
}

/** Then the link is gone. */
const isBroken = ({ end, opens }: AnsweredChallenge): boolean =>
	[end, ...opens.map((open) => open.end)].some((one) => one === "silent" || one === "cut" || one === "garbage");

const isEmpty = ({ gpus, cpu }: CollectedRound): boolean => gpus.length === 0 && cpu === null;

/** Of these files, the ones that the round is judged by. */
export function chosenFor(
	{ gpus, switches, cpu }: Pick<CollectedRound, "gpus" | "switches" | "cpu">,
	items: readonly CollateralItem[],
	settings: AttestationSettings,
): CollateralItem[] {
	if (items.length === 0) return [];
	const none = { reports: [], quotes: [], snpReports: [], certificates: [] };
	const needing = [
		...[...gpus, ...switches].map(({ report, chain }) => ({ ...none, reports: [report], certificates: [chain] })),
		...(cpu === null ? [] : [guestNeeds(cpu.quote, cpu.certificates)]),
	];
	const under = (roots: AttestationSettings["roots"], one: Needing) => chooseItems(one, items, { ...settings, roots });
	const chosen = new Set(
		needing.flatMap((one) => {
			const real = under(VENDOR_ROOTS, one);
			// A bundle of a test's own mint, which no update makes: judged by it, and never counted.
			return real.length > 0 ? real : under(MINT_ROOTS, one);
		}),
	);
	let left = MOST_COLLATERAL_BYTES;
	return [...chosen]
		.filter(({ bytes }) => {
			const fits = bytes.length <= left;
			if (fits) left -= bytes.length;
			return fits;
		})
		.slice(0, MAX_COLLATERAL);
}
