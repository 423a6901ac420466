// URLs as they are given, several with commas between; and as they may be shown: a name and a password in one
// are for who connects, not for who reads along.

export const urlsOf = (text: string): readonly string[] => text.split(",").map((url) => url.trim());

/** One or several, of HTTP. */
export const areUrls = (text: string): boolean => urlsOf(text).every((url) => /^https?:\/\//.test(url));

export const withoutLogin = (text: string): string => urlsOf(text).map(plainUrl).join(",");

function plainUrl(url: string): string {
	const plain = new URL(url);
	if (plain.username === "" && plain.password === "") return url;
	plain.username = "";
	plain.password = "";
	return plain.href.replace(/\/$/, "");
}
