import { isSuppressing } from '../../../src/domain/suppression/suppression.ts';
import type { Log, LogEntry } from './log.ts';

type AcceptedEvent = Extract<LogEntry['event'], { readonly type: 'MessageAccepted' }>;

/** Keyed digests of addresses that must be added to the suppression list and are not on it yet. */
export const watchUnlisted = (log: Log): ReadonlySet<string> => {
  const digests = new Map<string, string>();
  const listed = new Set<string>();
  const unlisted = new Set<string>();

  const learn = ({ metadata, data }: AcceptedEvent): void => {
    for (const { id, digest } of data.recipients) digests.set(id, `${metadata.environment} ${digest}`);
  };

  const list = (entry: string): void => {
    listed.add(entry);
    unlisted.delete(entry);
  };

  const want = (recipientId: string): void => {
    const entry = digests.get(recipientId) ?? recipientId;
    if (!listed.has(entry)) unlisted.add(entry);
  };

  log.onEvent(({ event }) => {
    if (event.type === 'MessageAccepted') learn(event);
    else if (event.type === 'SuppressionAdded') list(`${event.metadata.environment} ${event.data.digest}`);
    else if (isSuppressing(event)) want(event.data.recipientId);
  });
  return unlisted;
};
