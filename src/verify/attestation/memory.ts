// What was read and checked in one judgement, so that it is done once: eight cards of a host share manifests,
// answers and certificates, and each card is looked at alone and among the others. By identity of the bytes,
// under one set of settings, for one judgement; what was refused is not remembered.

type Kind = "chain" | "device" | "manifest" | "answer";

export class Memory {
	private readonly known = new Map<Kind, WeakMap<object, unknown>>();

	/** What `read` gives of it; a second time without reading. A kind has one type. */
	once<T>(kind: Kind, of: object, read: () => T): T {
		const known = this.known.get(kind) ?? new WeakMap<object, unknown>();
		this.known.set(kind, known);
		if (known.has(of)) return known.get(of) as T;
		const found = read();
		known.set(of, found);
		return found;
	}
}
