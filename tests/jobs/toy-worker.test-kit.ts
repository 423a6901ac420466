// Toy providers of jobs, for tests of the market: real agent links, real routes, real blobs and chain; the
// work itself is done by src/work's own machine, in memory. Each can be told to misbehave at one place. Not
// here: the provider that owners run (src/provider/jobs).
import { uploadBlob } from "../../src/api/blob-transfer.ts";
import { createApiClient } from "../../src/api/create-client.ts";
import type { PartOffer } from "../../src/api/types.ts";
import { type Contracts, callOf } from "../../src/chain/contracts/contracts.ts";
import { signAnswer } from "../../src/chain/contracts/disputes.ts";
import { signJobConsent } from "../../src/chain/contracts/job-account.ts";
import { assignPartCall, claimPartCall } from "../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../src/chain/contracts/job-terms-text.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import type { ChainAccount } from "../../src/chain/sending/sign.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex, concatBytes } from "../../src/protocol/bytes/bytes.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import type { MethodName } from "../../src/protocol/network/job.ts";
import { readQuestion } from "../../src/protocol/network/job-question.ts";
import { isPassing } from "../../src/protocol/passing.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import type { Answerer, Answering } from "../../src/provider/jobs/answer-questions.ts";
import { rootsAnswer } from "../../src/verify/optimistic/questions.ts";
import type { TensorKind } from "../../src/work/program/shapes.ts";
import { numbered, resultRootOf, rootsTree, segmentTree } from "../../src/work/trace/commitments.ts";
import { eventually, startToyAgent } from "../validator/toy-agent.test-kit.ts";
import { MEMORY } from "./prove-host.test-kit.ts";
import { toyAnswers } from "./toy-answers.test-kit.ts";
import { claimBody, type Ran, type RunOptions, rootsOf, run } from "./toy-part.test-kit.ts";

export interface WorkerOptions extends RunOptions {
	readonly url: string;
	readonly signer: Signer;
	readonly chain?: { readonly contracts: Contracts; readonly account: ChainAccount };
	readonly pricePerHourMicros?: number;
	/** Those that it takes; else the ones that its claims are made for. */
	readonly methods?: readonly MethodName[];
	/** Takes no note of offers. */
	readonly isDeaf?: boolean;
	/** Answers no question about what it claimed. */
	readonly isSilent?: () => boolean;
	/** Instead of this machine's clock. */
	readonly nowMs?: () => number;
}
export type ToyWorker = Awaited<ReturnType<typeof startToyWorker>>;

