// Challenges of an evidence file, and the Merkle path of a chosen opened leaf drawn from the leaf up to the
// committed root.
import type { ChallengeSpec, Evidence } from "../../src/protocol/probe/evidence.ts";
import type { Place } from "./challenge-list.tsx";
import { drawPath, leavesOf, openingsOf, rootsOf } from "./merkle-path.ts";

function specTitle(spec: ChallengeSpec): string {
	if (spec.kind === "gemm") return `${spec.precision} ${spec.m}×${spec.n}×${spec.k} on device ${spec.device}`;
	if (spec.kind === "fma") return `${spec.precision} ${spec.lanes} lanes × ${spec.steps} on device ${spec.device}`;
	if (spec.kind === "train") return `training, GPT ${spec.layers}×${spec.width} on device ${spec.device}`;
	return `${spec.kind} of challenge ${spec.of} on device ${spec.device}`;
}

export function MerkleView({
	evidence,
	chosen,
	onChosen,
}: {
	evidence: Evidence;
	chosen: Place;
	onChosen: (place: Place) => void;
}) {
	const { challenges } = evidence.envelope.body;
	const challenge = challenges[chosen.challenge];
	if (challenge === undefined) return null;
	const openings = openingsOf(challenge, evidence);
	const roots = rootsOf(challenge, evidence);
	const opening = openings[chosen.opening];
	const leaves = leavesOf(challenge, evidence);
	const root = opening === undefined ? undefined : roots[opening.round];
	const drawn = opening === undefined || leaves === null || root === undefined ? null : drawPath(opening, leaves, root);
	return (
		<section class="merkle-view" aria-labelledby="merkle-title">
			<header class="panel-head">
				<h2 id="merkle-title">One opening, up to its root</h2>
				<p class="panel-aside">
					{roots.length} roots and {openings.length} opened places in this challenge
				</p>
			</header>
			<div class="row">
				<label>
					Challenge
					<select
						value={chosen.challenge}
						onChange={(event) => onChosen({ challenge: Number(event.currentTarget.value), opening: 0 })}
					>
						{challenges.map((one, i) => (
							<option key={i} value={i}>
								{i}: {specTitle(one.spec)}
							</option>
						))}
					</select>
				</label>
				<label>
					Opened place
					<select
						value={chosen.opening}
						onChange={(event) => onChosen({ ...chosen, opening: Number(event.currentTarget.value) })}
					>
						{openings.map((one, i) => (
							<option key={i} value={i}>
								round {one.round}, leaf {one.index}
							</option>
						))}
					</select>
				</label>
			</div>
			{drawn === null ? (
				<p class="dim">This challenge was not opened, or its paths cannot be followed.</p>
			) : (
				<PathDrawing drawn={drawn} />
			)}
		</section>
	);
}

const STEP = 34;
const short = (hash: string) => `${hash.slice(0, 10)}…`;

function PathDrawing({ drawn: { levels, root, isEqual } }: { drawn: NonNullable<ReturnType<typeof drawPath>> }) {
	const height = levels.length * STEP + 10;
	const yOf = (level: number) => height - 22 - level * STEP;
	return (
		<figure class="merkle">
			<svg
				viewBox={`0 0 470 ${height}`}
				role="img"
				aria-label={`Path of ${levels.length - 1} hashes from the leaf to the root`}
			>
				{levels.map((level, i) => {
					const y = yOf(i);
					const above = yOf(i + 1);
					const { sibling } = level;
					const [own, other] = sibling?.side === "left" ? [400, 240] : [240, 400];
					const x = sibling === null ? 320 : own;
					const isTop = i === levels.length - 1;
					const nextX = levels[i + 1]?.sibling == null ? 320 : levels[i + 1]!.sibling!.side === "left" ? 400 : 240;
					return (
						<g key={i}>
							{isTop ? null : <line x1={x} y1={y - 11} x2={nextX} y2={above + 11} class="edge" />}
							{sibling === null || isTop ? null : (
								<line x1={other} y1={y - 11} x2={nextX} y2={above + 11} class="edge is-other" />
							)}
							<rect x={x - 62} y={y - 11} width="124" height="22" rx="5" class={isTop ? "node is-root" : "node"} />
							<text x={x} y={y + 4} text-anchor="middle">
								{short(level.hash)}
							</text>
							{sibling === null ? null : (
								<>
									<rect x={other - 62} y={y - 11} width="124" height="22" rx="5" class="node is-other" />
									<text x={other} y={y + 4} text-anchor="middle" class="is-other">
										{short(sibling.hash)}
									</text>
								</>
							)}
							<text x="8" y={y + 4} class="is-level">
								{isTop
									? "root"
									: i === 0
										? `leaf ${level.index} of ${level.width}`
										: `node ${level.index} of ${level.width}`}
							</text>
						</g>
					);
				})}
			</svg>
			<figcaption class={isEqual ? "is-equal" : "is-differing"}>
				<span aria-hidden="true">{isEqual ? "✓ " : "✕ "}</span>
				{isEqual ? "Leads to the committed root" : "Does not lead to the committed root"}{" "}
				<code title={root}>{short(root)}</code>
			</figcaption>
			<details class="as-table">
				<summary>As a list, with whole hashes</summary>
				<ol class="path-list">
					{levels.map((level, i) => (
						<li key={i}>
							{i === levels.length - 1 ? "Root" : `${i === 0 ? "Leaf" : "Node"} ${level.index} of ${level.width}`}:{" "}
							<code>{level.hash}</code>
							{level.sibling === null ? null : (
								<>
									, with <code>{level.sibling.hash}</code> on its {level.sibling.side}
								</>
							)}
						</li>
					))}
				</ol>
			</details>
		</figure>
	);
}
