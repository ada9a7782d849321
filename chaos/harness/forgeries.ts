import type { RecordedEvent } from '../../src/domain/kernel/event-store.ts';
import type { Evidence } from './evidence.ts';
import { messageIdOf } from './received-mail.ts';
import type { Violation } from './violation.ts';

/** Honest evidence changed to look as if one thing had gone wrong. */
export interface Forgery {
  readonly name: string;
  /** The promise that the oracle must report as broken. */
  readonly promise: Violation['promise'];
  forge(honest: Evidence): Evidence;
}

const renamed = (raw: string): string =>
  raw.replace(/^Message-ID: *<[^>]*>/im, 'Message-ID: <strange@elsewhere.example>');

const without = <Item>(items: readonly Item[], index: number): readonly Item[] => items.filter((_, at) => at !== index);

const again = <Item>(items: readonly Item[], change: (item: Item) => Item = (item) => item): readonly Item[] => [
  ...items,
  ...items.slice(0, 1).map(change),
];

/** Forges permanent bounces for delivered mail, without their consequences. */
const withBounces = (honest: Evidence): Evidence => ({
  ...honest,
  events: honest.events.map((event) =>
    event.type === 'RecipientDelivered'
      ? ({ ...event, type: 'RecipientBounced', data: { ...event.data, category: 'no_mailbox' } } as RecordedEvent)
      : event,
  ),
});

const withoutType = ({ events, ...rest }: Evidence, type: string): Evidence => ({
  ...rest,
  events: events.filter((event) => event.type !== type),
});

/** Removes the message whose mail arrived first from the log. */
const withoutFirstMessage = (honest: Evidence): Evidence => {
  const name = honest.mails.slice(0, 1).map(messageIdOf)[0];
  const accepted = honest.events.find(
    (event) => event.type === 'MessageAccepted' && event.data.internetMessageId === name,
  );
  return { ...honest, events: honest.events.filter(({ stream }) => stream !== accepted?.stream) };
};

const withRows = (honest: Evidence, change: (rows: readonly string[]) => readonly string[]): Evidence => {
  const { live } = honest.readModels;
  return { ...honest, readModels: { ...honest.readModels, live: { ...live, messages: change(live.messages ?? []) } } };
};

/** Each forgery is one thing that must never happen. */
export const FORGERIES: readonly Forgery[] = [
  {
    name: 'a message that was answered 202 is not in the log',
    promise: 'accepted is settled',
    forge: withoutFirstMessage,
  },
  {
    name: 'no message has come to its end',
    promise: 'accepted is settled',
    forge: (honest) => withoutType(honest, 'RecipientDelivered'),
  },
  {
    name: 'a message is delivered by the log, and no mail arrived',
    promise: 'accepted is settled',
    forge: (honest) => ({ ...honest, mails: without(honest.mails, 0) }),
  },
  {
    name: 'a client was refused what was accepted',
    promise: 'accepted is settled',
    forge: (honest) => ({ ...honest, refused: honest.accepted.slice(0, 1).map(({ marker }) => marker) }),
  },
  {
    name: 'mail of no accepted message arrived',
    promise: 'no strange mail',
    forge: withoutFirstMessage,
  },
  {
    name: 'mail reached an address that is not a recipient',
    promise: 'no strange mail',
    forge: (honest) => ({
      ...honest,
      mails: again(honest.mails, (mail) => ({ ...mail, to: ['other@elsewhere.example'] })),
    }),
  },
  {
    name: 'scheduled mail arrived before its time',
    promise: 'no strange mail',
    forge: (honest) => ({ ...honest, mails: honest.mails.map((mail) => ({ ...mail, atMs: 0 })) }),
  },
  {
    name: 'a second copy arrived',
    promise: 'one copy',
    forge: (honest) => ({ ...honest, mails: again(honest.mails) }),
  },
  {
    name: 'a second copy arrived under another Message-ID',
    promise: 'one copy',
    forge: (honest) => ({ ...honest, mails: again(honest.mails, (mail) => ({ ...mail, raw: renamed(mail.raw) })) }),
  },
  {
    name: 'a row of a read model has vanished',
    promise: 'read models',
    forge: (honest) => withRows(honest, (rows) => without(rows, 0)),
  },
  {
    name: 'a row of a read model is there twice',
    promise: 'read models',
    forge: (honest) => withRows(honest, (rows) => again(rows)),
  },
  {
    name: 'a row of a read model says something else',
    promise: 'read models',
    forge: (honest) => withRows(honest, ([first = '', ...rest]) => [`${first}!`, ...rest]),
  },
  {
    name: 'an event is parked',
    promise: 'read models',
    forge: (honest) => ({ ...honest, readModels: { ...honest.readModels, parked: 1 } }),
  },
  {
    name: 'an event was never told to the webhook',
    promise: 'webhooks',
    forge: (honest) => ({ ...honest, posts: without(honest.posts, 0) }),
  },
  {
    name: 'an event was delivered again under another id',
    promise: 'webhooks',
    forge: (honest) => ({ ...honest, posts: again(honest.posts, (post) => ({ ...post, id: 'evt_other' })) }),
  },
  {
    name: 'a webhook reports an event that never happened',
    promise: 'webhooks',
    forge: (honest) => withoutType(honest, 'RecipientDelivered'),
  },
  {
    name: 'an address that bounced permanently is not suppressed',
    promise: 'suppressions',
    forge: withBounces,
  },
  {
    name: 'a key has no private half',
    promise: 'domains',
    forge: (honest) => ({ ...honest, keys: honest.keys.map((key) => ({ ...key, fits: false })) }),
  },
  {
    name: 'a key that was destroyed is in the vault',
    promise: 'domains',
    forge: (honest) => ({ ...honest, keys: honest.keys.map((key) => ({ ...key, isDestroyed: true })) }),
  },
  {
    name: 'mail is signed by an unknown key',
    promise: 'domains',
    forge: (honest) => ({ ...honest, keys: [] }),
  },
  {
    name: 'mail is not signed',
    promise: 'domains',
    forge: (honest) => ({
      ...honest,
      mails: honest.mails.map((mail) => ({ ...mail, raw: mail.raw.replaceAll('DKIM-Signature:', 'X-Signature:') })),
    }),
  },
  {
    name: 'a domain is verified and does not hold its name',
    promise: 'domains',
    forge: (honest) => withoutType(honest, 'DomainNameTaken'),
  },
];
