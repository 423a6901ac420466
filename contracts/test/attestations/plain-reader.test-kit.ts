// The contract IntelReader in plain words: one byte after another, no words of 32. What it reads, and at
// which place it refuses, is what the contract must read and refuse: the same bytes come back. Not here: what
// the verifier thinks of a text (src/verify/attestation/intel).
import { type AbiParameter, encodeAbiParameters, type Hex, keccak256, toFunctionSelector, toHex } from "viem";
import { attestationsAbi } from "../../../src/chain/abi/attestations-abi.ts";

const MOST_BYTES = 32_768;
const MOST_LEVELS = 64;
const DAY_S = 86_400;
const ACCEPTED = ["UpToDate", "SWHardeningNeeded", "ConfigurationNeeded", "ConfigurationAndSWHardeningNeeded"];
const TEXT = new TextDecoder("latin1");

/** A refusal, as the contract returns it. */
class Refusal {
	readonly data: Hex;

	constructor(data: Hex) {
		this.data = data;
	}
}

/** Of errors with a number, and of one without: an error is made for nearly every text. */
const SELECTORS = {
	TextWrong: toFunctionSelector("TextWrong(uint256)"),
	FormWrong: toFunctionSelector("FormWrong(uint256)"),
	CollateralOther: toFunctionSelector("CollateralOther()"),
};
const errorOf = (name: "TextWrong" | "FormWrong", place: number): Refusal =>
	new Refusal(`${SELECTORS[name]}${place.toString(16).padStart(64, "0")}`);
const other = (): Refusal => new Refusal(SELECTORS.CollateralOther);
/** A difference below zero. */
const panic = (): Refusal => new Refusal(`0x4e487b71${"11".padStart(64, "0")}`);

type Fields = Record<string, unknown>;

class PlainReader {
	readonly #bytes: Uint8Array;
	#place = 0;

	constructor(bytes: Uint8Array) {
		if (bytes.length > MOST_BYTES) throw errorOf("TextWrong", bytes.length);
		this.#bytes = bytes;
	}

