// Small faults in the market's rules, one at a time, to see whether a test notices: every comparison, sum,
// rounding, number, branch and statement that a slip of the hand could spoil. Found in the syntax tree, so
// types and words stay as they are. Pure; rules.ts runs them.
import { parseSync } from "oxc-parser";

export interface RuleMutation {
	readonly rule: string;
	/** In characters; what stands there now, and instead. */
	readonly at: number;
	readonly from: string;
	readonly to: string;
	/** From 1. */
	readonly line: number;
	/** The line as it stands, trimmed: with it a mutation is found again when lines above it move. */
	readonly text: string;
}

interface Node {
	readonly type: string;
	readonly start: number;
	readonly end: number;
	readonly [key: string]: unknown;
}

const OPERATORS: Readonly<Record<string, string>> = {
	...{ "<": "<=", "<=": "<", ">": ">=", ">=": ">", "===": "!==", "!==": "===", "==": "!=", "!=": "==" },
	...{ "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*", "<<": ">>", "|": "&" },
	...{ "&&": "||", "||": "&&", "+=": "-=", "-=": "+=" },
};
const CALLS: Readonly<Record<string, string>> = {
	...{ min: "max", max: "min", ceil: "floor", floor: "ceil", trunc: "ceil", some: "every", every: "some" },
};
const NAMES: Readonly<Record<string, string>> = { share: "shareUp", shareUp: "share" };

const isNode = (value: unknown): value is Node =>
	typeof value === "object" && value !== null && typeof (value as Node).type === "string";
/** Types declare; an expression within `as` or `!` does something. */
const isType = ({ type }: Node): boolean => type.startsWith("TS") && !/(As|Satisfies|NonNull).*Expression/.test(type);
const childrenOf = (node: Node): Node[] =>
	Object.values(node)
		.flatMap((value) => (Array.isArray(value) ? value : [value]))
		.filter((value) => isNode(value))
		.filter((one) => !isType(one) && one.type !== "ImportDeclaration");

type Put = (rule: string, at: number, from: string, to: string) => void;

/** A statement that only does something may be left out. */
function leaveOut(node: Node, source: string, put: Put): void {
	const text = source.slice(node.start, node.end);
	if (node.type === "ExpressionStatement") put("statement", node.start, text, ";");
}

function branches(node: Node, source: string, put: Put): void {
	if (node.type !== "IfStatement" && node.type !== "ConditionalExpression") return;
	const test = node.test as Node;
	const text = source.slice(test.start, test.end);
	for (const to of ["false", "true"]) put(`branch ${to}`, test.start, text, to);
}

function operators(node: Node, source: string, put: Put): void {
	const operator = node.operator as string | undefined;
	if (isNode(node.left) && isNode(node.right) && operator !== undefined) {
		const to = OPERATORS[operator];
		const at = source.indexOf(operator, (node.left as Node).end);
		if (to !== undefined && at < (node.right as Node).start) put(operator, at, operator, to);
	}
	if (node.type === "UnaryExpression" && operator === "!") put("!", node.start, "!", "");
}

function values(node: Node, source: string, put: Put): void {
	if (node.type !== "Literal") return;
	const text = source.slice(node.start, node.end);
	if (text === "true" || text === "false") put(text, node.start, text, text === "true" ? "false" : "true");
	if (typeof node.value === "number") put("number", node.start, text, `(${text} + 1)`);
	if (typeof node.value === "bigint") put("number", node.start, text, `(${text} + 1n)`);
}

function calls(node: Node, source: string, put: Put): void {
	if (node.type !== "CallExpression") return;
	const callee = node.callee as Node;
	const isMember = callee.type === "MemberExpression";
	const name = (isMember ? callee.property : callee) as Node;
	const from = source.slice(name.start, name.end);
	const to = (isMember ? CALLS : NAMES)[from];
	if (to !== undefined) put(from, name.start, from, to);
	// A filter that lets everything through.
	if (isMember && from === "filter") {
		const [first] = node.arguments as Node[];
		put("filter", first!.start, source.slice(first!.start, first!.end), "() => true");
	}
}

export function ruleMutationsOf(file: string, source: string): readonly RuleMutation[] {
	const found: RuleMutation[] = [];
	const lines = source.split("\n");
	const put: Put = (rule, at, from, to) => {
		const line = source.slice(0, at).split("\n").length;
		found.push({ rule, at, from, to, line, text: lines[line - 1]!.trim() });
	};
	const walk = (node: Node): void => {
		for (const look of [leaveOut, branches, operators, values, calls]) look(node, source, put);
		for (const child of childrenOf(node)) walk(child);
	};
	walk(parseSync(file, source).program as unknown as Node);
	return found.sort((a, b) => a.at - b.at || (a.rule < b.rule ? -1 : 1));
}

export const mutateRule = (source: string, { at, from, to }: RuleMutation): string =>
	source.slice(0, at) + to + source.slice(at + from.length);
