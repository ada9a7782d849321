import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiClient, eventually } from '../support/api-client.ts';
import { unlimitedKey } from '../support/operator.ts';
import { newDataDir, type Program, startProgram } from '../support/program.ts';
import { allDelivered, sendMany } from '../support/senders.ts';

const MESSAGES = 1000;
const KILL_AFTER = 400;

const postmasterOf = async (program: Program): Promise<number> => {
  const folder = /^Data: built-in PostgreSQL in (\S+)/m.exec(program.ready.places.join('\n'))?.[1] ?? '';
  return Number((await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0]);
};

describe('a service killed during 1,000 sends', () => {
  let data: Awaited<ReturnType<typeof newDataDir>>;
  let program: Program;
  let key: string;

  beforeAll(async () => {
    data = await newDataDir();
    program = await startProgram({ dataDir: data.path });
    key = await unlimitedKey({ dataDir: data.path });
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await data.remove();
  });

  const killedWhileSending = async (kill: () => Promise<void>): Promise<readonly string[]> => {
    const sending = sendMany(apiClient(program.baseUrl, key), MESSAGES);
    await eventually(
      async () => sending.accepted.length,
      (count) => count >= KILL_AFTER,
      30_000,
    );
    await kill();
    await sending.done;
    expect(sending.accepted.length).toBeLessThan(MESSAGES);
    return sending.accepted;
  };

  test('alone loses none that it answered with 202, and delivers all within a minute of the next start', async () => {
    const accepted = await killedWhileSending(async () => {
      await program.end('SIGKILL');
    });
    program = await startProgram({ dataDir: data.path });
    expect(program.output()).toContain('"adopted":true');
    await allDelivered(apiClient(program.baseUrl, key), accepted, 60_000);
  });

  test('together with its database loses none of those either', async () => {
    const accepted = await killedWhileSending(async () => {
      const postmaster = await postmasterOf(program);
      process.kill(-(program.child.pid ?? 0), 'SIGKILL');
      process.kill(postmaster, 'SIGKILL');
    });
    program = await startProgram({ dataDir: data.path });
    await allDelivered(apiClient(program.baseUrl, key), accepted, 60_000);
  });
});
