// The simulation: simulated providers, honest and cheating, before real validators; who was caught, who was
// wrongly accused, who was missed. Page: docs/schedule.md. What a kind is: simulated-kinds.ts; the command:
// simulate-main.ts.
import type { Usage } from "./child-program.ts";
import { type SimulatedKind, spreadKinds } from "./simulated-kinds.ts";
import { kindsById, openToyNetwork, usageOf, type ValidatorOver } from "./toy-network.ts";

export interface SimulateOptions {
	readonly providers: number;
	/** Share of them that cheats. */
	readonly cheaters: number;
	/** Validator processes on one database. */
	readonly validators: number;
	/** Processes that hold the providers. */
	readonly processes: number;
	readonly validator?: ValidatorOver;
	readonly onProgress?: (line: string) => void;
	/** Gives up then, and says who has no verdict. */
	readonly deadlineMs?: number;
}

export interface KindReport {
	readonly kind: string;
	readonly isHonest: boolean;
	readonly providers: number;
	/** Providers of this kind by how they ended: a failure was counted; never proven; proven; no verdict. */
	readonly accused: number;
	readonly unproven: number;
	readonly proven: number;
	readonly waiting: number;
	/** `status CODE` of every counted probe of this kind, and how often; of a valid one: NO_MEMORY. */
	readonly outcomes: Readonly<Record<string, number>>;
}

export interface SimulationReport {
	readonly providers: number;
	readonly kinds: readonly KindReport[];
	/** Cheaters of which everything was proven, at any time. */
	readonly missed: readonly string[];
	/** Honest ones for whom a failure was counted, or who were never proven. */
	readonly wronged: readonly string[];
	/** No verdict at the deadline. */
	readonly waiting: number;
	/** Honest ones whose first late or broken answer was forgiven: worth knowing, no accusation. */
	readonly forgiven: number;
	readonly probes: number;
	readonly seconds: number;
	readonly probesPerS: number;
	/** From due to begun. All are due when they register, so this is how long the queue was. */
	readonly lagS: { readonly p50: number; readonly p99: number };
	readonly validator: Usage;
	readonly simulated: Usage;
	readonly ok: boolean;
}

/** What a valid verdict says where no memory of a card counts. */
export const NO_MEMORY = "MEMORY_SLOW";

/**
 * Failures that were counted in the row (`failures`), or were before a later success: an invalid probe that
 * the schedule did not forgive.
 */
const STANDS = `SELECT p.id, p.failures, p.probed_by IS NULL AND p.last_probe_at_ms IS NOT NULL
	AND p.next_probe_at_ms > p.last_probe_at_ms + 1800000 AS settled,
	(SELECT json_agg(coalesce(r.verdict || coalesce(' ' || r.code,
		CASE WHEN r.findings @> '[{"code":"${NO_MEMORY}"}]' THEN ' ${NO_MEMORY}' END, ''), r.state) ORDER BY r.started_at_ms) FROM probes r WHERE r.provider_id = p.id) AS outcomes
	FROM providers p`;

export interface Stand {
	readonly id: string;
	readonly failures: number;
	readonly settled: boolean;
	readonly outcomes: readonly string[] | null;
}

