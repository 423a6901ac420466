// A mutex, plain and by key: of everything that runs under one key, only one runs at a time, first come first
// served. It holds within this process only; between processes leases in the database do the same.

export interface Mutex {
	run<T>(act: () => Promise<T>): Promise<T>;
	/** Resolves once nothing runs or waits. */
	idle(): Promise<void>;
}

export interface KeyedMutex {
	run<T>(key: string, act: () => Promise<T>): Promise<T>;
	/** Resolves once nothing runs or waits under any key. */
	idle(): Promise<void>;
}

export function createMutex(): Mutex {
	const { run, idle } = createKeyedMutex();
	return { run: (act) => run("", act), idle };
}

export function createKeyedMutex(): KeyedMutex {
	const last = new Map<string, Promise<unknown>>();
	return {
		run(key, act) {
			const result = (last.get(key) ?? Promise.resolve()).then(act);
			const ended = result.then(
				() => {},
				() => {},
			);
			last.set(key, ended);
			void ended.then(() => last.get(key) === ended && last.delete(key));
			return result;
		},
		async idle() {
			while (last.size > 0) await Promise.all(last.values());
		},
	};
}
