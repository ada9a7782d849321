import type { FirstKeys } from './first-start.ts';

export interface ReadyFacts {
  readonly baseUrl: string;
  /** Secrets made at this start; null at every later one. */
  readonly firstKeys: FirstKeys | null;
  readonly capturing: boolean;
  /** Where data, log and queue are, one sentence each. */
  readonly places: readonly string[];
}

const KEY_IN_ENVIRONMENT = '$OUTBOX_KEY';

const keyLines = ({ firstKeys }: ReadyFacts): readonly string[] => {
  if (firstKeys === null) return [];
  const { live, test } = firstKeys;
  return [
    ...(live === null ? [] : ['Live admin key, bound to example.test, shown only now:', live, '']),
    ...(test === null ? [] : ['Test admin key, bound to example.test, shown only now:', test, '']),
  ];
};

const FIRST_MESSAGE = JSON.stringify({
  from: 'hello@example.test',
  to: 'you@example.net',
  subject: 'First message',
  html: '<p>It works.</p>',
});

const FIRST_DOMAIN = JSON.stringify({ name: 'mail.example.com' });

const authorizationOf = ({ firstKeys }: ReadyFacts): string =>
  `-H "Authorization: Bearer ${firstKeys?.live ?? KEY_IN_ENVIRONMENT}"`;

const firstMessage = (facts: ReadyFacts): string =>
  `curl -sS ${facts.baseUrl}/v1/messages/send ${authorizationOf(facts)} -H 'Content-Type: application/json' -d '${FIRST_MESSAGE}'`;

const firstDomain = (facts: ReadyFacts): string =>
  `curl -sS ${facts.baseUrl}/v1/domains ${authorizationOf(facts)} -H 'Content-Type: application/json' -d '${FIRST_DOMAIN}'`;

/** What is printed on a terminal when the service is ready: enough to take the first step by pasting one line. */
export const readyBlock = (facts: ReadyFacts): string =>
  [
    '',
    `Outbox is ready at ${facts.baseUrl}`,
    ...facts.places,
    '',
    ...keyLines(facts),
    ...(facts.capturing
      ? [
          'Send a first message:',
          firstMessage(facts),
          '',
          'Mail is captured and does not leave this machine. See what arrived:',
          `curl -sS ${facts.baseUrl}/v1/inbox ${authorizationOf(facts)}`,
        ]
      : [
          'Register the domain to send from, publish the records in the answer, and make a key for it (README, Your own domain):',
          firstDomain(facts),
        ]),
    '',
    `API reference: ${facts.baseUrl}/docs`,
    '',
  ].join('\n');

/** The same as fields, for a service whose log is JSON: a line of it says that the service is ready. */
export const readyFields = (facts: ReadyFacts): Readonly<Record<string, unknown>> => ({
  baseUrl: facts.baseUrl,
  places: facts.places,
  ...(facts.firstKeys?.live == null ? {} : { liveKey: facts.firstKeys.live }),
  ...(facts.firstKeys?.test == null ? {} : { testKey: facts.firstKeys.test }),
  firstStep: facts.capturing ? firstMessage(facts) : firstDomain(facts),
  ...(facts.capturing ? { inbox: `${facts.baseUrl}/v1/inbox` } : {}),
  reference: `${facts.baseUrl}/docs`,
});
