// A validator process of its own, for tests that kill it: node killed-validator.test-kit.ts DATADIR
// [DATABASE_URL]. Its URL is its first line.
import { startToyValidator } from "./toy-agent.test-kit.ts";

const [dataDir, databaseUrl] = process.argv.slice(2);
const validator = await startToyValidator({ dataDir: dataDir!, databaseUrl, leaseMs: 600_000 });
process.stdout.write(`${JSON.stringify({ url: validator.url, process: validator.store.process })}\n`);
