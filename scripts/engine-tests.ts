// The engine's own tests as tasks of scripts/run-tests.ts: the other platform's engine, which is built and
// not run, the build of the tests, then each program by itself. Only the engine for this machine is set-up's.
// No GPU is needed (engine/test/gpu.sh is for a machine with one). Maths and device run as built; frames,
// devices and fuzz against the engine under AddressSanitizer and UBSan. Not here: how tasks are run
// (run-tests.ts), what is tested (engine/test/).
import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** A task of run-tests.ts, as far as these need one. */
interface EngineTask {
	readonly name: string;
	readonly command: readonly [string, ...string[]];
	readonly isPure?: boolean;
	readonly reads?: readonly string[];
	readonly after?: string;
	readonly says?: RegExp;
	readonly limitMs?: number;
}

/** A build computes and has no deadline: it runs beside tests that wait, behind them. */
const BUILD_LIMIT_MS = 7_200_000;
/** What all of it depends on, the programs on these vectors. */
export const ENGINE_READS: readonly string[] = ["engine/", "vectors/", "package.json", "scripts/engine-tests.ts"];
export const OTHER_BUILD = "engine for the other platform, built";
export const buildOfOther: EngineTask = {
	name: OTHER_BUILD,
	command: ["bash", "engine/build.sh", "--platform", process.arch === "arm64" ? "linux-x64" : "linux-arm64"],
	...{ isPure: true, limitMs: BUILD_LIMIT_MS, reads: ENGINE_READS },
};
export const TESTS_BUILD = "engine and its tests, built";
/** The others talk to an engine, with patience. */
const ONLY_COMPUTES = /\/(fuse|map_ptx|maths|work)_test$/;
// What is checked is the maths and the engine. The programs that talk to it over pipes need no second build.
const BUILDS =
	"engine/build.sh --tests && engine/build.sh --sanitize --test maths_test --test work_test --test work_verdicts";
/** They run on a card alone; a deep run sees that they compile. */
const OF_CARDS = ["cpu_equals_cuda", "programs_equal_cuda", "proofs_equal_cuda", "bench", "work_bench", "proof_bench"];
// A crash must be a crash, not an exit code that a test could take for one of the engine's own. The search
// for leaks takes 4 s at each exit on arm64: it is done for two engines of the fuzzer, not for all.
const SANITIZERS = ["UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1", "ASAN_OPTIONS=abort_on_error=1:detect_leaks="];

/** `scale` multiplies the number of random cases: of each operator and type it is 10,000 in a deep run. */
export function engineTasks(cwd: string, scale: number, limitMs?: number): EngineTask[] {
	const isDeep = limitMs !== undefined;
	const ofCards = `engine/build.sh ${OF_CARDS.map((name) => `--test ${name}`).join(" ")}`;
	const built = `build/engine/linux-${process.arch}`;
	const checked = `${built}-sanitize`;
	// Of a real file system: direct I/O is tested there.
	const disk = (name: string): string => {
		mkdirSync(join(cwd, "build/engine/disk", name), { recursive: true });
		return `build/engine/disk/${name}`;
	};
	const cases = (count: number): string => String(Math.round(count * scale));
	const half = cases(isDeep ? 200 : 100);
	const program = (words: readonly string[], findsLeaks = false): EngineTask => ({
		name: `engine: ${words.join(" ").replaceAll("build/engine/", "")}`,
		command: ["env", SANITIZERS[0]!, `${SANITIZERS[1]}${findsLeaks ? 1 : 0}`, ...words],
		...{ after: TESTS_BUILD, reads: ENGINE_READS },
		says: /^\d+ passed, 0 failed$/m,
		...(ONLY_COMPUTES.test(words[0]!) ? { isPure: true, limitMs: BUILD_LIMIT_MS } : {}),
		...(limitMs === undefined ? {} : { limitMs }),
	});
	return [
		{
			...{ name: TESTS_BUILD, command: ["bash", "-c", isDeep ? `${BUILDS} && ${ofCards}` : BUILDS] },
			// Two builds at once would wait for each other.
			...{ isPure: true, limitMs: BUILD_LIMIT_MS, after: OTHER_BUILD, reads: ENGINE_READS },
		},
		program([`${built}/frame_fuzz`, `${checked}/assay-engine`, "1", "1000", "vectors"], true),
		program([`${built}/frame_fuzz`, `${checked}/assay-engine`, half, "1", "vectors"]),
		program([`${built}/frame_fuzz`, `${checked}/assay-engine`, half, String(Number(half) + 1), "vectors"]),
		program([`${built}/devices_test`, `${checked}/assay-engine`, disk("checked")]),
		program([`${built}/frames_test`, `${checked}/assay-engine`, "vectors"]),
		program([`${built}/devices_test`, `${built}/assay-engine`, disk("plain")]),
		program([`${built}/frames_test`, `${built}/assay-engine`, "vectors"]),
		program([`${built}/cpu_device_test`, "vectors", disk("cpu")]),
		program([`${built}/fuse_test`]),
		program([`${built}/map_ptx_test`]),
		// As built it does all of it in two seconds.
		program([`${checked}/maths_test`, "vectors", ...(isDeep ? [] : ["few"])]),
		program([`${checked}/work_test`, "vectors", cases(40)]),
		program([`${built}/maths_test`, "vectors"]),
		program([`${built}/work_test`, "vectors", cases(400)]),
	];
}
