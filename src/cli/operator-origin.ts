import { hostname, userInfo } from 'node:os';
import { type CommandContext, internalOrigin, type Origin } from '../commands/execute.ts';
import { readDirectory } from '../composition/first-start.ts';
import type { OperatorHost } from '../domain/kernel/event-store.ts';
import { type Invocation, required } from './command.ts';
import { UsageError } from './terminal.ts';

/** Identifies the person who runs an operator command, for the event log. */

/** The person at this host: the user behind `sudo`, or the numeric id of a user without a name (in containers). */
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

const REASON = /^[^\p{Cc}]{1,500}$/u;

/** The operator's reason, for the event log. @throws {UsageError} if it is missing, too long or has control characters. */
export const reasonIn = (invocation: Invocation): string => {
  const reason = required(invocation, 'reason');
  if (!REASON.test(reason)) throw new UsageError('--reason must be one line of at most 500 characters');
  return reason;
};

/** Origin of operator commands, with person and host. @throws {UsageError} if the organization does not exist. */
export const operatorOrigin = async (context: CommandContext, organizationId: string): Promise<Origin> => {
  const { organizations } = await readDirectory(context);
  if (!organizations.has(organizationId)) {
    throw new UsageError(
      `organization ${organizationId} not found. List organizations with \`outbox organizations list\``,
    );
  }
  return {
    ...internalOrigin({ actor: 'operator', organizationId, causeId: context.system.uuid() }),
    operator: operatorHost(),
  };
};
