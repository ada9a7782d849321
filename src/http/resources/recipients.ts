import { z } from 'zod';
import { type CommandContext, load } from '../../commands/execute.ts';
import {
  findLinkedRecipient,
  type LinkedRecipient,
  type Preferences,
  type RecipientRequest,
  readPreferences,
  recordUnsubscription,
  resubscribe,
  savePreferences,
} from '../../commands/message/recipient.ts';
import { addressClassOf } from '../../domain/kernel/addresses.ts';
import { DomainError } from '../../domain/kernel/errors.ts';
import { sendingDomainStream, topicStream } from '../../domain/kernel/streams.ts';
import { viewUrl, withViewUrl } from '../../domain/message/tokens.ts';
import type { MessageBody } from '../../domain/ports/contents.ts';
import { sendingDomain } from '../../domain/sending-domain/sending-domain.ts';
import { type ExistingTopic, topic } from '../../domain/topic/topic.ts';
import { NO_TRACKING, trackedHtml } from '../../domain/tracking/tracking.ts';
import { withTimeout } from '../../lib/async/async.ts';
import type { HttpDependencies } from '../dependencies.ts';
import { fill, type Sentences } from '../pages/languages.ts';
import { pageOfText, withImages } from '../pages/mail-page.ts';
import {
  type Button,
  CHOSEN_FIELD,
  type Page,
  type PageCall,
  page,
  publicRoute,
  type Sender,
  SHOWN_FIELD,
  secretHeaders,
} from '../pages/page.ts';
import { readRecent } from '../reading.ts';
import { requireContent } from './messages/message.ts';
import { TOPICS_MAX } from './topics.ts';
import { linkSuspended } from './tracking.ts';

/** Facts about a mail for the pages behind its unsubscribe link. */

type Context = Pick<HttpDependencies, 'context' | 'readModels'>;

/** Content of the pages behind a link. */
interface LinkPage {
  readonly recipient: LinkedRecipient;
  readonly sender: Sender;
  /** Topic of the message; null: no topic. */
  readonly topic: ExistingTopic | null;
  readonly say: Sentences;
  readonly token: string;
}

const senderOf = async ({ context }: Context, { message: { state } }: LinkedRecipient): Promise<Sender> => {
  const { domainId, fromDomain } = state.accepted;
  const { state: domain } = await load(context.store, sendingDomain, sendingDomainStream(domainId));
  const branding = domain.status === 'absent' ? null : domain.branding;
  return { name: branding?.name ?? fromDomain, color: branding?.color ?? null, logoUrl: branding?.logoUrl ?? null };
};

/** Deleted or not: the mail was about it. */
const topicOf = async (
  { context }: Context,
  { message: { state } }: LinkedRecipient,
): Promise<ExistingTopic | null> => {
  const { topic: named } = state.accepted;
  if (named === undefined) return null;
  const { state: found } = await load(context.store, topic, topicStream(named.id));
  return found.status === 'absent' ? null : found;
};

/** @throws {DomainError} `not_found`. */
const openLink = async (deps: Context, { token, locale }: PageCall): Promise<LinkPage> => {
  const recipient = await findLinkedRecipient(deps.context, 'unsubscribe', token);
  const [sender, about] = await Promise.all([senderOf(deps, recipient), topicOf(deps, recipient)]);
  return { recipient, sender, topic: about, say: locale.say, token };
};

/** Topics of the sender, oldest first. */
const topicsOf = async (deps: Context, { message: { state } }: LinkedRecipient): Promise<readonly ExistingTopic[]> => {
  const { organizationId, accepted } = state;
  const by = { organizationId, domainId: accepted.domainId, limit: TOPICS_MAX, after: null };
  await readRecent(deps, ['topics']);
  return (await deps.readModels.topics.list(by)).items.toReversed();
};

const requestOf = ({ request }: PageCall): RecipientRequest => ({
  requestId: request.id,
  sourceClass: addressClassOf(request.ip),
});

/**
 * Pages behind the unsubscribe link of a mail: unsubscribe, and subscribe again. GET changes nothing, since security
 * scanners open every link in a mail. Both need the log alone; a link to the choice of topics is shown where the read
 * models answer in time.
 */

