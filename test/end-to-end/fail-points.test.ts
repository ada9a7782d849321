import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { FAIL_POINTS, readFailPoint } from '../../chaos/harness/fault-points.ts';
import { StartRefused } from '../../src/lib/async/async.ts';

const PROCESS = fileURLToPath(new URL('fail-point-process.ts', import.meta.url));

interface ProcessEnd {
  readonly signal: NodeJS.Signals | null;
  readonly said: readonly string[];
}

/** Runs a process that takes each step three times and prints a line before and after each. */
const runWith = (failPoint: string): Promise<ProcessEnd> =>
  new Promise((resolve) => {
    const env = { PATH: process.env.PATH, OUTBOX_FAIL_POINT: failPoint };
    const child = execFile(process.execPath, [PROCESS], { env }, (_error, stdout) => {
      resolve({ signal: child.signalCode, said: stdout.trim().split('\n') });
    });
  });

describe('a process with a fault injection point', () => {
  test('dies right before the step', async () => {
    const { signal, said } = await runWith('before-append-accepted');
    expect(signal).toBe('SIGKILL');
    expect(said.at(-1)).toBe('append-accepted 1 asked');
  });

  test('dies right after the step, on the configured pass', async () => {
    const { signal, said } = await runWith('after-append-started#2');
    expect(signal).toBe('SIGKILL');
    expect(said.at(-1)).toBe('append-started 2 done');
  });

  test.concurrent.each(FAIL_POINTS)('dies at %s', async (point) => {
    const step = point.replace(/^(?:before|after)-/, '');
    const { signal, said } = await runWith(`${point}#3`);
    expect(signal).toBe('SIGKILL');
    expect(said.at(-1)).toBe(`${step} 3 ${point.startsWith('before') ? 'asked' : 'done'}`);
  });

  test('survives if it passes the point less often', async () => {
    const { signal, said } = await runWith('after-mail-send#4');
    expect(signal).toBeNull();
    expect(said.at(-1)).toBe('end');
  });
});

describe('a fault injection point that does not exist', () => {
  test.each(['nowhere', 'before-append-accepted#0', 'before-append-accepted#x', '#1', 'before-append-accepted '])(
    'prevents the start, and the error lists the existing ones: %j',
    (name) => {
      const read = (): unknown => readFailPoint(name);
      expect(read).toThrow(StartRefused);
      expect(read).toThrow(
        /^OUTBOX_FAIL_POINT: there is no fail point .*before-append-accepted, after-append-accepted/,
      );
      for (const point of FAIL_POINTS) expect(read).toThrow(point);
    },
  );
});
