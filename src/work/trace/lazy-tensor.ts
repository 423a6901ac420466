// Tensors whose leaves come when they are needed: an element of a large product reads a few rows of what may
// be gigabytes. What reads them is plain code; `settle` runs it again and again until nothing that it reads
// is missing.
import { readElement, type TensorType } from "../operators/tensor-type.ts";
import type { OwnTensor } from "./accuse.ts";
import type { ShownLeaf } from "./judge.ts";
import { leafOf } from "./tensor-tree.ts";

/** Thrown by what is not there yet, caught by `settle`. */
class Missing {
	readonly bring: () => Promise<void>;

	constructor(bring: () => Promise<void>) {
		this.bring = bring;
	}
}

export async function settle<T>(act: () => T): Promise<T> {
	for (;;) {
		try {
			return act();
		} catch (missing) {
			if (!(missing instanceof Missing)) throw missing;
			await missing.bring();
		}
	}
}

/** A function of a key whose answer comes later; inside `settle` it reads as if it were there. */
export function lazily<K, T>(bring: (key: K) => Promise<T>, nameOf: (key: K) => string): (key: K) => T {
	const known = new Map<string, T>();
	return (key) => {
		const name = nameOf(key);
		const found = known.get(name);
		if (found !== undefined) return found;
		throw new Missing(async () => {
			known.set(name, await bring(key));
		});
	};
}

export function lazyTensor(type: TensorType, bring: (leaf: number) => Promise<ShownLeaf>): OwnTensor {
	const leaf = lazily(bring, String);
	return {
		leaf,
		at(index) {
			const place = leafOf(index, type);
			return readElement(leaf(place.leaf).bytes, type, place.at);
		},
	};
}
