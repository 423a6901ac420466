// Keys that both a flooder and whoever prepares the disk for it know.
import { createHash } from "node:crypto";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";

export const MANY_HOLDERS = 4;
export const signerNamed = (name: string) => createNodeSigner(createHash("sha256").update(name).digest());
