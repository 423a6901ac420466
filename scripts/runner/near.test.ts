// Who depends on a changed file: on a small made-up tree, where each way to depend on one is seen, and on the
// real one, for files of every kind. A file that a test needs and that is not found here would be left out of
// `npm run test:near`, and would let an old result count.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { changedFiles, filesOf, nearTests } from "./near.ts";
import { SCENARIOS } from "./scenarios.ts";
import { createSourceGraph } from "./source-graph.ts";

const TREE: Readonly<Record<string, string>> = {
	"src/work/sum.ts": "export const sum = 1;",
	"src/work/sum.test.ts": 'import { sum } from "./sum.ts";',
	"src/work/shape.ts": "export interface Shape {}",
	"src/work/late.ts": 'import type { Shape } from "./shape.ts";\nexport { sum } from "./sum.ts";',
	"src/work/late.test.ts": 'const late = await import("./late.ts");',
	"src/work/alone.ts": 'import {\n\tsum,\n} from "./sum.ts";',
	"src/store/queue.ts":
		'threadFile("queue-thread", import.meta.url);\n// see "src/work/sum.ts"\nhint("docs/store.md");',
	"src/store/queue-thread.ts": "post(1);",
	"src/store/queue.test.ts": 'import "./queue.ts";',
	"src/engine/builds.ts": 'export const script = join(root, "engine", "build.sh");',
	"src/engine/builds.test.ts": 'import { script } from "./builds.ts";',
	"engine/build.sh": "cmake",
	"engine/src/main.cpp": "int main() {}",
	"vectors/sum.json": "[]",
	"vectors/unread.txt": "",
	"src/work/vectors.test.ts": ["read(`../../vectors/$", "{name}.json`);"].join(""),
	"docs/store.md": "# Store",
	"docs/faq.md": "# Questions",
	"tests/pages.test.ts":
		'readFileSync(join(root, "docs/store.md"));\nspawn("bash", ["-c", "node src/cli/main.ts --help"]);',
	"src/cli/main.ts": 'const commands = { up: () => import("./up.ts") };',
	"src/cli/up.ts": 'import { sum } from "../work/sum.ts";',
	"tests/web/whole.test.ts": 'import "../../src/cli/main.ts";\nimport "../../web/main.ts";',
	"web/main.ts": 'import "../src/work/sum.ts";',
	"scripts/house.test.ts": 'execFileSync("git", ["ls-files"]);',
	"scripts/floors.test.ts": 'for (const file of [...sources("src"), ...sources("web")]);',
	"scripts/light-tests.mjs": "",
	LICENSE: "",
};
const SCENES = { "tests/web/whole.test.ts": ["web/"] };
const GENERAL = "scripts/house.test.ts";

function near(...changed: string[]): string[] {
	const files = Object.keys(TREE);
	const graph = createSourceGraph(files, (file) => TREE[file]!);
	return [...nearTests({ files, graph }, changed, SCENES).keys()].filter((name) => name !== GENERAL).sort();
}
const FLOORS = "scripts/floors.test.ts";

test("a test is near what it imports, however far, also at run time; not what it has types of", () => {
	assert.deepEqual(near("src/work/sum.ts"), [
		...[FLOORS, "src/work/late.test.ts", "src/work/sum.test.ts", "tests/pages.test.ts"],
	]);
	assert.deepEqual(near("src/work/sum.test.ts"), [FLOORS, "src/work/sum.test.ts"]);
	assert.deepEqual(near("src/cli/up.ts"), [FLOORS, "tests/pages.test.ts"]);
});

test("a test is near what it names: files, folders, programs, threads, the engine", () => {
	assert.deepEqual(near("vectors/sum.json"), ["src/work/vectors.test.ts"]);
	assert.deepEqual(near("docs/store.md"), ["tests/pages.test.ts"], "not the product, which only points there");
	assert.deepEqual(near("src/store/queue-thread.ts"), [FLOORS, "src/store/queue.test.ts"]);
	assert.deepEqual(near("engine/src/main.cpp"), ["src/engine/builds.test.ts"]);
});

test("a scenario is near its own rooms, what only it sees, and itself", () => {
	assert.deepEqual(near("web/main.ts"), [FLOORS, "tests/web/whole.test.ts"]);
	assert.deepEqual(near("tests/web/whole.test.ts"), ["tests/web/whole.test.ts"]);
	const files = Object.keys(TREE);
	const graph = createSourceGraph(files, (file) => TREE[file]!);
	const whole = { "tests/pages.test.ts": [], "tests/web/whole.test.ts": [] };
	assert.ok(nearTests({ files, graph }, ["src/cli/up.ts"], whole).has("tests/pages.test.ts"), "nobody smaller");
	assert.ok(!nearTests({ files, graph }, ["src/work/sum.ts"], whole).has("tests/pages.test.ts"), "others see it");
});

test("what nobody names has its room's tests run, and those that look at everything", () => {
	assert.deepEqual(near("src/work/shape.ts"), [
		...[FLOORS, "src/work/late.test.ts", "src/work/sum.test.ts", "src/work/vectors.test.ts"],
	]);
	assert.deepEqual(near("LICENSE"), []);
	const files = Object.keys(TREE);
	const graph = createSourceGraph(files, (file) => TREE[file]!);
	for (const file of [...files, "src/gone.ts"]) assert.ok(nearTests({ files, graph }, [file], SCENES).has(GENERAL));
	assert.equal(near("scripts/light-tests.mjs").length, files.filter((file) => file.endsWith(".test.ts")).length - 1);
});

