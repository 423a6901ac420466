// A counting semaphore: at most `count` holders at a time, first come first served.

export interface Semaphore {
	/** Resolves to the release function. Throws what `signal` was aborted with. */
	acquire(signal?: AbortSignal): Promise<() => void>;
	readonly waiting: () => number;
}

export function createSemaphore(count: number): Semaphore {
	const waiting: (() => void)[] = [];
	let taken = 0;

	function release(): void {
		const next = waiting.shift();
		if (next) next();
		else taken -= 1;
	}

	return {
		waiting: () => waiting.length,
		async acquire(signal) {
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
