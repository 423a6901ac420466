// What the customer takes home from inference: texts and tokens, logits, embeddings.
import { utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { writeNpy } from "../../formats/write-npy.ts";
import type { Generation } from "../../inference/generate-program.ts";
import { GENERATION_FILE, generationText } from "../../inference/generation-file.ts";
import type { ScoreProgram } from "../../inference/score-program.ts";
import { type Elements, elementCount, elementsToBytes } from "../../operators/tensor-type.ts";
import type { WorkloadFile } from "../workload.ts";

/** Bytes as text; what is no UTF-8 becomes U+FFFD. */
const textOf = (tokens: ArrayLike<number>): string => new TextDecoder().decode(Uint8Array.from(tokens));

/** `prompts`: the job's, without what fills up the last batch. */
export function textFiles(of: Generation, prompts: readonly (readonly number[])[]): WorkloadFile[] {
	const { fresh } = of;
	const isBytes = of.architecture.vocabulary === 256;
	const row = (tokens: Elements, n: number) => (tokens as Int32Array).subarray(n * fresh, (n + 1) * fresh);
	const lines = (tokens: Elements) =>
		prompts.map((prompt, n) => {
			const own = [...row(tokens, n)];
			const texts = isBytes ? { prompt: textOf(prompt), text: textOf(own) } : {};
			return `${JSON.stringify({ sequence: n, ...texts, tokens: own })}\n`;
		});
	const preview = (tokens: Elements) =>
		prompts.flatMap((prompt, n) => {
			const own = row(tokens, n);
			if (own.every((token) => token === 0)) return [];
			return [isBytes ? `${textOf(prompt)}${textOf(own)}\n` : `${n}: ${own.join(" ")}\n`];
		});
	const file = (name: string, isPreview: boolean, make: (tokens: Elements) => Uint8Array): WorkloadFile => ({
		...{ name, isPreview, tensors: ["tokens"] },
		make: (elements) => make(elements("tokens")),
	});
	return [
		file("text.jsonl", false, (tokens) => utf8ToBytes(lines(tokens).join(""))),
		file("tokens.npy", false, (tokens) =>
			writeNpy("i32", [prompts.length, fresh], elementsToBytes(tokens.subarray(0, prompts.length * fresh) as Elements)),
		),
		file("preview.txt", true, (tokens) => utf8ToBytes(preview(tokens).join(""))),
		{ name: GENERATION_FILE, tensors: [], isPreview: false, make: () => utf8ToBytes(generationText(of)) },
	];
}

/** `logits.npy` or `embeddings.npy`, floats, of the job's own sequences. */
export function scoreFiles({ tensor, dims, scale }: ScoreProgram, count: number): WorkloadFile[] {
	const own = [count, ...dims.slice(1)];
	return [
		{
			...{ name: `${tensor}.npy`, tensors: [tensor], isPreview: false },
			make: (elements) => {
				const held = elements(tensor).subarray(0, elementCount(own)) as Int32Array;
				const bytes = new Uint8Array(4 * held.length);
				const view = new DataView(bytes.buffer);
				for (const [i, value] of held.entries()) view.setFloat32(4 * i, Number(value) / scale, true);
				return writeNpy("f32", own, bytes);
			},
		},
	];
}
