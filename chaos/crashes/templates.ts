import type { Ask } from '../harness/asking.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import { type Deed, diesOf, oneOf } from './administration.ts';

/** Templates and topics: what a process dies of is in the log once, or comes with the repeat. */

const CONTENT = {
  name: 'Sale',
  subject: 'Sale, {{ name }}',
  html: '<p>Hello {{ name }}</p>',
  variables: [{ name: 'name', type: 'string', example: 'Ann' }],
};
const TEMPLATE = '/v1/templates/sale';

const once =
  (...types: readonly string[]) =>
  ({ events }: Evidence): readonly Violation[] =>
    types.flatMap((wanted) => {
      const found = events.filter(({ type }) => type === wanted).length;
      return found === 1 ? [] : [{ promise: 'scenario', what: `${wanted} is ${found} times in the log` }];
    });

const createTemplate = (ask: Ask) => ask('/v1/templates', { ...CONTENT, alias: 'sale' });

const makeTopic = async (ask: Ask): Promise<string> => {
  const answer = await ask('/v1/topics', { name: 'Offers', default: 'out' });
  return `/v1/topics/${JSON.parse(answer?.text ?? '').id}`;
};

const publishTemplate = async (ask: Ask): Promise<void> => {
  await createTemplate(ask);
  await ask(`${TEMPLATE}/publish`, {});
};

/** Its alias is taken where the first request was recorded. */
const creation: Deed = {
  name: 'the making of a template',
  prepare: async (_world, ask) => {
    await makeTopic(ask); // what the first start appends is in the log by then
    return { path: '/v1/templates', body: { ...CONTENT, alias: 'sale' }, isWanted: oneOf(201, 409) };
  },
  more: once('TemplateCreated'),
};

const draft: Deed = {
  name: 'a change of a draft',
  prepare: async (_world, ask) => {
    await createTemplate(ask);
    return { path: TEMPLATE, body: { subject: 'Hi {{ name }}' }, method: 'PATCH', isWanted: oneOf(200) };
  },
  more: once('TemplateCreated', 'TemplateDraftChanged'),
};

/** There is no draft any more where the first request was recorded. */
const publication: Deed = {
  name: 'the publication of a template',
  prepare: async (_world, ask) => {
    await createTemplate(ask);
    return { path: `${TEMPLATE}/publish`, body: {}, isWanted: oneOf(200, 409) };
  },
  more: once('TemplatePublished'),
};

const rollback: Deed = {
  name: 'a rollback of a template',
  prepare: async (_world, ask) => {
    await publishTemplate(ask);
    await ask(TEMPLATE, { subject: 'Bad {{ name }}' }, 'PATCH');
    await ask(`${TEMPLATE}/publish`, {});
    return { path: `${TEMPLATE}/rollback`, body: { version: 1 }, isWanted: oneOf(200) };
  },
  more: once('TemplateRolledBack'),
};

const deletion: Deed = {
  name: 'the deletion of a template',
  prepare: async (_world, ask) => {
    await publishTemplate(ask);
    return { path: TEMPLATE, body: {}, method: 'DELETE', isWanted: oneOf(204, 404) };
  },
  more: once('TemplateDeleted'),
};

/** Two of a name are allowed: the repeat makes another where the first was recorded. */
const topic: Deed = {
  name: 'the making of a topic',
  prepare: async (_world, ask) => {
    await createTemplate(ask);
    return { path: '/v1/topics', body: { name: 'Offers', default: 'out' }, isWanted: oneOf(201) };
  },
};

const renaming: Deed = {
  name: 'a change of a topic',
  prepare: async (_world, ask) => ({
    path: await makeTopic(ask),
    body: { name: 'Weekly offers' },
    method: 'PATCH',
    isWanted: oneOf(200),
  }),
  more: once('TopicCreated', 'TopicChanged'),
};

const ending: Deed = {
  name: 'the deletion of a topic',
  prepare: async (_world, ask) => ({
    path: await makeTopic(ask),
    body: {},
    method: 'DELETE',
    isWanted: oneOf(204, 404),
  }),
  more: once('TopicDeleted'),
};

const optIn: Deed = {
  name: 'an opt-in to a topic',
  prepare: async (_world, ask) => ({
    path: `${await makeTopic(ask)}/opt-ins`,
    body: { addresses: ['ann@example.net'] },
    isWanted: oneOf(200),
  }),
  more: once('AddressResubscribed'),
};

const DEEDS: readonly Deed[] = [creation, draft, publication, rollback, deletion, topic, renaming, ending, optIn];

export const TEMPLATE_CRASHES: readonly Scenario[] = DEEDS.flatMap((deed) =>
  (['before-append-other', 'after-append-other'] as const).map((point) => diesOf(deed, point)),
);
