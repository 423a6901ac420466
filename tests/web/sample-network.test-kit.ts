// A network to look at: forty hosts with sample rows in the range of their cards' data sheets, and two with
// the evidence of vectors/ (an H200, and one under sustained load), verified, counted and scored by the
// validator itself. For scripts/screenshots.ts and for looking at pages by hand.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { FMA_PRECISIONS } from "../../src/protocol/maths/precision.ts";
import type { Figure } from "../../src/protocol/probe/evidence.ts";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import type { FinishProbe } from "../../src/store/probe-finish.ts";
import { figure, finishOf, gpu, idOf, memory, register } from "../../src/store/sample-rows.test-kit.ts";
import { profilesNamed } from "../../src/verify/hardware/identify/profiles.ts";
import { verifyEvidence } from "../../src/verify/hardware/verify.ts";
import type { ToyValidator } from "../validator/toy-agent.test-kit.ts";
import { partOfH200 } from "./changed-h200.test-kit.ts";
import { countFile } from "./count-file.test-kit.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const HOUR = 3_600_000;
const CARDS = [
	"H100 80GB HBM3",
	"A100-SXM4-80GB",
	"GeForce RTX 4090",
	"L40S",
	"GeForce RTX 5090",
	"H200",
	"RTX A6000",
	"B200",
];

async function putProbe(
	validator: ToyValidator,
	id: string,
	probeId: string,
	bytes: Uint8Array,
	finish: Partial<FinishProbe>,
	startedAtMs: number,
) {
	const { store } = validator;
	await store.leases.acquire(`provider/${id}`);
	await store.probes.begin({ id: probeId, providerId: id, validator: validator.key, startedAtMs });
	const evidence = await store.evidence.put(probeId, bytes);
	await store.probes.finish(finishOf(probeId, { evidence, finishedAtMs: startedAtMs + 11_700, ...finish }));
	await store.leases.release(`provider/${id}`);
}

const isScalar = (precision: string) => (FMA_PRECISIONS as readonly string[]).includes(precision);

function figuresOf(name: string, count: number, share: number): Figure[] {
	const [profile] = profilesNamed(name);
	if (profile === undefined) throw new Error(`no profile ${name}`);
	return Array.from({ length: count }, (_, device) => [
		...Object.entries(profile.rates).map(([precision, rate]) =>
			figure(
				device,
				`${isScalar(precision) ? "fma" : "gemm"}.${precision}`,
				Math.floor(rate * (isScalar(precision) ? 0.9 : 0.66) * share),
			),
		),
		figure(device, "memory.resident", Math.floor(profile.memoryBytes * 0.95), "B"),
		figure(device, "memory.bandwidth", Math.floor(profile.bytesPerS * 0.87 * share), "B/s"),
	]).flat();
}

/**
 * Verdicts of hosts that fail, by how a list of them would look: two cheats, a late one, a name that does not
 * fit, one that hung up.
 */
const FAILURES = [
	["invalid", "ELEMENT_WRONG", "challenges[0].opens[0].record[2]", "row 31 of round 1: 418 is claimed, 522 is right"],
	[
		"invalid",
		"CARD_CONTRADICTED",
		"claim.devices[0].name",
		"not a H100 80GB HBM3: int8 and bandwidth are those of a lesser card",
	],
	["inconclusive", "CHALLENGE_SILENT", "challenges[3]", "nothing came for 30 s"],
	["invalid", "ROOT_MISMATCH", "challenges[1].opens[0].record[0]", "the leaf leads to another root"],
	["invalid", "STREAM_LATE", "challenges[2]", "1.9 s where 0.4 s are allowed"],
] as const;
const PLACES = ["fra", "ams", "osl", "iad", "sjc"];

export interface SampleNetwork {
	readonly provider: string;
	/** Of it, verified and counted. */
	readonly probe: string;
	/** Of which less is proven. */
	readonly other: string;
	readonly eight: string;
	/** Of a cheat. */
	readonly invalidProbe: string;
	readonly cheat: string;
	/** Its last probe proved nothing, either way. */
	readonly silent: string;
	readonly rollCall: number;
}