/** Posted by the buttons of the page; differs from what programs post (RFC 8058 §3.1). */
const CONFIRMATION = 'confirmed';
const ACTIONS = ['yes', 'all', 'again'] as const;
/** Posted by mail programs (RFC 8058 §3.1). */
const ONE_CLICK = { name: 'List-Unsubscribe', value: 'One-Click' } as const;

/** Longer: recipients wait although they only want to unsubscribe. */
const LINK_MS_MAX = 1_000;

/** Whether there is something to choose; not while the read models are away. */
const hasTopics = async (deps: Context, recipient: LinkedRecipient): Promise<boolean> =>
  withTimeout({ ms: LINK_MS_MAX }, topicsOf(deps, recipient)).then(
    ({ length }) => length > 0,
    () => false,
  );

const button = (label: string, value: (typeof ACTIONS)[number]): Button => ({ label, name: CONFIRMATION, value });

const wordsOf = ({ sender, topic: about }: LinkPage) => ({ sender: sender.name, topic: about?.name ?? '' });

const askingPage = (shown: LinkPage): Page => {
  const { say, topic: about, sender } = shown;
  const words = wordsOf(shown);
  const isAboutTopic = about !== null;
  return {
    title: say.unsubscribeTitle,
    sender,
    paragraphs: [fill(isAboutTopic ? say.leaveTopicQuestion : say.unsubscribeQuestion, words)],
    buttons: isAboutTopic
      ? [button(fill(say.leaveTopic, words), 'yes'), button(say.unsubscribeFromAll, 'all')]
      : [button(say.unsubscribe, 'yes')],
  };
};

const unsubscribedPage = (shown: LinkPage, { hasLeft }: Pick<Preferences, 'hasLeft'>): Page => {
  const { say, sender } = shown;
  return {
    title: say.unsubscribedTitle,
    sender,
    paragraphs: [fill(hasLeft ? say.unsubscribed : say.leftTopic, wordsOf(shown))],
    buttons: [button(say.resubscribe, 'again'), ...(hasLeft ? [] : [button(say.unsubscribeFromAll, 'all')])],
  };
};

const resubscribedPage = (shown: LinkPage, { isKeptBack }: Pick<Preferences, 'isKeptBack'>): Page => {
  const { say, sender } = shown;
  const words = wordsOf(shown);
  return {
    title: say.resubscribedTitle,
    sender,
    paragraphs: [fill(say.resubscribed, words), ...(isKeptBack ? [fill(say.keptBack, words)] : [])],
  };
};

const withChoice = async (deps: Context, { recipient, say, token }: LinkPage, page: Page): Promise<Page> =>
  (await hasTopics(deps, recipient))
    ? { ...page, links: [{ label: say.choose, href: `../preferences/${token}` }] }
    : page;

export const showUnsubscribePageRoute = page(
  'GET /unsubscribe/:token',
  {
    summary: 'Show the unsubscribe page',
    description:
      'Shows the page behind the link in the header `List-Unsubscribe` of mail that was sent with `unsubscribe: "managed"`. ' +
      'The page asks for confirmation. Opening it changes nothing.',
  },
  async (call, { deps }) => {
    const shown = await openLink(deps, call);
    const now = await readPreferences(deps.context, shown.recipient);
    return withChoice(deps, shown, now.hasLeft || now.hasLeftTopic ? unsubscribedPage(shown, now) : askingPage(shown));
  },
);

/** One object and no union: generated clients (NSwag) cannot send a form that is a union. */
const posted = z
  .strictObject({
    [ONE_CLICK.name]: z.literal(ONE_CLICK.value).optional().describe('Sent by mail programs.'),
    [CONFIRMATION]: z
      .enum(ACTIONS)
      .optional()
      .describe('Sent by the page: `yes` unsubscribes, `all` unsubscribes from all mail, `again` resubscribes.'),
  })
  .meta({ minProperties: 1, maxProperties: 1 });

type Action = 'one_click' | (typeof ACTIONS)[number];

/** @throws {DomainError} `invalid_request`. */
const actionOf = (form: FormData): Action => {
  if (form.get(ONE_CLICK.name) === ONE_CLICK.value) return 'one_click';
  const action = ACTIONS.find((one) => one === form.get(CONFIRMATION));
  if (action !== undefined) return action;
  throw new DomainError('invalid_request', `the form must contain ${ONE_CLICK.name}=${ONE_CLICK.value}`);
};

