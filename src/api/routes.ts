// The one route table: the server, the typed client, OpenAPI and docs/api.md are all made from it. Page:
// docs/network.md §3. What a route does is not known here: handlers are passed to createApiServer, one per
// name.
import * as z from "zod/mini";
import type { Handler, Route, RouteRole } from "./route.ts";
import * as admin from "./schemas/admin.ts";
import * as blob from "./schemas/blob.ts";
import * as chain from "./schemas/chain.ts";
import * as dispute from "./schemas/dispute.ts";
import * as job from "./schemas/job.ts";
import * as claim from "./schemas/job-claim.ts";
import * as market from "./schemas/job-market.ts";
import * as network from "./schemas/network.ts";
import { epochNumber, page, probeId, providerId, rentalId, sha256, tokenId } from "./schemas/primitives.ts";
import * as probe from "./schemas/probe.ts";
import * as provider from "./schemas/provider.ts";
import * as receipt from "./schemas/receipt.ts";
import * as rental from "./schemas/rental.ts";
import * as rollCall from "./schemas/roll-call.ts";
import * as score from "./schemas/score.ts";
import { figurePoint } from "./schemas/verdict.ts";

const READ = { method: "GET", role: "public", kind: "json", rate: "read", status: 200 } as const;
const WRITE = { method: "POST", kind: "json", rate: "write", status: 200 } as const;
type Row<Usual, More> = Omit<Usual, keyof More> & More & Pick<Route, "path" | "summary">;

/** Public and JSON, unless `more` says otherwise. */
const read = <const More extends Partial<Route>>(path: string, summary: string, more: More) =>
	({ ...READ, path, summary, ...more }) as Row<typeof READ, More>;
const write = <const More extends Partial<Route> & Pick<Route, "role">>(path: string, summary: string, more: More) =>
	({ ...WRITE, path, summary, ...more }) as Row<typeof WRITE, More>;

const programBytes = ({ spec }: { readonly spec: { readonly program: { readonly size: number } } }): number =>
	spec.program.size;

const byProvider = z.strictObject({ id: providerId });
const byProbe = z.strictObject({ id: probeId });
const byRental = z.strictObject({ id: rentalId });
const byCall = z.strictObject({ call: rollCall.callNumber });
const byJob = z.strictObject({ id: job.jobId });
const byEpoch = z.strictObject({ number: epochNumber });

