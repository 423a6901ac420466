// docs/operator.md by its commands as they are written: a validator on a database of its own and a bucket, a
// second process with no disk in common that reads and verifies what the first one wrote, a backup. And
// deploy/: alerts name metrics that exist, commands have options that exist.
import assert from "node:assert/strict";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { type CommandName, loaders } from "../../src/cli/commands.ts";
import { readConfigFile, valuesOf } from "../../src/cli/config/config-file.ts";
import { parseOptions } from "../../src/cli/options.ts";
import { KEYS, startToyS3, type ToyS3 } from "../../src/store/bucket/toy-s3.test-kit.ts";
import { copyCluster } from "../../src/store/postgres/cluster.test-kit.ts";
import { ensureEmbeddedServer, stopEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { debianBinaries } from "../../src/store/postgres/postgres-binaries.ts";
import { urlOf } from "../../src/store/postgres/servers.test-kit.ts";
import { verifyEvidence } from "../../src/verify/hardware/verify.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { createWalk, makeUserFolder, mustSucceed, root, type Step, stepsOf } from "./walk.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-operator-"));
const [folder, home, server, newServer] = ["user", "home", "server", "new-server"].map((name) =>
	join(scratch, name),
) as [string, string, string, string];
let bucket: ToyS3;
let walk: ReturnType<typeof createWalk>;
before(async () => {
	mkdirSync(home);
	makeUserFolder(folder);
	const binaries = await debianBinaries();
	assert.ok(binaries !== null, "this test needs Debian's PostgreSQL: apt-get install postgresql");
	const startServer = async (at: string) => {
		await copyCluster(at, { durable: false, binaries });
		return urlOf(await ensureEmbeddedServer({ folder: at, binaries }));
	};
	bucket = await startToyS3();
	walk = createWalk(folder, {
		...{ PATH: `${binaries}${delimiter}${process.env.PATH}`, HOME: home, ASSAY_HOME: home, NO_COLOR: "1" },
		...{ DATABASE_URL: await startServer(server), NEW_DATABASE_URL: await startServer(newServer), BUCKET: bucket.url },
		...{ AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey },
	});
});
after(async () => {
	await walk?.end();
	await bucket?.close();
	for (const one of [server, newServer]) await stopEmbeddedServer(one);
	rmSync(scratch, { recursive: true, force: true });
});

const filesBelow = (path: string): string[] =>
	existsSync(path)
		? readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((one) => (one.isFile() ? [one.name] : []))
		: [];

/** In place of 127.0.0.1: the page's ports may be somebody's, and on an address of our own they are free. */
const HOST = `127.73.${(process.pid >> 8) & 255}.${process.pid & 255 || 1}`;

/**
 * The backup in another database and another folder: the same validator, its providers, its probes and their
 * evidence.
 */
async function walkBack(steps: readonly Step[], probeId: string, evidence: Uint8Array): Promise<void> {
	const [load, unpack, start, list] = steps as [Step, Step, Step, Step];
	for (const step of [load, unpack]) mustSucceed(step, await walk.run(step));
	await walk.run(start);
	await eventually(async () => walk.said().includes(`assay validator http://${HOST}:7375`));
	const listed = await walk.run(list);
	mustSucceed(list, listed);
	assert.match(listed.out, /gpu-host/);
	const [before, restored] = [7373, 7375].map((port) => createApiClient({ baseUrl: `http://${HOST}:${port}` }));
	assert.equal((await restored!.network()).validator.key, (await before!.network()).validator.key);
	assert.equal((await restored!.getProbe({ params: { id: probeId } })).verdict, "valid");
	assert.deepEqual(await restored!.getProbeEvidence({ params: { id: probeId } }), evidence);
}

test("docs/operator.md: two machines, one bucket, a backup and what is restored from it", async () => {
	const steps = stepsOf("docs/operator.md").map((step) => ({
		...step,
		command: step.command.replaceAll("127.0.0.1", HOST),
	}));
	assert.equal(steps.length, 12);
	const [first, example, check, copy, second, list, dump, pack, ...restore] = steps as [Step, ...Step[]];
	await walk.run(first);
	await eventually(async () => walk.said().includes(`assay validator http://${HOST}:7373`));
	const provide = `npx assay provide --validator http://${HOST}:7373 --data gpu --name gpu-host`;
	await walk.run({ command: provide, isLeftRunning: true, shown: [] });

	for (const step of [example!, check!, copy!]) mustSucceed(step, await walk.run(step));
	await walk.run(second!);
	await eventually(async () => walk.said().includes(`assay validator http://${HOST}:7374`));
	const [one, two] = [7373, 7374].map((port) => createApiClient({ baseUrl: `http://${HOST}:${port}`, retries: 0 }));
	assert.equal((await one!.network()).validator.key, (await two!.network()).validator.key);

	const probe = await eventually(async () =>
		(await two!.listProbes({ query: { limit: 1 } })).rows.find(({ verdict }) => verdict === "valid"),
	);
	const evidence = await two!.getProbeEvidence({ params: { id: probe.id } });
	assert.equal(verifyEvidence(evidence).status, "valid");
	// It came by the bucket: neither disk has it.
	assert.deepEqual(
		["validator", "validator-2"].map((name) => filesBelow(join(folder, name, "evidence"))),
		[[], []],
	);
	assert.ok([...bucket.objects.keys()].some((name) => name.endsWith(probe.evidenceSha256!.slice(2))));
	const listed = await walk.run(list!);
	mustSucceed(list!, listed);
	assert.match(listed.out, /gpu-host/);

	mustSucceed(dump!, await walk.run(dump!));
	mustSucceed(pack!, await walk.run(pack!));
	assert.ok(statSync(join(folder, "assay.dump")).size > 10_000);
	await walkBack(restore, probe.id, evidence);

	// Rules and board of deploy/ are about metrics that this validator has.
	const metrics = await (await fetch(`http://${HOST}:7373/metrics`)).text();
	for (const [file, least] of [
		["deploy/prometheus-alerts.yml", 6],
		["deploy/grafana-board.json", 15],
	] as const) {
		const named = [...new Set(readFileSync(join(root, file), "utf8").match(/\bassay_\w+/g))];
		assert.ok(named.length >= least, `${file}: ${named.length}`);
		for (const name of named)
			assert.ok(metrics.includes(`\n# TYPE ${name.replace(/_bucket$/, "")} `), `${file}: ${name}`);
	}
	assert.match(metrics, /^assay_provider_score\{provider="[0-9a-f]{64}"\} /m);
});

test("the sample of a config file is a good one", async () => {
	const [, sample] = /^```toml\n([\s\S]*?)^```/m.exec(readFileSync(join(root, "docs/operator.md"), "utf8"))!;
	writeFileSync(join(scratch, "sample.toml"), sample!);
	const file = readConfigFile(join(scratch, "sample.toml"), Object.keys(loaders));
	assert.deepEqual(file.sections, ["validate"]);
	assert.deepEqual([...file.mistakes, ...valuesOf(file, await loaders.validate()).mistakes], []);
});

test("the board: its panels have places of their own, queries and a data source that is asked for", () => {
	const board = JSON.parse(readFileSync(join(root, "deploy/grafana-board.json"), "utf8"));
	assert.deepEqual(
		board.templating.list.map(({ name }: { name: string }) => name),
		["datasource", "provider"],
	);
	const taken = new Set<string>();
	for (const { id, targets, datasource, gridPos: at } of board.panels) {
		assert.ok(targets.length > 0 && targets.every(({ expr }: { expr: string }) => expr !== ""), String(id));
		assert.equal(datasource.uid, ["$", "{datasource}"].join(""));
		for (let x = at.x; x < at.x + at.w; x++)
			for (let y = at.y; y < at.y + at.h; y++) {
				assert.ok(x < 24 && !taken.has(`${x} ${y}`), `panel ${id} lies on another`);
				taken.add(`${x} ${y}`);
			}
	}
});

test("deploy/: commands of the container and of compose are ones that exist, with options that exist", async () => {
	const lines = ["deploy/Dockerfile", "deploy/compose.yml"].flatMap((file) =>
		[...readFileSync(join(root, file), "utf8").matchAll(/^(?:CMD|\s*command:) (\[.*\])$/gm)].map(
			([, list]) => JSON.parse(list!) as string[],
		),
	);
	assert.equal(lines.length, 2);
	for (const [name, ...args] of lines) {
		const { options } = await loaders[name as CommandName]();
		assert.deepEqual(parseOptions(options, args).positionals, []);
	}
});
