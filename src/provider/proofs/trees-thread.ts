// The thread of make-trees.ts: one wish in; out the nodes of its trees as bytes, or what shows that
// commitments are bare. Whatever is thrown ends it.
import { parentPort, workerData } from "node:worker_threads";
import { bareProof } from "../../verify/zk/hybrid/bare.ts";
import { type ThreadWish, treesAsBytes } from "./make-trees.ts";

const wish = workerData as ThreadWish;
parentPort?.postMessage("trees" in wish ? treesAsBytes(wish.trees) : bareProof(wish.bare));
