// Each check that a run proof has besides those of its segments, removed alone, lets a cheater pass that is
// honest in all else; with it, the cheater is refused. The checks of segments are the same lines as in
// ../removed-checks.test.ts. Of a wrapped run: each part of the list that a verifier must see.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeep } from "../../../../tests/fuzz.test-kit.ts";
import { provenBySecrets } from "../../../../vectors/naive-groth16.ts";
import type { Line, OpeningCheat } from "../../../../vectors/naive-opening.ts";
import type { RunCheats } from "../../../../vectors/naive-run.ts";
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { bytesOf, type G1, G1_ONE, g1Of, mod, R, times, wordsOf } from "../../../protocol/maths/bn254.ts";
import { type Removed, without } from "../removed.test-kit.ts";
import type { SegmentStatement } from "../statement.ts";
import type { RunClaim } from "./check-run.ts";
import { CROSS_CHEATS, ELSEWHERE, lying, UNCOMMITTED } from "./cross-cheats.test-kit.ts";
import { PLAN, provenRun, SECRETS, SEGMENTS, SHAPE } from "./run.test-kit.ts";
import { claimOf, LINE_BYTES, type ReadRun, readRun, verifyRun } from "./verify-run.ts";
import { verifyWrapped, wrapInputs, wrappedClaim } from "./verify-wrapped.ts";
import { toldList, wrapCircuit } from "./wrap-circuit.ts";

type Proven = ReturnType<typeof provenRun>;

const codeOf = (found: ReturnType<typeof verifyRun>): string => (found.status === "valid" ? "valid" : found.code);
const DEV = { isDevAllowed: true };

async function needs(removed: Removed, { statements, proof }: Proven, code: string): Promise<void> {
	assert.equal(codeOf(verifyRun(PLAN, statements, proof, DEV)), code);
	const other = (await import(`./verify-run.ts${without(removed)}`)) as { readonly verifyRun: typeof verifyRun };
	assert.equal(codeOf(other.verifyRun(PLAN, statements, proof, DEV)), "valid");
}

const fold = (line: string, instead: string): Removed => ({ file: "check-run", line, instead });
const whole = (line: string, instead: string): Removed => ({ file: "verify-run", line, instead });
const inserted = (proof: Uint8Array): Uint8Array =>
	concatBytes(proof.subarray(0, -LINE_BYTES), new Uint8Array(32), proof.subarray(-LINE_BYTES));
/** The last value of the fold, before S and its scalars, in another spelling. */
function respelled(proof: Uint8Array): Uint8Array {
	const at = proof.length - LINE_BYTES - 5 * 32 - 64 - 32;
	const [last] = wordsOf(proof.subarray(at, at + 32)) as [bigint];
	return concatBytes(proof.subarray(0, at), bytesOf(last + R), proof.subarray(at + 32));
}
const other = (change: Partial<SegmentStatement>): RunCheats => ({ segments: [{}, { statement: change }] });
const HONEST = provenRun();

