// Roll calls: one row a call from `open` to `done` or `void`, and what came of every host that was called.
// What an answer is worth is decided elsewhere (market/roll-call, verify/roll-call). Page: docs/roll-call.md.
import type { RollCallId } from "../protocol/roll-call/roll-call.ts";
import { hex, integer } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { type Query, readPage } from "./page.ts";
import type { Provider } from "./providers.ts";
import { lifeOfCalls } from "./roll-call-life.ts";
import { ID, keyOf, ROW, type RollAnswerRow, type RollAnswerState, type RollCallRow } from "./roll-call-rows.ts";

export type { KeptReply, RollAnswerRow, RollCallHost, RollCallRow } from "./roll-call-rows.ts";

/** All calls as one provider met them. */
const MET = `roll_calls c LEFT JOIN roll_call_answers a
	ON (a.chain_id, a.contract, a.call) = (c.chain_id, c.contract, c.call) AND a.provider_id = $1`;

export type RollCallStore = ReturnType<typeof createRollCallStore>;

export function createRollCallStore(context: StoreContext) {
	return { ...lifeOfCalls(context), ...whatCame(context), ...ofProviders(context) };
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
		get: async (call: number) =>
			await database.readOne<RollCallRow>(
				`SELECT ${ROW} FROM roll_calls WHERE call = $1 ORDER BY called_at_ms DESC LIMIT 1`,
				[integer("a call", call)],
			),

		/** By provider. Of a call that is committed to: as far as it has come. */
		answers: (id: RollCallId, query: Query<Pick<RollAnswerRow, "state">> = {}) => {
			const [chainId, contract, call] = keyOf(id);
			return readPage<RollAnswerRow & Pick<Provider, "name" | "attestation">>(
				database,
				{
					name: "roll-call-answers",
					columns:
						"a.provider_id, a.state, a.code, a.paid_ppm, a.ms, a.leaf, a.reply, a.files, a.mega_ops, a.bytes, p.name, p.attestation",
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
	};
}

/** Calls as one provider met them. */
function ofProviders({ database }: StoreContext) {
	return {
		/**
		 * The network's newest calls as one provider met them, newest first: what rentals have paid. ATTACK: a
		 * call without a row of the provider counts as missed; else one would pause, or come under a new key,
		 * whenever another key answers with the card.
		 */
		outcomes: (providerId: string, limit: number) =>
			database.read<Pick<RollAnswerRow, "state" | "paidPpm">>(
				`SELECT coalesce(a.state, 'absent') AS state, a.paid_ppm FROM ${MET}
				WHERE c.state = 'done' AND (a.state IS DISTINCT FROM 'excused' OR a.paid_ppm IS NOT NULL)
				ORDER BY c.called_at_ms DESC, c.call DESC LIMIT $2`,
				[hex("a provider's id", providerId, 64), integer("a limit", limit, 1, 10_000)],
			),

		/**
		 * The newest of those that did not excuse it: what presence is made of. It stands still while a provider
		 * is rented and paid for.
		 */
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

		/** Of one provider, newest first: calls that are done. */
		history: (providerId: string, query: Query<object> = {}) =>
			readPage<
				Pick<RollAnswerRow, "state" | "code" | "ms" | "files"> & { readonly call: number; readonly atMs: number }
			>(
				database,
				{
					name: "roll-call-history",
					columns: "call, a.at_ms, a.state, a.code, a.ms, a.files",
					from: `roll_call_answers a JOIN roll_calls c USING (${ID})`,
					by: "a.at_ms",
					id: "call::text",
				},
				[
					["a.provider_id = ?", hex("a provider's id", providerId, 64)],
					["c.state = ?", "done"],
				],
				query,
			),
	};
}
