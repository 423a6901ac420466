// Proves segments that follow each other as one run, docs/zk.md §13, on an engine: a part for each, then
// their fold. What hides is drawn here: nonces, a mask, and blinders of what no statement names. Commitments
// that statements name have none, so that whoever holds the bytes finds them again.
import { GIVEN } from "../../../engine/client/open-prove-session.ts";
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { type SegmentStatement, statementHash } from "../../../verify/zk/statement.ts";
import { encodePlan } from "../../../work/plan/encode-plan.ts";
import type { ProveWith } from "../prove-segment.ts";
import { type StatedSegment, statementOf } from "../prove-segment.ts";
import { drawnScalar } from "./wrap-run.ts";

export interface RunBy extends Pick<ProveWith, "open" | "device" | "powers" | "mayProve"> {
	readonly randomBytes: (count: number) => Uint8Array;
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((segment: number, done: number, total: number) => void) | undefined;
}

/** Groups of a plan whose commitments a statement names: features, labels, weights before and after. */
const NAMED_GROUPS = 4;

/**
 * `segments`: what each is about, in their order; its weights are read when it is its turn. Null: it was
 * stopped. Throws AssayError, as proveStated.
 */
export async function proveRun(
	segments: readonly (Omit<StatedSegment, "given"> & { given(): Promise<StatedSegment["given"]> })[],
	by: RunBy,
): Promise<{ readonly statements: readonly SegmentStatement[]; readonly proof: Uint8Array } | null> {
	const { powers, signal } = by;
	const { plan } = segments[0]!;
	const session = await by.open({ device: by.device, plan: encodePlan(plan, powers.points === null) });
	const statements: SegmentStatement[] = [];
	const parts: Uint8Array[] = [];
	const blinders = () =>
		concatBytes(
			...plan.groups.flatMap(({ chunks }, group) =>
				Array.from({ length: chunks }, () => (group < NAMED_GROUPS ? new Uint8Array(32) : drawnScalar(by))),
			),
		);
	try {
		for (const [i, of] of segments.entries()) {
			const given = await of.given();
			const onProgress = (done: number, total: number) => by.onProgress?.(of.segment, done, total);
			if (i === 0) {
				await session.give(GIVEN.features, given.entering);
				await session.give(GIVEN.labels, given.labels);
				if (powers.points !== null)
					await session.give(GIVEN.powers, concatBytes(powers.points, powers.next ?? new Uint8Array()));
			}
			for (const [l, weights] of given.weights.entries()) await session.give(GIVEN.weights + l, weights);
			await session.give(GIVEN.weights + given.weights.length, blinders());
			const points = await session.commit({
				...{ seed: of.seed, firstStep: (of.segment - 1) * plan.steps, signal, onProgress },
			});
			if (points === null) return null;
			const statement = statementOf(of, powers.id, points);
			if (by.mayProve !== undefined && !(await by.mayProve(statement))) return null;
			const part = await session.provePart({
				...{ statement: statementHash(statement), nonce: drawnScalar(by), signal, onProgress },
			});
			if (part === null) return null;
			statements.push(statement);
			parts.push(part);
		}
		const fold = await session.fold({ secret: by.randomBytes(32), signal });
		return fold === null ? null : { statements, proof: concatBytes(...parts, fold) };
	} finally {
		await session.release().catch(() => {});
	}
}