/** The topic that is left; null: all mail like the message. */
const leftBy = (action: Action, { message: { state } }: LinkedRecipient): string | null =>
  action === 'all' ? null : (state.accepted.topic?.id ?? null);

export const unsubscribeRecipientRoute = page(
  'POST /unsubscribe/:token',
  {
    summary: 'Unsubscribe or resubscribe',
    description:
      'Mail programs send this request for their user (RFC 8058), and so does the unsubscribe page. The address is ' +
      'suppressed: for the topic of the message if it has one, otherwise for bulk mail if the message was bulk mail, ' +
      'otherwise for all mail. `all` suppresses it regardless of the topic; `again` resubscribes it. The sender gets the ' +
      'event `message.unsubscribed`. Repeating the request has no further effect.',
    body: posted,
    examples: {
      'By a mail program': { [ONE_CLICK.name]: ONE_CLICK.value },
      'By the page': { [CONFIRMATION]: 'yes' },
    },
  },
  async (call, { deps, deps: { context } }) => {
    const action = actionOf(call.form);
    const shown = await openLink(deps, call);
    const { recipient } = shown;
    if (action === 'again') {
      await resubscribe(context, recipient, requestOf(call));
      return withChoice(deps, shown, resubscribedPage(shown, await readPreferences(context, recipient)));
    }
    const topicId = leftBy(action, recipient);
    const method = action === 'one_click' ? action : 'page';
    await recordUnsubscription(context, recipient, { method, topicId, request: requestOf(call) });
    const page = unsubscribedPage(shown, { hasLeft: topicId === null });
    return action === 'one_click' ? page : withChoice(deps, shown, page);
  },
);

/** The page on which a recipient chooses among the sender's topics. GET changes nothing. */

const SAVING = 'action';

const preferencesPage = (
  { say, sender }: LinkPage,
  topics: readonly ExistingTopic[],
  { hasLeft, isKeptBack, topicIds }: Preferences,
): Page => {
  const words = { sender: sender.name };
  const legend = fill(say.preferencesLegend, words);
  return {
    title: say.preferencesTitle,
    sender,
    paragraphs: [
      ...(topics.length === 0 ? [fill(say.noTopics, words)] : []),
      ...(hasLeft ? [say.preferencesPaused] : []),
      ...(isKeptBack ? [fill(say.keptBack, words)] : []),
    ],
    choices: {
      legend,
      of: topics.map(({ topicId, name, description }) => ({
        value: topicId,
        label: name,
        description,
        isChosen: !hasLeft && topicIds.has(topicId),
      })),
    },
    buttons: [
      ...(topics.length === 0 ? [] : [{ label: say.save, name: SAVING, value: 'save' }]),
      ...(hasLeft ? [] : [{ label: say.unsubscribeFromAll, name: SAVING, value: 'leave' }]),
    ],
  };
};

export const showPreferencesPageRoute = page(
  'GET /preferences/:token',
  {
    summary: 'Show the preference page',
    description:
      'Shows what the recipient is subscribed to. The token is the one of the unsubscribe link. Opening the page changes nothing.',
  },
  async (call, { deps }) => {
    const shown = await openLink(deps, call);
    const topics = await topicsOf(deps, shown.recipient);
    return preferencesPage(shown, topics, await readPreferences(deps.context, shown.recipient, topics));
  },
);

const choice = z.strictObject({
  [SAVING]: z
    .enum(['save', 'leave'])
    .describe('`save` saves the choice of topics. `leave` unsubscribes from all mail of the same kind.'),
  [SHOWN_FIELD]: z.array(z.string()).max(TOPICS_MAX).optional().describe('Ids of the topics that the page showed.'),
  [CHOSEN_FIELD]: z
    .array(z.string())
    .max(TOPICS_MAX)
    .optional()
    .describe('Ids of the topics that the recipient ticked.'),
});

const textsOf = (form: FormData, name: string): ReadonlySet<string> =>
  new Set(form.getAll(name).filter((value) => typeof value === 'string'));

/** Twice as many ids as topics, in the longest of the two media types. */
const CHOICE_BYTES_MAX = 40_000;

