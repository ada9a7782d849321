import type { BounceCategory } from '../bounce/categories.ts';
import type { MessageEvent } from '../kernel/events.ts';
import { isUnsubscribed, type Statement, type Suppression } from '../suppression/suppression.ts';
import type { Client, MachineReason } from '../tracking/tracking.ts';
import type { ReportDoubt, SmtpFacts } from './events.ts';
import { type ExistingMessage, type Message, type Recipient, type UnnumberedEvent, withSequence } from './message.ts';

/**
 * A report about one recipient. `doubt`: reason why it has no effect. Absent: it is proved to be about this recipient.
 */
export type ReportedRecipient = { readonly recipientId: string; readonly doubt?: ReportDoubt } & (
  | {
      readonly kind: 'failure';
      readonly isPermanent: boolean;
      readonly category: BounceCategory;
      readonly smtp: SmtpFacts;
    }
  | { readonly kind: 'complaint' }
);

const REASON = 'a report says that it could not be delivered';

/** A recipient without an attempt, or with another final outcome, cannot bounce. */
const canBounce = (
  { status }: Recipient,
  { isPermanent }: Extract<ReportedRecipient, { readonly kind: 'failure' }>,
): boolean => status === 'delivered' || (isPermanent && (status === 'sending' || status === 'deferred'));

/** A recipient can complain only if a copy arrived, or may have arrived. */
const canComplain = ({ status, inDoubt, complained }: Recipient): boolean =>
  !complained && (status === 'delivered' || status === 'sending' || status === 'bounced' || inDoubt);

/** Address of this service that the last attempt came from. */
const sourceOf = ({ smtp }: Recipient): Pick<SmtpFacts, 'source'> =>
  smtp?.source === undefined ? {} : { source: smtp.source };

/** Records each kind once, so that repeated reports cannot fill the log. */
const notedOf = (
  about: { readonly messageId: string; readonly contentId: string; readonly recipientId: string },
  recipient: Recipient,
  reported: ReportedRecipient & { readonly doubt: ReportDoubt },
): readonly UnnumberedEvent[] => {
  const { kind: report, doubt } = reported;
  const isPossible = reported.kind === 'complaint' ? canComplain(recipient) : canBounce(recipient, reported);
  const isNoted = recipient.reportsNoted.some((each) => each.report === report && each.doubt === doubt);
  if (!isPossible || isNoted) return [];
  const said = reported.kind === 'failure' ? { smtp: reported.smtp, category: reported.category } : {};
  return [{ type: 'RecipientReportNoted', data: { ...about, report, doubt, ...said } }];
};

const eventsOf = (
  { accepted: { messageId, contentId }, attempts }: ExistingMessage,
  recipient: Recipient,
  reported: ReportedRecipient,
): readonly UnnumberedEvent[] => {
  const { recipientId, doubt } = reported;
  const about = { messageId, contentId, recipientId };
  if (doubt !== undefined) return notedOf(about, recipient, { ...reported, doubt });
  if (reported.kind === 'complaint') {
    return canComplain(recipient) ? [{ type: 'RecipientComplained', data: { ...about, ...sourceOf(recipient) } }] : [];
  }
  if (!canBounce(recipient, reported)) return [];
  const { category } = reported;
  const smtp = { ...reported.smtp, ...sourceOf(recipient) };
  const late = recipient.status === 'delivered' ? ({ late: true } as const) : {};
  const data = { ...about, attempt: attempts, smtp, reason: REASON, category, ...late };
  return [{ type: 'RecipientBounced', data }];
};

/** Records reports about recipients, however late. Repeated and impossible reports are not recorded. */
export const recordReport = (state: Message, reported: readonly ReportedRecipient[]): readonly MessageEvent[] => {
  if (state.status === 'absent') return [];
  // Only the first report about a recipient counts.
  const first = new Map(reported.toReversed().map((each) => [each.recipientId, each]));
  return withSequence(
    state,
    state.recipients.flatMap((recipient) => {
      const about = first.get(recipient.id);
      return about === undefined ? [] : eventsOf(state, recipient, about);
    }),
  );
};

/** Records opens and clicks of a recipient: the first time and the count, by people or machines. */

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
  return withSequence(state, withoutLaterFirsts(events));
};

type UnsubscriptionData = Extract<MessageEvent, { type: 'RecipientUnsubscribed' }>['data'];

export interface UnsubscribeRecipient extends Pick<UnsubscriptionData, 'recipientId' | 'method'> {
  /** Topic to unsubscribe from; null: all mail like the message. */
  readonly topicId: string | null;
  /** Current suppression of the recipient's address. */
  readonly suppression: Suppression;
  /** ISO 8601. */
  readonly now: string;
}

/**
 * Last unsubscription of a recipient through this message, from its topic or from all mail like it; null if there is
 * none.
 */
export const lastUnsubscription = (
  state: Message,
  { recipientId, topicId }: Pick<UnsubscribeRecipient, 'recipientId' | 'topicId'>,
): Statement | null => {
  if (state.status === 'absent') return null;
  const recipient = state.recipients.find(({ id }) => id === recipientId);
  if (topicId === null) return recipient?.unsubscribed ?? null;
  return topicId === state.accepted.topic?.id ? (recipient?.leftTopic ?? null) : null;
};

/**
 * Whether a recipient has unsubscribed through this message and neither the recipient nor the sender has reversed it
 * since.
 */
export const hasUnsubscribed = (
  state: Message,
  { recipientId, topicId, suppression, now }: Omit<UnsubscribeRecipient, 'method'>,
): boolean => {
  const said = lastUnsubscription(state, { recipientId, topicId });
  if (state.status === 'absent' || said === null) return false;
  return isUnsubscribed(suppression, { stream: state.accepted.stream, topicId, said, now });
};

/**
 * Records an unsubscription, whatever the recipient's status. Repeating it has no effect unless it was reversed since.
 */
export const unsubscribeRecipient = (state: Message, command: UnsubscribeRecipient): readonly MessageEvent[] => {
  const { recipientId, method, topicId } = command;
  if (state.status === 'absent' || !state.recipients.some(({ id }) => id === recipientId)) return [];
  if (hasUnsubscribed(state, command)) return [];
  const { messageId, contentId } = state.accepted;
  const from = topicId === null ? {} : { topicId };
  return withSequence(state, [
    { type: 'RecipientUnsubscribed', data: { messageId, contentId, recipientId, method, ...from } },
  ]);
};
