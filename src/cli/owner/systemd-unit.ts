// `assay provide --install`: this provider as a service of systemd, with the same options. Pure but for
// `installUnit`, which writes the file.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { writeNamedFile } from "../evidence-file.ts";
import type { Options } from "../options.ts";

const NAME = "assay-provide.service";
/** How we know a unit of ours again. */
const FIRST_LINE = "# Written by `assay provide --install`; the next one replaces it.";

/** As systemd reads a word of ExecStart: quoted, without its specifiers and variables. */
const word = (text: string): string =>
	`"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;

/** The command line that gives these values again; what was left out stays left out. */
export function argsOf(
	options: Options,
	values: Readonly<Record<string, unknown>>,
	without: readonly string[],
): string[] {
	return Object.entries(options).flatMap(([name, row]) => {
		const value = values[name];
		if (without.includes(name) || value === undefined || value === false) return [];
		if (row.value === null) return [`--${name}`];
		if (String(value) === row.fallback) return [];
		return (Array.isArray(value) ? value : [value]).flatMap((one) => [`--${name}`, String(one)]);
	});
}

export function unitText(
	command: readonly string[],
	{ isRoot, folder, env }: { isRoot: boolean; folder: string; env: Readonly<Record<string, string | undefined>> },
): string {
	const kept = ["ASSAY_HOME", "ASSAY_RPC", "ASSAY_CONFIG"].flatMap((name) =>
		env[name] ? [`Environment=${word(`${name}=${env[name]}`)}`] : [],
	);
	return [
		FIRST_LINE,
		"[Unit]",
		"Description=assay provider: offers this machine's devices to validators",
		"Wants=network-online.target",
		"After=network-online.target nvidia-persistenced.service",
		"",
		"[Service]",
		`ExecStart=${command.map(word).join(" ")}`,
		`WorkingDirectory=${folder.replaceAll("%", "%%")}`,
		...kept,
		"Restart=always",
		"RestartSec=10",
		"# A restart does not end customers' sessions.",
		"KillMode=process",
		"# A running probe may finish.",
		"TimeoutStopSec=90",
		"",
		"[Install]",
		`WantedBy=${isRoot ? "multi-user.target" : "default.target"}`,
		"",
	].join("\n");
}

/** Gives where it was written and what to run next. Never over a unit that somebody else wrote. */
export function installUnit(
	text: string,
	{ isRoot, home }: { isRoot: boolean; home: string },
): { readonly path: string; readonly next: readonly string[] } {
	const folder = isRoot ? "/etc/systemd/system" : join(home, ".config/systemd/user");
	const path = join(folder, NAME);
	if (existsSync(path) && !readFileSync(path, "utf8").startsWith(FIRST_LINE))
		throw new AssayError("FILE_UNWRITABLE", `${path} was written by somebody else`, {
			hint: "Move it away, then install again.",
		});
	try {
		mkdirSync(dirname(path), { recursive: true });
	} catch {
		// Said by the write.
	}
	writeNamedFile(path, text, "--install as another user");
	const systemctl = isRoot ? "systemctl" : "systemctl --user";
	return {
		path,
		next: [
			`${systemctl} daemon-reload`,
			`${systemctl} enable --now ${NAME}`,
			...(isRoot ? [] : ["loginctl enable-linger"]),
			`${isRoot ? "journalctl" : "journalctl --user"} -fu ${NAME}`,
		],
	};
}
