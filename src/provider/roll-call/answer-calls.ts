// A provider's answers to roll calls (docs/roll-call.md): one for each block that calls, computed once on the
// host's own engine, signed, and given to every validator that asks. A validator is hostile: it may call
// without a block, ask for more than the host can do, or call all the time. It then costs the host an answer
// to itself, never the answer to the others. Not here: the wire (src/engine/agent/), the engine's part
// (src/engine/client/roll-call-run.ts), openings that are demanded on chain (answer-demands.ts).
import type { RollCallReply, RollCallRequest } from "../../engine/agent/agent-calls.ts";
import { type RolledAnswer, runRollAnswer } from "../../engine/client/roll-call-run.ts";
import { rollCallDevices } from "../../market/roll-call/roll-call-rules.ts";
import { sleep } from "../../platform/abortable.ts";
import { BoundedMap } from "../../platform/bounded-map.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, concatBytes, hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { Signer } from "../../protocol/probe/signer.ts";
import {
	NO_ACCOUNT,
	type RollHost,
	type RollSpec,
	rollAnswerHash,
	rollLeaf,
	rollOps,
} from "../../protocol/roll-call/roll-call.ts";
import { planRollCall } from "../../verify/roll-call/plan-roll-call.ts";
import type { EngineLender } from "../lend-engine.ts";
import type { ProviderEvent } from "../provider-event.ts";
import type { CallBook } from "./call-book.ts";
import type { RollChain } from "./roll-chain.ts";

export interface CallAnswererOptions {
	readonly signer: Signer;
	readonly lender: Pick<EngineLender, "work">;
	readonly claim: () => HostClaim;
	/**
	 * Null: this provider follows no chain. It then believes a validator's hash, and no stake stands for its
	 * answers.
	 */
	readonly chain: RollChain | null;
	readonly book: CallBook;
	/** Host memory that an engine may use. */
	readonly memoryBytes: number;
	readonly nowMs: () => number;
	readonly onEvent: (event: ProviderEvent) => void;
	/** Least time between two calls of one validator. Default 10 s. */
	readonly leastBetweenMs?: number;
}

export interface CallAnswerer {
	/** Throws AssayError: ROLL_CALL_TOO_OFTEN, _NO_BLOCK, _FAILED, or as EngineLender.work does. */
	answer(request: RollCallRequest & { readonly validatorKey: string }): Promise<RollCallReply>;
}

/** Deadlines are 5 s and more, and a call is over only after its openings. */
const LEAST_BETWEEN_MS = 10_000;
/** All validators see a block within a moment; who asks later gets what was begun. */
const GATHER_MS = 50;
/** Of the time there is, by what the device has shown: more would make the host late for everybody. */
const MOST_OF_DEADLINE = 0.85;
const CALLS_KEPT = 64;
const VALIDATORS_KEPT = 256;
/** For the engine's own frames after the deadline: a late answer is still worth knowing the reason of. */
const SLACK_MS = 20_000;

