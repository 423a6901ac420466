// Lines of output with one line below them that is rewritten in place. Where there is no terminal that line
// is left out.

export interface StatusLine {
	/** A line that stays. */
	print(text: string): void;
	/** Shown until the next line of either kind; cut to the terminal's width. */
	update(text: string): void;
	/** Clears the rewritten line. */
	clear(): void;
}

export type LineStream = Pick<NodeJS.WriteStream, "columns" | "isTTY"> & { write(text: string): unknown };

export function createStatusLine(stream: LineStream): StatusLine {
	let isOpen = false;
	const clear = () => {
		if (isOpen) stream.write("\r\u001b[K");
		isOpen = false;
	};
	return {
		clear,
		print(text) {
			clear();
			stream.write(`${text}\n`);
		},
		update(text) {
			if (stream.isTTY !== true) return;
			stream.write(`\r\u001b[K${text.slice(0, Math.max(20, (stream.columns || 80) - 1))}`);
			isOpen = true;
		},
	};
}
