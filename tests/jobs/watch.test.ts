// A watcher that nobody knows against a real provider that lies in one number: it runs the claim again on its
// own engine, asks the liar through the validator's relay, and has the chain convict it. And what keeps a
// watcher from accusing anybody who is right.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiClient } from "../../src/api/create-client.ts";
import { read, readEvents } from "../../src/chain/contracts/contracts.ts";
import { askCall, openGameCall, readGame, readGames, readWord } from "../../src/chain/contracts/dispute-games.ts";
import { readJobPart } from "../../src/chain/contracts/job-escrow.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import type { Command } from "../../src/cli/command.ts";
import { disputeCommand } from "../../src/cli/commands/dispute.ts";
import { verifyCommand } from "../../src/cli/commands/verify.ts";
import { watchCommand } from "../../src/cli/commands/watch.ts";
import { followFrauds } from "../../src/cli/up/up-frauds.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { lyingEngine } from "../../src/engine/lying-engine.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { type Hex, toHex } from "../../src/protocol/chain/hex.ts";
import { keccak } from "../../src/protocol/hash/keccak-tree.ts";
import { type ChainQuestion, encodeChainQuestion } from "../../src/protocol/network/chain-question.ts";
import { questionText, readQuestion } from "../../src/protocol/network/job-question.ts";
import type { Provider } from "../../src/provider/create-provider.ts";
import type { StartJobEngine } from "../../src/provider/jobs/job-engine.ts";
import { toyOpener } from "../../src/provider/jobs/toy-run.test-kit.ts";
import { ownEngine } from "../../src/validator/jobs/evidence/own-engine.ts";
import { openWatchBook } from "../../src/validator/jobs/watch/watch-book.ts";
import { openWatchChain } from "../../src/validator/jobs/watch/watch-chain.ts";
import { createWatcher, type WatchEvent } from "../../src/validator/jobs/watch/watcher.ts";
import { decodeFraudFile, makeFraudFile } from "../../src/verify/optimistic/fraud/fraud-file.ts";
import { traceQuestion } from "../../src/verify/optimistic/fraud/fraud-proof.ts";
import { verifyFraud } from "../../src/verify/optimistic/fraud/judge-fraud.ts";
import { mlpSample } from "../../src/work/builder/samples.test-kit.ts";
import { eventually, signerOf } from "../validator/toy-agent.test-kit.ts";
import { type Order, openStage, type Stage, submit } from "./job-stage.test-kit.ts";
import { prove } from "./prove-host.test-kit.ts";
import { openRealProvider } from "./real-provider.test-kit.ts";
import { endow } from "./toy-worker.test-kit.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-watch-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const UNIT = 10n ** 18n;
const { program } = mlpSample();
/** One number of one op in one of two steps of segment 4. */
const LIE = { segment: 4, step: 1, op: program.step.length - 1, element: 3 };
const LIAR = { name: "liar", signer: signerOf(221), account: accountOf(`0x${"d8".repeat(32)}`) };
const SILENT = { name: "silent", signer: signerOf(223), account: accountOf(`0x${"da".repeat(32)}`) };
const WATCHER = { signer: signerOf(222), account: accountOf(`0x${"d9".repeat(32)}`) };

let stage: Stage;
let engine: { readonly command: string; readonly args: readonly string[] };
const providers: Provider[] = [];
const liarNews: string[] = [];
before(async () => {
	engine = { command: (await findEngine(hostPlatform())).path, args: [] };
	// Nothing here waits for a time to be over: windows are longer than any test.
	const params = {
		jobWindowMs: 3_600_000,
		jobBeatMs: 6000,
		jobBeatMisses: 100,
		jobLeastWorkMs: 600_000,
		jobAuditPpm: 10_000,
	};
	stage = await openStage({ hasChain: true, params, settings: { engine } });
	const { contracts, treasurer } = stage.chain!;
	await endow(contracts, treasurer, WATCHER.account, 0n, 0n);
});
after(async () => {
	for (const provider of providers) await provider.stop();
	await stage.close();
});

/** The same lie without an engine: its answers cost little. */
const startToy: StartJobEngine = async ({ storePath }) => ({
	...{ open: toyOpener(storePath, LIE), device: 0, allow() {}, close: async () => {} },
});

async function startLiar({ signer, account, name }: typeof LIAR): Promise<void> {
	const { chain, validator } = stage;
	await endow(chain!.contracts, chain!.treasurer, account, 0n, 1000n * UNIT);
	providers.push(
		await openRealProvider({
			...{ url: validator.url, signer, dataFolder: join(scratch, name) },
			...(name === "liar" ? { engine: lyingEngine(engine.command, LIE) } : { startEngine: startToy }),
			onEvent: (event) => event.kind === "job" && liarNews.push(event.detail),
			chain: { contracts: chain!.contracts, account },
		}),
	);
	await eventually(async () => (await validator.store.providers.get(signer.key))?.connectedTo != null);
	await prove(validator.store, signer.key);
}

