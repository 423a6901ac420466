// The parts of a job and the draws behind them, as tables: who has what, what was run again, and everything
// with which a stranger draws again.
import type { Job, JobDraws, JobHostView } from "../../src/api/types.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatCount, formatFigure } from "../parts/format.ts";
import { Badge, Id, IdCell, Panel, Table, Time, type Tone } from "../parts/small.tsx";
import { AttestedOf } from "../proofs/attested.tsx";
import type { LiveJob } from "./job-events.ts";

type Part = Job["record"]["parts"][number];

const TONES: Readonly<Record<Part["state"], Tone>> = {
	open: "none",
	assigned: "running",
	running: "running",
	claimed: "inconclusive",
	paid: "valid",
	refunded: "abandoned",
};

export function PartBadge({ state, isChecked }: Pick<Part, "state" | "isChecked">) {
	return <Badge tone={TONES[state]}>{state === "claimed" && isChecked ? "checked" : state}</Badge>;
}

function checks({ audits, proven }: Pick<Part, "audits" | "proven">): string {
	if (proven !== undefined) return `${formatCount(proven)} proven`;
	if (audits.length === 0) return "–";
	const agreed = audits.filter(({ agrees }) => agrees === true).length;
	const differ = audits.filter(({ agrees }) => agrees === false).length;
	return `${agreed} of ${audits.length} agree${differ > 0 ? `, ${differ} differ` : ""}`;
}

/** Which of its host's devices has it, and what that one proved, where it takes jobs now. */
function Proven({ host, device }: { host: JobHostView | undefined; device: number | undefined }) {
	const proven = host?.devices.find((one) => one.device === device);
	if (host === undefined || proven === undefined) return null;
	return (
		<span class="dim small-text" title="Proven by probes, not what the host says">
			{host.devices.length > 1 ? `device ${device}, ` : ""}
			{formatFigure(proven.int8OpsPerS, "op/s", "gemm.int8")} int8, {formatBytes(proven.memoryBytes)}
		</span>
	);
}

const isEnded = ({ state }: Pick<Part, "state">): boolean => state === "paid" || state === "refunded";

interface PartsProps {
	parts: readonly Part[];
	live: LiveJob;
	hosts: readonly JobHostView[];
	/** Segments from one kept state to the next. */
	perWindow: number;
}

/** How often a state is kept. */
export const everyWindow = (perWindow: number): string =>
	perWindow === 1 ? "after every segment" : `every ${formatCount(perWindow)} segments`;

export function PartsPanel({ parts, live, hosts, perWindow }: PartsProps) {
	const known = new Map(hosts.map((host) => [host.provider, host]));
	const head = ["Part", "State", "Provider", ["Segments", "num"], ["Kept states", "num"], "Checks", "Claim", "Until"];
	return (
		<Panel title="Parts" aside={`each has its own claim, bond and payment; a state is kept ${everyWindow(perWindow)}`}>
			<Table label="Parts of the job" head={head as PartsHead}>
				{parts.map((one) => {
					const done = Math.max(one.done, live.done.get(one.part) ?? 0);
					return (
						<tr key={one.part} data-part={one.part} data-state={one.state}>
							<td>
								{one.part + 1}
								{one.attempt > 1 ? <span class="dim"> attempt {one.attempt}</span> : null}
							</td>
							<td>
								<PartBadge {...one} />
							</td>
							<td>
								{one.provider === null ? (
									"–"
								) : (
									<>
										<Id id={one.provider} href={`/providers/${one.provider}`} /> <AttestedOf id={one.provider} />{" "}
										<Proven host={known.get(one.provider)} device={one.device} />
									</>
								)}
							</td>
							<td class="num">{formatCount(done)}</td>
							<td class="num">{formatCount(Math.floor(done / perWindow))}</td>
							<td>{checks(one)}</td>
							<td>{one.claim === null ? "–" : <Id id={one.claim} />}</td>
							<td>{one.untilMs === 0 || isEnded(one) ? "–" : <Time atMs={one.untilMs} />}</td>
						</tr>
					);
				})}
			</Table>
		</Panel>
	);
}
type PartsHead = readonly (string | readonly [string, string])[];

const ROLES = ["provider", "auditor", "segments"];

export function DrawsPanel({ draws }: { draws: JobDraws }) {
	const head = ["Part", "Who is drawn", ["On the list", "num"], "Hash of the list", "Block", "First drawn"] as const;
	return (
		<Panel
			title="Draws"
			aside={
				draws.secret === null ? (
					"the secret is told when the job is over"
				) : (
					<a href={`/v1/jobs/${draws.id}/draws`}>all of it, to draw again</a>
				)
			}
		>
			<Table label="Draws of the job" head={head} none="Nobody was drawn yet">
				{draws.draws.map((one) => (
					<tr key={`${one.part} ${one.attempt} ${one.role} ${one.listHash}`}>
						<td>
							{one.part + 1}
							{one.attempt > 1 ? <span class="dim"> attempt {one.attempt}</span> : null}
						</td>
						<td>{ROLES[one.role] ?? "–"}</td>
						<td class="num">{formatCount(one.list.length)}</td>
						<IdCell id={one.listHash} />
						<td>{one.block === null ? "–" : <Id id={one.block} />}</td>
						<td>{one.drawn[0] === undefined ? "–" : <Id id={one.drawn[0]} href={`/providers/${one.drawn[0]}`} />}</td>
					</tr>
				))}
			</Table>
		</Panel>
	);
}
