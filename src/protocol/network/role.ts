// Who may do what at a validator's API, docs/network.md §3: reader < customer, provider, validator < admin.
export const ROLES = ["reader", "customer", "provider", "validator", "admin"] as const;
export type Role = (typeof ROLES)[number];