export async function fillNetwork(validator: ToyValidator): Promise<SampleNetwork> {
	const nowMs = Date.now();
	const hosts: string[] = [];
	for (let n = 0; n < 40; n++) hosts.push(await addHost(validator, n, nowMs));
	const rollCall = await addRollCalls(validator, hosts, nowMs);
	const { providerId, probeId } = await addMeasured(validator, nowMs);
	const offer = { link: "agent", target: "", nowMs: nowMs - 90 * HOUR, pricePerHourMicros: 2_900_000 } as const;
	const name = "h200-oslo";
	const file = { file: partOfH200(), name, providerId: await register(validator.store, name, offer) };
	const other = await countFile(validator, file);
	// There nearly since they were registered.
	for (const id of [providerId, other.providerId])
		for (const atMs of [nowMs - 297 * HOUR, nowMs]) await validator.store.connections.connect(id, { nowMs: atMs });
	return {
		provider: providerId,
		probe: probeId,
		other: other.providerId,
		eight: hosts[0]!,
		invalidProbe: idOf("probe 6", 32),
		...{ cheat: hosts[6]!, silent: hosts[20]! },
		rollCall,
	};
}

/** Every seventh fails. */
async function addHost(validator: ToyValidator, n: number, nowMs: number): Promise<string> {
	const card = CARDS[(n * 5) % CARDS.length]!;
	const count = [8, 1, 4, 2, 8][n % 5]!;
	// One has a name that no list has room for.
	const more = n === 38 ? "-with-a-name-that-is-longer-than-any-list-has-room-for-it" : "";
	const name = `gpu-${PLACES[n % PLACES.length]}-${String(n + 1).padStart(2, "0")}${more}`;
	const id = await register(validator.store, name, {
		link: "agent",
		target: "",
		nowMs: nowMs - 40 * HOUR,
		pricePerHourMicros: count * (400_000 + ((n * 733) % 23) * 100_000),
	});
	const devices = Array.from({ length: count }, (_, device) =>
		gpu(device, {
			claimedName: `NVIDIA ${card}`,
			uuid: `GPU-${n}-${device}`,
			profile: card,
			memoryBytes: profilesNamed(card)[0]!.memoryBytes,
		}),
	);
	const provider = {
		...{ nextProbeAtMs: nowMs + HOUR, failures: 0, retries: 0, reliabilityPpm: 930_000, memory: memory() },
		answeredPpm: 1_000_000 - ((n * 7919) % 60_000),
	};
	const proven = (share: number) => ({ provider, devices, figures: figuresOf(card, count, share) });
	// Earlier in the day, more by day than by night.
	for (let k = 0; k < 5; k++) {
		const hour = Math.floor(Math.abs(Math.sin(n * 5 + k)) * 22) + 1;
		const share = 0.98 - ((n + k) % 5) * 0.01;
		const bytes = Buffer.from(`sample ${n} ${k}`);
		await putProbe(validator, id, idOf(`probe ${n} ${k}`, 32), bytes, proven(share), nowMs - hour * HOUR);
	}
	const failure = n % 7 === 6 ? FAILURES[Math.floor(n / 7) % FAILURES.length] : undefined;
	const [status, code, where, detail] = failure ?? ["valid", null, null, null];
	const ended =
		failure === undefined
			? proven(1 - (n % 7) * 0.01)
			: { provider, devices: [], figures: [], verdict: { status, code, where, detail } as FinishProbe["verdict"] };
	const bytes = Buffer.from(`sample ${n}`);
	await putProbe(validator, id, idOf(`probe ${n}`, 32), bytes, ended, nowMs - n * 97_000 - 30_000);
	const scorePpm = failure === undefined ? Math.floor((880_000 * count * (1 - n / 80)) / 8) : 0;
	const root = { name: "score", value: scorePpm, unit: "ppm", rule: "given", from: ["sample"] };
	const why = failure === undefined ? "" : "the last probe was not valid";
	const terms = { version: 1, providerId: id, mode: "holistic", evidence: null, scorePpm, why, root };
	await validator.store.scores.put([{ providerId: id, atMs: nowMs, scorePpm, mode: "holistic", terms }]);
	const connectedAt = [nowMs - 40 * HOUR + ((n * 7919) % 144) * 60_000, nowMs];
	if (n % 9 !== 4) for (const atMs of connectedAt) await validator.store.connections.connect(id, { nowMs: atMs });
	return id;
}

