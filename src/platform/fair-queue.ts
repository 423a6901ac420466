// Turns at something scarce, fair between names: so many run at once, each name has a line of its own, and
// the lines are served in rotation. Whoever asks a thousand times waits behind itself; whoever asks once
// waits for one turn of each of the others. Lines are bounded, each and all together: when there is no room,
// the longest line gives its last place up.

export interface FairQueue {
	/**
	 * Throws what `refused` gives when there is no room, or once it is closed. All turns but every eighth are
	 * those of the least `size` among those that come next of each name.
	 *
	 * ATTACK: many names with one large thing each are all before whoever comes after them. Those with small
	 * ones wait for few of them, and nobody small keeps the large ones from going on.
	 */
	run<T>(name: string, act: () => Promise<T> | T, size?: number): Promise<T>;
	/** Whoever waits is refused; what runs goes on. */
	close(): void;
	readonly waiting: () => number;
}

/** A large program takes as long as twenty ordinary ones. */
const IN_ORDER_EVERY = 8;

interface Waiting {
	readonly size: number;
	start(): void;
	refuse(): void;
}

/** Whatever becomes of it ends its timer. */
function waiterOf(size: number, timer: NodeJS.Timeout | undefined, resolve: () => void, reject: () => void): Waiting {
	const ending = (act: () => void) => () => {
		clearTimeout(timer);
		act();
	};
	return { size, start: ending(resolve), refuse: ending(reject) };
}

export function createFairQueue(o: {
	readonly atOnce: number;
	/** Waiting of one name, and of all. */
	readonly perName: number;
	readonly inAll: number;
	/** This name's turn comes before all others', and its places are not given up. */
	readonly first?: string;
	/** Whoever has waited so long is refused, but for `first`; without it nobody is. */
	readonly withinMs?: number;
	readonly refused: () => Error;
}): FairQueue {
	/** In the order in which they are served. */
	const lines = new Map<string, Waiting[]>();
	let waiting = 0;
	let turns = 0;
	let running = 0;
	let isClosed = false;

	function nextName(): string | undefined {
		if (o.first !== undefined && lines.has(o.first)) return o.first;
		let [found] = lines.keys();
		if (++turns % IN_ORDER_EVERY === 0) return found;
		let least = Number.POSITIVE_INFINITY;
		for (const [name, [one]] of lines) if (one!.size < least) [found, least] = [name, one!.size];
		return found;
	}

	/** That of the name whose turn it is; the name goes to the end. */
	function next(): Waiting | undefined {
		const name = nextName();
		if (name === undefined) return undefined;
		const line = lines.get(name)!;
		const one = line.shift();
		lines.delete(name);
		if (line.length > 0) lines.set(name, line);
		waiting -= 1;
		return one;
	}

	/** False: nobody's line is longer than the one of length `own`. */
	function makeRoom(own: number): boolean {
		let longest: readonly [string, Waiting[]] | null = null;
		for (const entry of lines)
			if (entry[0] !== o.first && entry[1].length > (longest?.[1].length ?? own)) longest = entry;
		if (longest === null) return false;
		const [name, line] = longest;
		line.pop()!.refuse();
		if (line.length === 0) lines.delete(name);
		waiting -= 1;
		return true;
	}

	function wait(name: string, size: number): Promise<void> {
		return new Promise((resolve, reject) => {
			const line = lines.get(name) ?? [];
			const held = name === o.first ? 0 : line.length;
			const isFull = line.length >= o.perName || (waiting >= o.inAll && !makeRoom(held));
			if (isFull) return reject(o.refused());
			const leave = () => {
				const own = lines.get(name)!;
				own.splice(own.indexOf(one), 1);
				if (own.length === 0) lines.delete(name);
				waiting -= 1;
				one.refuse();
			};
			const timer = o.withinMs === undefined || name === o.first ? undefined : setTimeout(leave, o.withinMs);
			const one = waiterOf(size, timer, resolve, () => reject(o.refused()));
			line.push(one);
			lines.set(name, line);
			waiting += 1;
		});
	}

	return {
		waiting: () => waiting,
		async run(name, act, size = 0) {
			if (isClosed) throw o.refused();
			if (running < o.atOnce) running += 1;
			else await wait(name, size);
			try {
				return await act();
			} finally {
				const one = next();
				if (one) one.start();
				else running -= 1;
			}
		},
		close() {
			isClosed = true;
			for (let one = next(); one; one = next()) one.refuse();
		},
	};
}
