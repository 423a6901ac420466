// `assay probe --fleet FILE` around the probes: progress, the table or the JSON lines, the folder of the
// evidence.

import type { CliIo } from "../command.ts";
import { formatDuration } from "../print/format.ts";
import type { Paint } from "../print/paint.ts";
import { paintFor } from "../print/paint.ts";
import { createStatusLine } from "../print/status-line.ts";
import { type Column, left, shown, table } from "../print/table.ts";
import { type FleetRow, fleetExit, type ProbeOne, probeFleet } from "./probe-fleet.ts";

const columns: readonly Column<FleetRow>[] = [
	left("host", ({ target }) => target),
	left(
		"",
		({ status }) => status,
		({ status }, paint) =>
			status === "valid" ? paint.good : status === "inconclusive" || status === "not probed" ? paint.unsure : paint.bad,
	),
	left("proven", ({ cards }) => cards),
	left("", ({ code, why }) => [code, shown(why, 120)].filter(Boolean).join(": ")),
	left("evidence", ({ evidence }) => evidence, "dim"),
	left("", ({ tookUs }) => (tookUs === 0 ? "" : formatDuration(tookUs)), "dim"),
];

function summary(rows: readonly FleetRow[]): string {
	const counts = new Map<string, number>();
	for (const { status } of rows) counts.set(status, (counts.get(status) ?? 0) + 1);
	return `  ${rows.length} hosts: ${[...counts].map(([status, count]) => `${count} ${status}`).join(", ")}`;
}

/** Gives the exit code. With --json one line a host, as it ends. */
export async function runFleet(
	targets: readonly string[],
	probeOne: ProbeOne,
	values: { readonly json: boolean; readonly "at-once": number },
	io: CliIo,
): Promise<number> {
	const paint: Paint = paintFor(io.err, io.env);
	const line = io.err.isTTY === true ? createStatusLine(io.err) : null;
	let done = 0;
	const rows = await probeFleet(targets, probeOne, {
		atOnce: values["at-once"],
		signal: io.interrupted,
		onRow: (row) => {
			done += 1;
			if (values.json) io.out.write(`${JSON.stringify(row)}\n`);
			else if (line !== null) line.update(`  ${done} of ${targets.length} hosts`);
			else io.err.write(paint.dim(`  ${row.target}: ${row.status} (${done} of ${targets.length})\n`));
		},
	});
	line?.clear();
	if (!values.json) io.out.write(`${table(columns, rows, paintFor(io.out, io.env))}\n${summary(rows)}\n`);
	return fleetExit(rows);
}
