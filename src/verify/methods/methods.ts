// The record of a method by its name, for everybody who has a job at hand, and how orders are written.
import { type JobMethod, METHOD_NAMES, METHOD_NUMBERS, type MethodName } from "../../protocol/network/job.ts";
import type { Method } from "./method.ts";
import * as table from "./table.ts";

export const METHODS: { readonly [Name in MethodName]: Method } = { ...table };

export const methodOf = ({ name }: Pick<JobMethod, "name">): Method => METHODS[name];

/** By its number in the escrow's terms. */
export const methodNumbered = (number: number): Method | undefined =>
	METHODS[METHOD_NAMES.find((name) => METHOD_NUMBERS[name] === number)!];

function usualOrder(name: MethodName): JobMethod {
	return { name, count: METHODS[name].counts.usual };
}

/** Where an order names none. */
export const DEFAULT_METHOD: JobMethod = usualOrder(METHOD_NAMES.find((name) => METHODS[name].isDefault)!);

/** `redundant:2`, `optimistic` */
export const methodText = ({ name, count }: JobMethod): string => (count === 0 ? name : `${name}:${count}`);

export const orList = (words: readonly string[]): string =>
	words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

/** The usual order of each method of which this holds: `redundant:2`, `optimistic` */
export const ordersWhere = (holds: (method: Method) => boolean): readonly string[] =>
	METHOD_NAMES.filter((name) => holds(METHODS[name])).map((name) => methodText(usualOrder(name)));
