// Where this process finds the blobs of jobs: in a folder, or behind the door of the process that has it. One
// door for all processes of a validator on any number of machines, docs/jobs.md §12.
import { createApiClient } from "../../../api/create-client.ts";
import type { Signer } from "../../../protocol/probe/signer.ts";
import { type Blobs, openBlobStore } from "../../../store/blobs/blob-store.ts";
import { dataPaths, type ValidatorConfig } from "../../validator-config.ts";
import { isGuest } from "./blob-holders.ts";
import { createRemoteBlobs } from "./remote-blobs.ts";

const isDoor = (blobs: string | null): blobs is string => blobs !== null && /^https?:\/\//.test(blobs);

export async function openBlobs({ blobs, dataDir, params }: ValidatorConfig, signer: Signer): Promise<Blobs> {
	if (!isDoor(blobs)) {
		const { blobGuestPpm: guestPpm, blobWorkPpm: workPpm, blobMaxHeld: mostHeldBlobs } = params;
		const limits = { guestPpm, workPpm, mostHeldBlobs };
		return await openBlobStore(blobs ?? dataPaths(dataDir).blobs, { limits, isGuest });
	}
	// All processes of a validator have its key, which acts as an admin there.
	return createRemoteBlobs(createApiClient({ baseUrl: blobs, signer, audience: signer.key }));
}