/** The H200 of vectors/, and a day and a half of figures near its own. */
async function addMeasured(validator: ToyValidator, nowMs: number) {
	const bytes = readFileSync(join(root, "vectors/h200.assay"));
	const [verdict, decoded] = [verifyEvidence(bytes), decodeEvidence(bytes)];
	if (verdict.status !== "valid" || !decoded.ok) throw new Error("the sample evidence is not valid");
	const { claim } = decoded.evidence.envelope.body;
	const offer = { name: "h200-frankfurt", pricePerHourMicros: 3_200_000 };
	const away = { link: "agent", target: "", nowMs: nowMs - 300 * HOUR } as const;
	const providerId = await register(validator.store, offer.name, { ...offer, ...away });
	const devices = claim.devices.map((device, i) => ({
		device: i,
		kind: device.kind,
		claimedName: device.name,
		uuid: device.uuid,
		memoryBytes: device.memoryBytes,
		profile: verdict.identity.find((one) => one.device === i)?.profile ?? null,
		identity: verdict.identity.find((one) => one.device === i)?.state ?? "unjudged",
	}));
	const schedule = { nextProbeAtMs: nowMs + HOUR, failures: 0, retries: 0, memory: memory() };
	const provider = { ...schedule, reliabilityPpm: 930_000, answeredPpm: 985_000 };
	for (let n = 24; n > 0; n--) {
		const scale = 0.985 + ((n * 37) % 17) / 1000;
		const figures = verdict.figures.map((one) => ({ ...one, value: Math.floor(one.value * scale) }));
		const finish = { figures, devices, claim, provider };
		const own = Buffer.from(`h200 ${n}`);
		await putProbe(validator, providerId, idOf(`h200 ${n}`, 32), own, finish, nowMs - n * 1.25 * HOUR);
	}
	return countFile(validator, { ...offer, file: "h200.assay", providerId });
}

/** Three of them; gives the last one's block. */
async function addRollCalls({ store }: ToyValidator, hosts: readonly string[], nowMs: number): Promise<number> {
	const nothing = { code: null, paidPpm: null, ms: null, leaf: null, reply: null, files: [], megaOps: 0, bytes: 0 };
	const calls = [12, 7, 2].map((hoursAgo, i) => ({ call: 4100 + i, atMs: nowMs - hoursAgo * HOUR }));
	for (const { call, atMs } of calls) {
		const id = { chainId: 1, contract: `0x${idOf("roll call", 40)}`, call };
		const b0AtS = Math.floor(atMs / 1000);
		const called = { beta0: idOf(call), calledAtMs: atMs, deadlineMs: 24_000, b0AtS };
		await store.rollCalls.open({ ...id, ...called });
		const root = { b1: call + 2, b1AtS: b0AtS + 24, root: idOf(`root ${call}`), leaves: 12 };
		await store.rollCalls.commit(id, { ...root, transaction: `0x${idOf(`t ${call}`)}` });
		await store.rollCalls.finish(id, {
			...{ b2: call + 4, b2AtS: b0AtS + 48, beta2: idOf(`b2 ${call}`), nowMs: atMs + 60_000 },
			answers: hosts.slice(0, 14).map((providerId, n) =>
				n % 7 === 6
					? { ...nothing, providerId, state: "absent", code: "PROVIDER_BUSY" }
					: {
							...{ ...nothing, providerId, state: "answered", ms: 9000 + n * 731, megaOps: 2.4e10, bytes: 129e9 },
							files: [{ device: 0, sha256: idOf(`file ${call} ${n}`), bytes: 129e9 }],
						},
			),
		});
	}
	return calls.at(-1)!.call;
}
