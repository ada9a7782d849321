import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { readWholeStream } from '../../../../src/commands/execute.ts';
import { suspendOrganization } from '../../../../src/commands/organization.ts';
import { LOG_START } from '../../../../src/domain/kernel/event-store.ts';
import { membersStream } from '../../../../src/domain/kernel/streams.ts';
import { operator, type Service, startService } from '../../support/service.ts';
import { signInWith } from '../../support/sign-in.ts';

const DAY_MS = 24 * 3_600_000;

let service: Service;
let organizationId: string;
let key: string;
let other: string;
let shiftMs = 0;
let people = 0;
const real = createSystem();

beforeAll(async () => {
  service = await startService({
    context: { system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } },
  });
  organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'members.test');
  key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
  const stranger = await service.makeOrganization();
  const strange = await service.makeDomain(stranger, 'stranger.test');
  other = (await service.makeKey(stranger, strange, { permissions: ['admin'] })).value;
});
afterAll(() => service.close());

const ask = async (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object, by = key) => {
  const answer = await service.request({ method, url, key: by, ...(payload !== undefined && { payload }) });
  return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
};

const invite = async () => {
  people += 1;
  const { status, body } = await ask('POST', '/v1/members', { email: `guest${people}@example.net`, role: 'developer' });
  expect(status).toBe(201);
  return { id: body.id as string, email: body.email as string, link: body.link, member: body };
};

const accept = async (url: string) => {
  const answer = await signInWith(service, url);
  return [answer.statusCode, answer.json().error?.code ?? answer.json().member.id];
};

const SPENT = [401, 'sign_in_link_invalid'];

describe('an invitation', () => {
  test('can be accepted for seven days, and shows until when', async () => {
    const [early, late] = [await invite(), await invite()];
    const days = (Date.parse(early.link.expires_at) - real.now().getTime() - shiftMs) / DAY_MS;
    expect([days > 6.99, days <= 7]).toEqual([true, true]);
    expect(early.member.invitation_expires_at).toBe(early.link.expires_at);
    shiftMs += 6.9 * DAY_MS;
    expect(await accept(early.link.url)).toEqual([200, early.id]);
    expect((await ask('GET', `/v1/members/${early.id}`)).body.invitation_expires_at).toBe(null);
    shiftMs += DAY_MS;
    expect(await accept(late.link.url)).toEqual(SPENT);
    expect((await ask('GET', `/v1/members/${late.id}`)).body).toMatchObject({
      status: 'invited',
      invitation_expires_at: null,
    });
  });

  test('is accepted once, by one of its links', async () => {
    const { id, link } = await invite();
    const renewed = await ask('POST', `/v1/members/${id}/links`, {});
    const answers = await Promise.all([accept(link.url), accept(link.url), accept(renewed.body.url)]);
    expect(answers.map(([status]) => status).toSorted()).toEqual([200, 401, 401]);
    for (const url of [link.url, renewed.body.url]) expect(await accept(url)).toEqual(SPENT);
  });

  test('is renewed for seven days more after it has expired', async () => {
    const { id } = await invite();
    shiftMs += 8 * DAY_MS;
    const { status, body } = await ask('POST', `/v1/members/${id}/links`, {});
    expect(status).toBe(201);
    expect((await ask('GET', `/v1/members/${id}`)).body.invitation_expires_at).toBe(body.expires_at);
    shiftMs += 6.9 * DAY_MS;
    expect(await accept(body.url)).toEqual([200, id]);
  });

  test('is withdrawn with all of its links', async () => {
    const { id, link } = await invite();
    const renewed = await ask('POST', `/v1/members/${id}/links`, {});
    expect((await ask('DELETE', `/v1/members/${id}`)).status).toBe(204);
    for (const url of [link.url, renewed.body.url]) await expect.poll(() => accept(url)).toEqual(SPENT);
  });

  test('has at most five links that work; another one ends the oldest', async () => {
    const { id, link } = await invite();
    const urls: string[] = [link.url];
    for (let made = 0; made < 5; made += 1) urls.push((await ask('POST', `/v1/members/${id}/links`, {})).body.url);
    expect(await accept(urls[0] ?? '')).toEqual(SPENT);
    expect(await accept(urls[1] ?? '')).toEqual([200, id]);
  });

  test('is on record only by the hash of its link', async () => {
    const { link } = await invite();
    const log = JSON.stringify(await readWholeStream(service.deps.context.store, membersStream(organizationId)));
    expect(log).not.toContain(new URL(link.url).hash.slice(1));
  });

  test('of another organization is neither renewed nor withdrawn', async () => {
    const { id, link } = await invite();
    for (const [method, url] of [
      ['POST', `/v1/members/${id}/links`],
      ['DELETE', `/v1/members/${id}`],
    ] as const)
      expect((await ask(method, url, method === 'POST' ? {} : undefined, other)).status).toBe(404);
    expect(await accept(link.url)).toEqual([200, id]);
  });
});

