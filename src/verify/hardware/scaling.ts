// Which products ran alone, and beside which run with all devices at once they are put. Decided by the
// records: a stage that asks one device, while a stage before it asked several devices of that kind for the
// same product in one instant. No flag says it.
import type { GemmSpec, HostClaim } from "../../protocol/probe/evidence.ts";
import { type Answered, isCommitted } from "./answers.ts";

/** Every challenge was sent before the first one of them was done. */
export function inOneInstant(together: readonly Answered[]): boolean {
	const lastSent = Math.max(...together.map(({ record }) => record.sentAtUs));
	const firstDone = Math.min(...together.map(({ roots, record }) => roots.at(-1)?.atUs ?? record.sentAtUs));
	return lastSent < firstDone;
}

/**
 * The run of the same product on this device, together with other devices of its kind; null when `answer` was
 * not alone.
 */
export function togetherRunOf(answer: Answered, answers: readonly Answered[], { devices }: HostClaim): Answered | null {
	const { spec, stage } = answer.record;
	if (spec.kind !== "gemm" || spec.rounds === 0) return null;
	if (answers.filter(({ record }) => record.stage === stage).length !== 1) return null;
	const kind = devices[spec.device]?.kind;
	const isSame = (other: Answered): boolean => {
		const { spec: s } = other.record;
		return s.kind === "gemm" && s.rounds !== 0 && isCommitted(other) && isSameProduct(s, spec);
	};
	const before = answers.findLast(
		(other) => other.record.stage < stage && other.record.spec.device === spec.device && isSame(other),
	);
	if (before === undefined) return null;
	const together = answers.filter(
		(other) =>
			other.record.stage === before.record.stage && devices[other.record.spec.device]?.kind === kind && isSame(other),
	);
	return together.length >= 2 && inOneInstant(together) ? before : null;
}

function isSameProduct(a: GemmSpec, b: GemmSpec): boolean {
	return a.precision === b.precision && a.m === b.m && a.n === b.n && a.k === b.k;
}
