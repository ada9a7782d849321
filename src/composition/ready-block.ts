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

/** What is printed when the service is ready: enough to take the first step by pasting one line. */
export const readyBlock = (facts: ReadyFacts): string => {
  const { baseUrl, firstKeys, capturing, places } = facts;
  const authorization = `-H "Authorization: Bearer ${firstKeys?.live ?? KEY_IN_ENVIRONMENT}"`;
  return [
    '',
    `Outbox is ready at ${baseUrl}`,
    ...places,
    '',
    ...keyLines(facts),
    ...(capturing
      ? [
          'Send a first message:',
          `curl -sS ${baseUrl}/v1/messages/send ${authorization} -H 'Content-Type: application/json' -d '${FIRST_MESSAGE}'`,
          '',
          'Mail is captured and does not leave this machine. See what arrived:',
          `curl -sS ${baseUrl}/v1/inbox ${authorization}`,
        ]
      : [
          'Register the domain to send from, publish the records in the answer, and make a key for it (README, A first domain):',
          `curl -sS ${baseUrl}/v1/domains ${authorization} -H 'Content-Type: application/json' -d '${FIRST_DOMAIN}'`,
        ]),
    '',
    `API reference: ${baseUrl}/docs`,
    '',
  ].join('\n');
};
