// A claim as a tree: 32 bytes over the list of states and the results, the list over its segments, those that
// were run again marked. Beside it the same as a table, with both roots of each re-run. The hash of the claim
// is computed here from the public terms.
import { useMemo } from "preact/hooks";
import type { ClaimOfJob, JobDraws } from "../../src/api/types.ts";
import { claimOfTerms } from "../../src/market/jobs/claim-of-terms.ts";
import { partRange } from "../../src/market/jobs/job-rules.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { claimHash } from "../../src/work/trace/commitments.ts";
import { formatCount } from "../parts/format.ts";
import { Badge, Id, Table } from "../parts/small.tsx";
import { type CellState, cellsOf, type DrawnPart, shareOf } from "./run-again.ts";

const CELL_WORDS: Readonly<Record<CellState, string>> = {
	none: "not run again",
	waiting: "being run again",
	right: "run again, equal",
	wrong: "run again, differs",
};
const CELL_CLASS: Readonly<Record<CellState, string | undefined>> = {
	none: undefined,
	waiting: "is-waiting",
	right: "is-right",
	wrong: "is-wrong",
};

function Cells({ draws, part }: { draws: JobDraws; part: DrawnPart }) {
	const cells = useMemo(() => cellsOf(draws, part), [draws, part]);
	const { count } = partRange(draws.offer.terms, part.part);
	const { right } = shareOf(part, count);
	const [each = 1] = cells.map((cell) => cell.count);
	const seen = (["right", "wrong", "waiting", "none"] as const).filter((state) =>
		cells.some((cell) => cell.state === state),
	);
	return (
		<div class="why-segments">
			<div
				class="cells"
				role="img"
				aria-label={`${formatCount(right)} of ${formatCount(count)} segments were run again and found equal`}
			>
				{cells.map(({ first, count: of, state }) => (
					<i
						key={first}
						class={CELL_CLASS[state]}
						title={`${of === 1 ? `segment ${first}` : `segments ${first}–${first + of - 1}`}: ${CELL_WORDS[state]}`}
					/>
				))}
			</div>
			<p class="dim why-legend">
				{seen.map((state) => (
					<span key={state}>
						<span class="cells" aria-hidden="true">
							<i class={CELL_CLASS[state]} />
						</span>{" "}
						{CELL_WORDS[state]}
					</span>
				))}
				{each > 1 ? <span>a cell is {each} segments</span> : null}
			</p>
		</div>
	);
}

function Node(p: { title: string; hash: string; note: string; isRight?: boolean }) {
	return (
		<span class="why-node">
			<span class="dim">{p.title}</span> <Id id={p.hash} />{" "}
			{p.isRight === undefined ? (
				<span class="dim">{p.note}</span>
			) : (
				<span class={p.isRight ? "agrees" : "differs"}>
					<span aria-hidden="true">{p.isRight ? "✓" : "✕"}</span> {p.note}
				</span>
			)}
		</span>
	);
}

export function ClaimTree(p: {
	draws: JobDraws;
	part: DrawnPart;
	claim: ClaimOfJob;
	/** Root of the same states in the claim's list, by the audit's number; null: nobody read the list here. */
	ownRoots: readonly string[] | null;
}) {
	const { draws, part, claim } = p;
	const { first, count } = partRange(draws.offer.terms, part.part);
	const hash = useMemo(
		() => bytesToHex(claimHash(claimOfTerms({ ...draws.offer, id: draws.id }, claim.part, claim))),
		[draws, claim],
	);
	const isRight = hash === claim.hash;
	return (
		<div class="why-tree">
			<ul class="tree" aria-label="The claim as a tree">
				<li>
					<Node
						title="Claim"
						hash={claim.hash}
						isRight={isRight}
						note={isRight ? "computed here from the job’s terms" : "not the hash of its fields"}
					/>
					<ul>
						<li>
							<Node
								title="States"
								hash={claim.segmentRoot}
								{...(p.ownRoots === null ? {} : { isRight: true })}
								note={
									p.ownRoots === null
										? `${formatCount(count + 1)} states of 32 bytes`
										: `${formatCount(count + 1)} states fold to it, computed here`
								}
							/>
							<Cells draws={draws} part={part} />
						</li>
						<li>
							<Node
								title="Results"
								hash={claim.resultRoot}
								note={/^0+$/.test(claim.resultRoot) ? "its program has none" : "what the part gave"}
							/>
						</li>
					</ul>
				</li>
			</ul>
			<RunAgainTable part={part} first={first} ownRoots={p.ownRoots} />
		</div>
	);
}

function RunAgainTable(p: { part: DrawnPart; first: number; ownRoots: readonly string[] | null }) {
	const { audits, proven } = p.part;
	if (proven !== undefined)
		return (
			<p class="dim">
				Nobody need run it again: {formatCount(proven)} of its segments are proven, each for whoever reads its proof.
			</p>
		);
	if (audits.length === 0)
		return (
			<p class="dim">
				Nobody was drawn to run any of it again. Anyone may, below or with assay watch, until its window ends.
			</p>
		);
	return (
		<Table label="Segments that were run again" head={["Segments", "Run again by", "Claimed", "Found", "Outcome"]}>
			{audits.map(({ auditor, first, count, answer, agrees }, i) => (
				<tr key={i}>
					<td class="num">
						{formatCount(p.first + first)}
						{count > 1 ? `–${formatCount(p.first + first + count - 1)}` : ""}
					</td>
					<td>
						{auditor === null ? "the validator" : <Id id={auditor} href={`/providers/${auditor}`} label="auditor" />}
					</td>
					<td>
						{p.ownRoots?.[i] === undefined ? <span class="dim">for its parties</span> : <Id id={p.ownRoots[i]} />}
					</td>
					<td>{answer === null ? "–" : <Id id={answer} />}</td>
					<td>
						{agrees === null ? (
							<Badge tone="running">waits</Badge>
						) : (
							<Badge tone={agrees ? "valid" : "invalid"}>{agrees ? "equal" : "differs"}</Badge>
						)}
					</td>
				</tr>
			))}
		</Table>
	);
}