const CHECKS: Readonly<Record<string, readonly [Removed, () => Proven, string]>> = {
	"what segments say of their commitments is what the fold ends with": [
		fold(
			"if (!field.areSame(innerProduct(field, kernels, there.slice(0, -1)), claim)) return null;",
			"innerProduct(field, kernels, there);",
		),
		() => provenRun({ segments: UNCOMMITTED, values: (_, committed) => committed, isOpenedAsCommitted: true }),
		"PROOF_CLAIMS",
	],
	"λ: the second segment's claim counts": [
		fold("powers(field, dialogue.challenge(), left.length)", "powers(field, field.of(0n), left.length)"),
		() =>
			provenRun({
				...{ segments: UNCOMMITTED, values: (_, committed) => committed, isOpenedAsCommitted: true },
				drawn: (name, value) => (name === "lambda" ? 0n : value),
			}),
		"PROOF_CLAIMS",
	],
	"ν: each value is opened by itself": [
		fold("powers(field, dialogue.challenge(), there.length)", "powers(field, field.of(1n), there.length)"),
		() =>
			provenRun({
				...{ segments: UNCOMMITTED, isOpenedAsCommitted: true },
				// The mask's value makes up for what is not there.
				values: (used, committed) =>
					used.with(-1, mod(used.at(-1)! + committed.reduce((sum, one, i) => sum + one - used[i]!, 0n))),
				drawn: (name, value) => (name === "nu" ? 1n : value),
			}),
		"PROOF_CLAIMS",
	],
	"the mask is heard before ν is drawn": [
		fold("dialogue.absorb(KIND.mask, mask);", ""),
		() => provenRun({ segments: UNCOMMITTED, isMaskLate: true }),
		"PROOF_CLAIMS",
	],
	"S is heard before r is drawn": [
		fold("dialogue.absorb(KIND.cross, cross);", ""),
		() => provenRun(lying(CROSS_CHEATS.late)),
		"PROOF_CLAIMS",
	],
	"what f and S have is heard before η is drawn": [
		fold("dialogue.message(KIND.crossValues, 3) as", "[next(), next(), next()] as"),
		() => provenRun(lying(CROSS_CHEATS.unheard)),
		"PROOF_CLAIMS",
	],
	"1/r is that of r": [
		fold("if (!field.areSame(field.times(r, back), field.of(1n))) return null;", ""),
		() => provenRun(lying(CROSS_CHEATS.inverse)),
		"PROOF_CLAIMS",
	],
	"b is the slope between both places": [
		fold("if (!field.areSame(field.times(b, field.less(r, back)), field.less(there, other))) return null;", ""),
		() => provenRun(lying(CROSS_CHEATS.slope)),
		"PROOF_CLAIMS",
	],
	"the value: it is taken twice from what f and e have": [
		{
			...{ file: "opening", line: "field.sum([field.scaled(value, 2n), field.times(sBack, back)])" },
			instead: "field.times(sBack, back)",
		},
		// Of zeros, in all that is committed, nothing else would be missed.
		() => uncommitted({ s: () => [], b: () => 0n, shown: (own) => ({ ...own, a: 0n, b: 0n }) }),
		"PROOF_CLAIMS",
	],
	"W is heard before z is drawn": [
		whole("[eta, t, a, b].map(bytesOf), opening.subarray(0, 64))", "[eta, t, a, b].map(bytesOf))"),
		() => provenRun(lying(CROSS_CHEATS.lateW)),
		"PROOF_OPENING",
	],
	"segments follow each other": [
		whole('if (gap !== null) return invalid("PROOF_CHAIN", gap);', ""),
		() => provenRun(other({ stateBefore: "09".repeat(32) })),
		"PROOF_CHAIN",
	],
	"statements are of segments of the plan": [
		whole('if (misfit !== null) return invalid("PROOF_STATEMENT", misfit);', ""),
		() =>
			provenRun({
				segments: [{ statement: { program: "09".repeat(32) } }, { statement: { program: "09".repeat(32) } }],
			}),
		"PROOF_STATEMENT",
	],
	"a number has one spelling": [
		whole('if (scalars.some((one) => one >= R)) return invalid("PROOF_FORM", POINTS.spelling);', ""),
		() => ({ ...HONEST, proof: respelled(HONEST.proof) }),
		"PROOF_FORM",
	],
	"a proof has one length": [
		whole("if (proof.length !== sizes.bytes)", "if (false)"),
		() => ({ ...HONEST, proof: inserted(HONEST.proof) }),
		"PROOF_FORM",
	],
	"the commitments open": [
		whole("if (isLine(points.flat(), [...weights.flat(), eta], { t, a, b }, { z, w, last, tau })) return", "return"),
		() => provenRun({ segments: UNCOMMITTED }),
		"PROOF_OPENING",
	],
};

for (const [i, [name, [removed, prove, code]]] of Object.entries(CHECKS).entries())
	if (isDeep || i % 3 === 0) test(`without its check passes: ${name}`, () => needs(removed, prove(), code));