export async function simulate(o: SimulateOptions): Promise<SimulationReport> {
	const say = o.onProgress ?? (() => {});
	const kinds = spreadKinds(o.providers, o.cheaters);
	const byId = kindsById(kinds);
	const network = await openToyNetwork();
	try {
		const validators = [];
		for (let i = 0; i < o.validators; i++) validators.push(await network.startValidator(o.validator));
		const urls = validators.map(({ url }) => url);
		say(`${o.validators} validator process(es) at ${urls.join(", ")}`);
		const began = performance.now();
		const providers = await network.startProviders({ urls, kinds, processes: o.processes });
		say(`${o.providers} providers have dialled in after ${((performance.now() - began) / 1000).toFixed(1)} s`);
		let stands: readonly Stand[] = [];
		for (;;) {
			stands = (await network.sql.query(STANDS)).rows;
			const settled = stands.filter((stand) => stand.settled).length;
			const elapsed = performance.now() - began;
			if (settled >= o.providers || elapsed > (o.deadlineMs ?? 3_600_000)) break;
			say(`${(elapsed / 1000).toFixed(0)} s: ${settled} of ${o.providers} have their verdict`);
			await new Promise((resolve) => setTimeout(resolve, 1000));
		}
		const seconds = (performance.now() - began) / 1000;
		const [lag] = (
			await network.sql.query(
				`SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY first - registered) / 1000 AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY first - registered) / 1000 AS p99
				FROM (SELECT p.registered_at_ms AS registered, min(r.started_at_ms) AS first FROM providers p JOIN probes r ON r.provider_id = p.id GROUP BY p.id) d`,
			)
		).rows as [{ p50: number; p99: number }];
		const validator = await usageOf(validators.map(({ child }) => child));
		const simulated = await usageOf(providers);
		return reportOf(stands, byId, { seconds, lagS: lag, validator, simulated });
	} finally {
		await network.close();
	}
}

export function reportOf(
	stands: readonly Stand[],
	byId: ReadonlyMap<string, SimulatedKind>,
	measured: Pick<SimulationReport, "seconds" | "lagS" | "validator" | "simulated">,
): SimulationReport {
	const rows = new Map(stands.map((stand) => [stand.id, stand]));
	const judged = [...byId].map(([id, kind]) => {
		const stand = rows.get(id);
		const outcomes = stand?.outcomes ?? [];
		// A machine that stands still while a product is made makes a late stream look only slow: it accuses
		// nobody then, and a cheater has gained nothing, since its memory does not count.
		const isProven = outcomes.some((one) => one === "valid" || (kind.isHonest && one === `valid ${NO_MEMORY}`));
		const isAccused = (stand?.failures ?? 0) > 0;
		const isForgiven = !isAccused && outcomes.some((outcome) => outcome.startsWith("invalid"));
		return { id, kind, outcomes, isProven, isAccused, isForgiven, isSettled: stand?.settled ?? false };
	});
	const names = (some: typeof judged) =>
		some.map(({ id, kind, outcomes }) => `${kind.name} ${id.slice(0, 8)}: ${outcomes.join(", ")}`);
	const missed = judged.filter(({ kind, isProven }) => !kind.isHonest && isProven);
	const wronged = judged.filter(
		({ kind, isProven, isAccused, isSettled }) => kind.isHonest && isSettled && (isAccused || !isProven),
	);
	const kinds = [...Map.groupBy(judged, ({ kind }) => kind)].map(([kind, members]): KindReport => {
		const count = (test: (one: (typeof judged)[number]) => boolean) => members.filter(test).length;
		const outcomes: Record<string, number> = {};
		for (const outcome of members.flatMap((one) => one.outcomes)) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
		return {
			kind: kind.name,
			isHonest: kind.isHonest,
			providers: members.length,
			accused: count((one) => one.isAccused),
			proven: count((one) => one.isProven && !one.isAccused),
			unproven: count((one) => one.isSettled && !one.isProven && !one.isAccused),
			waiting: count((one) => !one.isSettled),
			outcomes,
		};
	});
	const waiting = judged.filter(({ isSettled }) => !isSettled).length;
	const probes = judged.reduce((sum, { outcomes }) => sum + outcomes.length, 0);
	return {
		...measured,
		providers: judged.length,
		kinds,
		missed: names(missed),
		wronged: names(wronged),
		waiting,
		forgiven: judged.filter(({ kind, isForgiven }) => kind.isHonest && isForgiven).length,
		probes,
		probesPerS: probes / measured.seconds,
		ok: missed.length === 0 && wronged.length === 0 && waiting === 0,
	};
}
