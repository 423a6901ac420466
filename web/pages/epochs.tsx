// Epochs of the chain: reports, weights, rewards, transactions and an audit. A validator without a chain has
// none.
import ChainEpochPage from "../chain/chain-epoch.tsx";
import ChainEpochList from "../chain/chain-epochs.tsx";
import { useChain } from "../chain/use-chain.ts";
import { Empty, PageTitle, Pending } from "../parts/small.tsx";
import type { PageProps } from "../shell/shell.tsx";

export default function EpochsPage({ place }: PageProps) {
	const followed = useChain();
	const text = place.parts[1];
	const number = text === undefined ? null : Number(text);
	if (text !== undefined && !/^\d{1,10}$/.test(text))
		return (
			<>
				<PageTitle>No such epoch</PageTitle>
				<Empty title="An epoch has a number">
					<a href="/epochs">All epochs</a>
				</Empty>
			</>
		);
	const { value, trouble } = followed;
	if (value === null)
		return (
			<>
				<PageTitle>{number === null ? "Epochs" : `Epoch ${number}`}</PageTitle>
				<Pending of={followed} what="the chain" lines={6} />
			</>
		);
	if (value.chain === null)
		return (
			<>
				<PageTitle>Epochs</PageTitle>
				<Empty title="There are no epochs without a chain" />
			</>
		);
	const shown = { chain: value.chain, skewMs: value.skewMs, isStale: trouble !== null };
	return number === null ? <ChainEpochList {...shown} /> : <ChainEpochPage key={number} {...shown} number={number} />;
}
