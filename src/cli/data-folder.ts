// Where a validator's data lie unless a command says otherwise; `assay up` and `assay validate` share it.
import { homedir } from "node:os";
import { join } from "node:path";
import type { Surroundings } from "./command.ts";

/** ASSAY_HOME, else ${XDG_DATA_HOME:-~/.local/share}/assay; XDG says that relative paths there are to be ignored. */
export function defaultDataDir(env: Surroundings["env"]): string {
	if (env.ASSAY_HOME) return join(env.ASSAY_HOME, "network");
	const data = env.XDG_DATA_HOME?.startsWith("/") ? env.XDG_DATA_HOME : join(homedir(), ".local", "share");
	return join(data, "assay", "network");
}
