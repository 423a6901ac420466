// The figures of one proof, by device and name, as terms that name their evidence. A figure that is not there
// is 0: to hide one never pays.
import type { Term, Unit } from "./explanation.ts";
import { given } from "./recompute.ts";
import type { Proof } from "./score-input.ts";

export type ProvenFigures = ReturnType<typeof provenFiguresOf>;

export function provenFiguresOf({ figures, evidence }: Pick<Proof, "figures" | "evidence">) {
	/**
	 * Null when there is none. ATTACK: of several with one name the least counts. Devices that are one card may
	 * each be fast in another stage; in any one stage all of them together are no faster than the card.
	 */
	function measured(device: number, name: string, unit: Unit): Term | null {
		const values = figures
			.filter((f) => f.device === device && f.name === name && f.unit === unit)
			.map(({ value }) => (Number.isSafeInteger(value) && value > 0 ? value : 0));
		return values.length === 0 ? null : given(name, unit, Math.min(...values), evidence);
	}
	return {
		measured,
		proven: (device: number, name: string, unit: Unit): Term =>
			measured(device, name, unit) ?? given(name, unit, 0, evidence),
	};
}
