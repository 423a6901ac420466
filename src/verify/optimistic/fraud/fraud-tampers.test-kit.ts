// Changes to a fraud file, for the tamper list: every value of its envelope by its kind, every attachment,
// each written anew so that only what the value means can give it away.
import { encodeContainer, entriesOf } from "../../../protocol/probe/container.ts";
import { decodeFraudFile } from "./fraud-file.ts";

// biome-ignore lint/suspicious/noExplicitAny: writes into what is read-only to everybody else
type Loose = any;

export interface FraudTamper {
	/** List places as []. */
	readonly field: string;
	readonly file: Uint8Array;
}

function changed(value: unknown): unknown {
	if (typeof value === "number") return value + 1;
	if (typeof value === "boolean") return !value;
	if (value === null) return "5a".repeat(32);
	const text = value as string;
	// A path of numbers as text, or hex: another last digit.
	const last = text.at(-1)!;
	return /^[0-9a-f]+$/.test(text) ? text.slice(0, -1) + (last === "0" ? "1" : "0") : `${text}x`;
}

function* places(value: Loose, path: readonly (string | number)[] = []): Generator<readonly (string | number)[]> {
	if (value === null || typeof value !== "object") yield path;
	else
		for (const key of Object.keys(value))
			yield* places(value[key], [...path, Array.isArray(value) ? Number(key) : key]);
}

const nameOf = (path: readonly (string | number)[]): string =>
	path
		.map((key) => (typeof key === "number" ? "[]" : `.${key}`))
		.join("")
		.slice(1);

export function* tamperedFrauds(file: Uint8Array): Generator<FraudTamper> {
	const decoded = decodeFraudFile(file);
	if (!decoded.ok) throw new Error(decoded.detail);
	const { envelope, attachments } = decoded.evidence;
	for (const path of places(envelope.body)) {
		const body: Loose = structuredClone(envelope.body);
		let at = body;
		for (const key of path.slice(0, -1)) at = at[key];
		at[path.at(-1)!] = changed(at[path.at(-1)!]);
		yield { field: nameOf(path), file: encodeContainer({ ...envelope, body }, attachments) };
	}
	for (const [i, bytes] of attachments.entries()) {
		if (bytes.length > 0) {
			const others = attachments.with(
				i,
				bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte)),
			);
			yield {
				field: `attachment ${i}`,
				file: encodeContainer({ ...envelope, attachments: entriesOf(others) }, others),
			};
		}
		const longer = attachments.with(i, Uint8Array.from([...bytes, 0]));
		yield {
			field: `longer attachment ${i}`,
			file: encodeContainer({ ...envelope, attachments: entriesOf(longer) }, longer),
		};
		yield {
			field: `attachments[].sha256`,
			file: encodeContainer(
				{
					...envelope,
					attachments: envelope.attachments.with(i, { ...envelope.attachments[i]!, sha256: "00".repeat(32) }),
				},
				attachments,
			),
		};
		const bytesNow = envelope.attachments[i]!.bytes;
		yield {
			field: `attachments[].bytes`,
			file: encodeContainer(
				{
					...envelope,
					attachments: envelope.attachments.with(i, { ...envelope.attachments[i]!, bytes: bytesNow + 1 }),
				},
				attachments,
			),
		};
	}
	const more = [...attachments, Uint8Array.of(1)];
	yield { field: "one attachment more", file: encodeContainer({ ...envelope, attachments: entriesOf(more) }, more) };
	const fewer = attachments.slice(0, -1);
	if (attachments.length > 0)
		yield {
			field: "one attachment less",
			file: encodeContainer({ ...envelope, attachments: entriesOf(fewer) }, fewer),
		};
}
