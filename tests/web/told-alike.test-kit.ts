// What the command line, its JSON and the verify page say of one file, and whether any of them denies what
// another one says. Driven by what the verdict has in it, not by a list of sentences: a new finding, state or
// code is compared as well. For the page's tests.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { codes } from "../../src/protocol/codes.ts";
import { decodeEvidence } from "../../src/protocol/probe/evidence-codec.ts";
import { type Finding, type Verdict, WHO_COULD_LIE } from "../../src/protocol/probe/verdict.ts";
import { bestFigures } from "../../src/verify/hardware/best-figures.ts";
import { confidenceText } from "../../src/verify/hardware/confidence.ts";
import { cardsOf, identityWords } from "../../src/verify/hardware/identify/identity-words.ts";
import { shortName } from "../../src/verify/hardware/identify/short-name.ts";
import { isPeerFigure } from "../../src/verify/hardware/peer-speeds.ts";
import { formatFigure, shortId } from "../../web/parts/format.ts";
import type { SomeFile } from "./evidence-files.test-kit.ts";

/** What `--json` prints, of any kind of file. */
interface AnyVerdict {
	readonly status: "valid" | "invalid" | "inconclusive";
	readonly code?: string;
	readonly detail?: string;
	readonly findings?: readonly Finding[];
	readonly attestation?: { readonly level: string; readonly reasons: readonly Finding[] };
}

interface Told {
	readonly exit: number;
	/** A verdict, or why there is none. */
	readonly json: AnyVerdict | { readonly error: { readonly code: string } };
	readonly text: string;
}

const HEADS = { valid: /^(VALID|FRAUD PROVEN)/, invalid: /^INVALID/, inconclusive: /^INCONCLUSIVE/ } as const;
const STATUSES = Object.keys(HEADS) as (keyof typeof HEADS)[];

/** `assay verify`, in this process, as text and as JSON. */
export async function toldByCli({ name, bytes }: SomeFile, folder: string): Promise<Told> {
	const path = join(folder, name.replaceAll(/[^\w.-]/g, "_"));
	await writeFile(path, bytes);
	const run = async (...more: string[]) => {
		const said = { out: "", err: "" };
		const stream = (of: keyof typeof said) =>
			({ isTTY: false, write: (words: string) => (said[of] += words) }) as unknown as NodeJS.WriteStream;
		const { signal: interrupted } = new AbortController();
		const io = { out: stream("out"), err: stream("err"), env: { NO_COLOR: "1" }, cwd: folder, interrupted };
		const exit = await runCommand(["verify", path, ...more], io);
		// What takes more than a second says so, on the other stream.
		const err = said.err.replace(/^ {2}checks the file …\n/, "");
		return { exit, json: said.out, text: `${said.out}${err}`.replaceAll(path, name) };
	};
	const [text, json] = [await run(), await run("--json")];
	assert.equal(text.exit, json.exit, name);
	return { exit: json.exit, json: JSON.parse(json.json), text: text.text };
}

interface Shown {
	readonly status: string;
	readonly text: string;
	readonly cards: string | null;
	readonly confidence: string | null;
	/** Tones of badges, apart from what devices signed. */
	readonly badges: readonly string[];
	readonly devices: readonly {
		readonly device: number;
		readonly card: string;
		readonly note: string | null;
		readonly figures: readonly string[];
	}[];
	readonly challenges: readonly { readonly state: string; readonly told: string }[];
}

