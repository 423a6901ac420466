// Beside a load test with toys: verifies a real card's evidence as often as probes come, on a thread of a
// process of its own, as a validator's verifier would. Started by startChild from network-load.ts.
import { readFileSync } from "node:fs";
import { verifyEvidence } from "../src/verify/hardware/verify.ts";
import { answerParent } from "../tests/network/child-program.ts";

const file = new Uint8Array(readFileSync(new URL("../vectors/h200.assay", import.meta.url)));
let files = 0;

answerParent({
	start({ perS }: { readonly perS: number }) {
		const began = performance.now();
		let begun = 0;
		setInterval(() => {
			// The rate is kept on average; one at a time, as one thread does it.
			if (begun >= ((performance.now() - began) / 1000) * perS) return;
			begun += 1;
			if (verifyEvidence(file).status !== "valid") throw new Error("the sample evidence is not valid");
			files += 1;
		}, 20);
	},
	stop() {
		const { user, system } = process.cpuUsage();
		setImmediate(() => process.exit(0));
		return { files, cpuS: (user + system) / 1e6 };
	},
});
