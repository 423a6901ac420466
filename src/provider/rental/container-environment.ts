// A rental as a container of docker or podman: with few capabilities, without new rights, with the GPUs that
// were rented. The customer logs in to our SSH server on the host, as the provider's own user, and the one
// thing that the key there allows is a program of ours that enters the container. The end is the removal of
// the container with all that runs in it, by the provider or, when it is dead, by what waits for the end
// (rental-end.ts).
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { checkName, ENVIRONMENT_NAME, type EnvironmentMaker, rentalFailed as failed } from "./environment.ts";
import { RentalEnd } from "./rental-end.ts";
import { closeMetadataOf } from "./rental-guards.ts";
import { MAX_PROCESSES, type RentalSshd } from "./rental-sshd.ts";
import { runProgram } from "./run-program.ts";

export interface ContainerEnvironmentOptions {
	readonly sshd: RentalSshd;
	/** The program: docker or podman, by name or path. */
	readonly program: string;
	readonly image: string;
	/** Where the program goes that enters a container. */
	readonly folder: string;
	/** Labels our containers, so that another provider's on this host are left alone. */
	readonly mark: string;
	readonly gpus: () => readonly string[];
	readonly memoryBytes: number;
	/** Null: the rules of its network can be set; else why not. */
	readonly whyNoRules: string | null;
}

/** The image may have to be fetched first. */
const CREATE_MS = 110_000;
/** What a package manager inside needs: no raw sockets, no device files, nothing of the kernel. */
const CAPABILITIES = "CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID NET_BIND_SERVICE SYS_CHROOT".split(" ");
/** What a path may hold that is put into an authorized_keys file and then before a shell. */
const PLAIN_PATH = /^\/[A-Za-z0-9._/-]+$/;

/** Whether the engine behind the program answers; the program alone makes no containers. */
export async function answersAsContainerEngine(program: string): Promise<boolean> {
	return (await runProgram(program, ["info"], { timeoutMs: 10_000 })).code === 0;
}

/** How docker and podman (CDI) hand over NVIDIA cards. The quotes are docker's: its value is CSV. */
export function gpuArguments(program: string, wanted: readonly string[], all: readonly string[]): string[] {
	if (all.length === 0) return [];
	const whole = wanted.length === 0;
	if (/podman[^/]*$/.test(program))
		return (whole ? ["all"] : wanted).flatMap((id) => ["--device", `nvidia.com/gpu=${id}`]);
	return ["--gpus", whole ? "all" : `"device=${wanted.join(",")}"`];
}

export function createContainerEnvironments(options: ContainerEnvironmentOptions): EnvironmentMaker {
	const { sshd, program, image, folder, mark } = options;
	const enter = join(folder, "enter-container");
	const { username: user, gid } = userInfo();
	const end = new RentalEnd(folder);

	function writeEnter(): void {
		for (const path of [enter, program])
			if (!PLAIN_PATH.test(path) && !/^[a-z]+$/.test(path))
				throw failed(`the path ${path} holds characters that a shell reads`);
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		// What the customer asks for is one argument of the shell inside; the shell out here never reads it.
		const lines = [
			"#!/bin/sh",
			"# Enters the container of one rental; the only program that its key may start.",
			'tty=""; [ -t 0 ] && tty="-t"',
			'if [ -n "$SSH_ORIGINAL_COMMAND" ]; then',
			`	exec ${program} exec -i $tty "$1" /bin/sh -lc "$SSH_ORIGINAL_COMMAND"`,
			"fi",
			`exec ${program} exec -i $tty "$1" /bin/sh -lc 'command -v bash >/dev/null && exec bash -l; exec sh -l'`,
		];
		writeFileSync(enter, `${lines.join("\n")}\n`);
		chmodSync(enter, 0o700);
	}

	const ended = { kind: "container", program } as const;
	const waitForEnd = (name: string, untilMs: number) => end.set(name, untilMs, sshd.keyFileOf(user), ended);
	const allow = (name: string, publicKey: string, untilMs: number) =>
		sshd.allow(user, { options: `restrict,pty,command="${enter} ${name}"`, publicKey, gid, untilMs });

	return {
		kind: "container",
		guards: {
			memory: null,
			disk: "containers share the engine's disk",
			metadata: options.whyNoRules,
		},
		port: sshd.port,
		async create({ name, publicKey, devices, untilMs }) {
			checkName(name);
			writeEnter();
			const fixed = ["--detach", "--init", "--restart", "no", "--security-opt", "no-new-privileges"];
			const rights = ["--cap-drop", "ALL", ...CAPABILITIES.flatMap((right) => ["--cap-add", right])];
			const named = ["--name", name, "--hostname", name, "--label", `assay=${mark}`];
			const gpus = gpuArguments(program, devices, options.gpus());
			const memory = String(options.memoryBytes);
			const bounds = ["--pids-limit", String(MAX_PROCESSES), "--memory", memory, "--memory-swap", memory];
			const args = ["run", ...fixed, ...rights, ...bounds, ...named, ...gpus, image, "sleep", "infinity"];
			const made = await runProgram(program, args, { timeoutMs: CREATE_MS });
			if (made.code !== 0) throw failed(`the container was not made: ${made.stderr}`);
			if (options.whyNoRules === null) {
				const { stdout } = await runProgram(program, ["inspect", "--format", "{{.State.Pid}}", name]);
				await closeMetadataOf(Number(stdout.trim()));
			}
			await waitForEnd(name, untilMs);
			await allow(name, publicKey, untilMs);
			await sshd.start();
			return { user, hostKey: await sshd.hostKey() };
		},
		async setEnd({ name, publicKey, untilMs }) {
			checkName(name);
			await waitForEnd(name, untilMs);
			await allow(name, publicKey, untilMs);
		},
		async remove(name) {
			checkName(name);
			await sshd.deny(user);
			const { code, stderr } = await runProgram(program, ["rm", "--force", "--volumes", name], {
				timeoutMs: 60_000,
			});
			if (code !== 0 && !/no such container|no container with name/i.test(stderr))
				throw failed(`the container ${name} was not removed: ${stderr}`);
			await end.stop(name);
		},
		async health(name) {
			checkName(name);
			const { code, stdout } = await runProgram(program, ["inspect", "--format", "{{.State.Running}}", name]);
			if (code !== 0 || stdout.trim() !== "true") return { healthy: false, detail: "its container does not run" };
			await end.keep(name, sshd.keyFileOf(user), ended);
			return sshd.health();
		},
		async list() {
			const { code, stdout, stderr } = await runProgram(program, [
				...["ps", "--all", "--filter", `label=assay=${mark}`, "--format", "{{.Names}}"],
			]);
			if (code !== 0) throw failed(`the containers cannot be listed: ${stderr}`);
			return stdout.split("\n").filter((name) => ENVIRONMENT_NAME.test(name));
		},
		rest: () => sshd.stop(),
	};
}
