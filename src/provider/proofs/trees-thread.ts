// The thread of make-trees.ts: one wish in, the nodes of its trees out as bytes. Whatever is thrown ends it.
import { parentPort, workerData } from "node:worker_threads";
import { type TreesWish, treesAsBytes } from "./make-trees.ts";

parentPort?.postMessage(treesAsBytes(workerData as TreesWish));