test("a deleted file is near whoever still imports it", () => {
	const { "src/work/sum.ts": _, ...rest } = TREE;
	const files = Object.keys(rest);
	const graph = createSourceGraph(files, (file) => TREE[file]!);
	assert.ok(nearTests({ files, graph }, ["src/work/sum.ts"], {}).has("src/work/sum.test.ts"));
});

test("what changed: committed on the branch, not committed, new, deleted; not what is ignored", () => {
	const cwd = mkdtempSync(join(tmpdir(), "assay-near-"));
	after(() => rmSync(cwd, { recursive: true }));
	const put = (file: string, text: string) => {
		mkdirSync(dirname(join(cwd, file)), { recursive: true });
		writeFileSync(join(cwd, file), text);
	};
	const git = (...args: string[]) =>
		execFileSync("git", ["-c", "user.name=n", "-c", "user.email=e@x", ...args], { cwd, stdio: "pipe" });
	git("init", "-q", "-b", "main");
	for (const name of ["same.ts", "committed.ts", "edited.ts", "staged.ts", "deleted.ts"]) put(`src/${name}`, "1");
	put(".gitignore", "build\n");
	git("add", ".");
	git("commit", "-qm", "one");
	git("checkout", "-qb", "branch");
	put("src/committed.ts", "2");
	git("commit", "-qam", "two");
	put("src/edited.ts", "2");
	put("src/staged.ts", "2");
	git("add", "src/staged.ts");
	rmSync(join(cwd, "src/deleted.ts"));
	put("src/a new one.ts", "1");
	put("build/made.ts", "1");
	const names = ["a new one", "committed", "deleted", "edited", "staged"].map((name) => `src/${name}.ts`);
	assert.deepEqual(changedFiles(cwd), names);
	assert.deepEqual(
		filesOf(cwd).filter((file) => !file.startsWith(".")),
		["src/a new one.ts", "src/committed.ts", "src/edited.ts", "src/same.ts", "src/staged.ts"],
	);
});

const root = fileURLToPath(new URL("../..", import.meta.url));

test("in this checkout: files of every kind are near the tests that need them", () => {
	const files = filesOf(root);
	const graph = createSourceGraph(files, (file) => readFileSync(join(root, file), "utf8"));
	const nearOf = (file: string) => nearTests({ files, graph }, [file], SCENARIOS);
	for (const [file, ...needed] of [
		[
			"src/protocol/hash/sha256-program.ts",
			"src/protocol/hash/sha256-program.test.ts",
			"src/verify/hardware/tamper.test.ts",
		],
		["src/protocol/codes.ts", "src/protocol/codes.test.ts", "tests/cli/provide.test.ts"],
		["src/cli/main.ts", "tests/cli/provide.test.ts", "tests/cli/cli.test.ts"],
		["src/validator/probing/verifier-thread.ts", "src/validator/probing/verifier-pool.test.ts"],
		["src/chain/abi/creation-code.ts", "contracts/test/registry.test.ts", "contracts/test/solidity.test.ts"],
		["contracts/src/stake/Registry.sol", "contracts/test/solidity.test.ts"],
		["contracts/gas.json", "contracts/test/zk-gas.test.ts"],
		["engine/src/main.cpp", "tests/engine-probe.test.ts", "src/engine/builds.test.ts"],
		["engine/FRAMES.md", "src/engine/wire/frames.test.ts"],
		["vectors/h200.assay", "vectors/h200.test.ts", "src/validator/audit/audit-evidence.test.ts"],
		["vectors/frames.json", "src/engine/wire/frames.test.ts"],
		["docs/codes.md", "src/protocol/codes.test.ts"],
		["docs/api.md", "src/api/openapi.test.ts"],
		["docs/owner.md", "tests/walks/owner.test.ts"],
		["README.md", "scripts/readme.test.ts", "tests/walks/readme.test.ts"],
		["samples/cnn.json", "src/work/workloads/spec-of-workload.test.ts"],
		["examples/jobs/README.md", "tests/job-examples.test.ts"],
		["web/main.tsx", "tests/web/dashboard.test.ts", "tests/web/first-page.test.ts"],
		["web/parts/windowed-table.tsx", "tests/web/dashboard.test.ts", "tests/web/first-page.test.ts"],
		["scripts/setup.sh", "scripts/setup.test.ts"],
		["tests/toy/cheats.ts", "tests/cheaters.test.ts"],
	] as const) {
		const found = nearOf(file);
		assert.ok(files.includes(file), `${file} is no file any more`);
		for (const name of needed) assert.ok(found.has(name), `${file}: ${name}`);
	}
	for (const scenario of Object.keys(SCENARIOS)) {
		assert.ok(nearOf(scenario).has(scenario), scenario);
		for (const room of SCENARIOS[scenario]!) {
			const inside = files.filter((file) => file.startsWith(room));
			assert.ok(inside.length > 0, `${scenario}: there is no ${room} any more`);
			assert.ok(
				inside.some((file) => nearOf(file).has(scenario)),
				`${scenario} depends on nothing in ${room}`,
			);
		}
	}
});
