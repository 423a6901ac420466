// One after the other, by name: changes of one provider's memory read, decide and write, and must not overtake each other in this process.
// Between processes the lease on a provider does the same for probes; what else is written (suspicion, changed claims) is rare and small.

export interface Turns {
	take<T>(name: string, run: () => Promise<T>): Promise<T>;
	/** Everything that was begun has ended. */
	settled(): Promise<void>;
}

export function createTurns(): Turns {
	const last = new Map<string, Promise<unknown>>();
	return {
		take(name, run) {
			const turn = (last.get(name) ?? Promise.resolve()).then(run, run);
			const quiet = turn.catch(() => {});
			last.set(name, quiet);
			void quiet.then(() => last.get(name) === quiet && last.delete(name));
			return turn;
		},
		async settled() {
			while (last.size > 0) await Promise.all(last.values());
		},
	};
}
