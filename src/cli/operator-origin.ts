import type { CommandContext, Origin } from '../commands/context.ts';
import { readDirectory } from '../composition/directory.ts';
import { UsageError } from './command.ts';

/** What the operator does is recorded in the name of `operator`. @throws {UsageError} no such organization. */
export const operatorOrigin = async (context: CommandContext, organizationId: string): Promise<Origin> => {
  const { organizations } = await readDirectory(context);
  if (!organizations.has(organizationId)) {
    throw new UsageError(
      `there is no organization ${organizationId}: \`npm run outbox -- organizations list\` lists them`,
    );
  }
  const id = context.system.uuid();
  return {
    ...{ actor: 'operator', organizationId, environment: null, requestId: null },
    ...{ correlationId: id, causationId: id },
  };
};
