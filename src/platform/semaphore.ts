// So many at once and no more, first come first served. For what loads this process: probes that wait for a silent host's first word do not.

export interface Slots {
	/** Gives back how to release it. Throws what `signal` was aborted with. */
	acquire(signal: AbortSignal): Promise<() => void>;
	readonly taken: () => number;
}

export function createSlots(count: number): Slots {
	const waiting: (() => void)[] = [];
	let taken = 0;

	function release(): void {
		const next = waiting.shift();
		if (next) next();
		else taken -= 1;
	}

	return {
		taken: () => taken,
		async acquire(signal) {
			signal.throwIfAborted();
			if (taken < count) taken += 1;
			else
				await new Promise<void>((resolve, reject) => {
					const enter = () => {
						signal.removeEventListener("abort", leave);
						resolve();
					};
					const leave = () => {
						waiting.splice(waiting.indexOf(enter), 1);
						reject(signal.reason);
					};
					waiting.push(enter);
					signal.addEventListener("abort", leave, { once: true });
				});
			let isHeld = true;
			return () => {
				if (isHeld) release();
				isHeld = false;
			};
		},
	};
}
