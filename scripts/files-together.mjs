// Runs several files of tests in one process, one after the other, each as a test of its own: most of what a
// small one takes is the start of a process. A file's hooks are for its own tests. With each, what it took of
// a core, its processes included.
//   node scripts/files-together.mjs FILE…
// Plain JavaScript, as scripts/running-tests.mjs. Not here: which files may share a process (run-tests.ts).
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

/**
 * Seconds of a core of this process and of those that it waited for. Without the latter where there is no
 * such file.
 */
function coreSeconds() {
	try {
		const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
		return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
	} catch {
		const { user, system } = process.cpuUsage();
		return (user + system) / 1e6;
	}
}

for (const file of process.argv.slice(2))
	test(file, async (t) => {
		const before = coreSeconds();
		t.after(() => t.diagnostic(`${file}: ${(coreSeconds() - before).toFixed(1)} s of a core`));
		await import(pathToFileURL(resolve(file)).href);
	});
