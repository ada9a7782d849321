/** Records that a recipient opened a message or clicked a link of it: the first time, and how often, by people or machines. */
import type { MessageEvent } from '../events.ts';
import type { Client, MachineReason } from '../tracking/client.ts';
import { type ExistingMessage, type Message, numbered, type UnnumberedEvent } from './message.ts';
import type { Recipient } from './recipient.ts';

/** Requests of one recipient that are alike, within a minute. */
export interface Engagement extends Client {
  /** null: it was opened. */
  readonly click: {
    /** Place of the link, and how many the message has. */
    readonly link: number;
    readonly links: number;
    /** Vault id of its address. */
    readonly linkId: string;
  } | null;
  /** Of the first; ISO 8601. */
  readonly at: string;
  readonly count: number;
  /** What the requests themselves tell. */
  readonly machine: MachineReason | null;
}

/**
 * Sooner after delivery it is a filter that looks before the mailbox does. Longer counts people who sit in front of their
 * mail as machines; shorter counts filters as people.
 */
const AT_DELIVERY_MS = 3_000;
/** Of following all links. Longer counts people who open several, shorter misses filters that take their time. */
const EVERY_LINK_MS = 3_000;
/** Links that stand for all: a filter may stop before the last. */
const LINKS_ENOUGH = 5;
/** Of one recipient. Whoever has a link can follow it for ever; the history of a message must not grow for ever. */
const EVENTS_MAX = 200;

/** In the hands of its server, or just delivered. */
const isAtDelivery = ({ lease, deliveredAt }: Recipient, at: string): boolean =>
  deliveredAt === null ? lease !== null : Date.parse(at) - Date.parse(deliveredAt) < AT_DELIVERY_MS;

const byClient = ({ family, network }: Engagement): string => `${family} ${network}`;

/** Clients that have followed every link at once, as if there were nothing to choose. */
const followersOfAll = (engagements: readonly Engagement[]): ReadonlySet<string> => {
  const groups = Object.entries(Object.groupBy(engagements, byClient)).filter(([, some = []]) => {
    const clicks = some.flatMap(({ click, at }) => (click === null ? [] : [{ ...click, atMs: Date.parse(at) }]));
    const followed = new Set(clicks.map(({ link }) => link)).size;
    const times = clicks.map(({ atMs }) => atMs);
    const isAll = clicks.some(({ links }) => links > 1 && followed >= Math.min(links, LINKS_ENOUGH));
    return isAll && Math.max(...times) - Math.min(...times) <= EVERY_LINK_MS;
  });
  return new Set(groups.map(([client]) => client));
};

const eventOf = (
  { accepted: { messageId, contentId } }: ExistingMessage,
  recipient: Recipient,
  { click, count, family, network }: Engagement,
  machine: MachineReason | null,
): UnnumberedEvent => {
  const by = machine === null ? {} : { machine };
  const { openedAt, clickedAt, machineOpenedAt, machineClickedAt } = recipient.engagement;
  const before =
    machine === null ? { open: openedAt, click: clickedAt } : { open: machineOpenedAt, click: machineClickedAt };
  const first = (click === null ? before.open : before.click) === null ? { first: true as const } : {};
  const data = { messageId, contentId, recipientId: recipient.id, count, client: family, network, ...by, ...first };
  if (click === null) return { type: 'RecipientOpened', data };
  return { type: 'RecipientClicked', data: { ...data, link: click.link, linkId: click.linkId } };
};

/** One event of a kind, of each of both, is the first. */
const kindOf = ({ type, data }: UnnumberedEvent): string =>
  `${type} ${'machine' in data && data.machine !== undefined}`;

const withoutLaterFirsts = (events: readonly UnnumberedEvent[]): readonly UnnumberedEvent[] => {
  const seen = new Set<string>();
  return events.map((event) => {
    const kind = kindOf(event);
    if (!seen.has(kind)) {
      seen.add(kind);
      return event;
    }
    const { first: _, ...data } = event.data as { readonly first?: true };
    return { ...event, data } as UnnumberedEvent; // but for the mark
  });
};

/** @param engagements of one recipient, gathered over some seconds. Events beyond `EVENTS_MAX` are not recorded. */
export const recordEngagement = (
  state: Message,
  { recipientId, engagements }: { readonly recipientId: string; readonly engagements: readonly Engagement[] },
): readonly MessageEvent[] => {
  const recipient = state.status === 'absent' ? undefined : state.recipients.find(({ id }) => id === recipientId);
  if (state.status === 'absent' || recipient === undefined) return [];
  const followers = followersOfAll(engagements);
  const machineOf = (engagement: Engagement): MachineReason | null => {
    if (engagement.machine !== null) return engagement.machine;
    if (followers.has(byClient(engagement))) return 'every_link';
    return isAtDelivery(recipient, engagement.at) ? 'at_delivery' : null;
  };
  const room = Math.max(0, EVENTS_MAX - recipient.engagement.events);
  const inOrder = engagements
    .toSorted((left, right) => (left.at < right.at ? -1 : Number(left.at > right.at)))
    .slice(0, room);
  const events = inOrder.map((engagement) => eventOf(state, recipient, engagement, machineOf(engagement)));
  return numbered(state, withoutLaterFirsts(events));
};
