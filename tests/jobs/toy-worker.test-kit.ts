// Toy providers of jobs, for tests of the market: real agent links, real routes, real blobs and chain; the work itself is done by src/work's own machine, in
// memory. Each can be told to misbehave at one place. Not here: the provider that owners run (src/provider/jobs).
import { fetchBlob, uploadBlob } from "../../src/api/blob-transfer.ts";
import { type ApiClient, createApiClient } from "../../src/api/create-client.ts";
import type { PartOffer } from "../../src/api/types.ts";
import { type Contracts, callOf } from "../../src/chain/contracts/contracts.ts";
import { signJobConsent } from "../../src/chain/contracts/job-account.ts";
import { assignPartCall, claimPartCall } from "../../src/chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../src/chain/contracts/job-terms-text.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import type { ChainAccount } from "../../src/chain/sending/sign.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex, concatBytes, hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { readQuestion } from "../../src/protocol/network/job-question.ts";
import type { BlobName } from "../../src/protocol/network/job-spec.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import type { Store } from "../../src/store/open-store.ts";
import { figure, gpu, probeByHand } from "../../src/store/sample-rows.test-kit.ts";
import { rootsAnswer } from "../../src/verify/optimistic/questions.ts";
import { bytesToElements, type Elements, elementCount, elementsToBytes } from "../../src/work/operators/tensor-type.ts";
import { orThrow } from "../../src/work/program/fault.ts";
import { openProgram } from "../../src/work/program/open-program.ts";
import { createMachine, type Machine } from "../../src/work/program/run-program.ts";
import type { TensorKind } from "../../src/work/program/shapes.ts";
import { numbered, resultRootOf, rootsTree, segmentTree, stateHashOf } from "../../src/work/trace/commitments.ts";
import { tensorRoot } from "../../src/work/trace/tensor-tree.ts";
import { startToyAgent } from "../validator/toy-agent.test-kit.ts";

export interface WorkerOptions {
	readonly url: string;
	readonly signer: Signer;
	readonly chain?: { readonly contracts: Contracts; readonly account: ChainAccount };
	readonly pricePerHourMicros?: number;
	/** Called at each place; whatever it throws ends the part there. */
	readonly at?: (place: Place, offer: PartOffer) => Promise<void> | void;
	/** Changes what an honest worker would compute, from this segment on (of the whole job). */
	readonly lieFrom?: (offer: PartOffer) => number | null;
	/** Takes no note of offers. */
	readonly isDeaf?: boolean;
	/** Answers no question about what it claimed. */
	readonly isSilent?: () => boolean;
}
export type Place = "offered" | "accepted" | "segment" | "ran" | "stored" | "claimed" | "answered";

/** What one part or audit came to. */
interface Ran {
	readonly states: Uint8Array[];
	/** Bytes of state and result tensors before each segment of the part, and after the last. */
	readonly kept: { readonly state: Uint8Array[]; readonly results: Uint8Array[] }[];
	readonly machine: Machine;
}

export type ToyWorker = Awaited<ReturnType<typeof startToyWorker>>;

const MEMORY = 2 ** 30;

/** Figures of a host whose speed makes a toy job cost something. */
export async function prove(store: Store, provider: string, { nowMs = Date.now(), int8 = 1e9 } = {}): Promise<void> {
	await probeByHand(store, provider, `proof of ${provider}`, {
		...{ startedAtMs: nowMs - 1000, finishedAtMs: nowMs, devices: [gpu(0)] },
		figures: [
			figure(0, "memory.resident", MEMORY, "B"),
			figure(0, "gemm.int8", int8),
			figure(0, "memory.bandwidth", 1e9, "B/s"),
		],
	});
}

