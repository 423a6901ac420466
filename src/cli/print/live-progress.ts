// Progress of a probe on standard error: one line that renews itself on a terminal, one line per stage elsewhere.
// Shows what the events say; nothing here is evidence.
import type { ChallengeSpec } from "../../protocol/probe/evidence.ts";
import type { ProbeEvent } from "../../validator/probe/probe-event.ts";
import { formatBytes, formatDuration, formatRate } from "./format.ts";
import type { Paint } from "./verdict-table.ts";

export interface Progress {
	show(event: ProbeEvent): void;
	/** Clears the renewed line, so that what follows starts on a clean one. */
	end(): void;
}

export const silentProgress: Progress = { show() {}, end() {} };

/** A stream's spec does not say whose bytes are read; the name of its stage does (plan-peers.ts, plan-disk.ts). */
function specTitle(spec: ChallengeSpec, stage: string): string {
	if (spec.kind === "stream") {
		const what = stage.startsWith("disk") ? "read from disk" : stage.includes("peers") ? "a peer's memory" : "memory";
		return `${what}, ${spec.passes} passes`;
	}
	if (spec.kind === "copy") return "written to disk";
	if (spec.kind === "fma") return `scalar ${spec.precision}`;
	return `matrix ${spec.precision} ${spec.m}×${spec.n}×${spec.k}${spec.rounds === 0 ? ", sustained" : ""}`;
}

const bar = (share: number, width: number) => {
	const filled = Math.round(Math.min(1, Math.max(0, share)) * width);
	return "█".repeat(filled) + "░".repeat(width - filled);
};

export function createLiveProgress(stream: NodeJS.WriteStream, paint: Paint): Progress {
	const isTerminal = stream.isTTY === true;
	let lastPaintMs = 0;
	let isLineOpen = false;
	let stage = "";
	/** What the device of a long run last said of itself. */
	let said = "";
	/** The newest root of each challenge of the stage at hand. */
	const running = new Map<number, Extract<ProbeEvent, { kind: "root" }>>();

	const line = (text: string) => {
		if (isLineOpen) stream.write("\r\u001b[K");
		isLineOpen = false;
		stream.write(`${text}\n`);
	};
	const renew = (text: string) => {
		if (!isTerminal) return;
		const nowMs = performance.now();
		if (nowMs - lastPaintMs < 80) return;
		lastPaintMs = nowMs;
		stream.write(`\r\u001b[K${text.slice(0, Math.max(20, (stream.columns ?? 80) - 1))}`);
		isLineOpen = true;
	};
	const closeStage = () => {
		for (const root of running.values()) {
			const unit =
				root.spec.kind === "stream" || root.spec.kind === "copy"
					? "B/s"
					: root.spec.kind === "fma" && root.spec.precision !== "int32"
						? "flop/s"
						: "op/s";
			line(
				`  ${paint.good("✓")} device ${root.spec.device}  ${specTitle(root.spec, stage).padEnd(34)} ${formatRate(root.perS, unit).padStart(12)}  ${paint.dim(
					`${root.done} roots in ${formatDuration(root.elapsedMs * 1000)}`,
				)}`,
			);
		}
		running.clear();
	};

	return {
		show(event) {
			switch (event.kind) {
				case "claim":
					line(
						`  the host claims ${event.claim.devices.map((d) => `${d.name} (${formatBytes(d.memoryBytes)})`).join(", ")}; echo ${formatDuration(event.rttUs)}`,
					);
					break;
				case "warm-up":
					renew(`  … ${event.name}`);
					break;
				case "stage":
					closeStage();
					stage = event.name;
					said = "";
					renew(`  … ${event.name}`);
					break;
				case "root": {
					running.set(event.challenge, event);
					const share = event.of === 0 ? 0 : event.done / event.of;
					renew(
						`  ${bar(share, 20)} ${event.done}${event.of === 0 ? "" : `/${event.of}`} roots  ${specTitle(event.spec, stage)}  ${formatDuration(event.elapsedMs * 1000)}${said}`,
					);
					break;
				}
				case "reading": {
					const { coreMHz, powerMw, temperatureC } = event.reading;
					said = `  says ${coreMHz} MHz, ${Math.round(powerMw / 1000)} W, ${temperatureC} °C`;
					break;
				}
				case "answered":
					if (event.end !== "complete" && event.end !== "stopped")
						line(`  ${paint.bad("✗")} challenge ${event.challenge}: ${event.end}: ${event.detail}`);
					break;
				case "too-big":
					line(`  ${event.name}: no room for that much; asking for less`);
					break;
				case "opened":
					renew(`  ${event.openings} places opened`);
					break;
				case "checking":
					closeStage();
					renew(`  checking ${formatBytes(event.bytes)} of evidence`);
					break;
				case "verdict":
					break;
			}
		},
		end() {
			closeStage();
			if (isLineOpen) stream.write("\r\u001b[K");
			isLineOpen = false;
		},
	};
}
