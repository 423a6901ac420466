// Finds every check of the attestation verifier in its source and lets each be removed alone, while the
// program runs. A check is a condition that leads to a refusal or a doubt; where it has several parts (a ||
// b), each part is a check. Import this file before the verifier: it changes the modules as they are loaded.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

export interface Check {
	/** File and words of the condition. */
	readonly name: string;
	/** Parts of one condition have one number. */
	readonly condition: number;
	/** A check that gives a value (`x ?? refuse()`): without it there is nothing to go on with. */
	readonly isReading: boolean;
}

interface Node {
	readonly type: string;
	readonly start: number;
	readonly end: number;
	readonly [key: string]: unknown;
}

export const checks: Check[] = [];
/** Which check is removed; -1: none. */
let removed = -1;
let fired = new Set<number>();
/** Without a check a reader may never come to an end. */
let asked = 0;
const MOST_ASKED = 200_000;

/** Runs `judge` without one check, and tells which checks found fault. */
export function without<T>(check: number, judge: () => T): { readonly result: T; readonly fired: ReadonlySet<number> } {
	removed = check;
	fired = new Set();
	asked = 0;
	try {
		return { result: judge(), fired };
	} finally {
		removed = -1;
	}
}

/** In the changed source: true where the check finds fault. */
const isFault = (check: number, found: unknown): boolean => {
	if (++asked > MOST_ASKED) throw new RangeError("endless without this check");
	if (!found || removed === check) return false;
	fired.add(check);
	return true;
};

Object.assign(globalThis, { isFaultOfCheck: isFault });

const REFUSALS = new Set(["refuse", "wrong", "unknown", "failed", "cannotTell"]);

const isNode = (value: unknown): value is Node =>
	typeof value === "object" && value !== null && typeof (value as Node).type === "string";

const childrenOf = (node: Node): Node[] =>
	Object.values(node)
		.flatMap((value) => (Array.isArray(value) ? value : [value]))
		.filter(isNode);

/** refuse(…), wrong(…), this.#wrong(…), hearing.doubtful(…) */
function isRefusal(node: Node): boolean {
	if (node.type !== "CallExpression") return false;
	const callee = node.callee as Node;
	if (callee.type === "Identifier") return REFUSALS.has(callee.name as string);
	const property = callee.type === "MemberExpression" ? (callee.property as Node) : null;
	return property?.name === "doubtful" || (property?.type === "PrivateIdentifier" && property.name === "wrong");
}

/** Operands of a || b || c, or of a && b && c. */
function operands(test: Node, operator: string): Node[] {
	const plain = test.type === "ParenthesizedExpression" ? (test.expression as Node) : test;
	if (plain.type !== "LogicalExpression" || plain.operator !== operator) return [test];
	return [...operands(plain.left as Node, operator), ...operands(plain.right as Node, operator)];
}

class Rewriter {
	readonly #source: string;
	readonly #file: string;
	readonly #edits: { at: number; text: string }[] = [];
	/** const isX = a && b: a refusal of !isX has these parts. */
	readonly #conditions = new Map<string, Node>();
	#condition = 0;

	constructor(source: string, file: string) {
		this.#source = source;
		this.#file = file;
	}

	rewrite(): string {
		const { program } = parseSync(this.#file, this.#source, { preserveParens: true });
		this.#collect(program as unknown as Node);
		this.#walk(program as unknown as Node, []);
		let text = this.#source;
		for (const { at, text: added } of this.#edits.sort((a, b) => b.at - a.at))
			text = text.slice(0, at) + added + text.slice(at);
		return text;
	}

	#collect(node: Node): void {
		if (node.type === "VariableDeclarator" && isNode(node.init) && node.init.type === "LogicalExpression")
			this.#conditions.set((node.id as Node).name as string, node.init);
		for (const child of childrenOf(node)) this.#collect(child);
	}

	/** Refusals, each with what stands around it, nearest last. */
	#walk(node: Node, around: readonly Node[]): void {
		if (isRefusal(node)) this.#guard(node, around);
		for (const child of childrenOf(node)) this.#walk(child, [...around, node]);
	}

	#guard(refusal: Node, around: readonly Node[]): void {
		this.#condition = checks.length;
		let inner = refusal;
		for (const outer of around.toReversed()) {
			if (outer.type === "ArrowFunctionExpression" && outer.body === inner) return;
			if (outer.type === "MethodDefinition" && (outer.key as Node).name === "wrong") return;
			const isBranch = outer.type === "IfStatement" || outer.type === "ConditionalExpression";
			if (isBranch && outer.consequent === inner) {
				this.#faults(outer.test as Node);
				return;
			}
			if (outer.type === "ConditionalExpression") {
				this.#needs(outer.test as Node);
				return;
			}
			const isBlock = outer.type === "BlockStatement" && (outer.body as Node[]).length <= 3;
			if (!isBlock && outer.type !== "ReturnStatement" && outer.type !== "ExpressionStatement") break;
			inner = outer;
		}
		this.#reading(refusal);
	}

	#check(node: Node, isReading = false): number {
		const line = this.#source.slice(0, node.start).split("\n").length;
		const words = this.#source.slice(node.start, node.end).replace(/\s+/g, " ");
		checks.push({ name: `${this.#file}:${line} ${words}`, condition: this.#condition, isReading });
		return checks.length - 1;
	}

	#around(node: Node, before: string, after: string): void {
		this.#edits.push({ at: node.start, text: before }, { at: node.end, text: after });
	}

	/** Each part alone means a fault. */
	#faults(test: Node): void {
		const negated = test.type === "UnaryExpression" && test.operator === "!" ? (test.argument as Node) : null;
		const known = negated?.type === "Identifier" ? this.#conditions.get(negated.name as string) : undefined;
		if (known?.operator === "&&") this.#needs(known);
		else for (const part of operands(test, "||")) this.#around(part, `isFaultOfCheck(${this.#check(part)}, `, ")");
	}

	/** Each part that fails means a fault. */
	#needs(test: Node): void {
		for (const part of operands(test, "&&")) this.#around(part, `!isFaultOfCheck(${this.#check(part)}, !(`, "))");
	}

	#reading(refusal: Node): void {
		this.#around(refusal, `(isFaultOfCheck(${this.#check(refusal, true)}, true) ? `, " : undefined as never)");
	}
}

const HOUSE = "/src/verify/attestation/";

registerHooks({
	load(url, context, next) {
		const at = url.indexOf(HOUSE);
		if (at < 0 || url.includes(".test")) return next(url, context);
		const source = readFileSync(fileURLToPath(url), "utf8");
		const changed = new Rewriter(source, url.slice(at + HOUSE.length)).rewrite();
		return { format: "module-typescript", source: `declare const isFaultOfCheck: any;${changed}`, shortCircuit: true };
	},
});
