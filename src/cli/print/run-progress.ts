// A run while it goes on: one line that is rewritten on a terminal, with the curve of the first metric;
// elsewhere a line now and then.

import { threeDigits, wholeSpan } from "../../protocol/format-number.ts";
import type { RunEvent } from "../../provider/jobs/run-part.ts";
import type { Workload } from "../../work/workloads/workload.ts";
import { sparkline } from "./sparkline.ts";
import { createStatusLine, type LineStream } from "./status-line.ts";

export interface RunProgress {
	show(event: RunEvent): void;
	/** A line that stays, above the rewritten one. */
	print(text: string): void;
	end(): void;
}

export const silentRun: RunProgress = { show() {}, print() {}, end() {} };

/** Faster than anyone reads; every update costs a write. */
const UPDATE_EVERY_MS = 80;
/** Lines of a whole run where there is no terminal, and the least time between two. */
const PLAIN_LINES = 20;
const PLAIN_EVERY_MS = 1000;
const CURVE_WIDTH = 24;

const shownValue = (value: number): string => (Math.abs(value) < 1000 ? value.toFixed(4) : threeDigits(value));

export function createRunProgress(
	stream: LineStream,
	metrics: readonly Pick<Workload["metrics"][number], "label" | "unit">[],
	steps: number,
	nowMs: () => number,
): RunProgress {
	const { print, update, clear } = createStatusLine(stream);
	const started = nowMs();
	const curve: number[] = [];
	let [drawnMs, fresh, last] = [Number.NEGATIVE_INFINITY, 0, 0];
	let newest = "";
	const speed = () => (1000 * fresh) / Math.max(1, nowMs() - started);
	const tail = () => {
		// The first step may be why this was begun: no time has passed by then.
		if (fresh < 2) return "";
		return `  ${threeDigits(speed())} steps/s, ${wholeSpan((1000 * (steps - last)) / speed())} left`;
	};
	const onMetrics = (step: number, values: readonly number[], isRepeated: boolean): void => {
		fresh += 1;
		last = step + 1;
		if (!isRepeated) curve.push(values[0]!);
		newest = metrics
			.map(({ label, unit }, i) => `${label} ${shownValue(values[i]!)}${unit === "" ? "" : ` ${unit}`}`)
			.join("  ");
		const isLast = last >= steps;
		const now = nowMs();
		if (stream.isTTY === true) {
			if (now - drawnMs < UPDATE_EVERY_MS && !isLast) return;
			drawnMs = now;
			update(`  step ${last}/${steps}  ${newest}  ${sparkline(curve, CURVE_WIDTH)}${tail()}`);
			return;
		}
		const isDue = last % Math.max(1, Math.ceil(steps / PLAIN_LINES)) === 0 || fresh === 1;
		if (!isLast && !(isDue && now - drawnMs >= PLAIN_EVERY_MS)) return;
		drawnMs = now;
		print(`  step ${last}/${steps}  ${newest}${tail()}`);
	};
	return {
		print,
		show(event) {
			if (event.kind === "begun" && event.from > 0) print(`  goes on with segment ${event.from} of ${event.last}`);
			if (event.kind === "metrics") onMetrics(event.step, event.values, event.isRepeated);
			if (event.kind === "segment" && metrics.length === 0) update(`  segment ${event.segment}`);
		},
		end() {
			clear();
			if (stream.isTTY === true && newest !== "") print(`  step ${last}/${steps}  ${newest}  ${sparkline(curve)}`);
		},
	};
}
