// Writes array files for tests, as NumPy does.
export function npyBytes(descr: string, dims: readonly number[], body: Uint8Array): Uint8Array {
	const shape = dims.length === 1 ? `${dims[0]},` : dims.join(", ");
	const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape}), }`;
	const header = new TextEncoder().encode(`${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`);
	const head = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8);
	return Uint8Array.from([...head, ...header, ...body]);
}
