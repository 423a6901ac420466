// Probes a host and keeps the evidence: node probe.mjs [local | user@host] [IDENTITY-FILE]
import { writeFileSync } from "node:fs";
import { AssayError, codes } from "assay";
import { runProbe } from "assay/probe";

const [target = "local", identityFile] = process.argv.slice(2);
try {
	const { verdict, evidence } = await runProbe({
		...{ target, quick: true, ...(identityFile && { identityFile }) },
		onEvent: (event) => event.kind === "stage" && console.log(`  ${event.name}`),
	});
	if (evidence !== null) writeFileSync("host.assay", evidence);
	if (verdict.status === "valid")
		for (const { device, name, value, unit } of verdict.figures)
			console.log(`device ${device} ${name}: ${value} ${unit}`);
	else console.log(`${verdict.status}: ${verdict.detail} [${verdict.code}]`);
	process.exitCode = verdict.status === "valid" ? 0 : 1;
} catch (error) {
	// Unreachable, refused, no engine: what to do about it is in the hint, and in the table of codes.
	if (!(error instanceof AssayError)) throw error;
	console.error(`${error.message} [${error.code}] ${error.hint}`);
	process.exitCode = error.code in codes ? 69 : 70;
}
