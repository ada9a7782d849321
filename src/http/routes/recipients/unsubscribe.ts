import { z } from 'zod';
import { type Preferences, readPreferences, resubscribe } from '../../../commands/message/preferences.ts';
import { type LinkedRecipient, recordUnsubscription } from '../../../commands/message/unsubscribe-recipient.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import { withTimeout } from '../../../lib/async/async.ts';
import { page } from '../../pages/define-page.ts';
import { fill } from '../../pages/languages.ts';
import type { Button, Page } from '../../pages/page.ts';
import { type Context, type LinkPage, openLink, requestOf, topicsOf } from './link.ts';

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
    summary: 'Ask whether to unsubscribe',
    description:
      'The page behind the link in the `List-Unsubscribe` header of mail that was sent with `unsubscribe: "managed"`. ' +
      'It asks and changes nothing.',
  },
  async (call, { deps }) => {
    const shown = await openLink(deps, call);
    const now = await readPreferences(deps.context, shown.recipient);
    return withChoice(deps, shown, now.hasLeft || now.hasLeftTopic ? unsubscribedPage(shown, now) : askingPage(shown));
  },
);

const posted = z.union([
  z.strictObject({ [ONE_CLICK.name]: z.literal(ONE_CLICK.value) }),
  z.strictObject({ [CONFIRMATION]: z.enum(ACTIONS) }),
]);

type Action = 'one_click' | (typeof ACTIONS)[number];

/** @throws {DomainError} `invalid_request`. */
const actionOf = (form: FormData): Action => {
  if (form.get(ONE_CLICK.name) === ONE_CLICK.value) return 'one_click';
  const action = ACTIONS.find((one) => one === form.get(CONFIRMATION));
  if (action !== undefined) return action;
  throw new DomainError('invalid_request', `the form must hold ${ONE_CLICK.name}=${ONE_CLICK.value}`);
};

/** The topic that is left; null: all mail like the message. */
const leftBy = (action: Action, { message: { state } }: LinkedRecipient): string | null =>
  action === 'all' ? null : (state.accepted.topic?.id ?? null);

export const unsubscribeRecipientRoute = page(
  'POST /unsubscribe/:token',
  {
    summary: 'Unsubscribe, or subscribe again',
    description:
      'Posted by mail programs for their user (RFC 8058), and by the page behind the link. ' +
      'The sender gets the event `message.unsubscribed`, ' +
      'and the address is suppressed: for the topic of the message if it has one, else for bulk mail if the message ' +
      'was bulk mail, else for all mail. `all` suppresses all mail of the same kind regardless of topic, `again` undoes it. ' +
      'Repeating the request has no further effect.',
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
