import { describe, expect, test } from 'vitest';
import { optionsIn } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { descriptionOf } from '../../src/cli/options.ts';
import { configFolder, outbox } from './customer/customer.ts';

const ALL_LINES_MIN = 80;

describe('help', () => {
  test('describes one command, those with the same first word, or all', async () => {
    const [one, group, byOption, all] = await Promise.all(
      [['help', 'messages', 'show'], ['help', 'messages'], ['messages', '--help'], ['help']].map((words) =>
        outbox(words),
      ),
    );
    expect(one?.stdout).toBe(
      [
        '  messages show MSG_ID',
        '      shows a message and the status of each recipient',
        '      --profile  use these saved credentials; default: default',
        '      --json     print JSON, also for errors',
        '',
      ].join('\n'),
    );
    expect(group?.stdout.match(/^ {2}\S+ \S+/gm)).toEqual([
      '  messages list',
      '  messages show',
      '  messages explain',
      '  messages resend',
      '  messages tail',
      '  messages cancel',
    ]);
    expect(byOption).toEqual(group);
    expect(all?.stdout.split('\n').length).toBeGreaterThan(ALL_LINES_MIN);
  });

  test('for a command whose name begins others describes those too', async () => {
    const { stdout } = await outbox(['help', 'replay']);
    expect(stdout.match(/^ {2}replay( list| drop| --)/gm)).toEqual(['  replay list', '  replay drop', '  replay --']);
  });

  test('for keys describes what customers and operators do with them', async () => {
    const { stdout } = await outbox(['help', 'keys']);
    expect(stdout).toContain('  keys rotate KEY_ID');
    expect(stdout).toContain('  keys rotate --organization ORG_ID');
  });
});

test('every option of every command has a description', () => {
  const described = COMMANDS.flatMap(({ name, usage }) =>
    Object.keys(optionsIn(`${usage} --json --profile NAME`)).map((option) => descriptionOf(name, option)),
  );
  expect(described.length).toBeGreaterThan(150);
  expect(described.filter((text) => text.trim() === '')).toEqual([]);
});

describe('an unknown command', () => {
  test.each([
    [['nonsense'], "unknown command 'nonsense'. List commands with `outbox help`\n"],
    [['help', 'nonsense'], "unknown command 'nonsense'. List commands with `outbox help`\n"],
    [['nonsense', '--help'], "unknown command 'nonsense'. List commands with `outbox help`\n"],
    [
      ['messages'],
      "'messages' needs a second word: expected list, show, explain, resend, tail, cancel. See `outbox help messages`\n",
    ],
    [
      ['messages', 'lose', '--limit', 'x'],
      "unknown command 'messages lose': expected list, show, explain, resend, tail, cancel. See `outbox help messages`\n",
    ],
    [['--limit'], 'no command given. List commands with `outbox help`\n'],
    [['--json'], '{"error":{"message":"no command given. List commands with `outbox help`","code":"usage"}}\n'],
  ])('%j lists the commands that exist', async (words, stderr) => {
    expect(await outbox(words)).toEqual({ code: 1, stdout: '', stderr });
  });
});

test('a key among the arguments is not printed', async () => {
  const key = `ob_live_${'x'.repeat(49)}`;
  for (const words of [
    ['login', key],
    ['whoami', key],
    ['keys', '--name', key],
    ['send', '--text', 'x', key],
  ]) {
    const ran = await outbox(words, { env: { XDG_CONFIG_HOME: await configFolder() } });
    expect(ran.code).toBe(1);
    expect(ran.stdout + ran.stderr).not.toContain(key);
  }
  expect((await outbox(['login', key])).stderr).toMatch(
    /^do not pass 'ob_live_…' as an argument: .* pipe in or type its replacement/,
  );
});
