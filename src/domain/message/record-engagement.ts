/** Records opens and clicks of a recipient: the first time and the count, by people or machines. */
import type { MessageEvent } from '../kernel/events.ts';
import type { Client, MachineReason } from '../tracking/client.ts';
import { type ExistingMessage, type Message, numbered, type UnnumberedEvent } from './message.ts';
import type { Recipient } from './recipient.ts';

/** Similar requests of one recipient within a minute. */
export interface Engagement extends Client {
  /** Null for an open. */
  readonly click: {
    /** Index of the link, and number of links in the message. */
    readonly link: number;
    readonly links: number;
    /** Vault id of the link's URL. */
    readonly linkId: string;
  } | null;
  /** Time of the first request; ISO 8601. */
  readonly at: string;
  readonly count: number;
  /** Machine detected from the requests themselves. */
  readonly machine: MachineReason | null;
}

/**
 * Requests sooner than this after delivery come from a filter that checks the mail before the mailbox gets it. Higher:
 * people who watch their mailbox are classified as machines. Lower: filters are classified as people.
 */
const AT_DELIVERY_MS = 3_000;
/** Time within which all links are followed. Higher: counts people who open several. Lower: misses slow filters. */
const EVERY_LINK_MS = 3_000;
/** Number of followed links that stands for all of them, because a filter may stop before the last. */
const LINKS_ENOUGH = 5;
/**
 * Maximum events for one recipient. Anyone with a link can follow it forever, and a message's history must stay
 * bounded.
 */
const EVENTS_MAX = 200;

/** Whether the message is being delivered or was just delivered. */
const isAtDelivery = ({ lease, deliveredAt }: Recipient, at: string): boolean =>
  deliveredAt === null ? lease !== null : Date.parse(at) - Date.parse(deliveredAt) < AT_DELIVERY_MS;

const byClient = ({ family, network }: Engagement): string => `${family} ${network}`;

/** Clients that followed all links at once, as no person would. */
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

/** Groups events by type and by person or machine. One event of each group is the first. */
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
    return { ...event, data } as UnnumberedEvent; // unchanged except for the mark
  });
};

/**
 * @param engagements engagements of one recipient, collected over some seconds. Those beyond `EVENTS_MAX` are not
 * recorded.
 */
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
