// How a job is checked: for each part of a job the claim as a tree, what was run again and by whom, the draws
// done again, and a segment run here. Everything is computed in this browser from what is public; with the
// customer's key also from the claim's list of states.
import { useEffect, useState } from "preact/hooks";
import type { ClaimOfJob, JobDraws } from "../../src/api/types.ts";
import { bytesToHex, concatBytes } from "../../src/protocol/bytes/bytes.ts";
import { pieceRootOf } from "../../src/protocol/hash/blob-tree.ts";
import { Badge, Empty, Panel } from "../parts/small.tsx";
import type { Customer } from "../rent/rental-key.ts";
import { api, useLoaded } from "../shell/api.ts";
import { statesRead } from "./claim-states.ts";
import { ClaimTree } from "./claim-tree.tsx";
import { DrawCheck } from "./draw-check.tsx";
import type { DrawnPart } from "./run-again.ts";
import { SegmentCheck } from "./segment-check.tsx";

/** The root of what each audit covers in the claim's list, as an auditor names its answer. */
async function ownRootsOf(
	draws: JobDraws,
	part: DrawnPart,
	claim: ClaimOfJob,
	customer: Customer,
	signal: AbortSignal,
) {
	const list = await statesRead(draws, claim, customer, signal);
	if (list === null) return null;
	return part.audits.map(({ first, count }) =>
		bytesToHex(pieceRootOf(concatBytes(...list.slice(first, first + count + 1)))),
	);
}

function PartView(p: { draws: JobDraws; part: DrawnPart; claim: ClaimOfJob; customer: Customer | null }) {
	const { draws, part, claim, customer } = p;
	const isOpen = claim.ends !== null;
	const key = `list ${claim.hash} ${isOpen} ${part.audits.length} ${customer?.key ?? ""}`;
	// Not for everybody: whoever may not read it sees the rest.
	const roots = useLoaded(key, (signal) =>
		customer === null ? Promise.resolve(null) : ownRootsOf(draws, part, claim, customer, signal).catch(() => null),
	);
	return (
		<>
			{claim.state === "fallen" || part.isDisputed || part.audits.some(({ agrees }) => agrees === false) ? (
				<p>
					<Badge tone="invalid">{claim.state === "fallen" ? "this claim has fallen" : "disputed"}</Badge>{" "}
					<a href={`/disputes/${claim.hash}`}>See the dispute</a>
				</p>
			) : (
				<p class="dim">
					<a href={`/disputes/${claim.hash}`}>What is held against this claim</a>
				</p>
			)}
			<ClaimTree draws={draws} part={part} claim={claim} ownRoots={roots.value} />
			<h3>Check a segment here</h3>
			<SegmentCheck key={claim.hash} draws={draws} claim={claim} customer={customer} />
		</>
	);
}

export function WhyPanel({ draws, customer }: { draws: JobDraws; customer: Customer | null }) {
	const stamp = draws.parts.map(({ claim, state, isChecked }) => `${claim} ${state} ${isChecked}`).join();
	const claims = useLoaded(`claims ${draws.id} ${stamp}`, async (signal) => {
		const { rows } = await api.listClaims({ query: { job: draws.id, limit: 500 } }, { signal });
		return rows;
	});
	const shown = (claims.value ?? []).filter(({ state }) => state !== "stored");
	const [chosen, setChosen] = useState<string | null>(null);
	useEffect(() => setChosen(null), [draws.id]);
	const current = shown.find(({ hash }) => hash === chosen) ?? shown.at(-1);
	const part = current === undefined ? undefined : draws.parts[current.part];
	return (
		<Panel title="How it is checked" aside="computed in this browser">
			{current === undefined || part === undefined ? (
				<Empty title="Nothing was claimed yet">A claim is 32 bytes that commit to every state of the work.</Empty>
			) : (
				<>
					{shown.length < 2 ? null : (
						<label>
							Claim
							<select value={current.hash} onChange={({ currentTarget: { value } }) => setChosen(value)}>
								{shown.toReversed().map(({ hash, part: number, attempt, state }) => (
									<option key={hash} value={hash}>
										part {number + 1}, attempt {attempt}: {state}, {hash.slice(0, 12)}
									</option>
								))}
							</select>
						</label>
					)}
					<PartView key={current.hash} draws={draws} part={partOf(part, current)} claim={current} customer={customer} />
				</>
			)}
			<h3>The draw, done again</h3>
			<DrawCheck draws={draws} />
		</Panel>
	);
}

/** Audits are of the part's present claim; of an earlier one they are forgotten. */
const partOf = (part: DrawnPart, { hash }: ClaimOfJob): DrawnPart =>
	part.claim === hash ? part : { ...part, audits: [] };
