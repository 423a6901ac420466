// Who opens which host first. All validators that committed to a call may open every host in their tree; what
// one of them opened the others can use, for the places are the same. So each host has an order of validators
// that nobody chooses, and is asked by the first of them. Waiting is a courtesy to the host and never longer
// than MOST_TURNS: whoever does not open, or does not give out, delays and no more.
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { tagged } from "../../protocol/hash/tagged-hash.ts";

/** A validator waits for so many others at most. */
const MOST_TURNS = 2;

/** A host does its answer again in less than the deadline, and the file must be fetched. */
export const turnMs = (deadlineMs: number): number => 2 * deadlineMs + 5000;

export interface OpeningTurn {
	/** Milliseconds after the draw; before that it is another's. */
	readonly afterMs: number;
	/**
	 * Likewise; every other validator that is waited for has had its turn by then, and so has a host that dials
	 * in again.
	 */
	readonly absentAfterMs: number;
	/** Whose files are worth asking for, in the order of their turns. */
	readonly others: readonly string[];
}

/** `validators`: accounts in lower case, each once; `self` may be among them or not. */
export function openingTurn(
	host: { readonly key: string; readonly beta2: Uint8Array; readonly deadlineMs: number },
	self: string,
	validators: readonly string[],
): OpeningTurn {
	const drawn = new Map(validators.map((one) => [one, lot(host, one)]));
	const order = validators.toSorted((a, b) => (drawn.get(a)! < drawn.get(b)! ? -1 : 1));
	// Who did not commit is in nobody's way, and goes first.
	const place = Math.max(0, order.indexOf(self));
	const others = order.filter((one) => one !== self);
	const turns = (count: number) => Math.min(count, MOST_TURNS) * turnMs(host.deadlineMs);
	return { afterMs: turns(place), absentAfterMs: turns(others.length) + turnMs(host.deadlineMs), others };
}

function lot({ key, beta2 }: { readonly key: string; readonly beta2: Uint8Array }, validator: string): bigint {
	const hash = tagged("assay/roll-turn/1", beta2, hexToBytes(key, 32)!, hexToBytes(validator.slice(2), 20)!);
	return new DataView(hash.buffer, hash.byteOffset).getBigUint64(0);
}
