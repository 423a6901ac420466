// Toy engines as programs, for the tests of links: files that can be run, hashed and uploaded like the real
// one. They compute nothing. The real engine has its own tests over the same links.

import { createHash } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { type EngineBuild, hostPlatform } from "../builds.ts";
import { encodeReply } from "../wire/frames.ts";

function toOctal(bytes: Uint8Array): string {
	return [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

/** Says READY from /bin/sh, which every host has; `then` is what it does afterwards. */
export function shellEngine(then: string): string {
	const ready = encodeReply(0, { kind: "ready", version: 3, engineVersion: "toy" });
	return `#!/bin/sh\nprintf '${toOctal(ready)}'\n${then}\n`;
}

/** Reads until the end of its input and exits, as FRAMES.md asks. */
export const POLITE = shellEngine("cat >/dev/null\nexit 0");

/** Says READY, answers PING and GEMM (roots of one byte each, without end until its input ends). */
export const TALKING = `#!${process.execPath}
import { decodeRequest, encodeReply } from ${JSON.stringify(new URL("../wire/frames.ts", import.meta.url).href)};
import { FrameReader } from ${JSON.stringify(new URL("../wire/frame-reader.ts", import.meta.url).href)};
import { MAX_LENGTH_TO_ENGINE } from ${JSON.stringify(new URL("../wire/frame-table.ts", import.meta.url).href)};
const send = (id, reply) => process.stdout.write(encodeReply(id, reply));
send(0, { kind: "ready", version: 3, engineVersion: "toy" });
const reader = new FrameReader(MAX_LENGTH_TO_ENGINE);
process.stdin.on("data", (chunk) => reader.push(chunk, (frame) => {
	const request = decodeRequest(frame);
	if (request.kind === "ping") send(frame.id, { kind: "pong", payload: request.payload });
	if (request.kind === "gemm") {
		let index = 0;
		setInterval(() => index < request.rounds && send(frame.id, { kind: "root", index: index++, root: new Uint8Array(32).fill(index) }), 10);
	}
	return true;
}));
process.stdin.on("end", () => process.exit(0));
`;

export function writeProgram(path: string, text: string): EngineBuild {
	writeFileSync(path, text);
	chmodSync(path, 0o755);
	const sha256 = createHash("sha256").update(text).digest("hex");
	return { platform: hostPlatform(), path, sha256, bytes: Buffer.byteLength(text) };
}
