// AWS Signature Version 4 of one request with its whole body, as every S3-compatible server checks it. Pure:
// the time is an argument. By hand because it is forty lines, and the vendor's own library is some hundred
// packages.
import { createHash, createHmac } from "node:crypto";

export interface BucketKeys {
	readonly accessKeyId: string;
	readonly secretAccessKey: string;
	readonly sessionToken?: string | undefined;
	readonly region: string;
}

const sha256 = (data: Uint8Array | string): string => createHash("sha256").update(data).digest("hex");
const hmac = (key: Uint8Array | string, data: string): Buffer => createHmac("sha256", key).update(data).digest();

/** RFC 3986, which is stricter than encodeURIComponent. */
export const encoded = (text: string): string =>
	encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

/** `url` without a query; its path is encoded already. Gives the headers to send. */
export function signedHeaders(
	request: {
		readonly method: string;
		readonly url: URL;
		readonly body: Uint8Array;
		readonly nowMs: number;
		/** Signed too, by lower-case names. */
		readonly headers?: Readonly<Record<string, string>>;
	},
	keys: BucketKeys,
): Record<string, string> {
	const time = new Date(request.nowMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
	const day = time.slice(0, 8);
	const bodyHash = sha256(request.body);
	const headers: Record<string, string> = {
		...request.headers,
		host: request.url.host,
		"x-amz-content-sha256": bodyHash,
		"x-amz-date": time,
		...(keys.sessionToken === undefined ? {} : { "x-amz-security-token": keys.sessionToken }),
	};
	const names = Object.keys(headers).sort();
	const canonical = [
		request.method,
		request.url.pathname,
		"",
		...names.map((name) => `${name}:${headers[name]}`),
		"",
		names.join(";"),
		bodyHash,
	].join("\n");
	const scope = `${day}/${keys.region}/s3/aws4_request`;
	const toSign = ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n");
	const key = [day, keys.region, "s3", "aws4_request"].reduce<Uint8Array | string>(hmac, `AWS4${keys.secretAccessKey}`);
	const signature = hmac(key, toSign).toString("hex");
	const { host: _, ...sent } = headers;
	return {
		...sent,
		authorization: `AWS4-HMAC-SHA256 Credential=${keys.accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
	};
}
