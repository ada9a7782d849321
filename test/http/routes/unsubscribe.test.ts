import { describe, expect, test } from 'vitest';
import { createUnsubscribing, expectPage, FORM } from '../support/unsubscribing.ts';

const { send, tokensOf, aToken, ask, post, request, unsubscribedOf, historyOf, takeOff } = createUnsubscribing();

const DONE = 'You have unsubscribed';

describe('opening an unsubscribe link', () => {
  test('asks, says who wrote, and changes nothing', async () => {
    const sent = await send();
    const [token = ''] = tokensOf(sent);
    const answer = await ask(token);
    expectPage(answer, 200, 'Unsubscribe?');
    expect(answer.body).toContain('example.test sent you');
    expect(answer.body).toContain(
      '<form method="post"><button name="confirmed" value="yes">Unsubscribe</button></form>',
    );
    expect(answer.body).not.toMatch(/b@example\.org|rcp_|msg_/);
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
  });

  test('by HEAD, with a body or with a query changes nothing either', async () => {
    const sent = await send();
    const [token = ''] = tokensOf(sent);
    const head = await ask(token, { method: 'HEAD' });
    expect([head.statusCode, head.body]).toEqual([200, '']);
    expect((await ask(token, { query: { 'List-Unsubscribe': 'One-Click' } })).statusCode).toBe(200);
    await ask(token, { payload: 'List-Unsubscribe=One-Click', headers: { 'content-type': FORM } });
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
  });

  test('says that it was done, once it was', async () => {
    const token = await aToken();
    await post(token);
    const answer = await ask(token);
    expectPage(answer, 200, DONE);
    expect(answer.body).not.toContain('<form');
  });
});

describe('unsubscribing', () => {
  const boundary = 'x1y2';
  const multipart = `--${boundary}\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--${boundary}--\r\n`;

  test.each([
    ['one_click', 'List-Unsubscribe=One-Click', FORM],
    ['one_click', 'List-Unsubscribe=One-Click', `${FORM}; charset=UTF-8`],
    ['one_click', multipart, `multipart/form-data; boundary=${boundary}`],
    ['page', 'confirmed=yes', FORM],
  ] as const)('by %s (%j, %s) is recorded for that recipient alone', async (method, payload, type) => {
    const sent = await send();
    expectPage(await post(tokensOf(sent)[1] ?? '', payload, type), 200, DONE);
    expect(await unsubscribedOf(sent)).toEqual([false, true]);
    const last = (await historyOf(sent.id)).at(-1);
    expect(last).toMatchObject({
      type: 'RecipientUnsubscribed',
      data: { recipientId: sent.recipients[1]?.id, method },
      metadata: {
        actor: `recipient:${sent.recipients[1]?.id}`,
        environment: 'live',
        requestId: expect.stringMatching(/^req_/),
      },
    });
  });

  test('again writes nothing, whichever way, and twenty at once write once', async () => {
    const sent = await send();
    const [token = ''] = tokensOf(sent);
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(token)));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200));
    const { length } = await historyOf(sent.id);
    expectPage(await post(token, 'confirmed=yes'), 200, DONE);
    const history = await historyOf(sent.id);
    expect(history).toHaveLength(length);
    expect(history.filter(({ type }) => type === 'RecipientUnsubscribed')).toHaveLength(1);
  });

  test('again after the address was taken off the list is asked for, and recorded once more', async () => {
    const sent = await send();
    const [token = ''] = tokensOf(sent);
    await post(token);
    await takeOff('b@example.org');
    expectPage(await ask(token), 200, 'Unsubscribe?');
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(token)));
    for (const answer of answers) expectPage(answer, 200, DONE);
    expectPage(await ask(token), 200, DONE);
    const history = await historyOf(sent.id);
    expect(history.filter(({ type }) => type === 'RecipientUnsubscribed')).toHaveLength(2);
    expect(await unsubscribedOf(sent)).toEqual([true, false]);
  });

  test.each([
    ['nothing', ''],
    ['another value', 'List-Unsubscribe=one-click-please'],
    ['another field', 'x=One-Click'],
    ['NUL', 'List-Unsubscribe=One-Click%00'],
    ['JSON that says it is a form', '{"List-Unsubscribe":"One-Click"}'],
  ])('with a form that holds %s is refused and changes nothing', async (_what, payload) => {
    const sent = await send();
    expectPage(await post(tokensOf(sent)[0] ?? '', payload), 400, 'This did not work');
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
  });

  test('with a broken multipart form, or without its boundary, is refused', async () => {
    const token = await aToken();
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=other']) {
      expectPage(await post(token, multipart, type), 400, 'This did not work');
    }
    expectPage(
      await post(token, multipart.slice(0, 60), `multipart/form-data; boundary=${boundary}`),
      400,
      'This did not work',
    );
  });

  test('without a body is refused', async () => {
    expectPage(await ask(await aToken(), { method: 'POST' }), 400, 'This did not work');
  });

  test.each(['application/json', 'text/plain', 'application/xml', 'nonsense'])('in %s is refused', async (type) => {
    expectPage(await post(await aToken(), '{"List-Unsubscribe":"One-Click"}', type), 415, 'This did not work');
  });

  test.each([5_000, 10_000_000])('with %i bytes is refused', async (length) => {
    const sent = await send();
    const payload = `List-Unsubscribe=One-Click&x=${'x'.repeat(length)}`;
    expectPage(await post(tokensOf(sent)[0] ?? '', payload), 413, 'This did not work');
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
  });
});

test('the OpenAPI document describes the pages and their forms, which need no key', async () => {
  const document = (await request({ url: '/openapi.json' })).json();
  const { get, post: posting } = document.paths['/unsubscribe/{token}'];
  for (const operation of [get, posting]) {
    expect(operation).toMatchObject({ tags: ['unsubscribe'], security: [] });
    expect(operation.parameters).toMatchObject([
      { name: 'token', in: 'path', schema: { pattern: '^[A-Za-z0-9_-]{64}$' } },
    ]);
    for (const [status, { content }] of Object.entries<{ content: object }>(operation.responses)) {
      expect([status, Object.keys(content)]).toEqual([status, ['text/html']]);
    }
  }
  expect(Object.keys(get.responses)).toEqual(['200', '404', '429', '500', '503']);
  expect(Object.keys(posting.requestBody.content)).toEqual([FORM, 'multipart/form-data']);
});
