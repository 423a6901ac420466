// The calls that a page hands to a wallet are those that our own sender makes, byte for byte.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
	approveData,
	cancelData,
	collectData,
	escrowCost,
	escrowJobId,
	expireData,
	fundData,
	shareData,
} from "../../protocol/chain/job-escrow-calls.ts";
import { callOf } from "./contracts.ts";
import { approveJobsCall, cancelJobCall, expirePartCall, fundJobCall, jobCost, jobIdOf } from "./job-escrow.ts";
import { jobTermsFromText } from "./job-terms-text.ts";

const hex = (byte: number, size = 32) => `0x${byte.toString(16).padStart(2, "0").repeat(size)}`;
const addresses = { token: hex(0xaa, 20), jobEscrow: hex(0xbb, 20) };

test("a customer's calls and a job's number, with one validator and with five", () => {
	for (const validators of [1, 5]) {
		const text = {
			...{
				customer: hex(1, 20),
				salt: hex(2),
				program: hex(3),
				inputs: hex(4),
				spec: hex(5),
				seed: hex(0),
				start: hex(7),
			},
			...{ segments: String(2n ** 63n), parts: 3, price: "1840000000000000000", fee: "36800000000000000", audit: "7" },
			...{
				bond: String(2n ** 127n),
				startBy: "1800000000",
				workSeconds: 1200,
				windowSeconds: 86_400,
				checkedSeconds: 600,
			},
			...{ method: 1, quorum: validators, validators: Array.from({ length: validators }, (_, i) => hex(16 + i, 20)) },
		};
		const terms = jobTermsFromText(text);
		const contracts = { addresses } as never;
		assert.equal(fundData(text), fundJobCall(contracts, terms).data);
		assert.equal(cancelData(text), cancelJobCall(contracts, terms).data);
		assert.equal(expireData(text, 2), expirePartCall(contracts, terms, 2).data);
		assert.equal(shareData(text), callOf(contracts, "jobEscrow", "share", terms).data);
		assert.equal(collectData(hex(1, 20)), callOf(contracts, "jobEscrow", "collect", hex(1, 20) as `0x${string}`).data);
		assert.equal(BigInt(`0x${escrowJobId(text)}`), jobIdOf(terms));
		assert.equal(escrowCost(text), jobCost(terms));
		assert.equal(approveData(addresses.jobEscrow, jobCost(terms)), approveJobsCall(contracts, jobCost(terms)).data);
	}
});
