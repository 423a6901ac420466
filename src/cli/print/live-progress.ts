// Progress of a probe on standard error: one line that is rewritten on a terminal, one line per stage
// elsewhere. Shows what the events say; nothing here is evidence.
import { formatBytes, formatRate, rateUnit } from "../../protocol/format-number.ts";
import type { ChallengeSpec } from "../../protocol/probe/evidence.ts";
import type { ProbeEvent } from "../../validator/probe/probe-event.ts";
import { formatDuration } from "./format.ts";
import type { Paint } from "./paint.ts";
import { createStatusLine } from "./status-line.ts";
import { plural } from "./table.ts";

export interface Progress {
	show(event: ProbeEvent): void;
	/** Clears the rewritten line, so that what follows starts on a clean one. */
	end(): void;
}

export const silentProgress: Progress = { show() {}, end() {} };

/**
 * A stream's spec does not say whose bytes are read; the name of its stage does (plan-peers.ts,
 * plan-disk.ts).
 */
function specTitle(spec: ChallengeSpec, stage: string): string {
	if (spec.kind === "stream") {
		const what = stage.startsWith("disk") ? "read from disk" : stage.includes("peers") ? "a peer's memory" : "memory";
		return `${what}, ${spec.passes} ${spec.passes === 1 ? "pass" : "passes"}`;
	}
	if (spec.kind === "copy") return "written to disk";
	if (spec.kind === "chase") return "read hop by hop";
	if (spec.kind === "train") return `training, GPT ${spec.layers}×${spec.width}`;
	if (spec.kind === "fma") return `scalar ${spec.precision}`;
	return `matrix ${spec.precision} ${spec.m}×${spec.n}×${spec.k}${spec.rounds === 0 ? ", sustained" : ""}`;
}

const bar = (share: number, width: number) => {
	const filled = Math.round(Math.min(1, Math.max(0, share)) * width);
	return "█".repeat(filled) + "░".repeat(width - filled);
};

/** Faster than anyone reads; every update costs a write. */
const UPDATE_EVERY_MS = 80;

type RootEvent = Extract<ProbeEvent, { kind: "root" }>;

export function createLiveProgress(stream: NodeJS.WriteStream, paint: Paint): Progress {
	const { print, update, clear } = createStatusLine(stream);
	let updatedMs = 0;
	let stage = "";
	/** What the device of a long run last reported. */
	let reported = "";
	/** The newest root of each challenge of the current stage. */
	const running = new Map<number, RootEvent>();

	const renew = (text: string) => {
		const nowMs = performance.now();
		if (nowMs - updatedMs < UPDATE_EVERY_MS) return;
		updatedMs = nowMs;
		update(text);
	};
	const closeStage = () => {
		for (const root of running.values()) print(`  ${paint.good("✓")} ${rootText(root, stage, paint)}`);
		running.clear();
	};

	return {
		show(event) {
			switch (event.kind) {
				case "claim": {
					const devices = event.claim.devices.map((d) => `${d.name} (${formatBytes(d.memoryBytes)})`).join(", ");
					return print(`  claimed: ${devices}; round trip ${formatDuration(event.rttUs)}`);
				}
				case "warm-up":
					return renew(`  … ${event.name}`);
				case "stage":
					closeStage();
					stage = event.name;
					reported = "";
					return renew(`  … ${event.name}`);
				case "root": {
					running.set(event.challenge, event);
					const { done, of } = event;
					const count = of === 0 ? `${done}` : `${done}/${of}`;
					const took = formatDuration(event.elapsedMs * 1000);
					return renew(
						`  ${bar(of === 0 ? 0 : done / of, 20)} ${count} rounds  ${specTitle(event.spec, stage)}  ${took}${reported}`,
					);
				}
				case "reading": {
					const { coreMHz, powerMw, temperatureC } = event.reading;
					reported = `  reports ${coreMHz} MHz, ${Math.round(powerMw / 1000)} W, ${temperatureC} °C`;
					return;
				}
				case "answered":
					if (event.end !== "complete" && event.end !== "stopped")
						print(`  ${paint.bad("✗")} challenge ${event.challenge}: ${event.end}: ${event.detail}`);
					return;
				case "too-big":
					return print(`  ${event.name}: not enough free memory; asking for less`);
				case "opened":
					return renew(`  ${plural(event.openings, "place")} opened`);
				case "checking":
					closeStage();
					return renew(`  checking ${formatBytes(event.bytes)} of evidence`);
			}
		},
		end() {
			closeStage();
			clear();
		},
	};
}

function rootText({ spec, perS, done, elapsedMs }: RootEvent, stage: string, paint: Paint): string {
	const unit = { chase: "hops/s", train: "token/s", stream: "B/s", copy: "B/s" };
	const speed = formatRate(perS, "precision" in spec ? rateUnit(spec.precision) : unit[spec.kind]);
	const rounds = paint.dim(`${plural(done, "round")}, ${formatDuration(elapsedMs * 1000)}`);
	return `device ${spec.device}  ${specTitle(spec, stage).padEnd(34)} ${speed.padStart(12)}  ${rounds}`;
}
