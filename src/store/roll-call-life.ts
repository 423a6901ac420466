// The life of a roll call in the store: whom it expects, how it is opened, committed to, opened host by host,
// and done or void; and how it is forgotten.
import { AssayError } from "../protocol/assay-error.ts";
import type { RollCallId } from "../protocol/roll-call/roll-call.ts";
import { hex, hostileText, integer, json, list, oneOf, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import type { Sql } from "./postgres/sql.ts";
import {
	ANSWER,
	ID,
	keyOf,
	ROLL_ANSWER_STATES,
	ROW,
	type RollAnswerRow,
	type RollCallHost,
	type RollCallRow,
} from "./roll-call-rows.ts";

type Opened = Pick<RollCallRow, "beta0" | "calledAtMs" | "deadlineMs" | "b0AtS"> & RollCallId;
type Committed = Pick<RollCallRow, "b1" | "b1AtS" | "root" | "leaves" | "transaction">;

const MOST_HOSTS = 1_000_000;

/** Every host that a call counts: active, on an agent link, with a proof. */
async function roster({ database }: StoreContext): Promise<readonly RollCallHost[]> {
	return await database.read<RollCallHost>(
		`SELECT p.id, p.connected_to, p.rental_id, EXISTS (SELECT 1 FROM probes r WHERE r.provider_id = p.id AND r.state = 'running') AS is_probed,
			NOT EXISTS (SELECT 1 FROM roll_call_answers a JOIN roll_calls c USING (${ID})
				WHERE a.provider_id = p.id AND c.state = 'done' AND (a.state = 'answered'
					OR a.state <> 'excused' AND c.called_at_ms >= f.proven_at_ms)) AS is_new,
			coalesce((SELECT a.state = 'uncalled' AND c.called_at_ms >= p.connected_at_ms FROM roll_call_answers a JOIN roll_calls c USING (${ID})
				WHERE a.provider_id = p.id AND c.state = 'done' ORDER BY a.at_ms DESC LIMIT 1), false) AS is_uncalled,
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
				rows.filter(({ state }) => state !== "excused" && state !== "uncalled").length,
			],
		);
		if (changed !== 1)
			throw new AssayError("STORE_NOT_FOUND", `roll call ${id.call} is not one that waits for its end`);
		await putAnswers(sql, key, nowMs, rows);
	});
}

/** What is known of each host by now; what was known before is written over. */
async function putAnswers(
	sql: Sql,
	key: ReturnType<typeof keyOf>,
	nowMs: number,
	rows: readonly RollAnswerRow[],
): Promise<void> {
	const columns = ["state", "code", "paid_ppm", "ms", "leaf", "reply", "files", "mega_ops", "bytes"];
	await sql.write(
		`INSERT INTO roll_call_answers (${ID}, at_ms, ${ANSWER})
		SELECT $1, $2, $3, $4, n.* FROM unnest($5::text[], $6::text[], $7::text[], $8::integer[], $9::integer[], $10::integer[], $11::jsonb[],
			$12::jsonb[], $13::bigint[], $14::bigint[]) AS n
		ON CONFLICT (${ID}, provider_id) DO UPDATE SET at_ms = excluded.at_ms, ${columns.map((one) => `${one} = excluded.${one}`).join(", ")}`,
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
}

interface FinishedCall {
	readonly answers: readonly RollAnswerRow[];
	readonly b2: number;
	readonly b2AtS: number;
	readonly beta2: string;
	readonly nowMs: number;
}

/** From a call to its end, and later its removal. */
export function lifeOfCalls(context: StoreContext) {
	return { ...stepsOfCalls(context), ...unfinishedCalls(context), roster: () => roster(context) };
}

function stepsOfCalls(context: StoreContext) {
	const { database } = context;
	return {
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

		/** With what came of every host so far; those in the tree wait for their opening. */
		async commit(
			id: RollCallId,
			{ b1, b1AtS, root, leaves, transaction }: Committed,
			{ answers, nowMs }: { readonly answers: readonly RollAnswerRow[]; readonly nowMs: number } = {
				answers: [],
				nowMs: 0,
			},
		): Promise<void> {
			const key = keyOf(id);
			const rows = list("answers", answers, MOST_HOSTS);
			await database.transaction(async (sql) => {
				const changed = await sql.write(
					`UPDATE roll_calls SET state = 'committed', b1 = $4, b1_at_s = $5, root = $6, leaves = $7, transaction = $8
					WHERE chain_id = $1 AND contract = $2 AND call = $3 AND state = 'open'`,
					[...key, b1, b1AtS, root, leaves, transaction],
				);
				if (changed === 1) await putAnswers(sql, key, nowMs, rows);
			});
		},

		/** What came of one host's opening. */
		async opened(
			id: RollCallId,
			providerId: string,
			{ state, code, files }: Pick<RollAnswerRow, "state" | "code" | "files">,
		): Promise<void> {
			await database.write(
				`UPDATE roll_call_answers SET state = $5, code = $6, files = $7
				WHERE chain_id = $1 AND contract = $2 AND call = $3 AND provider_id = $4 AND state = 'opening'`,
				[
					...keyOf(id),
					hex("a provider's id", providerId, 64),
					oneOf("an answer's state", state, ROLL_ANSWER_STATES),
					code === null ? null : hostileText(code, 64),
					json("files", files),
				],
			);
		},

		finish: (id: RollCallId, finished: FinishedCall) => finish(context, id, finished),

		/**
		 * Ends calls that nobody will end: this one, or all that are open. What was known of their hosts is
		 * forgotten, for it counts for nobody.
		 */
		async void(id: RollCallId | null, { code, nowMs }: { readonly code: string; readonly nowMs: number }) {
			const ended = await database.transaction((sql) =>
				sql.query(
					`WITH ended AS (UPDATE roll_calls SET state = 'void', code = $4, ended_at_ms = $5 WHERE ($1::bigint IS NULL AND state = 'open')
							OR (state IN ('open', 'committed') AND (chain_id, contract, call) = ($1, $2, $3)) RETURNING ${ID}),
						gone AS (DELETE FROM roll_call_answers a USING ended e WHERE (a.chain_id, a.contract, a.call) = (e.chain_id, e.contract, e.call))
					SELECT call FROM ended`,
					[...(id === null ? [null, null, null] : keyOf(id)), text("a code", code, 64), integer("nowMs", nowMs)],
				),
			);
			return ended.length;
		},
	};
}

/** What is under way, and what is old. */
function unfinishedCalls({ database }: StoreContext) {
	return {
		/** Calls that are committed to and not done, newest first; and what is known of the hosts of one. */
		unfinished: () =>
			database.read<RollCallRow>(
				`SELECT ${ROW} FROM roll_calls WHERE state = 'committed' ORDER BY called_at_ms DESC, call DESC`,
			),
		known: (id: RollCallId) =>
			database.read<RollAnswerRow>(
				`SELECT ${ANSWER} FROM roll_call_answers WHERE chain_id = $1 AND contract = $2 AND call = $3 ORDER BY provider_id`,
				[...keyOf(id)],
			),

		/** Whether a call that began after `sinceMs` is under way, at whichever process. */
		async isOpen({ sinceMs }: { readonly sinceMs: number }): Promise<boolean> {
			const rows = await database.read(
				"SELECT 1 FROM roll_calls WHERE state IN ('open', 'committed') AND called_at_ms >= $1 LIMIT 1",
				[integer("sinceMs", sinceMs)],
			);
			return rows.length > 0;
		},

		/**
		 * Forgets calls before `beforeMs`, the newest `keep` excepted; gives the files that nobody names any
		 * more.
		 */
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
