// The draws of a job done again in this browser from what is public, by the rules that `assay job audit` has.
// What rests on the validator's word is said.
import { useMemo } from "preact/hooks";
import type { JobDraws } from "../../src/api/types.ts";
import { auditDraws, type DrawFinding } from "../../src/market/jobs/audit-draws.ts";
import { type JobOffer, jobOfferHash } from "../../src/protocol/network/job-offer.ts";
import { isSignature } from "../../src/protocol/probe/signer.ts";
import { formatCount } from "../parts/format.ts";
import { Badge } from "../parts/small.tsx";
import { api, useLoaded } from "../shell/api.ts";

function auditHere(draws: JobDraws, validator: string) {
	const { offer } = draws;
	const { segments, parts, method } = offer.terms;
	const audit = auditDraws(draws, {
		...{ secretCommitment: offer.secretCommitment, segments, parts, method, isOnChain: offer.escrow !== null },
		...{ blocks: null, assigned: null },
	});
	const { signature, ...said } = offer as JobOffer;
	const isSigned = offer.id === draws.id && isSignature(validator, signature, jobOfferHash(said));
	const unsigned: DrawFinding = {
		...{ part: null, attempt: null, what: "secret" },
		why: "the offer that commits to it is not this validator's for this job",
	};
	return { ...audit, changed: isSigned ? audit.changed : [unsigned, ...audit.changed] };
}

export function DrawCheck({ draws }: { draws: JobDraws }) {
	const network = useLoaded("validator's key", (signal) => api.network({}, { signal }));
	const validator = network.value?.validator.key ?? null;
	const audit = useMemo(() => (validator === null ? null : auditHere(draws, validator)), [draws, validator]);
	if (audit === null) return <p class="dim">The draws are done again here …</p>;
	const { redrawn, changed, notes } = audit;
	const isOpen = draws.secret === null;
	return (
		<div data-draws={changed.length === 0 ? (isOpen ? "open" : "as-drawn") : "changed"}>
			<p>
				{changed.length > 0 ? (
					<Badge tone="invalid">changed afterwards</Badge>
				) : isOpen ? (
					<Badge tone="running">not over</Badge>
				) : (
					<Badge tone="valid">as drawn</Badge>
				)}{" "}
				{changed.length > 0
					? "What is public does not follow from the rules, or is not what was committed to:"
					: isOpen
						? `${formatCount(draws.draws.length)} lists are as they were published. Who was drawn can be recomputed when the job is over and its secret is told.`
						: `${formatCount(redrawn)} of ${formatCount(draws.draws.length)} draws were done again in this browser: lists, secret, choice and windows.`}
			</p>
			{changed.length === 0 ? null : (
				<ul class="findings">
					{changed.map(({ part, attempt, what, why }, i) => (
						<li key={i}>
							<code>{what}</code> {part === null ? "" : `part ${part + 1}, attempt ${attempt}: `}
							{why}
						</li>
					))}
				</ul>
			)}
			{notes.length === 0 ? null : (
				<details class="as-table">
					<summary>What could not be recomputed here</summary>
					<ul class="findings">
						{notes.map((note) => (
							<li key={note}>{note.replace(": name a node with --rpc", "; assay job audit does, with a node")}</li>
						))}
					</ul>
				</details>
			)}
		</div>
	);
}
