import { describe, expect, test } from 'vitest';
import { required, UsageError } from '../../src/cli/command.ts';
import { createKeyCommand } from '../../src/cli/keys.ts';
import type { Operator } from '../../src/composition/open-operator.ts';
import { readConfig } from '../../src/config.ts';

const invocation = (values: Readonly<Record<string, string | undefined>>) => ({ values, positionals: [] });

describe('options that a command needs', () => {
  test.each([
    [{}, '--organization, --domain, and --permissions are required'],
    [{ organization: 'org_x', domain: '' }, '--domain and --permissions are required'],
    [{ organization: 'org_x', domain: 'dom_x' }, '--permissions is required'],
  ])('are told at once to whoever makes a key with %j', async (values, sentence) => {
    const made = createKeyCommand.run({} as Operator, invocation(values), readConfig({}));
    await expect(made).rejects.toThrow(new UsageError(sentence));
  });

  test('are read where they are given', () => {
    expect(required(invocation({ name: 'Example' }), 'name')).toBe('Example');
    expect(() => required(invocation({ name: '' }), 'name')).toThrow('--name is required');
  });
});
