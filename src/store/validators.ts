// Validators: whose reports count, and with how much stake. Page: docs/network.md §5.

import { integer, text } from "./check-input.ts";
import type { StoreContext } from "./context.ts";
import { appendAudit } from "./journal.ts";
import type { Validator, ValidatorStore } from "./store.ts";

export function createValidatorStore({ database, schema }: StoreContext): ValidatorStore {
	return {
		async put(validator, { nowMs, actor }) {
			const { key, name, stake } = validator;
			const values = [
				text("a validator's key", key, 200),
				text("a validator's name", name, 100),
				integer("a stake", stake),
			];
			await database.transaction(async (sql) => {
				const changed = await sql.write(
					`INSERT INTO validators AS v (key, name, stake) VALUES ($1, $2, $3)
					ON CONFLICT (key) DO UPDATE SET name = excluded.name, stake = excluded.stake
					WHERE (v.name, v.stake) IS DISTINCT FROM (excluded.name, excluded.stake)`,
					values,
				);
				if (changed > 0)
					await appendAudit(
						sql,
						schema,
						{ actor, kind: "validator.put", subject: key, detail: { name, stake } },
						nowMs,
					);
			});
		},
		async remove(key, { nowMs, actor }) {
			return await database.transaction(async (sql) => {
				const removed = await sql.write("DELETE FROM validators WHERE key = $1", [text("a validator's key", key, 200)]);
				if (removed > 0)
					await appendAudit(sql, schema, { actor, kind: "validator.removed", subject: key, detail: {} }, nowMs);
				return removed > 0;
			});
		},
		async get(key) {
			const rows = await database.read("SELECT key, name, stake FROM validators WHERE key = $1", [
				text("a validator's key", key, 200),
			]);
			return (rows[0] as Validator | undefined) ?? null;
		},
		async list() {
			return (await database.read(
				'SELECT key, name, stake FROM validators ORDER BY key COLLATE "C"',
			)) as readonly Validator[];
		},
	};
}
