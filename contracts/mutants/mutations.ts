// Small faults that a program puts into a contract, one at a time, to see whether a test notices: every
// comparison, check, sum and write that a typing error could spoil. Pure; which of them are tried, and how,
// is run.ts. Comments and strings stay as they are.

export interface Mutation {
	/** Name of the rule. */
	readonly rule: string;
	/** Where it begins, in characters, and what stands there now and instead. */
	readonly at: number;
	readonly from: string;
	readonly to: string;
	/** From 1. */
	readonly line: number;
	/** The line as it stands, trimmed: with it a mutation is found again when lines above it move. */
	readonly text: string;
}

type Rule = readonly [rule: string, pattern: RegExp, to: string];

/** Each pattern has one group: what is replaced. */
const RULES: readonly Rule[] = [
	["less", /[\w)\]] (<) [\w(]/g, "<="],
	["less or equal", /[\w)\]] (<=) [\w(]/g, "<"],
	["greater", /[\w)\]] (>) [\w(]/g, ">="],
	["greater or equal", /[\w)\]] (>=) [\w(]/g, ">"],
	["equal", /[\w)\]] (==) [\w(]/g, "!="],
	["not equal", /[\w)\]] (!=) [\w(]/g, "=="],
	["or", /(\|\|)/g, "&&"],
	["and", /(&&)/g, "||"],
	["not", /[(&|] ?(!)[\w(]/g, ""],
	["plus", /[\w)\]] (\+) [\w(]/g, "-"],
	["minus", /[\w)\]] (-) [\w(]/g, "+"],
	["times", /[\w)\]] (\*) [\w(]/g, "+"],
	["add to", /[\w)\]] (\+=) [\w(]/g, "-="],
	["take from", /[\w)\]] (-=) [\w(]/g, "+="],
	["true", /\b(true)\b/g, "false"],
	["false", /\b(false)\b/g, "true"],
	// A check, or a branch, that is never taken.
	["branch", /\bif (\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\))/g, "(false)"],
	// A write, a deletion or a call that is left out: Solidity has no empty statement, but an empty block.
	// Declarations have a type before the name.
	[
		"write",
		/(?<=[;{}]\s+)((?:_\w+|\w+[.[])[^;={}()!<>]*(?:\([^;={}]*\)[^;={}()!<>]*)?(?: =|\+=|-=|\|=) [^;]+;)/g,
		"{}",
	],
	["deletion", /(?<=[;{}]\s+)(delete [^;]+;)/g, "{}"],
	[
		"call",
		/(?<=[;{})]\s+)((?!revert|return|emit|if|for|while|else|delete|using|import|unchecked|assembly)\w+(?:\.\w+)*\([^;{}=]*\);)/g,
		"{}",
	],
];

export function mutationsOf(source: string): readonly Mutation[] {
	const code = codeOnly(source);
	const found: Mutation[] = [];
	for (const [rule, pattern, to] of RULES)
		for (const match of code.matchAll(pattern)) {
			const [whole, from = ""] = match;
			const at = match.index + whole.lastIndexOf(from);
			const lines = source.slice(0, at).split("\n");
			const text = source.split("\n")[lines.length - 1]!.trim();
			found.push({ rule, at, from: source.slice(at, at + from.length), to, line: lines.length, text });
		}
	return found.sort((a, b) => a.at - b.at || (a.rule < b.rule ? -1 : 1));
}

export const mutate = (source: string, { at, from, to }: Mutation): string =>
	source.slice(0, at) + to + source.slice(at + from.length);

/** The same length, with spaces for comments, strings and whatever declares rather than does. */
function codeOnly(source: string): string {
	const blank = (text: string) => text.replace(/[^\n]/g, " ");
	return source
		.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"/g, blank)
		.replace(/^\s*(?:pragma|import|using|event|error)\b[^;]*;/gm, blank)
		.replace(/^\s*(?:struct|enum|interface) \w+ \{[^}]*\}/gm, blank)
		.replace(/\bassembly (?:\("[^"]*"\) )?\{[\s\S]*?\n {8}\}/g, blank);
}
