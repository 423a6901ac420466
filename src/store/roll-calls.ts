// Roll calls: one row a call from `open` to `done` or `void`, and what came of every host that was called. What
// an answer is worth is decided elsewhere (market/roll-call, verify/roll-call). Page: docs/roll-call.md.
import { AssayError } from "../protocol/assay-error.ts";
import type { Figure } from "../protocol/probe/evidence.ts";
import type { RollAnswer, RollCallId } from "../protocol/roll-call/roll-call.ts";
import { hex, hostileText, integer, json, list, oneOf, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { type Query, readPage } from "./page.ts";

const ROLL_ANSWER_STATES = ["answered", "late", "absent", "wrong", "excused"] as const;
type RollAnswerState = (typeof ROLL_ANSWER_STATES)[number];
type RollCallState = "open" | "committed" | "done" | "void";

export interface RollCallRow extends RollCallId {
	/** Hex. */
	readonly beta0: string;
	readonly state: RollCallState;
	/** Why it is void; null otherwise. */
	readonly code: string | null;
	/** When this validator saw the block. */
	readonly calledAtMs: number;
	readonly deadlineMs: number;
	/** Seconds of the blocks' own times. */
	readonly b0AtS: number;
	readonly b1: number | null;
	readonly b1AtS: number | null;
	readonly b2: number | null;
	readonly b2AtS: number | null;
	readonly beta2: string | null;
	readonly root: string | null;
	/** How many the tree has. */
	readonly leaves: number | null;
	readonly transaction: string | null;
	readonly endedAtMs: number | null;
	/** Hosts and devices that answered in time and right, with their work and what they held. In 10⁹ and 10⁶: a large network passes 2⁵³. */
	readonly hosts: number;
	readonly devices: number;
	readonly gigaOps: number;
	readonly megaBytes: number;
	/** Hosts that were counted, whether they answered or not. */
	readonly counted: number;
}

/** What a host said, as the tree has it. */
export interface KeptReply {
	/** 0x and 40 hex digits. */
	readonly account: string;
	readonly answers: readonly RollAnswer[];
	readonly signature: string;
	readonly accountSignatures: readonly string[] | null;
}

export interface RollAnswerRow {
	readonly providerId: string;
	readonly state: RollAnswerState;
	readonly code: string | null;
	/** Of one that was excused because it was rented through the escrow; null otherwise. */
	readonly paidPpm: number | null;
	readonly ms: number | null;
	readonly leaf: number | null;
	readonly reply: KeptReply | null;
	/** One public file a device. */
	readonly files: readonly { readonly device: number; readonly sha256: string; readonly bytes: number }[];
	readonly megaOps: number;
	readonly bytes: number;
}

/** A host that a call expects to answer, with what it has proven. */
export interface RollCallHost {
	readonly id: string;
	/** The process that holds its link; null: none does. */
	readonly connectedTo: string | null;
	readonly rentalId: string | null;
	/** A probe of this validator runs there. */
	readonly isProbed: boolean;
	/** No call has counted for it yet. */
	readonly isNew: boolean;
	/** When the proof behind the figures began. */
	readonly provenAtMs: number;
	readonly devices: readonly { readonly device: number; readonly kind: "gpu" | "cpu" | "disk" }[];
	readonly figures: readonly Figure[];
	readonly evidence: string;
}

type Opened = Pick<RollCallRow, "beta0" | "calledAtMs" | "deadlineMs" | "b0AtS"> & RollCallId;
type Committed = Pick<RollCallRow, "b1" | "b1AtS" | "root" | "leaves" | "transaction">;

const ID = "chain_id, contract, call";
const ROW = `${ID}, beta0, state, code, called_at_ms, deadline_ms, b0_at_s, b1, b1_at_s, b2, b2_at_s, beta2, root, leaves, transaction,
	ended_at_ms, hosts, devices, giga_ops, mega_bytes, counted`;
const ANSWER = "provider_id, state, code, paid_ppm, ms, leaf, reply, files, mega_ops, bytes";
const MOST_HOSTS = 1_000_000;
/** All calls as one provider met them. */
const MET = `roll_calls c LEFT JOIN roll_call_answers a
	ON (a.chain_id, a.contract, a.call) = (c.chain_id, c.contract, c.call) AND a.provider_id = $1`;

const keyOf = ({ chainId, contract, call }: RollCallId) =>
	[integer("a chain's id", chainId), address(contract), integer("a call", call)] as const;

function address(value: string): string {
	if (!/^0x[0-9a-f]{40}$/.test(value)) throw new AssayError("STORE_INPUT", "an address is not 0x and 40 hex digits");
	return value;
}

/** Every host that a call counts: active, on an agent link, with a proof. */
async function roster({ database }: StoreContext): Promise<readonly RollCallHost[]> {
	return await database.read<RollCallHost>(
		`SELECT p.id, p.connected_to, p.rental_id, EXISTS (SELECT 1 FROM probes r WHERE r.provider_id = p.id AND r.state = 'running') AS is_probed,
			NOT EXISTS (SELECT 1 FROM roll_call_answers a WHERE a.provider_id = p.id AND a.state <> 'excused') AS is_new,
			f.proven_at_ms, f.evidence, f.figures, d.devices
		FROM providers p
		JOIN LATERAL (SELECT max(at_ms)::bigint AS proven_at_ms, max(evidence_sha256) AS evidence, jsonb_agg(jsonb_build_object(
			'device', device, 'name', name, 'value', value, 'unit', unit, 'challenge', 0)) AS figures
			FROM figures WHERE provider_id = p.id AND name IN ('gemm.int8', 'memory.resident')) f ON f.figures IS NOT NULL
		JOIN LATERAL (SELECT jsonb_agg(jsonb_build_object('device', device, 'kind', kind) ORDER BY device) AS devices
			FROM devices WHERE provider_id = p.id) d ON d.devices IS NOT NULL
		WHERE p.state = 'active' AND p.link = 'agent' ORDER BY p.id`,
	);
}

/** All answers and the sums over them, in one transaction: presence never sees half a call. */
async function finish(
	{ database }: StoreContext,
	id: RollCallId,
	{ answers, b2, b2AtS, beta2, nowMs }: FinishedCall,
): Promise<void> {
	const key = keyOf(id);
	const rows = list("answers", answers, MOST_HOSTS);
	const right = rows.filter(({ state }) => state === "answered");
	const sum = (of: (row: RollAnswerRow) => number) => right.reduce((total, row) => total + of(row), 0);
	await database.transaction(async (sql) => {
		const changed = await sql.write(
			`UPDATE roll_calls SET state = 'done', b2 = $4, b2_at_s = $5, beta2 = $6, ended_at_ms = $7, hosts = $8, devices = $9, giga_ops = $10,
				mega_bytes = $11, counted = $12 WHERE chain_id = $1 AND contract = $2 AND call = $3 AND state = 'committed'`,
			[
				...key,
				...[
					integer("a block", b2),
					integer("a block's time", b2AtS),
					hex("a hash", beta2, 64),
					integer("nowMs", nowMs),
				],
				...[
					right.length,
					sum(({ files }) => files.length),
					Math.floor(sum(({ megaOps }) => megaOps / 1000)),
					Math.floor(sum(({ bytes }) => bytes / 1e6)),
				],
				rows.filter(({ state }) => state !== "excused").length,
			],
		);
		if (changed !== 1)
			throw new AssayError("STORE_NOT_FOUND", `roll call ${id.call} is not one that waits for its end`);
		await sql.write(
			`INSERT INTO roll_call_answers (${ID}, at_ms, ${ANSWER})
			SELECT $1, $2, $3, $4, n.* FROM unnest($5::text[], $6::text[], $7::text[], $8::integer[], $9::integer[], $10::integer[], $11::jsonb[],
				$12::jsonb[], $13::bigint[], $14::bigint[]) AS n`,
			[
				...key,
				nowMs,
				rows.map(({ providerId }) => hex("a provider's id", providerId, 64)),
				rows.map(({ state }) => oneOf("an answer's state", state, ROLL_ANSWER_STATES)),
				rows.map(({ code }) => (code === null ? null : hostileText(code, 64))),
				rows.map(({ paidPpm }) => (paidPpm === null ? null : integer("a share", paidPpm))),
				rows.map(({ ms }) => (ms === null ? null : integer("milliseconds", ms))),
				rows.map(({ leaf }) => (leaf === null ? null : integer("a leaf", leaf))),
				rows.map(({ reply }) => (reply === null ? null : json("a reply", reply))),
				rows.map(({ files }) => json("files", files)),
				rows.map(({ megaOps }) => integer("operations", megaOps)),
				rows.map(({ bytes }) => integer("bytes", bytes)),
			],
		);
	});
}

interface FinishedCall {
	readonly answers: readonly RollAnswerRow[];
	readonly b2: number;
	readonly b2AtS: number;
	readonly beta2: string;
	readonly nowMs: number;
}

export type RollCallStore = ReturnType<typeof createRollCallStore>;

export function createRollCallStore(context: StoreContext) {
	return { ...lifeOfCalls(context), ...whatCame(context) };
}

/** From a call to its end, and later its removal. */
function lifeOfCalls(context: StoreContext) {
	const { database } = context;
	return {
		roster: () => roster(context),

		/** False: this validator knows the call already. */
		async open({ beta0, calledAtMs, deadlineMs, b0AtS, ...id }: Opened): Promise<boolean> {
			const inserted = await database.write(
				`INSERT INTO roll_calls (${ID}, beta0, state, called_at_ms, deadline_ms, b0_at_s) VALUES ($1, $2, $3, $4, 'open', $5, $6, $7)
				ON CONFLICT DO NOTHING`,
				[
					...keyOf(id),
					hex("a hash", beta0, 64),
					...[integer("calledAtMs", calledAtMs), integer("deadlineMs", deadlineMs), integer("a block's time", b0AtS)],
				],
			);
			return inserted === 1;
		},

		async commit(id: RollCallId, { b1, b1AtS, root, leaves, transaction }: Committed): Promise<void> {
			await database.write(
				`UPDATE roll_calls SET state = 'committed', b1 = $4, b1_at_s = $5, root = $6, leaves = $7, transaction = $8
				WHERE chain_id = $1 AND contract = $2 AND call = $3 AND state = 'open'`,
				[...keyOf(id), b1, b1AtS, root, leaves, transaction],
			);
		},

		finish: (id: RollCallId, finished: FinishedCall) => finish(context, id, finished),

		/** Ends every call that nobody will end: after a restart, or one that went wrong. Counts for nobody. */
		async void(id: RollCallId | null, { code, nowMs }: { readonly code: string; readonly nowMs: number }) {
			return await database.write(
				`UPDATE roll_calls SET state = 'void', code = $4, ended_at_ms = $5 WHERE state IN ('open', 'committed')
					AND ($1::bigint IS NULL OR (chain_id, contract, call) = ($1, $2, $3))`,
				[...(id === null ? [null, null, null] : keyOf(id)), text("a code", code, 64), integer("nowMs", nowMs)],
			);
		},

		/** Whether a call that began after `sinceMs` is under way, at whichever process. */
		async isOpen({ sinceMs }: { readonly sinceMs: number }): Promise<boolean> {
			const rows = await database.read(
				"SELECT 1 FROM roll_calls WHERE state IN ('open', 'committed') AND called_at_ms >= $1 LIMIT 1",
				[integer("sinceMs", sinceMs)],
			);
			return rows.length > 0;
		},

		/** Forgets calls before `beforeMs`, the newest `keep` excepted; gives the files that nobody names any more. */
		async prune({ beforeMs, keep }: { readonly beforeMs: number; readonly keep: number }): Promise<readonly string[]> {
			const rows = await database.transaction((sql) =>
				sql.query<{ readonly sha256: string }>(
					`WITH old AS (SELECT ${ID} FROM roll_calls WHERE called_at_ms < $1 AND state IN ('done', 'void')
						AND (${ID}) NOT IN (SELECT ${ID} FROM roll_calls WHERE state = 'done' ORDER BY called_at_ms DESC LIMIT $2)
						ORDER BY called_at_ms LIMIT 100),
					files AS (SELECT jsonb_array_elements(a.files) ->> 'sha256' AS sha256 FROM roll_call_answers a JOIN old USING (${ID})),
					gone AS (DELETE FROM roll_calls c USING old WHERE (c.chain_id, c.contract, c.call) = (old.chain_id, old.contract, old.call))
					SELECT DISTINCT sha256 FROM files`,
					[integer("beforeMs", beforeMs), integer("keep", keep)],
				),
			);
			return rows.map(({ sha256 }) => sha256);
		},
	};
}

interface CountedCall {
	readonly state: RollAnswerState;
	readonly calledAtMs: number;
}

/** Calls and answers, read. */
function whatCame({ database }: StoreContext) {
	return {
		/** Newest first. */
		list: (query: Query<Pick<RollCallRow, "state">> = {}) =>
			readPage<RollCallRow>(
				database,
				{ name: "roll-calls", columns: ROW, from: "roll_calls", by: "called_at_ms", id: "call::text" },
				[["state = ?", query.state]],
				query,
			),

		/** The newest of this number: blocks of a chain that began anew have old numbers. */
		async get(call: number): Promise<RollCallRow | null> {
			const rows = await database.read<RollCallRow>(
				`SELECT ${ROW} FROM roll_calls WHERE call = $1 ORDER BY called_at_ms DESC LIMIT 1`,
				[integer("a call", call)],
			);
			return rows[0] ?? null;
		},

		/** By provider. */
		answers: (id: RollCallId, query: Query<Pick<RollAnswerRow, "state">> = {}) => {
			const [chainId, contract, call] = keyOf(id);
			return readPage<RollAnswerRow & { readonly name: string }>(
				database,
				{
					name: "roll-call-answers",
					columns:
						"a.provider_id, a.state, a.code, a.paid_ppm, a.ms, a.leaf, a.reply, a.files, a.mega_ops, a.bytes, p.name",
					...{
						from: "roll_call_answers a JOIN providers p ON p.id = a.provider_id",
						by: "a.provider_id",
						id: "''::text",
					},
					...{ kind: "string", descending: false },
				},
				[
					["a.chain_id = ?", chainId],
					["a.contract = ?", contract],
					["a.call = ?", call],
					["a.state = ?", query.state],
				],
				query,
			);
		},

		/** What a tree was made of, in its order: for auditors. */
		async leaves(id: RollCallId) {
			return await database.read<Pick<RollAnswerRow, "providerId" | "leaf" | "reply">>(
				`SELECT provider_id, leaf, reply FROM roll_call_answers
				WHERE chain_id = $1 AND contract = $2 AND call = $3 AND leaf IS NOT NULL ORDER BY leaf`,
				[...keyOf(id)],
			);
		},

		/**
		 * The network's newest calls as one provider met them, newest first: what rentals have paid. ATTACK: a call
		 * without a row of the provider counts as missed; else one would pause, or come under a new key, whenever another key answers with the card.
		 */
		outcomes: (providerId: string, limit: number) =>
			database.read<Pick<RollAnswerRow, "state" | "paidPpm">>(
				`SELECT coalesce(a.state, 'absent') AS state, a.paid_ppm FROM ${MET}
				WHERE c.state = 'done' AND (a.state IS DISTINCT FROM 'excused' OR a.paid_ppm IS NOT NULL)
				ORDER BY c.called_at_ms DESC, c.call DESC LIMIT $2`,
				[hex("a provider's id", providerId, 64), integer("a limit", limit, 1, 10_000)],
			),

		/** The newest of those that did not excuse it: what presence is made of. It stands still while a provider is rented and paid for. */
		async counted(providerId: string, limit: number, afterMs = -1): Promise<readonly CountedCall[]> {
			return await database.read<CountedCall>(
				`SELECT coalesce(a.state, 'absent') AS state, c.called_at_ms FROM ${MET}
				WHERE c.state = 'done' AND a.state IS DISTINCT FROM 'excused' AND c.called_at_ms > $3
				ORDER BY c.called_at_ms DESC, c.call DESC LIMIT $2`,
				[
					hex("a provider's id", providerId, 64),
					integer("a limit", limit, 1, 10_000),
					integer("afterMs", afterMs, -1, Number.MAX_SAFE_INTEGER),
				],
			);
		},

		/** Of one provider, newest first. */
		history: (providerId: string, query: Query<object> = {}) =>
			readPage<
				Pick<RollAnswerRow, "state" | "code" | "ms" | "files"> & { readonly call: number; readonly atMs: number }
			>(
				database,
				{
					name: "roll-call-history",
					columns: "call, at_ms, state, code, ms, files",
					from: "roll_call_answers",
					by: "at_ms",
					id: "call::text",
				},
				[["provider_id = ?", hex("a provider's id", providerId, 64)]],
				query,
			),
	};
}
