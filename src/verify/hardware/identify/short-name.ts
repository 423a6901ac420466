// What people call a card: further names, and the short one that lists and feeds show. Apart from the
// profiles, so that a page can show a name without them.

/** What people call a card whose driver says something else. */
export const ALSO_CALLED: Readonly<Record<string, readonly string[]>> = {
	"H100 80GB HBM3": ["H100 SXM", "H100 SXM5"],
	H800: ["H800 SXM", "H800 SXM5"],
	H200: ["H200 SXM", "H200 SXM5"],
	B200: ["B200 SXM", "B200 SXM6"],
	"B300 SXM6 AC": ["B300", "B300 SXM"],
	"A100-PCIE-40GB": ["A100 PCIe 40GB", "A100 40GB PCIe"],
	"A100-SXM4-40GB": ["A100 SXM 40GB", "A100 40GB SXM"],
	"A100 80GB PCIe": ["A100 PCIe 80GB"],
	"A100-SXM4-80GB": ["A100 SXM 80GB", "A100 80GB SXM"],
	"RTX 6000 Ada Generation": ["RTX 6000 Ada", "6000 Ada"],
};

/**
 * "H100 80GB HBM3" → "H100 SXM", "GeForce RTX 4090" → "RTX 4090". model-names.ts leads from it back to the
 * card. A name that it does not know stays.
 */
export function shortName(profile: string): string {
	const [called] = ALSO_CALLED[profile] ?? [];
	return called !== undefined && called.length <= profile.length ? called : profile.replace(/^GeForce /, "");
}
