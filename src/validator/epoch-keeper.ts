// Epochs: opens them, reports this validator's scores when one ends, and closes it with the network's weights and shares once the reports are in.
// Medians, clips and shares are market's; all is kept by the store, each step once however many processes try. With a chain, number, begin and end of an epoch are
// the chain's: there is one epoch N. Without one they are counted from the first start.
import { reportHash } from "../api/report-hash.ts";
import type { EpochParams } from "../chain/contracts/scoreboard.ts";
import { networkWeights } from "../market/epochs/network-weights.ts";
import { rewardShares } from "../market/epochs/reward-shares.ts";
import { repeat } from "../platform/environment.ts";
import { bytesToHex } from "../protocol/bytes/bytes.ts";
import type { Json } from "../protocol/bytes/canonical-json.ts";
import type { Epoch, Report, Weight } from "../store/store.ts";
import { failure, type ValidatorContext } from "./validator-context.ts";

export interface EpochKeeper {
	/** One round: whatever is due now. For tests and the loop. */
	turn(): Promise<void>;
	stop(): Promise<void>;
}

const MAX_EVERY_MS = 1000;

/** The chain's, in seconds. */
export type EpochSchedule = Pick<EpochParams, "genesis" | "epochSeconds">;

interface Slot {
	readonly number: number;
	readonly startsAtMs: number;
	readonly endsAtMs: number;
}

/** The chain's epoch at a moment; null before its first one. */
function slotAt({ genesis, epochSeconds }: EpochSchedule, nowMs: number): Slot | null {
	const number = Math.floor((nowMs / 1000 - genesis) / epochSeconds);
	const startsAtMs = (genesis + number * epochSeconds) * 1000;
	return number < 0 ? null : { number, startsAtMs, endsAtMs: startsAtMs + epochSeconds * 1000 };
}

