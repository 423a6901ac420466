// The way of each part on a line of time: who had it, in which state, for how long. The table of parts beside
// it says the same in words.
import type { Job } from "../../../src/api/types.ts";
import { formatSpan, shortId } from "../../parts/format.ts";
import { useNow } from "../../shell/api.ts";
import type { PartSpan } from "../job-events.ts";

const TONES: Readonly<Record<string, string>> = {
	...{
		assigned: "is-waiting",
		running: "is-running",
		claimed: "is-inconclusive",
		checked: "is-valid",
		paid: "is-valid",
	},
	...{ lost: "is-lost", convicted: "is-invalid", disputed: "is-invalid", refunded: "is-lost", open: "is-lost" },
};
const MOST_PARTS = 60;

export function Timeline({ job, spans }: { job: Job; spans: readonly PartSpan[] }) {
	const now = useNow(job.isOver ? 60_000 : 1000);
	const shown = spans.filter(({ part }) => part < MOST_PARTS);
	if (shown.length === 0) return null;
	const begin = Math.min(job.createdAtMs, ...shown.map(({ fromMs }) => fromMs));
	const end = Math.max(...shown.map(({ fromMs, toMs }) => toMs ?? (job.isOver ? fromMs : now)), begin + 1000);
	const at = (ms: number) => `${(100 * (Math.max(begin, Math.min(end, ms)) - begin)) / (end - begin)}%`;
	return (
		<figure class="timeline" aria-label="Parts over time; the table below has the same">
			{job.record.parts.slice(0, MOST_PARTS).map(({ part }) => (
				<div key={part} class="lane">
					<span class="lane-name">Part {part + 1}</span>
					<span class="lane-bar">
						{shown
							.filter((one) => one.part === part && one.state !== "paid")
							.map((one) => {
								const toMs = one.toMs ?? (job.isOver ? end : now);
								const who = one.provider === null ? "" : `, ${shortId(one.provider)}`;
								return (
									<span
										key={one.fromMs}
										class={`lane-span ${TONES[one.state] ?? ""}`}
										style={{ left: at(one.fromMs), width: `calc(${at(toMs)} - ${at(one.fromMs)})` }}
										title={`${one.state}${who}: ${formatSpan(toMs - one.fromMs)}`}
									>
										{one.state}
									</span>
								);
							})}
					</span>
				</div>
			))}
			<figcaption class="lane-ends dim">
				<span>handed in</span>
				<span>{formatSpan(end - begin)}</span>
			</figcaption>
		</figure>
	);
}
