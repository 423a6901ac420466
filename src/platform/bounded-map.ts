// A map of bounded size: `set` makes its key the newest, and beyond the bound the oldest key goes.
// Whoever sets a key at each use has an LRU cache.

export class BoundedMap<K, V> extends Map<K, V> {
	private readonly max: number;

	constructor(max: number) {
		super();
		this.max = max;
	}

	override set(key: K, value: V): this {
		this.delete(key);
		super.set(key, value);
		if (this.size > this.max) this.delete(this.keys().next().value as K);
		return this;
	}
}
