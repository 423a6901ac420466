// A reporter for node:test, for scripts/run-tests.ts. It writes what ended, the messages and the counts as
// lines of JSON into file descriptor 3, at once, so that nothing is lost where a process exits early. Asked
// by SIGUSR2 it says which tests have begun and not ended, and what keeps their process alive:
// scripts/run-tests.ts asks a file that hangs. Plain JavaScript, because it is loaded into hundreds of
// processes. Not here: who asks, and when; who reads the lines (runner/test-report.ts).
import { writeSync } from "node:fs";

const REPORT = 3;
/** The first line of what was thrown: a test's own error is the cause of the one that is reported. */
const wordsOf = ({ cause, message }) => {
	const { name, message: own } = cause instanceof Error ? cause : { message: String(cause ?? message) };
	return `${name === undefined ? "" : `${name}: `}${own}`.split("\n")[0];
};

/** @param {AsyncIterable<import("node:test/reporters").TestEvent>} events */
export default async function* runningTests(events) {
	const running = new Set();
	const parents = new Set();
	const report = (line) => writeSync(REPORT, `${JSON.stringify(line)}\n`);
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
		if (type === "test:enqueue") parents.add(data.parentId);
		if (type === "test:diagnostic") report({ type, message: data.message });
		if (type === "test:summary") report({ type, counts: data.counts });
		if (type === "test:pass" || type === "test:fail") {
			const { name, nesting, testId, details, skip, todo } = data;
			const { error, duration_ms: ms } = details;
			const isExcused = skip !== undefined || todo !== undefined;
			const thrown =
				error === undefined ? {} : { error: wordsOf(error), isOfSubtests: error.failureType === "subtestsFailed" };
			report({ type, name, nesting, ms, isParent: parents.has(testId), isExcused, ...thrown });
		}
	}
	yield "";
}