describe('an invitation is mailed', () => {
  const mailsIn = async ({ deps: { context } }: Service) => {
    const { events } = await context.store.readAll({ from: LOG_START, filter: {}, limit: 10_000 });
    const ids = events.flatMap((event) => (event.type === 'MessageAccepted' ? [event.data.contentId] : []));
    return [...(await context.contents.get(ids)).values()].flatMap((body) => (body.kind === 'message' ? [body] : []));
  };

  test('if mail leaves the machine, again when it is renewed, and is shown to no key', async () => {
    const sending = await startService({ inbox: null });
    const id = await sending.makeOrganization();
    const domainId = await sending.makeDomain(id, 'members.test');
    const { value } = await sending.makeKey(id, domainId, { permissions: ['admin'] });
    const made = await sending.request({
      method: 'POST',
      url: '/v1/members',
      key: value,
      payload: { email: 'ann@example.net', role: 'owner' },
      headers: { 'accept-language': 'de' },
    });
    expect(made.json().link.mailed).toBe(true);
    const [mail] = await mailsIn(sending);
    expect(mail).toMatchObject({ confidential: true, subject: 'Einladung zu Test' });
    expect(mail?.text).toContain(made.json().link.url);
    expect(mail?.text).toContain('7 Tage');
    const renewed = await sending.request({
      method: 'POST',
      url: `/v1/members/${made.json().id}/links`,
      key: value,
      payload: {},
    });
    expect(renewed.json().mailed).toBe(true);
    const mails = await mailsIn(sending);
    expect(mails.map(({ recipients }) => recipients[0]?.address)).toEqual(['ann@example.net', 'ann@example.net']);
    const shown = await sending.request({ url: `/v1/messages/${mails[1]?.messageId}/content`, key: value });
    expect([shown.statusCode, shown.json().error.code]).toEqual([410, 'content_gone']);
    await sending.close();
  });

  test('but not for a suspended organization, which could write to any address by it; its link is handed over', async () => {
    const sending = await startService({ inbox: null });
    const id = await sending.makeOrganization();
    const { value } = await sending.makeKey(id, await sending.makeDomain(id, 'members.test'));
    await suspendOrganization(sending.deps.context, operator(id), 'It sent spam.');
    await sending.server.shared.auth.keyCache.catchUp();
    const payload = { email: 'ann@example.net', role: 'owner' };
    const made = await sending.request({ method: 'POST', url: '/v1/members', key: value, payload });
    expect([made.statusCode, made.json().link.mailed]).toEqual([201, false]);
    expect(await mailsIn(sending)).toEqual([]);
    expect((await signInWith(sending, made.json().link.url)).statusCode).toBe(200);
    await sending.close();
  });

  test('in no other case', async () => {
    const { link, email } = await invite();
    expect(link.mailed).toBe(false);
    const to = (await mailsIn(service)).flatMap(({ recipients }) => recipients.map(({ address }) => address));
    expect(to).not.toContain(email);
  });
});
