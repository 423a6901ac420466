// docs/operator.md by its commands as they are written: a validator on a database of its own and a bucket, a second process with no disk in common that
// reads and verifies what the first one wrote, a backup. And deploy/: alerts name metrics that exist, commands have options that exist.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { type CommandName, loaders } from "../../src/cli/commands.ts";
import { parseOptions } from "../../src/cli/options.ts";
import { KEYS, startToyS3, type ToyS3 } from "../../src/store/bucket/toy-s3.test-kit.ts";
import { copyCluster } from "../../src/store/postgres/cluster.test-kit.ts";
import { ensureEmbeddedServer, stopEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import { debianBinaries } from "../../src/store/postgres/postgres-binaries.ts";
import { urlOf } from "../../src/store/postgres/servers.test-kit.ts";
import { verifyEvidence } from "../../src/verify/hardware/verify.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { createWalk, makeUserFolder, mustSucceed, root, stepsOf } from "./walk.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-operator-"));
const [folder, home, server] = ["user", "home", "server"].map((name) => join(scratch, name)) as [
	string,
	string,
	string,
];
let bucket: ToyS3;
let walk: ReturnType<typeof createWalk>;
before(async () => {
	mkdirSync(home);
	makeUserFolder(folder);
	const binaries = await debianBinaries();
	assert.ok(binaries !== null, "this test needs Debian's PostgreSQL: apt-get install postgresql");
	await copyCluster(server, { durable: false, binaries });
	const databaseUrl = urlOf(await ensureEmbeddedServer({ folder: server, binaries }));
	bucket = await startToyS3();
	walk = createWalk(folder, {
		...{ PATH: `${binaries}${delimiter}${process.env.PATH}`, HOME: home, ASSAY_HOME: home, NO_COLOR: "1" },
		...{ DATABASE_URL: databaseUrl, BUCKET: bucket.url },
		...{ AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey },
	});
});
after(async () => {
	await walk?.end();
	await bucket?.close();
	await stopEmbeddedServer(server);
	rmSync(scratch, { recursive: true, force: true });
});

const filesBelow = (path: string): string[] =>
	existsSync(path)
		? readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((one) => (one.isFile() ? [one.name] : []))
		: [];

test("docs/operator.md: two machines, one bucket, a backup", async () => {
	const steps = stepsOf("docs/operator.md");
	assert.equal(steps.length, 6);
	const [first, copy, second, list, dump, pack] = steps as [(typeof steps)[0], ...typeof steps];
	await walk.run(first);
	await eventually(async () => /assay validator http:\/\/127\.0\.0\.1:7373/.test(walk.said()));
	const provide = "npx assay provide --validator http://127.0.0.1:7373 --data gpu --name gpu-host";
	await walk.run({ command: provide, isLeftRunning: true, shown: [] });

	mustSucceed(copy!, await walk.run(copy!));
	await walk.run(second!);
	await eventually(async () => /assay validator http:\/\/127\.0\.0\.1:7374/.test(walk.said()));
	const [one, two] = [7373, 7374].map((port) => createApiClient({ baseUrl: `http://127.0.0.1:${port}`, retries: 0 }));
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

	// The rules of deploy/ are about metrics that this validator has.
	const metrics = await (await fetch("http://127.0.0.1:7373/metrics")).text();
	const rules = readFileSync(join(root, "deploy/prometheus-alerts.yml"), "utf8");
	const named = [...new Set(rules.match(/\bassay_\w+/g))];
	assert.ok(named.length >= 6);
	for (const name of named) assert.ok(metrics.includes(`\n# TYPE ${name.replace(/_bucket$/, "")} `), name);
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
