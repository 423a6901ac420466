// Routes of roll calls.
import type { Handlers } from "../../api/routes.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { RollCallRow } from "../../store/roll-calls.ts";
import type { ValidatorContext } from "../validator-context.ts";

export function rollCallHandlers({ store }: Pick<ValidatorContext, "store">) {
	const must = async (call: number): Promise<RollCallRow> => {
		const row = await store.rollCalls.get(call);
		if (row === null) throw new AssayError("ROLL_CALL_UNKNOWN", `there is no roll call ${call} here`);
		return row;
	};

	return {
		listRollCalls: ({ query }) => store.rollCalls.list(query),
		getRollCall: ({ params }) => must(params.call),
		async listRollCallAnswers({ params, query }) {
			const page = await store.rollCalls.answers(await must(params.call), query);
			return { ...page, rows: page.rows.map(({ leaf: _, reply: __, ...row }) => row) };
		},
		async getRollCallLeaves({ params }) {
			const row = await must(params.call);
			if (row.root === null) throw new AssayError("ROLL_CALL_UNKNOWN", `roll call ${params.call} has no tree`);
			const hosts = (await store.rollCalls.leaves(row)).map(({ providerId, leaf, reply }) => {
				const { account, signature, accountSignatures, answers } = reply!;
				return {
					providerId,
					leaf: leaf!,
					account,
					signature,
					accountSignatures: list(accountSignatures),
					answers: [...answers],
				};
			});
			return { root: row.root, count: row.leaves ?? 0, hosts };
		},
		async listProviderRollCalls({ params, query }) {
			if ((await store.providers.get(params.id)) === null)
				throw new AssayError("PROVIDER_UNKNOWN", `there is no provider ${params.id}`);
			return store.rollCalls.history(params.id, query);
		},
	} satisfies Partial<Handlers>;
}

const list = <T>(values: readonly T[] | null): T[] | null => (values === null ? null : [...values]);
