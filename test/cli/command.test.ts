import { describe, expect, test } from 'vitest';
import { optionsIn, required, requireOptions, takesName } from '../../src/cli/command.ts';
import { createKeyCommand } from '../../src/cli/keys.ts';
import { UsageError } from '../../src/cli/terminal.ts';

const invocation = (values: Readonly<Record<string, string | undefined>>) => ({ values, positionals: [] });

describe('required options', () => {
  test.each([
    [{}, '--organization, --domain, and --permissions are required'],
    [{ organization: 'org_x', domain: '' }, '--domain and --permissions are required'],
    [{ organization: 'org_x', domain: 'dom_x' }, '--permissions is required'],
  ])('are named at once when a key is created with %j', (values, sentence) => {
    expect(() => requireOptions(createKeyCommand, invocation(values))).toThrow(new UsageError(sentence));
  });

  test('are read when they are given', () => {
    expect(required(invocation({ name: 'Example' }), 'name')).toBe('Example');
    expect(() => required(invocation({ name: '' }), 'name')).toThrow('--name is required');
  });
});

describe('the usage of a command says', () => {
  test('which options exist, with a value or without, once or repeated', () => {
    const usage = '--organization ORG_ID [--environment live|test] [--cidr NETWORK,…|any] [--dry-run] [--send N]';
    expect(optionsIn(usage)).toEqual({
      organization: { type: 'string', multiple: false },
      environment: { type: 'string', multiple: false },
      cidr: { type: 'string', multiple: true },
      'dry-run': { type: 'boolean' },
      send: { type: 'string', multiple: false },
    });
    expect(optionsIn('--to esdb://…|database [--from esdb://…|database]')).toEqual({
      to: { type: 'string', multiple: false },
      from: { type: 'string', multiple: false },
    });
  });

  test.each([
    ['<folder> | --release', true],
    ['FOLDER [--dry-run]', true],
    ['', false],
    ['[--organization ORG_ID]', false],
    ['--role ROLE', false],
  ])('whether a name is expected: %j', (usage, expected) => {
    expect(takesName(usage)).toBe(expected);
  });
});
