// The validator's queue (pg-boss) is made for Node 22.12 and newer; all other commands run under Node 20.
import { AssayError } from "../protocol/assay-error.ts";

const LEAST = [22, 12] as const;

/** Throws NODE_TOO_OLD. */
export function requireNode(command: string, version = process.versions.node): void {
	const [major = 0, minor = 0] = version.split(".").map(Number);
	if (major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])) return;
	throw new AssayError("NODE_TOO_OLD", `assay ${command} needs Node ${LEAST.join(".")} or newer, this is ${version}`, {
		hint: "Install a newer Node; probe, verify, devices and provide run under this one.",
	});
}
