// Does a fraud file convict? docs/jobs.md §7. A pure function of its bytes and of what the asker expects; the
// same in the CLI and in a browser. Bad files are values, never exceptions. Who is convicted made this claim
// and gave these answers: whether somebody signed them is not known here, and the verdict says so.
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { isSignedBy, typedDigest } from "../../../protocol/chain/typed-data.ts";
import type { Code } from "../../../protocol/codes.ts";
import { philoxKey } from "../../../protocol/hash/philox.ts";
import { sumShapeFault } from "../../../work/program/check-sums.ts";
import type { Op } from "../../../work/program/shapes.ts";
import { type Contradiction, judgeElement, type Nothing, type ShownLeaf } from "../../../work/trace/judge.ts";
import { LEAF_BYTES } from "../../../work/trace/tensor-tree.ts";
import { decodeTranscript, type Transcript } from "../../../work/trace/transcript.ts";
import { NO_WRITER } from "../answers.ts";
import { decodeFraudFile, type ElementShown, type FaultShown } from "./fraud-file.ts";
import { bytesOfHex, Shown } from "./fraud-parts.ts";
import { ANSWER_TYPE, answersOf } from "./fraud-proof.ts";
import { type FraudVerdict, Unproven, type ValidFraud } from "./fraud-verdict.ts";
import { judgeEnd, judgeResult, judgeStart, judgeWire } from "./judge-wire.ts";

export interface FraudExpectations {
	/** Hash of the claim that must be the accused one. */
	readonly claim?: string;
}

const CODE_OF: Readonly<Record<Nothing, Code>> = {
	place: "FRAUD_PLACE",
	words: "FRAUD_WORDS",
	leaf: "FRAUD_LEAF",
	undefined: "FRAUD_WORDS",
	agrees: "FRAUD_AGREES",
};

export function verifyFraud(file: Uint8Array, expect: FraudExpectations = {}): FraudVerdict {
	try {
		return judge(file, expect);
	} catch (error) {
		if (error instanceof Unproven)
			return { status: "invalid", code: error.code, where: error.where, detail: error.message };
		// Last resort, never the way a bad file is refused: tests show that no mutation gets here.
		const detail = error instanceof Error ? error.message : "unknown";
		return { status: "invalid", code: "INTERNAL", where: "verify", detail };
	}
}

function judge(file: Uint8Array, expect: FraudExpectations): FraudVerdict {
	const decoded = decodeFraudFile(file);
	if (!decoded.ok) return { status: "invalid", code: decoded.code, where: decoded.where, detail: decoded.detail };
	const { envelope, attachments } = decoded.evidence;
	const { body } = envelope;
	const { fault } = body;
	if (expect.claim !== undefined && body.accused !== expect.claim)
		throw new Unproven("FRAUD_CLAIM", "accused", "not the claim asked for");
	const shown = new Shown(body, attachments);
	const found = fault.kind === "element" ? elementFault(shown, fault) : rootFault(shown);
	shown.attached.mustEnd();
	if (found.said === found.right) throw new Unproven("FRAUD_AGREES", "fault", "what is shown agrees");
	const isByTrace = fault.kind === "element" || fault.kind === "wire" || found.shows === "op";
	const isByWord = isByTrace || fault.kind === "writer";
	if (!isByTrace && body.trace !== null) throw new Unproven("FRAUD_TRACE", "trace", "is not needed");
	const unsigned = { code: "ANSWERS_UNSIGNED", detail: "what was answered is the word of whoever made the file" };
	const signer = signerOfAnswers(shown, attachments);
	return {
		...{ status: "valid", accused: body.accused, kind: fault.kind, segment: body.segment },
		...{ ...found, signer },
		findings: isByWord && signer === null ? [unsigned] : [],
	};
}

/** Whose signatures are under all of the file's first words; null where it has none. */
function signerOfAnswers({ body, claim }: Shown, attachments: readonly Uint8Array[]): string | null {
	const { signed, accused } = body;
	if (signed === null) return null;
	const answers = answersOf(body, attachments);
	const { account, disputes, signatures } = signed;
	if (answers.length === 0 || answers.length !== signatures.length)
		throw new Unproven("FRAUD_SIGNATURE", "signed.signatures", `${answers.length} answers need one each`);
	for (const [i, { question, answerHash }] of answers.entries()) {
		const digest = typedDigest(claim.chainId, `0x${disputes}`, ANSWER_TYPE, [`0x${accused}`, question, answerHash]);
		if (!isSignedBy(`0x${account}`, digest, `0x${signatures[i]}`))
			throw new Unproven("FRAUD_SIGNATURE", `signed.signatures[${i}]`, "not that account's, for this answer");
	}
	return account;
}

type Found = Omit<ValidFraud, "status" | "accused" | "kind" | "segment" | "findings" | "signer">;
const NOWHERE = { step: null, phase: null, op: null, operator: null, element: null, operand: null, tensor: null };

function rootFault(shown: Shown): Found {
	const { fault } = shown.body;
	if (fault.kind === "wire") {
		const { op, ...wire } = judgeWire(shown, fault);
		const { step, op: number } = fault.leaf;
		return { ...NOWHERE, ...wire, phase: shown.phase, step, op: number, operator: op.operator, operand: fault.operand };
	}
	if (fault.kind === "end") return { ...NOWHERE, ...judgeEnd(shown, fault) };
	if (fault.kind === "start") return { ...NOWHERE, ...judgeStart(shown, fault) };
	if (fault.kind === "result") return { ...NOWHERE, ...judgeResult(shown, fault) };
	if (fault.kind === "words") return twoWords(shown, fault);
	if (fault.kind === "writer") return falseWriter(shown, fault);
	throw new Unproven("FRAUD_PLACE", "fault.kind", "not known here");
}

