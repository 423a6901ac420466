// The connection string of a rental. Host and user come from a provider, and somebody will paste this into a
// shell: what does not look like a host or a user is not made into a command at all. Pure.

const HOST = /^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$/;
const USER = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

export function sshCommand({
	host,
	port,
	user,
}: {
	readonly host: string;
	readonly port: number;
	readonly user: string;
}): string | null {
	if (!HOST.test(host) || !USER.test(user) || !Number.isInteger(port)) return null;
	return `ssh -p ${port} ${user}@${host}`;
}
