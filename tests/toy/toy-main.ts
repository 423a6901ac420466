// The toy engine as a program: `node toy-main.ts [--gpus=N] [--cpus=N] [--disk=1] [--cheat=NAME]`, frames on
// stdin and stdout like the real one.
import { CHEATS } from "./cheats.ts";
import { toyClaim } from "./toy-claim.ts";
import { ToyEngine } from "./toy-engine.ts";

const option = (name: string) => process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
const name = option("cheat");
const cheat = name === undefined ? {} : CHEATS[name];
if (!cheat) throw new Error(`no cheat is called ${name}`);

process.stdout.on("error", () => process.exit(0)); // the verifier is gone
const toy = new ToyEngine(
	toyClaim(Number(option("gpus") ?? 0), Number(option("cpus") ?? 1), option("disk") !== undefined),
	cheat,
	{
		write: (bytes) => void process.stdout.write(bytes),
		hangUp: () => process.exit(0),
	},
);
await toy.serve(process.stdin);
process.exit(0);
