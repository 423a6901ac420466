// The questions of verify/zk/bind-bytes.ts, answered by an engine: what is read from a file goes to its
// device, which hashes it and evaluates it at the proof's point, on all cores. Not here: the judging.
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import {
	type ByteAnswers,
	type ByteFault,
	byteQuestions,
	judgeBytes,
	outsideFault,
	type TensorAnswer,
} from "../../verify/zk/bind-bytes.ts";
import type { OpenedProof } from "../../verify/zk/proof-file.ts";
import { encodeProgram } from "../../work/program/encode.ts";
import type { TensorQuestion } from "../../work/trace/evaluate-tensor.ts";

/** Elements of tensors, little-endian, as HeldBytes has them. */
export interface HeldFiles {
	readonly data?: readonly [features: Uint8Array, labels: Uint8Array] | undefined;
	readonly before?: readonly Uint8Array[] | undefined;
	readonly after?: readonly Uint8Array[] | undefined;
}

/** Null: all of it is what the proof is about. Throws AssayError for what is the engine's. */
export async function bindByEngine(
	{ program, plan, statement, claims }: OpenedProof,
	{ data, before, after }: HeldFiles,
	{ open, device }: { readonly open: OpenWorkSession; readonly device: number },
): Promise<ByteFault | null> {
	const questions = byteQuestions(plan, claims);
	const named = (name: string) => program.tensors.findIndex((one) => one.name === name);
	const state = program.tensors.flatMap(({ kind }, i) => (kind === "state" ? [i] : []));
	const session = await open({ device, program: encodeProgram(program), seed: new Uint8Array(32) });
	const answer = async (tensor: number, question: TensorQuestion, bytes: Uint8Array): Promise<TensorAnswer> => {
		await session.write(tensor, bytes);
		return { root: await session.root(tensor), value: await session.evaluate(tensor, question) };
	};
	const answerAll = async (
		tensors: readonly number[],
		asked: readonly TensorQuestion[],
		all: readonly Uint8Array[],
	) => {
		const answers: TensorAnswer[] = [];
		for (const [i, bytes] of all.entries()) answers.push(await answer(tensors[i]!, asked[i]!, bytes));
		return answers;
	};
	try {
		const inputs = [named("features"), named("labels")];
		const answers: { -readonly [name in keyof ByteAnswers]: ByteAnswers[name] } = {};
		if (data !== undefined) {
			const [features, labels] = await answerAll(inputs, questions.data, data);
			answers.data = [features!, labels!];
		}
		if (before !== undefined) answers.before = await answerAll(state, questions.before, before);
		if (after !== undefined) answers.after = await answerAll(state, questions.after, after);
		return judgeBytes(program, plan, statement, claims, answers);
	} catch (error) {
		if (!(error instanceof AssayError) || error.code !== "TENSOR_RANGE") throw error;
		return outsideFault("these tensors");
	} finally {
		await session.release().catch(() => {});
	}
}
