// The states that a run keeps on its way: from each of them a part is checked, and goes on after a provider
// was lost. Their hashes are read from the claim's own list, which is held against the claim here. Of a part
// that still runs only its provider's word is there.
import { useState } from "preact/hooks";
import type { Job } from "../../../src/api/types.ts";
import { partRange } from "../../../src/market/jobs/job-rules.ts";
import { bytesToHex } from "../../../src/protocol/bytes/bytes.ts";
import { formatCount } from "../../parts/format.ts";
import { Id, IdCell, Panel, Shown, Table } from "../../parts/small.tsx";
import type { Customer } from "../../rent/rental-key.ts";
import { api, useLoaded } from "../../shell/api.ts";
import { statesRead } from "../../why/claim-states.ts";
import { everyWindow } from "../job-parts.tsx";

type Part = Job["record"]["parts"][number];

/** Of a longer list the last ones. */
const MOST_SHOWN = 200;

/** Segments of a part after which its state is kept: every window, and its end. */
function keptAfter(count: number, perWindow: number): number[] {
	const all: number[] = [];
	for (let after = perWindow; after < count; after += perWindow) all.push(after);
	return [...all, count];
}

export function Checkpoints({ job, customer }: { job: Job; customer: Customer }) {
	const claimed = job.record.parts.filter(({ claim }) => claim !== null);
	return (
		<Panel
			title="Checkpoints"
			aside={`a state is kept ${everyWindow(job.offer.perWindow)}, and at the end of each part`}
		>
			{claimed.length === 0 ? (
				<p class="dim">They are listed once a part is claimed: until then there is only its provider’s word.</p>
			) : (
				claimed.map((part) => <PartCheckpoints key={`${part.part} ${part.claim}`} {...{ job, part, customer }} />)
			)}
		</Panel>
	);
}

function PartCheckpoints(p: { job: Job; part: Part; customer: Customer }) {
	const { job, part } = p;
	// Read when somebody looks: most never do.
	const [isOpen, setOpen] = useState(false);
	const { count } = partRange(job.offer.terms, part.part);
	const kept = keptAfter(count, job.offer.perWindow);
	return (
		<details onToggle={(event) => setOpen(event.currentTarget.open)}>
			<summary>
				Part {part.part + 1}: {formatCount(kept.length)} {kept.length === 1 ? "checkpoint" : "checkpoints"}
			</summary>
			{isOpen ? <States {...p} kept={kept} /> : null}
		</details>
	);
}

function States({ job, part, customer, kept }: { job: Job; part: Part; customer: Customer; kept: readonly number[] }) {
	const read = useLoaded(`checkpoints ${part.claim} ${part.state} ${part.isChecked}`, async (signal) => {
		const { rows } = await api.listClaims({ query: { job: job.id, limit: 500 } }, { signal });
		const claim = rows.find(({ hash }) => hash === part.claim);
		return { states: claim === undefined ? null : await statesRead(job, claim, customer, signal) };
	});
	return (
		<Shown of={read} what="its states">
			{({ states }) =>
				states === null ? (
					<p class="dim">Its list of states is told when nobody runs it again any more.</p>
				) : (
					<StateTable {...{ job, part, kept }} states={states} />
				)
			}
		</Shown>
	);
}

function StateTable(p: { job: Job; part: Part; kept: readonly number[]; states: readonly Uint8Array[] }) {
	const { first, count } = partRange(p.job.offer.terms, p.part.part);
	const shown = p.kept.slice(-MOST_SHOWN);
	return (
		<>
			<Table
				label={`Checkpoints of part ${p.part.part + 1}`}
				head={[["After segment", "num"], "State", "Who holds it"]}
			>
				{shown.map((after) => (
					<tr key={after}>
						<td class="num">{formatCount(first + after - 1)}</td>
						<IdCell id={bytesToHex(p.states[after]!)} />
						<td>
							{after === count ? (
								"stored with the claim: it can be downloaded"
							) : p.part.provider === null ? (
								"–"
							) : (
								<>
									its provider, <Id id={p.part.provider} href={`/providers/${p.part.provider}`} />
								</>
							)}
						</td>
					</tr>
				))}
			</Table>
			{shown.length === p.kept.length ? null : <p class="dim">The last {formatCount(shown.length)} are shown.</p>}
			<p class="dim small-text">
				Computed here: the list of {formatCount(count + 1)} states folds to the claim that is paid.
			</p>
		</>
	);
}