/** What a verifier of a wrapped run is shown, which need not be what the circuit has. */
interface Shown {
	readonly statements: readonly SegmentStatement[];
	readonly proven: readonly Uint8Array[];
	readonly mask: Uint8Array;
	readonly cross: Uint8Array;
	readonly claim: RunClaim<bigint>;
	/** What the circuit has; `own`, where it is another claim than what is shown. */
	readonly own?: RunClaim<bigint>;
	readonly told: ReadRun["told"];
	readonly scalars: readonly bigint[];
	readonly opening: Uint8Array;
}

const READ = readRun(PLAN, HONEST.statements, HONEST.proof) as ReadRun;
const TRUE: Shown = { ...HONEST, ...READ, claim: claimOf(PLAN, READ)! };

const moved = (bytes: Uint8Array, by: G1): Uint8Array => {
	const { x, y } = (g1Of(...(wordsOf(bytes) as [bigint, bigint])) as G1).add(by).toAffine();
	return concatBytes(bytesOf(x), bytesOf(y));
};
/**
 * One commitment more by a point, another less by as much, each as often as the other counts: their sum is
 * the same.
 */
function swapped(): Shown {
	const { weights } = TRUE.claim;
	const told = PLAN.groups.slice(0, 4).reduce((sum, one) => sum + one.chunks, 0);
	const [first] = TRUE.proven as [Uint8Array];
	const start = moved(first.subarray(0, 64), times(G1_ONE, weights[0]!.at(-1)!));
	const end = moved(first.subarray(-64), times(G1_ONE, mod(-weights[0]![told]!)));
	return { ...TRUE, proven: TRUE.proven.with(0, concatBytes(start, first.subarray(64, -64), end)) };
}

/** A mask that was chosen at the end, where another was heard. */
function remasked(): Shown {
	const { statements, proof } = provenRun({ segments: UNCOMMITTED, isMaskLate: true, isMaskHeard: true });
	const read = readRun(PLAN, statements, proof) as ReadRun;
	const told = { ...read.told, mask: READ.told.mask };
	return { ...read, statements, told, claim: claimOf(PLAN, { ...read, told })! };
}

/** The same data count in both segments: what one has more the other has less. */
function reweighted(): Shown {
	const [first, second, ...rest] = TRUE.claim.weights as [bigint[], bigint[], ...bigint[][]];
	const weights = [first.with(0, mod(first[0]! + 1n)), second.with(0, mod(second[0]! - 1n)), ...rest];
	return { ...TRUE, own: TRUE.claim, claim: { ...TRUE.claim, weights } };
}

/** What the circuit has is left; the opening is of another claim. */
function reopened(cross: OpeningCheat, prove: (cross: OpeningCheat) => Proven): Shown {
	let shown: Line | null = null;
	const change: OpeningCheat["shown"] = (own, known) => {
		shown = cross.shown!(own, known);
		return shown;
	};
	const { statements, proof } = prove({ ...cross, shown: change });
	const read = readRun(PLAN, statements, proof) as ReadRun;
	const own = claimOf(PLAN, read)!;
	return { ...read, statements, own, claim: { ...own, ...(shown as unknown as Line) } };
}
const relied = (cross: OpeningCheat) => () => reopened(cross, (one) => provenRun(lying(one)));

/** Nothing is committed at all. */
function uncommitted(cross: OpeningCheat): Proven {
	const committed = (all: Map<string, bigint[]>) => {
		for (const [name, column] of all) all.set(name, new Array<bigint>(column.length).fill(0n));
	};
	const segments = Array.from({ length: SEGMENTS }, () => ({ isOpenedAsUsed: true, committed }));
	const mask = new Array<bigint>(2 ** SHAPE.chunkBits + 1).fill(0n);
	const hiding = { segments: segments.map((_, i) => ({ nonce: BigInt(i), blinder: () => 0n })), mask };
	return provenRun({ segments, isOpenedAsCommitted: true, cross }, {}, hiding);
}

/** Another S is shown than was heard. */
function replaced(): Shown {
	const { statements, proof } = provenRun(lying(CROSS_CHEATS.replaced));
	const read = readRun(PLAN, statements, proof) as ReadRun;
	const heard = readRun(PLAN, statements, provenRun(lying({})).proof) as ReadRun;
	const told = { ...read.told, cross: heard.told.cross };
	return { ...read, statements, told, claim: claimOf(PLAN, { ...read, told })! };
}

