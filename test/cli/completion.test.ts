import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { PlainCommand } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';

const run = promisify(execFile);
const completion = COMMANDS.find(({ name }) => name === 'completion') as PlainCommand;

const scriptFor = async (shell: string): Promise<string> => {
  const result = await completion.run({ values: {}, positionals: [shell] }, {} as never);
  return completion.textOf?.(result ?? {}) ?? '';
};

const hasShell = async (shell: string): Promise<boolean> =>
  run(shell, ['-c', 'true']).then(
    () => true,
    () => false,
  );

/** Completions that bash offers after these words. */
const offered = async (...words: readonly string[]): Promise<readonly string[]> => {
  const line = words.map((word) => `'${word}'`).join(' ');
  const script = `${await scriptFor('bash')}\nCOMP_WORDS=(outbox ${line}); COMP_CWORD=${words.length}; _outbox; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['-c', script]);
  return stdout.split('\n').filter((word) => word !== '');
};

describe('completion in bash', () => {
  test('offers commands, their arguments, their options and values', async () => {
    expect(await offered('messages', '')).toEqual(['list', 'show', 'explain', 'resend', 'tail', 'cancel']);
    expect(await offered('me')).toEqual(['members', 'messages']);
    expect(await offered('keys', 'rotate', '--gr')).toEqual(['--grace-minutes']);
    expect(await offered('keys', 'rotate', 'key_x', '--')).toContain('--organization');
    expect(await offered('login', '--environment', '')).toEqual(['live', 'test']);
    expect(await offered('completion', '--j')).toEqual(['--json']);
    expect(await offered('nonsense', '')).toEqual([]);
  });

  test('knows every command', async () => {
    const script = await scriptFor('bash');
    for (const { name } of COMMANDS) expect(script).toContain(`'${name}'`);
  });

  test('executes nothing that is typed', async () => {
    expect(await offered('$(touch /tmp/outbox-owned)', '`id`', '')).toEqual([]);
  });
});

test.each(['zsh', 'fish'])('%s can load its script', async (shell) => {
  const script = await scriptFor(shell);
  expect(script).toContain('outbox');
  // Without the shell installed, only the content of the script is checked.
  if (await hasShell(shell)) await run(shell, ['-n', '-c', script]);
});

test('an unknown shell is rejected', () => {
  expect(() => completion.run({ values: {}, positionals: ['__proto__'] }, {} as never)).toThrow('expected one of bash');
});
