// Generation, docs/inference.md §7: one step a token, for a batch of sequences side by side; a segment is a
// batch from its first token to its last. Keys and values are scratch: they live within the segment. The
// state is what was generated so far, and the noise of sampling. And the program that checks it: the same
// tokens all at once, what each sampled place should have been.
import { buildProgram } from "../builder/build-program.ts";
import { at, type Expression, type Index, step, type Value, view } from "../builder/expression.ts";
import type { Architecture, ImportedModel } from "../imports/architecture.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { LIMITS, type Program } from "../program/shapes.ts";
import { checkBatchInvariant } from "./batch-invariance.ts";
import { type Forward, forward } from "./forward.ts";
import { log2Up, type Net, numbersOf, type WeightKind } from "./numbers.ts";
import { ModelInputs } from "./parameters.ts";
import { drawsOf, type Sampling, sampled } from "./sampling.ts";
import { declarePrompts, ofBatch, type PromptShape, presence, sequenceAt } from "./sequences.ts";

export interface Generation extends PromptShape {
	readonly architecture: Architecture;
	readonly weights: WeightKind;
	readonly sampling: Sampling;
	/** Tokens that follow each prompt. */
	readonly fresh: number;
}

interface GenerationProgram {
	readonly program: Program;
	/** Constants of the program. */
	readonly constants: Readonly<Record<string, Elements>>;
	/** The model as inputs. */
	weights(model: ImportedModel): Record<string, Elements>;
}

/** Places that are computed: the last token of all is never read. */
export const placesOf = ({ prompt, fresh }: Generation): number => prompt + fresh - 1;

/**
 * Cards read rows of whole sixteens at once. Places beyond the last are seen by none that matters, so nothing
 * else changes.
 */
const inSixteens = (places: number, most: number): number => Math.min(Math.ceil(places / 16) * 16, most);

/** Places of the cache. */
const cacheOf = (of: Generation): number => inSixteens(placesOf(of), 2 ** log2Up(of.architecture.context));

interface Begun {
	readonly net: Net;
	readonly inputs: ModelInputs;
	readonly prompts: Value;
	readonly lengths: Value;
	readonly draws: Value | null;
	/** Whether a tensor by sequences holds the token of place p, or the prompt does. */
	token(tokens: Value, b: Index, place: Expression): Expression;
}

function begin(of: Generation, places: number, steps: number): Begun {
	const { architecture, weights, sampling, sequences, batch, prompt, fresh } = of;
	const b = buildProgram({ k: steps });
	const numbers = numbersOf(weights);
	const net: Net = { b, s: b.step, given: {}, of: architecture, numbers, batch, places };
	const { prompts, lengths } = declarePrompts(net, of);
	const draws = drawsOf(net, sampling, sequences, fresh);
	return {
		...{ net, inputs: new ModelInputs(b, numbers), prompts, lengths, draws },
		token(tokens, i, place) {
			const n = sequenceAt(batch, i);
			const length = at(lengths, n);
			const generated = at(tokens, n, place.sub(length).clamp(0, fresh - 1));
			return place.lt(length).select(at(prompts, n, place.clamp(0, prompt - 1)), generated);
		},
	};
}

const tokenTensor = ({ net }: Begun, kind: "state" | "input", { sequences, fresh, architecture }: Generation) =>
	net.b.tensor(kind, "tokens", "i32", [sequences, fresh], 0, architecture.vocabulary - 1);

function finish({ net, inputs }: Begun): GenerationProgram {
	const program = net.b.program();
	const bySequence = { prompts: "sequence", lengths: "sequence", tokens: "sequence" } as const;
	checkBatchInvariant(program, { batch: net.batch, inputs: bySequence });
	return { program, constants: net.given, weights: (model) => inputs.elements(model) };
}

/** The tokens of this step as a metric: how far it is, and what it says. */
function shown({ b, s, of, batch }: Net, chosen: Value): Value {
	const next = b.tensor("metric", "next", "i32", [batch], 0, of.vocabulary - 1);
	return s.map([batch], (i) => at(chosen, i!), { to: next });
}

