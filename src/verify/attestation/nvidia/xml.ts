// The part of XML that signed manifests need, and nothing that could say two things: elements, attributes,
// namespaces, text. Refused: document types, entities but the five, comments, processing instructions, CDATA,
// attributes of the xml prefix.
import { wrongManifest as wrong } from "../verdict.ts";

interface XmlAttribute {
	readonly prefix: string;
	readonly local: string;
	readonly uri: string;
	readonly value: string;
}

export interface XmlElement {
	readonly prefix: string;
	readonly local: string;
	readonly uri: string;
	readonly attributes: readonly XmlAttribute[];
	/** Namespaces declared here, by prefix; "" is the default one. */
	readonly declared: ReadonlyMap<string, string>;
	/** All in scope. */
	readonly scope: ReadonlyMap<string, string>;
	readonly children: readonly (XmlElement | string)[];
}

interface Open extends Omit<XmlElement, "children"> {
	readonly name: string;
	readonly children: (XmlElement | string)[];
}

const MOST_CHARS = 512 * 1024;
const MOST_ELEMENTS = 20_000;
const MOST_DEPTH = 32;
const MOST_ATTRIBUTES = 256;
/** In scope at once: every element that declares one copies them. */
const MOST_NAMESPACES = 32;
const NAME = /[A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z_][A-Za-z0-9_.-]*)?/y;
const SPACE = /[ \t\n]*/y;
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

/** The document's root element. */
export function parseXml(text: string, where: string): XmlElement {
	if (text.length > MOST_CHARS) return wrong(where, "a manifest of more than 512 Ki characters");
	return new XmlParser(text.replace(/\r\n?/g, "\n"), where).document();
}

class XmlParser {
	readonly #text: string;
	readonly #where: string;
	#at = 0;
	#elements = 0;

	constructor(text: string, where: string) {
		this.#text = text;
		this.#where = where;
	}

	#wrong(detail: string): never {
		return wrong(this.#where, `${detail} at character ${this.#at}`);
	}

	#match(pattern: RegExp): string {
		pattern.lastIndex = this.#at;
		const found = pattern.exec(this.#text)?.[0] ?? "";
		this.#at += found.length;
		return found;
	}

	#take(literal: string): boolean {
		if (!this.#text.startsWith(literal, this.#at)) return false;
		this.#at += literal.length;
		return true;
	}

