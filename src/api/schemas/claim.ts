// What a host says of itself, as src/protocol/probe/evidence.ts has it. A claim proves nothing; the API shows
// it beside what was proven.
import * as z from "zod/mini";
import { PRECISIONS } from "../../protocol/maths/precision.ts";
import { note } from "./base.ts";
import { count, said } from "./primitives.ts";

const precision = z.enum(PRECISIONS);

const deviceClaim = z.object({
	kind: z.enum(["gpu", "cpu", "disk"]),
	name: said,
	uuid: said,
	memoryBytes: count,
	freeBytes: count,
	units: count,
	clockMHz: count,
	compute: said,
	pcieGen: count,
	pcieWidth: count,
	powerLimitW: count,
	powerDefaultW: count,
	temperatureC: count,
	precisions: z.array(precision),
});

export const claim = z.object({
	engine: z.object({ version: said, arch: said, cuda: z.boolean() }),
	host: z.object({ os: said, cpu: said, cores: count, ramBytes: count, ramFreeBytes: count }),
	driver: z.nullable(z.object({ version: said, cuda: said })),
	why: said,
	devices: z.array(deviceClaim).check(z.maxLength(64)),
	unsupported: note(
		z.optional(z.array(z.object({ pciId: said, name: said, count })).check(z.maxLength(8))),
		"Cards of other vendors than NVIDIA on the host's PCI bus, which cannot be proven yet",
	),
	hidden: note(
		z.optional(z.array(z.enum(["/proc", "/sys"])).check(z.maxLength(2))),
		"What the engine cannot read of its host",
	),
});
