// What this validator holds of one epoch: reports whose leaves give a root on chain, and statements of
// weights with signatures that it has checked. In memory; files are report-archive.ts's. Whatever comes in is
// hostile: nothing is kept that the chain or a signature does not bear out, and of one signer only so much.
import type { KnownStatement, ReportState, Verdict } from "../../market/epochs/epoch-view.ts";
import { malformedAt, type ScoreReport } from "../../market/epochs/score-report.ts";
import { bitOf, seatsOf, stakeOfSet } from "../../market/epochs/seat-set.ts";
import type { ProvableFault } from "../../market/epochs/weights-fault.ts";
import type { Seat, Weights } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { MAX_STATEMENTS, type SignedWeights } from "../../protocol/chain/statements-file.ts";
import { isWeightsSigned, type WeightsDomain, weightsId } from "../../protocol/chain/weights-statement.ts";

export interface HeldStatement {
	readonly id: Hex;
	readonly weights: Weights;
	/** By seat. */
	readonly signatures: Map<number, Hex>;
	/** Accounts that showed it. */
	readonly sources: Set<Hex>;
	verdict: Verdict;
	judgedWith: KnownStatement["judgedWith"];
	fault: ProvableFault | null;
	sinceS: number | null;
	isAnnounced: boolean;
}

/**
 * An honest one signs a set, and a larger one now and then: of one signer the largest sets are kept. ATTACK:
 * who signs a thousand statements would have each of them computed.
 */
const MOST_OF_A_SIGNER = 8;

export class HeldEpoch {
	readonly epoch: number;
	/** By root, of those whose leaves are on disk. */
	readonly states = new Map<Hex, Exclude<ReportState, "absent">>();
	/** By root, as long as they are in use: 10,000 providers are 5 MB a report. */
	readonly reports = new Map<Hex, ScoreReport>();
	readonly statements = new Map<Hex, HeldStatement>();
	hasDraft = false;
	isPublished = false;
	private readonly domain: WeightsDomain;

	constructor(epoch: number, domain: WeightsDomain) {
		this.epoch = epoch;
		this.domain = domain;
	}

	/** Its root is on chain: the caller has looked. */
	hold(report: ScoreReport): void {
		this.reports.set(report.reportRoot, report);
		this.states.set(report.reportRoot, malformedAt(report) === null ? "held" : "malformed");
	}

	/** Of what was posted, or is about to be signed; without any signature. */
	statement(weights: Weights): HeldStatement {
		const id = weightsId(this.domain, weights);
		const known = this.statements.get(id);
		if (known !== undefined) return known;
		const added: HeldStatement = {
			id,
			weights,
			signatures: new Map(),
			sources: new Set(),
			verdict: "unknown",
			judgedWith: null,
			fault: null,
			sinceS: null,
			isAnnounced: false,
		};
		this.statements.set(id, added);
		return added;
	}

	/**
	 * What a peer, or a file, says was signed. True: something is new. Throws RangeError when a signature is
	 * not its signer's: who passes such on is not to be asked again soon.
	 */
	learn({ weights, signatures }: SignedWeights, seats: readonly Seat[], from: Hex | null): boolean {
		if (weights.epoch !== BigInt(this.epoch)) throw new RangeError("weights of another epoch");
		const id = weightsId(this.domain, weights);
		let isNew = false;
		for (const { signer, signature } of signatures) {
			const seat = seats.findIndex((one) => one.signer === signer);
			if (seat === -1 || this.statements.get(id)?.signatures.has(seat)) continue;
			const spare = this.spareOf(seat, stakeOfSet(weights.set, seats), seats);
			if (spare === "full") continue;
			if (!isWeightsSigned(id, { signer, signature })) throw new RangeError(`not a signature of ${signer}`);
			spare?.signatures.delete(seat);
			if (spare?.signatures.size === 0 && spare.verdict !== "provable") this.statements.delete(spare.id);
			this.statement(weights).signatures.set(seat, signature);
			isNew = true;
		}
		if (from !== null) this.statements.get(id)?.sources.add(from);
		return isNew;
	}

	/** What makes room for one more of this signer's: null where there is room, "full" where nothing may go. */
	private spareOf(seat: number, stake: bigint, seats: readonly Seat[]): HeldStatement | "full" | null {
		const own = [...this.statements.values()].filter(({ signatures }) => signatures.has(seat));
		if (own.length < MOST_OF_A_SIGNER) return null;
		const least = own
			.map((one) => ({ one, stake: stakeOfSet(one.weights.set, seats) }))
			.reduce((a, b) => (b.stake < a.stake ? b : a));
		return least.stake < stake ? least.one : "full";
	}

	signersOf({ signatures }: HeldStatement): bigint {
		return [...signatures.keys()].reduce((set, seat) => set | bitOf(seat), 0n);
	}

	/** For everyone, bounded: what stands and what we signed first, then what most stake has signed. */
	toFile(seats: readonly Seat[], own: number, posted: Hex | null): readonly SignedWeights[] {
		const rank = (one: HeldStatement): readonly [number, bigint] => {
			const signers = this.signersOf(one);
			const first = one.id === posted || one.signatures.has(own) ? 1 : 0;
			return [first, stakeOfSet(signers, seats) * 2n ** 64n + stakeOfSet(one.weights.set, seats)];
		};
		return [...this.statements.values()]
			.filter(({ signatures }) => signatures.size > 0)
			.map((one) => ({ one, rank: rank(one) }))
			.sort((a, b) => b.rank[0] - a.rank[0] || (a.rank[1] < b.rank[1] ? 1 : -1))
			.slice(0, MAX_STATEMENTS)
			.map(({ one }) => ({
				weights: one.weights,
				signatures: seatsOf(this.signersOf(one)).map((seat) => ({
					signer: seats[seat]!.signer,
					signature: one.signatures.get(seat)!,
				})),
			}));
	}
}