/** `keepsLogits`: also the state `logits`, [sequences, places, vocabulary]: for those who compare. */
export function generateProgram(of: Generation, keepsLogits = false): GenerationProgram {
	const { batch, fresh, sampling, sequences, architecture } = of;
	const places = placesOf(of);
	const begun = begin(of, 1, places);
	const { net, inputs, lengths, draws } = begun;
	const { b, s } = net;
	const tokens = tokenTensor(begun, "state", of);
	const now = s.map([batch, 1], (i) => begun.token(tokens, i!, step));
	const context = cacheOf(of);
	const { hidden, logits: logitsOf } = forward(net, inputs, now, { context, lengths: null, hasCache: true });
	const logits = logitsOf(hidden);
	/** Which of the fresh tokens this step gives; below 0: the prompt goes on. */
	const number = (i: Index) => step.sub(at(lengths, sequenceAt(batch, i))).add(1);
	const draw = draws && ((i: Index) => at(draws, sequenceAt(batch, i), number(i).clamp(0, fresh - 1)));
	const chosen = sampled(net, sampling, logits, draw);
	const next = batch > LIMITS.metricElements ? chosen : shown(net, chosen);
	// One more than the number of the token; 0 for whom there is none, and for sequences of other batches.
	const written = s.map([batch], (i) =>
		number(i!)
			.add(1)
			.clamp(0, fresh + 1),
	);
	s.map(
		tokens.dims,
		(n, g) =>
			ofBatch(batch, written, n!)
				.eq(g!.value().add(1))
				.select(ofBatch(batch, next, n!), at(tokens, n!, g!)),
		{ to: tokens },
	);
	if (keepsLogits) {
		const kept = b.tensor("state", "logits", "i32", [sequences, places, architecture.vocabulary], logits.lo, logits.hi);
		const isHere = presence(net, lengths);
		s.map(
			kept.dims,
			(n, t, c) =>
				t!
					.value()
					.eq(step)
					.and(ofBatch(batch, isHere, n!))
					.select(ofBatch(batch, logits, n!, c!), at(kept, n!, t!, c!)),
			{ to: kept },
		);
	}
	return finish(begun);
}

/** Rows of the places that were sampled: [batch·fresh, width]. */
function sampledRows({ net, lengths }: Begun, { fresh, batch }: Generation, { hidden }: Forward): Value {
	const { s, of, places } = net;
	const rows = view(hidden, batch, places, of.width);
	return view(
		s.map([batch, fresh, of.width], (i, g, c) => {
			const place = at(lengths, sequenceAt(batch, i!)).add(g!.value()).sub(1);
			return at(rows, i!, place.clamp(0, places - 1), c!);
		}),
		batch * fresh,
		of.width,
	);
}

/**
 * Segment j computes batch j − 1 all at once, from the prompts and the tokens that somebody says followed
 * them (input `tokens`). Result `right`, [batch, fresh]: the token that each place should have, given all
 * before it.
 */
export function prefillProgram(of: Generation): GenerationProgram {
	const { batch, fresh, sampling, architecture } = of;
	const wanted = placesOf(of);
	// Of few places, more of them would cost more than they save.
	const places = wanted < 64 ? wanted : inSixteens(wanted, architecture.context);
	const begun = begin(of, places, 1);
	const { net, inputs, draws } = begun;
	const { b, s } = net;
	const said = tokenTensor(begun, "input", of);
	const tokens = s.map([batch, places], (i, t) => begun.token(said, i!, t!.value()));
	const made = forward(net, inputs, tokens, {
		...{ context: places, lengths: null, hasCache: false },
		tables: cacheOf(of),
	});
	const logits = made.logits(sampledRows(begun, of, made));
	const noise =
		draws &&
		view(
			s.map([batch, fresh], (i, g) => at(draws, sequenceAt(batch, i!), g!)),
			batch * fresh,
		);
	const right = b.tensor("result", "right", "i32", [batch, fresh], 0, architecture.vocabulary - 1);
	const found = sampled(net, sampling, logits, noise && ((r) => at(noise, r)));
	s.map([batch, fresh], (i, g) => at(view(found, batch, fresh), i!, g!), { to: right });
	return finish(begun);
}
