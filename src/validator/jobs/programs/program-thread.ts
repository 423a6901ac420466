// The thread of program-desk.ts: a question about a program in, its answer or its refusal out, one after the
// other. Whatever else is thrown ends it.
import { parentPort } from "node:worker_threads";
import { AssayError } from "../../../protocol/assay-error.ts";
import { answerProgram, type ProgramQuestion, type ProgramReply } from "./answer-program.ts";

function replyTo(question: ProgramQuestion): ProgramReply {
	try {
		return { answer: answerProgram(question) };
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		const { code, message, hint } = error;
		return { refused: { code, message, hint } };
	}
}

parentPort?.on("message", (question: ProgramQuestion) => parentPort!.postMessage(replyTo(question)));
