// The parameters that this network decides by, as its validator publishes them: pages work out prices and
// times with these, never with the defaults.
import { type Params, publishedParams } from "../../src/market/params.ts";
import { api, type Loaded, useLoaded } from "../shell/api.ts";

export const useParams = (): Loaded<Params> =>
	useLoaded("params", async (signal) => publishedParams((await api.getParams({}, { signal })).params));
