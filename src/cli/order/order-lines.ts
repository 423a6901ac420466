// The answer to `--expect`: one line for people, an object for programs. Pure.
import type { Verdict } from "../../protocol/probe/verdict.ts";
import { notAsOrdered, type Order } from "../../verify/hardware/order.ts";
import type { Paint } from "../print/paint.ts";

export function orderLine(order: Order, verdict: Verdict, paint: Paint): string {
	const reason = notAsOrdered(order, verdict);
	if (reason !== null) return `${paint.bad(paint.strong("NOT AS ORDERED"))}  ${reason}`;
	return `${paint.good(paint.strong("AS ORDERED"))}  ${order.count} × ${order.model ?? "GPU"}`;
}

export function orderJson({ count, model, profiles, least }: Order, verdict: Verdict) {
	const reason = notAsOrdered({ count, model, profiles, least }, verdict);
	return { asOrdered: reason === null, reason, count, model, profiles, least };
}
