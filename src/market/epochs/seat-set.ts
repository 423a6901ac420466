// Sets of seats as the chain has them: bit i of 64 is seat i. Pure.
import type { Seat } from "../../protocol/chain/epoch-shapes.ts";

const PPM = 1_000_000n;

export const bitOf = (seat: number): bigint => 1n << BigInt(seat);

export const isInSet = (set: bigint, seat: number): boolean => ((set >> BigInt(seat)) & 1n) === 1n;

export const setOf = (seats: Iterable<number>): bigint =>
	[...seats].reduce((set, seat) => set | (1n << BigInt(seat)), 0n);

/** Ascending. */
export function seatsOf(set: bigint): readonly number[] {
	const seats: number[] = [];
	for (let seat = 0; set >> BigInt(seat) > 0n; seat++) if (isInSet(set, seat)) seats.push(seat);
	return seats;
}

/** Bits without a seat have no stake. */
export const stakeOfSet = (set: bigint, seats: readonly Seat[]): bigint =>
	seats.reduce((sum, { stake }, i) => (isInSet(set, i) ? sum + stake : sum), 0n);

/** INVARIANT: no electorate without stake ever has a quorum. */
export const isQuorum = (stake: bigint, totalStake: bigint, quorumPpm: number): boolean =>
	totalStake > 0n && stake * PPM >= totalStake * BigInt(quorumPpm);

/** Whether every seat of the set exists and they have a quorum of the stake. */
export const isSetValid = (
	set: bigint,
	{ seats, totalStake, quorumPpm }: { seats: readonly Seat[]; totalStake: bigint; quorumPpm: number },
): boolean => set >> BigInt(seats.length) === 0n && isQuorum(stakeOfSet(set, seats), totalStake, quorumPpm);