export async function startToyWorker(o: WorkerOptions) {
	const client = createApiClient({ baseUrl: o.url, signer: o.signer });
	const done = new Map<string, Ran & { readonly offer: PartOffer }>();
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
			...{ pricePerHourMicros: o.pricePerHourMicros ?? 3_600_000_000, mostBondMicros: Number.MAX_SAFE_INTEGER },
			...{ memoryBytes: MEMORY, minutes: 60, methods: ["redundant", "sampled", "optimistic"] },
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
				if (ran === undefined || asked.kind !== "state")
					throw new AssayError("NO_ANSWER", "a toy answers no such thing");
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

	async function work(asked: { job: string; part: number; attempt: number; audit: number | null }): Promise<void> {
		const { attempt, audit } = asked;
		const params = { id: asked.job, part: asked.part };
		const offer = await client.getPartOffer({ params, query: audit === null ? {} : { audit } });
		await o.at?.("offered", offer);
		if (audit === null) {
			if (offer.assignment !== null) await assign(o.chain!, offer);
			await client.acceptPart({ params, body: { attempt } });
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

/** Of tensors' bytes. */
function rootsOf(
	tensors: readonly { readonly type: Parameters<typeof bytesToElements>[1]; readonly dims: readonly number[] }[],
	all: readonly Uint8Array[],
) {
	return all.map((bytes, i) => tensorRoot(bytesToElements(bytes, tensors[i]!.type, elementCount(tensors[i]!.dims))!));
}

async function fetchElements(
	client: ApiClient,
	offer: PartOffer,
	tensor: { type: never; dims: readonly number[] },
	blob: BlobName,
): Promise<Elements> {
	// What only this provider holds is its own.
	const bytes = await fetchBlob(client, blob, { job: offer.id }).catch(() => fetchBlob(client, blob, {}));
	return bytesToElements(bytes, tensor.type, elementCount(tensor.dims))!;
}

async function run(client: ApiClient, offer: PartOffer, o: WorkerOptions): Promise<Ran> {
	const { spec, first, count } = offer;
	const checked = orThrow(openProgram(await fetchBlob(client, spec.program, { job: offer.id })));
	const { tensors } = checked.program;
	const given: Record<string, Elements> = {};
	for (const { tensor, root, size } of spec.given)
		given[tensors[tensor]!.name] = await fetchElements(client, offer, tensors[tensor] as never, { root, size });
	const machine = createMachine(checked, hexToBytes(spec.seed, 32)!, given);
	const numbers = (kind: TensorKind) => tensors.flatMap((one, i) => (one.kind === kind ? [i] : []));
	if (offer.begin !== null) {
		const state = new Map<number, Elements>();
		for (const [kind, blobs] of [["state", offer.begin.state] as const, ["result", offer.begin.results] as const])
			for (const [i, tensor] of numbers(kind).entries())
				state.set(tensor, await fetchElements(client, offer, tensors[tensor] as never, blobs[i]!));
		machine.restore(first, state);
	}
	const bytesOfKind = (kind: TensorKind) => numbers(kind).map((tensor) => elementsToBytes(machine.tensors[tensor]!));
	const rootsOfKind = (kind: TensorKind) => numbers(kind).map((tensor) => tensorRoot(machine.tensors[tensor]!));
	const states: Uint8Array[] = [];
	const kept: Ran["kept"] = [];
	const keep = (before: number) => {
		states.push(stateHashOf(checked.program, before, rootsOfKind("state"), rootsOfKind("result")));
		kept.push({ state: bytesOfKind("state"), results: bytesOfKind("result") });
	};
	keep(first);
	const lieFrom = o.lieFrom?.(offer) ?? null;
	for (let segment = first; segment < first + count; segment++) {
		machine.runSegment();
		if (lieFrom !== null && segment >= lieFrom) lie(machine, numbers("state")[0]!);
		keep(segment + 1);
		await o.at?.("segment", offer);
		if (offer.audit === null) {
			const body = {
				attempt: offer.attempt,
				done: segment + 1 - first,
				metrics: [{ step: segment, values: [segment] }],
				previews: [],
			};
			const { go } = await client.beatPart({ params: { id: offer.id, part: offer.part }, body });
			if (!go) throw new Error("told to stop");
		}
	}
	return { states, kept, machine };
}

/** One number is another; the program goes on from there. */
function lie(machine: Machine, tensor: number): void {
	const elements = machine.tensors[tensor]!;
	const { lo, hi } = machine.checked.program.tensors[tensor]!;
	const now = BigInt(elements[0]!);
	const told = now < hi ? now + 1n : now - 1n < lo ? now : now - 1n;
	if (elements instanceof BigInt64Array) elements[0] = told;
	else elements[0] = Number(told);
}

async function claimBody(client: ApiClient, attempt: number, states: BlobName, { states: list, kept, machine }: Ran) {
	const { program } = machine.checked;
	const last = kept.at(-1)!;
	const put = async (all: readonly Uint8Array[]) => {
		const names: BlobName[] = [];
		for (const bytes of all) names.push(await uploadBlob(client, { bytes }));
		return names;
	};
	const results = rootsOf(
		program.tensors.filter(({ kind }) => kind === "result"),
		last.results,
	);
	return {
		...{ attempt, states, state: await put(last.state), results: await put(last.results) },
		segmentRoot: bytesToHex(segmentTree(list).root),
		resultRoot: bytesToHex(resultRootOf(program, results)),
	};
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
