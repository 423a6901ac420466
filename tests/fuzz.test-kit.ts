// How many random cases a test tries: one setting for all of them. ASSAY_FUZZ multiplies every count: 1 in
// `npm test`, less in `npm run check`, 25 in `npm run test:deep`. The cases of the first two are the same in
// every run; the deep ones are drawn anew from a seed that is printed, and ASSAY_SEED brings them back.
import fc from "fast-check";

const scale = Number(process.env.ASSAY_FUZZ ?? 1);
if (!(scale > 0)) throw new RangeError(`ASSAY_FUZZ is a factor above 0, not ${process.env.ASSAY_FUZZ}`);

export const isDeep = scale > 1;
export const seed = Number(process.env.ASSAY_SEED ?? (isDeep ? Date.now() % 2 ** 31 : 20261115));
if (isDeep) console.log(`ASSAY_SEED=${seed}`);
fc.configureGlobal({ seed, numRuns: Math.max(1, Math.round(100 * scale)) });

/** `count` random cases, by the setting; never none. */
export const scaled = (count: number): number => Math.max(1, Math.round(count * scale));

/** The library with the setting's seed; `numRuns` goes through `scaled`. */
export { fc };
