// A reporter for node:test that says which tests have begun and not ended, and what keeps their process
// alive, when it is asked by SIGUSR2: scripts/run-tests.ts asks a file that hangs. Writes nothing else. Plain
// JavaScript, because it is loaded into hundreds of processes. Not here: who asks, and when.

/** @param {AsyncIterable<import("node:test/reporters").TestEvent>} events */
export default async function* runningTests(events) {
	const running = new Set();
	// Does not keep the process alive.
	process.on("SIGUSR2", () => {
		const alive = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
		const kinds = [...alive].map(([kind, all]) => `${all.length} ${kind}`).join(", ");
		const names = [...running].map((key) => `still running: ${JSON.parse(key)[2]}\n`).join("");
		process.stderr.write(`${names}alive by: ${kinds || "nothing"}\n`);
	});
	for await (const { type, data } of events) {
		const key = JSON.stringify([data.line, data.column, data.name]);
		if (type === "test:dequeue") running.add(key);
		if (type === "test:complete") running.delete(key);
	}
	yield "";
}
