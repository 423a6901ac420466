// A validator's desk for jobs, as a provider that works for it sees it: offers, signs of life, claims, and
// the bytes that go with them. Over the API of the validator whose agent link asked, with requests that the
// provider's key signs; what comes back is checked by whoever uses it. docs/jobs.md §13.
import { downloadBlob, uploadBlob } from "../../api/blob-transfer.ts";
import { createApiClient } from "../../api/create-client.ts";
import type { ClaimReply, PartBeat, PartClaim, PartOffer, PartReply } from "../../api/types.ts";
import { type ProvenDevice, provenDevices } from "../../market/jobs/proven-devices.ts";
import type { BlobName } from "../../protocol/network/job-spec.ts";
import type { Signer } from "../../protocol/probe/signer.ts";

export type { ClaimReply, PartOffer, PartReply };
export type Beat = Omit<PartBeat, "attempt">;
export type ClaimedPart = Omit<PartClaim, "attempt">;

/** One attempt of a part, or one audit of it. */
export interface AskedPart {
	/** 64 hex digits. */
	readonly job: string;
	readonly part: number;
	readonly attempt: number;
	/** Null: the part itself. */
	readonly audit: number | null;
}

export type ProvenSpeed = Pick<ProvenDevice, "int8OpsPerS" | "bytesPerS" | "int32OpsPerS">;

/** All throw AssayError: JOB_STATE when it is not this provider's any more. */
export interface JobDesk {
	/** Key of this provider; absent of a toy, whose claims have no rounds of reports. */
	readonly provider?: string;
	offer(asked: AskedPart, signal?: AbortSignal): Promise<PartOffer>;
	accept(asked: AskedPart): Promise<PartReply>;
	decline(asked: AskedPart, why: string): Promise<void>;
	beat(asked: AskedPart, beat: Beat): Promise<{ readonly go: boolean }>;
	claim(asked: AskedPart, claim: ClaimedPart): Promise<ClaimReply>;
	answerAudit(asked: AskedPart, states: BlobName): Promise<void>;
	/** What the validator tells everybody that this device of the provider has proven; null: nothing. */
	proven(device: number): Promise<ProvenSpeed | null>;
	/** A blob of the job into a file, which is whole and right when it resolves. */
	download(job: string, blob: BlobName, path: string, signal: AbortSignal): Promise<void>;
	/** Held by this provider afterwards. `patienceMs`: how long what passes is waited for, at most. */
	upload(
		from: { readonly path: string } | { readonly bytes: Uint8Array },
		signal: AbortSignal,
		patienceMs?: number,
	): Promise<BlobName>;
}

export interface DeskOptions {
	/** Of the agent link: the API is at the same place. */
	readonly url: string;
	/** Proven by the agent link; every request is signed for it alone. */
	readonly validatorKey: string;
	readonly signer: Signer;
	readonly nowMs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
}

/** A validator's time by this host's clock: one of the two may be wrong. */
export const ownTime = ({ untilMs, nowMs }: Pick<PartReply, "untilMs" | "nowMs">, ownMs: number): number =>
	ownMs + untilMs - nowMs;

/** ws://host/agent → http://host */
const apiUrlOf = (agentUrl: string): string => agentUrl.replace(/^ws/, "http").replace(/\/agent$/, "");

export function openJobDesk({ url, validatorKey, ...more }: DeskOptions): JobDesk {
	const api = createApiClient({ baseUrl: apiUrlOf(url), audience: validatorKey, ...more });
	const at = ({ job: id, part }: AskedPart) => ({ id, part });
	return {
		provider: more.signer.key,
		offer: (asked, signal) =>
			api.getPartOffer(
				{ params: at(asked), query: asked.audit === null ? {} : { audit: asked.audit } },
				signal && { signal },
			),
		accept: (asked) => api.acceptPart({ params: at(asked), body: { attempt: asked.attempt } }),
		async decline(asked, why) {
			await api.declinePart({ params: at(asked), body: { attempt: asked.attempt, why } });
		},
		beat: (asked, beat) => api.beatPart({ params: at(asked), body: { attempt: asked.attempt, ...beat } }),
		claim: (asked, claim) => api.claimPart({ params: at(asked), body: { attempt: asked.attempt, ...claim } }),
		async answerAudit(asked, states) {
			const params = { ...at(asked), at: asked.audit! };
			await api.answerAudit({ params, body: { attempt: asked.attempt, states } });
		},
		async proven(device) {
			const { figures, devices } = await api.getProvider({ params: { id: more.signer.key } });
			return provenDevices(figures, devices).find((one) => one.device === device) ?? null;
		},
		download: (job, blob, path, signal) => downloadBlob(api, blob, path, { job, signal }),
		upload: (from, signal, patienceMs) =>
			uploadBlob(api, from, { signal, ...(patienceMs !== undefined && { patienceMs }) }),
	};
}
