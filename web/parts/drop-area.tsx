// A place to drop files, with the browser's own dialog behind a button. Not here: what is done with the
// files.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

/** Whether files are held over it, and the handlers of what they are dropped on. */
export function useDrop(onFiles: (files: readonly File[]) => void) {
	const [isOver, setOver] = useState(false);
	const on = {
		onDragOver: (event: DragEvent) => {
			event.preventDefault();
			setOver(true);
		},
		onDragLeave: () => setOver(false),
		onDrop: (event: DragEvent) => {
			event.preventDefault();
			setOver(false);
			onFiles([...(event.dataTransfer?.files ?? [])]);
		},
	};
	return { isOver, on };
}

export function DropArea(p: {
	title: string;
	/** Of the dialog, for those who hear the page. */
	label: string;
	/** There is something else to look at already. */
	isSmall?: boolean;
	onFiles: (files: readonly File[], wasDropped: boolean) => void;
	/** What stands in it; a button calls `choose`. */
	children: (choose: () => void) => ComponentChildren;
}) {
	const { isOver, on } = useDrop((files) => p.onFiles(files, true));
	const input = useRef<HTMLInputElement>(null);
	return (
		// Dropping is an extra; the button inside does the same by keyboard.
		<div class={`drop ${isOver ? "is-over" : ""} ${p.isSmall ? "is-small" : ""}`} {...on}>
			<p class="drop-title">{p.title}</p>
			{p.children(() => input.current?.click())}
			<input
				ref={input}
				type="file"
				multiple
				class="hidden"
				tabIndex={-1}
				aria-label={p.label}
				onChange={(event) => {
					p.onFiles([...(event.currentTarget.files ?? [])], false);
					// The same file again is a new question.
					event.currentTarget.value = "";
				}}
			/>
		</div>
	);
}
