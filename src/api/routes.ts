// The one route table: the server, the typed client, OpenAPI and docs/api.md are all made from it. Page:
// docs/network.md §3. What a route does is not known here: handlers are passed to createApiServer, one per
// name.
import { z } from "zod";
import type { Handler, RateClass, Route, RouteRole } from "./route.ts";
import * as admin from "./schemas/admin.ts";
import * as chain from "./schemas/chain.ts";
import * as network from "./schemas/network.ts";
import { epochNumber, page, probeId, providerId, rentalId, sha256, tokenId } from "./schemas/primitives.ts";
import * as probe from "./schemas/probe.ts";
import * as provider from "./schemas/provider.ts";
import * as receipt from "./schemas/receipt.ts";
import * as rental from "./schemas/rental.ts";
import * as score from "./schemas/score.ts";
import { figurePoint } from "./schemas/verdict.ts";

const read = { method: "GET", role: "public", kind: "json", rate: "read", status: 200 } as const;
const write = { method: "POST", kind: "json", rate: "write", status: 200 } as const;

const byProvider = z.strictObject({ id: providerId });
const byProbe = z.strictObject({ id: probeId });
const byRental = z.strictObject({ id: rentalId });
const byEpoch = z.strictObject({ number: epochNumber });

export const routes = {
	health: { ...read, path: "/v1/health", summary: "The server answers", reply: network.health },
	ready: {
		...read,
		path: "/v1/ready",
		summary: "The server is ready; 503 while it is not",
		reply: network.ready,
		problems: ["NOT_READY"],
	},
	network: { ...read, path: "/v1/network", summary: "The network at a glance", reply: network.network },

	listProviders: {
		...read,
		path: "/v1/providers",
		summary: "Providers, filtered by what they have proven",
		query: provider.providersQuery,
		reply: page(provider.providerSummary),
		problems: ["CURSOR_BAD"],
	},
	getProvider: {
		...read,
		path: "/v1/providers/:id",
		summary: "One provider: what it claims, what it has proven",
		params: byProvider,
		reply: provider.provider,
		problems: ["PROVIDER_UNKNOWN"],
	},
	registerProvider: {
		...write,
		path: "/v1/providers",
		summary: "Register a provider: itself (agent), or by an admin (ssh, local)",
		role: "provider",
		status: 201,
		body: provider.registerProviderBody,
		bodyRole: (body: z.output<typeof provider.registerProviderBody>): RouteRole =>
			body.link === "agent" ? "provider" : "admin",
		reply: provider.provider,
		problems: ["PROVIDER_KNOWN", "CALLER_OTHER", "TARGET_BAD"],
	},
	changeProvider: {
		...write,
		method: "PATCH",
		path: "/v1/providers/:id",
		summary: "Change a provider's name, price, whether it can be rented, or pause it",
		role: "provider",
		params: byProvider,
		body: provider.changeProviderBody,
		reply: provider.provider,
		problems: ["PROVIDER_UNKNOWN", "CALLER_OTHER"],
	},
	removeProvider: {
		...write,
		method: "DELETE",
		path: "/v1/providers/:id",
		summary: "Remove a provider; its history stays",
		role: "provider",
		params: byProvider,
		reply: provider.provider,
		problems: ["PROVIDER_UNKNOWN", "CALLER_OTHER", "PROVIDER_RENTED"],
	},
	listProviderProbes: {
		...read,
		path: "/v1/providers/:id/probes",
		summary: "A provider's probes, newest first",
		params: byProvider,
		query: probe.providerProbesQuery,
		reply: page(probe.probeSummary),
		problems: ["PROVIDER_UNKNOWN", "CURSOR_BAD"],
	},
	listProviderFigures: {
		...read,
		path: "/v1/providers/:id/figures",
		summary: "One proven figure over time, newest first",
		params: byProvider,
		query: probe.figuresQuery,
		reply: z.object({ rows: z.array(figurePoint) }),
		problems: ["PROVIDER_UNKNOWN"],
	},
	getProviderScore: {
		...read,
		path: "/v1/providers/:id/score",
		summary: "A provider's score, explained term by term down to evidence",
		params: byProvider,
		reply: score.score,
		problems: ["PROVIDER_UNKNOWN", "SCORE_UNKNOWN"],
	},
	askProbe: {
		...write,
		path: "/v1/providers/:id/probe",
		summary: "Make a provider's next probe due now",
		role: "validator",
		status: 202,
		params: byProvider,
		body: probe.askProbeBody,
		reply: probe.askedProbe,
		problems: ["PROVIDER_UNKNOWN", "PROVIDER_RENTED", "PROBE_RUNNING"],
	},

	listProbes: {
		...read,
		path: "/v1/probes",
		summary: "Probes of all providers, newest first",
		query: probe.probesQuery,
		reply: page(probe.probeSummary),
		problems: ["CURSOR_BAD"],
	},
	getProbe: {
		...read,
		path: "/v1/probes/:id",
		summary: "One probe: verdict, figures, identities, findings",
		params: byProbe,
		reply: probe.probe,
		problems: ["PROBE_UNKNOWN"],
	},
	getProbeEvidence: {
		...read,
		kind: "binary",
		path: "/v1/probes/:id/evidence",
		summary: "The evidence file of a probe",
		params: byProbe,
		problems: ["PROBE_UNKNOWN", "EVIDENCE_UNKNOWN"],
	},
	getProbeReceipts: {
		...read,
		path: "/v1/probes/:id/receipts",
		summary: "The provider's signed receipts of a probe, which prove a fraud on chain",
		params: byProbe,
		reply: receipt.receiptFile,
		problems: ["PROBE_UNKNOWN", "RECEIPTS_UNKNOWN"],
	},
	watchProbe: {
		...read,
		kind: "events",
		path: "/v1/probes/:id/events",
		summary: "Progress of one probe as server-sent events; ends with its verdict",
		params: byProbe,
		query: network.probeEventsQuery,
		problems: ["PROBE_UNKNOWN"],
	},
	watchEvents: {
		...read,
		kind: "events",
		path: "/v1/events",
		summary: "All events, as server-sent events",
		query: network.eventsQuery,
	},
	getEvidence: {
		...read,
		kind: "binary",
		path: "/v1/evidence/:sha256",
		summary: "An evidence file by its hash",
		params: z.strictObject({ sha256 }),
		problems: ["EVIDENCE_UNKNOWN"],
	},

	getChain: {
		...read,
		path: "/v1/chain",
		summary: "The chain at a glance; null when this validator has none",
		reply: chain.chainReply,
		problems: ["CHAIN_UNREACHABLE"],
	},
	listChainEpochs: {
		...read,
		path: "/v1/chain/epochs",
		summary: "Epochs of the chain, newest first",
		query: chain.chainQuery,
		reply: page(chain.chainEpochSummary),
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "CURSOR_BAD"],
	},
	getChainEpoch: {
		...read,
		path: "/v1/chain/epochs/:number",
		summary: "One epoch of the chain: windows, reports, proposal, pot",
		params: byEpoch,
		reply: chain.chainEpoch,
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "EPOCH_UNKNOWN"],
	},
	listChainWeights: {
		...read,
		path: "/v1/chain/epochs/:number/weights",
		summary: "Each validator's score of each provider, with median, weight and share; highest first",
		params: byEpoch,
		query: chain.chainQuery,
		reply: chain.chainWeights,
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "EPOCH_UNKNOWN", "CURSOR_BAD"],
	},
	listChainTransactions: {
		...read,
		path: "/v1/chain/epochs/:number/transactions",
		summary: "Transactions of one epoch, newest first",
		params: byEpoch,
		query: chain.chainQuery,
		reply: page(chain.chainTransaction),
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "EPOCH_UNKNOWN", "CURSOR_BAD"],
	},
	getChainAccount: {
		...read,
		path: "/v1/chain/accounts/:account",
		summary: "An account on the chain: stake, rewards, devices",
		params: z.strictObject({ account: chain.account }),
		reply: chain.chainAccount,
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE"],
	},
	getProviderChain: {
		...read,
		path: "/v1/providers/:id/chain",
		summary: "A provider's account on the chain; null when it has none",
		params: byProvider,
		reply: z.object({ account: chain.chainAccount.nullable() }),
		problems: ["CHAIN_NONE", "CHAIN_UNREACHABLE", "PROVIDER_UNKNOWN"],
	},

	listOffers: {
		...read,
		path: "/v1/offers",
		summary: "Providers that can be rented now, by proven figures",
		query: rental.offersQuery,
		reply: page(rental.offer),
		problems: ["CURSOR_BAD"],
	},
	rent: {
		...write,
		path: "/v1/rentals",
		summary: "Rent a provider, or the cheapest that matches",
		role: "customer",
		status: 201,
		body: rental.rentBody,
		reply: rental.rental,
		problems: ["PROVIDER_UNKNOWN", "PROVIDER_RENTED", "OFFER_NONE", "OFFER_DEARER"],
	},
	listRentals: {
		...read,
		path: "/v1/rentals",
		summary: "The caller's rentals (all of them for admins), newest first",
		role: "customer",
		query: rental.rentalsQuery,
		reply: page(rental.rental),
		problems: ["CURSOR_BAD"],
	},
	getRental: {
		...read,
		path: "/v1/rentals/:id",
		summary: "One rental of the caller",
		role: "customer",
		params: byRental,
		reply: rental.rental,
		problems: ["RENTAL_UNKNOWN"],
	},
	extendRental: {
		...write,
		path: "/v1/rentals/:id/extend",
		summary: "Extend a rental",
		role: "customer",
		params: byRental,
		body: rental.extendBody,
		reply: rental.rental,
		problems: ["RENTAL_UNKNOWN", "RENTAL_STATE"],
	},
	releaseRental: {
		...write,
		path: "/v1/rentals/:id/release",
		summary: "End a rental now",
		role: "customer",
		params: byRental,
		reply: rental.rental,
		problems: ["RENTAL_UNKNOWN", "RENTAL_STATE"],
	},

	listTokens: {
		...read,
		path: "/v1/tokens",
		summary: "API tokens, without their secrets",
		role: "admin",
		query: admin.tokensQuery,
		reply: page(admin.token),
		problems: ["CURSOR_BAD"],
	},
	makeToken: {
		...write,
		path: "/v1/tokens",
		summary: "Create an API token; its secret is shown once",
		role: "admin",
		status: 201,
		body: admin.makeTokenBody,
		reply: admin.madeToken,
	},
	revokeToken: {
		...write,
		method: "DELETE",
		path: "/v1/tokens/:id",
		summary: "Revoke an API token",
		role: "admin",
		params: z.strictObject({ id: tokenId }),
		reply: admin.token,
		problems: ["TOKEN_UNKNOWN"],
	},
	listAudit: {
		...read,
		path: "/v1/audit",
		summary: "Journal of changes, newest first",
		role: "admin",
		query: admin.auditQuery,
		reply: page(admin.auditLine),
		problems: ["CURSOR_BAD"],
	},

	codes: { ...read, path: "/v1/codes", summary: "The table of codes (docs/codes.md)", reply: network.codeTable },
	openapi: {
		...read,
		path: "/v1/openapi.json",
		summary: "This API as an OpenAPI 3.1 document",
		reply: network.openapiDocument,
	},
	metrics: { ...read, kind: "text", path: "/metrics", summary: "Prometheus metrics" },
} as const satisfies Readonly<Record<string, Route & { readonly rate: RateClass }>>;

export type Routes = typeof routes;
export type RouteName = keyof Routes;
/** Answered by the server itself; every other route needs a handler. */
export const OWN_ROUTES = ["health", "codes", "openapi", "metrics"] as const satisfies readonly RouteName[];
export type OwnRouteName = (typeof OWN_ROUTES)[number];
type HandledRouteName = Exclude<RouteName, OwnRouteName>;

/**
 * One handler for each route; a missing one is a type error, and so is a surplus one where createApiServer
 * takes them.
 */
export type Handlers = { readonly [Name in HandledRouteName]: Handler<Routes[Name]> };

/** The table as plain rows, for code that goes over all of them. */
export const routeRows = Object.entries(routes) as unknown as readonly (readonly [RouteName, Route])[];
