// The commands there are: what each is for, in one line, and where its code is. Help needs the lines alone:
// loading every command would load engines, database and chain.
import type { Command } from "./command.ts";

/** In the order of the help. */
export const summaries = {
	probe: "prove a host: its GPUs, memory, CPU and disk",
	verify: "check an evidence file again, trusting nobody",
	attest: "judge attestation reports and quotes of GPUs and CPUs",
	devices: "list what a host claims to have",
	job: "run exact work here; check a run, or find where two differ",
	program: "check, show and run exact programs",
	model: "look at a model from outside, and turn text into its tokens",
	doctor: "check what this machine can build and run, and what to install",
	up: "run the whole network on this machine",
	providers: "list providers by what they proved; add, pause and remove them",
	history: "a provider's probes, verdicts and figures over time",
	probes: "list probes and their verdicts, or show one",
	evidence: "fetch the evidence file of a probe, for assay verify",
	scores: "scores, explained term by term down to the evidence",
	rent: "rent proven machines",
	chain: "epochs and stakes on chain; deploy the contracts, send tokens, bind devices",
	stake: "stake tokens on chain, for this validator or this provider",
	deposit: "deposit tokens for the bonds of jobs; take them and the earnings out",
	unstake: "take stake back, after the unbonding delay",
	claim: "claim the rewards of final epochs",
	audit: "recompute an epoch from the chain and the evidence",
	accuse: "prove a wrong result on chain, so that its provider is slashed",
	tokens: "list, create and revoke API tokens (admins)",
	provide: "offer this host's devices to validators",
	validate: "run a validator: probe and score providers, serve the API",
};

export type CommandName = keyof typeof summaries;

export const loaders: Readonly<Record<CommandName, () => Promise<Command>>> = {
	probe: async () => (await import("./commands/probe.ts")).probeCommand,
	verify: async () => (await import("./commands/verify.ts")).verifyCommand,
	attest: async () => (await import("./commands/attest.ts")).attestCommand,
	devices: async () => (await import("./commands/devices.ts")).devicesCommand,
	job: async () => (await import("./commands/job.ts")).jobCommand,
	program: async () => (await import("./commands/program.ts")).programCommand,
	model: async () => (await import("./commands/model.ts")).modelCommand,
	doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
	up: async () => (await import("./commands/up.ts")).upCommand,
	providers: async () => (await import("./commands/providers.ts")).providersCommand,
	history: async () => (await import("./commands/history.ts")).historyCommand,
	probes: async () => (await import("./commands/probes.ts")).probesCommand,
	evidence: async () => (await import("./commands/evidence.ts")).evidenceCommand,
	scores: async () => (await import("./commands/scores.ts")).scoresCommand,
	rent: async () => (await import("./commands/rent.ts")).rentCommand,
	chain: async () => (await import("./commands/chain.ts")).chainCommand,
	stake: async () => (await import("./commands/stake.ts")).stakeCommand,
	deposit: async () => (await import("./commands/deposit.ts")).depositCommand,
	unstake: async () => (await import("./commands/stake.ts")).unstakeCommand,
	claim: async () => (await import("./commands/claim.ts")).claimCommand,
	audit: async () => (await import("./commands/audit.ts")).auditCommand,
	accuse: async () => (await import("./commands/accuse.ts")).accuseCommand,
	tokens: async () => (await import("./commands/tokens.ts")).tokensCommand,
	provide: async () => (await import("./commands/provide.ts")).provideCommand,
	validate: async () => (await import("./commands/validate.ts")).validateCommand,
};
