// What processes that died left: evidence that was durable but not counted is verified again and counted
// once; the rest is given up. The store finds it, market decides what it means; here the file is read again
// as a stranger would.

import { AssayError } from "../../protocol/assay-error.ts";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import type { PendingProbe } from "../../store/probes.ts";
import { guestsOf } from "../validator-config.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { countProbe } from "./count-probe.ts";
import type { VerifierPool } from "./verifier-pool.ts";

export type RecoverContext = ValidatorContext & { readonly pool: VerifierPool };

export interface Recovered {
	/** Providers whose probes were counted now. */
	readonly counted: readonly string[];
	readonly abandoned: readonly string[];
	readonly dropped: number;
}

export async function recoverProbes(context: RecoverContext): Promise<Recovered> {
	const { store, env, hub, metrics, log } = context;
	const { pending, abandoned } = await store.probes.recover({ nowMs: env.nowMs() });
	for (const { id, providerId } of abandoned) {
		metrics.recovered.inc({ how: "abandoned" });
		hub.tell({ kind: "probe.abandoned", subject: id, providerId, detail: {} });
	}
	const counted: string[] = [];
	let dropped = 0;
	for (const entry of pending) {
		try {
			if (await recoverOne(context, entry)) counted.push(entry.probe!.providerId);
			else dropped += 1;
		} catch (error) {
			// The next round tries again; one bad file must not keep the others.
			log.error({ probe: entry.probeId, err: error }, "pending evidence could not be counted");
		}
	}
	return { counted, abandoned: abandoned.map(({ providerId }) => providerId), dropped };
}

async function recoverOne(context: RecoverContext, { probeId, evidenceSha256, probe }: PendingProbe): Promise<boolean> {
	const { store, env, metrics, log } = context;
	const drop = async (why: string): Promise<false> => {
		log.warn({ probe: probeId, evidence: evidenceSha256, why }, "a pending entry is dropped");
		metrics.recovered.inc({ how: "dropped" });
		await store.evidence.dropPending(probeId);
		return false;
	};
	if (probe === null) return drop("no such probe in this database");
	let bytes: Uint8Array;
	try {
		bytes = await store.evidence.get(evidenceSha256);
	} catch (error) {
		if (error instanceof AssayError && (error.code === "EVIDENCE_MISSING" || error.code === "EVIDENCE_CORRUPT"))
			return drop(error.code);
		throw error;
	}
	const verdict = await context.pool.verify(bytes, {
		signers: [probe.validator],
		probeId,
		...guestsOf(context.config),
	});
	const decoded = decodeEvidence(bytes);
	const { counted } = await countProbe(context, {
		probeId,
		providerId: probe.providerId,
		startedAtMs: probe.startedAtMs,
		finishedAtMs: env.nowMs(),
		verdict,
		evidence: { sha256: evidenceSha256, bytes: bytes.length },
		claim: decoded.ok ? decoded.evidence.envelope.body.claim : null,
		heldMs: null,
		together: null,
	});
	if (counted) metrics.recovered.inc({ how: "counted" });
	else await store.evidence.dropPending(probeId);
	return counted;
}
