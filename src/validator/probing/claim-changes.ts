// When a provider says that something of it has changed (driver, devices, engine), or comes back with another
// claim than it left with: market's rule decides whether that makes it due. Temperatures and free memory
// change all the time and mean nothing here.

import { rememberState, scheduleStateOf } from "../../market/schedule/provider-memory.ts";
import { onChanged } from "../../market/schedule/schedule.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import { changeMemory } from "../change-memory.ts";
import type { ValidatorContext } from "../validator-context.ts";

function isOtherHost(before: HostClaim, after: HostClaim): boolean {
	const facts = ({ engine, host, driver, devices }: HostClaim) =>
		JSON.stringify([
			[engine.version, engine.arch, engine.cuda],
			[host.os, host.cpu, host.cores, host.ramBytes],
			driver === null ? null : [driver.version, driver.cuda],
			devices.map((one) => [one.kind, one.name, one.uuid, one.memoryBytes, one.units, one.compute]),
		]);
	return facts(before) !== facts(after);
}

/** Whether it is another host now, and so may be due. */
export async function takeClaim(
	context: Pick<ValidatorContext, "store" | "env" | "config" | "hub" | "mutex">,
	id: string,
	{ before, after }: { readonly before: HostClaim | null; readonly after: HostClaim },
): Promise<boolean> {
	const { store, env, config, hub } = context;
	const nowMs = env.nowMs();
	await store.providers.setClaim(id, after, { nowMs });
	if (before !== null && !isOtherHost(before, after)) return false;
	let probeAtMs: number | null = null;
	await changeMemory(context, id, (provider) => {
		const state = onChanged(scheduleStateOf(provider), nowMs, config.params);
		if (state.nextProbeAtMs !== null && state.nextProbeAtMs < provider.nextProbeAtMs) probeAtMs = state.nextProbeAtMs;
		return rememberState(provider.memory, state);
	});
	if (probeAtMs !== null) await store.providers.requestProbe(id, { atMs: probeAtMs });
	hub.tell({ kind: "provider.changed", subject: id, providerId: id, detail: { what: "claim" } });
	return true;
}