	document(): XmlElement {
		this.#match(
			/<\?xml version=(?:"1\.0"|'1\.0')(?: encoding=(?:"UTF-8"|'UTF-8'|"utf-8"|'utf-8'))?(?: standalone=(?:"yes"|"no"))? ?\?>/y,
		);
		this.#match(SPACE);
		const stack: Open[] = [];
		for (;;) {
			if (stack.length > 0) this.#textInto(stack.at(-1)!);
			const closed = this.#tag(stack);
			if (closed === null) continue;
			const parent = stack.at(-1);
			if (parent !== undefined) {
				parent.children.push(closed);
				continue;
			}
			this.#match(SPACE);
			return this.#at === this.#text.length ? closed : this.#wrong("something after the root element");
		}
	}

	#textInto(open: Open): void {
		const end = this.#text.indexOf("<", this.#at);
		if (end < 0) this.#wrong("an element does not end");
		if (end === this.#at) return;
		const raw = this.#text.slice(this.#at, end);
		if (raw.includes("]]>")) this.#wrong("the end of a CDATA section in text");
		open.children.push(this.#unescaped(raw));
		this.#at = end;
	}

	/** An opening tag is pushed and gives null; what is closed comes back. */
	#tag(stack: Open[]): XmlElement | null {
		if (this.#take("</")) {
			const open = stack.pop();
			if (open === undefined || this.#match(NAME) !== open.name) this.#wrong("an end tag that fits no element");
			this.#match(SPACE);
			if (!this.#take(">")) this.#wrong("an end tag is cut");
			return open!;
		}
		if (!this.#take("<")) this.#wrong("no tag");
		const name = this.#match(NAME);
		if (name === "") this.#wrong("neither an element nor its end");
		this.#elements += 1;
		if (this.#elements > MOST_ELEMENTS || stack.length >= MOST_DEPTH)
			this.#wrong("more elements than any manifest has");
		const open = this.#opened(name, stack.at(-1)?.scope ?? new Map());
		if (this.#take("/>")) return open;
		if (!this.#take(">")) this.#wrong("a tag is cut");
		stack.push(open);
		return null;
	}

	#opened(name: string, outer: ReadonlyMap<string, string>): Open {
		const raw = this.#attributes();
		const declared = new Map<string, string>();
		for (const [attribute, value] of raw) {
			const prefix = attribute === "xmlns" ? "" : attribute.startsWith("xmlns:") ? attribute.slice(6) : null;
			if (prefix === null) continue;
			if (prefix === "xml" || prefix === "xmlns" || (prefix !== "" && value === ""))
				this.#wrong("a namespace that cannot be");
			if (/^http:\/\/www\.w3\.org\/(XML\/1998\/namespace|2000\/xmlns\/)$/.test(value))
				this.#wrong("a reserved namespace");
			declared.set(prefix, value);
		}
		const scope = declared.size === 0 ? outer : new Map([...outer, ...declared]);
		if (scope.size > MOST_NAMESPACES) this.#wrong("more namespaces than any manifest has");
		const resolve = (full: string, isAttribute: boolean) => {
			const colon = full.indexOf(":");
			const [prefix, local] = colon < 0 ? ["", full] : [full.slice(0, colon), full.slice(colon + 1)];
			const uri = prefix === "" && isAttribute ? "" : (scope.get(prefix) ?? (prefix === "" ? "" : null));
			return uri === null ? this.#wrong(`prefix ${prefix} is not declared`) : { prefix, local, uri };
		};
		const attributes: XmlAttribute[] = [];
		for (const [attribute, value] of raw)
			if (attribute !== "xmlns" && !attribute.startsWith("xmlns:")) {
				const { prefix, local, uri } = resolve(attribute, true);
				attributes.push({ prefix, local, uri, value });
			}
		const named = attributes.filter(({ uri }) => uri !== "").map(({ uri, local }) => `${uri} ${local}`);
		if (new Set(named).size !== named.length) this.#wrong("an attribute twice by two prefixes");
		return { name, ...resolve(name, false), attributes, declared, scope, children: [] };
	}

	#attributes(): Map<string, string> {
		const found = new Map<string, string>();
		for (;;) {
			const space = this.#match(SPACE);
			const name = this.#match(NAME);
			if (name === "") return found;
			if (space === "") this.#wrong("no space before an attribute");
			if (found.has(name) || found.size >= MOST_ATTRIBUTES) this.#wrong(`attribute ${name} twice`);
			this.#match(SPACE);
			if (!this.#take("=")) this.#wrong("an attribute without a value");
			this.#match(SPACE);
			const quote = this.#text[this.#at];
			const end = quote === '"' || quote === "'" ? this.#text.indexOf(quote, this.#at + 1) : -1;
			if (end < 0) this.#wrong("a value without quotes");
			const raw = this.#text.slice(this.#at + 1, end);
			if (raw.includes("<")) this.#wrong("< in a value");
			found.set(name, this.#unescaped(raw.replace(/[\t\n]/g, " ")));
			this.#at = end + 1;
		}
	}

	#unescaped(raw: string): string {
		if (hasForbidden(raw)) this.#wrong("a character that XML does not have");
		if (!raw.includes("&")) return raw;
		return raw.replace(/&(?:([a-z]+)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}))?;?/g, (whole, name, decimal, hex) => {
			if (!whole.endsWith(";")) this.#wrong("an & that begins no reference");
			const known = name === undefined ? undefined : ENTITIES[name];
			if (known !== undefined) return known;
			const point = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : -1;
			if (point <= 0 || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) this.#wrong("an unknown entity");
			const character = String.fromCodePoint(point);
			return hasForbidden(character) ? this.#wrong("a character that XML does not have") : character;
		});
	}
}

/** Outside of XML's Char: control characters but tab and line ends, lone surrogates, U+FFFE and U+FFFF. */
function hasForbidden(text: string): boolean {
	// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
	return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text) || !text.isWellFormed();
}

export const elementsOf = (element: XmlElement): XmlElement[] =>
	element.children.filter((child): child is XmlElement => typeof child !== "string");

export const textOfElement = (element: XmlElement): string =>
	element.children.filter((child) => typeof child === "string").join("");

/** The value of an attribute without a namespace, or with this one. */
export const attributeOf = (element: XmlElement, local: string, uri = ""): string | null =>
	element.attributes.find((one) => one.local === local && one.uri === uri)?.value ?? null;
