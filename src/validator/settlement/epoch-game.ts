// A validator's part in the epochs that are open: looks at the chain and at what it holds (epoch-look.ts),
// asks the rules what comes next (market/epochs/next-moves.ts), and has it done (epoch-acts.ts, player.ts).
// Decides nothing itself, so a process that comes back after a crash goes on where the chain is.
// docs/epochs.md §4.
import { readEpochParams } from "../../chain/contracts/scoreboard.ts";
import { createBoardLog } from "../../chain/history/board-log.ts";
import { nextMoves } from "../../market/epochs/next-moves.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { actOf } from "./epoch-acts.ts";
import { lookAt } from "./epoch-look.ts";
import type { EpochGameOptions, Game } from "./game-state.ts";
import { createPlayer, type Player } from "./player.ts";

export type EpochGame = Awaited<ReturnType<typeof createEpochGame>>;

const MAX_ROUNDS = 32;

export async function createEpochGame(options: EpochGameOptions) {
	const params = await readEpochParams(options.contracts);
	const self = options.account.address.toLowerCase() as Hex;
	const game: Game = {
		...options,
		params,
		log: createBoardLog(options.contracts),
		held: new Map(),
		leaves: new Map(),
		waits: new Map(),
		failures: new Map(),
		known: new Map(),
		inBlock: new Map(),
		settled: new Set(),
		self,
		lookedAtS: 0,
		view: { self, quorumPpm: params.quorumPpm, head: null, leaves: new Set(), epochs: [], waits: new Map() },
	};
	const { client } = options.contracts;
	const player: Player = createPlayer({ ...options, client });
	return {
		params,
		player,
		/** As of the last turn. */
		view: () => game.view,
		/**
		 * Begins whatever is due now. What takes milliseconds is waited for, and what follows from it begun too;
		 * the rest goes on by itself. True: something was begun.
		 */
		async turn(): Promise<boolean> {
			let any = false;
			for (let round = 0; round < MAX_ROUNDS; round++) {
				game.lookedAtS = await options.nowS();
				game.view = await lookAt(game, game.lookedAtS);
				const acts = nextMoves(game.view, game.lookedAtS).map((move) => actOf(game, move));
				if (!player.play(acts)) break;
				any = true;
				await Promise.race([player.next(), client.sleep(client.pollMs)]);
			}
			return any;
		},
		stop: () => player.stop(),
	};
}