/**
 * As somebody types it on this machine: the customer's key and the watcher's folder are made on first use.
 */
async function assay(command: Command, ...args: string[]): Promise<{ readonly out: string; readonly code: number }> {
	let out = "";
	const keep = (text: string): boolean => {
		out += text;
		return true;
	};
	const stream = { isTTY: false, columns: 80, write: keep };
	const io = {
		...{ out: stream as never, err: stream as never, env: { ASSAY_HOME: join(scratch, "home"), NO_COLOR: "1" } },
		...{ cwd: scratch, interrupted: new AbortController().signal },
	};
	const where = args.includes("--api") ? [] : ["--api", stage.validator.url, "--data", stage.data.path];
	const code = await command.run([...args, ...where], io);
	return { out, code };
}

/** A validator may know of a new host a moment later. */
const submitSoon = (order: Order) =>
	eventually(() =>
		submit(stage, order).catch((error: unknown) => {
			if (error instanceof AssayError && error.code === "JOB_NO_PROVIDER") return null;
			throw error;
		}),
	);

const convictionsOf = (id: string) =>
	readEvents(stage.chain!.contracts, "jobEscrow", "Convicted", { job: BigInt(`0x${id}`) });

/**
 * Once there is a claim. One in a hundred is run again by the validator itself, and convicted by it: then
 * that is waited for.
 */
async function isRunAgain(id: string): Promise<boolean> {
	await eventually(async () => {
		const found = await stage.customer.listClaims({ query: { job: id, limit: 10 } });
		return found.rows.some(({ ends }) => ends !== null) || (await convictionsOf(id)).length > 0;
	});
	const { audits, excluded } = (await stage.customer.getJob({ params: { id } })).record.parts[0]!;
	if (audits.length === 0 && excluded.length === 0) return false;
	await eventually(async () => (await convictionsOf(id)).length > 0);
	return true;
}

/** `pause`: what it waits for on chain, before it looks again. */
async function openWatcher(
	name: string,
	o: { readonly gasADay?: number; readonly isRelayed?: boolean; readonly pause?: Promise<void> } = {},
) {
	const events: WatchEvent[] = [];
	const folder = join(scratch, name);
	const book = await openWatchBook(join(folder, "watched.jsonl"), Date.now);
	const chain = await openWatchChain(stage.chain!.contracts, WATCHER.account, { gasADay: o.gasADay ?? 5e6, book });
	const client = createApiClient({ baseUrl: stage.validator.url, signer: WATCHER.signer });
	const askClaim = () => Promise.reject(new AssayError("NO_ANSWER", "nobody relays it"));
	const api = o.isRelayed === false ? { ...client, askClaim } : client;
	const watcher = createWatcher({
		...{ api, chain, folder, book, ...(o.isRelayed === false && { patienceMs: 0 }) },
		...{ engine: ownEngine(engine, realEnvironment()), policy: { jobs: "all", sharePpm: 0 }, isDry: false },
		...{
			secret: new Uint8Array(32),
			nowMs: Date.now,
			sleep: async (ms) => {
				await o.pause;
				await sleep(Math.min(ms, 100));
			},
			onEvent: (event) => events.push(event),
		},
	});
	const states = () => events.map(({ state }) => state);
	const look = async () => {
		await watcher.round();
		await watcher.settle();
	};
	return { watcher, look, folder, events, states };
}

/**
 * Whoever is asked on chain answers there by itself, what it would say off chain; what is none of its claim
 * it leaves alone.
 */
async function answersOnChain(id: string): Promise<void> {
	const { contracts } = stage.chain!;
	const { client } = contracts;
	const job = BigInt(`0x${id}`);
	const { attempt, provider } = await readJobPart(contracts, job, 0);
	const sitting = { job, part: 0, attempt, provider };
	const count = program.k * program.step.length;
	const bytesOf = (question: ChainQuestion) => toHex(encodeChainQuestion(question));
	const asked = bytesOf({ kind: "trace", segment: 4, count });
	await sendCall(client, WATCHER.account, await openGameCall(contracts, { job, part: 0 }, asked));
	const game = (accuser: Hex) => readGame(contracts, sitting, accuser);
	await eventually(async () => (await game(WATCHER.account.address)).deadlineS === null);
	const word = await readWord(contracts, sitting, traceQuestion(4));
	const { hash } = (await stage.customer.listClaims({ query: { job: id, limit: 1 } })).rows[0]!;
	const body = { question: questionText({ kind: "trace", segment: 4, audit: null, page: 0 }) };
	const said = await stage.customer.askClaim({ params: { hash }, body });
	assert.equal(word, toHex(keccak(hexToBytes(said.answer)!)), "one answer by both roads");
	// The next one is about a trace of another size: silence to it convicts nobody.
	await sendCall(
		client,
		WATCHER.account,
		await askCall(contracts, sitting, bytesOf({ kind: "trace", segment: 3, count: count + 1 })),
	);
	await eventually(async () => liarNews.some((one) => /none of this claim/.test(one)));
}

