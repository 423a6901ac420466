// A host as a card for phones: cards and price of one first, then what was proven of them, then what there is
// to do. Two lists use it; they say what stands at the right and below.
import type { ComponentChildren } from "preact";
import { formatBytes, formatRate } from "../../src/protocol/format-number.ts";
import { formatGpuPrice } from "../parts/format.ts";
import { AttestedBadge } from "../proofs/attested.tsx";
import { type ProvenRow, provenCards } from "./proven-columns.tsx";

export function ProvenCard(p: {
	row: ProvenRow;
	/** Beside the cards. */
	mark?: ComponentChildren;
	isOffered: boolean;
	children: ComponentChildren;
}) {
	const { row } = p;
	const figures = [
		row.fp16OpsPerS === null ? "" : formatRate(row.fp16OpsPerS, "FLOPS"),
		row.memoryBytes === null ? "" : formatBytes(row.memoryBytes),
		row.memoryBytesPerS === null ? "" : formatRate(row.memoryBytesPerS, "B/s"),
	];
	return (
		<>
			<p>
				<strong class="card-title" title={row.model ?? ""}>
					{provenCards(row)}
				</strong>
				{p.mark}
			</p>
			<p>
				<span>{p.isOffered ? formatGpuPrice(row) : <span class="dim">not for rent</span>}</span>
				<AttestedBadge of={row.attestation} />
			</p>
			<p class="dim num">
				<span>{figures.filter((one) => one !== "").join(" · ") || "no figures yet"}</span>
			</p>
			<p>{p.children}</p>
		</>
	);
}