const list = (line: string, instead: string): Removed => ({ file: "wrap-circuit", line, instead });
const LISTED: Readonly<Record<string, readonly [Removed, () => Shown]>> = {
	statements: [
		list("[...statement, ...order, ...values, ...helpers]", "[...order, ...values, ...helpers]"),
		() => ({ ...TRUE, statements: TRUE.statements.with(1, { ...TRUE.statements[1]!, stateAfter: "09".repeat(32) }) }),
	],
	commitments: [list("[...statement, ...order, ...values, ...helpers]", "[...statement, ...order]"), swapped],
	"the mask": [list("	...mask,\n", ""), remasked],
	S: [list("	...cross,\n];", "];"), replaced],
	"how often commitments count": [list("	...weights.flat(),\n", ""), reweighted],
	"how often S counts": [list("	eta,\n", ""), relied(CROSS_CHEATS.eta)],
	"where it is opened": [list("	t,\n", ""), () => reopened(ELSEWHERE, uncommitted)],
	a: [list("	a,\n", ""), relied(CROSS_CHEATS.a)],
	b: [list("	b,\n", ""), relied(CROSS_CHEATS.b)],
};

/** A wrapped proof of what the circuit has, shown as something else. */
async function wrappedAs(suffix: string, shown: Shown) {
	const own = (await import(`./wrap-circuit.ts${suffix}`)) as { readonly wrapCircuit: typeof wrapCircuit };
	const verifier = (await import(`./verify-wrapped.ts${suffix}`)) as {
		readonly verifyWrapped: typeof verifyWrapped;
		readonly wrapInputs: typeof wrapInputs;
	};
	const circuit = own.wrapCircuit(PLAN, SEGMENTS);
	const claimed = wrappedClaim(shown, shown.claim);
	const inputs = verifier.wrapInputs(shown.statements, shown.told, shown.own ?? shown.claim, claimed);
	const values = circuit.valuesOf(inputs, [...toldList(shown.told), ...shown.scalars]);
	const { key, proof } = provenBySecrets(circuit, SECRETS, values, [107n, 108n]);
	const bytes = concatBytes(claimed, proof, shown.opening);
	return codeOf(verifier.verifyWrapped(PLAN, shown.statements, bytes, { key, ...DEV }));
}

for (const [i, [name, [removed, show]]] of Object.entries(LISTED).entries())
	if (isDeep || i === 0)
		test(`the list has ${name}: else what is shown need not be what was proven`, async () => {
			const shown = show();
			assert.equal(await wrappedAs("", shown), "PROOF_CLAIMS");
			assert.equal(await wrappedAs(without(removed), shown), "valid");
		});

test("without Groth16's check anything passes that opens", async () => {
	const claimed = wrappedClaim(TRUE, TRUE.claim);
	const circuit = wrapCircuit(PLAN, SEGMENTS);
	const inputs = wrapInputs(TRUE.statements, READ.told, TRUE.claim, claimed);
	// Of no run: all wires but the inputs are zeros.
	const values = new Array<bigint>(circuit.wires).fill(0n);
	for (const [i, one] of [1n, ...inputs].entries()) values[i] = one + (i === 1 ? 1n : 0n);
	const { key, proof } = provenBySecrets(circuit, SECRETS, values, [107n, 108n]);
	const bytes = concatBytes(claimed, proof, READ.opening);
	assert.equal(codeOf(verifyWrapped(PLAN, TRUE.statements, bytes, { key, ...DEV })), "PROOF_CLAIMS");
	const removed = {
		file: "verify-wrapped",
		line: 'if (found === "false") return invalid(',
		instead: "if (false) return invalid(",
	};
	const { verifyWrapped: loose } = (await import(`./verify-wrapped.ts${without(removed)}`)) as {
		readonly verifyWrapped: typeof verifyWrapped;
	};
	assert.equal(codeOf(loose(PLAN, TRUE.statements, bytes, { key, ...DEV })), "valid");
});
