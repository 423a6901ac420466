// The figures of one proof, by device and name, as terms that name their evidence. A figure that is not there is 0: to hide one never pays.
import type { Term, Unit } from "./explanation.ts";
import { given } from "./recompute.ts";
import type { Proof } from "./score-input.ts";

export type ProvenFigures = ReturnType<typeof provenFiguresOf>;

export function provenFiguresOf({ figures, evidence }: Pick<Proof, "figures" | "evidence">) {
	const usable = figures.filter(({ value }) => Number.isSafeInteger(value) && value >= 0);
	return {
		/** The best figure of that name, 0 when there is none. */
		best(device: number, name: string, unit: Unit): Term {
			const values = usable.filter((f) => f.device === device && f.name === name && f.unit === unit);
			const value = values.reduce((best, f) => Math.max(best, f.value), 0);
			return given(name, unit, value, evidence);
		},
		/** The least value of all figures (of one device, or of any) whose name fits; null when there is none. */
		least(device: number | null, fits: (name: string) => boolean): Term | null {
			const found = usable.filter((f) => (device === null || f.device === device) && f.unit === "ppm" && fits(f.name));
			const [first] = found;
			if (first === undefined) return null;
			const value = found.reduce((least, f) => Math.min(least, f.value), first.value);
			return given(first.name, "ppm", value, evidence);
		},
	};
}
