// How many hosts of a network may be drawn for jobs, at work or not.
import type { ApiClient } from "../../api/create-client.ts";

/** Hosts of a trial; a page has room for more. */
const PAGE = 100;

export async function hostsReady(client: Pick<ApiClient, "listJobHosts">): Promise<number> {
	return (await client.listJobHosts({ query: { limit: PAGE } })).rows.length;
}
