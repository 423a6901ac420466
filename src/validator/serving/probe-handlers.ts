// Routes of probes, evidence and events.
import type { Handlers } from "../../api/routes.ts";
import type { NetworkEvent } from "../../api/types.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Probe } from "../../store/probes.ts";
import type { ValidatorContext } from "../validator-context.ts";

const ENDS = ["probe.verdict", "probe.abandoned"];

export function probeHandlers(context: ValidatorContext) {
	const { store } = context;
	const must = async (id: string): Promise<Probe> => {
		const probe = await store.probes.get(id);
		if (probe === null) throw new AssayError("PROBE_UNKNOWN", `there is no probe ${id}`);
		return probe;
	};
	const evidence = async (sha256: string | null) => {
		if (sha256 === null || !(await store.evidence.has(sha256)))
			throw new AssayError("EVIDENCE_UNKNOWN", "there is no such evidence here", {
				hint: "Evidence lies with the validator that made it; see the probe's `validator`.",
			});
		return { sha256, ...(await store.evidence.stream(sha256)) };
	};

	return {
		listProbes: ({ query }) => store.probes.list(query),
		getProbe: ({ params }) => must(params.id),
		async getProbeEvidence({ params }) {
			return evidence((await must(params.id)).evidenceSha256);
		},
		async getProbeReceipts({ params }) {
			const { evidenceSha256 } = await must(params.id);
			const file = evidenceSha256 === null ? null : await context.receipts?.get(evidenceSha256);
			if (file) return file;
			throw new AssayError("RECEIPTS_UNKNOWN", "there are no receipts of this probe here", {
				hint: "Only providers with an account on this validator's chain are asked for them.",
			});
		},
		getEvidence: ({ params }) => evidence(params.sha256),
		async watchProbe({ params, query, signal, lastEventId }) {
			const stream = context.hub.watch({
				wants: ({ subject, kind }) => subject === params.id || kind === "missed",
				after: lastEventId ?? query.after ?? null,
				signal,
				last: ({ kind }) => ENDS.includes(kind),
				probe: params.id,
			});
			// Looked at after the stream began: a verdict in between is in one of the two.
			const probe = await must(params.id);
			return probe.state === "running" ? stream : ended(probe, context.hub.historyOf(probe.id));
		},
		watchEvents({ query, signal, lastEventId }) {
			const { kind, subject, providerId } = query;
			const wants = (event: NetworkEvent) =>
				event.kind === "missed" ||
				((kind === undefined || event.kind === kind || event.kind.startsWith(`${kind}.`)) &&
					(subject === undefined || event.subject === subject) &&
					(providerId === undefined || event.providerId === providerId));
			return context.hub.watch({ wants, after: lastEventId ?? query.after ?? null, signal });
		},
	} satisfies Partial<Handlers>;
}

/** What is remembered of a probe that is over, for whoever comes late, and its end in any case. */
async function* ended(probe: Probe, history: readonly NetworkEvent[]): AsyncGenerator<NetworkEvent> {
	yield* history.filter(({ kind }) => !ENDS.includes(kind));
	const { id, providerId, state, verdict, code, startedAtMs } = probe;
	yield {
		id: `probe:${id}`,
		kind: state === "done" ? "probe.verdict" : "probe.abandoned",
		subject: id,
		providerId,
		atMs: probe.finishedAtMs ?? startedAtMs,
		detail: { verdict, code },
	};
}
