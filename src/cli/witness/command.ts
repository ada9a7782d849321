import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createSystem } from '../../adapters/system.ts';
import {
  createCosigner,
  parsePolicy,
  parseVerifierKey,
  type Signer,
  type VerifierKey,
} from '../../lib/transparency/transparency.ts';
import { type Invocation, optional, type PlainCommand, repeated, required } from '../command.ts';
import { CommandFailed, UsageError } from '../terminal.ts';
import { createCosignedCheckpoints, createWitnessServer, readIfThere, writeWhole } from './serve-witness.ts';

/** Runs a checkpoint witness as its own process, operated independently of the log. */

const KEY_FILE = 'witness.key';
const LOCK_FILE = 'witness.pid';
const SEED_BYTES = 32;
const NAME = /^[^\s+\p{Cc}]{1,300}$/u;
const KEY = /^([^\s+]{1,300}) ([A-Za-z0-9+/]{43}=)\n$/;

/** The witness's key, generated at the first start and stored in its state directory. */
const openSigner = async (directory: string, name: string | undefined): Promise<Signer> => {
  const path = join(directory, KEY_FILE);
  const kept = await readIfThere(path);
  if (kept === null) {
    const seed = createSystem().randomBytes(SEED_BYTES);
    const signer = createCosigner(name ?? hostname(), seed);
    if (!NAME.test(signer.verifierKey.name))
      throw new UsageError('--name must be a name such as witness.example.org/outbox');
    await writeWhole(directory, KEY_FILE, `${signer.verifierKey.name} ${Buffer.from(seed).toString('base64')}\n`);
    return signer;
  }
  const [, own = '', seed = ''] = KEY.exec(kept) ?? [];
  if (own === '') throw new CommandFailed(`${path} is not a witness key`);
  if (name !== undefined && name !== own) throw new UsageError(`the key in ${path} belongs to ${own}: omit --name`);
  return createCosigner(own, Buffer.from(seed, 'base64'));
};

const isRunning = (pid: number): boolean => {
  try {
    return pid !== process.pid && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Locks the state directory: with shared state, two processes could cosign inconsistent checkpoints. */
const lock = async (directory: string): Promise<() => Promise<void>> => {
  const path = join(directory, LOCK_FILE);
  const pid = Number(await readIfThere(path));
  if (pid > 0 && isRunning(pid)) throw new CommandFailed(`process ${pid} is already running a witness in ${directory}`);
  await rm(path, { force: true });
  await writeFile(path, String(process.pid), { flag: 'wx' });
  return () => rm(path, { force: true });
};

const logsOf = async (invocation: Invocation): Promise<readonly VerifierKey[]> => {
  const policy = optional(invocation, 'policy');
  try {
    const keys = (repeated(invocation, 'key') ?? []).map(parseVerifierKey);
    return policy === undefined ? keys : [...keys, ...parsePolicy(await readFile(policy, 'latin1')).logs];
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
};

const readLogs = async (invocation: Invocation): Promise<readonly VerifierKey[]> => {
  const logs = await logsOf(invocation);
  if (logs.length === 0) throw new UsageError('no logs given: pass --key VKEY, or --policy FILE with log lines');
  return logs;
};

const addressOf = (listen: string): { readonly host: string; readonly port: number } => {
  const [, host = '', port = ''] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(listen) ?? [];
  if (host === '' || Number(port) > 65_535)
    throw new UsageError('--listen must be an address and a port, such as 127.0.0.1:8080');
  return { host, port: Number(port) };
};

const untilSignalled = (): Promise<unknown> => Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);

export const witnessCommand: PlainCommand = {
  name: 'witness',
  usage: '--listen ADDRESS:PORT --state DIR [--key VKEY,…] [--policy FILE] [--name NAME]',
  needs: 'nothing',
  summary: 'cosigns checkpoints of other logs, unless one contradicts an earlier one',
  run: async (invocation) => {
    const { host, port } = addressOf(required(invocation, 'listen'));
    const directory = resolve(required(invocation, 'state'));
    const logs = await readLogs(invocation);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const signalled = untilSignalled();
    const unlock = await lock(directory);
    try {
      const signer = await openSigner(directory, optional(invocation, 'name'));
      const server = createWitnessServer({
        logs,
        cosigned: createCosignedCheckpoints(directory, signer),
        system: createSystem(),
        onFault: (error) => console.error(error),
      });
      await once(server.listen(port, host), 'listening');
      const { port: own } = server.address() as AddressInfo;
      console.log(`verifier_key: ${signer.verifierKey.text}\nlogs: ${logs.length}\nlistening: ${host}:${own}`);
      await signalled;
      server.close();
      server.closeAllConnections();
    } finally {
      await unlock();
    }
    return { stopped: true };
  },
};
