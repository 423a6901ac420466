// Pictures of a job on a canvas: one that grows, or frames that play. Bytes are decoded as PNG and nothing
// else; they never become an address or markup.
import { useEffect, useRef, useState } from "preact/hooks";

export interface Frame {
	readonly name: string;
	readonly bytes: Uint8Array;
}

const MOST_SIDE = 4096;
const FRAME_MS = 120;

function Picture({ frame, label }: { frame: Frame; label: string }) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const [isBroken, setBroken] = useState(false);
	useEffect(() => {
		let isCurrent = true;
		createImageBitmap(new Blob([frame.bytes as Uint8Array<ArrayBuffer>], { type: "image/png" })).then(
			(bitmap) => {
				const element = canvas.current;
				if (!isCurrent || element === null || Math.max(bitmap.width, bitmap.height) > MOST_SIDE) return;
				[element.width, element.height] = [bitmap.width, bitmap.height];
				element.getContext("2d")?.drawImage(bitmap, 0, 0);
				bitmap.close();
				setBroken(false);
			},
			() => isCurrent && setBroken(true),
		);
		return () => {
			isCurrent = false;
		};
	}, [frame]);
	return (
		<>
			<canvas ref={canvas} class="picture" role="img" aria-label={label} data-picture={frame.name} />
			{isBroken ? <p class="unsure">This is no picture.</p> : null}
		</>
	);
}

/** Frames in a row, by slider or playing. */
export function Player({ frames, label }: { frames: readonly Frame[]; label: string }) {
	const [at, setAt] = useState<number | null>(null);
	const [isPlaying, setPlaying] = useState(false);
	useEffect(() => {
		if (!isPlaying) return;
		const timer = setInterval(() => setAt((before) => ((before ?? 0) + 1) % frames.length), FRAME_MS);
		return () => clearInterval(timer);
	}, [isPlaying, frames.length]);
	// The newest, unless somebody looks at another.
	const shown = Math.min(at ?? frames.length - 1, frames.length - 1);
	const frame = frames[shown];
	if (frame === undefined) return null;
	return (
		<div class="player">
			<Picture frame={frame} label={`${label}, ${shown + 1} of ${frames.length}`} />
			{frames.length < 2 ? null : (
				<p class="bar">
					<button type="button" class="small" onClick={() => setPlaying(!isPlaying)}>
						{isPlaying ? "Stop" : "Play"}
					</button>
					<label class="grow">
						<span class="hidden">Frame</span>
						<input
							type="range"
							min="0"
							max={frames.length - 1}
							value={shown}
							onInput={(event) => {
								setPlaying(false);
								setAt(Number(event.currentTarget.value));
							}}
						/>
					</label>
					<span class="num dim">
						{shown + 1} of {frames.length}
					</span>
				</p>
			)}
		</div>
	);
}
