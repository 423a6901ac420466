// The thread of build-prefill.ts: one description in, the bytes of its prefill program out. Whatever is
// thrown ends it.
import { parentPort, workerData } from "node:worker_threads";
import { buildHere, type PrefillWish } from "./build-prefill.ts";

parentPort?.postMessage(buildHere(workerData as PrefillWish));