/** What the verify page has on it once the file is judged. */
export async function shownByPage(page: Page, { name, bytes }: SomeFile): Promise<Shown> {
	const file = { name, mimeType: "application/octet-stream", buffer: Buffer.from(bytes) };
	await page.getByLabel("Evidence file").setInputFiles(file);
	const panel = page.locator(".verify[data-status]:not([data-status=running]), .not-judged", { hasText: name });
	await panel.waitFor();
	// What a code means comes a moment later.
	if ((await panel.locator(".explained").count()) > 0) await panel.getByText("What to do").waitFor();
	return panel.evaluate((root: HTMLElement) => {
		const wordsOf = (at: Element, selector: string) => at.querySelector(selector)?.textContent ?? null;
		const all = (at: Element, selector: string) => [...at.querySelectorAll<HTMLElement>(selector)];
		for (const closed of root.querySelectorAll("details")) closed.open = true;
		return {
			status: root.dataset.status ?? "",
			text: root.innerText,
			cards: wordsOf(root, ".verdict-cards"),
			confidence: wordsOf(root, "[data-confidence]"),
			badges: all(root, ".badge:not(.attested .badge)").map((one) => one.className),
			devices: all(root, "[data-device]").map((block) => ({
				device: Number(block.dataset.device),
				card: wordsOf(block, "[data-card]") ?? "",
				note: wordsOf(block, "[data-identity]"),
				figures: all(block, "[data-figure]").map((one) => `${one.dataset.figure} ${one.textContent}`),
			})),
			challenges: all(root, "[data-challenge]").map((row) => ({
				state: row.dataset.state ?? "",
				told: wordsOf(row, ".challenge-openings") ?? "",
			})),
		};
	});
}

/** Codes of ours that a text names. */
const codesIn = (text: string): string[] =>
	[...new Set(text.match(/\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b/g) ?? [])].filter((one) => Object.hasOwn(codes, one)).sort();

/** Codes that may be named: the verdict's own, and those that their explanations mention. */
function codesOf({ code, findings = [], attestation }: AnyVerdict): string[] {
	const own = [
		...(code === undefined ? [] : [code]),
		...[...findings, ...(attestation?.reasons ?? [])].map((f) => f.code),
	];
	const explained = own.flatMap((one) => {
		const { meaning = "", hint = "" } =
			(codes as Readonly<Record<string, { meaning: string; hint: string }>>)[one] ?? {};
		return codesIn(`${meaning} ${hint}`);
	});
	return [...own, ...explained];
}

/** As text on a page: no line breaks, and one blank between words. */
const flat = (text: string): string => text.replaceAll(/\s+/g, " ");

/** All of them say the same, and none says what the verdict does not. */
export function assertAlike(file: SomeFile, told: Told, shown: Shown): void {
	const { json, text } = told;
	const at = file.name;
	if ("error" in json) {
		// No verdict of the one, none of the other; and none is in its words.
		assert.deepEqual([shown.status, shown.badges, shown.devices], ["", [], []], `${at}: ${json.error.code}`);
		for (const head of Object.values(HEADS)) assert.doesNotMatch(text, head, at);
		assert.ok(![exitCodes.valid, exitCodes.invalid, exitCodes.inconclusive].some(({ code }) => code === told.exit), at);
		return;
	}
	const { status } = json;
	assert.equal(shown.status, status, `${at}: the page`);
	assert.equal(told.exit, exitCodes[status].code, `${at}: the exit code`);
	for (const other of STATUSES)
		assert.equal(HEADS[other].test(text), other === status, `${at}: the first line is ${text.split("\n")[0]}`);
	assert.deepEqual(
		shown.badges.filter((one) => !one.split(" ").includes(`is-${status}`)),
		[],
		`${at}: badges`,
	);
	const allowed = codesOf(json);
	for (const [who, words] of [
		["the command line", text],
		["the page", shown.text],
	] as const) {
		const named = codesIn(words);
		assert.deepEqual(
			named.filter((one) => !allowed.includes(one)),
			[],
			`${at}: ${who} names codes that are not the verdict's`,
		);
		if (json.code !== undefined) assert.ok(named.includes(json.code), `${at}: ${who} does not name ${json.code}`);
		for (const { code, detail } of json.findings ?? [])
			assert.ok(
				named.includes(code) && flat(words).includes(flat(detail)),
				`${at}: ${who} does not say ${code}: ${detail}`,
			);
		if (json.detail) assert.ok(flat(words).includes(flat(json.detail)), `${at}: ${who} does not say ${json.detail}`);
	}
	challengesAlike(at, json, shown);
	if ("probeId" in json) probesAlike(file, json as Extract<Verdict, { status: "valid" }>, text, shown);
	else if (status !== "valid") {
		// Nothing of such a file counts, so nothing of it is shown as proven.
		assert.deepEqual([shown.cards, shown.confidence, shown.devices], [null, null, []], at);
		assert.doesNotMatch(text, /spot check|99 % confidence|of data sheet/, at);
	}
}

