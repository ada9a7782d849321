import { describe, expect, test } from 'vitest';
import { createUnsubscribing, expectPage, FORM } from '../../support/unsubscribing.ts';

const { send, tokensOf, aToken, ask, post, request, unsubscribedOf, historyOf, listOf, takeOff, putOn, brand } =
  createUnsubscribing();

const DONE = 'You have unsubscribed';

describe('opening an unsubscribe link', () => {
  test('asks for confirmation, says who wrote, and changes nothing', async () => {
    const sent = await send();
    const [token = ''] = tokensOf(sent);
    const answer = await ask(token);
    expectPage(answer, 200, 'Unsubscribe?');
    expect(answer.body).toContain('example.test sent you');
    expect(answer.body).toContain(
      '<form method="post"><button class="main" name="confirmed" value="yes">Unsubscribe</button></form>',
    );
    expect(answer.body).not.toMatch(/b@example\.org|rcp_|msg_/);
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
  });

  test('changes nothing by HEAD, with a body or with a query either', async () => {
    const sent = await send();
    const [token = ''] = tokensOf(sent);
    const head = await ask(token, { method: 'HEAD' });
    expect([head.statusCode, head.body]).toEqual([200, '']);
    expect((await ask(token, { query: { 'List-Unsubscribe': 'One-Click' } })).statusCode).toBe(200);
    await ask(token, { payload: 'List-Unsubscribe=One-Click', headers: { 'content-type': FORM } });
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
  });

  test('says that it is already done, and offers to take it back', async () => {
    const token = await aToken();
    await post(token);
    const answer = await ask(token);
    expectPage(answer, 200, DONE);
    expect(answer.body.match(/<button [^>]*>/g)).toEqual(['<button class="main" name="confirmed" value="again">']);
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

  test('again after the address was removed from the list asks again, and is recorded once more', async () => {
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
  ])('with a form that contains %s is refused and changes nothing', async (_what, payload) => {
    const sent = await send();
    expectPage(await post(tokensOf(sent)[0] ?? '', payload), 400, 'That did not work');
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
  });

  test('with a broken multipart form, or without its boundary, is refused', async () => {
    const token = await aToken();
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=other']) {
      expectPage(await post(token, multipart, type), 400, 'That did not work');
    }
    expectPage(
      await post(token, multipart.slice(0, 60), `multipart/form-data; boundary=${boundary}`),
      400,
      'That did not work',
    );
  });

  test('without a body is refused', async () => {
    expectPage(await ask(await aToken(), { method: 'POST' }), 400, 'That did not work');
  });

  test.each(['application/json', 'text/plain', 'application/xml', 'nonsense'])('in %s is refused', async (type) => {
    expectPage(await post(await aToken(), '{"List-Unsubscribe":"One-Click"}', type), 415, 'That did not work');
  });

  test.each([5_000, 10_000_000])('with %i bytes is refused', async (length) => {
    const sent = await send();
    const payload = `List-Unsubscribe=One-Click&x=${'x'.repeat(length)}`;
    expectPage(await post(tokensOf(sent)[0] ?? '', payload), 413, 'That did not work');
    expect(await unsubscribedOf(sent)).toEqual([false, false]);
  });
});

test('the OpenAPI document describes the pages and their forms, which need no key', async () => {
  const document = (await request({ url: '/openapi.json' })).json();
  const { get, post: posting } = document.paths['/unsubscribe/{token}'];
  for (const operation of [get, posting]) {
    expect(operation).toMatchObject({ tags: ['recipients'], security: [] });
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

describe('subscribing again', () => {
  const AGAIN = 'You are subscribed again';

  test('takes the unsubscription back, also before it is on the list, once however often it is posted', async () => {
    const sent = await send();
    const [token = ''] = tokensOf(sent);
    await post(token);
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(token, 'confirmed=again')));
    for (const answer of answers) expectPage(answer, 200, AGAIN);
    expectPage(await ask(token), 200, 'Unsubscribe?');
    const list = await listOf('b@example.org');
    const again = list.filter(({ type }) => type === 'AddressResubscribed');
    expect(again.slice(-1)).toMatchObject([
      {
        data: { topicId: null, source: { messageId: sent.id, recipientId: sent.recipients[0]?.id, eventId: null } },
        metadata: { actor: `recipient:${sent.recipients[0]?.id}`, environment: 'live' },
      },
    ]);
    const { length } = again;
    await post(token, 'confirmed=again');
    expect((await listOf('b@example.org')).filter(({ type }) => type === 'AddressResubscribed')).toHaveLength(length);
  });

  test('and unsubscribing again is recorded again', async () => {
    const sent = await send();
    const [, token = ''] = tokensOf(sent);
    await post(token);
    await post(token, 'confirmed=again');
    await new Promise((done) => setTimeout(done, 2)); // a later millisecond
    await post(token);
    expectPage(await ask(token), 200, DONE);
    const history = await historyOf(sent.id);
    expect(history.filter(({ type }) => type === 'RecipientUnsubscribed')).toHaveLength(2);
  });

  test('without having unsubscribed writes nothing', async () => {
    const before = await listOf('c@example.org');
    const [, token = ''] = tokensOf(await send());
    expectPage(await post(token, 'confirmed=again'), 200, AGAIN);
    expect(await listOf('c@example.org')).toEqual(before);
  });

  test('ends no bounce and no entry that the sender added, and says so', async () => {
    const [token = ''] = tokensOf(await send());
    await putOn('b@example.org');
    await post(token);
    const answer = await post(token, 'confirmed=again');
    expectPage(answer, 200, AGAIN);
    expect(answer.body).toContain('for another reason');
  });

  test('by a forged link is 404', async () => {
    const [token = ''] = tokensOf(await send(), 'other');
    expectPage(await post(token, 'confirmed=again'), 404, 'This link is not valid');
  });
});

describe('the language of a page', () => {
  test.each([
    ['de-AT,de;q=0.9,en;q=0.8', 'de', 'Abmelden?'],
    ['fr', 'fr', 'Souhaitez-vous vous désabonner ?'],
    ['pt-BR, es;q=0.5', 'es', '¿Desea darse de baja?'],
    ['en;q=0.1, ja', 'ja', '配信を停止しますか？'],
    ['de;q=0, fr;q=0.2', 'fr', 'Souhaitez-vous vous désabonner ?'],
    ['xx, *', 'en', 'Unsubscribe?'],
    ['', 'en', 'Unsubscribe?'],
    [`${'x'.repeat(5_000)},de`, 'en', 'Unsubscribe?'],
    ['de;q=9<script>', 'en', 'Unsubscribe?'],
  ])('requested by %j is %s', async (wanted, tag, title) => {
    const answer = await ask(await aToken(), { headers: { 'accept-language': wanted } });
    expectPage(answer, 200, title);
    expect(answer.body).toContain(`<html lang="${tag}">`);
    expect(answer.headers).toMatchObject({ 'content-language': tag, vary: 'accept-language' });
  });

  test('is also that of an error', async () => {
    expectPage(await ask('x', { headers: { 'accept-language': 'de' } }), 404, 'Dieser Link ist ungültig');
  });
});

test('the sender is shown by name, colour and picture, whatever its name contains', async () => {
  const hostile = `<img src=x onerror=alert(1)> & "Söhne" {topic} '`;
  await brand({ name: hostile, color: '#ffff00', logo_url: 'https://pictures.example.test/logo.png?a=1&b=2' });
  const answer = await ask(await aToken());
  await brand(null);
  expect(answer.body).toContain('&lt;img src=x onerror=alert(1)&gt; &amp; &quot;Söhne&quot; {topic} &#39; sent you');
  expect(answer.body).toContain('<img src="https://pictures.example.test/logo.png?a=1&amp;b=2" alt="">');
  expect(answer.body).toContain('--accent: #ffff00; --on-accent: #000000;');
  expect(answer.body.match(/<img/g)).toHaveLength(1);
  expect(answer.headers['content-security-policy']).toContain('; img-src https://pictures.example.test; ');
});
