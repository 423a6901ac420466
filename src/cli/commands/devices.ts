// `assay devices [TARGET]`: what a host says it has. Claims only; `assay probe` is what proves them.
import { randomBytes } from "node:crypto";
import { createEngineClient } from "../../engine/client/create-engine-client.ts";
import type { DeviceClaim } from "../../protocol/probe/evidence.ts";
import type { Command } from "../command.ts";
import { linkOptions, openTarget } from "../open-target.ts";
import { parseOptions } from "../parse-options.ts";
import { formatBytes } from "../print/format.ts";
import { paintFor } from "../print/verdict-table.ts";

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

export const devicesCommand: Command = {
	name: "devices",
	summary: "lists what a host claims to have",
	help: `usage: assay devices [local | ssh://user@host[:port]] [OPTIONS]

Starts the engine on the target and prints what it says about the host. A claim proves nothing: use assay probe.

${linkOptions.help}
  --json            the claim as JSON on standard output`,

	async run(args, io) {
		const { values, positionals } = parseOptions(
			"devices",
			args,
			{ json: { type: "boolean", default: false }, ...linkOptions.options },
			{ min: 0, max: 1 },
		);
		const begun = process.hrtime.bigint();
		const clockUs = () => Number((process.hrtime.bigint() - begun) / 1000n);
		const target = openTarget("devices", positionals[0] ?? "local", values, io);
		const link = await target.open();
		try {
			const client = await createEngineClient(link, {
				clockUs,
				readyDeadlineMs: 20_000,
				randomBytes: (n) => randomBytes(n),
			});
			const claim = await client.hello({ deadlineMs: 30_000 });
			if (values.json) {
				io.out.write(`${JSON.stringify(claim, null, 2)}\n`);
			} else {
				const paint = paintFor(io.out, io.env);
				const driver =
					claim.driver === null
						? `no GPU driver: ${claim.why}`
						: `driver ${claim.driver.version}, CUDA ${claim.driver.cuda}`;
				io.out.write(
					`${[
						`${paint.strong(target.name)} claims:`,
						`  ${claim.host.cpu}, ${claim.host.cores} cores, ${formatBytes(claim.host.ramBytes)} RAM, ${claim.host.os}`,
						`  engine ${claim.engine.version} (${claim.engine.arch}), ${driver}`,
						...claim.devices.map(deviceLine),
						paint.dim("  claims only; assay probe proves them"),
					].join("\n")}\n`,
				);
			}
			await client.close();
			return 0;
		} finally {
			await link.close();
		}
	},
};
