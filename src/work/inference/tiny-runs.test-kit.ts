// The smallest models of each family, and prompts drawn for them: for tests of programs on the reference
// machine.
import type { Architecture, ImportedModel } from "../imports/architecture.ts";
import { randomModel } from "../imports/random-model.ts";
import { TINY } from "../imports/tiny-models.ts";
import { Trial } from "../models/training.test-kit.ts";
import { type Generation, generateProgram, prefillProgram } from "./generate-program.ts";
import { promptElements } from "./sequences.ts";

const SIZE = { layers: 2, width: 16, headWidth: 8, hidden: 24, vocabulary: 32, context: 64 };
const mini = (of: Architecture, kvHeads: number): Architecture => ({
	...of,
	...SIZE,
	heads: 2,
	kvHeads,
	isTied: false,
});

export const MINI = {
	gpt2: mini(TINY.gpt2, 2),
	llama: mini(TINY.llama, 1),
	qwen2: mini(TINY.qwen2, 1),
} as const;

export const modelOf = (of: Architecture, seed = 7): ImportedModel => randomModel(of, new Uint8Array(32).fill(seed));

/** So many prompts of different lengths. */
export function drawnPrompts(
	draw: (below: number) => number,
	count: number,
	most: number,
	vocabulary: number,
): number[][] {
	return Array.from({ length: count }, () => Array.from({ length: 1 + draw(most) }, () => draw(vocabulary)));
}

export interface Generated {
	/** [sequences, fresh]. */
	readonly tokens: Int32Array;
	/** [sequences, places, vocabulary]. */
	readonly logits: Int32Array;
}

export function generated(of: Generation, model: ImportedModel, prompts: readonly (readonly number[])[]): Generated {
	const { program, constants, weights } = generateProgram(of, true);
	const trial = new Trial({ program, given: { ...constants, ...weights(model), ...promptElements(of, prompts) } });
	for (let batch = 0; batch < of.sequences / of.batch; batch++) trial.machine.runSegment();
	return { tokens: trial.tensor("tokens") as Int32Array, logits: trial.tensor("logits") as Int32Array };
}

/** What prefill says should follow, given what was said: [sequences, fresh] each. */
export function prefiller(
	of: Generation,
	model: ImportedModel,
	prompts: readonly (readonly number[])[],
): (tokens: Int32Array) => Int32Array {
	const { program, constants, weights } = prefillProgram(of);
	const given = { ...constants, ...weights(model), ...promptElements(of, prompts) };
	return (tokens) => {
		const trial = new Trial({ program, given: { ...given, tokens } });
		const right = new Int32Array(tokens.length);
		for (let batch = 0; batch < of.sequences / of.batch; batch++) {
			trial.machine.runSegment();
			right.set(trial.tensor("right") as Int32Array, batch * of.batch * of.fresh);
		}
		return right;
	};
}
