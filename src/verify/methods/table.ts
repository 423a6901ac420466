// The methods that can be ordered: a folder each, and a line here. Their numbers on the wire are in
// protocol/network/job.ts.
export { method as attested } from "./attested/method.ts";
export { method as optimistic } from "./optimistic/method.ts";
export { method as redundant } from "./redundant/method.ts";
export { method as sampled } from "./sampled/method.ts";
export { method as zk } from "./zk/method.ts";