export function startEpochKeeper(x: ValidatorContext, schedule: EpochSchedule | null = null): EpochKeeper {
	const { store, env, config, signer, hub } = x;
	const { lengthMs, emissionMicros, graceMs } = config.epoch;

	async function open({ number, startsAtMs, endsAtMs }: Slot): Promise<void> {
		const params = config.params as unknown as Json;
		const opened = await store.epochs.open({ number, startsAtMs, endsAtMs, emissionMicros, params });
		if (opened) hub.tell({ kind: "epoch.opened", subject: String(number), providerId: null, detail: { number } });
	}

	/** The one after `last`. Numbers only ever rise: where the database was ahead of the chain it stays so, with the chain's times. */
	async function openNext(last: Epoch | null): Promise<void> {
		const nowMs = env.nowMs();
		if (schedule !== null) {
			const slot = slotAt(schedule, nowMs);
			if (slot === null) return;
			const number = Math.max(slot.number, (last?.number ?? -1) + 1);
			return open({ ...slot, number, startsAtMs: Math.max(slot.startsAtMs, last?.endsAtMs ?? 0) });
		}
		// Without gaps; after a long silence the next one begins now, not in the past.
		const isGapless = last !== null && nowMs - last.endsAtMs < lengthMs;
		const startsAtMs = isGapless ? last.endsAtMs : nowMs;
		return open({ number: (last?.number ?? -1) + 1, startsAtMs, endsAtMs: startsAtMs + lengthMs });
	}

	/** An epoch that was opened by another schedule (before there was a chain, or before its contracts were deployed anew) ends with the chain's. */
	async function aligned(epoch: Epoch): Promise<Epoch> {
		const slot = schedule === null ? null : slotAt(schedule, env.nowMs());
		if (slot === null || epoch.endsAtMs === slot.endsAtMs) return epoch;
		if (epoch.number !== slot.number && epoch.endsAtMs < slot.endsAtMs) return epoch;
		const { startsAtMs } = epoch.number === slot.number ? slot : epoch;
		const { endsAtMs } = slot;
		return (await store.epochs.move({ number: epoch.number, startsAtMs, endsAtMs }))
			? { ...epoch, startsAtMs, endsAtMs }
			: epoch;
	}

	/** What this validator believes at the epoch's end. Scores that no probe has renewed for too long are left out, and count as 0. */
	async function report(epoch: Epoch): Promise<void> {
		const nowMs = env.nowMs();
		const all = await store.scores.all({ sinceMs: Math.max(0, nowMs - config.params.maxAgeMs) });
		const scores = Object.fromEntries(all.map(({ providerId, scorePpm }) => [providerId, scorePpm]));
		const unsigned = { validator: signer.key, epoch: epoch.number, scores };
		const signature = bytesToHex(signer.sign(reportHash(unsigned)));
		await store.epochs.putReport({ ...unsigned, signature, receivedAtMs: nowMs });
	}

	async function close(epoch: Epoch, reports: readonly Report[]): Promise<void> {
		const validators = await store.validators.list();
		const result = networkWeights(
			validators.map(({ key, stake }) => ({
				validatorId: key,
				stake: BigInt(stake),
				scores: reports.find(({ validator }) => validator === key)?.scores ?? null,
			})),
			config.params,
		);
		// Too little stake reported: the weights of the epoch before stand.
		const weights: readonly { readonly providerId: string; readonly weightPpm: number }[] = result.quorum
			? result.weights
			: await weightsBefore(epoch.number);
		const { shares, undistributed } = rewardShares(weights, BigInt(epoch.emissionMicros));
		const amounts = new Map(shares.map(({ providerId, amount }) => [providerId, Number(amount)]));
		const nowMs = env.nowMs();
		const closed = await store.epochs.close({
			number: epoch.number,
			weights: weights.map(({ providerId, weightPpm }) => ({
				providerId,
				weightPpm,
				shareMicros: amounts.get(providerId) ?? 0,
			})),
			closedAtMs: nowMs,
			actor: signer.key,
		});
		if (!closed) return;
		x.log.info(
			{ epoch: epoch.number, providers: weights.length, quorum: result.quorum, undistributed: String(undistributed) },
			"epoch closed",
		);
		hub.tell({
			kind: "epoch.closed",
			subject: String(epoch.number),
			providerId: null,
			detail: { number: epoch.number, providers: weights.length, quorum: result.quorum },
		});
		await openNext(epoch);
	}

	/** Of the epoch before, whatever its number: a validator that was off left some out. */
	async function weightsBefore(epoch: number): Promise<readonly Weight[]> {
		const rows: Weight[] = [];
		let cursor: string | null = null;
		const number = (await store.epochs.list({ limit: 2 })).rows.find((one) => one.number < epoch)?.number;
		if (number === undefined) return rows;
		do {
			const page: Awaited<ReturnType<typeof store.epochs.weights>> = await store.epochs.weights(number, {
				limit: 500,
				cursor,
			});
			rows.push(...page.rows);
			cursor = page.cursor;
		} while (cursor !== null);
		return rows;
	}

	async function turn(): Promise<void> {
		const found = await store.epochs.current();
		const nowMs = env.nowMs();
		if (found === null) return openNext((await store.epochs.list({ limit: 1 })).rows[0] ?? null);
		const epoch = await aligned(found);
		if (nowMs < epoch.endsAtMs) return;
		let reports = await store.epochs.reports(epoch.number);
		if (!reports.some(({ validator }) => validator === signer.key)) {
			await report(epoch);
			reports = await store.epochs.reports(epoch.number);
		}
		const validators = await store.validators.list();
		const isComplete = validators.every(
			({ key, stake }) => stake === 0 || reports.some(({ validator }) => validator === key),
		);
		if (isComplete || nowMs >= epoch.endsAtMs + graceMs) await close(epoch, reports);
	}

	const everyMs = Math.max(20, Math.min(MAX_EVERY_MS, Math.floor(lengthMs / 10)));
	const turning = repeat({ everyMs, after: env.after, onError: failure(x, "epochs") }, turn);
	return { turn, stop: turning.stop };
}
