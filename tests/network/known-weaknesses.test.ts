// What is known to be wrong with the systems before this one (the SN27 validator above all), each as a test:
// here, or where it belongs. The list at the end names the others' files and titles, and fails when one of
// them is gone.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { decodeMessage } from "../../src/engine/agent/agent-messages.ts";
import { parseClaim } from "../../src/protocol/probe/claim-codec.ts";
import type { GemmSpec } from "../../src/protocol/probe/evidence.ts";
import { verifyEvidence } from "../../src/verify/hardware/verify.ts";
import { outcomeOf, probeToy, type ToyProbe } from "../toy/probe-toy.ts";
import { toyClaim } from "../toy/toy-claim.ts";
import type { Cheat } from "../toy/toy-engine.ts";
import {
	createToyLink,
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
	toyClaimOf,
} from "../validator/toy-agent.test-kit.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const PRODUCT: GemmSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 128,
	n: 512,
	k: 128,
	rounds: 1,
	keep: 1,
	samples: 32,
};
const onCards = (gpus: number): ToyProbe => ({
	gpus,
	cpus: 0,
	stages: [Array.from({ length: gpus }, (_, device) => ({ ...PRODUCT, device }))],
});

// SN27: 4 GPUs pass with 3 right, more than 4 with 75 %.
test("one wrong card of four, or of eight, and nothing is proven", async () => {
	for (const gpus of [4, 8]) {
		const probeWith = (cheat: Cheat) =>
			probeToy({ ...onCards(gpus), more: { openLink: async () => createToyLink(toyClaim(gpus, 0), cheat) } });
		const last: Cheat = {
			bytes: (ask, _seed, _round, honest) => (ask.device === gpus - 1 ? honest().fill(7) : honest()),
		};
		assert.equal(outcomeOf(await probeWith(last)), "invalid ELEMENT_WRONG", `${gpus} cards`);
		assert.equal(outcomeOf(await probeWith({})), "valid");
	}
});

// SN27: the number of GPUs and the proofs have nothing to do with each other.
test("a card that is claimed and not asked has no figure; two claims of one UUID are a lie", async () => {
	const claim = toyClaim(8, 0);
	const one = await probeToy({ ...onCards(1), more: { openLink: async () => createToyLink(claim) } });
	assert.equal(one.verdict.status, "valid");
	assert.deepEqual(
		one.verdict.status === "valid" && [...new Set(one.verdict.figures.map(({ device }) => device))],
		[0],
	);
	const copied = { ...claim, devices: claim.devices.map((device) => ({ ...device, uuid: "GPU-one" })) };
	const same = await probeToy({ ...onCards(1), more: { openLink: async () => createToyLink(copied) } });
	assert.equal(outcomeOf(same), "invalid DEVICE_REPEATED");
});

// SN27: n comes from the miner.
test("what size is asked is the validator's; a host that answers another one is refused, one that names one is not heard", async () => {
	assert.equal(outcomeOf(await probeToy({ ...onCards(1), cheat: "smaller-n" })), "invalid PATH_LENGTH");
	const said = parseClaim(JSON.stringify({ ...toyClaim(1), n: 64, matrix: { n: 64 } }));
	assert.ok(said.ok && !("n" in said.claim) && !("matrix" in said.claim));
	const { verdict, evidence } = await probeToy(onCards(1));
	assert.equal(verdict.status, "valid");
	assert.ok(evidence);
});

