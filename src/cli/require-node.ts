// The embedded chain (EDR) is made for Node 22 and newer; commands without a chain run under Node 20.
import { AssayError } from "../protocol/assay-error.ts";

const MIN_NODE = 22;

/** Throws NODE_TOO_OLD. */
export function requireNode(version = process.versions.node): void {
	if (Number(version.split(".")[0]) >= MIN_NODE) return;
	throw new AssayError("NODE_TOO_OLD", `this command needs Node ${MIN_NODE} or newer; this is Node ${version}`, {
		hint: "Install a newer Node; probe, verify, devices and provide run under this one.",
	});
}
