// JSON of strangers: bounded, not too deep, and fields that must be of a kind. Keys that come twice cannot
// mislead: either a vendor signed the text, or what the fields hold is signed.
import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { tooDeepAt } from "../../protocol/bytes/canonical-json.ts";
import type { Code } from "../../protocol/codes.ts";
import { refuse } from "./verdict.ts";

const MOST_CHARS = 1024 * 1024;

export function parseJson(bytes: Uint8Array, code: Code, where: string): unknown {
	const text = bytes.length <= MOST_CHARS ? bytesToUtf8(bytes) : null;
	return text === null ? refuse(code, where, "too long, or not UTF-8") : parseJsonText(text, code, where);
}

export function parseJsonText(text: string, code: Code, where: string): unknown {
	if (text.length > MOST_CHARS || tooDeepAt(text) !== null)
		return refuse(code, where, "JSON that is too long or too deep");
	try {
		return JSON.parse(text);
	} catch {
		return refuse(code, where, "no JSON");
	}
}

/** Reads fields of one object; everything that is not as it must be is refused with one code. */
export class JsonFields {
	readonly #fields: Readonly<Record<string, unknown>>;
	readonly #code: Code;
	readonly #where: string;

	constructor(value: unknown, code: Code, where: string) {
		if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(code, where, "no JSON object");
		this.#fields = value as Record<string, unknown>;
		this.#code = code;
		this.#where = where;
	}

	#wrong(name: string, due: string): never {
		return refuse(this.#code, `${this.#where}.${name}`, `no ${due}`);
	}

	has(name: string): boolean {
		return Object.hasOwn(this.#fields, name);
	}

	text(name: string): string {
		const value = this.has(name) ? this.#fields[name] : undefined;
		return typeof value === "string" ? value : this.#wrong(name, "text");
	}

	/** A whole number from 0 to 65,535. */
	small(name: string): number {
		const value = this.has(name) ? this.#fields[name] : undefined;
		if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > 65_535)
			this.#wrong(name, "number");
		return value as number;
	}

	/** A whole number from 0 to 2^32 − 1. */
	count(name: string): number {
		const value = this.has(name) ? this.#fields[name] : undefined;
		if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value >= 2 ** 32)
			this.#wrong(name, "number");
		return value as number;
	}

	flag(name: string): boolean {
		const value = this.has(name) ? this.#fields[name] : undefined;
		return typeof value === "boolean" ? value : this.#wrong(name, "flag");
	}

	/** Hex of either case, so many bytes. */
	hex(name: string, bytes: number): string {
		const value = this.text(name);
		return value.length === 2 * bytes && /^[0-9a-fA-F]*$/.test(value)
			? value.toLowerCase()
			: this.#wrong(name, `${bytes} bytes of hex`);
	}

	object(name: string): JsonFields {
		return new JsonFields(this.has(name) ? this.#fields[name] : undefined, this.#code, `${this.#where}.${name}`);
	}

	list(name: string, most: number): readonly unknown[] {
		const value = this.has(name) ? this.#fields[name] : undefined;
		return Array.isArray(value) && value.length <= most ? value : this.#wrong(name, `list of at most ${most}`);
	}

	objects(name: string, most: number): JsonFields[] {
		return this.list(name, most).map((one, i) => new JsonFields(one, this.#code, `${this.#where}.${name}[${i}]`));
	}

	/** Absent: an empty list. */
	texts(name: string, most: number): string[] {
		const values = this.has(name) ? this.list(name, most) : [];
		return values.every((one) => typeof one === "string") ? (values as string[]) : this.#wrong(name, "texts");
	}
}
