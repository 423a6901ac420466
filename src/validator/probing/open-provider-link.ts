// From a provider's row to a link, whichever kind it has: the engine on this machine, one over ssh, or the
// agent that dialled in. Nothing is asked of the engine here.

import type { ReceiptsWanted } from "../../engine/agent/agent-calls.ts";
import { findEngine, hostPlatform } from "../../engine/builds.ts";
import { createLocalLink } from "../../engine/links/create-local-link.ts";
import { createSshLink } from "../../engine/links/create-ssh-link.ts";
import type { Link } from "../../engine/links/link.ts";
import { parseTarget } from "../../engine/links/parse-target.ts";
import type { Environment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Provider } from "../../store/providers.ts";
import { dataPaths, type ValidatorConfig } from "../validator-config.ts";
import type { ValidatorContext } from "../validator-context.ts";

export type LinkSource = Pick<ValidatorContext, "config" | "env" | "agents">;

/** Throws AssayError: the probe is then inconclusive with its code. */
export async function openProviderLink(
	context: LinkSource,
	provider: Pick<Provider, "id" | "link" | "target">,
	probeId: string,
	receipts: ReceiptsWanted | null = null,
): Promise<Link> {
	const { config, env } = context;
	if (provider.link === "agent") {
		const agent = context.agents.get(provider.id);
		if (agent === undefined || agent.isClosed)
			throw new AssayError("AGENT_CLOSED", "the provider is not connected to this validator process", {
				hint: "It dials again by itself; look at its log.",
			});
		const limits = limitsFor(config.probe.limits, agent.claim.host.ramBytes);
		return agent.openLink({ probe: probeId, limits, receipts });
	}
	if (provider.link === "local") {
		if (config.openLocalLink !== null) return config.openLocalLink();
		return createLocalLink({ command: (await findEngine(hostPlatform())).path, env: env.env });
	}
	const target = parseTarget(provider.target);
	if (target.kind !== "ssh") throw new AssayError("TARGET_BAD", "the provider's target is no ssh:// address");
	const { identityFile, connectTimeoutMs } = config.ssh;
	return createSshLink(
		{
			target,
			knownHostsFile: dataPaths(config.dataDir).knownHosts,
			clockUs: env.clockUs,
			env: env.env,
			connectTimeoutMs,
			...(identityFile === null ? {} : { identityFile }),
		},
		(platform, cards) => findEngine(platform, { ...(cards && { cards }) }),
	);
}

/** A provider refuses more memory than its host has: a small host is asked for less than it claims. */
function limitsFor(limits: ValidatorConfig["probe"]["limits"], ramBytes: number): ValidatorConfig["probe"]["limits"] {
	if (ramBytes <= 0) return limits;
	return { ...limits, memoryBytes: Math.max(1, Math.min(limits.memoryBytes, Math.floor(ramBytes * 0.99))) };
}

/**
 * The same link with an end: at the deadline it is closed, as if the far side had hung up. Not by aborting
 * the probe: what the provider committed to and did not open must be judged, or a cheater would only have to
 * be slow whenever the draw hits.
 */
export async function withDeadline(
	open: () => Promise<Link>,
	options: { readonly totalMs: number; readonly after: Environment["after"]; readonly onDeadline: () => void },
): Promise<Link> {
	let link: Link | null = null;
	let isLate = false;
	const { promise: late, reject } = Promise.withResolvers<never>();
	late.catch(() => {});
	const cancel = options.after(options.totalMs, () => {
		isLate = true;
		options.onDeadline();
		if (link) void link.close();
		else reject(new AssayError("LINK_DEADLINE", `no link came within ${options.totalMs} ms`));
	});
	const opening = open();
	try {
		link = await Promise.race([opening, late]);
	} catch (error) {
		cancel();
		if (isLate) void opening.then((one) => one.close()).catch(() => {});
		throw error;
	}
	void link.closed.then(cancel);
	return link;
}
