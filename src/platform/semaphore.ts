// A counting semaphore: at most `count` holders at a time, first come first served; who is urgent
// goes before those who are not.

export interface Semaphore {
	/** Resolves to the release function. Throws what `signal` was aborted with. */
	acquire(signal?: AbortSignal, isUrgent?: boolean): Promise<() => void>;
	readonly waiting: () => number;
}

export function createSemaphore(count: number): Semaphore {
	const urgent: (() => void)[] = [];
	const others: (() => void)[] = [];
	let taken = 0;

	function release(): void {
		const next = urgent.shift() ?? others.shift();
		if (next) next();
		else taken -= 1;
	}

	return {
		waiting: () => urgent.length + others.length,
		async acquire(signal, isUrgent = false) {
			const waiting = isUrgent ? urgent : others;
			signal?.throwIfAborted();
			if (taken < count) taken += 1;
			else
				await new Promise<void>((resolve, reject) => {
					const enter = () => {
						signal?.removeEventListener("abort", leave);
						resolve();
					};
					const leave = () => {
						waiting.splice(waiting.indexOf(enter), 1);
						reject(signal?.reason);
					};
					waiting.push(enter);
					signal?.addEventListener("abort", leave, { once: true });
				});
			let isHeld = true;
			return () => {
				if (isHeld) release();
				isHeld = false;
			};
		},
	};
}
