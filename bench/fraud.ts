// How long a judge takes over a fraud file of every kind, and how large it is: node bench/fraud.ts. The files
// are those of the tests.
import { writeFileSync } from "node:fs";
import { arch, cpus } from "node:os";
import { fraudSamples } from "../src/verify/optimistic/fraud/fraud-samples.test-kit.ts";
import { verifyFraud } from "../src/verify/optimistic/fraud/judge-fraud.ts";

const ROUNDS = 21;
const files = [...(await fraudSamples())].map(([name, file]) => {
	const took = Array.from({ length: ROUNDS }, () => {
		const started = performance.now();
		verifyFraud(file);
		return performance.now() - started;
	});
	const ms = (value: number) => Number(value.toFixed(2));
	const [first] = took as [number];
	return { name, bytes: file.length, firstMs: ms(first), medianMs: ms(took.toSorted((a, b) => a - b)[ROUNDS >> 1]!) };
});
const result = { machine: `${cpus()[0]?.model || arch()}, ${cpus().length} cores`, node: process.version, files };
writeFileSync(new URL("results/fraud.json", import.meta.url), `${JSON.stringify(result, null, "\t")}\n`);
console.table(files);