/** Whatever the question is, it has one answer; only signatures make these anybody's. */
function twoWords({ body, claim }: Shown, { answers }: Extract<FaultShown, { kind: "words" }>): Found {
	if (body.signed === null) throw new Unproven("FRAUD_SIGNATURE", "signed", "two answers convict by their signatures");
	if (body.segment !== claim.first) throw new Unproven("FRAUD_PLACE", "segment", "must be the claim's first");
	return { ...NOWHERE, shows: "answers", said: answers[0]!, right: answers[1]! };
}

/** The op that was named does not write the tensor, or one that was not named does. */
function falseWriter(shown: Shown, { tensor, said, op }: Extract<FaultShown, { kind: "writer" }>): Found {
	const where = { ...NOWHERE, phase: shown.phase, tensor, shows: "program", said: writerText(said) };
	if (op === null) {
		if (said < shown.ops || said === NO_WRITER) throw new Unproven("FRAUD_PLACE", "fault.op", "must show the op");
		return { ...where, right: writerText(NO_WRITER) };
	}
	const { target, operator } = shown.op(op, "fault.op");
	if (said !== NO_WRITER && said !== op.number)
		throw new Unproven("FRAUD_PLACE", "fault.op", "not the op that was named");
	const right = target === tensor ? op.number : NO_WRITER;
	// Another op than a named one: who writes the tensor, if any does, is not shown.
	return { ...where, op: op.number, operator, right: said === right ? writerText(said) : `not ${writerText(said)}` };
}

const writerText = (op: number): string => (op === NO_WRITER ? "no op" : `op ${op}`);

function transcriptOf(shown: Shown): Transcript {
	const found = decodeTranscript(shown.attached.take("a transcript"));
	if (found === null) throw new Unproven("FRAUD_WORDS", "attachments", "a transcript is no list of 64-bit numbers");
	return found;
}

function leafOf(shown: Shown, path: readonly string[]): ShownLeaf {
	const bytes = shown.attached.take("a leaf");
	if (bytes.length !== LEAF_BYTES) throw new Unproven("FRAUD_LEAF", "attachments", "a leaf has 1,024 bytes");
	// A copy: what was attached may lie anywhere in the file.
	return { bytes: concatBytes(bytes), path: path.map(bytesOfHex) };
}

function contradictionOf(shown: Shown, said: ElementShown["contradiction"]): Contradiction {
	switch (said.kind) {
		case "value":
		case "filling":
			return { kind: said.kind, leaf: leafOf(shown, said.path) };
		case "chunk":
			return { kind: "chunk", chunk: said.chunk, leaves: said.paths.map((path) => leafOf(shown, path)) };
		case "instruction": {
			const leaf = said.path === null ? null : leafOf(shown, said.path);
			return { kind: "instruction", register: said.register, leaf };
		}
		case "start":
		case "turn":
		case "end":
			return { kind: said.kind };
	}
}

/** Dims that no checked program has would lead the judge astray. */
function mustFit(op: Op): void {
	const wrong = op.operator === "map" ? null : sumShapeFault(op);
	if (wrong !== null) throw new Unproven("FRAUD_PROGRAM", "fault.op", wrong.message);
}

/** Of a filling nothing is said. */
function mustSayNoMore({ contradiction, turns, marked, element }: ElementShown, transcript: Transcript): void {
	if (contradiction.kind !== "filling") return;
	if (transcript.length > 0 || element > 0 || turns.length > 0 || marked !== null)
		throw new Unproven("FRAUD_WORDS", "fault", "nothing is said of a filling");
}

/** What a file shows of an element, bound to the claim but not judged yet. */
export function readElement(shown: Shown, fault: ElementShown) {
	const op = shown.op(fault.op, "fault.op");
	mustFit(op);
	if (fault.leaf.op !== fault.op.number) throw new Unproven("FRAUD_PLACE", "fault.leaf.op", "another op");
	const { inputs, output } = shown.trace(fault.leaf, "fault.leaf");
	shown.inputs(fault.seed, fault.inputs, "fault.seed");
	const { step } = fault.leaf;
	const moment = { segment: shown.body.segment, step, k: shown.k, key: philoxKey(bytesOfHex(fault.seed)) };
	const transcript = transcriptOf(shown);
	const marked = fault.marked === null ? null : { depth: fault.marked, transcript: transcriptOf(shown) };
	const contradiction = contradictionOf(shown, fault.contradiction);
	mustSayNoMore(fault, transcript);
	const question = { op, element: fault.element, moment, inputs, output };
	const words = { transcript, path: fault.turns, ...(marked && { marked }) };
	return { question, words, contradiction };
}

function elementFault(shown: Shown, fault: ElementShown): Found {
	const { question, words, contradiction } = readElement(shown, fault);
	const { op, element, moment } = question;
	const judged = judgeElement(question, words, contradiction);
	if (!judged.convicts) throw new Unproven(CODE_OF[judged.reason], "fault", judged.why);
	return {
		...{ ...NOWHERE, step: moment.step, phase: shown.phase, op: fault.op.number, operator: op.operator, element },
		...{ shows: contradiction.kind, said: `${judged.said}`, right: `${judged.right}` },
	};
}