export async function startToyWorker(o: WorkerOptions) {
	const client = createApiClient({ baseUrl: o.url, signer: o.signer, ...(o.nowMs && { nowMs: o.nowMs }) });
	const done = new Map<string, Ran & { readonly offer: PartOffer }>();
	const answerers = new Map<string, Promise<Answerer>>();
	const tasks = new Map<string, Promise<void>>();
	const errors: unknown[] = [];
	const nameOf = (a: { job: string; part: number; attempt: number; audit: number | null }) =>
		`${a.job}/${a.part}/${a.attempt}/${a.audit}`;
	const account = o.chain?.account;
	const agent = await startToyAgent({
		...{ url: o.url, signer: o.signer, name: `worker ${o.signer.key.slice(0, 6)}` },
		jobs: {
			account: account === undefined ? null : account.address.slice(2).toLowerCase(),
			consent: account === undefined ? null : await signJobConsent(account, o.signer.key),
			...{ pricePerHourMicros: o.pricePerHourMicros ?? 3_600_000, mostBondMicros: Number.MAX_SAFE_INTEGER },
			...{
				memoryBytes: MEMORY,
				minutes: 60,
				devices: [0],
				methods: o.methods ?? ["redundant", "sampled", "optimistic", "zk"],
			},
		},
		handlers: {
			async job({ job, part, attempt, audit }) {
				const asked = { job, part, attempt, audit };
				if (o.isDeaf || tasks.has(nameOf(asked))) return;
				tasks.set(
					nameOf(asked),
					work(asked).catch((error) => void errors.push(error)),
				);
			},
			async ask({ job, part, attempt, question }) {
				const asked = readQuestion(question);
				if (o.isSilent?.()) throw new AssayError("PROVIDER_BUSY", "it is busy, it says");
				const ran = done.get(nameOf({ job, part, attempt, audit: asked.audit }));
				// Of a claim no more than that: whoever accuses a toy gets nothing else out of it.
				const isKnown = asked.kind === "state" || asked.kind === "trace" || asked.audit !== null;
				if (ran === undefined || !isKnown) throw new AssayError("NO_ANSWER", "a toy answers no such thing");
				if (asked.kind !== "state") {
					const answerer = await answersOf({ job, part, attempt, audit: asked.audit });
					return answerer.answer(question);
				}
				const kept = ran.kept[asked.segment - ran.offer.first]!;
				for (const bytes of [...kept.state, ...kept.results]) await uploadBlob(client, { bytes });
				const { program } = ran.machine.checked;
				const roots = (kind: TensorKind, all: Uint8Array[]) =>
					rootsOf(
						program.tensors.filter((t) => t.kind === kind),
						all,
					);
				const answer = rootsAnswer({ state: roots("state", kept.state), results: roots("result", kept.results) });
				return { answer: bytesToHex(answer), signature: null };
			},
			async stop() {},
		},
	});

	function answersOf(asked: Parameters<typeof nameOf>[0]): Promise<Answerer> {
		const name = nameOf(asked);
		const { offer, ...ran } = done.get(name)!;
		const made = answerers.get(name) ?? toyAnswers(client, offer, ran, asked.audit === null ? signer(asked) : null);
		answerers.set(name, made);
		return made;
	}

	function signer({ job, part }: { readonly job: string; readonly part: number }): Answering["sign"] {
		const { chain } = o;
		if (chain === undefined) return null;
		return async (answer) => {
			const { rows } = await client.listClaims({ query: { job, limit: 100 } });
			const own = rows.find((one) => one.part === part && one.provider === o.signer.key)!;
			return signAnswer(chain.account, chain.contracts, { claim: `0x${own.hash}`, ...answer });
		};
	}

	async function work(asked: { job: string; part: number; attempt: number; audit: number | null }): Promise<void> {
		const { attempt, audit } = asked;
		const params = { id: asked.job, part: asked.part };
		const offer = await client.getPartOffer({ params, query: audit === null ? {} : { audit } });
		await o.at?.("offered", offer);
		if (audit === null) {
			if (offer.assignment !== null) await assign(o.chain!, offer);
			// The validator's node may be behind the worker's own.
			await eventually(() => client.acceptPart({ params, body: { attempt } }).catch(unlessPassing));
			await o.at?.("accepted", offer);
		}
		const ran = await run(client, offer, o);
		await o.at?.("ran", offer);
		const states = await uploadBlob(client, { bytes: concatBytes(...ran.states) });
		done.set(nameOf(asked), { ...ran, offer });
		if (audit !== null) {
			await client.answerAudit({ params: { ...params, at: audit }, body: { attempt, states } });
			await o.at?.("answered", offer);
			return;
		}
		const body = await claimBody(client, attempt, states, ran);
		const taken = await client.claimPart({ params, body });
		await o.at?.("stored", offer);
		if (taken.stored !== null) {
			await claimOnChain(o.chain!, offer, ran, taken.stored as Hex[]);
			await client.claimPart({ params, body });
		}
		await o.at?.("claimed", offer);
	}

	return { agent, client, id: o.signer.key, errors, tasks, done, close: () => agent.close() };
}

function unlessPassing(error: unknown): null {
	if (isPassing(error)) return null;
	throw error;
}

async function assign({ contracts, account }: NonNullable<WorkerOptions["chain"]>, offer: PartOffer): Promise<void> {
	const { part, attempt, until, draw, signatures } = offer.assignment!;
	const terms = jobTermsFromText(offer.escrow!.terms);
	const assignment = { part, attempt, until: BigInt(until), draw: draw as Hex };
	await sendCall(contracts.client, account, assignPartCall(contracts, terms, assignment, signatures as Hex[]));
}

async function claimOnChain(
	{ contracts, account }: NonNullable<WorkerOptions["chain"]>,
	offer: PartOffer,
	ran: Ran,
	signatures: Hex[],
) {
	const { program } = ran.machine.checked;
	const tree = segmentTree(ran.states);
	const hex = (bytes: Uint8Array): Hex => `0x${bytesToHex(bytes)}`;
	const last = ran.kept.at(-1)!;
	const of = (kind: TensorKind, all: readonly Uint8Array[]) =>
		rootsOf(
			program.tensors.filter((one) => one.kind === kind),
			all,
		);
	const shown = {
		...{ segmentRoot: hex(tree.root), resultRoot: hex(resultRootOf(program, of("result", last.results))) },
		...{ first: hex(ran.states[0]!), firstPath: tree.path(0).map(hex) },
		lastStates: hex(rootsTree(numbered(program, "state", of("state", last.state))).root),
		...{
			lastPath: tree.path(ran.states.length - 1).map(hex),
			previous: `0x${offer.previous ?? "0".repeat(64)}` as Hex,
		},
	};
	const terms = jobTermsFromText(offer.escrow!.terms);
	await sendCall(contracts.client, account, claimPartCall(contracts, terms, offer.part, shown, signatures));
}

/** Tokens, gas and a deposit for bonds. */
export async function endow(
	contracts: Contracts,
	treasurer: ChainAccount,
	account: ChainAccount,
	tokens: bigint,
	deposit: bigint,
): Promise<void> {
	const { client } = contracts;
	await sendCall(client, treasurer, { to: account.address, data: "0x", value: 10n ** 18n });
	await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account.address, tokens + deposit));
	if (deposit === 0n) return;
	await sendCall(client, account, callOf(contracts, "token", "approve", contracts.addresses.jobEscrow, deposit));
	await sendCall(client, account, callOf(contracts, "jobEscrow", "deposit", deposit));
}
