// Routes of the network at a glance, readiness, tokens and the journal.
import type { Handlers } from "../../api/routes.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { policyHash, policyRules } from "../../verify/attestation/policy.ts";
import { DEFAULT_POLICY, MINT_ROOTS, type Roots, VENDOR_ROOTS } from "../../verify/attestation/settings.ts";
import { asJson } from "../jobs/keeper/job-context.ts";
import type { ValidatorContext } from "../validator-context.ts";
import { actorOf } from "./caller.ts";
import { createGlance } from "./glance.ts";

export interface ReadyCheck {
	readonly name: string;
	/** Throws what is wrong. */
	readonly check: () => Promise<string> | string;
}

export function networkHandlers(
	context: ValidatorContext,
	options: { readonly version: string; readonly checks: readonly ReadyCheck[] },
) {
	const { store, env, config, signer } = context;
	// Counting 10,000 providers takes tens of milliseconds.
	const latest = createGlance(1000, (nowMs) =>
		Promise.all([store.overview({ nowMs }), store.dueProbes.counts({ nowMs })]),
	);
	return {
		async ready() {
			const checks = await Promise.all(
				options.checks.map(async ({ name, check }) => {
					try {
						return { name, ok: true, detail: await check() };
					} catch (error) {
						return { name, ok: false, detail: error instanceof AssayError ? error.message : "failed" };
					}
				}),
			);
			const bad = checks.filter(({ ok }) => !ok);
			if (bad.length > 0)
				throw new AssayError("NOT_READY", bad.map(({ name, detail }) => `${name}: ${detail}`).join("; "));
			return { ready: true as const, checks };
		},
		getAttestationPolicy() {
			const policy = { ...DEFAULT_POLICY, guests: config.guests };
			const under = (roots: Roots) => ({
				hash: policyHash({ roots, policy }),
				rules: asJson(policyRules({ roots, policy })),
			});
			const { takesSimulated: countsSimulated } = config.jobs;
			return { vendors: under(VENDOR_ROOTS), simulated: under(MINT_ROOTS), countsSimulated };
		},
		getParams: () => ({ params: { ...config.params } }),
		async network() {
			const { atMs, counted } = latest(env.nowMs());
			const [overview, counts] = await counted;
			return {
				version: options.version,
				nowMs: atMs,
				scoring: config.params.scoring,
				intervalMs: config.params.intervalMs,
				validator: { key: signer.key, name: config.name },
				...overview,
				probes: { ...overview.probes, due: counts.due },
			};
		},
		listTokens: ({ query }) => store.tokens.list(query),
		makeToken: ({ body, caller }) => store.tokens.create(body, { nowMs: env.nowMs(), actor: actorOf(caller) }),
		async revokeToken({ params, caller }) {
			const token = await store.tokens.revoke(params.id, { nowMs: env.nowMs(), actor: actorOf(caller) });
			if (token === null) throw new AssayError("TOKEN_UNKNOWN", "there is no such token that still works");
			return token;
		},
		listAudit: ({ query }) => store.journal.list(query),
	} satisfies Partial<Handlers>;
}
