// The table of docs/jobs.md §9: what each way to play brings whoever plays it, by method and situation, in
// units of the reward of a part, from the product's own rules. Ends with 1 where an honest cell is below 0,
// or is not the highest of its row.
//   node bench/jobs/economics.ts                  environment: INTO (a JSON file)
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { hostRows } from "../../src/market/jobs/host-strategies.test-kit.ts";
import { faultsOf, METHOD_ORDERS, moneyOf, type Row, rowsOf } from "../../src/market/jobs/strategies.test-kit.ts";
import { DEFAULT_PARAMS } from "../../src/market/params.ts";
import { methodOf, methodText } from "../../src/verify/methods/methods.ts";

/** Micro-units: a part of a minute, and one of 20 minutes, at 3 tokens an hour; and a large one. */
const REWARDS = [50_000, 1_000_000, 100_000_000];
/** What the deployment gives an accuser for gas, without the fifth more; none, and much of it. */
const GAS = [0, 83_334, 5_000_000];
const NAMES = [0, 10, 1000];
const SLACK = 2;

interface Cell {
	readonly play: string;
	readonly gain: number;
}
interface Line {
	readonly where: string;
	readonly who: string;
	readonly situation: string;
	readonly honest: Cell;
	readonly dishonest: readonly Cell[];
	/** What no rule mends yet. */
	readonly limit?: string;
}

const faults: string[] = [];
const lines: Line[] = [];
const inRewards = (micros: number, reward: number): number => Math.round((1000 * micros) / reward) / 1000;

function keep(where: string, reward: number, row: Row): void {
	faults.push(...faultsOf(row, SLACK).map((fault) => `${where}: ${fault}`));
	const cell = ({ name, gain }: Row["honest"]): Cell => ({ play: name, gain: inRewards(gain, reward) });
	const { who, situation, honest, dishonest, limit } = row;
	const told = limit === undefined ? {} : { limit };
	lines.push({ where, who, situation, honest: cell(honest), dishonest: dishonest.map(cell), ...told });
}

for (const method of METHOD_ORDERS)
	for (const rewardMicros of REWARDS)
		for (const gasMicros of GAS)
			for (const checkedInARow of NAMES) {
				const of = { method, rewardMicros, gasMicros, convictions: 0, checkedInARow, segments: 400, perWindow: 4 };
				const { bond, chancePpm } = moneyOf(of, DEFAULT_PARAMS);
				const told = `R ${rewardMicros}, gas ${gasMicros}, ${checkedInARow} checked`;
				const chance = methodOf(method).isFoundBySize ? "" : `, audits ${chancePpm / 1e4} %`;
				const where = `${methodText(method)}, ${told}, bond ${inRewards(bond, rewardMicros)} R${chance}`;
				for (const row of rowsOf(of, DEFAULT_PARAMS)) keep(where, rewardMicros, row);
			}
for (const row of hostRows()) keep("sampled:16, a market of eight hosts", 1_000_000, row);

const best = (cells: readonly Cell[]): string => {
	const [first] = cells.toSorted((a, b) => b.gain - a.gain);
	return first === undefined ? "–" : `${first.gain} (${first.play})`;
};
const isFriend = ({ play }: Cell): boolean => play.includes("friend");
/** At what the deployment gives for gas, of a part of a token, by a new name. */
const shown = lines.filter(({ where }) => /^[^,]*(, R 1000000, gas 83334, 0 checked|, a market)/.test(where));
console.log("| | situation | honest | best dishonest | best with a friend who accuses first |\n|---|---|---|---|---|");
for (const { where, who, situation, honest, dishonest, limit } of shown) {
	const [friend, alone] = [dishonest.filter(isFriend), dishonest.filter((one) => !isFriend(one))];
	const told = `${honest.gain} (${limit === undefined ? honest.play : `LIMIT: ${limit}`})`;
	const at = where.replace(/ R \d+, gas \d+, 0 checked,/, "");
	console.log(`| ${at} | ${who}, ${situation} | ${told} | ${best(alone)} | ${best(friend)} |`);
}
const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim();
const counted = { rows: lines.length, dishonest: lines.reduce((sum, { dishonest }) => sum + dishonest.length, 0) };
const { INTO } = process.env;
if (INTO !== undefined) {
	const result = { commit, unit: "reward of a part", counted, faults, rows: shown };
	writeFileSync(INTO, `${JSON.stringify(result, null, "\t")}\n`);
}
console.log(`${counted.rows} rows, ${counted.dishonest} dishonest cells, ${faults.length} faults`);
for (const fault of faults) console.error(`FAULT ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
