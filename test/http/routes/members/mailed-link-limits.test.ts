import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSystem } from '../../../../src/adapters/system.ts';
import { readWholeStream } from '../../../../src/commands/execute.ts';
import { membersStream } from '../../../../src/domain/kernel/streams.ts';
import { type MailedLinks, openMailedLinks } from '../../support/mailed-links.ts';
import { type Service, startService } from '../../support/service.ts';
import { signInWith } from '../../support/sign-in.ts';

const PUBLIC_URL = 'https://mail.example.net';
const QUARTER_MS = 15 * 60_000;

let service: Service;
let organizationId: string;
let shiftMs = 0;
let links: MailedLinks;
const real = createSystem();

beforeAll(async () => {
  service = await startService({
    publicUrl: PUBLIC_URL,
    context: { system: { ...real, now: () => new Date(real.now().getTime() + shiftMs) } },
  });
  organizationId = await service.makeOrganization();
  const domainId = await service.makeDomain(organizationId, 'members.test');
  const key = (await service.makeKey(organizationId, domainId, { permissions: ['admin'] })).value;
  links = openMailedLinks(service, key);
});
afterAll(() => service.close());

describe('a mailed link', () => {
  test('ends none that was handed over, and none that was mailed before', async () => {
    const person = await links.join();
    const handed = await links.handOver(person);
    await links.ask(person.email);
    const first = await links.mailed(person.email);
    await links.ask(person.email);
    const second = await links.mailed(person.email, 2);
    const again = await links.handOver(person);
    for (const url of [handed, first.url, second.url, again])
      expect((await signInWith(service, url)).statusCode).toBe(200);
  });

  test('is one of five that work at once, however many networks ask', async () => {
    const { email } = await links.join();
    const answers = await Promise.all(Array.from({ length: 12 }, () => links.ask(email)));
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([202]));
    await links.mailed(email, 5);
    await links.settle(); // by then the other requests were rejected
    const mails = await links.mailsTo(email);
    expect(mails.length).toBe(5);
    for (const { url } of mails) expect((await signInWith(service, url)).statusCode).toBe(200);
    shiftMs += QUARTER_MS;
    await links.ask(email);
    await links.mailed(email, 6);
  });

  test('still reaches members after a stranger has requested as many as one network may', async () => {
    const { email } = await links.join();
    const remoteAddress = '203.0.113.99';
    await Promise.all(Array.from({ length: 20 }, () => links.ask(email, { remoteAddress })));
    await links.mailed(email, 3);
    await links.settle();
    expect((await links.mailsTo(email)).length).toBe(3);
    await links.ask(email);
    expect((await signInWith(service, (await links.mailed(email, 4)).url)).statusCode).toBe(200);
  });

  test('leaves nothing in the log that identifies the network that asked', async () => {
    const { email, id } = await links.join();
    await links.ask(email, { remoteAddress: '203.0.113.98' });
    await links.mailed(email);
    const events = await readWholeStream(service.deps.context.store, membersStream(organizationId));
    const [made] = events.flatMap((event) =>
      event.type === 'SignInLinkCreated' && event.data.memberId === id && event.data.mailed ? [event] : [],
    );
    expect(made?.data.network).toMatch(/^[0-9a-f]{4}$/);
    expect(JSON.stringify(made)).not.toContain('203.0.113');
  });

  test('cannot accept an invitation: someone who is only invited is mailed none', async () => {
    const { email, url } = await links.invite();
    await links.ask(email);
    await links.settle();
    expect(await links.mailsTo(email)).toEqual([]);
    expect((await signInWith(service, url)).statusCode).toBe(200);
  });
});
