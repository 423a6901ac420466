// The validator's queue (pg-boss) is made for Node 22.12 and newer; all other commands run under Node 20.
import { AssayError } from "../protocol/assay-error.ts";

const MIN_NODE = [22, 12] as const;

/** Throws NODE_TOO_OLD. */
export function requireNode(version = process.versions.node): void {
	const [major = 0, minor = 0] = version.split(".").map(Number);
	if (major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])) return;
	throw new AssayError(
		"NODE_TOO_OLD",
		`this command needs Node ${MIN_NODE.join(".")} or newer; this is Node ${version}`,
		{
			hint: "Install a newer Node; probe, verify, devices and provide run under this one.",
		},
	);
}
