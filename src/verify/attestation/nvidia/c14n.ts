// Canonical XML 1.1 without comments, of an element and all within it (or all but one child). The parser
// refuses attributes of the xml prefix, so the rules on their inheritance have nothing to say here. Iterative
// over what the parser bounds.
import type { XmlElement } from "./xml.ts";

/** `without`: a child of `apex` that is left out (the enveloped signature). */
export function canonicalXml(apex: XmlElement, without: XmlElement | null = null): string {
	const out: string[] = [];
	write(apex, new Map(), apex.scope, without, out);
	return out.join("");
}

const NONE: readonly [string, string][] = [];

function write(
	element: XmlElement,
	rendered: ReadonlyMap<string, string>,
	namespaces: ReadonlyMap<string, string>,
	without: XmlElement | null,
	out: string[],
): void {
	const name = element.prefix === "" ? element.local : `${element.prefix}:${element.local}`;
	const fresh =
		namespaces.size === 0
			? NONE
			: [...namespaces]
					.filter(([prefix, uri]) => (rendered.get(prefix) ?? (prefix === "" ? "" : null)) !== uri)
					.sort(([a], [b]) => byCodePoint(a, b));
	out.push("<", name);
	for (const [prefix, uri] of fresh)
		out.push(prefix === "" ? " xmlns" : ` xmlns:${prefix}`, '="', escapedValue(uri), '"');
	const attributes = [...element.attributes].sort((a, b) => byCodePoint(a.uri, b.uri) || byCodePoint(a.local, b.local));
	for (const { prefix, local, value } of attributes)
		out.push(prefix === "" ? ` ${local}` : ` ${prefix}:${local}`, '="', escapedValue(value), '"');
	out.push(">");
	const inner = fresh.length === 0 ? rendered : new Map([...rendered, ...fresh]);
	for (const child of element.children) {
		if (typeof child === "string") out.push(escapedText(child));
		else if (child !== without) write(child, inner, child.declared, null, out);
	}
	out.push("</", name, ">");
}

const escapedText = (text: string): string =>
	text.replace(/[&<>\r]/g, (c) => (c === "&" ? "&amp;" : c === "<" ? "&lt;" : c === ">" ? "&gt;" : "&#xD;"));

const VALUE_ESCAPES: Readonly<Record<string, string>> = {
	"&": "&amp;",
	"<": "&lt;",
	'"': "&quot;",
	"\t": "&#x9;",
	"\n": "&#xA;",
	"\r": "&#xD;",
};

const escapedValue = (value: string): string => value.replace(/[&<"\t\n\r]/g, (c) => VALUE_ESCAPES[c]!);

/** JavaScript compares UTF-16 units, canonical XML code points: surrogates come last there. */
function byCodePoint(a: string, b: string): number {
	if (a === b) return 0;
	const length = Math.min(a.length, b.length);
	for (let i = 0; i < length; i++) {
		const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
		if (left !== right) return rankOf(left) - rankOf(right);
	}
	return a.length - b.length;
}

const rankOf = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);
