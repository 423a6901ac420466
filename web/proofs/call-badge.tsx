// What came of a roll call, or of a host in one: mark, word and colour.
import type { RollCall, RollCallAnswer } from "../../src/api/types.ts";
import { Badge, type Tone } from "../parts/small.tsx";

const TONES: Readonly<Record<RollCallAnswer["state"] | RollCall["state"], Tone>> = {
	answered: "valid",
	done: "valid",
	late: "invalid",
	absent: "invalid",
	wrong: "invalid",
	excused: "none",
	uncalled: "none",
	open: "running",
	opening: "running",
	committed: "running",
	void: "abandoned",
};

export function CallBadge({ state, code }: Pick<RollCallAnswer, "code"> & { state: keyof typeof TONES }) {
	return (
		<Badge tone={TONES[state]}>
			<span>{state === "uncalled" ? "not called" : state}</span>
			{code === null ? null : (
				<span class="badge-code" title={code}>
					{code}
				</span>
			)}
		</Badge>
	);
}
