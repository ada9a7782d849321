import type { Ask } from '../harness/asking.ts';
import type { Evidence } from '../harness/evidence.ts';
import type { Scenario } from '../harness/scenario.ts';
import type { Violation } from '../harness/violation.ts';
import { diesOf, oneOf, type RequestScenario } from './administration.ts';

/** Template and topic requests: an interrupted request is recorded once, either the first time or when it is repeated. */

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

/** If the first request was recorded, the repeat finds the alias in use. */
const creation: RequestScenario = {
  name: 'the making of a template',
  prepare: async (_world, ask) => {
    await makeTopic(ask); // the appends of the first start are complete after this
    return { path: '/v1/templates', body: { ...CONTENT, alias: 'sale' }, isWanted: oneOf(201, 409) };
  },
  more: once('TemplateCreated'),
};

const draft: RequestScenario = {
  name: 'a change of a draft',
  prepare: async (_world, ask) => {
    await createTemplate(ask);
    return { path: TEMPLATE, body: { subject: 'Hi {{ name }}' }, method: 'PATCH', isWanted: oneOf(200) };
  },
  more: once('TemplateCreated', 'TemplateDraftChanged'),
};

/** If the first request was recorded, the repeat finds no draft. */
const publication: RequestScenario = {
  name: 'the publication of a template',
  prepare: async (_world, ask) => {
    await createTemplate(ask);
    return { path: `${TEMPLATE}/publish`, body: {}, isWanted: oneOf(200, 409) };
  },
  more: once('TemplatePublished'),
};

const rollback: RequestScenario = {
  name: 'a rollback of a template',
  prepare: async (_world, ask) => {
    await publishTemplate(ask);
    await ask(TEMPLATE, { subject: 'Bad {{ name }}' }, 'PATCH');
    await ask(`${TEMPLATE}/publish`, {});
    return { path: `${TEMPLATE}/rollback`, body: { version: 1 }, isWanted: oneOf(200) };
  },
  more: once('TemplateRolledBack'),
};

const deletion: RequestScenario = {
  name: 'the deletion of a template',
  prepare: async (_world, ask) => {
    await publishTemplate(ask);
    return { path: TEMPLATE, body: {}, method: 'DELETE', isWanted: oneOf(204, 404) };
  },
  more: once('TemplateDeleted'),
};

/** Names need not be unique, so a repeat creates a second topic if the first was recorded. */
const topic: RequestScenario = {
  name: 'the making of a topic',
  prepare: async (_world, ask) => {
    await createTemplate(ask);
    return { path: '/v1/topics', body: { name: 'Offers', default: 'out' }, isWanted: oneOf(201) };
  },
};

const renaming: RequestScenario = {
  name: 'a change of a topic',
  prepare: async (_world, ask) => ({
    path: await makeTopic(ask),
    body: { name: 'Weekly offers' },
    method: 'PATCH',
    isWanted: oneOf(200),
  }),
  more: once('TopicCreated', 'TopicChanged'),
};

const ending: RequestScenario = {
  name: 'the deletion of a topic',
  prepare: async (_world, ask) => ({
    path: await makeTopic(ask),
    body: {},
    method: 'DELETE',
    isWanted: oneOf(204, 404),
  }),
  more: once('TopicDeleted'),
};

const optIn: RequestScenario = {
  name: 'an opt-in to a topic',
  prepare: async (_world, ask) => ({
    path: `${await makeTopic(ask)}/opt-ins`,
    body: { addresses: ['ann@example.net'] },
    isWanted: oneOf(200),
  }),
  more: once('AddressResubscribed'),
};

const REQUEST_SCENARIOS: readonly RequestScenario[] = [
  creation,
  draft,
  publication,
  rollback,
  deletion,
  topic,
  renaming,
  ending,
  optIn,
];

export const TEMPLATE_CRASHES: readonly Scenario[] = REQUEST_SCENARIOS.flatMap((scenario) =>
  (['before-append-other', 'after-append-other'] as const).map((point) => diesOf(scenario, point)),
);