// SN27: np.load(allow_pickle=True) on the miner's file.
test("nothing that a provider sends is ever run: no evaluator and no deserialiser of code in the whole product", async () => {
	const forbidden =
		/\beval\s*\(|new Function\s*\(|from\s*["'](node:)?(vm|v8)["']|\bdeserialize\s*\(|\bimport\s*\(\s*[^"')\s]/;
	const sources = readdirSync(`${root}src`, { recursive: true, encoding: "utf8" }).filter(
		(name) => name.endsWith(".ts") && !/\.test(-kit)?\.ts$/.test(name),
	);
	assert.ok(sources.length > 100);
	const found = sources.filter((name) => {
		const code = readFileSync(`${root}src/${name}`, "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
		return forbidden.test(code);
	});
	assert.deepEqual(found, []);
	for (const text of ["eval(x)", 'import vm from "node:vm"', "import(name)", "v8.deserialize(bytes)"])
		assert.ok(forbidden.test(text), `${text} would be found`);
});

test("a pickle, a script and a poisoned object are refused as what they are", () => {
	const pickle = Buffer.from("\x80\x04cposix\nsystem\n(S'touch /tmp/owned'\ntR.", "latin1");
	assert.equal(outcomeOf({ verdict: verifyEvidence(pickle) }), "invalid FILE_NOT_EVIDENCE");
	const poison = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}';
	assert.equal(parseClaim(poison).ok, false);
	assert.throws(() => decodeMessage("provider", poison), { code: "AGENT_MESSAGE_BAD" });
	assert.equal(({} as { polluted?: number }).polluted, undefined);
});

const data = makeDataDir();
let validator: ToyValidator;
before(async () => {
	validator = await startToyValidator({ dataDir: data.path });
});
after(async () => {
	await validator?.stop();
	await data.remove();
});

// SN27: rental listings use self-reported specs.
test("a host that calls itself an H200 is not found by whoever looks for one", async () => {
	const named = toyClaimOf("GPU-boast");
	const claim = {
		...named,
		devices: named.devices.map((device) => ({
			...device,
			name: "NVIDIA H200",
			memoryBytes: 150_000_000_000,
			units: 132,
		})),
	};
	const boaster = await startToyAgent({
		url: validator.url,
		signer: signerOf(201),
		claim,
		name: "8x H200",
		rentable: true,
	});
	const honest = await startToyAgent({ url: validator.url, signer: signerOf(202), rentable: true });
	try {
		const { client } = validator;
		const settled = async (id: string) => {
			const shown = await client.getProvider({ params: { id } }).catch(() => null);
			return shown?.lastVerdict ? shown : null;
		};
		const boast = await eventually(() => settled(boaster.id));
		await eventually(() => settled(honest.id));
		// Its figures are a toy's: either they contradict the name, or they prove no such card; in no case is it
		// listed as one.
		assert.notEqual(boast.model, "H200");
		for (const query of [{ model: "H200" }, { minMemoryBytes: 100_000_000_000 }, { minFp16OpsPerS: 1_000_000_000_000 }])
			assert.deepEqual((await client.listOffers({ query })).rows, [], JSON.stringify(query));
		const { rows } = await client.listOffers({ query: {} });
		assert.ok(
			rows.some(({ providerId }) => providerId === honest.id),
			"the twin: who has proven something is listed",
		);
		for (const row of rows) assert.notEqual(row.model, "H200");
	} finally {
		await boaster.close();
		await honest.close();
	}
});

/** Where the other weaknesses are tested: file, and words of the test's title. */
const ELSEWHERE: readonly (readonly [weakness: string, file: string, title: string])[] = [
	["matrices that a CPU can extend along the diagonal", "tests/diagonal-shortcut.test.ts", "test("],
	["tolerances: answers in a narrower precision pass", "tests/cheaters.test.ts", "precision-int8"],
	["an empty list of answers passes", "tests/cheaters.test.ts", "empty-openings"],
	["one silent miner hangs the validator", "tests/validator/hostile.test.ts", "silent hosts, an honest one is probed"],
	["one silent miner hangs the validator", "tests/network/disturbers.test.ts", "still hold their places"],
	["one card passes as several", "tests/cheaters.test.ts", "one-card-as-two"],
	["one card passes as several providers'", "tests/validator/together.test.ts", "one card behind two providers"],
	[
		"claimed cards are paid for",
		"src/market/scores/score-provider.test.ts",
		"devices without figures are worth nothing",
	],
	["cards that figures cannot tell apart", "src/market/scores/score-provider.test.ts", "SN27 cannot tell these apart"],
	["a card is worth more as cheaper ones", "src/market/scores/posing.test.ts", "posing as any mix of up to 8 profiles"],
	["listings of claimed specs", "src/store/tables.test.ts", "a search by proven figures finds exactly those"],
	["validators test at random times and collide", "tests/store/processes.test.ts", "each provider is probed once"],
	["22 retries, every 60 s", "src/market/schedule/schedule.test.ts", "SN27 tries 22 times"],
	["the message bus is public", "src/engine/agent/agent-seal.test.ts", "do not open"],
	["no test of the proof", "src/verify/hardware/tamper.test.ts", "test("],
];

test("every other known weakness has its test", () => {
	for (const [weakness, file, title] of ELSEWHERE) {
		assert.ok(existsSync(root + file), `${weakness}: ${file} is gone`);
		assert.ok(readFileSync(root + file, "utf8").includes(title), `${weakness}: ${file} has no "${title}"`);
	}
});
