// When a provider says that something of it has changed (driver, devices, engine), or comes back with another claim than it left with: market's
// rule decides whether that makes it due. Temperatures and free memory change all the time and mean nothing here.

import { rememberState, scheduleStateOf } from "../../market/schedule/provider-memory.ts";
import { onChanged } from "../../market/schedule/schedule.ts";
import type { HostClaim } from "../../protocol/probe/evidence.ts";
import type { ValidatorContext } from "../validator-context.ts";

function isOtherHost(before: HostClaim, after: HostClaim): boolean {
	const facts = ({ engine, host, driver, devices }: HostClaim) =>
		JSON.stringify([
			[engine.version, engine.arch, engine.cuda],
			[host.os, host.cpu, host.cores, host.ramBytes],
			driver === null ? null : [driver.version, driver.cuda],
			devices.map(({ kind, name, uuid, memoryBytes, units, compute }) => [
				kind,
				name,
				uuid,
				memoryBytes,
				units,
				compute,
			]),
		]);
	return facts(before) !== facts(after);
}

export async function takeClaim(
	x: Pick<ValidatorContext, "store" | "env" | "config" | "hub" | "mutex">,
	o: { readonly providerId: string; readonly before: HostClaim | null; readonly after: HostClaim },
): Promise<boolean> {
	const { store, env, config, hub } = x;
	const { providerId: id, before, after } = o;
	const nowMs = env.nowMs();
	await store.providers.setClaim(id, after, { nowMs });
	if (before !== null && !isOtherHost(before, after)) return false;
	await x.mutex.run(id, async () => {
		const provider = await store.providers.recall(id);
		if (provider === null) return;
		const { state, actions } = onChanged(scheduleStateOf(provider), nowMs, config.params);
		await store.providers.remember(id, rememberState(provider.memory, state));
		for (const action of actions)
			if (action.do === "probe-at" && action.atMs < provider.nextProbeAtMs)
				await store.providers.requestProbe(id, { atMs: action.atMs });
	});
	hub.tell({ kind: "provider.changed", subject: id, providerId: id, detail: { what: "claim" } });
	return true;
}