/** As `assay up --liar` tells it: the line that it prints leads to the whole story. */
async function toldByUp(events: readonly WatchEvent[], path: string): Promise<void> {
	const lines: string[] = [];
	const report = { line: (text: string) => lines.push(text) };
	const at = { client: stage.customer, dataDir: join(scratch, "trial"), url: "http://127.0.0.1:9" };
	const frauds = followFrauds({ ...at, report });
	try {
		for (const event of events) frauds.seen(event);
		await frauds.convicted;
	} finally {
		await frauds.stop();
	}
	assert.ok(lines.includes(`            npx assay verify ${path}`), lines.join("\n"));
	let out = "";
	const write = (text: string): boolean => {
		out += text;
		return true;
	};
	const stream = { isTTY: false, columns: 80, write };
	const io = {
		...{ out: stream as never, err: stream as never, env: { NO_COLOR: "1" }, cwd: scratch },
		interrupted: new AbortController().signal,
	};
	assert.equal(await verifyCommand.run([path], io), 0, out);
	assert.match(out, /FRAUD PROVEN[\s\S]*segment 4\n {2}step {4}1\n/);
}

/** The whole dispute is for everybody to see; what is not the liar's own word is taken from nobody. */
async function published(claim: string, file: Uint8Array): Promise<void> {
	const seen = await stage.customer.getDispute({ params: { hash: claim } });
	assert.equal(seen.claim.state, "fallen");
	assert.equal(seen.frauds.length, 1);
	const [fraud] = seen.frauds;
	assert.deepEqual(Buffer.from(await stage.customer.getFraud({ params: { hash: fraud!.hash } })), Buffer.from(file));
	const kinds = seen.relayed.map(({ question }) => readQuestion(question).kind);
	for (const kind of ["trace", "op", "leaf", "transcript"])
		assert.ok(kinds.includes(kind as never), `${kind} of ${kinds}`);
	const { chain } = seen;
	assert.equal(chain?.account, LIAR.account.address.toLowerCase());
	assert.equal(chain.conviction?.by, "proof");
	assert.ok(chain.gas[chain.conviction.transaction]! > 100_000);
	const [game] = chain.games;
	assert.equal(game?.rounds.length, 2, "asked on chain by hand");
	assert.ok(game.rounds[0]!.answer !== null && game.rounds[1]!.answer === null && BigInt(game.deposits) > 0n);
	// Told again it is the same row; unsigned, or spoiled, it is none.
	assert.equal((await stage.customer.handInFraud({ body: file })).hash, fraud!.hash);
	const decoded = decodeFraudFile(file);
	assert.ok(decoded.ok);
	const { format: _, version: __, ...body } = decoded.evidence.envelope.body;
	const unsigned = makeFraudFile({ ...body, segment: 2, signed: null }, decoded.evidence.attachments);
	for (const bad of [unsigned, file.subarray(1)])
		await assert.rejects(stage.customer.handInFraud({ body: bad }), { code: "FRAUD_REFUSED" });
}

