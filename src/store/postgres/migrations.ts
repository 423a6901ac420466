// The tables, as numbered migrations: applied once each, in order, under a lock, recorded with their hash. A
// migration that has been released is never edited; a change is a new number. They are text in the program,
// not files beside it, so that a packed program has them.
import { createHash } from "node:crypto";
import { AssayError } from "../../protocol/assay-error.ts";
import { tables } from "./migrations/001-tables.ts";
import { chain } from "./migrations/002-chain.ts";
import { noEpochs } from "./migrations/003-no-epochs.ts";
import { dueProbes } from "./migrations/004-due-probes.ts";
import { strength } from "./migrations/005-strength.ts";
import { turns } from "./migrations/006-turns.ts";
import { rollCalls } from "./migrations/007-roll-calls.ts";
import { escrow } from "./migrations/008-escrow.ts";
import { callsBeforeRental } from "./migrations/009-calls-before-rental.ts";
import { openings } from "./migrations/010-openings.ts";
import { jobs } from "./migrations/011-jobs.ts";
import { jobAnswers } from "./migrations/012-job-answers.ts";
import { jobTakers } from "./migrations/013-job-takers.ts";
import { deviceKeys } from "./migrations/014-device-keys.ts";
import { drawLists } from "./migrations/015-draw-lists.ts";
import { cheats } from "./migrations/016-cheats.ts";
import { uptime } from "./migrations/017-uptime.ts";
import { claimantsWords } from "./migrations/018-claimants-words.ts";
import { lastHolder } from "./migrations/019-last-holder.ts";
import { alike } from "./migrations/020-alike.ts";
import { probesByEnd } from "./migrations/021-probes-by-end.ts";
import { uncalled } from "./migrations/022-uncalled.ts";
import type { Sql } from "./sql.ts";

interface Migration {
	readonly number: number;
	readonly name: string;
	readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
	{ number: 1, name: "tables", sql: tables },
	{ number: 2, name: "chain", sql: chain },
	{ number: 3, name: "no-epochs", sql: noEpochs },
	{ number: 4, name: "due-probes", sql: dueProbes },
	{ number: 5, name: "strength", sql: strength },
	{ number: 6, name: "turns", sql: turns },
	{ number: 7, name: "roll-calls", sql: rollCalls },
	{ number: 8, name: "escrow", sql: escrow },
	{ number: 9, name: "calls-before-rental", sql: callsBeforeRental },
	{ number: 10, name: "openings", sql: openings },
	{ number: 11, name: "jobs", sql: jobs },
	{ number: 12, name: "job-answers", sql: jobAnswers },
	{ number: 13, name: "job-takers", sql: jobTakers },
	{ number: 14, name: "device-keys", sql: deviceKeys },
	{ number: 15, name: "draw-lists", sql: drawLists },
	{ number: 16, name: "cheats", sql: cheats },
	{ number: 17, name: "uptime", sql: uptime },
	{ number: 18, name: "claimants-words", sql: claimantsWords },
	{ number: 19, name: "last-holder", sql: lastHolder },
	{ number: 20, name: "alike", sql: alike },
	{ number: 21, name: "probes-by-end", sql: probesByEnd },
	{ number: 22, name: "uncalled", sql: uncalled },
];

/** Within one transaction: all of them or none. `schema` is a checked name. */
export async function migrate(sql: Sql, schema: string, migrations: readonly Migration[] = MIGRATIONS): Promise<void> {
	// Two processes that start at once: the second waits, then finds everything done.
	await sql.write("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`assay/migrate/${schema}`]);
	await sql.write(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
	await sql.write(
		`CREATE TABLE IF NOT EXISTS ${schema}.migrations (number integer PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
	);
	const rows = await sql.query<{ readonly number: number; readonly sha256: string }>(
		`SELECT number, sha256 FROM ${schema}.migrations`,
	);
	const applied = new Map(rows.map((row) => [row.number, row.sha256]));
	for (const { number, name, sql: statements } of migrations) {
		const sha256 = createHash("sha256").update(statements).digest("hex");
		const known = applied.get(number);
		applied.delete(number);
		if (known === sha256) continue;
		if (known !== undefined)
			throw new AssayError(
				"STORE_MIGRATION",
				`migration ${number} (${name}) in schema ${schema} is not the one that was applied`,
			);
		await sql.write(`SET LOCAL search_path = ${schema}`);
		await sql.write(statements);
		await sql.write(`INSERT INTO ${schema}.migrations (number, name, sha256) VALUES ($1, $2, $3)`, [
			number,
			name,
			sha256,
		]);
	}
	const unknown = [...applied.keys()];
	if (unknown.length > 0)
		throw new AssayError(
			"STORE_MIGRATION",
			`schema ${schema} was made by a newer version (migration ${unknown.join(", ")})`,
		);
}