export function createCallAnswerer(options: CallAnswererOptions): CallAnswerer {
	const { signer, lender, claim, chain, book, nowMs, onEvent } = options;
	const leastBetweenMs = options.leastBetweenMs ?? LEAST_BETWEEN_MS;
	const made = new BoundedMap<string, Promise<RollCallReply>>(CALLS_KEPT);
	/** What validators want of the call that is about to begin. */
	const wanted = new BoundedMap<string, RollCallRequest[]>(CALLS_KEPT);
	/** By validator: when it called last, and with which hash for which block. */
	const callers = new BoundedMap<string, { atMs: number; name: string; beta0: string }>(VALIDATORS_KEPT);
	/** Operations a second that a device has shown in an answer. */
	const speeds = new Map<number, number>();

	/**
	 * One call of a validator at a time, and no second hash for it. The same question again is no second call.
	 */
	function mayCall({ validatorKey, ...request }: RollCallRequest & { readonly validatorKey: string }): void {
		const { chainId, contract, call, beta0 } = request;
		const name = `${chainId}/${contract}/${call}`;
		const before = callers.get(validatorKey);
		if (before?.name === name && before.beta0 === beta0) return;
		const tooOften = (why: string) => new AssayError("ROLL_CALL_TOO_OFTEN", why);
		if (before?.name === name) throw tooOften(`block ${call} was called with another hash before`);
		if (before !== undefined && nowMs() - before.atMs < leastBetweenMs)
			throw tooOften(`its last call was less than ${leastBetweenMs / 1000} s ago`);
		callers.set(validatorKey, { atMs: nowMs(), name, beta0 });
	}

	/** The most that anybody asks for, within what the device has shown that it can do in time. */
	function sizesOf(requests: readonly RollCallRequest[]): readonly RollSpec[] {
		const deadlineS = Math.min(...requests.map(({ deadlineMs }) => deadlineMs)) / 1000;
		const host = claim();
		return rollCallDevices(host.devices).flatMap((device) => {
			const asked = requests.flatMap(({ devices }) => devices.filter((one) => one.device === device));
			if (asked.length === 0) return [];
			const speed = speeds.get(device) ?? Number.POSITIVE_INFINITY;
			const ops = Math.min(
				Math.max(...asked.map(({ megaOps }) => 1e6 * megaOps)),
				speed * deadlineS * MOST_OF_DEADLINE,
			);
			const { kind, freeBytes } = host.devices[device]!;
			const free = kind === "gpu" ? freeBytes : Math.min(freeBytes, options.memoryBytes);
			const bytes = Math.max(...asked.map((one) => one.bytes));
			const spec = planRollCall({ device, ops: BigInt(Math.ceil(ops)), bytes }, free);
			if (spec === null) throw failed(`device ${device} has no room for ${bytes} bytes`);
			return [spec];
		});
	}

	async function make(key: string, request: RollCallRequest): Promise<RollCallReply> {
		const beganMs = nowMs();
		const beta0 = hexToBytes(request.beta0, 32)!;
		const id = { chainId: request.chainId, contract: `0x${request.contract}`, call: request.call };
		await chain?.mustBeCall(id, beta0);
		await sleep(GATHER_MS);
		const specs = sizesOf(wanted.get(key) ?? [request]);
		wanted.delete(key);
		if (specs.length === 0) throw failed("none of the devices that were named is here");
		const host: RollHost = { key: signer.key, account: chain?.account ?? NO_ACCOUNT };
		const within = { deadlineMs: request.deadlineMs + SLACK_MS };
		const rolled = await lender.work((client) =>
			Promise.all(specs.map((spec, i) => runRollAnswer(client, i + 1, { beta0, host, spec }, within))),
		);
		for (const one of rolled) speeds.set(one.answer.device, speedOf(one));
		const answers = rolled.map(({ answer }) => answer);
		const roots = rolled.map((one) => bytesToHex(concatBytes(...one.roots)));
		const leaves = answers.map((answer) => rollLeaf(host, answer));
		const accountSignatures = chain && (await Promise.all(leaves.map((leaf) => chain.sign(request.call, beta0, leaf))));
		// Before anybody has it: an opening of what was given out can be demanded.
		if (chain !== null)
			await book.keep({ ...id, beta0: request.beta0, account: host.account, answers, roots, atMs: nowMs() });
		onEvent({ kind: "called", call: request.call, devices: answers.length, ms: nowMs() - beganMs });
		return {
			account: chain?.account.slice(2) ?? null,
			answers,
			signature: bytesToHex(signer.sign(rollAnswerHash(id, beta0, leaves))),
			accountSignatures,
		};
	}

	return {
		async answer(request) {
			mayCall(request);
			const { chainId, contract, call, beta0 } = request;
			const key = `${chainId}/${contract}/${call}/${beta0}`;
			const before = made.get(key);
			if (before !== undefined) {
				wanted.get(key)?.push(request);
				return before;
			}
			wanted.set(key, [request]);
			const making = make(key, request);
			made.set(key, making);
			// Another validator may ask in a moment when the engine is free.
			making.catch(() => made.delete(key));
			return making;
		},
	};
}

const speedOf = ({ answer, gemmUs }: RolledAnswer): number => (1e6 * Number(rollOps(answer))) / Math.max(1, gemmUs);

function failed(why: string): AssayError {
	return new AssayError("ROLL_CALL_FAILED", why);
}
