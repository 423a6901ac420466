// A hint's commands with what was typed: whoever named a network by --data or --api means the same one in the
// command that the hint suggests, so that it works when it is pasted. Not here: the hints themselves.
import { type CommandName, loaders } from "../commands.ts";

const CARRIED = ["data", "api", "rpc"] as const;

/** As a shell reads one word. */
const quoted = (value: string): string =>
	/^[\w@%+=:,./~-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`;

function typed(args: readonly string[], name: string): string | null {
	const at = args.indexOf(`--${name}`);
	if (at >= 0 && args[at + 1] !== undefined) return args[at + 1]!;
	return args.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3) ?? null;
}

/** Commands in a hint stand in backquotes: `assay up`. */
export async function carriedAlong(hint: string, args: readonly string[]): Promise<string> {
	const given = CARRIED.flatMap((name) => {
		const value = typed(args, name);
		return value === null ? [] : [[name, value] as const];
	});
	if (given.length === 0) return hint;
	const parts = hint.split(/(`assay [^`]+`)/);
	for (const [index, part] of parts.entries()) {
		const command = /^`assay (\w+)/.exec(part)?.[1];
		if (command === undefined || !Object.hasOwn(loaders, command)) continue;
		const { options } = await loaders[command as CommandName]();
		const more = given.filter(([name]) => Object.hasOwn(options, name) && !part.includes(`--${name}`));
		const words = more.map(([name, value]) => ` --${name} ${quoted(value)}`);
		parts[index] = `${part.slice(0, -1)}${words.join("")}\``;
	}
	return parts.join("");
}
