// What the customer pays for an hour of work: `pricePerHour` of the job file, so that the same file asks the
// same on the command line. Whether an offer keeps to it is checked where the offer is
// (src/market/jobs/check-offer.ts).
import { wholeSpan } from "../../../src/protocol/format-number.ts";
import { CURRENCY } from "../../parts/format.ts";
import { type Json, jobText, jsonOf } from "./job-form.tsx";

const FIELD = "pricePerHour";

export function HourPrice(p: {
	text: string;
	isLocked: boolean;
	/** Null: not known yet. */
	leastPaidMs: number | null;
	onText: (text: string) => void;
}) {
	const json = jsonOf(p.text);
	if (json === null) return null;
	const change = (typed: string) => {
		const { [FIELD]: _, ...rest } = json;
		const next: Json = typed === "" ? rest : { ...rest, [FIELD]: Number(typed) };
		p.onText(jobText(next));
	};
	return (
		<div class="job-form">
			<div class="row">
				<label>
					<span>
						Price of an hour of work <span class="dim">{CURRENCY}; empty: what hosts ask</span>
					</span>
					<input
						type="number"
						min="0"
						step="any"
						disabled={p.isLocked}
						value={json[FIELD] === undefined ? "" : String(json[FIELD])}
						onInput={({ currentTarget: { value, validity } }) => {
							if (!validity.badInput) change(value);
						}}
					/>
				</label>
			</div>
			<p class="dim small-text">
				An hour of work is what an H200 does in an hour, counted from the program before it runs. It is not an hour of
				anybody's clock: a slower host works longer for it and is paid no more.
				{p.leastPaidMs === null ? "" : ` A part is paid as ${wholeSpan(p.leastPaidMs)} at least, however short it is.`}{" "}
				Only hosts that ask no more than this are drawn; fee and checks come on top, at the same price.
			</p>
		</div>
	);
}