const save = async (
  context: CommandContext,
  call: PageCall,
  { recipient }: LinkPage,
  topics: readonly ExistingTopic[],
): Promise<void> => {
  const { form } = call;
  const action = form.get(SAVING);
  const request = requestOf(call);
  if (action === 'leave') {
    await recordUnsubscription(context, recipient, { method: 'page', topicId: null, request });
    return;
  }
  if (action !== 'save') throw new DomainError('invalid_request', 'the form must contain action=save');
  const [seen, wanted] = [textsOf(form, SHOWN_FIELD), textsOf(form, CHOSEN_FIELD)];
  // Topics that the form did not show stay unchanged. Ids that are not topics of the sender are ignored.
  const offered = topics.filter(({ topicId }) => seen.has(topicId));
  const ticked = new Set(offered.flatMap(({ topicId }) => (wanted.has(topicId) ? [topicId] : [])));
  await savePreferences(context, recipient, request, { topics: offered, wanted: ticked });
};

export const savePreferencesRoute = page(
  'POST /preferences/:token',
  {
    summary: 'Save preferences',
    description:
      'Subscribes the recipient to the `shown` topics that are in `topic`, and unsubscribes them from the others. `leave` ' +
      'unsubscribes them from all mail of the same kind as the message with the link.',
    body: choice,
    examples: { 'All mail': { [SAVING]: 'leave' } },
    formBytesMax: CHOICE_BYTES_MAX,
  },
  async (call, { deps }) => {
    const shown = await openLink(deps, call);
    const topics = await topicsOf(deps, shown.recipient);
    await save(deps.context, call, shown, topics);
    const again = await findLinkedRecipient(deps.context, 'unsubscribe', call.token);
    const now = await readPreferences(deps.context, again, topics);
    return { ...preferencesPage(shown, topics, now), notice: shown.say.saved };
  },
);

/**
 * `View in browser`: the body of a mail as its recipient got it, and nothing of its headers, so that no other recipient is
 * named. The html is untrusted: it is sandboxed without scripts and forms, in an origin of its own. Viewing it is not
 * counted as an opening. Its links are those of the recipient's copy, with the same tokens.
 */

const POLICY = [
  'sandbox allow-popups allow-popups-to-escape-sandbox',
  "default-src 'none'",
  "style-src 'unsafe-inline' https:",
  'img-src data: https: http:',
  'font-src data: https:',
  'media-src https:',
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Relative to the page, wherever the mail's own links lead: `/view/{token}` beside `/c/{token}`. */
const BASE = '..';

const htmlOf = async (
  { htmlTracker, trackingKeys, publicUrl }: Pick<HttpDependencies, 'htmlTracker' | 'trackingKeys' | 'publicUrl'>,
  { message: { state }, recipientId }: LinkedRecipient,
  body: MessageBody & { readonly html: string },
): Promise<string> => {
  const { messageId, tracking = NO_TRACKING } = state.accepted;
  const untracked = { publicUrl, unsubscribe: body.unsubscribe };
  const copy = { messageId, recipientId, organizationId: state.organizationId };
  const links = trackedHtml(trackingKeys, {
    copy,
    tracking: { ...tracking, opens: false },
    baseUrl: BASE,
    ...untracked,
  });
  return (await htmlTracker.htmlOf({ organizationId: state.organizationId, body, tracking: links })) ?? body.html;
};

export const viewMailRoute = publicRoute(
  'GET /view/:token',
  {
    summary: 'View a mail in the browser',
    description:
      'Shows a mail as its recipient got it. `{{ view_url }}` in a mail leads here. Viewing is not counted as an opening, ' +
      'but clicks on its links are counted. 410: the content is no longer stored, or the sender is suspended.',
  },
  async ({ token }, reply, { deps, auth: { keyCache } }) => {
    const recipient = await findLinkedRecipient(deps.context, 'view', token);
    if (keyCache.isSuspended(recipient.message.state.organizationId)) throw linkSuspended();
    const body = await requireContent(deps.context.contents, recipient.message.state);
    const { html, text = '', subject, attachments } = body;
    const page =
      html === undefined
        ? pageOfText(subject, text)
        : withImages(await htmlOf(deps, recipient, { ...body, html }), attachments);
    return () =>
      secretHeaders(reply)
        .header('content-security-policy', POLICY)
        .send(withViewUrl(page, viewUrl(deps.publicUrl, token)));
  },
);
