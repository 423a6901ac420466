// Probes as they come, one line each: host · 8×H100 SXM · 653 TFLOPS · valid · 40 s ago.
import type { ProbeSummary } from "../../src/api/types.ts";
import { formatRate } from "../../src/protocol/format-number.ts";
import { shortName } from "../../src/verify/hardware/identify/short-name.ts";
import { shortId } from "../parts/format.ts";
import { HostLink, Time, VerdictBadge } from "../parts/small.tsx";
import { AttestedBadge } from "./attested.tsx";

/** "8×H100 SXM"; null: no GPU was proven. */
export function cardsOf({ model, gpuCount }: { readonly model: string | null; readonly gpuCount: number }) {
	if (gpuCount === 0) return null;
	return `${gpuCount}×${model === null ? "unknown GPU" : shortName(model)}`;
}

/** `progress`: by probe, what those that run are at. */
export function ProbeFeed(p: { probes: readonly ProbeSummary[]; progress: ReadonlyMap<string, string> }) {
	return (
		<ul class="feed" aria-label="Newest probes">
			{p.probes.map(({ id, providerId, host, state, verdict, code, attestation, ...probe }) => {
				const isValid = verdict === "valid";
				const cards = cardsOf(host) ?? "no GPU";
				return (
					<li key={id}>
						<HostLink id={providerId} name={host.name} class="feed-host" />
						<span class="feed-cards" title={isValid ? cards : (code ?? undefined)}>
							{isValid ? cards : code === null ? "" : <code class="dim">{code}</code>}
						</span>
						<span class="feed-speed num">
							{isValid && host.fp16OpsPerS !== null ? formatRate(host.fp16OpsPerS, "FLOPS") : ""}
						</span>
						<span class="feed-verdict">
							<a href={`/probes/${id}`} aria-label={`${state === "done" ? verdict : state}, probe ${shortId(id)}`}>
								<VerdictBadge state={state === "done" ? verdict : state} />
							</a>{" "}
							{state === "running" ? (
								<span class="dim">{p.progress.get(id) ?? ""}</span>
							) : (
								<AttestedBadge of={attestation} />
							)}
						</span>
						<Time atMs={probe.finishedAtMs ?? probe.startedAtMs} />
					</li>
				);
			})}
		</ul>
	);
}
