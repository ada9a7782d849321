import { createPostgresUsageMarks } from '../adapters/usage-marks/postgres.ts';
import { readDirectory } from '../composition/directory.ts';
import type { Operator } from '../composition/open-operator.ts';
import type { UsageMark } from '../domain/ports/usage-marks.ts';
import { serializeApiKey } from '../http/schemas/api-key.ts';
import { type OperatorCommand, optional } from './command.ts';
import { shownKey } from './key-options.ts';
import { operatorOrigin } from './operator-origin.ts';

const marksOf = async (
  { pool, system, logger }: Operator,
  keyIds: readonly string[],
): Promise<readonly UsageMark[]> => {
  const usageMarks = createPostgresUsageMarks({ pool, system, logger });
  try {
    return await usageMarks.of(keyIds);
  } finally {
    await usageMarks.close();
  }
};

export const listKeysCommand: OperatorCommand = {
  name: 'keys list',
  usage: '[--organization ORG_ID]',
  summary: 'lists the keys, never their values; what they were last used for may be a minute old',
  options: { organization: { type: 'string' } },
  needs: 'engines',
  run: async (operator, invocation) => {
    const { context, system } = operator;
    const of = optional(invocation, 'organization');
    if (of !== undefined) await operatorOrigin(context, of);
    const directory = await readDirectory(context);
    const wanted = [...directory.keys.values()].filter(
      ({ key }) => key.status !== 'deleted' && (of === undefined || key.organizationId === of),
    );
    const marks = await marksOf(
      operator,
      wanted.map(({ key }) => key.keyId),
    );
    const now = system.now().toISOString();
    return wanted.map(({ key, endedWithDomain }) => {
      const { status, last_used_at, last_used_address } = serializeApiKey(key, { marks, now, endedWithDomain });
      return { ...shownKey(key, directory), status, last_used_at, last_used_address };
    });
  },
};
