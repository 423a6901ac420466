// Opens hosts whose agent another process of this validator holds: that process opens them as this one would
// (open-host.ts). What it needs and the files it makes lie in the store meanwhile, for they are larger than
// an event; events only say that they are there.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import type { RollCallBody } from "../../protocol/roll-call/roll-file.ts";
import { mustBeElsewhere, watchHolder } from "../agents/ask-agent.ts";
import type { ValidatorContext } from "../validator-context.ts";
import type { TreeEntry } from "./committed-tree.ts";
import { type HostFile, type OpenedCall, openHost } from "./open-host.ts";

/** All of one opening, as JSON. */
interface Order {
	readonly beta0: string;
	readonly beta2: string;
	readonly stated: OpenedCall["stated"];
	readonly entry: Omit<TreeEntry, "leaves"> & { readonly leaves: readonly string[] };
	readonly proofs: readonly RollCallBody["tree"][];
}

type Answer =
	| { readonly ok: true; readonly devices: readonly number[] }
	| { readonly ok: false; readonly code: string; readonly detail: string };

const ASK_EVENT = "internal.roll-open";
const ANSWER_EVENT = "internal.roll-opened";
/** For the events and the store, beyond what the host may take. */
const SLACK_MS = 10_000;

type OpenContext = Pick<ValidatorContext, "config" | "env" | "agents" | "store" | "hub">;

export interface OpenElsewhere {
	/** Throws AssayError as openHost does. */
	open(call: OpenedCall, entry: TreeEntry): Promise<readonly HostFile[]>;
	close(): void;
}

/** `chain` and `account` name the rows in the store; every process of a validator has the same. */
export function createOpenElsewhere(
	context: OpenContext,
	chain: { readonly chainId: number; readonly registry: string },
	account: string,
): OpenElsewhere {
	const { env, hub, store, agents } = context;
	const rows = store.chain.intents(chain, account);
	const waiting = new Map<string, (answer: Answer) => void>();
	const orderOf = (id: string) => `roll-open/${id}`;
	const fileOf = (id: string, device: number) => `roll-open/${id}/${device}`;

	async function carryOut(id: string): Promise<Answer> {
		const order = (await rows.get(orderOf(id))) as unknown as Order | null;
		if (order === null) return { ok: false, code: "ROLL_CALL_FAILED", detail: "nobody asks for this opening any more" };
		const { entry, proofs, stated } = order;
		const call: OpenedCall = {
			...{ beta0: hexToBytes(order.beta0, 32)!, beta2: hexToBytes(order.beta2, 32)!, stated },
			tree: { proofOf: (_, i) => proofs[i]! },
		};
		try {
			const made = await openHost(context, call, {
				...entry,
				leaves: entry.leaves.map((leaf) => hexToBytes(leaf, 32)!),
			});
			for (const { device, file } of made)
				await rows.put(fileOf(id, device), Buffer.from(file).toString("base64") satisfies Json);
			return { ok: true, devices: made.map(({ device }) => device) };
		} catch (error) {
			const known = error instanceof AssayError;
			return { ok: false, code: known ? error.code : "ROLL_CALL_FAILED", detail: known ? error.message : "failed" };
		}
	}

	const unlisten = hub.listen(({ kind, subject, providerId, detail }) => {
		if (kind === ANSWER_EVENT) waiting.get(subject)?.(detail as unknown as Answer);
		else if (kind === ASK_EVENT && providerId !== null && agents.has(providerId) && !waiting.has(subject))
			void carryOut(subject).then((answer) =>
				hub.tell({ kind: ANSWER_EVENT, subject, providerId: null, detail: answer as unknown as Json }),
			);
	});

	return {
		async open(call, entry) {
			const { providerId } = entry;
			const holder = await mustBeElsewhere(store, providerId);
			const id = bytesToHex(env.randomBytes(16));
			const order: Order = {
				...{ beta0: bytesToHex(call.beta0), beta2: bytesToHex(call.beta2), stated: call.stated },
				entry: { ...entry, leaves: entry.leaves.map(bytesToHex) },
				proofs: entry.leaves.map((_, i) => call.tree.proofOf(entry, i)),
			};
			const { promise, resolve } = Promise.withResolvers<Answer>();
			const late = {
				ok: false,
				code: "AGENT_SILENT",
				detail: "no answer came from the process that holds it",
			} as const;
			const cancel = env.after(context.config.rollCalls.openMs + SLACK_MS, () => resolve(late));
			const unwatch = watchHolder(context, { providerId, holder }, () => resolve({ ...late, code: "AGENT_CLOSED" }));
			waiting.set(id, resolve);
			try {
				await rows.put(orderOf(id), order as unknown as Json);
				hub.tell({ kind: ASK_EVENT, subject: id, providerId, detail: {} });
				const answer = await promise;
				if (!answer.ok) throw new AssayError(answer.code, answer.detail);
				const files: HostFile[] = [];
				for (const device of answer.devices) {
					const file = await rows.get(fileOf(id, device));
					await rows.remove(fileOf(id, device));
					files.push({ device, file: new Uint8Array(Buffer.from(String(file), "base64")) });
				}
				return files;
			} finally {
				cancel();
				unwatch();
				waiting.delete(id);
				await rows.remove(orderOf(id));
			}
		},
		close: unlisten,
	};
}
