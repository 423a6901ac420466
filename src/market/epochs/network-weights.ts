// What several validators' scores make together: per provider the stake-weighted median of the reports, each first clipped to the median
// ± clip. docs/network.md §5. As long as those who lie hold less than half of the reporting stake, the median lies between two honest reports.
// Clipping around a median leaves it where it is; it says who lay outside, and is what a mean or a chain may work on.
import type { Params } from "../params.ts";
import type { NetworkWeight, NetworkWeights, ValidatorReport } from "./validator-report.ts";

const PPM = 1_000_000;

interface Vote {
	readonly validatorId: string;
	readonly stake: bigint;
	readonly scorePpm: number;
}

/**
 * Reports are hostile: one with a value that is no score, or a validator that is listed twice, counts as not reported. Stake that reports
 * nothing lowers the quorum; a provider that is missing from a report is 0 in it, so that a minority cannot invent providers.
 */
export function networkWeights(reports: readonly ValidatorReport[], params: Params): NetworkWeights {
	const refused: { validatorId: string; why: string }[] = [];
	const ids = [...new Set(reports.map(({ validatorId }) => validatorId))].sort();
	const usable: { validatorId: string; stake: bigint; scores: ReadonlyMap<string, number> }[] = [];
	let totalStake = 0n;
	for (const validatorId of ids) {
		const own = reports.filter((report) => report.validatorId === validatorId);
		const [report] = own;
		// Two different stakes of one validator: the larger counts against the quorum, in doubt for no decision.
		const stake = own.reduce((most, one) => (one.stake > most ? one.stake : most), 0n);
		totalStake += stake;
		const why = own.length > 1 ? "listed more than once" : wrongIn(report!);
		if (why !== null) refused.push({ validatorId, why });
		else if (report!.scores !== null && stake > 0n)
			usable.push({ validatorId, stake, scores: new Map(Object.entries(report!.scores)) });
	}
	const reportedStake = usable.reduce((sum, { stake }) => sum + stake, 0n);
	const quorum = reportedStake > 0n && reportedStake * BigInt(PPM) >= totalStake * BigInt(params.quorumPpm);
	const providers = quorum ? [...new Set(usable.flatMap(({ scores }) => [...scores.keys()]))].sort() : [];
	const weights = providers.map((providerId) => {
		const votes = usable.map(({ validatorId, stake, scores }) => ({
			validatorId,
			stake,
			scorePpm: scores.get(providerId) ?? 0,
		}));
		return weightOf(providerId, votes, params);
	});
	return { quorum, reportedStake, totalStake, weights, refused };
}

function wrongIn({ stake, scores }: ValidatorReport): string | null {
	if (stake < 0n) return "its stake is negative";
	const bad = Object.entries(scores ?? {}).find(
		([, score]) => !Number.isSafeInteger(score) || score < 0 || score > PPM,
	);
	return bad === undefined ? null : `the score of ${bad[0]} is not an integer from 0 to ${PPM}`;
}

function weightOf(providerId: string, votes: readonly Vote[], { clipPpm }: Params): NetworkWeight {
	const medianPpm = weightedMedian(votes);
	const lowPpm = Number((BigInt(medianPpm) * BigInt(PPM - clipPpm)) / BigInt(PPM));
	const up = (BigInt(medianPpm) * BigInt(PPM + clipPpm) + BigInt(PPM) - 1n) / BigInt(PPM);
	const highPpm = Math.min(PPM, Number(up));
	const clipped = votes.filter(({ scorePpm }) => scorePpm < lowPpm || scorePpm > highPpm);
	const within = votes.map((vote) => ({ ...vote, scorePpm: Math.min(highPpm, Math.max(lowPpm, vote.scorePpm)) }));
	return {
		providerId,
		weightPpm: weightedMedian(within),
		medianPpm,
		lowPpm,
		highPpm,
		clipped: clipped.map(({ validatorId, scorePpm }) => ({ validatorId, scorePpm })),
	};
}

/** The least score at or below which at least half of the stake lies. With stakes in balance that is the lower of the two. */
export function weightedMedian(votes: readonly Pick<Vote, "stake" | "scorePpm">[]): number {
	const sorted = [...votes].sort((a, b) => a.scorePpm - b.scorePpm);
	const total = sorted.reduce((sum, { stake }) => sum + stake, 0n);
	let below = 0n;
	for (const { stake, scorePpm } of sorted) {
		below += stake;
		if (stake > 0n && 2n * below >= total) return scorePpm;
	}
	return 0;
}