	wrong(): Refusal {
		return errorOf("TextWrong", this.#place);
	}

	#letter(at: number): string {
		return String.fromCharCode(this.#bytes[at]!);
	}

	peek(): string {
		if (this.#place >= this.#bytes.length) throw this.wrong();
		return this.#letter(this.#place);
	}

	expect(letter: string): void {
		if (this.peek() !== letter) throw this.wrong();
		this.#place++;
	}

	end(): void {
		if (this.#place !== this.#bytes.length) throw this.wrong();
	}

	more(close: string): boolean {
		const letter = this.peek();
		this.#place++;
		if (letter === ",") return true;
		if (letter !== close) throw this.wrong();
		return false;
	}

	enter(): boolean {
		this.expect("[");
		if (this.peek() !== "]") return true;
		this.#place++;
		return false;
	}

	text(): Uint8Array {
		this.expect('"');
		let to = this.#place;
		while (to < this.#bytes.length && this.#letter(to) !== '"') {
			if (this.#letter(to) === "\\") throw this.wrong();
			to++;
		}
		if (to === this.#bytes.length) throw this.wrong();
		const found = this.#bytes.subarray(this.#place, to);
		this.#place = to + 1;
		return found;
	}

	/** Zeros at its end do not count: a word has them anyway. */
	static word(bytes: Uint8Array): string {
		return TEXT.decode(bytes).replace(/\0+$/, "");
	}

	short(): string {
		const found = this.text();
		if (found.length > 32) throw this.wrong();
		return PlainReader.word(found);
	}

	name(): string {
		const found = this.text();
		this.expect(":");
		return found.length > 32 ? "" : PlainReader.word(found);
	}

	number(most: number): number {
		const from = this.#place;
		let value = 0;
		while (/[0-9]/.test(this.peek())) {
			value = value * 10 + Number(this.peek());
			if (value > most) throw this.wrong();
			this.#place++;
		}
		if (this.#place === from) throw this.wrong();
		return value;
	}

	hex(count: number): Hex {
		const letters = TEXT.decode(this.text());
		if (letters.length !== 2 * count || !/^[0-9a-fA-F]*$/.test(letters)) throw this.wrong();
		const found: Hex = `0x${letters.toLowerCase()}`;
		return count > 32 ? keccak256(found) : found;
	}

	/** Seconds since 1970. What stands between the numbers does not matter. */
	time(): bigint {
		const letters = TEXT.decode(this.text());
		if (letters.length !== 20 || letters[19] !== "Z") throw this.wrong();
		const at = (from: number, count: number): number => {
			const digits = letters.slice(from, from + count);
			if (!/^[0-9]+$/.test(digits)) throw this.wrong();
			return Number(digits);
		};
		const [year, month, day] = [at(0, 4), at(5, 2), at(8, 2)];
		if (year < 1970 || month === 0 || month > 12 || day === 0 || day > 31) throw errorOf("FormWrong", year);
		// The contract counts days that a month has not got into the next one, from March on.
		const date = Date.UTC(year, month - 1, 1) / 1000 + (day - 1) * DAY_S;
		return BigInt(date + 3600 * at(11, 2) + 60 * at(14, 2) + at(17, 2));
	}

	isAccepted(): boolean {
		return ACCEPTED.includes(TEXT.decode(this.text()));
	}

	skip(): void {
		let depth = 0;
		while (true) {
			const letter = this.peek();
			if (letter === '"') this.text();
			else {
				if ("{[".includes(letter)) depth++;
				else if ("}]".includes(letter)) {
					if (depth === 0) throw panic();
					depth--;
				} else if (depth === 0 && ",:".includes(letter)) throw this.wrong();
				this.#place++;
			}
			if (depth > 0) continue;
			if ('"}]'.includes(letter) || ",}]".includes(this.peek())) return;
		}
	}

	/** TDX_01 */
	version(): number {
		const id = this.text();
		if (id.length !== 6) throw this.wrong();
		const at = this.#place - 1 - id.length + 4;
		let value = 0;
		for (const byte of id.subarray(4)) {
			const isDigit = byte >= 48 && byte <= 57;
			const digit = isDigit ? byte - 48 : (byte | 0x20) - 87;
			if (digit < 0) throw panic();
			if (digit > 15) throw errorOf("TextWrong", at);
			value = value * 16 + digit;
		}
		return value;
	}

	/**
	 * An object: each member of these once, those of `free` any number of times; `isWhole` says whether all are
	 * there that must be.
	 */
	object(
		members: Readonly<Record<string, () => void>>,
		optional: readonly string[],
		free: readonly string[] = [],
	): void {
		const seen = new Set<string>();
		this.expect("{");
		do {
			const name = this.name();
			if (!Object.hasOwn(members, name)) {
				this.skip();
				continue;
			}
			members[name]!();
			if (seen.has(name) && !free.includes(name)) throw this.wrong();
			seen.add(name);
		} while (this.more("}"));
		this.#missing = Object.keys(members).some((name) => !seen.has(name) && !optional.includes(name));
	}

	#missing = false;

	/** The object before it. */
	mustBeWhole(): void {
		if (this.#missing) throw this.wrong();
	}

	list<T>(read: () => T, most = Number.POSITIVE_INFINITY): T[] {
		const found: T[] = [];
		if (this.enter())
			do {
				if (found.length === most) throw this.wrong();
				found.push(read());
			} while (this.more("]"));
		return found;
	}

	svnLevel(): Fields {
		const found: Fields = { svn: 0, isAccepted: false };
		const tcb = () => {
			this.expect("{");
			if (this.name() !== "isvsvn") throw this.wrong();
			found.svn = this.number(65_535);
			this.expect("}");
		};
		const tcbStatus = () => {
			found.isAccepted = this.isAccepted();
		};
		this.object({ tcb, tcbStatus }, []);
		this.mustBeWhole();
		return found;
	}

	svns(): Hex {
		const found: number[] = [];
		this.expect("[");
		do {
			let svn: number | null = null;
			this.expect("{");
			do {
				if (this.name() === "svn" && svn === null) svn = this.number(255);
				else this.skip();
			} while (this.more("}"));
			if (svn === null) throw this.wrong();
			found.push(svn);
		} while (this.more("]"));
		if (found.length !== 16) throw this.wrong();
		return toHex(Uint8Array.from(found));
	}

	level(): Fields {
		const found: Fields = {};
		const tcb = {
			sgxtcbcomponents: () => {
				found.sgx = this.svns();
			},
			tdxtcbcomponents: () => {
				found.tdx = this.svns();
			},
			pcesvn: () => {
				found.pceSvn = this.number(65_535);
			},
		};
		this.object(
			{
				tcb: () => {
					this.object(tcb, []);
					this.mustBeWhole();
				},
				tcbStatus: () => {
					found.isAccepted = this.isAccepted();
				},
			},
			[],
		);
		this.mustBeWhole();
		return found;
	}

	module(): Fields {
		const found: Fields = { version: 0, levels: [] };
		this.object(
			{
				id: () => {
					found.version = this.version();
				},
				mrsigner: () => {
					found.signer = this.hex(48);
				},
				attributes: () => {
					found.attributes = this.hex(8);
				},
				attributesMask: () => {
					found.mask = this.hex(8);
				},
				tcbLevels: () => {
					found.levels = this.list(() => this.svnLevel(), MOST_LEVELS);
				},
			},
			["id", "tcbLevels"],
			["id", "tcbLevels"],
		);
		this.mustBeWhole();
		return found;
	}

	/** What both texts begin with. */
	head(found: Fields, id: string, version: number): Record<string, () => void> {
		return {
			id: () => {
				if (this.short() !== id) throw other();
			},
			version: () => {
				if (this.number(1000) !== version) throw this.wrong();
			},
			issueDate: () => {
				found.from = this.time();
			},
			nextUpdate: () => {
				found.until = this.time();
			},
			tcbEvaluationDataNumber: () => {
				found.evaluation = this.number(2 ** 32 - 1);
			},
		};
	}

	tcbInfo(): Fields {
		const modules: Fields[] = [];
		const found: Fields = { modules };
		this.object(
			{
				...this.head(found, "TDX", 3),
				fmspc: () => {
					found.fmspc = this.hex(6);
				},
				pceId: () => {
					found.pceId = this.hex(2);
				},
				tdxModule: () => {
					modules.push(this.module());
				},
				tdxModuleIdentities: () => {
					this.list(() => {
						const one = this.module();
						if (one.version === 0) throw this.wrong();
						modules.push(one);
					});
				},
				tcbLevels: () => {
					found.levels = this.list(() => this.level(), MOST_LEVELS);
				},
			},
			["tdxModuleIdentities"],
		);
		this.end();
		this.mustBeWhole();
		return found;
	}

	qeIdentity(): Fields {
		const found: Fields = {};
		const hexes = { miscselect: ["misc", 4], miscselectMask: ["miscMask", 4], attributes: ["attributes", 16] } as const;
		const more = { attributesMask: ["mask", 16], mrsigner: ["signer", 32] } as const;
		const members = Object.entries({ ...hexes, ...more }).map(([name, [field, count]]) => [
			name,
			() => {
				found[field] = this.hex(count);
			},
		]);
		this.object(
			{
				...this.head(found, "TD_QE", 2),
				...Object.fromEntries(members),
				isvprodid: () => {
					found.product = this.number(65_535);
				},
				tcbLevels: () => {
					found.levels = this.list(() => this.svnLevel(), MOST_LEVELS);
				},
			},
			[],
		);
		this.end();
		this.mustBeWhole();
		return found;
	}
}

/** As the events tell them. */
const typeOf = (event: "Informed" | "Identified"): AbiParameter => {
	const found = attestationsAbi.find((one) => one.type === "event" && one.name === event);
	if (found?.type !== "event") throw new Error(`the contract has no event ${event}`);
	const { indexed: _, ...type } = found.inputs.at(-1)!;
	return type as AbiParameter;
};
export const READ_TYPES = { tcbInfo: typeOf("Informed"), qeIdentity: typeOf("Identified") };

/** What the contract returns for this text, or how it refuses it. */
export function plainRead(what: keyof typeof READ_TYPES, bytes: Uint8Array): Hex {
	try {
		return encodeAbiParameters([READ_TYPES[what]], [new PlainReader(bytes)[what]()]);
	} catch (error) {
		if (error instanceof Refusal) return error.data;
		throw error;
	}
}
