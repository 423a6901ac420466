// A database whose users may hold few of its connections at a time: for what runs on its own and can wait, so
// that whoever asks from outside finds one free. All else is the database's.
import { createSemaphore } from "../../platform/semaphore.ts";
import type { Database } from "./database.ts";

export function laneOf(database: Database, connections: number): Database {
	const lane = createSemaphore(connections);
	const inLane =
		<Arguments extends readonly unknown[], Result>(act: (...values: Arguments) => Promise<Result>) =>
		async (...values: Arguments): Promise<Result> => {
			const release = await lane.acquire();
			try {
				return await act(...values);
			} finally {
				release();
			}
		};
	return {
		...database,
		query: inLane(database.query) as Database["query"],
		read: inLane(database.read) as Database["read"],
		readOne: inLane(database.readOne) as Database["readOne"],
		statement: inLane(database.statement) as Database["statement"],
		write: inLane(database.write),
		transaction: inLane(database.transaction) as Database["transaction"],
	};
}