/** Checked is what the verdict says was checked; nothing unfinished looks finished, and the reverse. */
function challengesAlike(at: string, json: AnyVerdict, { challenges }: Shown): void {
	const states = challenges.map(({ state }) => state);
	if (json.status === "valid") {
		assert.deepEqual(new Set(states), new Set(states.length === 0 ? [] : ["checked"]), `${at}: ${states}`);
		for (const [i, { samples }] of ((json as { confidence?: { samples: number }[] }).confidence ?? []).entries())
			if (challenges.length > 0)
				// One more of a training run: the segment that makes the first state.
				assert.match(
					challenges[i]!.told,
					new RegExp(`^✓ (${samples}|${samples + 1}) spot checks? right$`),
					`${at}: ${i}`,
				);
		return;
	}
	assert.ok(states.filter((one) => one === "wrong").length <= (json.status === "invalid" ? 1 : 0), `${at}: ${states}`);
	const named = /^challenges\[(\d+)\]/.exec((json as { where?: string }).where ?? "")?.[1];
	if (named === undefined || challenges.length === 0) return;
	const { state } = challenges[Number(named)]!;
	assert.equal(state === "wrong", json.status === "invalid", `${at}: challenge ${named} is ${state}`);
	assert.notEqual(state, "checked", `${at}: challenge ${named}`);
}

function probesAlike(
	{ name: at, bytes }: SomeFile,
	verdict: Extract<Verdict, { status: "valid" }>,
	text: string,
	shown: Shown,
): void {
	const decoded = decodeEvidence(bytes);
	assert.ok(decoded.ok);
	const { claim } = decoded.evidence.envelope.body;
	assert.equal(shown.cards, cardsOf(claim, verdict, shortName), at);
	const sure = confidenceText(verdict);
	assert.equal(shown.confidence, sure, at);
	assert.ok(text.includes(sure), `${at}: ${sure}`);
	for (const [strength, who] of Object.entries(WHO_COULD_LIE)) {
		const isIts = strength === verdict.strength;
		assert.equal(text.includes(`strength ${strength}: ${who}`), isIts, at);
		assert.equal(shown.text.includes(who) && shown.text.includes(`(${strength})`), isIts, at);
	}
	for (const key of [verdict.signer, ...(verdict.host === null ? [] : [verdict.host])])
		assert.ok(text.includes(key) && shown.text.includes(shortId(key)), `${at}: ${key}`);
	const withFigures = [...new Set(verdict.figures.map(({ device }) => device))].sort((a, b) => a - b);
	assert.deepEqual(
		shown.devices.map(({ device }) => device),
		withFigures,
		at,
	);
	for (const { device, card, note, figures } of shown.devices) {
		const identity = verdict.identity.find((one) => one.device === device)!;
		const words = identityWords(identity);
		assert.deepEqual([card, note ?? ""], [words.card || claim.devices[device]!.name, words.note], at);
		for (const other of identity.alike.slice(0, 5))
			assert.ok(text.includes(other) && `${card} ${note}`.includes(other), `${at}: device ${device} and ${other}`);
		assert.ok(text.includes(words.card) && text.includes(words.note), `${at}: ${words.card}, ${words.note}`);
		const own = bestFigures(verdict.figures.filter((figure) => figure.device === device));
		assert.deepEqual(
			figures,
			own.map(({ name, value, unit }) => `${name} ${formatFigure(value, unit, name)}`),
			at,
		);
		for (const { name, value, unit } of own.filter((figure) => !isPeerFigure(figure)))
			assert.ok(text.includes(formatFigure(value, unit, name)), `${at}: ${name}`);
	}
	if (verdict.attestation === undefined) return;
	const { level, shown: shownLevel, isSimulated } = verdict.attestation;
	assert.ok(text.includes(isSimulated ? `SIMULATED: ${shownLevel}` : level), at);
	for (const { code, detail } of verdict.attestation.reasons)
		assert.ok(shown.text.includes(code) && flat(shown.text).includes(flat(detail)), `${at}: ${code}`);
}
