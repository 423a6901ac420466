// What one proven GPU is worth: the base score of the card that its figures explain, times the share of that card's speed that was proven.
// Where figures leave several cards equal, the least valued counts; a confirmed name may add `namePremiumPpm` to that and no more, for
// between equals a name is only a word. Not here: how many devices count (counted-gpus.ts). docs/scores.md.
import type { Precision } from "../../protocol/maths/precision.ts";
import type { Params } from "../params.ts";
import { baseTerm, formulaTerm } from "./base-score.ts";
import type { Term } from "./explanation.ts";
import type { ProvenFigures } from "./proven-figures.ts";
import { given, term } from "./recompute.ts";
import type { CardFacts, Proof } from "./score-input.ts";

const FULL = 1_000_000;

/** What enters the share of speed. Others (fp8, bf16, tf32, int32) are answered by the same units and would count one fault twice. */
const MATRIX: readonly Precision[] = ["int8", "fp16"];
const SCALAR: readonly Precision[] = ["fp32", "fp64"];

export function deviceTerm(
	device: number,
	identity: Proof["identity"][number] | undefined,
	figures: ProvenFigures,
	cards: ReadonlyMap<string, CardFacts>,
	params: Params,
): Term {
	const factors = [sustained(device, figures), scaling(device, figures)];
	const name = `gpu ${device}`;
	if (identity === undefined || identity.state === "unjudged") return term(name, "ppm", "min", []);
	const meant = candidates(identity).flatMap((id) => cards.get(id) ?? []);
	if (meant.length > 0) {
		const premium = given("name", "ppm", params.namePremiumPpm, "params:namePremiumPpm");
		const values = meant.map((card) => {
			const isOther = identity.state === "confirmed" && card.id !== identity.profile;
			const parts = [baseTerm(card, params), speedTerm(device, card, figures, params), ...factors];
			return term(card.id, "ppm", "product", isOther ? [...parts, premium] : parts);
		});
		return term(name, "ppm", "min", values);
	}
	const formula = formulaTerm(
		figures.best(device, "gemm.fp16", "op/s"),
		figures.best(device, "memory.resident", "B"),
		figures.best(device, "memory.bandwidth", "B/s"),
		params,
	);
	const discount = given("unknown card", "ppm", params.unknownCardPpm, "params:unknownCardPpm");
	return term(name, "ppm", "min", [term("unknown card", "ppm", "product", [formula, discount, ...factors])]);
}

/** Cards among which the figures do not decide. Sorted, so that two validators write the same tree. */
function candidates({ profile, alike }: Proof["identity"][number]): readonly string[] {
	return profile === null ? [] : [...new Set([profile, ...alike])].sort();
}

/**
 * The least share of all facts: a card that lacks one of them is not that card. `…FullPpm` is what honest kernels reach of a data sheet;
 * a missing figure is 0, a doubtful fact is left out whether it would help or not.
 */
function speedTerm(device: number, card: CardFacts, figures: ProvenFigures, params: Params): Term {
	const isDoubtful = (fact: string) => (card.doubt ?? []).some(({ facts }) => facts.includes(fact));
	const source = `profile:${card.id}`;
	const share = (name: string, unit: Term["unit"], fact: number, full: Term) =>
		term(name, "ppm", "share", [figures.best(device, name, unit), given("data sheet", unit, fact, source), full]);
	const shares: Term[] = [];
	const architecture = Object.hasOwn(params.matrixFullPpm, card.architecture) ? card.architecture : "other";
	const matrixFull = given("full speed", "ppm", params.matrixFullPpm[architecture] ?? FULL, "params:matrixFullPpm");
	for (const precision of MATRIX) {
		const fact = card.rates[precision];
		if (fact !== undefined && !isDoubtful(precision)) shares.push(share(`gemm.${precision}`, "op/s", fact, matrixFull));
	}
	const scalarFull = given("full speed", "ppm", params.scalarFullPpm, "params:scalarFullPpm");
	for (const precision of SCALAR) {
		const fact = card.rates[precision];
		if (fact !== undefined && !isDoubtful(precision))
			shares.push(share(`fma.${precision}`, "flop/s", fact, scalarFull));
	}
	if (!isDoubtful("bandwidth")) {
		const full = given("full speed", "ppm", params.bandwidthFullPpm, "params:bandwidthFullPpm");
		shares.push(share("memory.bandwidth", "B/s", card.bytesPerS, full));
	}
	// Never left out: a card is rented by its bytes, and a doubtful size is only doubtful upwards (soldered-on memory).
	const full = given("full size", "ppm", params.memoryFullPpm, "params:memoryFullPpm");
	shares.push(share("memory.resident", "B", card.memoryBytes, full));
	return term("share of speed", "ppm", "min", shares);
}

/** The validator decides whether a sustained run is asked for; one that was asked for and not answered makes no valid verdict. */
function sustained(device: number, figures: ProvenFigures): Term {
	const ratio = figures.least(device, (name) => name.endsWith(".sustained-ratio"));
	return atMostOne("sustained", ratio);
}

/** Together ÷ alone; of the host's least where the device has none of its own. */
function scaling(device: number, figures: ProvenFigures): Term {
	const isScaling = (name: string) => name.startsWith("scaling.");
	return atMostOne("scaling", figures.least(device, isScaling) ?? figures.least(null, isScaling));
}

function atMostOne(name: string, ratio: Term | null): Term {
	return ratio === null ? given(name, "ppm", FULL, "not measured") : term(name, "ppm", "capped", [ratio]);
}
