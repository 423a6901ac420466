// A query's word for a card ("h100") as the profiles that the store knows: the same list as in the CLI's
// --expect.
import { profilesMeant } from "../../verify/hardware/identify/model-names.ts";

/** A word that means no known card stays as it is, and finds nobody. */
export function wantedCards<Q extends { readonly model?: string | undefined }>({ model, ...query }: Q) {
	if (model === undefined) return query;
	const ids = profilesMeant(model).map(({ id }) => id);
	return { ...query, models: ids.length > 0 ? ids : [model] };
}
