// Pictures of the dashboard for the README: docs/images/*.png. A real validator with its embedded chain, and a real Chromium. Two providers have the evidence of
// vectors/ (an H200, and one under sustained load), verified, counted and scored by the validator itself; the earlier figures of the first and all other hosts
// are sample rows in the range of their cards' data sheets. Disputes are dispute-screenshots.ts.
//   node scripts/screenshots.ts
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import type { Figure } from "../src/protocol/probe/evidence.ts";
import { decodeEvidence } from "../src/protocol/probe/evidence-codec.ts";
import type { FinishProbe } from "../src/store/probe-finish.ts";
import { figure, finishOf, gpu, idOf, memory, register } from "../src/store/sample-rows.test-kit.ts";
import { profilesNamed } from "../src/verify/hardware/identify/profiles.ts";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { makeDataDir, startToyValidator, type ToyValidator } from "../tests/validator/toy-agent.test-kit.ts";
import { startBrowser } from "../tests/web/browser.test-kit.ts";
import { countFile } from "../tests/web/count-file.test-kit.ts";
import { ensureBuilt } from "./build-web.ts";
import { shootDispute } from "./dispute-screenshots.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const out = join(root, "docs/images");
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

function figuresOf(name: string, count: number, share: number): Figure[] {
	const [profile] = profilesNamed(name);
	if (profile === undefined) throw new Error(`no profile ${name}`);
	return Array.from({ length: count }, (_, device) => [
		...Object.entries(profile.rates).map(([precision, rate]) =>
			figure(
				device,
				`${["fp32", "fp64", "int32"].includes(precision) ? "fma" : "gemm"}.${precision}`,
				Math.floor(rate * 0.66 * share),
			),
		),
		figure(device, "memory.resident", Math.floor(profile.memoryBytes * 0.95), "B"),
		figure(device, "memory.bandwidth", Math.floor(profile.bytesPerS * 0.87 * share), "B/s"),
	]).flat();
}

async function fill(validator: ToyValidator): Promise<{ provider: string; probe: string }> {
	const nowMs = Date.now();
	const schedule = {
		nextProbeAtMs: nowMs + HOUR,
		failures: 0,
		retries: 0,
		reliabilityPpm: 930_000,
		uptimePpm: 985_000,
		memory: memory(),
	};
	for (let n = 0; n < 40; n++) {
		const card = CARDS[(n * 5) % CARDS.length]!;
		const count = [8, 1, 4, 2, 8][n % 5]!;
		const id = await register(validator.store, `host-${String(n + 1).padStart(2, "0")}`, {
			nowMs: nowMs - 40 * HOUR,
			pricePerHourMicros: 400_000 + ((n * 733) % 40) * 100_000,
		});
		const isCheat = n % 13 === 6;
		const devices = Array.from({ length: count }, (_, device) =>
			gpu(device, {
				claimedName: `NVIDIA ${card}`,
				uuid: `GPU-${n}-${device}`,
				profile: card,
				memoryBytes: profilesNamed(card)[0]!.memoryBytes,
			}),
		);
		const verdict = {
			status: "invalid",
			code: "CARD_CONTRADICTED",
			where: "claim.devices[0]",
			detail: "int8 and bandwidth are those of a lesser card",
		} as const;
		await putProbe(
			validator,
			id,
			idOf(`probe ${n}`, 32),
			Buffer.from(`sample ${n}`),
			{
				provider: { ...schedule, uptimePpm: 1_000_000 - ((n * 7919) % 60_000) },
				devices,
				...(isCheat ? { verdict, figures: [], devices: [] } : { figures: figuresOf(card, count, 1 - (n % 7) * 0.01) }),
			},
			nowMs - n * 97_000 - 30_000,
		);
		const scorePpm = isCheat ? 0 : Math.floor((880_000 * count * (1 - n / 80)) / 8);
		await validator.store.scores.put([{ providerId: id, atMs: nowMs, scorePpm, mode: "holistic", terms: {} }]);
	}
	const bytes = readFileSync(join(root, "vectors/h200.assay"));
	const [verdict, decoded] = [verifyEvidence(bytes), decodeEvidence(bytes)];
	if (verdict.status !== "valid" || !decoded.ok) throw new Error("the sample evidence is not valid");
	const { claim } = decoded.evidence.envelope.body;
	const offer = { name: "h200-frankfurt", pricePerHourMicros: 3_200_000 };
	const provider = await register(validator.store, offer.name, { ...offer, nowMs: nowMs - 300 * HOUR });
	const devices = claim.devices.map((device, i) => ({
		device: i,
		kind: device.kind,
		claimedName: device.name,
		uuid: device.uuid,
		memoryBytes: device.memoryBytes,
		profile: verdict.identity.find((one) => one.device === i)?.profile ?? null,
		identity: verdict.identity.find((one) => one.device === i)?.state ?? "unjudged",
	}));
	for (let n = 24; n > 0; n--) {
		const scale = 0.985 + ((n * 37) % 17) / 1000;
		const figures = verdict.figures.map((one) => ({ ...one, value: Math.floor(one.value * scale) }));
		const finish = { figures, devices, claim, provider: schedule };
		await putProbe(
			validator,
			provider,
			idOf(`h200 ${n}`, 32),
			Buffer.from(`h200 ${n}`),
			finish,
			nowMs - n * 1.25 * HOUR,
		);
	}
	const { probeId } = await countFile(validator, { ...offer, file: "h200.assay", providerId: provider });
	await countFile(validator, {
		file: "h200-sustained.assay",
		name: "h200-oslo",
		pricePerHourMicros: 2_900_000,
	});
	return { provider, probe: probeId };
}

async function main(): Promise<void> {
	await ensureBuilt();
	mkdirSync(out, { recursive: true });
	const data = makeDataDir();
	const validator = await startToyValidator({
		dataDir: data.path,
		name: "validator",
		// Nobody is dialled before the next proof is due: the sample hosts are nowhere.
		dispatchEveryMs: 60_000,
		chain: {},
	});
	const browser = await startBrowser({ width: 1280, height: 800 });
	try {
		const { provider, probe } = await fill(validator);
		const shoot = async (page: Page, name: string) => {
			await page.locator(".loading").first().waitFor({ state: "detached" });
			await page.screenshot({ path: join(out, `${name}.png`) });
		};
		const page = await browser.open(`${validator.url}/`);
		await page.goto(`${validator.url}/providers?sort=fp16`);
		await page.getByRole("link", { name: "h200-frankfurt" }).waitFor();
		await shoot(page, "providers");
		await page.goto(`${validator.url}/providers/${provider}`);
		await page.getByText("Claimed and proven").waitFor();
		await shoot(page, "provider");
		await page.goto(`${validator.url}/probes/${probe}`);
		await page.getByRole("button", { name: "Verify in my browser" }).click();
		await page.locator(".verify[data-status=valid]").waitFor();
		await page.getByRole("button", { name: "Use the dark theme" }).click();
		await page
			.getByRole("heading", { name: "Each challenge and its openings" })
			.evaluate((one) => one.scrollIntoView());
		await page.evaluate(() => scrollBy(0, -70));
		await shoot(page, "verify-dark");
		await page.goto(`${validator.url}/`);
		await page.getByRole("heading", { name: "Devices by model" }).waitFor();
		await shoot(page, "overview-dark");
		await page.getByRole("button", { name: "Use the light theme" }).click();
		await shoot(page, "overview");
		await shootDispute(browser, out);
	} finally {
		await browser.close();
		await validator.stop();
		await data.remove();
	}
}

if (import.meta.main) await main();
