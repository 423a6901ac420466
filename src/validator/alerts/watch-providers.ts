// Tells the operator's webhooks of providers: an invalid probe, figures that have fallen, one that is gone,
// one that is back. Only of those that have proven something: keys are free, and nobody shall fill a pager
// with them. One process of a network does it, under a lease; when another takes over, an alert may be
// missing or come twice. Not here: how it is sent (platform/webhook.ts), what has fallen
// (market/schedule/suspicion.ts).
import type { NetworkEvent } from "../../api/types.ts";
import { fallenFigures } from "../../market/schedule/suspicion.ts";
import { repeat } from "../../platform/repeat.ts";
import { createWebhook } from "../../platform/webhook.ts";
import { type AlertFacts, alertBody, createAlertRests } from "../../protocol/network/alert.ts";
import type { FigureSeries } from "../../protocol/network/provider-memory.ts";
import { failure, type ValidatorContext } from "../validator-context.ts";

const LEASE = "alerts";
const LOOK_EVERY_MS = 30_000;
/** After a start: who went away in this time before it, and is not back, is told as well. */
const LOOK_BACK_MS = 3_600_000;
/** Below this share of its best at the end of a long run, as `assay probe --sustain` has it. */
const THROTTLED_PPM = 900_000;

type Happened = Pick<AlertFacts, "kind" | "provider" | "name" | "code" | "what">;

export function startAlerts(context: ValidatorContext): { stop(): Promise<void> } {
	const { config, env, hub, log, metrics, signer, store } = context;
	const { urls, secret, offlineMs } = config.alerts;
	if (urls.length === 0) return { stop: async () => {} };
	const webhooks = urls.map((url) =>
		createWebhook({
			...{ url, secret, nowMs: env.nowMs, after: env.after },
			onEnd(how, why) {
				metrics.alerts.inc({ how });
				if (how !== "sent") log.warn({ how, why, to: new URL(url).host }, "an alert did not arrive");
			},
		}),
	);
	const rest = createAlertRests();
	const isGone = new Set<string>();
	let isMine = false;
	const startedAtMs = env.nowMs();
	let lookedAtMs = startedAtMs - LOOK_BACK_MS;

	const raise = (what: Happened): void => {
		const atMs = env.nowMs();
		const heldBack = rest(what.kind, what.provider, atMs);
		if (heldBack === null) return void metrics.alerts.inc({ how: "held" });
		for (const webhook of webhooks) webhook.send(alertBody({ ...what, atMs, by: signer.key, heldBack }));
	};
	const heard = async (event: NetworkEvent): Promise<void> => {
		const what = isMine ? await whatHappened(context, event, isGone) : null;
		if (what !== null) raise(what);
	};
	const unlisten = hub.listen((event) => void heard(event).catch(failure(context, LEASE)));
	const looking = repeat(
		{
			everyMs: Math.min(LOOK_EVERY_MS, offlineMs),
			after: env.after,
			onError: failure(context, LEASE),
			turns: context.watchdog.watch(LEASE),
		},
		async () => {
			isMine = await store.leases.acquire(LEASE);
			const untilMs = env.nowMs() - offlineMs;
			// Agents need a moment to come back to a process that has just started.
			if (!isMine || untilMs < startedAtMs) return;
			for (const { id, name } of await store.connections.leftBetween(lookedAtMs, untilMs)) {
				isGone.add(id);
				const what = `not connected for ${Math.ceil(offlineMs / 60_000)} min`;
				raise({ kind: "offline", provider: id, name, code: null, what });
			}
			lookedAtMs = untilMs;
		},
	);
	return {
		async stop() {
			unlisten();
			await looking.stop();
			await store.leases.release(LEASE);
			await Promise.all(webhooks.map((webhook) => webhook.stop()));
		},
	};
}

/** Null: nothing that is told. */
async function whatHappened(
	{ store, config }: Pick<ValidatorContext, "store" | "config">,
	{ kind, providerId, detail }: NetworkEvent,
	isGone: Set<string>,
): Promise<Happened | null> {
	if (providerId === null) return null;
	if (kind === "provider.connected" && isGone.delete(providerId)) {
		const provider = await store.providers.get(providerId);
		return { kind: "back", provider: providerId, name: provider?.name ?? "", code: null, what: "connected again" };
	}
	if (kind !== "probe.verdict") return null;
	const { verdict, code } = detail as { readonly verdict?: string; readonly code?: string | null };
	const provider = await store.providers.recall(providerId);
	if (provider === null || provider.lastValidAtMs === null) return null;
	const of = { provider: providerId, name: provider.name };
	if (verdict === "invalid") return { ...of, kind: "invalid", code: code ?? null, what: "a probe was invalid" };
	if (verdict !== "valid") return null;
	const slow = slowFigures(provider.memory.series, fallenFigures(provider.memory.series, config.params));
	return slow === "" ? null : { ...of, kind: "throttled", code: null, what: `slower than it was: ${slow}` };
}

function slowFigures(series: readonly FigureSeries[], fallen: readonly { readonly name: string }[]): string {
	const unsteady = series.filter(
		({ name, values }) => name.endsWith(".sustained-ratio") && (values.at(-1) ?? THROTTLED_PPM) < THROTTLED_PPM,
	);
	return [...new Set([...fallen, ...unsteady].map(({ name }) => name))].slice(0, 8).join(", ");
}
