// Test files that are whole scenarios: a validator, a network, a browser, contracts. The longest come first,
// so that none is left alone at the end, and each has a process of its own. With each the rooms that it is
// the test of: `npm run test:near` runs it after a change there, or after one that no smaller test sees. Not
// here: how long they took last (kept-results.ts).
const CLI = "src/cli/";
const JOBS = ["src/validator/jobs/", "src/market/jobs/", "src/provider/jobs/"];
const ROLL_CALLS = ["validator", "provider", "verify", "market", "protocol"].map((room) => `src/${room}/roll-call/`);
const SETTLEMENT = ["src/validator/settlement/", "src/market/epochs/"];

export const SCENARIOS: Readonly<Record<string, readonly string[]>> = {
	"tests/faults/faults.test.ts": [...JOBS, "src/chain/", "src/store/postgres/", "src/cli/jobs/"],
	"tests/validator/roll-calls.test.ts": ROLL_CALLS,
	"contracts/test/solidity.test.ts": ["contracts/"],
	"tests/cli/network-cli.test.ts": [CLI],
	"tests/web/dashboard.test.ts": ["web/"],
	"scripts/release.test.ts": ["src/library/", "bin/", "deploy/"],
	"tests/web/job-pages.test.ts": ["web/jobs/", "web/programs/"],
	"tests/web/verify-page.test.ts": ["web/verify/", "web/why/"],
	"tests/validator/shared-openings.test.ts": ["src/validator/roll-call/", "src/protocol/roll-call/"],
	"tests/jobs/jobs.test.ts": JOBS,
	"tests/walks/owner.test.ts": ["src/cli/owner/", "src/cli/up/"],
	"tests/network/simulation.test.ts": ["src/validator/probing/", "src/validator/scoring/"],
	"tests/jobs/job-roads.test.ts": JOBS,
	"tests/web/chain-pages.test.ts": ["web/chain/"],
	"tests/web/dispute-pages.test.ts": ["web/disputes/"],
	"tests/network/crash.test.ts": ["src/store/", "src/validator/probing/"],
	"tests/provider/user-rentals.test.ts": ["src/provider/rental/"],
	"tests/web/real-pages.test.ts": ["pages", "parts", "shell", "market", "rent"].map((room) => `web/${room}/`),
	"src/validator/settlement/keeper.test.ts": SETTLEMENT,
	"tests/cli/cli.test.ts": [CLI],
	"tests/zk/whole-program.test.ts": ["src/verify/zk/", "engine/src/zk/"],
	"src/validator/settlement/epoch-attacks.test.ts": SETTLEMENT,
	"tests/store/processes.test.ts": ["src/store/"],
	"tests/jobs/real-provider.test.ts": ["src/provider/jobs/"],
	"tests/jobs/zk-jobs.test.ts": ["src/provider/proofs/", "src/validator/jobs/"],
	"tests/jobs/sixth-method.test.ts": ["src/verify/methods/", "src/market/jobs/"],
	"tests/cli/external-chain.test.ts": ["src/chain/", "src/cli/chain/"],
	// It changes the verifier's modules as they are loaded: nobody may have loaded them before.
	"tests/attestation/removed-checks.test.ts": ["src/verify/attestation/"],
	// How much memory its process takes is measured in it: nobody else may be in there.
	"tests/cheaters.test.ts": ["src/verify/hardware/", "src/protocol/probe/", "src/validator/probe/"],
};
