// A URL as it may be shown: a name and a password in it are for who connects, not for who reads along.

export function withoutLogin(url: string): string {
	const plain = new URL(url);
	if (plain.username === "" && plain.password === "") return url;
	plain.username = "";
	plain.password = "";
	return plain.href.replace(/\/$/, "");
}
