// A strict little S3 server in memory, for tests: checks every signature and every body's hash by code of its
// own, and can fail as buckets do.
import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const KEYS = { accessKeyId: "toy-key", secretAccessKey: "toy/secret+key", region: "us-east-1" };

export interface ToyS3 {
	readonly url: string;
	readonly objects: Map<string, Buffer>;
	/**
	 * What the next requests meet: refused, cut in the middle of the body, other bytes, too many bytes, sent
	 * elsewhere.
	 */
	fault: "none" | "500" | "cut" | "other bytes" | "endless" | "redirect";
	requests: number;
	close(): Promise<void>;
}

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");

/** By the text of AWS's page on Signature Version 4. */
function isSigned(request: IncomingMessage, body: Buffer): boolean {
	const found =
		/^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
			request.headers.authorization ?? "",
		);
	if (found === null || found[1] !== KEYS.accessKeyId || found[3] !== KEYS.region) return false;
	const [, , day, region, names, signature] = found as unknown as string[];
	const time = String(request.headers["x-amz-date"]);
	if (!names!.split(";").includes("host") || !time.startsWith(day!)) return false;
	if (request.headers["x-amz-content-sha256"] !== sha256(body)) return false;
	let canonical = `${request.method}\n${request.url}\n\n`;
	for (const name of names!.split(";")) canonical += `${name}:${String(request.headers[name]).trim()}\n`;
	canonical += `\n${names}\n${sha256(body)}`;
	let key = createHmac("sha256", `AWS4${KEYS.secretAccessKey}`).update(day!).digest();
	for (const part of [region!, "s3", "aws4_request"]) key = createHmac("sha256", key).update(part).digest();
	const text = `AWS4-HMAC-SHA256\n${time}\n${day}/${region}/s3/aws4_request\n${sha256(canonical)}`;
	return createHmac("sha256", key).update(text).digest("hex") === signature;
}

export async function startToyS3(): Promise<ToyS3> {
	const objects = new Map<string, Buffer>();
	const answer = (request: IncomingMessage, body: Buffer, reply: ServerResponse): void => {
		const name = request.url!;
		if (!isSigned(request, body))
			return void reply.writeHead(403).end("<Error><Code>SignatureDoesNotMatch</Code></Error>");
		if (request.method === "PUT") {
			objects.set(name, body);
			return void reply.writeHead(200).end();
		}
		if (request.method === "DELETE") {
			objects.delete(name);
			return void reply.writeHead(204).end();
		}
		const held = objects.get(name);
		if (held === undefined) return void reply.writeHead(404).end();
		const given = Buffer.from(held);
		if (toy.fault === "other bytes") given[0]! ^= 1;
		if (toy.fault === "endless" && request.method === "GET") {
			reply.writeHead(200);
			const more = () => {
				while (!reply.destroyed && reply.write(Buffer.alloc(1 << 20)));
				if (!reply.destroyed) reply.once("drain", more);
			};
			more();
			return;
		}
		reply.writeHead(200, { "content-length": given.length }).end(request.method === "HEAD" ? undefined : given);
	};
	const server = createServer((request, reply) => {
		toy.requests += 1;
		if (toy.fault === "500") return void reply.writeHead(500).end();
		if (toy.fault === "redirect") return void reply.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
		// In the middle of the body.
		if (toy.fault === "cut") return void request.once("data", () => request.destroy());
		const chunks: Buffer[] = [];
		request.on("data", (chunk) => chunks.push(chunk));
		request.on("end", () => answer(request, Buffer.concat(chunks), reply));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const toy: ToyS3 = {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/evidence-bucket`,
		objects,
		fault: "none",
		requests: 0,
		close: () => {
			server.closeAllConnections();
			return new Promise((resolve) => server.close(() => resolve()));
		},
	};
	return toy;
}