export const routes = {
	health: read("/v1/health", "The server answers", { reply: network.health }),
	ready: read("/v1/ready", "The server is ready; 503 while it is not", {
		reply: network.ready,
		problems: ["NOT_READY"],
	}),
	network: read("/v1/network", "The network at a glance", { reply: network.network }),
	getParams: read("/v1/params", "The parameters that this validator decides by (docs/scores.md)", {
		reply: network.params,
	}),

	listProviders: read("/v1/providers", "Providers, filtered by what they have proven", {
		// Filters and text over all providers.
		cost: 2,
		query: provider.providersQuery,
		reply: page(provider.providerSummary),
		problems: ["CURSOR_BAD"],
	}),
	getProvider: read("/v1/providers/:id", "One provider: what it claims, what it has proven", {
		params: byProvider,
		reply: provider.provider,
		problems: ["PROVIDER_UNKNOWN"],
	}),
	registerProvider: write("/v1/providers", "Register a provider: itself (agent), or by an admin (ssh, local)", {
		role: "provider",
		status: 201,
		body: provider.registerProviderBody,
		bodyRole: (body: z.output<typeof provider.registerProviderBody>): RouteRole =>
			body.link === "agent" ? "provider" : "admin",
		reply: provider.provider,
		problems: ["PROVIDER_KNOWN", "CALLER_OTHER", "TARGET_BAD"],
	}),
	changeProvider: write("/v1/providers/:id", "Change a provider's name, price, whether it can be rented, or pause it", {
		method: "PATCH",
		role: "provider",
		params: byProvider,
		body: provider.changeProviderBody,
		reply: provider.provider,
		problems: ["PROVIDER_UNKNOWN", "CALLER_OTHER"],
	}),
	removeProvider: write("/v1/providers/:id", "Remove a provider; its history stays", {
		method: "DELETE",
		role: "provider",
		params: byProvider,
		reply: provider.provider,
		problems: ["PROVIDER_UNKNOWN", "CALLER_OTHER", "PROVIDER_RENTED"],
	}),
	listProviderProbes: read("/v1/providers/:id/probes", "A provider's probes, newest first", {
		params: byProvider,
		query: probe.providerProbesQuery,
		reply: page(probe.probeSummary),
		problems: ["PROVIDER_UNKNOWN", "CURSOR_BAD"],
	}),
	listProviderFigures: read("/v1/providers/:id/figures", "One proven figure over time, newest first", {
		params: byProvider,
		query: probe.figuresQuery,
		reply: z.object({ rows: z.array(figurePoint) }),
		problems: ["PROVIDER_UNKNOWN"],
	}),
	getProviderScore: read("/v1/providers/:id/score", "A provider's score, explained term by term down to evidence", {
		params: byProvider,
		reply: score.score,
		problems: ["PROVIDER_UNKNOWN", "SCORE_UNKNOWN"],
	}),
	askProbe: write("/v1/providers/:id/probe", "Make a provider's next probe due now", {
		role: "validator",
		status: 202,
		params: byProvider,
		body: probe.askProbeBody,
		reply: probe.askedProbe,
		problems: ["PROVIDER_UNKNOWN", "PROVIDER_RENTED", "PROBE_RUNNING"],
	}),

	listProbes: read("/v1/probes", "Probes of all providers, newest first", {
		query: probe.probesQuery,
		reply: page(probe.probeSummary),
		problems: ["CURSOR_BAD"],
	}),
	getProbe: read("/v1/probes/:id", "One probe: verdict, figures, identities, findings", {
		params: byProbe,
		reply: probe.probe,
		problems: ["PROBE_UNKNOWN"],
	}),
	getProbeEvidence: read("/v1/probes/:id/evidence", "The evidence file of a probe", {
		kind: "binary",
		params: byProbe,
		problems: ["PROBE_UNKNOWN", "EVIDENCE_UNKNOWN"],
	}),
	getProbeReceipts: read(
		"/v1/probes/:id/receipts",
		"The provider's signed receipts of a probe, which prove a fraud on chain",
		{ params: byProbe, reply: receipt.receiptFile, problems: ["PROBE_UNKNOWN", "RECEIPTS_UNKNOWN"] },
	),
	watchProbe: read("/v1/probes/:id/events", "Progress of one probe as server-sent events; ends with its verdict", {
		kind: "events",
		params: byProbe,
		query: network.probeEventsQuery,
		problems: ["PROBE_UNKNOWN"],
	}),
	watchEvents: read("/v1/events", "All events, as server-sent events", { kind: "events", query: network.eventsQuery }),
	getEvidence: read("/v1/evidence/:sha256", "An evidence file by its hash", {
		kind: "binary",
		params: z.strictObject({ sha256 }),
		problems: ["EVIDENCE_UNKNOWN"],
	}),

	listRollCalls: read("/v1/roll-calls", "Roll calls, newest first: what the network proved together", {
		query: rollCall.rollCallsQuery,
		reply: page(rollCall.rollCall),
		problems: ["CURSOR_BAD"],
	}),
	getRollCall: read("/v1/roll-calls/:call", "One roll call, by the number of its block", {
		params: byCall,
		reply: rollCall.rollCall,
		problems: ["ROLL_CALL_UNKNOWN"],
	}),
	listRollCallAnswers: read("/v1/roll-calls/:call/answers", "Who answered a roll call, with the public files", {
		params: byCall,
		query: rollCall.answersQuery,
		reply: page(rollCall.rollCallAnswer),
		problems: ["ROLL_CALL_UNKNOWN", "CURSOR_BAD"],
	}),
	getRollCallLeaves: read("/v1/roll-calls/:call/leaves", "What the tree of a roll call was made of, for auditors", {
		params: byCall,
		reply: rollCall.rollCallLeaves,
		problems: ["ROLL_CALL_UNKNOWN"],
	}),
	listProviderRollCalls: read("/v1/providers/:id/roll-calls", "A provider's roll calls, newest first", {
		params: byProvider,
		query: rollCall.historyQuery,
		reply: page(rollCall.providerCall),
		problems: ["PROVIDER_UNKNOWN", "CURSOR_BAD"],
	}),

	getChain: read("/v1/chain", "The chain at a glance; null when this validator has none", {
		reply: chain.chainReply,
		waitsFor: "chain",
		problems: ["CHAIN_UNREACHABLE"],
	}),
	listChainEpochs: read("/v1/chain/epochs", "Epochs of the chain, newest first", {
		query: chain.chainQuery,
		reply: page(chain.chainEpochSummary),
		waitsFor: "chain",
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "CURSOR_BAD"],
	}),
	getChainEpoch: read(
		"/v1/chain/epochs/:number",
		"One epoch of the chain: windows, reports, who signed, weights, what was proven wrong",
		{
			params: byEpoch,
			reply: chain.chainEpoch,
			waitsFor: "chain",
			problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "EPOCH_UNKNOWN"],
		},
	),
	listChainWeights: read(
		"/v1/chain/epochs/:number/weights",
		"Each validator's score of each provider, with median, weight and what it earned; highest first",
		{
			params: byEpoch,
			query: chain.chainQuery,
			reply: chain.chainWeights,
			waitsFor: "chain",
			problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "EPOCH_UNKNOWN", "CURSOR_BAD"],
		},
	),
	listChainTransactions: read("/v1/chain/epochs/:number/transactions", "Transactions of one epoch, newest first", {
		params: byEpoch,
		query: chain.chainQuery,
		reply: page(chain.chainTransaction),
		waitsFor: "chain",
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "EPOCH_UNKNOWN", "CURSOR_BAD"],
	}),
	getChainAccount: read("/v1/chain/accounts/:account", "An account on the chain: stake, rewards, devices", {
		params: z.strictObject({ account: chain.account }),
		reply: chain.chainAccount,
		waitsFor: "chain",
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE"],
	}),
	getProviderChain: read("/v1/providers/:id/chain", "A provider's account on the chain; null when it has none", {
		params: byProvider,
		reply: z.object({ account: z.nullable(chain.chainAccount) }),
		waitsFor: "chain",
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "PROVIDER_UNKNOWN"],
	}),

	fundTrialAccount: write(
		"/v1/chain/trial-accounts/:account",
		"On a trial network, for browsers on its machine: coins and tokens for an account, and what its next transaction needs",
		{
			role: "customer",
			params: z.strictObject({ account: chain.account }),
			reply: chain.trialFunds,
			waitsFor: "chain",
			problems: ["TRIAL_ONLY", "CHAIN_UNREACHABLE"],
		},
	),
	sendTrialTransaction: write(
		"/v1/chain/trial-transactions",
		"On a trial network, for browsers on its machine: a signed transaction to the token or the escrow of jobs",
		{
			role: "customer",
			body: chain.trialTransaction,
			reply: chain.trialReceipt,
			waitsFor: "chain",
			problems: ["TRIAL_ONLY", "CHAIN_REFUSED", "CHAIN_UNREACHABLE"],
		},
	),

	listOffers: read("/v1/offers", "Providers that can be rented now, by proven figures", {
		cost: 2,
		query: rental.offersQuery,
		reply: page(rental.offer),
		problems: ["CURSOR_BAD"],
	}),
	rent: write("/v1/rentals", "Rent a provider, or the cheapest that matches", {
		role: "customer",
		waitsFor: "host",
		status: 201,
		body: rental.rentBody,
		reply: rental.rental,
		problems: ["PROVIDER_UNKNOWN", "PROVIDER_RENTED", "OFFER_NONE", "OFFER_DEARER", "ESCROW_REFUSED", "RENTAL_LIMIT"],
	}),
	listRentals: read("/v1/rentals", "The caller's rentals (all of them for admins), newest first", {
		role: "customer",
		query: rental.rentalsQuery,
		reply: page(rental.rental),
		problems: ["CURSOR_BAD"],
	}),
	getRental: read("/v1/rentals/:id", "One rental of the caller", {
		role: "customer",
		params: byRental,
		reply: rental.rental,
		problems: ["RENTAL_UNKNOWN"],
	}),
	extendRental: write("/v1/rentals/:id/extend", "Extend a rental", {
		role: "customer",
		waitsFor: "host",
		params: byRental,
		body: rental.extendBody,
		reply: rental.rental,
		problems: ["RENTAL_UNKNOWN", "RENTAL_STATE", "ESCROW_REFUSED", "RENTAL_LIMIT"],
	}),
	releaseRental: write("/v1/rentals/:id/release", "End a rental now", {
		role: "customer",
		waitsFor: "host",
		params: byRental,
		reply: rental.rental,
		problems: ["RENTAL_UNKNOWN", "RENTAL_STATE"],
	}),

	beginBlob: write("/v1/blobs/:root", "Begin an upload, or find where it stands; the body is the roots of its pieces", {
		role: "member",
		rate: "transfer",
		waitsFor: "disk",
		mostBytes: blob.MOST_PIECE_BYTES,
		params: blob.byRoot,
		query: blob.beginQuery,
		body: blob.piece,
		reply: blob.uploaded,
		problems: ["BLOB_TREE", "BLOB_LARGE", "BLOB_QUOTA", "BLOB_FULL", "CALLER_OTHER", "FILE_UNWRITABLE"],
	}),
	putBlob: write("/v1/blobs/:root", "The next piece of an upload; on disk when it is answered", {
		method: "PATCH",
		role: "member",
		rate: "transfer",
		waitsFor: "disk",
		isRepeatable: true,
		mostBytes: blob.MOST_PIECE_BYTES,
		params: blob.byRoot,
		query: blob.putQuery,
		body: blob.piece,
		reply: blob.uploaded,
		problems: ["BLOB_UNKNOWN", "BLOB_OFFSET", "BLOB_WRONG", "BLOB_FULL", "CALLER_OTHER", "FILE_UNWRITABLE"],
	}),
	getBlob: read("/v1/blobs/:root", "Bytes of a blob that the caller holds", {
		role: "member",
		kind: "binary",
		rate: "transfer",
		waitsFor: "disk",
		isRepeatable: true,
		params: blob.byRoot,
		query: blob.readQuery,
		problems: ["BLOB_UNKNOWN", "CALLER_OTHER"],
	}),
	listBlobs: read("/v1/blobs", "Blobs that the caller holds", {
		role: "member",
		// All names are looked at: 17 ms for 10,000.
		cost: 4,
		waitsFor: "disk",
		query: blob.heldQuery,
		reply: page(blob.blob),
		problems: ["CURSOR_BAD", "CALLER_OTHER"],
	}),
	releaseBlob: write("/v1/blobs/:root", "Hold a blob no more, or give its upload up; what nobody holds is removed", {
		method: "DELETE",
		role: "member",
		waitsFor: "disk",
		params: blob.byRoot,
		query: blob.blobQuery,
		reply: blob.blob,
		problems: ["CALLER_OTHER"],
	}),
	shareBlob: write("/v1/blobs/:root/share", "Give a blob to another holder; between processes of one validator", {
		role: "admin",
		waitsFor: "disk",
		params: blob.byRoot,
		query: blob.shareQuery,
		reply: blob.blob,
		problems: ["BLOB_UNKNOWN"],
	}),
	getJobBlob: read(
		"/v1/jobs/:id/blobs/:root",
		"Bytes of a blob of a job, for its customer and its providers; of an optimistic one, for all",
		{
			role: "member",
			kind: "binary",
			rate: "transfer",
			waitsFor: "disk",
			isRepeatable: true,
			params: blob.byJobAndRoot,
			query: blob.jobReadQuery,
			problems: ["JOB_UNKNOWN", "BLOB_UNKNOWN"],
		},
	),

	listJobHosts: read("/v1/job-hosts", "Hosts that take jobs: what they proved, what their owners ask and allow", {
		query: job.jobHostsQuery,
		reply: page(job.jobHost),
		problems: ["CURSOR_BAD"],
	}),
	quoteJob: write("/v1/jobs/quote", "What a job would cost: an offer that the validator signs and does not keep", {
		role: "customer",
		cost: 5,
		waitsFor: "program",
		sizeOf: programBytes,
		mostJsonBytes: job.MAX_SPEC_BYTES,
		body: job.quoteBody,
		reply: job.quote,
		problems: [
			"JOB_SPEC",
			"JOB_INPUTS",
			"JOB_ACCOUNT",
			"JOB_METHOD",
			"JOB_NO_PROVIDER",
			"JOB_PRICE",
			"JOB_QUOTA",
			"PROGRAM_OVERFLOW",
			"PROGRAM_UNPROVABLE",
			"PROGRAM_BUDGET",
		],
	}),
	submitJob: write("/v1/jobs", "Hand in a job for an offer; again, it gives the same job", {
		role: "customer",
		status: 201,
		cost: 5,
		waitsFor: "program",
		sizeOf: programBytes,
		mostJsonBytes: job.MAX_SPEC_BYTES,
		body: job.submitBody,
		reply: job.job,
		problems: [
			"JOB_OFFER",
			"JOB_OFFER_EXPIRED",
			"JOB_UNFUNDED",
			"JOB_UNORDERED",
			"JOB_INPUTS",
			"JOB_SPEC",
			"JOB_QUOTA",
		],
	}),
	listJobs: read("/v1/jobs", "The caller's jobs (all of them for admins), newest first", {
		role: "customer",
		query: job.jobsQuery,
		reply: page(job.jobSummary),
		problems: ["CURSOR_BAD"],
	}),
	getJob: read("/v1/jobs/:id", "One job of the caller", {
		role: "customer",
		params: byJob,
		reply: job.job,
		problems: ["JOB_UNKNOWN"],
	}),
	watchJob: read("/v1/jobs/:id/events", "What happens in a job, from its beginning, as server-sent events", {
		role: "customer",
		kind: "events",
		params: byJob,
		query: job.jobEventsQuery,
		problems: ["JOB_UNKNOWN"],
	}),
	getJobResult: read("/v1/jobs/:id/result", "Which blobs hold what a job gave", {
		role: "customer",
		params: byJob,
		reply: job.jobResult,
		problems: ["JOB_UNKNOWN", "JOB_STATE", "JOB_RESULT_EXPIRED"],
	}),
	cancelJob: write(
		"/v1/jobs/:id/cancel",
		"Take back the parts that nobody has; on a chain, after its customer did so there",
		{
			role: "customer",
			waitsFor: "chain",
			params: byJob,
			reply: job.job,
			problems: ["JOB_UNKNOWN", "JOB_STATE"],
		},
	),
	getJobMarket: read(
		"/v1/job-market",
		"The market for jobs at a glance: done, paid, prices, who lied and who found it",
		{
			cost: 5,
			waitsFor: "chain",
			reply: market.jobMarket,
			problems: ["CHAIN_UNREACHABLE"],
		},
	),
	getProviderWork: read(
		"/v1/providers/:id/work",
		"A provider's jobs: reputation with its rows, open claims, questions",
		{
			cost: 5,
			waitsFor: "chain",
			params: byProvider,
			reply: market.providerWork,
			problems: ["PROVIDER_UNKNOWN", "CHAIN_UNREACHABLE"],
		},
	),
	listClaims: read("/v1/claims", "Claims of parts of jobs, newest first", {
		query: claim.claimsQuery,
		reply: page(claim.jobClaim),
		problems: ["CURSOR_BAD"],
	}),
	getClaim: read("/v1/claims/:hash", "One claim; what it ends with once nobody runs it again any more", {
		params: claim.byClaim,
		reply: claim.jobClaim,
		problems: ["CLAIM_UNKNOWN"],
	}),
	getClaimCase: read(
		"/v1/claims/:hash/case",
		"What a watcher needs to run a claim again: its spec, terms and beginning",
		{
			role: "member",
			waitsFor: "disk",
			params: claim.byClaim,
			reply: claim.claimCase,
			problems: ["CLAIM_UNKNOWN", "JOB_STATE", "CALLER_OTHER"],
		},
	),
	askClaim: write("/v1/claims/:hash/ask", "Ask whoever made a claim about it; the answer is its own, and binds it", {
		// Its maker may have to run a part of it again.
		role: "member",
		waitsFor: "host",
		cost: 10,
		params: claim.byClaim,
		body: claim.askBody,
		reply: claim.claimAnswer,
		problems: ["CLAIM_UNKNOWN", "JOB_STATE", "JOB_QUESTION", "NO_ANSWER"],
	}),
	listFrauds: read("/v1/frauds", "Fraud files against claims, newest first", {
		query: claim.fraudsQuery,
		reply: page(claim.fraud),
		problems: ["CURSOR_BAD"],
	}),
	getDispute: read("/v1/claims/:hash/dispute", "A claim under dispute: what was asked, by when, what was proven", {
		cost: 5,
		waitsFor: "chain",
		params: claim.byClaim,
		reply: dispute.dispute,
		problems: ["CLAIM_UNKNOWN", "CHAIN_UNREACHABLE"],
	}),
	handInFraud: write("/v1/frauds", "Publish the fraud file by which a claim fell on the chain", {
		role: "member",
		cost: 5,
		waitsFor: "chain",
		mostBytes: blob.MOST_PIECE_BYTES,
		body: blob.piece,
		reply: claim.fraud,
		problems: ["FRAUD_REFUSED", "CLAIM_UNKNOWN", "JOB_STATE", "CHAIN_UNREACHABLE"],
	}),
	getFraud: read("/v1/frauds/:hash", "A fraud file: assay verify judges it", {
		kind: "binary",
		params: claim.byFraud,
		problems: ["FRAUD_UNKNOWN"],
	}),
	listJobProofs: read("/v1/jobs/:id/proofs", "Segments of a zk job that are proven and paid: by whom, and their gas", {
		waitsFor: "chain",
		cost: 3,
		params: byJob,
		reply: job.jobProofs,
		problems: ["JOB_UNKNOWN"],
	}),
	getJobProof: read(
		"/v1/jobs/:id/proofs/:segment",
		"The proof of a segment, from its transaction: assay verify judges it",
		{
			kind: "binary",
			waitsFor: "chain",
			cost: 3,
			params: job.bySegment,
			problems: ["JOB_UNKNOWN", "PROOF_UNKNOWN"],
		},
	),
	getJobDraws: read("/v1/jobs/:id/draws", "Everything that a stranger needs to draw again", {
		params: byJob,
		reply: job.jobDraws,
		problems: ["JOB_UNKNOWN"],
	}),
	getPartOffer: read("/v1/jobs/:id/parts/:part/offer", "What the caller was drawn for: a part, or an audit of one", {
		role: "provider",
		waitsFor: "host",
		params: job.byPart,
		query: job.offerQuery,
		reply: job.partOffer,
		problems: ["JOB_UNKNOWN", "JOB_STATE"],
	}),
	acceptPart: write("/v1/jobs/:id/parts/:part/accept", "Take a part; on a chain, after its assignment is there", {
		role: "provider",
		waitsFor: "chain",
		params: job.byPart,
		body: job.acceptBody,
		reply: job.partReply,
		problems: ["JOB_UNKNOWN", "JOB_STATE"],
	}),
	declinePart: write("/v1/jobs/:id/parts/:part/decline", "Do not take a part, or hand back one that runs", {
		role: "provider",
		params: job.byPart,
		body: job.declineBody,
		reply: job.partReply,
		problems: ["JOB_UNKNOWN", "JOB_STATE"],
	}),
	beatPart: write("/v1/jobs/:id/parts/:part/beat", "A sign of life, with what is done and how it goes", {
		role: "provider",
		params: job.byPart,
		mostJsonBytes: job.MAX_BEAT_BYTES,
		body: job.beatBody,
		reply: job.beatReply,
		problems: ["JOB_UNKNOWN", "JOB_STATE", "JOB_CLAIM", "BLOB_UNKNOWN"],
	}),
	claimPart: write(
		"/v1/jobs/:id/parts/:part/claim",
		"Claim a part whose blobs were uploaded; on a chain, before and after the claim there",
		{
			role: "provider",
			waitsFor: "chain",
			params: job.byPart,
			mostJsonBytes: job.MAX_KEPT_BYTES,
			body: job.claimBody,
			reply: job.claimReply,
			problems: ["JOB_UNKNOWN", "JOB_STATE", "JOB_CLAIM", "BLOB_UNKNOWN"],
		},
	),
	answerAudit: write("/v1/jobs/:id/parts/:part/audits/:at", "What an auditor computed", {
		role: "provider",
		params: job.byAudit,
		body: job.auditBody,
		reply: job.auditReply,
		problems: ["JOB_UNKNOWN", "JOB_STATE", "JOB_CLAIM", "BLOB_UNKNOWN"],
	}),

	listTokens: read("/v1/tokens", "API tokens, without their secrets", {
		role: "admin",
		query: admin.tokensQuery,
		reply: page(admin.token),
		problems: ["CURSOR_BAD"],
	}),
	makeToken: write("/v1/tokens", "Create an API token; its secret is shown once", {
		role: "admin",
		status: 201,
		body: admin.makeTokenBody,
		reply: admin.madeToken,
	}),
	revokeToken: write("/v1/tokens/:id", "Revoke an API token", {
		method: "DELETE",
		role: "admin",
		params: z.strictObject({ id: tokenId }),
		reply: admin.token,
		problems: ["TOKEN_UNKNOWN"],
	}),
	listAudit: read("/v1/audit", "Journal of changes, newest first", {
		role: "admin",
		query: admin.auditQuery,
		reply: page(admin.auditLine),
		problems: ["CURSOR_BAD"],
	}),

	getAttestationPolicy: read(
		"/v1/attestation-policy",
		"By which rules this validator judges what devices sign (docs/attestation.md): roots, allowed guests, TCB states, floors, ages",
		{ reply: network.attestationPolicy },
	),
	codes: read("/v1/codes", "The table of codes (docs/codes.md)", { reply: network.codeTable }),
	openapi: read("/v1/openapi.json", "This API as an OpenAPI 3.1 document", { reply: network.openapiDocument }),
	metrics: read("/metrics", "Prometheus metrics", { kind: "text" }),
} satisfies Readonly<Record<string, Route>>;

export type Routes = typeof routes;
export type RouteName = keyof Routes;
/** Answered by the server itself; every other route needs a handler. */
export type OwnRouteName = "health" | "codes" | "openapi" | "metrics";
type HandledRouteName = Exclude<RouteName, OwnRouteName>;

/**
 * One handler for each route; a missing one is a type error, and so is a surplus one where createApiServer
 * takes them.
 */
export type Handlers = { readonly [Name in HandledRouteName]: Handler<Routes[Name]> };

/** The table as plain rows, for code that goes over all of them. */
export const routeRows = Object.entries(routes) as unknown as readonly (readonly [RouteName, Route])[];
