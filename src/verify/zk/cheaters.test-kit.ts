// Provers that cheat in one place and are honest in all else, as tests of removed checks take them.
import assert from "node:assert/strict";
import { inverse, mod } from "../../../vectors/naive-bn254.ts";
import type { Run, Shape, Start } from "../../../vectors/naive-plan.ts";
import type { SegmentCheat } from "../../../vectors/naive-segment.ts";
import { type Removed, without } from "./removed.test-kit.ts";
import { prove } from "./segment.test-kit.ts";
import { verifySegment } from "./verify-segment.ts";

type Verify = typeof verifySegment;

async function verifierWithout(removed: Removed): Promise<Verify> {
	return (await import(`./verify-segment.ts${without(removed)}`)).verifySegment as Verify;
}

export interface Cheater extends SegmentCheat {
	readonly shape?: Shape;
	readonly start?: Start;
}

/**
 * With its check the verifier refuses the cheater, without it the cheater passes. Shape and start of cheaters
 * that name none.
 */
export const needsOf =
	(shapeElse: Shape, startElse: Start) =>
	async (removed: Removed, { shape, start, ...cheat }: Cheater, code: string): Promise<void> => {
		const { plan, statement, proof } = prove(shape ?? shapeElse, start ?? startElse, cheat);
		const verdict = verifySegment(plan, statement, proof, { isDevAllowed: true });
		assert.equal(verdict.status === "invalid" && verdict.code, code);
		const without = (await verifierWithout(removed))(plan, statement, proof, { isDevAllowed: true });
		assert.equal(without.status === "invalid" ? without.code : "valid", "valid");
	};

export const columns = (...changes: readonly [string, (list: bigint[]) => bigint[]][]): SegmentCheat => ({
	columns: ({ columns: all }: Run) => {
		for (const [name, to] of changes) all.set(name, to(all.get(name)!));
	},
});
/** What helpers lack, all together. */
export function gapOf(all: Map<string, bigint[]>): bigint {
	const sum = (isOf: (name: string) => boolean) =>
		[...all].flatMap(([name, list]) => (isOf(name) ? list : [])).reduce((a, b) => a + b, 0n);
	const tables = sum((name) => name.startsWith("tableHelper"));
	return mod(tables - sum((name) => /helper/i.test(name) && !name.startsWith("tableHelper")));
}
/** Somebody's helper is made to fit, so that the sum over all helpers is right. */
export const fitted =
	(name: string): NonNullable<SegmentCheat["helpers"]> =>
	(all) => {
		const gap = gapOf(all);
		const own = all.get(name)!;
		all.set(name, own.with(0, mod(own[0]! + (name.startsWith("table") ? -gap : gap))));
	};
/** A value that lies in no table. */
export const NOWHERE = columns(["low 0", (list) => list.with(0, inverse(2n))]);
/** Claims of the first sum about a column. */
export const ofLookups = (column: string) => (name: string) =>
	name.startsWith(`${column} `) && name.endsWith(" of lookups");
/** A column is used as it must be, and zeros are committed. */
export const uncommitted = (
	column: string,
	isUnclaimed = ofLookups(column),
	instead = (list: bigint[]) => list.map(() => 0n),
) => ({
	isUnclaimed,
	committed: (all: Map<string, bigint[]>) => {
		for (const [name, list] of all) if (`${name} `.startsWith(`${column} `)) all.set(name, instead(list));
	},
});
/** Of a helper the same numbers in another order, so that their sum is the same. */
export const turned = (column: string): SegmentCheat =>
	uncommitted(column, ofLookups(column), (list) => [...list.slice(1), list[0]!]);

export const dropped = (term: string, part: number): SegmentCheat => ({
	isDropped: (name, number) => name.startsWith(term) && number === part,
});