test("a lie in one number of an optimistic job is found, proven on chain and paid for; the part is open again", async () => {
	await startLiar(LIAR);
	const { contracts } = stage.chain!;
	const { id } = await submitSoon({ method: { name: "optimistic", count: 0 } });
	const poor = await openWatcher("poor", { gasADay: 1000 });
	const { look, folder, states, events } = await openWatcher("trial/watch");
	const convicted = () => convictionsOf(id);
	if (!(await isRunAgain(id))) {
		await answersOnChain(id);
		const dry = await assay(watchCommand, "--once", "--dry-run", "--json");
		const told = dry.out
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line) as WatchEvent);
		assert.deepEqual(
			told.map(({ state }) => state),
			["checking", "false"],
			dry.out,
		);
		const kept = join(scratch, "home", "watch", "frauds");
		const found = await assay(disputeCommand, "prove", join(kept, readdirSync(kept)[0]!), "--dry-run");
		assert.match(found.out, /FRAUD PROVEN[\s\S]*segment 4\n {2}step {4}1\n[\s\S]*nothing was sent/);
		const begins = told[0]!.claim.slice(0, 12);
		assert.match((await assay(disputeCommand, "list")).out, new RegExp(`${begins}  claimed[\\s\\S]*no fraud files`));
		assert.match(
			(await assay(disputeCommand, "show", begins)).out,
			/segments {2}0 to 5, optimistic[\s\S]*on chain {2}claimed by/,
		);
		// Showing sends nothing: nobody needs the network's folder, nor leaves one of their own.
		const stranger = ["--api", stage.validator.url, "--data", join(scratch, "nobody")];
		const shown = await assay(disputeCommand, "show", begins, ...stranger);
		assert.equal(shown.code, 0);
		assert.match(shown.out, /segments {2}0 to 5, optimistic\nroot /);
		const answer = await assay(disputeCommand, "ask", begins, '{"kind":"trace","segment":4}');
		assert.match(answer.out, /^answer {4}[0-9a-f]{64}\nsignature [0-9a-f]{130}\n$/);
		await poor.look();
		assert.deepEqual(poor.states(), ["checking", "false", "trouble"]);
		assert.match(poor.events.at(-1)!.detail, /WATCH_BUDGET/);
		assert.equal((await convicted()).length, 0, "neither of them sent anything that convicts");
		await look();
		assert.deepEqual(states(), ["checking", "false", "proven"], JSON.stringify(events));
		const [name] = readdirSync(join(folder, "frauds"));
		const verdict = verifyFraud(readFileSync(join(folder, "frauds", name!)));
		assert.ok(verdict.status === "valid" && verdict.signer === LIAR.account.address.slice(2).toLowerCase());
		const { segment, step, op, element } = verdict;
		assert.deepEqual({ segment, step, op, element }, LIE);
		await published(verdict.accused, readFileSync(join(folder, "frauds", name!)));
		await toldByUp(events, join(folder, "frauds", name!));
		const [one] = await convicted();
		assert.equal(one!.args.accuser, WATCHER.account.address);
		assert.equal(await read(contracts, "token", "balanceOf", WATCHER.account.address), one!.args.toAccuser);
		// A second process, and this one after a crash, find nothing left to do.
		await look();
		assert.equal(states().length, 3);
	}
	await eventually(async () => (await readJobPart(contracts, BigInt(`0x${id}`), 0)).state === "open");
	const job = await eventually(async () => {
		const found = await stage.customer.getJob({ params: { id } });
		return found.record.parts[0]!.excluded.length > 0 && found;
	});
	assert.deepEqual(job.record.parts[0]!.excluded, [LIAR.signer.key]);
});

test("one that is silent off chain is asked on chain down to the number, and convicted by the words that it said there", async () => {
	await startLiar(SILENT);
	const { contracts } = stage.chain!;
	const { id } = await submitSoon({ method: { name: "optimistic", count: 0 }, salt: "6b".repeat(32) });
	const convicted = () => convictionsOf(id);
	if (await isRunAgain(id)) return;
	const { promise: pause, resolve: goOn } = Promise.withResolvers<void>();
	const { watcher, events } = await openWatcher("unheard", { isRelayed: false, gasADay: 4e7, pause });
	// While the claimant takes its time on chain the watcher goes on to other claims, and does not take up this
	// one again. The first job's part may have been claimed by this liar, too.
	const told = () => events.filter(({ job }) => job === id).map(({ state }) => state);
	try {
		await watcher.round();
		await watcher.round();
		assert.equal(told().filter((one) => one === "checking").length, 1);
	} finally {
		goOn();
		await watcher.settle();
	}
	assert.deepEqual([...new Set(told())], ["checking", "asked", "false", "proven"], JSON.stringify(events));
	assert.ok(told().length < 20, "some questions, not many");
	const games = await readGames(contracts, { accuser: WATCHER.account.address });
	const { sitting, accuser } = games.find((game) => game.sitting.job === BigInt(`0x${id}`))!;
	assert.equal((await readGame(contracts, sitting, accuser)).isPaid, true, "its deposits came back");
	const [one] = await convicted();
	assert.equal(one!.args.accuser, WATCHER.account.address);
	// Nothing was signed: what it said on the chain binds the file that everybody sees.
	const hash = events.find(({ job, state }) => job === id && state === "proven")!.claim;
	const { frauds, chain } = await stage.customer.getDispute({ params: { hash } });
	const verdict = verifyFraud(await stage.customer.getFraud({ params: { hash: frauds[0]!.hash } }));
	assert.ok(verdict.status === "valid" && verdict.signer === null && verdict.accused === hash);
	const rounds = chain!.games.flatMap((game) => game.rounds);
	assert.ok(rounds.length > 1 && rounds.every(({ answer }) => answer !== null), `${rounds.length} rounds`);
});
