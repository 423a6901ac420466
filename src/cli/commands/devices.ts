// `assay devices [TARGET]`: what a host says it has. Claims only; `assay probe` is what proves them.
import { createEngineClient } from "../../engine/client/create-engine-client.ts";
import { realEnvironment } from "../../platform/environment.ts";
import { formatBytes } from "../../protocol/format-number.ts";
import type { DeviceClaim, HostClaim } from "../../protocol/probe/evidence.ts";
import { unsupportedText } from "../../verify/hardware/identify/other-vendors.ts";
import { command } from "../command.ts";
import { linkOptions, openTarget, TARGET_HELP } from "../open-target.ts";
import { flag } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";

function unitsOf({ kind, units }: DeviceClaim): string {
	if (kind === "disk") return "";
	return kind === "gpu" ? `${units} SMs` : `${units} cores`;
}

function deviceLine(device: DeviceClaim, index: number): string {
	const parts = [
		unitsOf(device),
		device.clockMHz > 0 ? `${device.clockMHz} MHz` : "",
		`${formatBytes(device.memoryBytes)} (${formatBytes(device.freeBytes)} free)`,
		device.compute === "" ? "" : `compute ${device.compute}`,
		device.pcieGen > 0 ? `PCIe ${device.pcieGen} ×${device.pcieWidth}` : "",
		// A capped card is slower than its data sheet; the share tells at a glance.
		device.powerDefaultW > 0
			? `${device.powerLimitW} W (${Math.round((100 * device.powerLimitW) / device.powerDefaultW)} % of default)`
			: "",
		device.uuid,
	];
	return `  ${device.kind} ${index}  ${device.name}\n         ${parts.filter((p) => p !== "").join(", ")}`;
}

export const devicesCommand = command({
	name: "devices",
	about: `Starts the engine on the target and prints what it says about the host. A claim proves nothing: use assay probe.

${TARGET_HELP}`,
	takes: "[TARGET]",
	options: { json: flag("print the claim as JSON"), ...linkOptions },
	exits: { 69: "unreachable", 77: "refused" },

	async run(values, io, named = "local") {
		const { clockUs, randomBytes } = realEnvironment();
		const target = openTarget(named, values, io);
		const link = await target.open();
		try {
			const client = await createEngineClient(link, { clockUs, readyDeadlineMs: 20_000, randomBytes });
			const claim = await client.hello({ deadlineMs: 30_000 });
			printResult(values, io, claim, (paint) => claimText(target.name, claim, paint));
			await client.close();
			return 0;
		} finally {
			await link.close();
		}
	},
});

function claimText(target: string, claim: HostClaim, paint: Paint): string {
	const { driver, why, host, engine, devices, unsupported = [], hidden = [] } = claim;
	const gpuDriver = driver === null ? `no GPU driver: ${why}` : `driver ${driver.version}, CUDA ${driver.cuda}`;
	return `${[
		`${paint.strong(target)} claims:`,
		`  ${host.cpu}, ${host.cores} cores, ${formatBytes(host.ramBytes)} RAM, ${host.os}`,
		`  engine ${engine.version} (${engine.arch}), ${gpuDriver}`,
		...devices.map(deviceLine),
		...unsupported.map((card) => `  gpu –  ${paint.unsure(unsupportedText(card))}`),
		...(hidden.length === 0 ? [] : [`  the engine cannot read ${hidden.join(" and ")} here; its claim is incomplete`]),
		paint.dim("  claims only; assay probe proves them"),
	].join("\n")}\n`;
}
