// The time that figures of one stage are divided by when several devices of a kind ran at once. Each by its
// own last root would let one device shown as N be served in turn: 1 + ½ + … + 1/N of its speed in all. Two
// ways cannot be played so, for in each all figures together are what was done in one and the same span:
//   window   from the first request to the last root of any of them;
//   overlap  from the first request to the first one's last root, and only the rounds that were done by then.
// Cards alike end together, and the window costs them nothing. Cards of different speeds end apart: then the
// overlap is fairer. The stage takes the way that leaves its devices more.
//
// Between kinds it is the overlap alone: what a CPU did beside GPUs counts until the first of them was done,
// divided by all of that time. A GPU that answers for the CPU as well can then do so only while its own
// figure runs. docs/hardware-proof.md §9.
import type { ChallengeRecord, HostClaim } from "../../protocol/probe/evidence.ts";
import type { RootRecord } from "../../protocol/probe/records.ts";

/** Of an answer (answers.ts), what counts here. */
interface Timed {
	readonly record: ChallengeRecord;
	readonly roots: readonly RootRecord[];
	readonly ownUs: number;
}

export function withCommonTime<A extends Timed>(answers: readonly A[], { devices }: HostClaim): A[] {
	const keyOf = ({ record: { stage, spec } }: Timed) => `${stage} ${devices[spec.device]?.kind}`;
	const stages = new Map<string, A[]>();
	for (const answer of answers) {
		if (answer.roots.length === 0) continue;
		const together = stages.get(keyOf(answer)) ?? [];
		stages.set(keyOf(answer), [...together, answer]);
	}
	return answers.map((answer) => {
		const { stage, spec } = answer.record;
		const together = answer.roots.length > 0 ? stages.get(keyOf(answer))! : [];
		const workUs = together.length < 2 ? answer.ownUs : commonUs(answer, together);
		const gpus = devices[spec.device]?.kind === "cpu" && together.length > 0 ? (stages.get(`${stage} gpu`) ?? []) : [];
		return { ...answer, workUs: Math.max(workUs, besideUs(answer, gpus)) };
	});
}

/**
 * As if all rounds had gone at the speed of those that were done when the first GPU was; 0 where none ran
 * beside it.
 */
function besideUs(answer: Timed, gpus: readonly Timed[]): number {
	if (!isBeside(answer, gpus)) return 0;
	const { record, roots } = answer;
	const fromUs = Math.min(record.sentAtUs, ...gpus.map((gpu) => gpu.record.sentAtUs));
	const untilUs = Math.min(...gpus.map(lastUs));
	const whole = roots.filter(({ atUs }) => atUs <= untilUs).length;
	const next = roots[whole];
	// Done before the GPUs were: lengths are estimates, so a fifth of their time is forgiven.
	if (next === undefined) return Math.ceil(0.8 * (untilUs - fromUs));
	const beforeUs = roots[whole - 1]?.atUs ?? record.sentAtUs;
	const done = whole + (untilUs - beforeUs) / (next.atUs - beforeUs);
	return Math.ceil(((untilUs - fromUs) * roots.length) / done);
}

/** Each of these GPUs was busy for a part of the time, and there is one. */
export function isBeside({ record, roots }: Timed, gpus: readonly Timed[]): boolean {
	if (gpus.length === 0 || roots.length === 0) return false;
	const endUs = roots.at(-1)!.atUs;
	return gpus.every((gpu) => gpu.roots.length > 0 && gpu.record.sentAtUs < endUs && record.sentAtUs < lastUs(gpu));
}

const lastUs = ({ roots }: Timed) => roots.at(-1)!.atUs;

function commonUs(answer: Timed, together: readonly Timed[]): number {
	const fromUs = Math.min(...together.map(({ record }) => record.sentAtUs));
	const windowUs = Math.max(...together.map(lastUs)) - fromUs;
	const overlapUs = Math.min(...together.map(lastUs)) - fromUs;
	const doneBy = ({ roots }: Timed) => roots.filter(({ atUs }) => atUs <= fromUs + overlapUs).length;
	/** As if all rounds had gone at the speed of those done in the overlap. */
	const stretchedUs = (one: Timed) => (overlapUs * one.roots.length) / doneBy(one);
	const left = (usOf: (one: Timed) => number) => together.reduce((sum, one) => sum + one.ownUs / usOf(one), 0);
	// A device without a round in the overlap is stretched without end: the window it is.
	const isWindow = left(() => windowUs) >= left(stretchedUs) || together.some((one) => doneBy(one) === 0);
	return isWindow ? windowUs : Math.ceil(stretchedUs(answer));
}
