import { hostname, userInfo } from 'node:os';
import type { CommandContext, Origin } from '../commands/context.ts';
import { readDirectory } from '../composition/directory.ts';
import type { OperatorHost } from '../domain/ports/event-store.ts';
import { UsageError } from './command.ts';

/** The login behind `sudo` where there is one; a user without a name (in containers) by its number. */
export const operatorHost = (): OperatorHost => {
  const name = (): string => {
    try {
      return userInfo().username;
    } catch {
      return `uid ${process.getuid?.() ?? 'unknown'}`;
    }
  };
  return { user: process.env.SUDO_USER || name(), host: hostname() };
};

/** What the operator does is recorded in the name of `operator`, with the person and the host behind it. @throws {UsageError} no such organization. */
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
    operator: operatorHost(),
    ...{ correlationId: id, causationId: id },
  };
};
