import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AnyBody } from './api-client.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface OperatorOptions {
  readonly dataDir: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** An error in the way of `--json`, with its message as the output for people has it. */
const readable = (error: unknown): never => {
  const { stderr = '' } = error as { stderr?: string };
  const line = stderr.split('\n').find((one) => one.startsWith('{"error":'));
  if (line === undefined) throw error;
  const { message } = JSON.parse(line).error;
  throw Object.assign(error as Error, { message, stderr: `${message}\n` });
};

const outbox = ({ dataDir, env = {} }: OperatorOptions, words: readonly string[]) =>
  run(process.execPath, ['src/cli/main.ts', ...words, '--json'], {
    cwd: ROOT,
    // Credentials of the person who runs the tests must not turn an operator's command into a customer's.
    env: { PATH: process.env.PATH, HOME: process.env.HOME, XDG_CONFIG_HOME: dataDir, DATA_DIR: dataDir, ...env },
    maxBuffer: 50_000_000,
  });

/** Runs `outbox …` as the operator does, while the service may be running. @throws with its output. */
export const operator = async (options: OperatorOptions, ...words: readonly string[]): Promise<AnyBody> => {
  const { stdout } = await outbox(options, words).catch(readable);
  return JSON.parse(stdout);
};

/** Runs `outbox doctor`, which also has an answer when it exits with 1. @throws with its output if it has none. */
export const doctor = async (options: OperatorOptions): Promise<AnyBody> => {
  const { code = 0, stdout } = await outbox(options, ['doctor']).catch((error) =>
    error.stdout === '' ? readable(error) : error,
  );
  return { ...JSON.parse(stdout), code };
};

/** A key of the default organization without a send limit. */
export const unlimitedKey = async (options: OperatorOptions, permissions = 'admin'): Promise<string> => {
  const domain = (await operator(options, 'domains', 'list'))[0];
  const place = ['--organization', domain.organization_id, '--domain', domain.domain_id];
  const limits = ['--send', '1000000', '--read', '1000000', '--manage', '1000000'];
  return (await operator(options, 'keys', 'create', ...place, '--permissions', permissions, ...limits)).key;
};
