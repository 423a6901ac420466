// Cards of other vendors than NVIDIA: what they are called, by their PCI number and by what people type.
// Nothing here can be proven yet; the names are for saying so. The numbers are those of the PCI ID list
// (pci-ids.ucw.cz, August 2026). Not here: cards that can be proven (profiles.ts).
import type { UnsupportedCard } from "../../../protocol/probe/evidence.ts";
import { cardsMeant, squashed } from "./model-names.ts";

/** Habana is Intel's. */
const VENDORS = { "1002": "AMD", "8086": "Intel", "1da3": "Intel" } as const;
type VendorId = keyof typeof VENDORS;
const VENDOR_WORDS = /\b(amd|intel|habana)\b/gi;

/** For each vendor and series: device numbers, then the names that one of them may have. */
const SERIES: readonly (readonly [VendorId, string, readonly (readonly [string, string])[]])[] = [
	[
		"1002",
		"Instinct",
		[
			["6860 6864 686c", "MI25"],
			["66a0 66a1", "MI50, MI60"],
			["738c 738e", "MI100"],
			["740f", "MI210"],
			["740c", "MI250, MI250X"],
			["7408", "MI250X"],
			["74a0", "MI300A"],
			["74a1 74a9 74b5 74bd", "MI300X"],
			["74a2", "MI308X"],
			["74a5 74b9", "MI325X"],
			["75a0", "MI350X"],
			["75a3", "MI355X"],
			["75a8", "MI350P"],
		],
	],
	[
		"1002",
		"Radeon",
		[
			["66af", "VII"],
			["73bf", "RX 6900 XT, RX 6800 XT, RX 6800"],
			["73af", "RX 6900 XT"],
			["73a5", "RX 6950 XT"],
			["744c", "RX 7900 XTX, RX 7900 XT, RX 7900 GRE"],
			["747e", "RX 7800 XT, RX 7700 XT"],
			["7480", "RX 7600 XT, RX 7600"],
			["7550", "RX 9070 XT, RX 9070, RX 9070 GRE"],
			["7590", "RX 9060 XT"],
			["7551", "AI PRO R9700"],
			["73a3", "PRO W6800"],
			["7448 744a", "PRO W7900"],
			["745e 7449", "PRO W7800"],
			["7470", "PRO W7700"],
			["73a1 73ae", "PRO V620"],
			["7460 7461", "PRO V710"],
		],
	],
	[
		"8086",
		"Data Center GPU",
		[
			["0bd5 0bd6 0bd4", "Max 1550"],
			["0b69", "Max 1450"],
			["0bd7 0bd8", "Max 1350"],
			["0bd9 0bda 0bdb 0b6e", "Max 1100"],
			["56c0 56c2", "Flex 170"],
			["56c1", "Flex 140"],
		],
	],
	[
		"8086",
		"Arc",
		[
			["5690", "A770M"],
			["5691", "A730M"],
			["56a0", "A770"],
			["56a1 56be", "A750"],
			["56a2 56bf", "A580"],
			["56a5 56ba", "A380"],
			["56a6 56bb", "A310"],
			["e20b", "B580"],
			["e20c", "B570"],
			["e212", "Pro B50"],
			["e211", "Pro B60"],
			["e222", "Pro B65"],
			["e223", "Pro B70"],
		],
	],
	[
		"1da3",
		"Gaudi",
		[
			["1000 1010", ""],
			["1020", "2"],
			["1060 1063", "3"],
		],
	],
];

const NAMES = SERIES.flatMap(([vendor, series, cards]) =>
	cards.map(([devices, names]) => ({
		vendor,
		devices: devices.split(" "),
		names: names.split(", ").map((name) => `${series} ${name}`.trim()),
	})),
);

const SPELLINGS = NAMES.flatMap(({ vendor, names }) =>
	names.map((name) => [`${VENDORS[vendor]} ${name}`, squashed(name)] as const),
);

/** "8 × AMD Instinct MI300X". A number that is in no list is told with what its driver calls it. */
export function unsupportedName({ pciId, name, count }: UnsupportedCard): string {
	const [vendor, device] = pciId.split(":") as [VendorId, string];
	const known = NAMES.find((one) => one.vendor === vendor && one.devices.includes(device));
	const maker = Object.hasOwn(VENDORS, vendor) ? `${VENDORS[vendor]} ` : "";
	const called = known?.names.join(" or ") ?? `card with the PCI number ${pciId}${name === "" ? "" : ` ('${name}')`}`;
	return `${count} × ${maker}${called}`;
}

export const unsupportedText = (card: UnsupportedCard): string =>
	`${unsupportedName(card)}: not supported yet; only NVIDIA cards can be proven`;

/** The card that "MI300X" or "Gaudi3" means; the words themselves where they mean several. Null: none. */
export function unsupportedMeant(typed: string): string | null {
	const rest = typed.replace(VENDOR_WORDS, "");
	const { length } = squashed(rest).text;
	if (length === 0 && rest !== typed) return typed.trim();
	if (length < 3) return null; // "x" begins many a name and means none
	const found = cardsMeant(rest, SPELLINGS);
	return found.length === 1 ? found[0]! : found.length === 0 ? null : typed.trim();
}
