// The record of a method by its name, for everybody who has a job at hand.
import type { JobMethod, MethodName } from "../../protocol/network/job.ts";
import type { Method } from "./method.ts";
import * as table from "./table.ts";

export const METHODS: { readonly [Name in MethodName]: Method } = table;

export const methodOf = ({ name }: Pick<JobMethod, "name">): Method => METHODS[name];

/** Where an order names none. */
export const DEFAULT_METHOD: JobMethod = { name: "sampled", count: METHODS.sampled.counts.usual };

/** `redundant:2`, `optimistic` */
export const methodText = ({ name, count }: JobMethod): string => (count === 0 ? name : `${name}:${count}`);
