// What programs import as `assay/client`: the API of a network, typed. Node and browsers. Importing it does
// nothing. The released package has plain types of the same routes (scripts/library/api-types.ts).
export { type ApiClient, type ApiClientOptions, createApiClient } from "../api/create-client.ts";
export type { CallOptions } from "../api/send-request.ts";
export type { NetworkEvent } from "../api/types.ts";
export { AssayError } from "../protocol/assay-error.ts";
export { createSigner, type Signer } from "../protocol/probe/signer.ts";
