import { describe, expect, test } from 'vitest';
import { startDatabaseService } from '../support/database-service.ts';
import { formOf, useTenant } from './tenant.ts';

/** Hostile forms to every Mailgun call that accepts one, besides `messages`. */

const { now, ask } = useTenant(() => startDatabaseService());

type Entry = readonly [name: string, value: string | File];
type Kind = 'multipart' | 'urlencoded';
const KINDS: readonly Kind[] = ['multipart', 'urlencoded'];

const formWith = (kind: Kind, entries: readonly Entry[]): FormData | URLSearchParams => {
  const form = kind === 'multipart' ? new FormData() : new URLSearchParams();
  for (const [name, value] of entries) (form as FormData).append(name, value as string);
  return form;
};

const send = async (method: 'POST' | 'PUT' | 'DELETE', path: string, form: FormData | URLSearchParams) =>
  ask('mailgun', method, path, await formOf(form));

const suppressed = async (): Promise<number> =>
  (await now.service.request({ url: '/v1/suppressions', key: now.key })).json().data.length;

const LISTS = ['bounces', 'complaints', 'unsubscribes'];
const FILE = new File(['ann@example.net'], 'a.txt');
const CONTROLS = ['a\r\nb', 'a\nb', 'a\0b', 'a\u007Fb'];

/** Fields, and what the error must begin with. */
const REFUSED: readonly (readonly [entries: readonly Entry[], problem: string])[] = [
  [[], 'address is required, as text'],
  [[['address', '']], 'address is not an email address'],
  [[['address', 'nobody']], 'address is not an email address'],
  [[['address', 'a@b.test, c@d.test']], 'address is not an email address'],
  [
    [
      ['address', 'a@b.test'],
      ['address', 'c@d.test'],
    ],
    'address is required, as text',
  ],
  ...CONTROLS.map((control) => [[['address', `${control}@b.test`]], 'address is not an email address'] as const),
  ...[...CONTROLS.map((control) => ['code', control] as const), ['error', 'a\0b'] as const].map(
    (entry) => [[['address', 'a@b.test'], entry], `${entry[0]} must `] as const,
  ),
  ...['code', 'error'].flatMap((name) => [
    [
      [
        ['address', 'a@b.test'],
        [name, '550'],
        [name, '551'],
      ],
      `${name} must `,
    ] as const,
    [
      [
        ['address', 'a@b.test'],
        [name, 'x'.repeat(1_001)],
      ],
      `${name} must `,
    ] as const,
  ]),
  [
    [
      ['address', 'a@b.test'],
      ['tag', 'news'],
    ],
    'tag is not supported',
  ],
  ...['reason', 'constructor', '__proto__', 'toString', 'address[]x', 'address\r\nx'].map(
    (name) =>
      [
        [
          ['address', 'a@b.test'],
          [name, 'x'],
        ],
        '',
      ] as const,
  ),
];

describe.each(LISTS)('POST /v3/{domain}/%s', (list) => {
  const path = `/v3/a.test/${list}`;

  test.each(KINDS)('accepts a form, %s', async (kind) => {
    const address = `${kind}@${list}.test`;
    const form = formWith(kind, [
      ['address', address],
      ['code', '550'],
      ['error', 'no "such", user'],
      ['tag', '*'],
      ['created_at', 'Fri, 14 Oct 2026 12:00:00 +0000'],
    ]);
    const { status, body } = await send('POST', path, form);
    expect([status, body.address]).toEqual([200, address]);
    const [found] = (await now.service.request({ url: `/v1/suppressions?address=${address}`, key: now.key })).json()
      .data;
    expect(found.entries).toMatchObject([{ status: 'active', evidence: '550 no "such", user' }]);
  });

  test.each(KINDS)('refuses hostile fields of a form by their names, %s', async (kind) => {
    const before = await suppressed();
    for (const [entries, problem] of REFUSED) {
      const { status, body } = await send('POST', path, formWith(kind, entries));
      expect([entries, status, String(body.message).startsWith(problem)]).toEqual([entries, 400, true]);
      expect(body.message).not.toBe('');
    }
    expect(await suppressed()).toBe(before);
  });

  test('refuses files, too many fields and large bodies', async () => {
    const before = await suppressed();
    for (const name of ['address', 'code', 'error', 'tag']) {
      const rest: readonly Entry[] = name === 'address' ? [] : [['address', 'a@b.test']];
      const { status, body } = await send('POST', path, formWith('multipart', [...rest, [name, FILE]]));
      expect([status, body.message]).toEqual([400, expect.stringMatching(new RegExp(`^${name} (?:is|must)`))]);
    }
    for (const kind of KINDS) {
      const large = formWith(kind, [
        ['address', 'a@b.test'],
        ['error', 'x'.repeat(10_000_000)],
      ]);
      expect((await send('POST', path, large)).status).toBe(413);
      const many = formWith(
        kind,
        Array.from({ length: 2_000 }, (_, index): Entry => [`x${index}`, 'x']),
      );
      expect((await send('POST', path, many)).body.message).toContain('at most 1000 fields');
    }
    expect(await suppressed()).toBe(before);
  });

  test('refuses values of the wrong type in JSON, as in a form', async () => {
    const before = await suppressed();
    for (const [name, wrong] of ['code', 'error', 'address'].flatMap((one) =>
      [{}, [], [[]], true, { toString: 'x' }].map((value) => [one, value] as const),
    )) {
      const payload = [{ address: 'a@b.test', [name]: wrong }];
      const { status, body } = await ask('mailgun', 'POST', path, { payload });
      expect([name, wrong, status, body.message]).toEqual([
        name,
        wrong,
        400,
        expect.stringMatching(new RegExp(`^\\[0\\]\\.${name} `)),
      ]);
    }
    expect(await suppressed()).toBe(before);
  });
});

/** Calls whose client always sends a form, although it is empty. */
const EMPTY = [
  ['DELETE', '/v3/a.test/bounces/kept@b.test', 404],
  ['PUT', '/v4/domains/a.test/verify', 200],
  ['PUT', '/v3/domains/a.test/verify', 200],
] as const;

describe.each(EMPTY)('%s %s', (method, path, status) => {
  test.each(KINDS)('accepts an empty form, and no field, file or large body, %s', async (kind) => {
    expect((await send(method, path, formWith(kind, []))).status).toBe(status);
    for (const name of ['address', '__proto__', 'constructor', 'a\r\nb', ''])
      expect([name, (await send(method, path, formWith(kind, [[name, 'x']]))).status]).toEqual([name, 400]);
    const large = await send(method, path, formWith(kind, [['x', 'x'.repeat(10_000_000)]]));
    expect(large.status).toBe(413);
  });

  test('accepts no file', async () => {
    expect((await send(method, path, formWith('multipart', [['x', FILE]]))).status).toBe(400);
  });
});
