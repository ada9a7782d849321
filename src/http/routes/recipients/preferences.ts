import { z } from 'zod';
import type { CommandContext } from '../../../commands/context.ts';
import { type Preferences, readPreferences, savePreferences } from '../../../commands/message/preferences.ts';
import { findLinkedRecipient, recordUnsubscription } from '../../../commands/message/unsubscribe-recipient.ts';
import { DomainError } from '../../../domain/kernel/errors.ts';
import type { ExistingTopic } from '../../../domain/topic/topic.ts';
import { type PageCall, page } from '../../pages/define-page.ts';
import { fill } from '../../pages/languages.ts';
import { CHOSEN_FIELD, type Page, SHOWN_FIELD } from '../../pages/page.ts';
import { TOPICS_MAX } from '../topics.ts';
import { type LinkPage, openLink, requestOf, topicsOf } from './link.ts';

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
    summary: 'Show what a recipient gets and can choose',
    description: 'The token is that of the unsubscribe link. It changes nothing.',
  },
  async (call, { deps }) => {
    const shown = await openLink(deps, call);
    const topics = await topicsOf(deps, shown.recipient);
    return preferencesPage(shown, topics, await readPreferences(deps.context, shown.recipient, topics));
  },
);

const choice = z.strictObject({
  [SAVING]: z.enum(['save', 'leave']).describe('`leave` unsubscribes from all mail like it.'),
  [SHOWN_FIELD]: z.array(z.string()).max(TOPICS_MAX).optional().describe('Ids of the topics that were shown.'),
  [CHOSEN_FIELD]: z.array(z.string()).max(TOPICS_MAX).optional().describe('Ids of those that were ticked.'),
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
  if (action !== 'save') throw new DomainError('invalid_request', 'the form must hold action=save');
  const [seen, wanted] = [textsOf(form, SHOWN_FIELD), textsOf(form, CHOSEN_FIELD)];
  // Topics that the form did not show stay unchanged. Ids that are not topics of the sender are ignored.
  const offered = topics.filter(({ topicId }) => seen.has(topicId));
  const ticked = new Set(offered.flatMap(({ topicId }) => (wanted.has(topicId) ? [topicId] : [])));
  await savePreferences(context, recipient, request, { topics: offered, wanted: ticked });
};

export const savePreferencesRoute = page(
  'POST /preferences/:token',
  {
    summary: 'Save what a recipient wants',
    description:
      'Of the topics that were `shown`, those that are in `topic` are subscribed to and the others are not. `leave` ' +
      'unsubscribes from all mail like that of the link.',
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
